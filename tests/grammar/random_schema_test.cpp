// Schemas of all keywords, drawn by a seed: a grammar has the values that satisfy its schema, and
// no others, as a validator tells that works value by value.
#include "grammar/grammar_check.h"

namespace sinter::grammar {
namespace {

using jinja::Input;

Input parsed(std::string_view text) {
  return *jinja::inputFromJson(text);
}

const char *const kValues[] = {"null",
                               "true",
                               "false",
                               "0",
                               "1",
                               "2",
                               "3",
                               "-1",
                               "1.5",
                               "0.5",
                               "\"\"",
                               "\"a\"",
                               "\"b\"",
                               "\"ab\"",
                               "\"aab\"",
                               "[]",
                               "[null]",
                               "[1]",
                               "[2]",
                               "[1,2]",
                               "[2,2]",
                               "[null,1]",
                               "[1,null,2]",
                               "[\"a\",1]",
                               "[[]]",
                               "[[1]]",
                               "[{}]",
                               "[true,false,true]",
                               "{}",
                               R"({"a":1})",
                               R"({"b":1})",
                               R"({"a":null})",
                               R"({"ab":2})",
                               R"({"c":"a"})",
                               R"({"a":1,"b":2})",
                               R"({"a":"a","b":null})",
                               R"({"b":1,"c":1})",
                               R"({"a":1,"b":1,"c":1})",
                               R"({"a":{"a":1}})",
                               R"({"a":{},"b":[1]})",
                               R"({"a":[1,2]})",
                               R"({"b":{"c":null}})"};

class SchemaDrawing {
public:
  explicit SchemaDrawing(uint32_t seed) : random_(seed) {}

  Input draw(int depth = 0) {
    if (depth > 2)
      return leaf();
    Input::Object made;
    for (uint32_t i = 0, count = 1 + random_() % 3; i < count; ++i)
      add(made, depth);
    if (depth == 0) {
      made.emplace_back("$defs", Input(Input::Object{{"x", draw(2)}}));
      if (random_() % 6 == 0)
        made.emplace_back(random_() % 2 ? "unevaluatedProperties" : "unevaluatedItems", leaf());
    }
    return Input(std::move(made));
  }

private:
  Input leaf() {
    const char *const kLeaves[] = {"true",
                                   "false",
                                   R"({"type":"integer"})",
                                   R"({"type":"string"})",
                                   R"({"type":["null","array"]})",
                                   R"({"const":1})",
                                   R"({"enum":["a",null,2]})",
                                   R"({"minimum":1})",
                                   R"({"type":"object"})",
                                   R"({"required":["a"]})",
                                   R"({"$ref":"#/$defs/x"})",
                                   R"({"not":{"type":"null"}})"};
    return parsed(kLeaves[random_() % std::size(kLeaves)]);
  }
  Input text(const char *value) { return Input(std::string(value)); }
  Input number(std::initializer_list<double> values) {
    const double value = values.begin()[random_() % values.size()];
    return value == std::trunc(value) ? Input(static_cast<int64_t>(value)) : Input(value);
  }
  Input list(int depth) {
    Input::List made;
    for (uint32_t i = 0, count = 1 + random_() % 2; i < count; ++i)
      made.push_back(draw(depth + 1));
    return Input(std::move(made));
  }
  Input names() {
    Input::List made{text(random_() % 2 ? "a" : "b")};
    if (random_() % 3 == 0)
      made.push_back(text("c"));
    return Input(std::move(made));
  }
  Input byName(int depth) {
    Input::Object made;
    for (const char *name : {"a", "b", "c"})
      if (random_() % 2)
        made.emplace_back(name, draw(depth + 1));
    return Input(std::move(made));
  }

  void add(Input::Object &made, int depth) {
    const auto put = [&](const char *keyword, Input value) {
      for (const auto &[known, old] : made)
        if (known == keyword)
          return;
      made.emplace_back(keyword, std::move(value));
    };
    switch (random_() % 20) {
    case 0:
      return put("type",
                 parsed(random_() % 2 ? R"(["integer","string"])" : R"(["object","array"])"));
    case 1:
      return put("enum", parsed(R"([1,"a",[1],{"a":1},null])"));
    case 2:
      return put("const", parsed(kValues[random_() % std::size(kValues)]));
    case 3:
      return put("not", draw(depth + 1));
    case 4:
      return put("anyOf", list(depth));
    case 5:
      return put("oneOf", list(depth));
    case 6:
      return put("allOf", list(depth));
    case 7:
      put("if", draw(depth + 1));
      put("then", draw(depth + 1));
      return put("else", draw(depth + 1));
    case 8:
      return put("properties", byName(depth));
    case 9:
      return put("required", names());
    case 10:
      return put("additionalProperties", draw(depth + 1));
    case 11:
      return put("patternProperties", Input(Input::Object{{"^a", draw(depth + 1)}}));
    case 12:
      return put("propertyNames",
                 parsed(random_() % 2 ? R"({"maxLength":1})" : R"({"enum":["a"]})"));
    case 13:
      put("minProperties", number({0, 1}));
      return put("maxProperties", number({1, 2}));
    case 14:
      put("prefixItems", list(depth));
      return put("items", draw(depth + 1));
    case 15:
      put("contains", draw(depth + 1));
      put("minContains", number({0, 1, 2}));
      return random_() % 2 ? put("maxContains", number({1, 2})) : void();
    case 16:
      put("minItems", number({0, 1}));
      return put("maxItems", number({1, 2}));
    case 17:
      put("minLength", number({0, 1}));
      return put("pattern", text(random_() % 2 ? "^a" : "b"));
    case 18:
      put(random_() % 2 ? "minimum" : "exclusiveMaximum", number({0, 1, 1.5}));
      return put("multipleOf", number({0.5, 1, 2}));
    default:
      return put("dependentRequired", parsed(R"({"a":["b"]})"));
    }
  }

  std::mt19937 random_;
};

// Grammars have members in one order, readers in any.
bool hasInSomeOrder(Automaton &automaton, Input value) {
  auto *members = std::get_if<Input::Object>(&value.content());
  if (!members)
    return matches(automaton, jsonLiteral(value));
  const auto byName = [](const auto &a, const auto &b) { return a.first < b.first; };
  std::ranges::sort(*members, byName);
  do {
    if (matches(automaton, jsonLiteral(value)))
      return true;
  } while (std::next_permutation(members->begin(), members->end(), byName));
  return false;
}

class RandomSchema : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSchema, GrammarsHaveTheValuesThatSatisfyThemAndNoOthers) {
  size_t told = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const Input schema = SchemaDrawing(GetParam() * 1000 + i).draw();
    Result<Grammar> grammar = parseJsonSchema(schema);
    const bool isNone = !grammar && grammar.error().message.ends_with("no value satisfies it");
    if (!grammar && !isNone) {
      EXPECT_EQ(grammar.error().code, Code::Unsupported) << jsonLiteral(schema);
      continue;
    }
    std::unique_ptr<Automaton> automaton;
    if (grammar) {
      auto made = Automaton::create(std::move(*grammar));
      if (!made && made.error().code == Code::Unsupported)
        continue;
      if (made)
        automaton = std::move(*made);
    }
    ++told;
    const SchemaValidator validator(schema);
    for (const char *text : kValues) {
      const Input value = parsed(text);
      EXPECT_EQ(automaton && hasInSomeOrder(*automaton, value), validator.accepts(value))
          << text << '\n'
          << jsonLiteral(schema);
    }
    std::mt19937 random(i);
    for (int draw = 0; automaton && draw < 3; ++draw) {
      automaton->allow(kCheckWork);
      const auto drawn = drawText(*automaton, random, kCheckBytes);
      ASSERT_TRUE(drawn || drawn.error().code != Code::Internal) << drawn.error().message;
      if (!drawn || !*drawn)
        continue;
      const auto value = jinja::inputFromJson(**drawn);
      EXPECT_TRUE(!value || validator.accepts(*value)) << **drawn << '\n' << jsonLiteral(schema);
    }
  }
  EXPECT_GT(told, 50u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchema, testing::Range(0u, 4u));

} // namespace
} // namespace sinter::grammar
