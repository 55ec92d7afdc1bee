// OpenAI's other routes: completions, embeddings, models, responses, and what is not served.
#include "serve/api/api_routes.h"
#include "serve/api/native/text_routes.h"
#include "serve/api/openai/openai.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

json withModel(json body) {
  body["model"] = "tiny";
  return body;
}

TEST(OpenAiCompletions, TakesPromptsAsTheyStandControlTokensAmongThem) {
  FakeServer server(openaiRoutes);
  const json answer =
      server.answered("/v1/completions", withModel({{"prompt", "ab<end>c"}}), {"x", "y"})->parsed();
  EXPECT_EQ(server.worker().job().prompt.size(), 3u); // ab, <end>, c
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(answer["choices"][0]["text"], "xy");
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
}

TEST(OpenAiCompletions, SeveralPromptsHaveChoicesOfTheirOwn) {
  FakeServer server(openaiRoutes);
  const auto client = server.post("/v1/completions",
                                  withModel({{"prompt", {{1, 2}, {3}}}, {"n", 2}, {"echo", true}}));
  server.worker().waitForJobs(4);
  for (size_t i = 0; i < 4; ++i) {
    server.worker().say(std::to_string(i), i);
    server.worker().end(AnswerEnd::EndToken, i);
  }
  client->waitForEnd();
  const json answer = client->parsed();
  EXPECT_EQ(answer["choices"][1]["text"], "\"#1");
  EXPECT_EQ(answer["choices"][2]["text"], "$2");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);
}

TEST(OpenAiCompletions, StreamsTheEchoFirst) {
  FakeServer server(openaiRoutes);
  const auto events = eventsOf(
      server
          .answered("/v1/completions",
                    withModel({{"prompt", "a b"}, {"echo", true}, {"stream", true}}), {"x"})
          ->body());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["choices"][0]["text"], "a b");
  EXPECT_EQ(events[1]["choices"][0]["text"], "x");
  EXPECT_EQ(events[2]["choices"][0]["finish_reason"], "stop");
}

TEST(OpenAiCompletions, NothingIsGeneratedForNoTokens) {
  FakeServer server(openaiRoutes);
  const auto client = server.post("/v1/completions",
                                  withModel({{"prompt", "ab"}, {"max_tokens", 0}, {"echo", true}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["choices"][0]["text"], "ab");
  EXPECT_EQ(client->parsed()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(server.worker().jobCount(), 0u);
}

TEST(OpenAiCompletions, ListsLogprobsWithOffsets) {
  FakeServer server(openaiRoutes);
  const json answer =
      server
          .answered("/v1/completions", withModel({{"prompt", "a"}, {"logprobs", 2}}), {"né", "w"})
          ->parsed();
  const json &logprobs = answer["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], json({"né", "w"}));
  EXPECT_EQ(logprobs["text_offset"], json({0, 2}));
  EXPECT_EQ(logprobs["top_logprobs"][0]["t1"], -1.5);
}

TEST(OpenAiCompletions, FillInWhatComesBeforeASuffix) {
  FakeServer server(openaiRoutes);
  server.useInfillModel();
  const json body = withModel({{"prompt", "ab"}, {"suffix", "c"}});
  EXPECT_EQ(server.answered("/v1/completions", body, {"x"})->parsed()["choices"][0]["text"], "x");
  EXPECT_EQ(server.worker().promptOf(), "<PRE>ab<SUF>c<MID>");
  const auto client =
      server.post("/v1/completions", withModel({{"prompt", {0, 1}}, {"suffix", "c"}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["error"]["param"], "prompt");
}

TEST(OpenAiCompletions, RefusesWhatItCannotDo) {
  const std::pair<json, const char *> kCases[] = {
      {{{"prompt", "a"}, {"suffix", "b"}}, "suffix"},
      {{{"prompt", "a"}, {"best_of", 3}}, "best_of"},
      {{{"prompt", "a"}, {"echo", true}, {"logprobs", 1}}, "echo"},
      {{{"prompt", json::array()}}, "prompt"},
      {{{"prompt", {1, -1}}}, "prompt"},
      {{{"prompt", {{{"a", 1}}}}}, "prompt"},
  };
  for (const auto &[body, param] : kCases) {
    FakeServer server(openaiRoutes);
    const auto client = server.post("/v1/completions", withModel(body));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << body;
    EXPECT_EQ(client->parsed()["error"]["param"], param) << body;
  }
}

TEST(OpenAiCompletions, ATokenThatTheModelLacksIsAnError) {
  FakeServer server(openaiRoutes);
  const auto client = server.post("/v1/completions", withModel({{"prompt", {5000}}}));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
  EXPECT_THAT(client->body(), HasSubstr("token 5000"));
}

TEST(OpenAiEmbeddings, GivesVectorsAsNumbersOrBytes) {
  FakeServer server(openaiRoutes);
  auto client = server.post("/v1/embeddings", withModel({{"input", {"abc", "d"}}}));
  client->waitForEnd();
  json answer = client->parsed();
  EXPECT_EQ(answer["data"][1]["embedding"], json({1.0, 1.0, 0.0}));
  EXPECT_EQ(answer["data"][1]["index"], 1);
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3); // ab, c, d
  client =
      server.post("/v1/embeddings", withModel({{"input", "d"}, {"encoding_format", "base64"}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["data"][0]["embedding"], "AACAPwAAgD8AAAAA");
}

TEST(OpenAiEmbeddings, ArePooledAsTheServerSays) {
  FakeServer server(openaiRoutes);
  for (const auto pooling : {std::optional<Pooling>(), std::optional(Pooling::Last)}) {
    server.context.pooling = pooling;
    server.post("/v1/embeddings", withModel({{"input", "ab"}}))->waitForEnd();
    EXPECT_EQ(server.worker().pooling, pooling);
  }
}

TEST(OpenAiEmbeddings, FewerDimensionsHaveLengthOneAgain) {
  FakeServer server(openaiRoutes);
  auto client = server.post("/v1/embeddings", withModel({{"input", "abc"}, {"dimensions", 1}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["data"][0]["embedding"], json({1.0}));
  client = server.post("/v1/embeddings", withModel({{"input", "abc"}, {"dimensions", 4}}));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
}

TEST(OpenAiModels, AreListedAndShownByName) {
  FakeServer server(openaiRoutes);
  EXPECT_EQ(server.send("GET", "/v1/models")->parsed()["data"][0]["id"], "tiny");
  EXPECT_EQ(server.send("GET", "/v1/models/tiny")->parsed()["object"], "model");
  const auto client = server.send("GET", "/v1/models/some/tiney");
  EXPECT_EQ(client->status(), 404);
  EXPECT_THAT(client->body(), HasSubstr("some/tiney"));
}

TEST(OpenAiRefusals, NameWhatIsNotServed) {
  FakeServer server(openaiRoutes);
  const auto client = server.send("POST", "/v1/audio/speech", "{}");
  EXPECT_EQ(client->status(), 501);
  EXPECT_THAT(client->body(), HasSubstr("audio is not served"));
  EXPECT_THAT(client->head().headers, testing::Contains(testing::Pair("x-should-retry", "false")));
  EXPECT_EQ(server.send("GET", "/v1/files")->status(), 501);
  EXPECT_EQ(server.send("GET", "/v1/responses/resp_1")->status(), 501);
}

// Methods that a served path does not have are no features that are not served.
TEST(ApiRoutes, TellWhichMethodsAServedPathHas) {
  FakePool pool;
  TaskPool tasks{1, 16};
  ApiContext context{pool, tasks, "0.1.0"};
  Routes routes;
  addTextRoutes(routes, context);
  addApiRoutes(routes, context);
  const std::pair<const char *, const char *> paths[] = {
      {"/v1/chat/completions", "POST, GET, HEAD, OPTIONS"},
      {"/v1/completions", "POST, OPTIONS"},
      {"/v1/embeddings", "POST, OPTIONS"},
      {"/v1/responses", "POST, OPTIONS"},
      {"/v1/models", "GET, HEAD, OPTIONS"},
      {"/v1/models/a/b", "GET, HEAD, DELETE, OPTIONS"},
      {"/v1/rerank", "POST, OPTIONS"},
      {"/api/chat", "POST, OPTIONS"},
      {"/api/tags", "GET, HEAD, OPTIONS"},
      {"/api/delete", "DELETE, OPTIONS"},
      {"/api/blobs/x", "GET, HEAD, POST, OPTIONS"},
      {"/tokenize", "POST, OPTIONS"},
      {"/completion", "POST, OPTIONS"}};
  for (const auto &[path, allowed] : paths)
    for (const char *method : {"PUT", "PATCH", "TRACE", "CONNECT", "get", "post", "Post", "FOO"}) {
      const Routes::Lookup found = routes.find(method, path);
      const auto *others = std::get_if<std::string>(&found);
      EXPECT_EQ(others ? *others : "none", allowed) << method << " " << path;
    }
}

TEST(OpenAiResponses, AnswersWithItems) {
  FakeServer server(openaiRoutes);
  const json body = withModel({{"input", "hi"}, {"instructions", "be"}, {"temperature", 0}});
  const json answer = server.answered("/v1/responses", body, {"good ", "day"})->parsed();
  EXPECT_EQ(server.worker().promptOf(), "<system>be<user>hi>");
  EXPECT_EQ(answer["object"], "response");
  EXPECT_EQ(answer["status"], "completed");
  EXPECT_EQ(answer["store"], false);
  EXPECT_EQ(answer["output"][0]["type"], "message");
  EXPECT_EQ(answer["output"][0]["content"][0]["text"], "good day");
  EXPECT_EQ(answer["usage"]["output_tokens"], 3);
}

TEST(OpenAiResponses, StreamsEventsInOrder) {
  FakeServer server(openaiRoutes);
  const auto client = server.answered(
      "/v1/responses", withModel({{"input", "hi"}, {"stream", true}}), {"good ", "day"});
  std::vector<std::string> types;
  const auto events = eventsOf(client->body());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["sequence_number"], i);
    types.push_back(events[i]["type"]);
    EXPECT_THAT(client->body(), HasSubstr("event: " + types.back() + "\n"));
  }
  EXPECT_EQ(types,
            (std::vector<std::string>{"response.created", "response.in_progress",
                                      "response.output_item.added", "response.content_part.added",
                                      "response.output_text.delta", "response.output_text.delta",
                                      "response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.completed"}));
  EXPECT_EQ(events[6]["text"], "good day");
  EXPECT_EQ(events.back()["response"]["output"][0]["content"][0]["text"], "good day");
}

TEST(OpenAiResponses, CallsAreItemsAndComeBackAsMessages) {
  FakeServer server(openaiRoutes, std::string(kChatTemplate) + "{# <tool_call> #}");
  const json body = withModel(
      {{"tools", {{{"type", "function"}, {"name", "add"}, {"parameters", json::object()}}}},
       {"input",
        {{{"role", "user"}, {"content", {{{"type", "input_text"}, {"text", "hi"}}}}},
         {{"type", "function_call"}, {"call_id", "c"}, {"name", "add"}, {"arguments", "{\"x\":5}"}},
         {{"type", "function_call_output"}, {"call_id", "c"}, {"output", "7"}}}}});
  const json answer =
      server
          .answered("/v1/responses", body,
                    {"<tool_call>{\"name\": \"add\", \"arguments\": {\"x\": 1}}", "</tool_call>"})
          ->parsed();
  EXPECT_EQ(server.worker().promptOf(), "[add]<user>hi<assistant>!add5<tool>7>");
  EXPECT_EQ(answer["output"][0]["type"], "function_call");
  EXPECT_EQ(answer["output"][0]["name"], "add");
  EXPECT_EQ(answer["output"][0]["arguments"], "{\"x\": 1}");
}

TEST(OpenAiResponses, AnAnswerThatWasCutIsIncomplete) {
  FakeServer server(openaiRoutes);
  const auto client =
      server.post("/v1/responses", withModel({{"input", "hi"}, {"max_output_tokens", 1}}));
  server.worker().waitForJobs(1);
  server.worker().say("a");
  server.worker().end(AnswerEnd::TokenLimit);
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["status"], "incomplete");
  EXPECT_EQ(client->parsed()["incomplete_details"]["reason"], "max_output_tokens");
}

TEST(OpenAiResponses, RefusesWhatWouldHaveToBeKept) {
  const std::pair<json, const char *> kCases[] = {
      {{{"previous_response_id", "resp_1"}}, "previous_response_id"},
      {{{"store", true}}, "store"},
      {{{"background", true}}, "background"},
      {{{"truncation", "auto"}}, "truncation"},
      {{{"include", {"file_search_call.results"}}}, "include"},
      {{{"tools", {{{"type", "web_search"}, {"name", "x"}}}}}, "tools[0].type"},
      {{{"text", {{"format", {{"type", "grammar"}}}}}}, "text.format.type"},
      {{{"input", {{{"type", "item_reference"}, {"id", "x"}}}}}, "input[0].type"},
  };
  for (const auto &[more, param] : kCases) {
    FakeServer server(openaiRoutes);
    json body = withModel({{"input", "hi"}});
    body.update(more);
    const auto client = server.post("/v1/responses", body);
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << body;
    EXPECT_EQ(client->parsed()["error"]["param"], param) << client->body();
  }
}

} // namespace
} // namespace sinter::serve
