// The one table of errno values.
#include "base/system_error.h"

#include <cerrno>
#include <cstring>

namespace sinter {

Code codeOfErrno(int error) {
  switch (error) {
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
  case ENOMEM:
  case EMFILE:
  case ENFILE:
    return Code::Exhausted;
  case EACCES:
  case EPERM:
  case EROFS:
  case ELOOP:
    return Code::Permission;
  case ENOENT:
  case ENOTDIR:
    return Code::NotFound;
  default:
    return Code::Internal;
  }
}

Fail systemFailed(const std::string &what, int error) {
  return fail(codeOfErrno(error), what + ": " + std::strerror(error));
}

} // namespace sinter
