// Tools and thoughts through the routes: what requests make of a job, and what becomes of calls.
#include "chat_families.h"
#include "serve/api/chat_request.h"
#include "serve/api/ollama/ollama.h"
#include "serve/api/openai/openai.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

constexpr const char *kChat = "/v1/chat/completions", *kResponses = "/v1/responses",
                     *kOllama = "/api/chat";

json functionOf(const char *name, bool strict = false) {
  return {
      {"name", name},
      {"strict", strict},
      {"parameters",
       {{"type", "object"}, {"properties", {{"x", {{"type", "integer"}}}}}, {"required", {"x"}}}}};
}
json toolList(bool strict = false) {
  return {{{"type", "function"}, {"function", functionOf("f", strict)}},
          {{"type", "function"}, {"function", functionOf("g")}}};
}
json requestWith(const json &more) {
  json body = {{"model", "tiny"},
               {"messages", {{{"role", "user"}, {"content", "hi"}}}},
               {"tools", toolList()}};
  body.update(more);
  return body;
}

// Whether the job may begin with the text.
bool mayBegin(FakeServer &server, std::string_view text) {
  TokenConstraint *constraint = server.worker().job().constraint.get();
  if (!constraint)
    return true;
  const Tokenizer &tokenizer = server.worker().file().tokenizer();
  const auto encoded = tokenizer.encode(text);
  for (const TokenId id : encoded->ids) {
    const auto bits = constraint->allowed();
    if (!bits || !((*bits)[static_cast<size_t>(id) / 64] >> id % 64 & 1))
      return false;
    EXPECT_TRUE(constraint->accept(id).has_value());
  }
  return true;
}

constexpr const char *kCall = "{\"name\": \"f\", \"parameters\": {\"x\": 1}}";

struct ChoiceCase {
  const char *name;
  json more;
  bool mayTalk, mayCallF, mayCallG;
};

class ToolChoiceCase : public testing::TestWithParam<ChoiceCase> {};

TEST_P(ToolChoiceCase, HoldsTheAnswer) {
  const ChoiceCase &test = GetParam();
  for (const auto &[text, expected] :
       {std::pair<const char *, bool>("hi", test.mayTalk),
        {"{\"name\":\"f\"", false}, // not as the template writes it
        {"{\"name\": \"f\", \"parameters\": {\"x\": 1}}", test.mayCallF},
        {"{\"name\": \"g\"", test.mayCallG}}) {
    FakeServer server(openaiRoutes, templateOf("Llama"));
    server.answered(kChat, requestWith(test.more), {"x"});
    const bool isFree = !server.worker().job().constraint;
    EXPECT_EQ(mayBegin(server, text), expected || isFree) << text;
  }
}

const ChoiceCase kChoices[] = {
    {"Auto", json::object(), true, true, true},
    {"Required", {{"tool_choice", "required"}}, false, true, true},
    {"Function",
     {{"tool_choice", {{"type", "function"}, {"function", {{"name", "f"}}}}}},
     false,
     true,
     false},
    {"Allowed",
     {{"tool_choice",
       {{"type", "allowed_tools"},
        {"allowed_tools",
         {{"mode", "required"},
          {"tools", {{{"type", "function"}, {"function", {{"name", "g"}}}}}}}}}}},
     false,
     false,
     true},
    {"Strict", {{"tools", toolList(true)}}, true, true, true},
    {"FormOrCall", {{"guided_choice", {"hi"}}}, true, true, true},
};
INSTANTIATE_TEST_SUITE_P(Choices, ToolChoiceCase, testing::ValuesIn(kChoices),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Tools, StreamedCallsGiveTheirNameFirstThenArguments) {
  FakeServer server(openaiRoutes, templateOf("Llama"));
  const auto events =
      eventsOf(server
                   .answered(kChat, requestWith({{"stream", true}}),
                             {"{\"name\": \"f\", \"para", "meters\": {\"x\"", ": 1}", "}"})
                   ->body());
  ASSERT_EQ(events.size(), 5u);
  const json &first = events[1]["choices"][0]["delta"]["tool_calls"][0];
  EXPECT_EQ(first["index"], 0);
  EXPECT_THAT(first["id"].get<std::string>(), testing::StartsWith("call_"));
  EXPECT_EQ(first["type"], "function");
  EXPECT_EQ(first["function"], json({{"name", "f"}, {"arguments", "{\"x\""}}));
  EXPECT_EQ(events[2]["choices"][0]["delta"]["tool_calls"][0],
            json({{"index", 0}, {"function", {{"arguments", ": 1}"}}}}));
  EXPECT_EQ(events[3]["choices"][0]["finish_reason"], "tool_calls");
}

TEST(Tools, OllamasCallsComeWhole) {
  FakeServer server(ollamaRoutes, templateOf("Llama"));
  const std::string body = server
                               .answered(kOllama, requestWith(json::object()),
                                         {"{\"name\": \"f\", \"parame", "ters\": {\"x\": 1}}"})
                               ->body();
  const json line = json::parse(body.substr(0, body.find('\n')));
  EXPECT_EQ(line["message"]["tool_calls"][0]["function"],
            json({{"index", 0}, {"name", "f"}, {"arguments", {{"x", 1}}}}));
}

TEST(Tools, ResponsesStreamArguments) {
  FakeServer server(openaiRoutes, templateOf("Llama"));
  json tool = functionOf("f");
  tool["type"] = "function";
  const json body = {{"model", "tiny"},
                     {"input", "hi"},
                     {"tools", {tool}},
                     {"stream", true},
                     {"tool_choice", {{"type", "function"}, {"name", "f"}}}};
  const auto events = eventsOf(
      server.answered(kResponses, body, {"{\"name\": \"f\", \"parameters\": {\"x", "\": 1}}"})
          ->body());
  std::string arguments;
  for (const json &event : events)
    if (event["type"] == "response.function_call_arguments.delta")
      arguments += event["delta"];
  EXPECT_EQ(arguments, "{\"x\": 1}");
  const json &output = events.back()["response"]["output"][0];
  EXPECT_EQ(output["arguments"], arguments);
  EXPECT_EQ(output["name"], "f");
  EXPECT_EQ(events.back()["response"]["tool_choice"]["name"], "f");
}

TEST(Tools, AModelWhoseTemplateWritesNoneDoesNotSupportThem) {
  constexpr const char *kNoTools = "{% for m in messages %}{{ m.content }}{% endfor %}{# tools #}";
  for (const char *path : {kChat, kOllama}) {
    FakeServer server(std::string_view(path) == kChat ? openaiRoutes : ollamaRoutes, kNoTools);
    const auto client = server.post(path, requestWith(json::object()));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400);
    EXPECT_THAT(client->body(), HasSubstr("does not support tools"));
  }
}

TEST(Tools, ATemplateWithoutAPlaceForToolsHasThemInTheSystemsMessage) {
  const ModelFile file = fakeModelFile(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
      "<call>{{ c.function.name }}<args>{{ c.function.arguments | tojson }}</call>{% endfor %}"
      "{% endfor %}");
  ChatRequest chat;
  chat.messages = {*jinja::inputFromJson(R"({"role": "user", "content": "hi"})")};
  chat.inputs.tools = *jinja::inputFromJson(toolList().dump());
  const auto parts = chatParts(file, chat);
  ASSERT_TRUE(parts.has_value());
  const std::string prompt = promptText(*parts);
  EXPECT_THAT(prompt, testing::StartsWith("<system># Tools"));
  EXPECT_THAT(prompt, HasSubstr("\"name\":\"f\""));
  EXPECT_THAT(prompt, HasSubstr("<call>NAME<args>{\"KEY\": \"VALUE\"}</call>\n<user>hi"));
}

// Prompts end with the mark that a call begins with, and so does content.
constexpr const char *kRecipients =
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>"
    "{% if m.role == 'user' %}{{ m.content }}{% elif m.content %}$$$all={{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}$$${{ c.function.name }}={{ c.function.arguments | tojson }}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %}<assistant>$$${% endif %}";

TEST(Tools, APromptsMarkOfACallIsPartOfTheAnswer) {
  FakeServer server(openaiRoutes, kRecipients);
  const auto client =
      server.answered(kChat, requestWith({{"tool_choice", "required"}}), {"f={\"x\"", ": 1}"});
  EXPECT_FALSE(mayBegin(server, "all="));
  const json message = client->parsed()["choices"][0]["message"];
  EXPECT_EQ(message["tool_calls"][0]["function"],
            json({{"name", "f"}, {"arguments", "{\"x\": 1}"}}));
}

TEST(Tools, MarksOfContentAreNoneOfIt) {
  FakeServer server(openaiRoutes, kRecipients);
  const json body = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
  const auto client = server.answered(kChat, body, {"al", "l=hello"});
  EXPECT_EQ(client->parsed()["choices"][0]["message"]["content"], "hello");
}

TEST(Tools, AChoiceNamesAToolThatThereIs) {
  for (const auto &[more, message] :
       {std::pair<json, const char *>(
            {{"tool_choice", {{"type", "function"}, {"function", {{"name", "h"}}}}}},
            "the tool 'h'"),
        {{{"tool_choice", "required"}, {"tools", json::array()}}, "there are no 'tools'"},
        {{{"tool_choice", 5}}, "'auto', 'none', 'required' or a function"}}) {
    FakeServer server(openaiRoutes);
    const auto client = server.post(kChat, requestWith(more));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400);
    EXPECT_EQ(client->parsed()["error"]["param"], "tool_choice");
    EXPECT_THAT(client->body(), HasSubstr(message));
  }
}

TEST(Tools, OllamasCallsWithoutIdsGetSome) {
  FakeServer server(ollamaRoutes, templateOf("MistralList"));
  const json call = {{"function", {{"name", "f"}, {"arguments", {{"x", 5}}}}}};
  server.answered(kOllama,
                  requestWith({{"messages",
                                {{{"role", "user"}, {"content", "hi"}},
                                 {{"role", "assistant"}, {"content", ""}, {"tool_calls", {call}}},
                                 {{"role", "tool"}, {"content", "7"}, {"tool_name", "f"}}}}}),
                  {"x"});
  EXPECT_THAT(server.worker().promptOf(), HasSubstr("\"id\": \"call00001\""));
}

struct ThinkCase {
  const char *name;
  std::string source;
  json think;
  const char *error; // empty: none
  const char *promptEnd;
};
class OllamaThink : public testing::TestWithParam<ThinkCase> {};

TEST_P(OllamaThink, IsGivenToTheTemplateOrRefused) {
  FakeServer server(ollamaRoutes, GetParam().source);
  json body = {{"model", "tiny"},
               {"messages", {{{"role", "user"}, {"content", "hi"}}}},
               {"think", GetParam().think}};
  const auto client = server.post(kOllama, body);
  if (*GetParam().error) {
    client->waitForEnd();
    EXPECT_THAT(client->body(), HasSubstr(GetParam().error));
    return;
  }
  server.worker().waitForJobs(1);
  EXPECT_THAT(server.worker().promptOf(), testing::EndsWith(GetParam().promptEnd));
  server.worker().end();
  client->waitForEnd();
}

const std::string kSwitch =
    "{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking "
    "is defined %}{{ '<think>' if enable_thinking else '</think>' }}{% endif %}";
const std::string kLevels = "{% for m in messages %}{{ m.content }}{% endfor %}</think>"
                            "{{ reasoning_effort }}";
const ThinkCase kThinkCases[] = {
    {"On", kSwitch, true, "", "<think>"},
    {"Off", kSwitch, false, "", "</think>"},
    {"LevelOfASwitch", kSwitch, "high", "", "<think>"},
    {"Level", kLevels, "low", "", "low"},
    {"OnWithoutASwitch", "{{ messages[0].content }}{# </think> #}", true, "", "hi"},
    {"None", "{{ messages[0].content }}", true, "does not support thinking", ""},
    {"OffOfNone", "{{ messages[0].content }}", false, "", "hi"},
    {"NoLevel", kLevels, "most", "'low'", ""},
};
INSTANTIATE_TEST_SUITE_P(Wishes, OllamaThink, testing::ValuesIn(kThinkCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace sinter::serve
