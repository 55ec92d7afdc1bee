// printf-style formats: text % values.
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/format_spec.h"
#include "jinja/operators.h"

#include <cmath>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

class PercentFormatter {
public:
  PercentFormatter(Runtime &runtime, const Value &format, const Value &arguments)
      : runtime_(runtime), format_(format), bytes_(format.bytes()), arguments_(arguments),
        out_(runtime) {}

  Result<Value> run() {
    size_t done = 0;
    for (at_ = bytes_.find('%'); at_ != std::string_view::npos; at_ = bytes_.find('%', at_)) {
      out_.add(format_.text(), done, at_);
      ++at_;
      SINTER_TRY(runtime_.spend());
      SINTER_TRY(field());
      done = at_;
    }
    out_.add(format_.text(), done, bytes_.size());
    SINTER_TRY(checkAllTaken());
    return out_.finish(isSafe(format_));
  }

private:
  char now() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }

  Result<void> field() {
    FormatSpec spec;
    std::optional<Value> named;
    if (now() == '(') {
      SINTER_ASSIGN(named, namedArgument());
    }
    flags(spec);
    SINTER_ASSIGN(spec.width, number());
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (now() == '.') {
      ++at_;
      SINTER_ASSIGN(const int64_t precision, number());
      if (precision > kMostPrecision)
        return fail(Code::Unsupported,
                    "a format has more than " + std::to_string(kMostPrecision) + " digits");
      spec.precision = static_cast<int>(std::max<int64_t>(precision, 0));
    }
    while (now() == 'h' || now() == 'l' || now() == 'L')
      ++at_;
    if (at_ >= bytes_.size())
      return fail(Code::InvalidArgument, "the format ends inside of a field");
    const char type = bytes_[at_++];
    if (type == '%') {
      out_.add("%", Origin::Template);
      return {};
    }
    SINTER_ASSIGN(const Value value, named ? Result<Value>(*named) : nextArgument());
    return convert(type, value, spec);
  }

  Result<Value> namedArgument() {
    if (!arguments_.is(Kind::Dict))
      return fail(Code::InvalidArgument, "the format names a value, expected a dict of them");
    const size_t end = bytes_.find(')', at_);
    if (end == std::string_view::npos)
      return fail(Code::InvalidArgument, "the format ends inside of a name");
    const std::string_view name = bytes_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    usesNames_ = true;
    if (const Value *found = find(arguments_.dict(), name))
      return *found;
    return fail(Code::InvalidArgument,
                "there is no value '" + std::string(name.substr(0, 64)) + "'");
  }
  void flags(FormatSpec &spec) {
    for (; std::string_view("-+ #0").find(now()) != std::string_view::npos && now(); ++at_) {
      if (now() == '-')
        spec.align = '<';
      else if (now() == '+' || (now() == ' ' && spec.sign == '-'))
        spec.sign = now();
      else if (now() == '#')
        spec.isAlternate = true;
      else if (now() == '0')
        fillsZeros_ = true;
    }
    if (fillsZeros_ && spec.align != '<') {
      spec.fill = Text("0", Origin::Template);
      spec.align = '=';
    }
    fillsZeros_ = false;
  }
  // Digits, or '*' for the next argument.
  Result<int64_t> number() {
    if (now() == '*') {
      ++at_;
      SINTER_ASSIGN(const Value value, nextArgument());
      return integerOr(value, 0);
    }
    int64_t value = 0;
    for (; now() >= '0' && now() <= '9'; ++at_) {
      value = value * 10 + (now() - '0');
      if (value > INT32_MAX)
        return fail(Code::InvalidArgument, "a width or precision is too large");
    }
    return value;
  }

  Result<Value> nextArgument() {
    const bool isTuple = arguments_.is(Kind::Tuple);
    const size_t count = isTuple ? arguments_.items().items.size() : 1;
    if (taken_ >= count)
      return fail(Code::InvalidArgument, "there are not enough values for the format");
    return isTuple ? arguments_.items().items[taken_++] : (++taken_, arguments_);
  }
  Result<void> checkAllTaken() const {
    const size_t count = arguments_.is(Kind::Tuple) ? arguments_.items().items.size() : 1;
    const bool isMapping = arguments_.is(Kind::Dict) || arguments_.is(Kind::List) ||
                           arguments_.is(Kind::Range) || arguments_.isUndefined();
    if (taken_ >= count || isMapping)
      return {};
    return fail(Code::InvalidArgument, "there are more values than the format takes");
  }

  Result<void> convert(char type, const Value &value, FormatSpec &spec) {
    switch (type) {
    case 's':
    case 'r':
    case 'a':
      return convertText(type, value, spec);
    case 'c':
      return convertCharacter(value, spec);
    case 'd':
    case 'i':
    case 'u':
      spec.type = 'd';
      return convertInteger(value, spec);
    case 'o':
    case 'x':
    case 'X':
      spec.type = type;
      if (!value.isIntegral())
        return wrongType("a whole number", value);
      return addNumber(runtime_, value, spec, out_);
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      spec.type = type;
      if (!value.isNumber())
        return wrongType("a number", value);
      return addNumber(runtime_, value, spec, out_);
    default:
      return fail(Code::InvalidArgument, std::string("the format has no type '") + type + "'");
    }
  }
  static void fillWithSpaces(FormatSpec &spec) {
    spec.fill = Text(" ", Origin::Template);
    if (spec.align != '<')
      spec.align = '>';
  }
  Result<void> convertText(char type, const Value &value, FormatSpec &spec) {
    if (type == 'a')
      return fail(Code::Unsupported, "the format type 'a' is not supported");
    fillWithSpaces(spec);
    SINTER_ASSIGN(Text text, type == 'r'       ? reprOf(runtime_, value)
                             : isSafe(format_) ? escaped(runtime_, value)
                                               : textOf(runtime_, value));
    if (type == 'r' && isSafe(format_)) {
      SINTER_ASSIGN(text, escaped(runtime_, runtime_.text(text)));
    }
    return addText(runtime_, text, spec, out_);
  }
  Result<void> convertCharacter(const Value &value, FormatSpec &spec) {
    fillWithSpaces(spec);
    spec.precision = -1;
    if (value.isText() && countCharacters(value.bytes()) == 1)
      return addText(runtime_, value.text(), spec, out_);
    const int64_t code = value.isIntegral() ? value.integer() : -1;
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      return wrongType("a character", value);
    std::string character;
    appendCharacter(character, static_cast<uint32_t>(code));
    return addText(runtime_, Text(character, value.origin()), spec, out_);
  }
  Result<void> convertInteger(const Value &value, const FormatSpec &spec) {
    if (!value.is(Kind::Float)) {
      if (!value.isIntegral())
        return wrongType("a number", value);
      return addNumber(runtime_, value, spec, out_);
    }
    if (!(std::fabs(value.real()) < 9e18))
      return fail(Code::Unsupported, "a whole number beyond 64 bits");
    return addNumber(runtime_, Value::integer(static_cast<int64_t>(value.real()), value.origin()),
                     spec, out_);
  }

  Runtime &runtime_;
  const Value &format_;
  std::string_view bytes_;
  const Value &arguments_;
  TextBuilder out_;
  size_t at_ = 0, taken_ = 0;
  bool usesNames_ = false, fillsZeros_ = false;
};

} // namespace

Result<Value> percentFormat(Runtime &runtime, const Value &format, const Value &arguments) {
  return PercentFormatter(runtime, format, arguments).run();
}

} // namespace sinter::jinja
