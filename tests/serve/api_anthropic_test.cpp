// Anthropic's messages.
#include "serve/api/anthropic/anthropic.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char *kPath = "/v1/messages";

json asking(const json &messages, const json &more = json::object()) {
  json body = {{"model", "tiny"}, {"max_tokens", 8}, {"messages", messages}};
  body.update(more);
  return body;
}
json hello(const json &more = json::object()) {
  return asking({{{"role", "user"}, {"content", "hi"}}}, more);
}
json weather() {
  const json schema = {{"type", "object"}, {"properties", {{"x", {{"type", "string"}}}}}};
  return {{{"name", "f"}, {"description", "d"}, {"input_schema", schema}}};
}

TEST(AnthropicMessages, AnswerWithBlocks) {
  FakeServer server(anthropicRoutes);
  const json body = hello(
      {{"system", {{{"type", "text"}, {"text", "be"}}}}, {"stop_sequences", {"!"}}, {"top_k", 3}});
  const json answer = server.answered(kPath, body, {"good ", "day"})->parsed();
  EXPECT_EQ(server.worker().promptOf(), "<system>be<user>hi>");
  EXPECT_THAT(server.worker().job().stops, ElementsAre("!"));
  EXPECT_EQ(server.worker().job().maxTokens, 8u);
  EXPECT_EQ(server.worker().job().sampler.topK, 3);
  EXPECT_EQ(answer["type"], "message");
  EXPECT_EQ(answer["content"], json({{{"type", "text"}, {"text", "good day"}}}));
  EXPECT_EQ(answer["stop_reason"], "end_turn");
  EXPECT_EQ(answer["usage"]["cache_read_input_tokens"], 2);
  EXPECT_EQ(answer["usage"]["output_tokens"], 3);
}

TEST(AnthropicMessages, StreamEventsInOrder) {
  FakeServer server(anthropicRoutes);
  const auto client = server.answered(kPath, hello({{"stream", true}}), {"x", "y"});
  std::vector<std::string> types;
  for (const json &event : eventsOf(client->body()))
    types.push_back(event["type"]);
  EXPECT_THAT(types, ElementsAre("message_start", "content_block_start", "content_block_delta",
                                 "content_block_delta", "content_block_stop", "message_delta",
                                 "message_stop"));
  const auto events = eventsOf(client->body());
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], 9);
  EXPECT_EQ(events[2]["delta"], json({{"type", "text_delta"}, {"text", "x"}}));
  EXPECT_EQ(events[5]["delta"]["stop_reason"], "end_turn");
}

TEST(AnthropicMessages, CallsAreBlocksAndTheirResultsMessages) {
  FakeServer server(anthropicRoutes,
                    std::string(kChatTemplate) + "{# <tool_call> {\"name\": \"arguments\"} #}");
  const json messages = {
      {{"role", "user"}, {"content", "hi"}},
      {{"role", "assistant"},
       {"content",
        {{{"type", "text"}, {"text", "t"}},
         {{"type", "tool_use"}, {"id", "c1"}, {"name", "f"}, {"input", {{"x", "5"}}}}}}},
      {{"role", "user"},
       {"content",
        {{{"type", "tool_result"}, {"tool_use_id", "c1"}, {"content", "r"}},
         {{"type", "text"}, {"text", "so"}}}}}};
  server.post(kPath, asking(messages, {{"tools", weather()}}));
  server.worker().waitForJobs(1);
  EXPECT_EQ(server.worker().promptOf(), "[f]<user>hi<assistant>t!f5<tool>r<user>so>");
}

TEST(AnthropicMessages, GoOnWithAMessageOfTheAssistant) {
  FakeServer server(anthropicRoutes);
  server.post(kPath, asking({{{"role", "user"}, {"content", "hi"}},
                             {{"role", "assistant"}, {"content", "ab"}}}));
  server.worker().waitForJobs(1);
  EXPECT_EQ(server.worker().promptOf(), "<user>hi>ab");
}

TEST(AnthropicMessages, AreCounted) {
  FakeServer server(anthropicRoutes);
  const auto client = server.post("/v1/messages/count_tokens", hello());
  client->waitForEnd();
  EXPECT_EQ(client->parsed(), json({{"input_tokens", 9}}));
}

TEST(AnthropicMessages, RefuseWhatTheyCannotDo) {
  const json image = {{{"role", "user"}, {"content", {{{"type", "image"}}}}}};
  const json nobody = {{{"role", "system"}, {"content", "x"}}};
  const std::pair<json, const char *> kCases[] = {
      {{{"messages", json::array()}}, "at least one message"},
      {{{"messages", image}}, "messages[0].content[0].type"},
      {{{"messages", nobody}}, "messages[0].role"},
      {{{"tools", {{{"type", "web_search_20250305"}, {"name", "w"}}}}}, "runs no tools"},
      {{{"tool_choice", {{"type", "any"}}}}, "there are no 'tools'"},
      {{{"tools", weather()}, {"tool_choice", {{"type", "tool"}, {"name", "g"}}}},
       "tool_choice.name"},
      {{{"stop_sequences", {""}}}, "stop_sequences"},
      {{{"mcp_servers", {"x"}}}, "mcp_servers"},
  };
  FakeServer server(anthropicRoutes);
  for (const auto &[more, message] : kCases) {
    const auto client = server.post(kPath, hello(more));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << more;
    EXPECT_EQ(client->parsed()["error"]["type"], "invalid_request_error");
    EXPECT_THAT(client->body(), HasSubstr(message));
  }
}

} // namespace
} // namespace sinter::serve
