// Numbers and strings that several schemas allow.
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "grammar/string_formats.h"

#include <algorithm>
#include <cmath>

namespace sinter::grammar {

Result<void> SchemaCompiler::addMultiple(const Schema &schema,
                                         std::vector<Multiple> &multiples) const {
  SINTER_ASSIGN(const std::optional<double> step, doc_.numberAt(schema, "multipleOf"));
  if (!step)
    return {};
  if (!(*step > 0))
    return doc_.error(schema, "multipleOf", "expected a number above 0");
  const Result<DecimalBound> text = decimalBound(*step, false);
  const std::string digits = text ? text->whole + text->fraction : "";
  const size_t first = std::min(digits.find_first_not_of('0'), digits.size());
  constexpr size_t kMostDigits = 4; // of kMostDivisor
  Multiple multiple{0, text ? static_cast<uint32_t>(text->fraction.size()) : 0};
  if (text && digits.size() - first <= kMostDigits)
    for (const char digit : digits.substr(first))
      multiple.part = multiple.part * 10 + static_cast<uint32_t>(digit - '0');
  if (multiple.part == 0 || multiple.part > kMostDivisor ||
      multiple.part * (multiple.digits + 1) > kMostRemainders)
    return doc_.error(schema, "multipleOf",
                      "only whole numbers up to " + std::to_string(kMostDivisor) +
                          " and tenths, hundredths, ... of them are supported",
                      Code::Unsupported);
  multiples.push_back(multiple);
  return {};
}

// Readers take numbers as doubles, which tell 15 digits apart: none reads as the bound.
static void keepApart(const DecimalBound &bound, NumberRule &rule) {
  constexpr size_t kDigits = 15;
  const auto most = static_cast<uint32_t>(kDigits - std::min(kDigits, bound.whole.size()));
  rule.fractionDigits = std::min(most, rule.fractionDigits.value_or(most));
}

// The tightest ones of all schemas.
Result<void> SchemaCompiler::addBounds(const SchemaSet &all, NumberRule &rule) const {
  struct Side {
    std::string_view keyword;
    bool isLeast, isExclusive;
  };
  constexpr Side kSides[] = {{"minimum", true, false},
                             {"exclusiveMinimum", true, true},
                             {"maximum", false, false},
                             {"exclusiveMaximum", false, true}};
  std::optional<std::pair<double, bool>> tightest[2]; // by isLeast
  for (const Schema *schema : all) {
    for (const Side &side : kSides) {
      SINTER_ASSIGN(const std::optional<double> found, doc_.numberAt(*schema, side.keyword));
      auto &now = tightest[side.isLeast];
      const bool isTighter =
          found && (!now || (side.isLeast ? *found > now->first : *found < now->first) ||
                    (*found == now->first && side.isExclusive));
      if (!isTighter)
        continue;
      now = {*found, side.isExclusive};
      Result<DecimalBound> bound = decimalBound(*found, side.isExclusive);
      if (!bound)
        return doc_.error(*schema, side.keyword, bound.error().message, bound.error().code);
      if (side.isExclusive)
        keepApart(*bound, rule);
      (side.isLeast ? rule.least : rule.most) = std::move(*bound);
    }
  }
  return {};
}

Result<void> SchemaCompiler::addExcludedNumbers(const Excluded &excluded, NumberRule &rule) const {
  for (const Schema *schema : excluded.multiples)
    SINTER_TRY(addMultiple(*schema, rule.notMultiples));
  for (const Schema *schema : excluded.values) {
    const jinja::Input *one = schema->find("const"), *several = schema->find("enum");
    const jinja::Input::List single = one ? jinja::Input::List{*one} : jinja::Input::List{};
    for (const jinja::Input &value : several && several->list() ? *several->list() : single) {
      if (!(typeOf(value) & (kInteger | kFraction)))
        continue;
      const auto *whole = std::get_if<int64_t>(&value.content());
      const double number = whole ? static_cast<double>(*whole) : std::get<double>(value.content());
      Result<DecimalBound> text = decimalBound(number, true);
      if (!text)
        return doc_.error(*schema, "not", text.error().message, text.error().code);
      rule.notValues.push_back(std::move(*text));
    }
  }
  return {};
}

Result<ExprId> SchemaCompiler::number(const SchemaSet &all, uint32_t types,
                                      const Excluded &excluded) {
  NumberRule rule;
  rule.isFraction = (types & kInteger) == 0;
  for (const Schema *schema : all)
    SINTER_TRY(addMultiple(*schema, rule.multiples));
  const bool isWhole = std::ranges::any_of(
      rule.multiples, [](const Multiple &multiple) { return multiple.digits == 0; });
  rule.isInteger = isWhole || (types & kFraction) == 0;
  if (rule.isInteger && rule.isFraction)
    return g_.choice({});
  for (const Multiple &multiple : rule.multiples) // 0.1, 0.01 and so on
    if (multiple.part == 1)
      rule.fractionDigits =
          std::min(multiple.digits, rule.fractionDigits.value_or(multiple.digits));
  std::erase_if(rule.multiples, [](const Multiple &multiple) { return multiple.part == 1; });
  SINTER_TRY(addBounds(all, rule));
  SINTER_TRY(addExcludedNumbers(excluded, rule));
  return numberExpr(g_, rule);
}

Result<void> SchemaCompiler::addPatterns(const Schema &schema, std::vector<ExprId> &parts) {
  const auto add = [&](std::string_view keyword, std::string_view pattern,
                       RegexUse use) -> Result<void> {
    Result<ExprId> part = parseRegex(g_, pattern, use, text_.characters());
    if (!part)
      return doc_.error(schema, keyword, part.error().toString(), part.error().code);
    parts.push_back(*part);
    return {};
  };
  SINTER_ASSIGN(const std::string *pattern, doc_.textAt(schema, "pattern"));
  if (pattern)
    SINTER_TRY(add("pattern", *pattern, RegexUse::Found));
  SINTER_ASSIGN(const std::string *format, doc_.textAt(schema, "format"));
  if (!format)
    return {};
  const std::optional<std::string_view> known = formatPattern(*format);
  return known ? add("format", *known, RegexUse::Whole) : Result<void>();
}

Result<ExprId> SchemaCompiler::stringContent(const SchemaSet &all) {
  uint32_t least = 0, most = kUnbounded;
  std::vector<ExprId> parts;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const std::optional<uint32_t> minimum, doc_.countAt(*schema, "minLength"));
    SINTER_ASSIGN(const std::optional<uint32_t> maximum, doc_.countAt(*schema, "maxLength"));
    least = std::max(least, minimum.value_or(0));
    most = std::min(most, maximum.value_or(kUnbounded));
    SINTER_TRY(addPatterns(*schema, parts));
  }
  if (least > most)
    return g_.choice({});
  if (least > 0 || most != kUnbounded || parts.empty())
    parts.push_back(text_.anyCharacters(least, most));
  ExprId content = parts.front();
  for (size_t i = 1; i < parts.size(); ++i)
    content = g_.both(content, parts[i]);
  return content;
}

Result<ExprId> SchemaCompiler::string(const SchemaSet &all, const Excluded &excluded) {
  SINTER_ASSIGN(ExprId content, stringContent(all));
  Texts out;
  const auto take = [&](const jinja::Input &value) {
    if (value.text())
      out.push_back(jsonStringContent(*value.text()));
  };
  for (const Schema *schema : excluded.values) {
    if (const jinja::Input *one = schema->find("const"))
      take(*one);
    if (const jinja::Input *several = schema->find("enum"); several && several->list())
      std::ranges::for_each(*several->list(), take);
  }
  std::vector<ExprId> others;
  if (!out.empty())
    others.push_back(textsExpr(g_, std::move(out)));
  for (const Schema *schema : excluded.texts)
    SINTER_TRY(addPatterns(*schema, others));
  if (!others.empty())
    content = g_.except(content, g_.choice(others));
  return text_.quoted(content);
}

} // namespace sinter::grammar
