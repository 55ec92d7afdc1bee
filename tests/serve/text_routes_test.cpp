// llama-server's routes of tokenizers and templates, and those that tell how models are.
#include "serve/api/generation_wishes.h"
#include "serve/api/native/text_routes.h"
#include "serve/fake_server.h"
#include "serve/status/status_routes.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

json answerTo(const std::string &path, json body, uint16_t status = 200) {
  FakeServer server(addTextRoutes, kChatTemplate);
  body["model"] = "tiny";
  const auto client = server.post(path, body);
  client->waitForEnd();
  EXPECT_EQ(client->status(), status);
  return client->parsed();
}

TEST(TextRoutes, TokenizeATextWithItsControlTokens) {
  const json tokens = answerTo("/tokenize", {{"content", "ab<end>"}})["tokens"];
  EXPECT_EQ(tokens.size(), 2u);
  const json plain =
      answerTo("/tokenize", {{"content", "ab<end>"}, {"parse_special", false}})["tokens"];
  EXPECT_EQ(plain.size(), 6u); // ab, and five letters
}

TEST(TextRoutes, TokenizeIntoPieces) {
  const json tokens = answerTo("/tokenize", {{"content", "ab c"}, {"with_pieces", true}})["tokens"];
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0]["piece"], "ab");
  EXPECT_EQ(tokens[1]["piece"], " ");
}

TEST(TextRoutes, GiveTheTextOfTokensBack) {
  const json tokens = answerTo("/tokenize", {{"content", "a b<end>"}})["tokens"];
  EXPECT_EQ(answerTo("/detokenize", {{"tokens", tokens}})["content"], "a b<end>");
  EXPECT_EQ(answerTo("/detokenize", {{"tokens", json::array()}})["content"], "");
}

TEST(TextRoutes, GiveThePromptOfAConversation) {
  const json messages = {{{"role", "system"}, {"content", "x"}},
                         {{"role", "user"}, {"content", "a<end>"}}};
  EXPECT_EQ(answerTo("/apply-template", {{"messages", messages}})["prompt"],
            "<system>x<user>a<end>>");
}

TEST(TextRoutes, CountTheTokensOfAConversation) {
  const json messages = {{{"role", "user"}, {"content", "ab"}}};
  for (const char *path : {"/chat/completions/input_tokens", "/v1/chat/completions/input_tokens"})
    EXPECT_EQ(answerTo(path, {{"messages", messages}})["input_tokens"], 8); // <user>ab>
  for (const char *path : {"/responses/input_tokens", "/v1/responses/input_tokens"})
    EXPECT_EQ(answerTo(path, {{"input", "ab"}})["input_tokens"], 8);
}

TEST(TextRoutes, LeaveTheBeginOfAnAnswerOutWhereThatIsAskedFor) {
  FakeServer server(addTextRoutes, "{% for message in messages %}{{ message.content }}{% endfor %}"
                                   "{% if add_generation_prompt %}!{% endif %}");
  json body = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "a"}}}}};
  for (const bool asks : {true, false}) {
    body["add_generation_prompt"] = asks;
    const auto client = server.post("/apply-template", body);
    client->waitForEnd();
    EXPECT_EQ(client->parsed()["prompt"], asks ? "a!" : "a");
  }
  body["continue_final_message"] = true;
  const auto client = server.post("/apply-template", body);
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
}

TEST(TextRoutes, RefuseWhatMakesNoSense) {
  const std::tuple<const char *, json, const char *> cases[] = {
      {"/tokenize", json::object(), "content"},
      {"/tokenize", {{"content", 5}}, "content"},
      {"/tokenize", {{"content", "a"}, {"with_pieces", "yes"}}, "with_pieces"},
      {"/detokenize", json::object(), "tokens"},
      {"/detokenize", {{"tokens", "a"}}, "tokens"},
      {"/detokenize", {{"tokens", {1, "a"}}}, "'tokens[1]' is the text 'a', expected a token"},
      {"/detokenize", {{"tokens", {-1, 5}}}, "'tokens[0]' is the number -1, expected a token"},
      {"/detokenize", {{"tokens", {1, 2.5}}}, "'tokens[1]' is the number 2.5, expected a token"},
      {"/detokenize", {{"tokens", {1, 100'000}}}, "100000"},
      {"/apply-template", json::object(), "messages"}};
  for (const auto &[path, body, names] : cases)
    EXPECT_THAT(answerTo(path, body, 400)["error"]["message"].get<std::string>(), HasSubstr(names))
        << path << body;
}

TEST(TextRoutes, SayThatThereIsNoSuchModel) {
  FakeServer server(addTextRoutes, kChatTemplate);
  const auto client = server.post("/tokenize", {{"content", "a"}, {"model", "tine"}});
  client->waitForEnd();
  EXPECT_EQ(client->status(), 404);
  const auto longer = server.post("/tokenize", {{"model", std::string(100'000, 'a')}});
  longer->waitForEnd();
  EXPECT_LT(longer->body().size(), 500u); // what a stranger sends does not come back in full
}

TEST(StatusRoutes, ListAPlaceForEachContext) {
  FakeServer server(addModelStatusRoutes, kChatTemplate);
  server.context.parallel = 2;
  const json slots = server.send("GET", "/slots")->parsed();
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[1]["id"], 1);
  EXPECT_EQ(slots[1]["is_processing"], false);
}

// Of weights [3, 32] of F32 each, and of experts where there are any.
std::string weightsFile(const std::vector<std::string> &names, uint32_t experts = 0) {
  GgufWriter file;
  file.header(names.size(), experts ? 2 : 1).text("general.architecture", "test");
  if (experts)
    file.value("test.expert_count", GgufType::U32, experts);
  constexpr uint64_t kBytes = 32 * 3 * 4;
  for (size_t i = 0; i < names.size(); ++i)
    file.string(names[i]).u32(2).u64(32).u64(3).u32(0).u64(i * kBytes);
  file.pad(32);
  const std::vector<uint8_t> zeros(kBytes);
  for (size_t i = 0; i < names.size(); ++i)
    for (const uint8_t byte : zeros)
      file.put(byte);
  const std::string path = testing::TempDir() + "sinter-weights-" + std::to_string(getpid());
  const std::vector<uint8_t> bytes = file.bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::ssize(bytes));
  return path;
}

json rooflineOf(FakeServer &server) {
  const auto client = server.send("GET", "/roofline");
  client->waitForEnd();
  return client->parsed();
}

TEST(StatusRoutes, MeasureMemoryOnceAndOnlyWhileNothingRuns) {
  FakeServer server(addModelStatusRoutes, kChatTemplate);
  int calls = 0;
  server.context.measureBandwidth = [&]() -> Result<double> { return 1e9 + ++calls; };
  server.pool.loads[0].state.running = 1;
  EXPECT_EQ(rooflineOf(server)["bytes_per_second"], nullptr);
  server.pool.loads[0].state.running = 0;
  EXPECT_EQ(rooflineOf(server)["bytes_per_second"], 1e9 + 1);
  server.pool.loads[0].state.running = 1;
  EXPECT_EQ(rooflineOf(server)["bytes_per_second"], 1e9 + 1);
  EXPECT_EQ(calls, 1);
}

TEST(StatusRoutes, TellTheBytesThatAStepReadsAtLeast) {
  FakeServer server(addModelStatusRoutes, kChatTemplate);
  const auto bytesOf = [&](const std::string &path) {
    server.pool.loads[0].path = path;
    const json models = rooflineOf(server)["models"];
    std::filesystem::remove(path);
    EXPECT_EQ(models[0]["model"], "tiny");
    return models[0]["weight_bytes"];
  };
  constexpr int kEach = 32 * 3 * 4;
  EXPECT_EQ(bytesOf(weightsFile({"token_embd.weight", "a"})), 2 * kEach);
  EXPECT_EQ(bytesOf(weightsFile({"token_embd.weight", "output.weight"})), kEach); // rows alone
  EXPECT_EQ(bytesOf(weightsFile({"token_embd.weight", "a"}, 4)), nullptr);
  EXPECT_EQ(bytesOf("no-such-file"), nullptr);
  server.pool.loads[0].embeddings = true;
  EXPECT_EQ(rooflineOf(server)["models"], json::array());
}

TEST(StatusRoutes, TellWhatAModelIsWithoutLoadingIt) {
  FakeServer server(addModelStatusRoutes, kChatTemplate);
  const std::string path = testing::TempDir() + "sinter-props-" + std::to_string(getpid());
  const std::vector<uint8_t> bytes = fakeModel(kChatTemplate);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::ssize(bytes));
  server.context.pathOf = [&](const std::string &name) -> Result<std::string> {
    if (name != "tiny")
      return fail(Code::NotFound, "there is no model '" + name + "'");
    return path;
  };
  server.context.defaultModel = "tiny";
  server.context.parallel = 3;
  server.context.defaults = std::make_shared<const GenerationWishes>(
      readDefaults(R"({"top_k": 7, "seed": 5, "max_tokens": 9})").value());
  const auto client = server.send("GET", "/props");
  client->waitForEnd();
  std::filesystem::remove(path);
  EXPECT_EQ(client->parsed()["chat_template"], kChatTemplate);
  EXPECT_EQ(client->parsed()["chat_template_caps"]["supports_tools"], true);
  EXPECT_EQ(client->parsed()["chat_template_caps"]["supports_tool_calls"], false);
  EXPECT_EQ(client->parsed()["model_path"], std::filesystem::path(path).filename().string());
  EXPECT_EQ(client->parsed()["total_slots"], 3);
  const json params = client->parsed()["default_generation_settings"]["params"];
  EXPECT_EQ(params["top_k"].dump(), "7");
  EXPECT_EQ(params["seed"], 5);
  EXPECT_EQ(params["n_predict"], 9);
  server.context.defaultModel = "other";
  const auto none = server.send("GET", "/props");
  none->waitForEnd();
  EXPECT_EQ(none->status(), 404);
  server.context.defaultModel.clear();
  const auto unnamed = server.send("GET", "/props");
  unnamed->waitForEnd();
  EXPECT_EQ(unnamed->status(), 400);
}

} // namespace
} // namespace sinter::serve
