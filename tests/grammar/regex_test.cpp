// Regular expressions: which texts match, and what is refused by name.
#include "grammar/matching.h"

namespace sinter::grammar {
namespace {

using testing::HasSubstr;

struct Case {
  const char *pattern;
  std::vector<const char *> in, out;
};

void expectMatches(std::span<const Case> cases, RegexUse use) {
  for (const Case &c : cases) {
    const auto automaton = regex(c.pattern, use);
    for (const char *text : c.in)
      EXPECT_TRUE(matches(*automaton, text)) << c.pattern << " / " << text;
    for (const char *text : c.out)
      EXPECT_FALSE(matches(*automaton, text)) << c.pattern << " / " << text;
  }
}

TEST(Regex, WholeTexts) {
  const Case cases[] = {
      {"a|bc", {"a", "bc"}, {"", "ab", "abc"}},
      {"(?:ab)+?c*", {"ab", "ababcc"}, {"", "c", "a"}},
      {"[a-c\\d-]{2}", {"a1", "--", "b-"}, {"a", "ad", "a11"}},
      {"[^\\s\\w]", {"!", "\xE2\x82\xAC"}, {"a", " ", "_", "\xE2\x80\xA9"}},
      {"\\u0041\\x42\\u{43}\\cA\\/\\.", {"ABC\x01/."}, {"ABC\x01/x"}},
      {"\\ud83d\\ude00", {"\xF0\x9F\x98\x80"}, {"x"}},
      {".", {"a", "\xC3\xA9"}, {"\n", "\xE2\x80\xA8", ""}},
      {"x{2,}y{0,1}", {"xx", "xxxy"}, {"x", "xxyy"}},
      {"a{b}", {"a{b}"}, {"ab"}},
      {"(?<year>\\d{4})-(\\d\\d)", {"2026-11"}, {"202-11", "2026-1"}},
      {"^abc$", {"abc"}, {"abcd"}},
      {"", {""}, {"a"}},
      {"[\\b\\t\\-\\]]", {"\b", "-", "]"}, {"b"}},
      {"(a|)b", {"ab", "b"}, {"a"}},
  };
  expectMatches(cases, RegexUse::Whole);
}

TEST(Regex, FoundAnywhereUnlessBound) {
  const Case cases[] = {
      {"b", {"b", "abc", "\nb"}, {"", "ac"}},
      {"^b", {"b", "bc"}, {"ab"}},
      {"b$", {"b", "ab"}, {"bc"}},
      {"^b$|^c", {"b", "cx"}, {"bx", "ac"}},
      {"^a|b$", {"ax", "xb"}, {"xa", "bx"}},
      {"", {"", "abc"}, {}},
  };
  expectMatches(cases, RegexUse::Found);
}

TEST(Regex, WhatIsNotSupportedIsNamed) {
  const std::pair<const char *, const char *> cases[] = {
      {"(?=a)b", "lookaround"},         {"(?<!a)b", "lookaround"},
      {"\\bword", "word boundaries"},   {"(a)\\1", "references to groups"},
      {"\\p{L}", "Unicode properties"}, {"(?i)a", "modifiers of groups"},
      {"a^b", "'^' is supported at"},   {"(a$)", "'$' is supported at"},
      {"a$b", "'$' is supported at"},   {"(a", "a group is not closed"},
      {"a)", "closes no group"},        {"[a", "a set is not closed"},
      {"*a", "nothing lies before"},    {"[z-a]", "a range goes backwards"},
      {"a{3,1}", "go backwards"},       {"\\u{110000}", "no such code point"},
      {"\\", "ends too early"},         {"\\xZZ", "hexadecimal"},
  };
  for (const auto &[pattern, message] : cases) {
    Grammar grammar;
    const Result<ExprId> found = parseRegex(grammar, pattern, RegexUse::Whole);
    ASSERT_FALSE(found) << pattern;
    EXPECT_THAT(found.error().toString(), HasSubstr(message)) << pattern;
  }
}

} // namespace
} // namespace sinter::grammar
