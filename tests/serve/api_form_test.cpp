// Answers that must have a form: which fields ask for it, and what the job is then held to.
#include "serve/api/native/native.h"
#include "serve/api/ollama/ollama.h"
#include "serve/api/openai/openai.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

// Texts of tokens that the job may begin with.
std::string firstTokens(FakeServer &server) {
  const GenerationJob &job = server.worker().job();
  if (!job.constraint)
    return "any";
  const Result<std::span<const uint64_t>> bits = job.constraint->allowed();
  EXPECT_TRUE(bits.has_value());
  const Tokenizer &tokenizer = server.worker().file().tokenizer();
  std::string texts;
  for (TokenId id = 0; tokenizer.contains(id); ++id)
    if ((*bits)[static_cast<size_t>(id) / 64] >> id % 64 & 1)
      texts += tokenizer.piece(id);
  return texts;
}

struct FormCase {
  const char *name;
  json field;
  const char *first;
};

class OpenAiForm : public testing::TestWithParam<FormCase> {};

TEST_P(OpenAiForm, HoldsTheAnswerToIt) {
  FakeServer server(openaiRoutes);
  json body = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
  body.update(GetParam().field);
  server.answered("/v1/chat/completions", body, {"x"});
  EXPECT_EQ(firstTokens(server), GetParam().first);
}

json schemaOf(const char *type) {
  return {{"type", type}};
}

const FormCase kForms[] = {
    {"Text", {{"response_format", {{"type", "text"}}}}, "any"},
    {"Object", {{"response_format", {{"type", "json_object"}}}}, "{"},
    {"Schema",
     {{"response_format",
       {{"type", "json_schema"},
        {"json_schema", {{"name", "n"}, {"schema", schemaOf("array")}}}}}},
     "["},
    {"GuidedJson", {{"guided_json", schemaOf("string")}}, "\""},
    {"GuidedJsonText", {{"guided_json", "{\"type\":\"object\"}"}}, "{"},
    {"GuidedRegex", {{"guided_regex", "z+"}}, "z"},
    {"GuidedGrammar", {{"guided_grammar", "root ::= \"y\" root | \"\""}}, "y"},
    {"GuidedChoice", {{"guided_choice", {"a!", "b"}}}, "ab"},
    {"Grammar", {{"grammar", "root ::= [x-y]"}}, "xy"},
    {"Structured", {{"structured_outputs", {{"regex", "[ab]"}}}}, "ab"},
};
INSTANTIATE_TEST_SUITE_P(Fields, OpenAiForm, testing::ValuesIn(kForms),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(AnswerForm, OfResponsesLiesInTheirText) {
  FakeServer server(openaiRoutes);
  const json body = {{"model", "tiny"},
                     {"input", "hi"},
                     {"text", {{"format", {{"type", "json_schema"}, {"schema", schemaOf("array")}}}}}};
  server.answered("/v1/responses", body, {"x"});
  EXPECT_EQ(firstTokens(server), "[");
}

TEST(AnswerForm, OfOllamaIsAFormat) {
  for (const auto &[format, first] : {std::pair<json, const char *>("json", "{"),
                                      {schemaOf("string"), "\""}}) {
    FakeServer server(ollamaRoutes);
    server.answered("/api/generate",
                    {{"model", "tiny"}, {"prompt", "hi"}, {"format", format}, {"stream", false}},
                    {"x"});
    EXPECT_EQ(firstTokens(server), first);
  }
}

TEST(AnswerForm, SchemasThatCannotBeHeldToAreRefusedWithTheirPlace) {
  FakeServer server(openaiRoutes);
  const json schema = {{"properties", {{"a", {{"$recursiveRef", "#"}}}}}};
  const json body = {{"model", "tiny"},
                     {"messages", {{{"role", "user"}, {"content", "hi"}}}},
                     {"guided_json", schema}};
  const auto client = server.post("/v1/chat/completions", body);
  client->waitForEnd();
  EXPECT_EQ(client->head().status, 400);
  EXPECT_THAT(client->body(), HasSubstr("'$recursiveRef' of #/properties/a"));
  EXPECT_EQ(client->parsed()["error"]["param"], "guided_json");
}

} // namespace
} // namespace sinter::serve
