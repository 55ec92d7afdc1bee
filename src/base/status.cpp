// Names of the error codes and the printed form of a Status.
#include "base/status.h"

namespace sinter {

const char *codeName(Code code) {
  switch (code) {
  case Code::InvalidArgument:
    return "invalid-argument";
  case Code::Truncated:
    return "truncated";
  case Code::Corrupt:
    return "corrupt";
  case Code::Unsupported:
    return "unsupported";
  case Code::NotFound:
    return "not-found";
  case Code::Permission:
    return "permission";
  case Code::Exhausted:
    return "exhausted";
  case Code::Timeout:
    return "timeout";
  case Code::Cancelled:
    return "cancelled";
  case Code::BrokenPipe:
    return "broken-pipe";
  case Code::DeviceLost:
    return "device-lost";
  case Code::Internal:
    return "internal";
  }
  return "unknown";
}

std::string Status::toString() const {
  if (!byteOffset)
    return message;
  return message + " (at byte " + std::to_string(*byteOffset) + ")";
}

} // namespace sinter
