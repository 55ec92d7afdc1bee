// Folders are made from the outermost to the innermost.
#include "base/folders.h"

#include "base/system_error.h"

#include <cerrno>
#include <sys/stat.h>

namespace sinter {

Result<void> makeFolders(const std::string &path, const std::string &what) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return systemFailed("cannot make " + what + " '" + part + "'", errno);
    if (end == std::string::npos)
      return {};
  }
}

} // namespace sinter
