// llama-server's routes of tokenizers and templates, and those that tell how models are.
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

TEST(TextRoutes, RefuseWhatMakesNoSense) {
  const std::tuple<const char *, json, const char *> cases[] = {
      {"/tokenize", json::object(), "content"},
      {"/tokenize", {{"content", 5}}, "content"},
      {"/tokenize", {{"content", "a"}, {"with_pieces", "yes"}}, "with_pieces"},
      {"/detokenize", json::object(), "tokens"},
      {"/detokenize", {{"tokens", "a"}}, "tokens"},
      {"/detokenize", {{"tokens", {1, "a"}}}, "tokens"},
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
}

TEST(StatusRoutes, ListNothingWhereNothingRuns) {
  FakeServer server(addModelStatusRoutes, kChatTemplate);
  EXPECT_EQ(server.send("GET", "/slots")->parsed(), json::array());
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
  const auto client = server.send("GET", "/props");
  client->waitForEnd();
  std::filesystem::remove(path);
  EXPECT_EQ(client->parsed()["chat_template"], kChatTemplate);
  EXPECT_EQ(client->parsed()["model_path"], std::filesystem::path(path).filename().string());
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
