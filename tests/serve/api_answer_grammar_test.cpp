// Answers that are held to calls, by a model that says anything: what comes out is read back as
// calls whose arguments their schemas allow.
#include "llm/chat/answer_grammar.h"

#include "chat_families.h"
#include "grammar/automaton.h"
#include "grammar/json_schema.h"
#include "llm/chat/syntax_probe.h"
#include "llm/grammar_constraint.h"
#include "llm/tokenizer/detokenizer.h"
#include "serve/api/answer_parser.h"

#include <gmock/gmock.h>

#include <random>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

constexpr const char *kSchema = R"({"type": "object", "properties": {
  "s": {"type": "string"}, "x": {"type": "integer", "minimum": 1, "maximum": 12},
  "e": {"enum": ["red", "blue"]},
  "p": {"type": "string", "pattern": "^[ab]{1,3}$"},
  "o": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "boolean"}}},
        "additionalProperties": false}}, "required": ["s", "x"], "additionalProperties": false})";

jinja::Input json(std::string_view text) {
  return *jinja::inputFromJson(text);
}

std::vector<OfferedTool> tools() {
  return {{"f", json(kSchema), true}, {"g", {}, false}};
}

// Every byte, a control token or a word for each mark of the families, and an end.
Tokenizer tokenizerOf(TokenType markType) {
  std::vector<std::string> tokens;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) { // as GPT-2's alphabet writes them
    const bool isPlain = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const uint32_t code = isPlain ? byte : next++;
    tokens.push_back(code < 0x80 ? std::string(1, static_cast<char>(code))
                                 : std::string{static_cast<char>(0xC0 | code >> 6),
                                               static_cast<char>(0x80 | (code & 0x3F))});
  }
  tokens.push_back("ab");
  std::vector<int64_t> types(tokens.size(), 1);
  for (const char *mark : {"</think>",
                           "<think>",
                           "<tool_call>",
                           "</tool_call>",
                           "</parameter>",
                           "</arg_value>",
                           "[TOOL_CALLS]",
                           "[ARGS]",
                           "[/THINK]",
                           "<｜tool▁call▁begin｜>",
                           "<｜tool▁call▁end｜>",
                           "</｜DSML｜parameter>",
                           "<|call_begin|>",
                           "<|END_THINKING|>",
                           "<|/tool_call|>",
                           "<|\"|>",
                           "<|open|>",
                           "<|close|>",
                           "<|sep|>",
                           "]$[",
                           "<|tool_call_start|>",
                           "<|tool_call_end|>",
                           "</mm:think>",
                           "<channel|>"}) {
    tokens.push_back(mark);
    types.push_back(static_cast<int64_t>(markType));
  }
  for (const char *mark : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>",
                           "<|return|>", "<|call|>"}) {
    tokens.push_back(mark);
    types.push_back(static_cast<int64_t>(TokenType::Control));
  }
  VocabularyData data;
  data.tokens.assign(tokens.begin(), tokens.end());
  data.types = types;
  data.merges = {"a b"};
  data.pre = "gpt-2";
  data.eos = static_cast<int64_t>(tokens.size()) - 2;
  auto made = Tokenizer::create(data);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().toString());
  return std::move(*made);
}

struct Held {
  const Tokenizer &tokenizer;
  AnswerSyntax syntax;
  std::unique_ptr<TokenConstraint> constraint;
  std::shared_ptr<const grammar::TokenTrie> trie;

  Held(const char *family, const Tokenizer &ofMarks, AnswerRules rules)
      : tokenizer(ofMarks), syntax(probeAnswerSyntax(*ChatTemplate::parse(templateOf(family)), {})),
        trie(tokenTrieOf(tokenizer, tokenizer.size())) {
    rules.startsInCall = syntax.calls.promptOpens;
    auto grammar = answerGrammar(syntax, std::move(rules), tokenizer);
    EXPECT_TRUE(grammar.has_value()) << family << (grammar ? "" : grammar.error().toString());
    if (!grammar)
      return;
    auto made = GrammarForm::create(std::move(*grammar), trie, tokenizer);
    EXPECT_TRUE(made.has_value()) << family << (made ? "" : made.error().toString());
    if (made)
      constraint = (*made)->constrain();
  }

  // An answer that often takes a mark where one may come, and ends where it may.
  std::string answer(std::mt19937 &random) {
    Detokenizer text(tokenizer);
    text.show(markTokens(syntax, tokenizer));
    std::string all;
    for (int steps = 0; constraint && steps < 20'000; ++steps) {
      const auto bits = constraint->allowed();
      EXPECT_TRUE(bits.has_value());
      std::vector<TokenId> allowed, marks;
      for (TokenId id = 0; bits && tokenizer.contains(id); ++id)
        if ((*bits)[static_cast<size_t>(id) / 64] >> id % 64 & 1)
          (tokenizer.endsGeneration(id) || id > 256 || id == '"' ? marks : allowed).push_back(id);
      const bool takesMark = !marks.empty() && (allowed.empty() || random() % 2 == 0);
      const std::vector<TokenId> &from = takesMark ? marks : allowed;
      if (from.empty()) {
        ADD_FAILURE() << "no token may come after " << all;
        break;
      }
      const TokenId token = from[random() % from.size()];
      if (tokenizer.endsGeneration(token))
        return all;
      EXPECT_TRUE(constraint->accept(token).has_value());
      all += *text.push(token);
    }
    ADD_FAILURE() << "no end of " << all.substr(0, 1000);
    return all;
  }
};

AnswerText parse(const AnswerSyntax &syntax, const std::string &text, bool startsInReasoning) {
  AnswerStyle style{.syntax = std::make_shared<const AnswerSyntax>(syntax),
                    .startsInReasoning = startsInReasoning,
                    .startsInCall = syntax.calls.promptOpens,
                    .readsCalls = true};
  style.tools =
      toolTypesOf(json(R"([{"type": "function", "function": {"name": "f", "parameters": )" +
                       std::string(kSchema) + "}}]"));
  const auto parser = makeAnswerParser(style);
  AnswerText all;
  all.add(parser->push(text));
  all.add(parser->finish());
  return all;
}

bool allows(const char *schema, const std::string &text) {
  const auto automaton = grammar::Automaton::create(*grammar::parseJsonSchema(json(schema)));
  const auto end = (*automaton)->next((*automaton)->start(), text);
  return end && *end != grammar::kDead && (*automaton)->accepts(*end);
}

void checkCalls(const AnswerText &parsed, const std::string &text) {
  for (const ToolCall &call : parsed.toolCalls) {
    EXPECT_THAT(call.name, testing::AnyOf("f", "g")) << text;
    EXPECT_TRUE(allows(call.name == "g" ? R"({"maxProperties": 0})" : kSchema, call.arguments))
        << call.arguments << " of " << text;
  }
}

class AnswerGrammarFamily : public testing::TestWithParam<const char *> {};

TEST_P(AnswerGrammarFamily, WhatMustBeACallIsReadBackAsSuch) {
  std::mt19937 random(11);
  // Random texts hardly ever end with several letters of a mark.
  const bool isSpelled =
      GetParam() == std::string_view("Kimi3") || GetParam() == std::string_view("Elements");
  for (const bool startsInReasoning : {true, false}) {
    const Tokenizer tokenizer =
        tokenizerOf(startsInReasoning || isSpelled ? TokenType::Control : TokenType::UserDefined);
    Held held(GetParam(), tokenizer,
              {.calls = CallWish::Must, .tools = tools(), .startsInReasoning = startsInReasoning});
    const std::string text = held.answer(random);
    const AnswerText parsed =
        parse(held.syntax, text, startsInReasoning && !held.syntax.reasoning.close.empty());
    EXPECT_FALSE(parsed.toolCalls.empty()) << text;
    EXPECT_EQ(parsed.content, "") << text;
    checkCalls(parsed, text);
  }
}
INSTANTIATE_TEST_SUITE_P(Families, AnswerGrammarFamily,
                         testing::Values("Hermes", "QwenCoder", "Glm", "MiniMax", "Dsml", "Llama",
                                         "MistralList", "MistralNamed", "DeepSeek", "DeepSeekR1",
                                         "Kimi", "Functionary", "CommandR", "Apertus", "Granite",
                                         "Phi", "SmolLm", "Channels", "Gemma", "Recipients",
                                         "Kimi3", "Elements", "Keywords", "Answers"),
                         [](const auto &info) { return std::string(info.param); });

TEST(AnswerGrammar, ACallThatMayComeHasArgumentsThatFit) {
  std::mt19937 random(12);
  const Tokenizer tokenizer = tokenizerOf(TokenType::UserDefined);
  size_t calls = 0;
  for (const char *family : {"Hermes", "QwenCoder", "Llama", "DeepSeek", "Channels", "Gemma",
                             "Recipients", "Keywords"})
    for (int round = 0; round < 3; ++round) {
      Held held(family, tokenizer, {.calls = CallWish::May, .tools = {tools().front()}});
      const std::string text = held.answer(random);
      const AnswerText parsed = parse(held.syntax, text, false);
      checkCalls(parsed, text);
      calls += parsed.toolCalls.size();
    }
  EXPECT_GT(calls, 0u);
}

// Whether an answer of tagged arguments may be this.
bool mayAnswer(const char *schema, const std::string &value) {
  const Tokenizer tokenizer = tokenizerOf(TokenType::UserDefined);
  const AnswerSyntax syntax = probeAnswerSyntax(*ChatTemplate::parse(templateOf("QwenCoder")), {});
  auto grammar =
      answerGrammar(syntax, {.calls = CallWish::Must, .tools = {{"f", json(schema)}}}, tokenizer);
  EXPECT_TRUE(grammar.has_value()) << (grammar ? "" : grammar.error().toString());
  const auto automaton = grammar::Automaton::create(std::move(*grammar));
  const auto end =
      (*automaton)
          ->next((*automaton)->start(), "<tool_call>\n<function=f>\n<parameter=m>\n" + value +
                                            "\n</parameter>\n</function>\n</tool_call>");
  return end && *end != grammar::kDead && (*automaton)->accepts(*end);
}

TEST(AnswerGrammar, ATextBesideOtherTypesDoesNotLookLikeThem) {
  constexpr const char *kMixed =
      R"({"properties": {"m": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["m"]})";
  for (const char *value : {"abc", "null", "nullable", "a\nb", "truer"})
    EXPECT_TRUE(mayAnswer(kMixed, value)) << value;
  for (const char *value : {"5", "true", "{}", "\"a\"", "a</parameter>"})
    EXPECT_FALSE(mayAnswer(kMixed, value)) << value;
}

TEST(AnswerGrammar, ATextBetweenTagsKeepsToItsPatternAndLength) {
  constexpr const char *kText =
      R"({"properties": {"m": {"type": "string", "pattern": "^a", "maxLength": 3}}, "required": ["m"]})";
  EXPECT_TRUE(mayAnswer(kText, "abc"));
  EXPECT_FALSE(mayAnswer(kText, "bc"));
  EXPECT_FALSE(mayAnswer(kText, "abcd"));
}

TEST(AnswerGrammar, AFormComesAfterThoughts) {
  std::mt19937 random(13);
  constexpr const char *kForm = R"({"type": "array", "items": {"type": "integer"}, "minItems": 1})";
  const Tokenizer tokenizer = tokenizerOf(TokenType::Control);
  for (const bool startsInReasoning : {true, false}) {
    AnswerRules rules{.startsInReasoning = startsInReasoning};
    rules.form = *grammar::parseJsonSchema(json(kForm));
    Held held("Hermes", tokenizer, std::move(rules));
    const std::string text = held.answer(random);
    const AnswerText parsed = parse(held.syntax, text, startsInReasoning);
    EXPECT_TRUE(allows(kForm, parsed.content)) << text;
  }
}

TEST(AnswerGrammar, NoThoughtsComeWhereTheyAreNotWanted) {
  const Tokenizer tokenizer = tokenizerOf(TokenType::Control);
  AnswerRules rules{.mayReason = false};
  rules.form = *grammar::parseJsonSchema(json(R"({"const": 1})"));
  std::mt19937 random(14);
  Held held("Hermes", tokenizer, std::move(rules));
  EXPECT_THAT(held.answer(random), testing::MatchesRegex("[ \n]*1"));
}

TEST(AnswerGrammar, OneCallIsTheLastWhereSeveralAreNotWanted) {
  std::mt19937 random(15);
  const Tokenizer tokenizer = tokenizerOf(TokenType::UserDefined);
  for (int round = 0; round < 4; ++round) {
    Held held("Hermes", tokenizer,
              {.calls = CallWish::Must, .tools = {{"g"}}, .severalCalls = false});
    EXPECT_EQ(parse(held.syntax, held.answer(random), false).toolCalls.size(), 1u);
  }
}

struct Refusal {
  const char *name, *family, *schema, *message;
};
class AnswerGrammarRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(AnswerGrammarRefusal, SaysWhatCannotBeEnforced) {
  const Refusal &test = GetParam();
  const Tokenizer tokenizer = tokenizerOf(TokenType::Control);
  const AnswerSyntax syntax = probeAnswerSyntax(*ChatTemplate::parse(templateOf(test.family)), {});
  const auto made = answerGrammar(
      syntax, {.calls = CallWish::Must, .tools = {{"f", json(test.schema)}}}, tokenizer);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Unsupported);
  EXPECT_THAT(made.error().message, HasSubstr(test.message));
}

const Refusal kRefusals[] = {
    {"NoSyntax", "Plain", "{}", "does not tell how it writes calls"},
    {"Keyword", "Hermes", R"({"properties": {"a": {"uniqueItems": true}}})", "tool 'f': "},
    {"TagsAtTheTop", "QwenCoder", R"({"anyOf": [{}]})", "'anyOf' of the parameters"},
    {"TagsOfBranches", "Glm",
     R"({"properties": {"a": {"anyOf": [{"type": "string", "pattern": "a"}, {"type": "null"}]}}})",
     "'pattern' of a branch"},
};
INSTANTIATE_TEST_SUITE_P(Schemas, AnswerGrammarRefusal, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter::serve
