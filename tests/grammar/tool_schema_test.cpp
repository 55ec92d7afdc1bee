// Schemas of tools: all compile, what their grammars have satisfies them, and what does not satisfy
// them no grammar has.
#include "grammar/grammar_check.h"
#include "grammar/tool_schemas.h"

namespace sinter::grammar {
namespace {

using jinja::Input;

Input parsed(std::string_view text) {
  Result<Input> value = jinja::inputFromJson(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : Input();
}

// One value somewhere within is another, or one member is gone or new.
void mutate(Input &value, std::mt19937 &random) {
  Input *at = &value;
  while (random() % 4 != 0) {
    if (auto *list = std::get_if<Input::List>(&at->content()); list && !list->empty())
      at = &(*list)[random() % list->size()];
    else if (auto *object = std::get_if<Input::Object>(&at->content()); object && !object->empty())
      at = &(*object)[random() % object->size()].second;
    else
      break;
  }
  auto *object = std::get_if<Input::Object>(&at->content());
  if (object && !object->empty() && random() % 2) {
    object->erase(object->begin() + static_cast<std::ptrdiff_t>(random() % object->size()));
  } else if (object && random() % 2) {
    object->emplace_back("more", Input(int64_t{1}));
  } else {
    const Input others[] = {Input(),
                            Input(true),
                            Input(int64_t{-7}),
                            Input(2.5),
                            Input(std::string("?")),
                            Input(Input::List{}),
                            Input(Input::Object{})};
    *at = others[random() % std::size(others)];
  }
}

class ToolSchema : public testing::TestWithParam<uint32_t> {};

// By the hundred, so that a failure names its schema without 500 tests.
TEST_P(ToolSchema, GrammarsHaveWhatSatisfiesThemAndNothingElse) {
  size_t refused = 0;
  for (uint32_t number = GetParam(); number < kToolSchemas; number += 5) {
    const std::string text = toolSchema(number);
    const Input schema = parsed(text);
    Result<Grammar> grammar = parseJsonSchema(schema);
    ASSERT_TRUE(grammar) << grammar.error().toString() << '\n' << text;
    const auto automaton = automatonOf(std::move(*grammar));
    const SchemaValidator validator(schema);
    std::mt19937 random(number);
    for (const size_t most : {20u, 200u}) {
      const auto drawn = drawText(*automaton, random, most);
      ASSERT_TRUE(drawn) << drawn.error().toString() << '\n' << text;
      ASSERT_TRUE(*drawn) << text;
      Input value = parsed(**drawn);
      ASSERT_TRUE(validator.accepts(value)) << **drawn << '\n' << text;
      for (int i = 0; i < 8; ++i) {
        mutate(value, random);
        if (validator.accepts(value))
          continue;
        ++refused;
        EXPECT_FALSE(matches(*automaton, jsonLiteral(value))) << jsonLiteral(value) << '\n' << text;
      }
    }
  }
  EXPECT_GT(refused, 300u);
}

INSTANTIATE_TEST_SUITE_P(Fifths, ToolSchema, testing::Range(0u, 5u));

} // namespace
} // namespace sinter::grammar
