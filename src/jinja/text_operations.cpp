// Python's str, on UTF-8.
#include "jinja/text_operations.h"

#include "jinja/characters.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

bool isCased(uint32_t character) {
  return isUpperCharacter(character) || isLowerCharacter(character);
}

bool isOneOf(uint32_t character, const std::string *set) {
  if (!set)
    return isSpaceCharacter(character);
  for (size_t at = 0; at < set->size(); at += characterBytes((*set)[at]))
    if (characterAt(*set, at) == character)
      return true;
  return false;
}

// A CR and the LF after it are one break.
size_t lineBreakEnd(std::string_view text, size_t at) {
  const bool isPair = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
  return at + (isPair ? 2 : characterBytes(text[at]));
}

Result<std::vector<Text>> splitAtSpaces(Runtime &runtime, const Text &text, int64_t most) {
  std::vector<Text> parts;
  const std::string &bytes = text.bytes();
  const auto isSpace = [&](size_t at) { return isSpaceCharacter(characterAt(bytes, at)); };
  size_t at = 0;
  while (true) {
    while (at < bytes.size() && isSpace(at))
      at += characterBytes(bytes[at]);
    if (at == bytes.size())
      return parts;
    SINTER_TRY(runtime.spend());
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(trimmed(text.slice(at, bytes.size()), nullptr, false, true));
      return parts;
    }
    const size_t begin = at;
    while (at < bytes.size() && !isSpace(at))
      at += characterBytes(bytes[at]);
    parts.push_back(text.slice(begin, at));
  }
}

Result<std::vector<Text>> splitAtSpacesFromRight(Runtime &runtime, const Text &text, int64_t most) {
  std::vector<Text> parts;
  const std::string &bytes = text.bytes();
  const auto isSpace = [&](size_t at) { return isSpaceCharacter(characterAt(bytes, at)); };
  size_t end = bytes.size();
  while (true) {
    while (end > 0 && isSpace(previousCharacter(bytes, end)))
      end = previousCharacter(bytes, end);
    if (end == 0)
      break;
    SINTER_TRY(runtime.spend());
    if (most >= 0 && static_cast<int64_t>(parts.size()) == most) {
      parts.push_back(trimmed(text.slice(0, end), nullptr, true, false));
      break;
    }
    size_t begin = end;
    while (begin > 0 && !isSpace(previousCharacter(bytes, begin)))
      begin = previousCharacter(bytes, begin);
    parts.push_back(text.slice(begin, end));
    end = begin;
  }
  std::ranges::reverse(parts);
  return parts;
}

// Adds one character in the case that its place asks for.
class CaseWriter {
public:
  CaseWriter(Runtime &runtime, Case wanted) : out_(runtime), wanted_(wanted) {}

  void add(const Text &text, size_t at) {
    const uint32_t character = characterAt(text.bytes(), at);
    out_.add(cased(character), text.originAt(at));
    isFirst_ = false;
    followsLetter_ = isCased(character);
  }
  Result<Text> take() { return out_.take(); }

private:
  std::string cased(uint32_t character) const {
    switch (wanted_) {
    case Case::Upper:
      return upperCase(character);
    case Case::Lower:
      return lowerCase(character);
    case Case::Capitalized:
      return isFirst_ ? titleCase(character) : lowerCase(character);
    case Case::Title:
      return followsLetter_ ? lowerCase(character) : titleCase(character);
    case Case::Swapped:
      return isUpperCharacter(character) ? lowerCase(character) : upperCase(character);
    }
    return "";
  }

  TextBuilder out_;
  Case wanted_;
  bool isFirst_ = true, followsLetter_ = false;
};

} // namespace

Result<Text> withCase(Runtime &runtime, const Text &text, Case wanted) {
  SINTER_TRY(runtime.spend(1 + text.size() / 8));
  CaseWriter out(runtime, wanted);
  for (size_t at = 0; at < text.size(); at += characterBytes(text.bytes()[at]))
    out.add(text, at);
  return out.take();
}

Result<Text> titled(Runtime &runtime, const Text &text) {
  constexpr std::string_view kBeginners = "-({[<";
  SINTER_TRY(runtime.spend(1 + text.size() / 8));
  TextBuilder out(runtime);
  bool beginsWord = true;
  for (size_t at = 0; at < text.size(); at += characterBytes(text.bytes()[at])) {
    const uint32_t character = characterAt(text.bytes(), at);
    out.add(beginsWord ? upperCase(character) : lowerCase(character), text.originAt(at));
    beginsWord = isSpaceCharacter(character) ||
                 (character < 0x80 &&
                  kBeginners.find(static_cast<char>(character)) != std::string_view::npos);
  }
  return out.take();
}

Text trimmed(const Text &text, const std::string *set, bool atStart, bool atEnd) {
  const std::string &bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  while (atStart && begin < end && isOneOf(characterAt(bytes, begin), set))
    begin += characterBytes(bytes[begin]);
  while (atEnd && end > begin) {
    const size_t last = previousCharacter(bytes, end);
    if (!isOneOf(characterAt(bytes, last), set))
      break;
    end = last;
  }
  return text.slice(begin, end);
}

Result<Text> replaced(Runtime &runtime, const Text &text, const Text &old, const Text &by,
                      int64_t most) {
  const std::string &bytes = text.bytes();
  SINTER_TRY(runtime.spend(1 + bytes.size() / 16));
  TextBuilder out(runtime);
  size_t done = 0;
  for (int64_t count = 0; most < 0 || count < most; ++count) {
    SINTER_TRY(runtime.spend());
    // An empty text stands before each character and at the end.
    const size_t at = old.empty() ? (count == 0            ? 0
                                     : done < bytes.size() ? done + characterBytes(bytes[done])
                                                           : std::string::npos)
                                  : bytes.find(old.bytes(), done);
    if (at == std::string::npos || out.isFull())
      break;
    out.add(text, done, at);
    out.add(by);
    done = at + old.size();
  }
  out.add(text, done, bytes.size());
  return out.take();
}

Result<std::vector<Text>> linesOf(Runtime &runtime, const Text &text, bool keepsEnds) {
  std::vector<Text> lines;
  const std::string &bytes = text.bytes();
  size_t begin = 0, at = 0;
  while (at < bytes.size()) {
    if (!isLineBreak(characterAt(bytes, at))) {
      at += characterBytes(bytes[at]);
      continue;
    }
    SINTER_TRY(runtime.spend());
    const size_t end = lineBreakEnd(bytes, at);
    lines.push_back(text.slice(begin, keepsEnds ? end : at));
    begin = at = end;
  }
  if (begin < bytes.size())
    lines.push_back(text.slice(begin, bytes.size()));
  return lines;
}

Result<std::vector<Text>> split(Runtime &runtime, const Text &text, std::string_view separator,
                                int64_t most, bool fromRight) {
  SINTER_TRY(runtime.spend(1 + text.size() / 16));
  if (separator.empty())
    return fromRight ? splitAtSpacesFromRight(runtime, text, most)
                     : splitAtSpaces(runtime, text, most);
  std::vector<Text> parts;
  const std::string &bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  while (most < 0 || static_cast<int64_t>(parts.size()) < most) {
    SINTER_TRY(runtime.spend());
    const size_t at =
        fromRight ? (end < separator.size() ? std::string::npos
                                            : bytes.rfind(separator, end - separator.size()))
                  : bytes.find(separator, begin);
    if (at == std::string::npos)
      break;
    parts.push_back(fromRight ? text.slice(at + separator.size(), end) : text.slice(begin, at));
    (fromRight ? end : begin) = fromRight ? at : at + separator.size();
  }
  parts.push_back(text.slice(begin, end));
  if (fromRight)
    std::ranges::reverse(parts);
  return parts;
}

Result<Text> filled(Runtime &runtime, const Text &text, int64_t width, const Text &fill,
                    Side side) {
  const auto characters = static_cast<int64_t>(countCharacters(text.bytes()));
  const int64_t missing = std::max<int64_t>(width - characters, 0);
  SINTER_TRY(runtime.spend(1 + static_cast<uint64_t>(missing) / 8));
  SINTER_TRY(runtime.checkRoom(static_cast<size_t>(missing) * fill.bytes().size()));
  // As str.center(): of an odd number the larger half is at the left where the width is odd too.
  const int64_t left = side == Side::Left    ? missing
                       : side == Side::Right ? 0
                                             : missing / 2 + (missing & width & 1);
  TextBuilder out(runtime);
  for (int64_t i = 0; i < left && !out.isFull(); ++i)
    out.add(fill);
  out.add(text);
  for (int64_t i = left; i < missing && !out.isFull(); ++i)
    out.add(fill);
  return out.take();
}

} // namespace sinter::jinja
