// Methods of texts that make other texts of them.
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"
#include "jinja/text_operations.h"

namespace sinter::jinja {
namespace {

// A new text is as safe as the one that it was made of.
Result<Value> like(Runtime &runtime, const Value &source, Result<Text> made) {
  if (!made)
    return Fail(std::move(made).error());
  return runtime.text(std::move(*made), isSafe(source));
}
Result<Value> likeEach(Runtime &runtime, const Value &source, Result<std::vector<Text>> made) {
  if (!made)
    return Fail(std::move(made).error());
  std::vector<Value> values;
  for (Text &text : *made)
    values.push_back(runtime.text(std::move(text), isSafe(source)));
  return runtime.list(std::move(values));
}

template <Case wanted> Result<Value> inCase(Interpreter &interpreter, BoundArguments arguments) {
  return like(interpreter, arguments[0], withCase(interpreter, arguments[0].text(), wanted));
}

template <bool atStart, bool atEnd>
Result<Value> strip(Interpreter &interpreter, BoundArguments arguments) {
  const Text &text = arguments[0].text();
  if (!isGiven(arguments[1]))
    return like(interpreter, arguments[0], trimmed(text, nullptr, atStart, atEnd));
  SINTER_ASSIGN(const Text set, textArgument(arguments[1]));
  SINTER_TRY(interpreter.spend(1 + text.size() * std::min<size_t>(set.size(), 64) / 64));
  return like(interpreter, arguments[0], trimmed(text, &set.bytes(), atStart, atEnd));
}

Result<Value> replace(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[1]));
  SINTER_TRY(textArgument(arguments[2]));
  SINTER_ASSIGN(const int64_t most, integerOr(arguments[3], -1));
  Text old = arguments[1].text(), by = arguments[2].text();
  if (isSafe(arguments[0])) {
    SINTER_ASSIGN(old, escaped(interpreter, arguments[1]));
    SINTER_ASSIGN(by, escaped(interpreter, arguments[2]));
  }
  return like(interpreter, arguments[0], replaced(interpreter, arguments[0].text(), old, by, most));
}

template <bool fromRight>
Result<Value> splitText(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t most, integerOr(arguments[2], -1));
  std::string_view separator;
  if (isGiven(arguments[1])) {
    SINTER_TRY(textArgument(arguments[1]));
    separator = arguments[1].bytes();
    if (separator.empty())
      return fail(Code::InvalidArgument, "the separator is empty");
  }
  return likeEach(interpreter, arguments[0],
                  split(interpreter, arguments[0].text(), separator, most, fromRight));
}

Result<Value> splitLines(Interpreter &interpreter, BoundArguments arguments) {
  return likeEach(interpreter, arguments[0],
                  linesOf(interpreter, arguments[0].text(), truth(arguments[1])));
}

template <bool fromRight>
Result<Value> partition(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[1]));
  const Text &text = arguments[0].text();
  const std::string_view separator = arguments[1].bytes();
  if (separator.empty())
    return fail(Code::InvalidArgument, "the separator is empty");
  SINTER_TRY(interpreter.spendBytes(text.size()));
  const size_t at = fromRight ? text.bytes().rfind(separator) : text.bytes().find(separator);
  const auto part = [&](size_t begin, size_t end) {
    return interpreter.text(text.slice(begin, end), isSafe(arguments[0]));
  };
  if (at == std::string::npos) {
    const Value empty = part(0, 0);
    return interpreter.tuple(fromRight ? std::vector<Value>{empty, empty, arguments[0]}
                                       : std::vector<Value>{arguments[0], empty, empty});
  }
  const size_t end = at + separator.size();
  return interpreter.tuple({part(0, at), part(at, end), part(end, text.size())});
}

template <Side side> Result<Value> fillText(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t width, integerOr(arguments[1], 0));
  Text fill(" ", Origin::Template);
  if (!arguments[2].isMissing()) {
    SINTER_ASSIGN(fill, textArgument(arguments[2]));
    if (countCharacters(fill.bytes()) != 1)
      return fail(Code::InvalidArgument, "the text to fill with is not one character");
  }
  return like(interpreter, arguments[0],
              filled(interpreter, arguments[0].text(), width, fill, side));
}

Result<Value> zeroFill(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const int64_t width, integerOr(arguments[1], 0));
  const Text &text = arguments[0].text();
  const bool hasSign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  SINTER_ASSIGN(const Text digits,
                filled(interpreter, text.slice(hasSign, text.size()), width - hasSign,
                       Text("0", Origin::Template), Side::Left));
  Text made = text.slice(0, hasSign);
  made.append(digits);
  return like(interpreter, arguments[0], std::move(made));
}

template <bool isPrefix>
Result<Value> removeAffix(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_TRY(textArgument(arguments[1]));
  const Text &text = arguments[0].text();
  const std::string_view affix = arguments[1].bytes();
  const bool has = isPrefix ? text.bytes().starts_with(affix) : text.bytes().ends_with(affix);
  if (!has)
    return arguments[0];
  return like(interpreter, arguments[0],
              isPrefix ? text.slice(affix.size(), text.size())
                       : text.slice(0, text.size() - affix.size()));
}

Result<Value> format(Interpreter &interpreter, BoundArguments arguments) {
  return braceFormat(interpreter, arguments[0], arguments[1].items().items, arguments[2]);
}

// The texts of a sequence with this one between them.
Result<Value> join(Interpreter &interpreter, BoundArguments arguments) {
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(interpreter, arguments[1]));
  TextBuilder out(interpreter);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0)
      out.add(arguments[0].text());
    SINTER_TRY(textArgument(items[i]));
    SINTER_ASSIGN(const Text item, isSafe(arguments[0]) ? escaped(interpreter, items[i])
                                                        : textOf(interpreter, items[i]));
    out.add(item);
  }
  return out.finish(isSafe(arguments[0]));
}

constexpr Builtin kMethods[] = {
    {"capitalize", "text", inCase<Case::Capitalized>},
    {"casefold", "text", inCase<Case::Lower>},
    {"center", "text width fillchar?", fillText<Side::Both>},
    {"format", "text *arguments **keywords", format},
    {"join", "text iterable", join},
    {"ljust", "text width fillchar?", fillText<Side::Right>},
    {"lower", "text", inCase<Case::Lower>},
    {"lstrip", "text chars?", strip<true, false>},
    {"partition", "text sep", partition<false>},
    {"removeprefix", "text prefix", removeAffix<true>},
    {"removesuffix", "text suffix", removeAffix<false>},
    {"replace", "text old new count?", replace},
    {"rjust", "text width fillchar?", fillText<Side::Left>},
    {"rpartition", "text sep", partition<true>},
    {"rsplit", "text sep? maxsplit?", splitText<true>},
    {"rstrip", "text chars?", strip<false, true>},
    {"split", "text sep? maxsplit?", splitText<false>},
    {"splitlines", "text keepends?", splitLines},
    {"strip", "text chars?", strip<true, true>},
    {"swapcase", "text", inCase<Case::Swapped>},
    {"title", "text", inCase<Case::Title>},
    {"upper", "text", inCase<Case::Upper>},
    {"zfill", "text width", zeroFill},
};

} // namespace

std::span<const Builtin> textMethods() {
  return kMethods;
}

} // namespace sinter::jinja
