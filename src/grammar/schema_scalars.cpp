// Numbers and strings that several schemas allow.
#include "grammar/regex.h"
#include "grammar/schema_compiler.h"
#include "grammar/string_formats.h"

#include <algorithm>
#include <cmath>

namespace sinter::grammar {

// Whole numbers up to kMostDivisor, and 0.1, 0.01 and so on.
Result<void> SchemaCompiler::addMultiple(const Schema &schema, NumberRule &rule) const {
  SINTER_ASSIGN(const std::optional<double> step, doc_.numberAt(schema, "multipleOf"));
  if (!step)
    return {};
  if (!(*step > 0))
    return doc_.error(schema, "multipleOf", "expected a number above 0");
  if (*step == 1) {
    rule.isInteger = true;
    return {};
  }
  if (std::trunc(*step) == *step && *step <= kMostDivisor) {
    rule.multiples.push_back(static_cast<uint32_t>(*step));
    return {};
  }
  for (uint32_t digits = 1; digits <= 9; ++digits) {
    if (*step == std::pow(10.0, -double(digits))) {
      rule.fractionDigits = std::min(digits, rule.fractionDigits.value_or(digits));
      return {};
    }
  }
  return doc_.error(schema, "multipleOf",
                    "only whole numbers up to " + std::to_string(kMostDivisor) +
                        " and 0.1, 0.01, ... are supported",
                    Code::Unsupported);
}

// Readers take numbers as doubles, which tell 15 digits apart: none reads as the bound.
static void keepApart(const DecimalBound &bound, NumberRule &rule) {
  constexpr size_t kDigits = 15;
  const auto most = static_cast<uint32_t>(kDigits - std::min(kDigits, bound.whole.size()));
  rule.fractionDigits = std::min(most, rule.fractionDigits.value_or(most));
}

Result<ExprId> SchemaCompiler::number(const SchemaSet &all, bool isInteger) {
  struct Side {
    std::string_view keyword;
    bool isLeast, isExclusive;
  };
  constexpr Side kSides[] = {{"minimum", true, false},
                             {"exclusiveMinimum", true, true},
                             {"maximum", false, false},
                             {"exclusiveMaximum", false, true}};
  NumberRule rule{isInteger};
  std::optional<std::pair<double, bool>> tightest[2]; // by isLeast
  for (const Schema *schema : all) {
    SINTER_TRY(addMultiple(*schema, rule));
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
  return numberExpr(g_, rule);
}

Result<ExprId> SchemaCompiler::stringContent(const SchemaSet &all) {
  uint32_t least = 0, most = kUnbounded;
  std::vector<ExprId> parts;
  for (const Schema *schema : all) {
    SINTER_ASSIGN(const std::optional<uint32_t> minimum, doc_.countAt(*schema, "minLength"));
    SINTER_ASSIGN(const std::optional<uint32_t> maximum, doc_.countAt(*schema, "maxLength"));
    least = std::max(least, minimum.value_or(0));
    most = std::min(most, maximum.value_or(kUnbounded));
    const auto add = [&](std::string_view keyword, std::string_view pattern,
                         RegexUse use) -> Result<void> {
      Result<ExprId> part = parseRegex(g_, pattern, use, JsonText::character);
      if (!part)
        return doc_.error(*schema, keyword, part.error().toString(), part.error().code);
      parts.push_back(*part);
      return {};
    };
    SINTER_ASSIGN(const std::string *pattern, doc_.textAt(*schema, "pattern"));
    if (pattern)
      SINTER_TRY(add("pattern", *pattern, RegexUse::Found));
    SINTER_ASSIGN(const std::string *format, doc_.textAt(*schema, "format"));
    if (!format || !isFormatOfDraft(*format))
      continue;
    const std::optional<std::string_view> known = formatPattern(*format);
    if (!known)
      return doc_.error(*schema, "format",
                        "'" + *format + "' is not supported, expected one of " +
                            std::string(formatNames()),
                        Code::Unsupported);
    SINTER_TRY(add("format", *known, RegexUse::Whole));
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
  std::vector<ExprId> out;
  const auto take = [&](const jinja::Input &value) {
    if (value.text())
      out.push_back(text_.content(*value.text()));
  };
  for (const Schema *schema : excluded.values) {
    if (const jinja::Input *one = schema->find("const"))
      take(*one);
    if (const jinja::Input *several = schema->find("enum"); several && several->list())
      std::ranges::for_each(*several->list(), take);
  }
  if (!out.empty())
    content = g_.except(content, g_.choice(out));
  return text_.quoted(content);
}

} // namespace sinter::grammar
