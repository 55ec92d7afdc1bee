// Methods of texts that look into them.
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/interpreter.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

// The part of a text between two positions in characters, and the byte where it begins.
struct Stretch {
  std::string_view text;
  size_t begin;
  bool isReversed; // the start lies after the end: even an empty text is not in there
};

Result<Stretch> stretchOf(Interpreter &interpreter, BoundArguments arguments) {
  const std::string_view text = arguments[0].bytes();
  SINTER_TRY(interpreter.spendBytes(text.size()));
  if (!isGiven(arguments[2]) && !isGiven(arguments[3]))
    return Stretch{text, 0, false};
  const size_t size = countCharacters(text);
  const auto index = [&](const Value &value, size_t initial) -> Result<size_t> {
    if (!isGiven(value))
      return initial;
    SINTER_ASSIGN(const int64_t given, integerOr(value, 0));
    return given > static_cast<int64_t>(size) ? size + 1 : clampedIndex(given, size);
  };
  SINTER_ASSIGN(const size_t start, index(arguments[2], 0));
  SINTER_ASSIGN(const size_t stop, index(arguments[3], size));
  const size_t begin = byteOfCharacter(text, start), end = byteOfCharacter(text, stop);
  return Stretch{text.substr(begin, std::max(begin, end) - begin), begin,
                 start > stop || start > size};
}

template <bool isPrefix>
Result<Value> hasAffix(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Stretch stretch, stretchOf(interpreter, arguments));
  std::vector<Value> affixes = {arguments[1]};
  if (arguments[1].is(Value::Kind::Tuple))
    affixes = arguments[1].items().items;
  for (const Value &affix : affixes) {
    SINTER_TRY(textArgument(affix));
    const bool has =
        isPrefix ? stretch.text.starts_with(affix.bytes()) : stretch.text.ends_with(affix.bytes());
    if (has && !stretch.isReversed)
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool fromRight, bool mustBeThere>
Result<Value> find(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[1]));
  SINTER_ASSIGN(const Stretch stretch, stretchOf(interpreter, arguments));
  const std::string_view needle = arguments[1].bytes();
  const size_t at = stretch.isReversed ? std::string_view::npos
                    : fromRight        ? stretch.text.rfind(needle)
                                       : stretch.text.find(needle);
  if (at == std::string_view::npos)
    return mustBeThere ? Result<Value>(fail(Code::InvalidArgument, "the text is not there"))
                       : Value::integer(-1);
  const std::string_view before = arguments[0].bytes().substr(0, stretch.begin + at);
  return Value::integer(static_cast<int64_t>(countCharacters(before)));
}

Result<Value> count(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[1]));
  SINTER_ASSIGN(const Stretch stretch, stretchOf(interpreter, arguments));
  const std::string_view needle = arguments[1].bytes();
  if (stretch.isReversed)
    return Value::integer(0);
  if (needle.empty())
    return Value::integer(static_cast<int64_t>(countCharacters(stretch.text)) + 1);
  int64_t found = 0;
  for (size_t at = stretch.text.find(needle); at != std::string_view::npos;
       at = stretch.text.find(needle, at + needle.size()))
    ++found;
  return Value::integer(found);
}

bool isAlnum(uint32_t character) {
  return isAlphaCharacter(character) || isDigitCharacter(character);
}
bool isAscii(uint32_t character) {
  return character < 0x80;
}

// Whether a text is not empty and all of its characters are of a kind.
template <bool (*isKind)(uint32_t)>
Result<Value> all(Interpreter &interpreter, BoundArguments arguments) {
  const std::string_view text = arguments[0].bytes();
  SINTER_TRY(interpreter.spendBytes(text.size()));
  bool isAll = !text.empty() || isKind == isAscii || isKind == isPrintableCharacter;
  for (size_t at = 0; isAll && at < text.size(); at += characterBytes(text[at]))
    isAll = isKind(characterAt(text, at));
  return Value::boolean(isAll);
}

template <bool (*isWanted)(uint32_t), bool (*isOther)(uint32_t)>
Result<Value> allCased(Interpreter &interpreter, BoundArguments arguments) {
  const std::string_view text = arguments[0].bytes();
  SINTER_TRY(interpreter.spendBytes(text.size()));
  bool hasAny = false;
  for (size_t at = 0; at < text.size(); at += characterBytes(text[at])) {
    if (isOther(characterAt(text, at)))
      return Value::boolean(false);
    hasAny |= isWanted(characterAt(text, at));
  }
  return Value::boolean(hasAny);
}

Result<Value> isTitle(Interpreter &interpreter, BoundArguments arguments) {
  const std::string_view text = arguments[0].bytes();
  SINTER_TRY(interpreter.spendBytes(text.size()));
  bool followsLetter = false, hasAny = false;
  for (size_t at = 0; at < text.size(); at += characterBytes(text[at])) {
    const uint32_t character = characterAt(text, at);
    const bool isUpper = isUpperCharacter(character), isLower = isLowerCharacter(character);
    if ((isUpper && followsLetter) || (isLower && !followsLetter))
      return Value::boolean(false);
    followsLetter = isUpper || isLower;
    hasAny |= followsLetter;
  }
  return Value::boolean(hasAny);
}

constexpr Builtin kMethods[] = {
    {"count", "text sub start? end?", count},
    {"endswith", "text suffix start? end?", hasAffix<false>},
    {"find", "text sub start? end?", find<false, false>},
    {"index", "text sub start? end?", find<false, true>},
    {"isalnum", "text", all<isAlnum>},
    {"isalpha", "text", all<isAlphaCharacter>},
    {"isascii", "text", all<isAscii>},
    {"isdecimal", "text", all<isDigitCharacter>},
    {"isdigit", "text", all<isDigitCharacter>},
    {"islower", "text", allCased<isLowerCharacter, isUpperCharacter>},
    {"isnumeric", "text", all<isDigitCharacter>},
    {"isprintable", "text", all<isPrintableCharacter>},
    {"isspace", "text", all<isSpaceCharacter>},
    {"istitle", "text", isTitle},
    {"isupper", "text", allCased<isUpperCharacter, isLowerCharacter>},
    {"rfind", "text sub start? end?", find<true, false>},
    {"rindex", "text sub start? end?", find<true, true>},
    {"startswith", "text prefix start? end?", hasAffix<true>},
};

} // namespace

std::span<const Builtin> textSearchMethods() {
  return kMethods;
}

} // namespace sinter::jinja
