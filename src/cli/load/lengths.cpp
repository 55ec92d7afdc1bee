// Parsing and drawing.
#include "cli/load/lengths.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace sinter::cli {
namespace {

struct Form {
  const char *name; // with its colon
  Lengths::Kind kind;
  bool hasSecond;
};
constexpr Form kForms[] = {{"uniform:", Lengths::Kind::Uniform, true},
                           {"normal:", Lengths::Kind::Normal, true},
                           {"exponential:", Lengths::Kind::Exponential, false},
                           {"", Lengths::Kind::Constant, false}};

std::optional<double> numberOf(std::string_view text, double least) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      !(value >= least && value <= kMostLength))
    return std::nullopt;
  return value;
}

} // namespace

Result<Lengths> Lengths::parse(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::InvalidArgument,
                "'" + std::string(text) + "', expected a number of tokens from 1 to " +
                    std::to_string(kMostLength) +
                    ", uniform:FROM:TO, normal:MEAN:DEVIATION or exponential:MEAN");
  };
  const auto form =
      std::ranges::find_if(kForms, [&](const Form &each) { return text.starts_with(each.name); });
  std::string_view numbers = text.substr(std::string_view(form->name).size());
  Lengths lengths{form->kind, 0, 0};
  const size_t colon = numbers.find(':');
  if ((colon != numbers.npos) != form->hasSecond)
    return bad();
  const auto first = numberOf(numbers.substr(0, colon), 1);
  if (!first)
    return bad();
  lengths.first = *first;
  if (form->hasSecond) {
    const auto second =
        numberOf(numbers.substr(colon + 1), lengths.kind == Kind::Uniform ? lengths.first : 0);
    if (!second)
      return bad();
    lengths.second = *second;
  }
  return lengths;
}

std::string Lengths::text() const {
  const auto form = std::ranges::find(kForms, kind, &Form::kind);
  const auto numberText = [](double value) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  return form->name + numberText(first) + (form->hasSecond ? ":" + numberText(second) : "");
}

uint32_t Lengths::draw(LoadRandom &random) const {
  double drawn = first;
  if (kind == Kind::Uniform)
    drawn = first - 0.5 + (second - first + 1) * (1 - random.uniform());
  else if (kind == Kind::Normal)
    drawn = first + second * random.normal();
  else if (kind == Kind::Exponential)
    drawn = first * random.exponential();
  return static_cast<uint32_t>(std::clamp(std::round(drawn), 1.0, double{kMostLength}));
}

} // namespace sinter::cli
