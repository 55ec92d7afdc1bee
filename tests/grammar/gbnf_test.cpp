// GBNF: which texts a grammar has, and what is refused where.
#include "grammar/matching.h"

namespace sinter::grammar {
namespace {

using testing::HasSubstr;

TEST(Gbnf, TextsAreThoseOfTheRules) {
  struct Case {
    const char *grammar;
    std::vector<const char *> in, out;
  };
  const Case cases[] = {
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"", "y", "yesno", "Yes"}},
      {R"(root ::= [a-c]+ "!"?)", {"a", "abc!", "cc"}, {"", "!", "d", "a!!"}},
      {R"(root ::= [^a-c"] {2,3})", {"xy", "x\xC3\xA9z"}, {"x", "xyzw", "xa", "x\""}},
      {R"(root ::= ("a" | "b" ("c" | "d"))*)", {"", "a", "bcbda"}, {"b", "ca"}},
      {"root ::= item (\",\"\n  item)* # a list\nitem ::= \"\\x41\" | \"\\u00e9\"\n",
       {"A", "A,\xC3\xA9"},
       {"A,", ",A"}},
      {R"x(root ::= "(" root ")" | "")x", {"", "()", "((()))"}, {"(", "(()", ")("}},
      {R"(root ::= .{0,2})", {"", "\xF0\x9F\x98\x80\n"}, {"abc", "\xC3", "\xED\xA0\x80"}},
      {R"(root ::= ("a"*)* "b")", {"b", "aab"}, {"a", "ba"}},
      {R"(root ::= "a"{3})", {"aaa"}, {"aa", "aaaa"}},
  };
  for (const Case &c : cases) {
    const auto automaton = gbnf(c.grammar);
    for (const char *text : c.in)
      EXPECT_TRUE(matches(*automaton, text)) << c.grammar << " / " << text;
    for (const char *text : c.out)
      EXPECT_FALSE(matches(*automaton, text)) << c.grammar << " / " << text;
  }
}

TEST(Gbnf, WhatIsWrittenWronglyIsRefusedWithItsPlace) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "no rule 'root'"},
      {"roots ::= \"a\"", "no rule 'root'"},
      {"root ::= other", "rule 'other' is used and not defined"},
      {"root ::= \"a\"\nroot ::= \"b\"", "defined twice"},
      {"root ::= \"a", "a text is not closed"},
      {"root ::= [a", "a set is not closed"},
      {"root ::= [z-a]", "a range goes backwards"},
      {"root ::= (\"a\"", "is not closed"},
      {"root ::= \"a\")", "')' closes no group"},
      {"root ::= *", "nothing lies before the repetition"},
      {"root ::= \"a\"{3,2}", "go backwards"},
      {"root ::= \"a\"{x}", "expected {n}"},
      {"root ::= \"a\"{1000000}", "a count above 100000"},
      {"root ::= \"\\q\"", "no escape begins so"},
      {"root ::= \"\\u12\"", "4 hexadecimal digits"},
      {"root ::= <[5]>", "tokens in angle brackets"},
      {"root ::= \"\xFF\"", "not UTF-8"},
      {"root = \"a\"", "expected '::='"},
      {"root ::= root \"a\" | \"a\"", "left recursion"},
      {"root ::= a\na ::= \"x\"* b\nb ::= a \"y\"", "left recursion"},
  };
  for (const auto &[text, message] : cases) {
    const Result<Grammar> grammar = parseGbnf(text);
    ASSERT_FALSE(grammar) << text;
    EXPECT_THAT(grammar.error().toString(), HasSubstr(message)) << text;
  }
}

TEST(Gbnf, DeepGroupsAreRefused) {
  const Result<Grammar> grammar = parseGbnf("root ::= " + std::string(100'000, '('));
  ASSERT_FALSE(grammar);
  EXPECT_THAT(grammar.error().message, HasSubstr("too deeply"));
}

// A rule that is known only after all that lead to it: the check takes them one by one, not all
// again for each.
TEST(Gbnf, LongChainsOfRulesAreChecked) {
  constexpr int kRules = 10'000;
  std::string text = "root ::= r0\n";
  for (int i = 0; i < kRules; ++i)
    text += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  const std::string last = "r" + std::to_string(kRules) + " ::= \"z\"";
  EXPECT_TRUE(matches(*gbnf(text + last), "z"));
  const Result<Grammar> endless = parseGbnf(text + last + " r0");
  ASSERT_TRUE(endless);
  EXPECT_FALSE(Automaton::create(*endless));
}

// Each nesting is a state of its own: a text as deep as that ends with an error, not with memory.
TEST(Gbnf, DeepTextsEndWithAnError) {
  const auto automaton = gbnf(R"x(root ::= "(" root ")" | "")x");
  Result<StateId> state = automaton->start();
  for (size_t i = 0; state && i < 200'000; ++i)
    state = automaton->next(*state, '(');
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Code::Unsupported);
}

// Each ends with an error after bounded work, whether it is made or run.
TEST(Gbnf, WhatIsTooAmbiguousEndsWithAnError) {
  std::string doubled = "root ::= r30\nr0 ::= \"a\" | \"\"\n";
  for (int i = 1; i <= 30; ++i)
    doubled += "r" + std::to_string(i) + " ::= r" + std::to_string(i - 1) + " r" +
               std::to_string(i - 1) + " | r" + std::to_string(i - 1) + "\n";
  for (const std::string &text : {doubled, std::string("root ::= ((\"a\"?){5000}){5000}"),
                                  std::string("root ::= (([a-z]{1,300}){1,300}){1,300}")}) {
    Result<std::unique_ptr<Automaton>> made = Automaton::create(*parseGbnf(text));
    Result<StateId> state = made ? Result<StateId>((*made)->start()) : Fail(made.error());
    for (int i = 0; state && i < 2000; ++i)
      state = (*made)->next(*state, 'a');
    ASSERT_FALSE(state) << text.substr(0, 40);
    EXPECT_EQ(state.error().code, Code::Unsupported);
  }
}

} // namespace
} // namespace sinter::grammar
