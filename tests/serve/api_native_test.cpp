// llama-server's own routes.
#include "serve/api/generation_wishes.h"
#include "serve/api/native/native.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

json withModel(json body) {
  body["model"] = "tiny";
  return body;
}

TEST(NativeCompletion, AnswersWithContentAndTimings) {
  FakeServer server(nativeRoutes);
  const json body =
      withModel({{"prompt", "ab"}, {"n_predict", 8}, {"n_probs", 1}, {"return_tokens", true}});
  const json answer = server.answered("/completion", body, {"x", "y"})->parsed();
  EXPECT_EQ(answer["content"], "xy");
  EXPECT_EQ(answer["stop"], true);
  EXPECT_EQ(answer["stop_type"], "eos");
  EXPECT_EQ(answer["tokens"], json({1, 1}));
  EXPECT_EQ(answer["tokens_predicted"], 3);
  EXPECT_EQ(answer["timings"]["predicted_ms"], 500.0);
  EXPECT_EQ(answer["timings"]["predicted_per_second"], 4.0); // the first token comes of prefill
  EXPECT_EQ(answer["timings"]["predicted_per_token_ms"], 250.0);
  EXPECT_EQ(answer["completion_probabilities"][0]["top_logprobs"][0]["token"], "t0");
}

TEST(NativeCompletion, TellsWhatItWasSampledWith) {
  FakeServer server(nativeRoutes);
  const json body = withModel({{"prompt", "ab"},
                               {"n_predict", 8},
                               {"seed", 5},
                               {"top_k", 3},
                               {"stop", {"z"}},
                               {"logit_bias", {{7, false}, {8, 1.5}}}});
  const json settings =
      server.answered("/completion", body, {"x"})->parsed()["generation_settings"];
  EXPECT_EQ(settings["n_predict"], 8);
  EXPECT_EQ(settings["seed"], 5);
  EXPECT_EQ(settings["top_k"], 3);
  EXPECT_EQ(settings["stop"], json({"z"}));
  EXPECT_EQ(settings["logit_bias"],
            json({{{"token", 7}, {"bias", nullptr}}, {{"token", 8}, {"bias", 1.5}}}));
}

TEST(NativeCompletion, GivesTheFieldsThatAreAskedFor) {
  FakeServer server(nativeRoutes);
  const json body = withModel({{"prompt", "ab"},
                               {"n_predict", 8},
                               {"response_fields", {"content", "timings/predicted_n", "no/such"}}});
  EXPECT_EQ(server.answered("/completion", body, {"x"})->parsed(),
            json({{"content", "x"}, {"timings/predicted_n", 3}}));
}

TEST(NativeCompletion, TakesTextsAndTokensInARow) {
  FakeServer server(nativeRoutes);
  server.post("/completion", withModel({{"prompt", {0, "b<end>", 1}}}));
  server.worker().waitForJobs(1);
  EXPECT_EQ(server.worker().promptOf(), "!b<end>\"");
  EXPECT_EQ(server.worker().job().prompt.size(), 4u); // the control token is one
  const json several = {{{"prompt_string", "ab"}}, {0, 1}, "c"};
  server.post("/completion", withModel({{"prompt", several}}));
  server.worker().waitForJobs(4);
  EXPECT_EQ(server.worker().promptOf(1), "ab");
  EXPECT_EQ(server.worker().promptOf(2), "!\"");
  EXPECT_EQ(server.worker().promptOf(3), "c");
  for (const json &wrong :
       {json({0, json::array()}), json({{"prompt_string", 5}}),
        json({{"prompt_string", "a"}, {"multimodal_data", {"x"}}}), json({0, 100'000, "a"})}) {
    const auto client = server.post("/completion", withModel({{"prompt", wrong}}));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << wrong;
  }
}

TEST(NativeCompletion, BiasesEachTokenOfAText) {
  FakeServer server(nativeRoutes);
  const json pairs = {{"ab!", -1}, {"!c", 2}, {0, 5}};
  server.post("/completion", withModel({{"prompt", "a"}, {"logit_bias", pairs}}));
  server.worker().waitForJobs(1);
  std::map<std::string, float> found;
  const auto &job = server.worker().job();
  for (const LogitBias &bias : job.sampler.logitBias)
    found[std::string(server.worker().file().tokenizer().piece(bias.token))] = bias.bias;
  // "!" is token 0, which is named by its number.
  EXPECT_EQ(found, (std::map<std::string, float>{{"!", 5}, {"ab", -1}, {"c", 2}}));
  EXPECT_EQ(job.sampler.logitBias.size(), 3u);
  json many = json::object();
  for (int i = 0; i < 1025; ++i)
    many["x" + std::to_string(i)] = 1;
  const auto client =
      server.post("/completion", withModel({{"prompt", "a"}, {"logit_bias", many}}));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
}

TEST(NativeCompletion, SaysThatAFullContextCutTheAnswerAndWhichEndsItIgnored) {
  FakeServer server(nativeRoutes);
  const auto client =
      server.post("/completion", withModel({{"prompt", "ab"}, {"ignore_eos", true}}));
  server.worker().waitForJobs(1);
  server.worker().say("x");
  server.worker().end(AnswerEnd::ContextFull);
  client->waitForEnd();
  const json answer = client->parsed();
  EXPECT_EQ(answer["truncated"], true);
  EXPECT_EQ(answer["stop_type"], "limit");
  json ends = json::array();
  for (const TokenId end : server.worker().file().tokenizer().generationEnds())
    ends.push_back({{"token", end}, {"bias", nullptr}});
  EXPECT_EQ(answer["generation_settings"]["logit_bias"], ends);
}

TEST(NativeInfill, PutsThePartsBetweenTheModelsTokens) {
  FakeServer server(nativeRoutes);
  const json body = withModel(
      {{"input_prefix", "ab"}, {"prompt", "c<end>"}, {"input_suffix", "d"}, {"n_predict", 8}});
  auto client = server.post("/infill", body);
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
  EXPECT_THAT(client->body(), testing::HasSubstr("the model fills in no text"));
  server.useInfillModel();
  EXPECT_EQ(server.answered("/infill", body, {"x"})->parsed()["content"], "x");
  EXPECT_EQ(server.worker().promptOf(), "<PRE>abc<end><SUF>d<MID>");
  EXPECT_EQ(server.worker().job().prompt.size(), 11u); // "<end>" is five letters, and no token
}

TEST(NativeInfill, SaysWhatIsWrong) {
  const std::pair<json, const char *> kCases[] = {
      {{{"input_prefix", "a"}}, "'input_suffix' is absent"},
      {{{"input_suffix", "a"}}, "'input_prefix' is absent"},
      {{{"input_prefix", "a"}, {"input_suffix", "b"}, {"input_extra", {{{"filename", "f"}}}}},
       "'input_extra[0].text' is absent"},
      {{{"input_prefix", "a"}, {"input_suffix", "b"}, {"input_extra", {{{"text", 5}}}}},
       "'input_extra[0].text' is the number 5"},
  };
  FakeServer server(nativeRoutes);
  for (const auto &[body, message] : kCases) {
    const auto client = server.post("/infill", withModel(body));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << body;
    EXPECT_THAT(client->body(), testing::HasSubstr(message));
  }
}

TEST(NativeCompletion, StreamsTokensUnasked) {
  FakeServer server(nativeRoutes);
  const auto events = eventsOf(
      server.answered("/completion", withModel({{"prompt", "ab"}, {"stream", true}}), {"x"})
          ->body());
  EXPECT_EQ(events[0]["tokens"], json({1}));
}

TEST(NativeCompletion, TakesTheServersDefaults) {
  FakeServer server(nativeRoutes);
  server.context.defaults = std::make_shared<const GenerationWishes>(
      readDefaults(R"({"temperature": 0.5, "top_k": 7, "seed": 5, "max_tokens": 9})").value());
  server.post("/completion", withModel({{"prompt", "a"}}));
  server.post("/completion",
              withModel({{"prompt", "a"}, {"top_k", 2}, {"seed", 6}, {"n_predict", 1}}));
  server.worker().waitForJobs(2);
  EXPECT_EQ(server.worker().job(0).sampler.topK, 7);
  EXPECT_EQ(server.worker().job(0).sampler.seed, 5u);
  EXPECT_EQ(server.worker().job(0).maxTokens, 9u);
  EXPECT_EQ(server.worker().job(1).sampler.temperature, 0.5);
  EXPECT_EQ(server.worker().job(1).sampler.topK, 2);
  EXPECT_EQ(server.worker().job(1).sampler.seed, 6u);
  EXPECT_EQ(server.worker().job(1).maxTokens, 1u);
}

TEST(ServerDefaults, RefuseWhatTheyDoNotKnow) {
  for (const char *wrong :
       {"", "[]", "{\"stop\": \"x\"}", "{\"top_k\": -1}", "{\"max_tokens\": 0}"})
    EXPECT_FALSE(readDefaults(wrong)) << wrong;
}

TEST(NativeRoutes, HaveOpenaisRoutesWithoutTheVersion) {
  FakeServer server(nativeRoutes);
  EXPECT_EQ(server.send("GET", "/models")->parsed()["data"][0]["id"], "tiny");
  const auto client = server.post("/embeddings", withModel({{"input", "ab"}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["data"].size(), 1u);
  EXPECT_EQ(server.answered("/responses", withModel({{"input", "ab"}}), {"x"})->status(), 200);
}

TEST(NativeCompletion, StreamsObjects) {
  FakeServer server(nativeRoutes);
  const auto events = eventsOf(
      server.answered("/completion", withModel({{"prompt", "ab"}, {"stream", true}}), {"x", "y"})
          ->body());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["content"], "x");
  EXPECT_EQ(events[0]["stop"], false);
  EXPECT_EQ(events[2]["stop"], true);
}

TEST(NativeRerank, OrdersDocumentsByScore) {
  FakeServer server(nativeRoutes);
  const auto client = server.post(
      "/v1/rerank", withModel({{"query", "q"}, {"documents", {"ccc", "c", "cc"}}, {"top_n", 2}}));
  client->waitForEnd();
  const json results = client->parsed()["results"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0]["index"], 1);
  EXPECT_EQ(results[1]["index"], 2);
  EXPECT_EQ(results[1]["relevance_score"], -3.0);
}

TEST(NativeRerank, SaysWhatADocumentMayBe) {
  FakeServer server(nativeRoutes);
  const auto client = server.post("/rerank", withModel({{"query", "q"}, {"documents", {"x", 5}}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["error"]["message"],
            "'documents[1]' is the number 5, expected a text or an object with a 'text'");
}

TEST(NativeRerank, AnswersTextsWithAList) {
  FakeServer server(nativeRoutes);
  const auto client = server.post(
      "/rerank", withModel({{"query", "q"}, {"texts", {"cc", "c"}}, {"return_text", true}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed(), json({{{"index", 1}, {"score", -2.0}, {"text", "c"}},
                                    {{"index", 0}, {"score", -3.0}, {"text", "cc"}}}));
}

} // namespace
} // namespace sinter::serve
