// Pauses that double, within bounds.
#include "store/attempts.h"

#include <algorithm>
#include <thread>

namespace sinter::store {
namespace {

constexpr std::chrono::milliseconds kMostPause{30'000};
constexpr std::chrono::milliseconds kMostAskedPause{120'000}; // by a server
constexpr std::chrono::milliseconds kPoll{20};

Code codeOf(uint16_t status) {
  if (status == 401 || status == 403)
    return Code::Permission;
  if (status == 404 || status == 410)
    return Code::NotFound;
  return status == 416 ? Code::Corrupt : Code::Internal;
}

// One line of what a server says, without what steers a terminal.
std::string firstLine(const std::string &text) {
  constexpr size_t kMost = 200;
  std::string line = text.substr(0, std::min(text.find_first_of("\r\n"), kMost));
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return line.starts_with('<') ? "" : line; // a page for browsers
}

} // namespace

HttpFailure statusFailure(const std::string &what, const HttpAnswer &answer) {
  const uint16_t status = answer.head.status;
  const std::string said = firstLine(answer.errorText);
  const bool isTransient = status == 408 || status == 429 || (status >= 500 && status != 501);
  return {{codeOf(status), "cannot fetch " + what + ": the server answered status " +
                               std::to_string(status) + (said.empty() ? "" : " (" + said + ")")},
          isTransient};
}

Result<void> Attempts::waitAfter(const HttpFailure &failure, uint32_t leastSeconds) {
  if (!failure.isTransient)
    return Fail(failure.status);
  if (++made_ >= options_.attempts) {
    Status status = failure.status;
    status.message += "; given up after " + std::to_string(made_) + " attempts";
    return Fail(std::move(status));
  }
  const std::chrono::milliseconds asked = std::chrono::seconds(leastSeconds);
  const auto pause =
      std::max(std::min(options_.firstPause * (1u << std::min(made_ - 1, 16u)), kMostPause),
               std::min(asked, kMostAskedPause));
  const auto until = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < until) {
    if (isCancelled_())
      return fail(Code::Cancelled, "interrupted");
    std::this_thread::sleep_for(std::min(kPoll, options_.firstPause));
  }
  return {};
}

} // namespace sinter::store
