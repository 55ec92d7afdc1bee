// Texts that end an answer, found in a stream of pieces.
#pragma once

#include "base/status.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::serve {

// What is found depends on the bytes of the stream alone, not on where its pieces end: the stop
// text whose last byte comes first, the longest of those that end there.
class StopTexts {
public:
  static constexpr size_t kMost = 64, kMostBytes = 1024; // stop texts, and bytes of each

  StopTexts() = default; // none
  // InvalidArgument, with the numbers: too many, or one that is empty, too long or not UTF-8.
  static Result<StopTexts> create(std::vector<std::string> texts);

  // What can be shown of the stream after this piece: all but what may become a stop text, up to a
  // stop text where one was found. Nothing after that.
  std::string push(std::string_view piece);
  // Null: none was found.
  const std::string *found() const { return found_ ? &stops_[*found_].text : nullptr; }
  // The end of the stream: what was held back.
  std::string finish();

private:
  struct Stop {
    std::string text;
    std::vector<size_t> borders; // of each prefix: its longest proper prefix that also ends it
    size_t matched = 0;          // bytes of the text that end the stream
    bool advance(char byte);
  };

  std::vector<Stop> stops_;
  std::string held_;
  std::optional<size_t> found_;
};

} // namespace sinter::serve
