// Filters that make texts. Other values are written as texts first.
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"
#include "jinja/text_operations.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

// A text as it is; other values as they are written.
Result<Value> softText(Runtime &runtime, const Value &value) {
  if (value.isText())
    return value;
  SINTER_ASSIGN(Text text, textOf(runtime, value));
  return runtime.text(std::move(text));
}

template <Case wanted> Result<Value> inCase(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Value input, softText(interpreter, arguments[0]));
  SINTER_ASSIGN(Text made, withCase(interpreter, input.text(), wanted));
  return interpreter.text(std::move(made), isSafe(input));
}

Result<Value> title(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Value input, softText(interpreter, arguments[0]));
  SINTER_ASSIGN(Text made, titled(interpreter, input.text()));
  return interpreter.text(std::move(made));
}

Result<Value> center(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Value input, softText(interpreter, arguments[0]));
  SINTER_ASSIGN(const int64_t width, integerOr(arguments[1], 80));
  SINTER_ASSIGN(Text made,
                filled(interpreter, input.text(), width, Text(" ", Origin::Template), Side::Both));
  return interpreter.text(std::move(made), isSafe(input));
}

Result<Value> escape(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(Text made, escaped(interpreter, arguments[0]));
  return interpreter.text(std::move(made), true);
}
Result<Value> forceEscape(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(Text plain, textOf(interpreter, arguments[0]));
  SINTER_ASSIGN(Text made, escaped(interpreter, interpreter.text(std::move(plain))));
  return interpreter.text(std::move(made), true);
}
Result<Value> safe(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(Text text, textOf(interpreter, arguments[0]));
  return interpreter.text(std::move(text), true);
}
Result<Value> string(Interpreter &interpreter, BoundArguments arguments) {
  return softText(interpreter, arguments[0]);
}

Result<Value> format(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Value input, softText(interpreter, arguments[0]));
  const bool hasNames = !arguments[2].dict().entries.empty();
  if (hasNames && !arguments[1].items().items.empty())
    return fail(Code::InvalidArgument, "both named and other arguments are given");
  return percentFormat(interpreter, input, hasNames ? arguments[2] : arguments[1]);
}

Result<Value> indent(Interpreter &interpreter, BoundArguments arguments) {
  Text indention;
  if (arguments[1].isText()) {
    indention = arguments[1].text();
  } else {
    SINTER_ASSIGN(const int64_t width, integerOr(arguments[1], 4));
    SINTER_TRY(interpreter.checkRoom(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indention =
        Text(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), Origin::Template);
  }
  SINTER_ASSIGN(Text text, textArgument(arguments[0]));
  text.append("\n", Origin::Template);
  SINTER_ASSIGN(const std::vector<Text> lines, linesOf(interpreter, text, false));
  const bool indentsFirst = truth(arguments[2]), indentsBlank = truth(arguments[3]);
  TextBuilder out(interpreter);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0)
      out.add("\n", Origin::Template);
    if (i == 0 ? indentsFirst : indentsBlank || !lines[i].empty())
      out.add(indention);
    out.add(lines[i]);
  }
  return out.finish(isSafe(arguments[0]));
}

Result<Value> replace(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Text text, textOf(interpreter, arguments[0]));
  SINTER_ASSIGN(const Text old, textOf(interpreter, arguments[1]));
  SINTER_ASSIGN(const Text by, textOf(interpreter, arguments[2]));
  int64_t most = -1;
  if (isGiven(arguments[3])) {
    SINTER_ASSIGN(most, integerOr(arguments[3], -1));
  }
  SINTER_ASSIGN(Text made, replaced(interpreter, text, old, by, most));
  return interpreter.text(std::move(made));
}

Result<Value> trim(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Value input, softText(interpreter, arguments[0]));
  if (!isGiven(arguments[1]))
    return interpreter.text(trimmed(input.text(), nullptr, true, true), isSafe(input));
  SINTER_ASSIGN(const Text set, textArgument(arguments[1]));
  SINTER_TRY(interpreter.spend(1 + input.text().size() * std::min<size_t>(set.size(), 64) / 64));
  return interpreter.text(trimmed(input.text(), &set.bytes(), true, true), isSafe(input));
}

Result<Value> truncate(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t length, integerOr(arguments[1], 255));
  Text end("...", Origin::Template);
  if (!arguments[3].isMissing()) {
    SINTER_ASSIGN(end, textArgument(arguments[3]));
  }
  int64_t leeway = 5;
  if (isGiven(arguments[4])) {
    SINTER_ASSIGN(leeway, integerOr(arguments[4], 5));
  }
  const auto endLength = static_cast<int64_t>(countCharacters(end.bytes()));
  if (length < endLength || leeway < 0)
    return fail(Code::InvalidArgument, "the length " + std::to_string(length) +
                                           " is shorter than the end, or the leeway negative");
  SINTER_ASSIGN(const int64_t characters, lengthOf(arguments[0]));
  if (characters - leeway <= length)
    return arguments[0];
  SINTER_ASSIGN(const Text text, textArgument(arguments[0]));
  SINTER_TRY(interpreter.spendBytes(text.size()));
  size_t stop = byteOfCharacter(text.bytes(), static_cast<size_t>(length - endLength));
  const size_t space = std::string_view(text.bytes()).substr(0, stop).rfind(' ');
  if (!truth(arguments[2]) && space != std::string_view::npos)
    stop = space;
  Text made = text.slice(0, stop);
  made.append(end);
  return interpreter.text(std::move(made), isSafe(arguments[0]));
}

Result<Value> wordCount(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const Text text, textOf(interpreter, arguments[0]));
  SINTER_TRY(interpreter.spendBytes(text.size()));
  int64_t words = 0;
  bool isInWord = false;
  for (size_t at = 0; at < text.size(); at += characterBytes(text.bytes()[at])) {
    const uint32_t character = characterAt(text.bytes(), at);
    const bool isWord =
        isAlphaCharacter(character) || isDigitCharacter(character) || character == '_';
    words += isWord && !isInWord;
    isInWord = isWord;
  }
  return Value::integer(words);
}

Result<Value> urlEncode(Interpreter &interpreter, BoundArguments arguments) {
  if (!arguments[0].isText() && isIterable(arguments[0]))
    return wrongType("a text", arguments[0]);
  SINTER_ASSIGN(const Text text, textOf(interpreter, arguments[0]));
  constexpr std::string_view kPlain = "_.-~/", kDigits = "0123456789ABCDEF";
  TextBuilder out(interpreter);
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text.bytes()[at]);
    const bool isPlain = (byte < 0x80 && (isAlphaCharacter(byte) || isDigitCharacter(byte))) ||
                         kPlain.find(static_cast<char>(byte)) != std::string_view::npos;
    const char quoted[] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    out.add(isPlain ? std::string_view(text.bytes()).substr(at, 1) : std::string_view(quoted, 3),
            text.originAt(at));
  }
  return out.finish();
}

constexpr Builtin kFilters[] = {
    {"capitalize", "value", inCase<Case::Capitalized>},
    {"center", "value width?", center},
    {"e", "value", escape},
    {"escape", "value", escape},
    {"forceescape", "value", forceEscape},
    {"format", "value *arguments **keywords", format},
    {"indent", "value width? first? blank?", indent},
    {"lower", "value", inCase<Case::Lower>},
    {"replace", "value old new count?", replace},
    {"safe", "value", safe},
    {"string", "value", string},
    {"title", "value", title},
    {"trim", "value chars?", trim},
    {"truncate", "value length? killwords? end? leeway?", truncate},
    {"upper", "value", inCase<Case::Upper>},
    {"urlencode", "value", urlEncode},
    {"wordcount", "value", wordCount},
};

} // namespace

std::span<const Builtin> textFilters() {
  return kFilters;
}

} // namespace sinter::jinja
