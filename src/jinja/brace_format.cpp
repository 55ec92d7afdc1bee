// str.format: "{}", "{0}", "{name.key[0]!r:>8}".
#include "jinja/access.h"
#include "jinja/arguments.h"
#include "jinja/characters.h"
#include "jinja/format_spec.h"
#include "jinja/operators.h"

#include <algorithm>
#include <charconv>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

std::optional<int64_t> wholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool isWhole = !text.empty() && text[0] != '-' && read.ec == std::errc() &&
                       read.ptr == text.data() + text.size();
  return isWhole ? std::optional(value) : std::nullopt;
}

// Reads what follows the colon of a field.
class SpecReader {
public:
  SpecReader(const Text &text, size_t begin, size_t end)
      : source_(text), bytes_(std::string_view(text.bytes()).substr(0, end)), at_(begin) {}

  Result<FormatSpec> run() {
    FormatSpec spec;
    readAlignment(spec);
    if (std::string_view("+- ").find(now()) != std::string_view::npos && now())
      spec.sign = bytes_[at_++];
    spec.isAlternate = take('#');
    if (take('0') && !spec.align) {
      spec.fill = Text("0", Origin::Template);
      spec.align = '=';
    }
    SINTER_ASSIGN(spec.width, number(0));
    if (now() == ',' || now() == '_')
      spec.grouping = bytes_[at_++];
    if (take('.')) {
      SINTER_ASSIGN(const int64_t precision, number(-1));
      if (precision < 0 || precision > kMostPrecision)
        return fail(Code::InvalidArgument, "the precision of a format is not within 0 and " +
                                               std::to_string(kMostPrecision));
      spec.precision = static_cast<int>(precision);
    }
    if (at_ < bytes_.size())
      spec.type = bytes_[at_++];
    if (at_ < bytes_.size())
      return fail(Code::InvalidArgument,
                  "the format '" + std::string(bytes_.substr(at_ - 1)) + "' is not understood");
    return spec;
  }

private:
  char now() const { return at_ < bytes_.size() ? bytes_[at_] : '\0'; }
  bool take(char c) { return now() == c && (++at_, true); }
  static bool isAlignment(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }
  void readAlignment(FormatSpec &spec) {
    if (at_ >= bytes_.size())
      return;
    const size_t after = at_ + characterBytes(bytes_[at_]);
    if (after < bytes_.size() && isAlignment(bytes_[after])) {
      spec.fill = source_.slice(at_, after);
      spec.align = bytes_[after];
      at_ = after + 1;
    } else if (isAlignment(now())) {
      spec.align = bytes_[at_++];
    }
  }
  Result<int64_t> number(int64_t initial) {
    if (now() < '0' || now() > '9')
      return initial;
    int64_t value = 0;
    for (; now() >= '0' && now() <= '9'; ++at_) {
      value = value * 10 + (now() - '0');
      if (value > INT32_MAX)
        return fail(Code::InvalidArgument, "the width of a format is too large");
    }
    return value;
  }

  const Text &source_;
  std::string_view bytes_;
  size_t at_;
};

class BraceFormatter {
public:
  BraceFormatter(Runtime &runtime, const Value &format, const std::vector<Value> &arguments,
                 const Value &keywords)
      : runtime_(runtime), format_(format), bytes_(format.bytes()), arguments_(arguments),
        keywords_(keywords), out_(runtime) {}

  Result<Value> run() {
    for (size_t at = 0; at < bytes_.size();) {
      const size_t brace = std::min(bytes_.find_first_of("{}", at), bytes_.size());
      out_.add(format_.text(), at, brace);
      if (brace == bytes_.size())
        break;
      SINTER_TRY(runtime_.spend());
      if (brace + 1 < bytes_.size() && bytes_[brace + 1] == bytes_[brace]) {
        out_.add(format_.text(), brace, brace + 1);
        at = brace + 2;
        continue;
      }
      const size_t end = bytes_.find_first_of("{}", brace + 1);
      if (bytes_[brace] == '}' || end == std::string_view::npos)
        return fail(Code::InvalidArgument, "the format has a brace without a partner");
      if (bytes_[end] == '{')
        return fail(Code::Unsupported, "the format has a field within a field");
      SINTER_TRY(field(brace + 1, end));
      at = end + 1;
    }
    return out_.finish(isSafe(format_));
  }

private:
  Result<void> field(size_t begin, size_t end) {
    size_t colon = std::min(bytes_.find(':', begin), end);
    const size_t mark = std::min(bytes_.find('!', begin), colon);
    SINTER_ASSIGN(const Value value, valueOf(bytes_.substr(begin, mark - begin)));
    SINTER_ASSIGN(const FormatSpec spec,
                  SpecReader(format_.text(), std::min(colon + 1, end), end).run());
    const bool isPlain = colon + 1 >= end;
    if (mark == colon)
      return add(value, spec, isPlain);
    const std::string_view conversion = bytes_.substr(mark + 1, colon - mark - 1);
    if (conversion != "s" && conversion != "r")
      return fail(Code::InvalidArgument,
                  "the conversion '" + std::string(conversion) + "' is not understood");
    SINTER_ASSIGN(Text text, conversion == "r" ? reprOf(runtime_, value) : textOf(runtime_, value));
    return add(runtime_.text(std::move(text)), spec, isPlain);
  }

  Result<void> add(const Value &value, const FormatSpec &spec, bool isPlain) {
    if (isPlain) {
      SINTER_ASSIGN(const Text text,
                    isSafe(format_) ? escaped(runtime_, value) : textOf(runtime_, value));
      out_.add(text);
      return {};
    }
    if (value.isText()) {
      const bool isText = spec.type == '\0' || spec.type == 's';
      if (!isText || spec.sign != '-' || spec.align == '=' || spec.grouping || spec.isAlternate)
        return fail(Code::InvalidArgument, "the format does not take a text");
      return addText(runtime_, value.text(), spec, out_);
    }
    if (!value.isNumber())
      return wrongType("a text or number to format", value);
    if (value.isIntegral() && spec.precision >= 0 &&
        std::string_view("eEfFgG%").find(spec.type ? spec.type : 'd') == std::string_view::npos)
      return fail(Code::InvalidArgument, "the format has a precision, and takes no whole number");
    return addNumber(runtime_, value, spec, out_);
  }

  Result<Value> valueOf(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    SINTER_ASSIGN(Value value, firstOf(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      const bool isAttribute = path[0] == '.';
      const size_t stop =
          isAttribute ? std::min(path.find_first_of(".[", 1), path.size()) : path.find(']');
      if (stop == std::string_view::npos || stop == 1)
        return fail(Code::InvalidArgument, "the format has a field that does not end");
      const std::string_view part = path.substr(1, stop - 1);
      if (isAttribute) {
        SINTER_ASSIGN(value, attributeOf(runtime_, value, part));
      } else {
        const auto index = wholeNumber(part);
        const Value key =
            index ? Value::integer(*index) : runtime_.text(std::string(part), Origin::Input);
        SINTER_ASSIGN(value, itemOf(runtime_, value, key));
      }
      path.remove_prefix(stop + !isAttribute);
    }
    return value;
  }

  Result<Value> firstOf(std::string_view name) {
    const auto index = wholeNumber(name);
    if (name.empty() || index) {
      const bool isNumbered = !name.empty();
      if (isNumbered ? next_ > 0 : isNumbered_)
        return fail(Code::InvalidArgument, "the format mixes numbered fields with others");
      isNumbered_ = isNumbered;
      const uint64_t at = isNumbered ? static_cast<uint64_t>(*index) : next_++;
      if (at >= arguments_.size())
        return fail(Code::InvalidArgument, "the format has more fields than there are values");
      return arguments_[at];
    }
    if (const Value *found = find(keywords_.dict(), name))
      return *found;
    return fail(Code::InvalidArgument,
                "there is no value '" + std::string(name.substr(0, 64)) + "'");
  }

  Runtime &runtime_;
  const Value &format_;
  std::string_view bytes_;
  const std::vector<Value> &arguments_;
  const Value &keywords_;
  TextBuilder out_;
  uint64_t next_ = 0;
  bool isNumbered_ = false;
};

} // namespace

Result<Value> braceFormat(Runtime &runtime, const Value &format,
                          const std::vector<Value> &arguments, const Value &keywords) {
  return BraceFormatter(runtime, format, arguments, keywords).run();
}

} // namespace sinter::jinja
