// Ollama's routes.
#include "serve/api/duration_text.h"
#include "serve/api/ollama/ollama.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

json withModel(json body) {
  body["model"] = "tiny";
  return body;
}
std::vector<json> linesOf(const std::string &body) {
  std::vector<json> lines;
  std::istringstream in(body);
  for (std::string line; std::getline(in, line);)
    lines.push_back(json::parse(line));
  return lines;
}
json helloChat(json more = json::object()) {
  json body = withModel({{"messages", {{{"role", "user"}, {"content", "hi"}}}}});
  body.update(more);
  return body;
}

TEST(OllamaChat, StreamsLinesUnlessToldNotTo) {
  FakeServer server(ollamaRoutes);
  const auto client = server.answered("/api/chat", helloChat(), {"good ", "day"});
  EXPECT_EQ(client->head().contentType, "application/x-ndjson");
  const auto lines = linesOf(client->body());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["message"]["content"], "good ");
  EXPECT_EQ(lines[0]["done"], false);
  EXPECT_EQ(lines[2]["message"]["content"], "");
  EXPECT_EQ(lines[2]["done"], true);
  EXPECT_EQ(lines[2]["done_reason"], "stop");
  EXPECT_EQ(lines[2]["prompt_eval_count"], 9);
  EXPECT_EQ(lines[2]["prompt_eval_duration"], 250'000'000);
  EXPECT_EQ(lines[2]["eval_count"], 3);
  EXPECT_EQ(lines[2]["eval_duration"], 500'000'000);
  EXPECT_THAT(lines[0]["created_at"].get<std::string>(),
              testing::MatchesRegex("....-..-..T..:..:..[.]......Z"));
}

TEST(OllamaChat, AnswersWholeWhereAskedTo) {
  FakeServer server(ollamaRoutes);
  const json answer =
      server.answered("/api/chat", helloChat({{"stream", false}}), {"a", "b"})->parsed();
  EXPECT_EQ(answer["message"]["content"], "ab");
  EXPECT_EQ(answer["done"], true);
}

TEST(OllamaChat, TakesOptionsAndWhatConcernsLoading) {
  FakeServer server(ollamaRoutes);
  const json options = {{"temperature", 0.5}, {"num_ctx", 512}, {"num_predict", 4},
                        {"stop", {"x"}},      {"seed", 3},      {"num_thread", 8}};
  server.answered("/api/chat", helloChat({{"options", options}, {"keep_alive", "5m"}}), {"a"});
  const GenerationJob &job = server.worker().job();
  EXPECT_EQ(job.sampler.temperature, 0.5);
  EXPECT_EQ(job.sampler.seed, 3u);
  EXPECT_EQ(job.maxTokens, 4u);
  EXPECT_EQ(job.context, 512u);
  EXPECT_EQ(job.stops, std::vector<std::string>{"x"});
  EXPECT_EQ(server.pool.wishes.context, 512u);
  EXPECT_EQ(server.pool.wishes.keepAlive, std::chrono::minutes(5));
}

TEST(OllamaChat, GivesArgumentsOfCallsAsObjects) {
  FakeServer server(ollamaRoutes, std::string(kChatTemplate) + "{# <tool_call> #}");
  const json tools = {{{"type", "function"}, {"function", {{"name", "add"}}}}};
  const auto lines = linesOf(
      server
          .answered("/api/chat", helloChat({{"tools", tools}}),
                    {"<tool_call>{\"name\": \"add\", \"arguments\": {\"x\": 1}}</tool_call>"})
          ->body());
  const json &call = lines[0]["message"]["tool_calls"][0]["function"];
  EXPECT_EQ(call["name"], "add");
  EXPECT_EQ(call["arguments"], json({{"x", 1}}));
  EXPECT_EQ(lines[1]["done_reason"], "stop");
}

TEST(OllamaChat, ThinkingIsApart) {
  std::string source = kChatTemplate;
  source.pop_back();
  FakeServer server(ollamaRoutes, source);
  const json answer =
      server
          .answered("/api/chat", helloChat({{"think", true}, {"stream", false}}), {"hm</think>yes"})
          ->parsed();
  EXPECT_EQ(answer["message"]["thinking"], "hm");
  EXPECT_EQ(answer["message"]["content"], "yes");
}

TEST(OllamaChat, AnErrorInAStreamIsALine) {
  FakeServer server(ollamaRoutes);
  const auto client = server.post("/api/chat", helloChat());
  server.worker().waitForJobs(1);
  server.worker().say("a");
  server.worker().failWith({Code::DeviceLost, "the device is gone"});
  client->waitForEnd();
  EXPECT_EQ(linesOf(client->body()).back()["error"], "the device is gone");
}

TEST(OllamaChat, NoMessagesLoadTheModelAndZeroGivesItUp) {
  FakeServer server(ollamaRoutes);
  auto client = server.post("/api/chat", withModel({{"messages", json::array()}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["done_reason"], "load");
  EXPECT_THAT(client->parsed()["created_at"].get<std::string>(), testing::StartsWith("20"));
  client = server.post("/api/generate", withModel({{"keep_alive", 0}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["done_reason"], "unload");
  EXPECT_EQ(server.pool.unloaded, std::vector<std::string>{"tiny"});
}

TEST(OllamaGenerate, WritesThePromptByTheTemplateUnlessItIsRaw) {
  FakeServer server(ollamaRoutes);
  const json answer =
      server
          .answered("/api/generate",
                    withModel({{"prompt", "hi"}, {"system", "be"}, {"stream", false}}), {"yes"})
          ->parsed();
  EXPECT_EQ(server.worker().promptOf(), "<system>be<user>hi>");
  EXPECT_EQ(answer["response"], "yes");
  FakeServer raw(ollamaRoutes);
  raw.answered("/api/generate", withModel({{"prompt", "hi"}, {"raw", true}}), {"yes"});
  EXPECT_EQ(raw.worker().promptOf(), "hi");
}

TEST(OllamaGenerate, FillsInWhatComesBeforeASuffix) {
  FakeServer server(ollamaRoutes);
  server.useInfillModel();
  server.answered("/api/generate", withModel({{"prompt", "ab"}, {"suffix", "c"}}), {"x"});
  EXPECT_EQ(server.worker().promptOf(), "<PRE>ab<SUF>c<MID>");
}

TEST(OllamaChat, GoesOnWithAMessageOfTheAssistant) {
  FakeServer server(ollamaRoutes);
  const json messages = {{{"role", "user"}, {"content", "hi"}},
                         {{"role", "assistant"}, {"content", "ab"}}};
  server.answered("/api/chat", withModel({{"messages", messages}}), {"x"});
  EXPECT_EQ(server.worker().promptOf(), "<user>hi>ab");
}

TEST(OllamaGenerate, RefusesWhatItCannotDo) {
  const std::pair<json, const char *> kCases[] = {
      {{{"suffix", "x"}}, "'suffix'"},
      {{{"images", {"x"}}}, "'images'"},
      {{{"context", {1, 2}}}, "'context'"},
      {{{"template", "{{ .Prompt }}"}}, "Go templates"},
      {{{"format", "yaml"}}, "'format'"},
      {{{"think", 3}}, "'think'"},
      {{{"keep_alive", "soon"}}, "'keep_alive'"},
      {{{"options", {{"num_ctx", -4}}}}, "'options.num_ctx'"},
      {{{"options", {{"tfs_z", 0.5}}}}, "'options.tfs_z'"},
      {{{"options", {{"mirostat", 1}}}}, "0 or 2"},
      {{{"options", {{"penalize_newline", false}}}}, "'options.penalize_newline'"},
      {{{"options", 5}}, "expected an object"},
      {{{"raw", true}, {"system", "x"}}, "'system'"},
      {{{"raw", true}, {"suffix", "x"}}, "'suffix'"},
  };
  for (const auto &[more, message] : kCases) {
    FakeServer server(ollamaRoutes);
    json body = withModel({{"prompt", "hi"}});
    body.update(more);
    const auto client = server.post("/api/generate", body);
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << body;
    EXPECT_THAT(client->parsed()["error"].get<std::string>(), HasSubstr(message)) << body;
  }
}

TEST(OllamaEmbed, GivesVectorsOfTexts) {
  FakeServer server(ollamaRoutes);
  auto client = server.post("/api/embed", withModel({{"input", {"abc", "d"}}, {"truncate", true}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["embeddings"], json({{2.0, 1.0, 0.0}, {1.0, 1.0, 0.0}}));
  EXPECT_EQ(client->parsed()["prompt_eval_count"], 3);
  EXPECT_TRUE(server.pool.wishes.embeddings);
  client = server.post("/api/embeddings", withModel({{"prompt", "d"}}));
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["embedding"], json({1.0, 1.0, 0.0}));
}

TEST(OllamaEmbed, CutsTextsOnlyWhereAskedTo) {
  FakeServer server(ollamaRoutes);
  server.worker().context = 2;
  for (const bool truncates : {false, true}) {
    const auto client =
        server.post("/api/embed", withModel({{"input", "ccccc"}, {"truncate", truncates}}));
    client->waitForEnd();
    EXPECT_EQ(client->parsed()["embeddings"][0][0], truncates ? 2.0 : 5.0);
  }
}

class OllamaModels : public testing::Test {
protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "sinter-facts-XXXXXX").string();
    close(mkstemp(path_.data()));
    const auto bytes = fakeModel(std::string(kChatTemplate) + "</think>");
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    server.context.pathOf = [this](const std::string &) { return Result<std::string>(path_); };
  }
  void TearDown() override { std::filesystem::remove(path_); }
  json get(const std::string &path) {
    const auto client = server.send("GET", path);
    client->waitForEnd();
    return client->parsed();
  }

  FakeServer server{ollamaRoutes};

private:
  std::string path_;
};

TEST_F(OllamaModels, AreListedWithFactsOfTheirFiles) {
  const json model = get("/api/tags")["models"][0];
  EXPECT_EQ(model["name"], "tiny");
  EXPECT_EQ(model["details"]["family"], "test");
  EXPECT_EQ(model["digest"].get<std::string>().size(), 64u);
  EXPECT_GT(model["size"], 1000);
  EXPECT_THAT(model["modified_at"].get<std::string>(), testing::StartsWith("20"));
}

TEST_F(OllamaModels, ThatAreLoadedSayWhatTheyTake) {
  const json model = get("/api/ps")["models"][0];
  EXPECT_EQ(model["name"], "tiny");
  EXPECT_EQ(model["size"], 1000);
  EXPECT_THAT(model["expires_at"].get<std::string>(), testing::StartsWith("21"));
}

TEST_F(OllamaModels, AreShownWithMetadataAndCapabilities) {
  auto client = server.post("/api/show", {{"model", "tiny:latest"}});
  client->waitForEnd();
  const json answer = client->parsed();
  EXPECT_EQ(answer["model_info"]["general.architecture"], "test");
  EXPECT_EQ(answer["model_info"]["test.context_length"], 4096);
  EXPECT_EQ(answer["model_info"]["tokenizer.ggml.tokens"], nullptr);
  EXPECT_EQ(answer["capabilities"], json({"completion", "tools", "thinking"}));
  EXPECT_THAT(answer["template"].get<std::string>(), testing::StartsWith("{% for"));
  client = server.post("/api/show", {{"model", "tiny"}, {"verbose", true}});
  client->waitForEnd();
  EXPECT_EQ(client->parsed()["model_info"]["tokenizer.ggml.merges"], json({"a b"}));
  client = server.post("/api/show", {{"model", "tin"}});
  client->waitForEnd();
  EXPECT_EQ(client->status(), 404);
  EXPECT_THAT(client->body(), HasSubstr("did you mean 'tiny'?"));
}

TEST_F(OllamaModels, AreShownWithTheTemplateThatChatsTake) {
  server.context.chatTemplate = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const auto client = server.post("/api/show", {{"model", "tiny"}});
  client->waitForEnd();
  const json answer = client->parsed();
  EXPECT_EQ(answer["template"], server.context.chatTemplate);
  EXPECT_EQ(answer["capabilities"], json({"completion"}));
}

TEST_F(OllamaModels, CannotBeChangedWithoutAStore) {
  EXPECT_EQ(get("/api/version")["version"], "0.1.0");
  const auto client = server.send("POST", "/api/pull", "{\"model\": \"x\"}");
  EXPECT_EQ(client->status(), 403);
  EXPECT_THAT(client->body(), HasSubstr("store of models"));
  EXPECT_EQ(server.send("POST", "/api/push", "{}")->status(), 501);
}

TEST(Durations, AreReadAsGoWritesThem) {
  using std::chrono::seconds;
  EXPECT_EQ(parseDuration("5m"), seconds(300));
  EXPECT_EQ(parseDuration("1h30m"), seconds(5400));
  EXPECT_EQ(parseDuration("1500ms"), seconds(1));
  EXPECT_EQ(parseDuration("0"), seconds(0));
  EXPECT_EQ(parseDuration("-1s"), seconds(-1));
  EXPECT_EQ(parseDuration("-1ms"), seconds(-1));
  for (const char *wrong : {"", "-", "5", "m", "5x", "1e9h", "99999999999h", "5m ", "nanh", "--5m"})
    EXPECT_EQ(parseDuration(wrong), std::nullopt) << wrong;
}

} // namespace
} // namespace sinter::serve
