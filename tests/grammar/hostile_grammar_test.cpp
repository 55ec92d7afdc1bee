// Forms that are made to explode end with a clear error, or stay small.
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/matching.h"
#include "grammar/token_masks.h"

namespace sinter::grammar {
namespace {

using jinja::Input;
using testing::HasSubstr;

Result<Grammar> schema(const Input &value) {
  return parseJsonSchema(value);
}

Input object(Input::Object members) {
  return Input(std::move(members));
}
Input text(std::string value) {
  return Input(std::move(value));
}

std::shared_ptr<const TokenTrie> bytesAsTokens() {
  static std::vector<std::string> words;
  std::vector<TokenBytes> tokens;
  for (int byte = 0; byte < 256; ++byte)
    words.emplace_back(1, static_cast<char>(byte));
  for (uint32_t i = 0; i < 256; ++i)
    tokens.push_back({i, words[i]});
  return std::make_shared<TokenTrie>(tokens, words.size());
}

// Work of all calls together is bounded, so each text ends after some, with the error or without.
TEST(HostileGrammar, PatternsThatExplodeEndWithAnError) {
  const char *const patterns[] = {"(a|a)*b", "((a*)*)*b", "(a{1000}){1000}", "((a?){99}){99}",
                                  "((a|b)*a(a|b){12})*c"};
  for (const char *pattern : patterns) {
    Grammar grammar;
    const Result<ExprId> root = parseRegex(grammar, pattern, RegexUse::Found);
    ASSERT_TRUE(root) << pattern;
    grammar.setRoot(*root);
    auto automaton = Automaton::create(std::move(grammar));
    if (!automaton) {
      EXPECT_THAT(automaton.error().message, HasSubstr("too ambiguous")) << pattern;
      continue;
    }
    TokenMasks masks(std::move(*automaton), bytesAsTokens());
    StateId state = masks.automaton().start();
    for (int i = 0; i < 40; ++i) {
      const auto mask = masks.maskOf(state);
      const Result<StateId> next = masks.automaton().next(state, static_cast<uint8_t>('a'));
      if (!mask || !next) {
        const std::string error = !mask ? mask.error().message : next.error().message;
        EXPECT_THAT(error, testing::AnyOf(HasSubstr("too ambiguous"), HasSubstr("states")));
        break;
      }
      state = *next == kDead ? state : *next;
    }
    EXPECT_LT(masks.bytes(), size_t{256} << 20) << pattern;
  }
}

TEST(HostileGrammar, CountsBeyondTheLimitAreNamed) {
  for (const char *pattern : {"a{1000000}", "a{1,1000000}"}) {
    Grammar grammar;
    const Result<ExprId> root = parseRegex(grammar, pattern, RegexUse::Whole);
    ASSERT_FALSE(root);
    EXPECT_THAT(root.error().message, HasSubstr("a count above 100000"));
  }
  EXPECT_THAT(parseGbnf(R"(root ::= "a"{1000000})").error().message, HasSubstr("above 100000"));
  EXPECT_THAT(parseRegex(*std::make_unique<Grammar>(), std::string(300, '('), RegexUse::Whole)
                  .error()
                  .message,
              HasSubstr("nested too deeply"));
}

TEST(HostileGrammar, AnEnumOfTenThousandTextsIsATree) {
  Input::List values;
  for (int i = 0; i < 10'000; ++i)
    values.push_back(text("a common beginning, number " + std::to_string(i)));
  const Input one = object({{"enum", Input(values)}});
  Result<Grammar> grammar = schema(object({{"allOf", Input(Input::List{one, one, one})}}));
  ASSERT_TRUE(grammar) << grammar.error().toString();
  const auto automaton = automatonOf(std::move(*grammar));
  EXPECT_TRUE(matches(*automaton, jsonLiteral(values[0])));
  EXPECT_TRUE(matches(*automaton, jsonLiteral(values[9'999])));
  EXPECT_FALSE(matches(*automaton, "\"a common beginning, number 10000\""));
  EXPECT_FALSE(matches(*automaton, "\"a common beginning, number \""));
  EXPECT_LT(automaton->bytes(), size_t{4} << 20);
}

TEST(HostileGrammar, SchemasOfTooManyPartsAreRefusedWithTheNumbers) {
  Input::List many;
  Input::Object names;
  for (int i = 0; i < 5'000; ++i) {
    many.push_back(object({{"minLength", Input(int64_t{i})}}));
    names.emplace_back("name " + std::to_string(i), Input(true));
  }
  const std::pair<Input, const char *> cases[] = {
      {object({{"allOf", Input(many)}}), "more than 1000 schemas hold together"},
      {object({{"anyOf", Input(many)}}), "more than 4000 combinations"},
      {object({{"oneOf", Input(many)}}), "it has 5000 branches, expected at most 256"},
      {object({{"properties", Input(names)}}), "5000 properties, expected at most 4000"},
      {object({{"required", Input(Input::List(5'000, text("a")))}}),
       "5000 names, expected at most"},
  };
  for (const auto &[value, message] : cases) {
    const Result<Grammar> grammar = schema(value);
    ASSERT_FALSE(grammar) << message;
    EXPECT_EQ(grammar.error().code, Code::Unsupported);
    EXPECT_THAT(grammar.error().message, HasSubstr(message));
  }
}

// A place is not kept as text, which would be as long as its keys for each value below them.
TEST(HostileGrammar, LongKeysAreNotCopiedIntoPlaces) {
  const std::string key(size_t{1} << 20, 'k');
  Input::Object members;
  for (int i = 0; i < 2'000; ++i)
    members.emplace_back("m" + std::to_string(i), object({{"type", text("null")}}));
  members.emplace_back("wrong", object({{"type", text("none")}}));
  const Input within = object({{"type", text("object")}, {"properties", Input(members)}});
  const Result<Grammar> grammar = schema(object({{"properties", object({{key, within}})}}));
  ASSERT_FALSE(grammar);
  EXPECT_LT(grammar.error().message.size(), 500u);
  EXPECT_THAT(grammar.error().message, HasSubstr("/properties/wrong: expected null"));
}

// As writers do it that fill a whole form, or leave it empty.
TEST(JsonSchemaObjects, AnySubsetOfOptionalPropertiesCanBeWritten) {
  const auto value = jinja::inputFromJson(
      R"({"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"},"c":{"type":"null"},
          "d":{"type":"null"}},"required":["c"],"additionalProperties":false})");
  const auto automaton = automatonOf(*parseJsonSchema(*value));
  for (unsigned set = 0; set < 16; ++set) {
    std::string written;
    for (unsigned i = 0; i < 4; ++i)
      if (set >> i & 1)
        written += (written.empty() ? "\"" : ",\"") + std::string(1, char('a' + i)) + "\":null";
    EXPECT_EQ(matches(*automaton, "{" + written + "}"), (set & 4) != 0) << written;
  }
}

} // namespace
} // namespace sinter::grammar
