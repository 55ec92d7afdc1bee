// Chat completions: what requests make of a job, and what pieces of an answer become.
#include "serve/api/openai/openai.h"
#include "serve/fake_server.h"

#include <gmock/gmock.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

constexpr const char *kPath = "/v1/chat/completions";

json hello() {
  return {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
}
json helloWith(const json &more) {
  json body = hello();
  body.update(more);
  return body;
}

TEST(OpenAiChat, SaysByItsCodeThatThePromptIsTooLong) {
  FakeServer server(openaiRoutes);
  server.worker().context = 5;
  server.worker().refusal = Status{Code::InvalidArgument, "the prompt has 8 tokens"};
  const auto client = server.post(kPath, hello());
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
  const json error = client->parsed()["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["n_prompt_tokens"], 9);
  EXPECT_EQ(error["n_ctx"], 5);
  server.worker().refusal = Status{Code::Exhausted, "1024 wait"};
  const auto busy = server.post(kPath, hello());
  busy->waitForEnd();
  EXPECT_EQ(busy->parsed()["error"]["code"], "overloaded");
  server.worker().refusal = Status{Code::InvalidArgument, "the prompt makes no sense"};
  server.worker().context = 9; // just enough: something else is wrong
  const auto other = server.post(kPath, hello());
  other->waitForEnd();
  EXPECT_EQ(other->parsed()["error"]["code"], nullptr);
}

TEST(OpenAiChat, NamesTheBuildThatAnswers) {
  FakeServer server(openaiRoutes);
  EXPECT_EQ(server.answered(kPath, hello(), {"x"})->parsed()["system_fingerprint"],
            "b" + server.context.version);
}

TEST(OpenAiChat, AnswersWithAMessage) {
  FakeServer server(openaiRoutes);
  const json answer = server.answered(kPath, hello(), {"good ", "day"})->parsed();
  EXPECT_EQ(server.worker().promptOf(), "<user>hi>");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_THAT(answer["id"].get<std::string>(), testing::StartsWith("chatcmpl-"));
  const json &choice = answer["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], "good day");
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 9);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 3);
  EXPECT_EQ(answer["usage"]["total_tokens"], 12);
  EXPECT_EQ(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
}

TEST(OpenAiChat, HasTimingsAndThePromptWhereThatIsAskedFor) {
  FakeServer server(openaiRoutes);
  const json answer =
      server.answered(kPath, helloWith({{"verbose", true}}), {"good ", "day"})->parsed();
  EXPECT_EQ(answer["timings"]["predicted_n"], 3);
  EXPECT_EQ(answer["__verbose"]["prompt"], "<user>hi>");
}

TEST(OpenAiChat, GoesOnWithAMessageOfTheAssistantUnlessToldNotTo) {
  const json messages = {{{"role", "user"}, {"content", "hi"}},
                         {{"role", "assistant"}, {"content", "ab"}}};
  for (const auto &[more, prompt] : std::vector<std::pair<json, const char *>>{
           {json::object(), "<user>hi>ab"},
           {{{"continue_final_message", true}, {"add_generation_prompt", false}}, "<user>hi>ab"},
           {{{"continue_final_message", false}}, "<user>hi<assistant>ab>"}}) {
    FakeServer server(openaiRoutes);
    json body = helloWith({{"messages", messages}});
    body.update(more);
    server.answered(kPath, body, {"x"});
    EXPECT_EQ(server.worker().promptOf(), prompt);
  }
}

TEST(OpenAiChat, StreamsChunksThatEndWithDone) {
  FakeServer server(openaiRoutes);
  const auto client = server.answered(kPath, helloWith({{"stream", true}}), {"good ", "day"});
  EXPECT_EQ(client->head().contentType, "text/event-stream");
  const auto events = eventsOf(client->body());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events[1]["choices"][0]["delta"]["content"], "good ");
  EXPECT_EQ(events[2]["choices"][0]["delta"]["content"], "day");
  EXPECT_EQ(events[2]["choices"][0]["finish_reason"], nullptr);
  EXPECT_EQ(events[3]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(events[4], "[DONE]");
  EXPECT_EQ(events[0]["id"], events[3]["id"]);
  EXPECT_FALSE(events[0].contains("usage"));
}

TEST(OpenAiChat, StreamsUsageInAChunkOfItsOwnWhereAskedTo) {
  FakeServer server(openaiRoutes);
  const json body = helloWith({{"stream", true}, {"stream_options", {{"include_usage", true}}}});
  const auto events = eventsOf(server.answered(kPath, body, {"x"})->body());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0]["usage"], nullptr);
  EXPECT_TRUE(events[3]["choices"].empty());
  EXPECT_EQ(events[3]["usage"]["completion_tokens"], 3);
}

TEST(OpenAiChat, CountsOnWhileItStreamsWhereAskedTo) {
  FakeServer server(openaiRoutes);
  const json options = {{"include_usage", true}, {"continuous_usage_stats", true}};
  const json body = helloWith({{"stream", true}, {"stream_options", options}});
  const auto events = eventsOf(server.answered(kPath, body, {"x", "y"})->body());
  ASSERT_EQ(events.size(), 6u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(events[i]["usage"]["prompt_tokens"], 9);
    EXPECT_EQ(events[i]["usage"]["completion_tokens"], i);
  }
}

TEST(OpenAiChat, TakesSettingsByTheNamesOfTheSamplersTable) {
  FakeServer server(openaiRoutes);
  json body = helloWith({{"seed", 7}, {"max_tokens", 5}, {"stop", {"a", "b"}}});
  for (const SamplerSetting &setting : samplerSettingTable())
    if (setting.name != "mirostat")
      body[setting.name] = setting.most;
  body["logit_bias"] = {{"3", -2.5}};
  server.answered(kPath, body, {"x"});
  const GenerationJob &job = server.worker().job();
  for (const SamplerSetting &setting : samplerSettingTable())
    if (setting.name != "mirostat")
      EXPECT_EQ(setting.valueIn(job.sampler), setting.most) << setting.name;
  EXPECT_EQ(job.sampler.seed, 7u);
  EXPECT_EQ(job.sampler.logitBias.at(0).token, 3);
  EXPECT_EQ(job.sampler.logitBias.at(0).bias, -2.5f);
  EXPECT_EQ(job.maxTokens, 5u);
  EXPECT_EQ(job.stops, (std::vector<std::string>{"a", "b"}));
}

TEST(OpenAiChat, SeveralChoicesHaveSeedsAndChunksOfTheirOwn) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith({{"n", 2}, {"seed", 7}}));
  FakeWorker &worker = server.worker();
  worker.waitForJobs(2);
  EXPECT_EQ(worker.job(0).sampler.seed + 1, worker.job(1).sampler.seed);
  worker.say("second", 1);
  worker.end(AnswerEnd::TokenLimit, 1);
  worker.say("first", 0);
  worker.end(AnswerEnd::EndToken, 0);
  client->waitForEnd();
  const json answer = client->parsed();
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "first");
  EXPECT_EQ(answer["choices"][1]["message"]["content"], "second");
  EXPECT_EQ(answer["choices"][1]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 9); // once for both
  EXPECT_EQ(answer["usage"]["completion_tokens"], 6);
}

TEST(OpenAiChat, ListsLogprobsOfEachToken) {
  FakeServer server(openaiRoutes);
  const json body = helloWith({{"logprobs", true}, {"top_logprobs", 2}});
  const json answer = server.answered(kPath, body, {"ab", "c"})->parsed();
  const json &content = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(content[0]["token"], "ab");
  EXPECT_EQ(content[0]["bytes"], json({97, 98}));
  EXPECT_EQ(content[0]["logprob"], -0.5);
  EXPECT_EQ(content[0]["top_logprobs"].size(), 2u);
}

TEST(OpenAiChat, GivesTheTemplateToolsCallsAndTheirAnswers) {
  FakeServer server(openaiRoutes);
  const json call = {{"id", "c1"},
                     {"type", "function"},
                     {"function", {{"name", "add"}, {"arguments", "{\"x\": 5}"}}}};
  const json body = {
      {"model", "tiny"},
      {"tools", {{{"type", "function"}, {"function", {{"name", "add"}}}}}},
      {"messages",
       {{{"role", "user"},
         {"content", {{{"type", "text"}, {"text", "h"}}, {{"type", "text"}, {"text", "i"}}}}},
        {{"role", "assistant"}, {"tool_calls", {call}}},
        {{"role", "tool"}, {"tool_call_id", "c1"}, {"content", "7"}}}}};
  server.answered(kPath, body, {"x"});
  EXPECT_EQ(server.worker().promptOf(), "[add]<user>hi<assistant>!add5<tool>7>");
}

TEST(OpenAiChat, ToolsAreNotOfferedWhereNoneIsChosen) {
  FakeServer server(openaiRoutes);
  server.answered(kPath,
                  helloWith({{"tool_choice", "none"},
                             {"tools", {{{"type", "function"}, {"function", {{"name", "add"}}}}}}}),
                  {"x"});
  EXPECT_EQ(server.worker().promptOf(), "<user>hi>");
}

TEST(OpenAiChat, SetsReasoningApartWhereThePromptOpensIt) {
  FakeServer server(openaiRoutes,
                    std::string(kChatTemplate).substr(0, std::string(kChatTemplate).size() - 1));
  const json body = helloWith({{"chat_template_kwargs", {{"enable_thinking", true}}}});
  const json answer = server.answered(kPath, body, {"hm", "m</thi", "nk>\n\nyes"})->parsed();
  EXPECT_EQ(answer["choices"][0]["message"]["reasoning_content"], "hmm");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "yes");
}

TEST(OpenAiChat, DevelopersAreTheSystemOfATemplateThatKnowsNone) {
  FakeServer server(openaiRoutes);
  server.answered(kPath,
                  {{"model", "tiny"}, {"messages", {{{"role", "developer"}, {"content", "be"}}}}},
                  {"x"});
  EXPECT_EQ(server.worker().promptOf(), "<system>be>");
}

TEST(OpenAiChat, AClientThatGoesCancelsItsJobs) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith({{"n", 2}, {"stream", true}}));
  server.worker().waitForJobs(2);
  client->leave();
  server.worker().waitForCancel(2);
  EXPECT_FALSE(server.worker().say("x"));
}

TEST(OpenAiChat, TokensAreCountedForWhoAskedEvenIfNobodyListens) {
  FakeServer server(openaiRoutes);
  uint64_t counted = 0;
  server.context.charge = [&](const std::string &account, uint64_t tokens) {
    EXPECT_EQ(account, "someone");
    counted += tokens;
  };
  const auto client = server.post(kPath, helloWith({{"n", 2}, {"stream", true}}));
  server.worker().waitForJobs(2);
  EXPECT_EQ(server.worker().job().queue, "someone");
  client->leave();
  server.worker().waitForCancel(2);
  server.worker().end(AnswerEnd::Cancelled, 0);
  server.worker().end(AnswerEnd::Cancelled, 1);
  EXPECT_EQ(counted, 9u - 2 + 3 + 3) << "of the prompt, what was not reused";
}

TEST(OpenAiChat, AnErrorAfterTheFirstChunkIsAnEvent) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith({{"stream", true}}));
  server.worker().waitForJobs(1);
  server.worker().say("a");
  server.worker().failWith({Code::DeviceLost, "the device is gone"});
  client->waitForEnd();
  const auto events = eventsOf(client->body());
  EXPECT_EQ(client->status(), 200);
  EXPECT_EQ(events.back()["error"]["message"], "the device is gone");
  EXPECT_EQ(events.back()["error"]["type"], "server_error");
}

TEST(OpenAiChat, AFullQueueIsToldWithRetryAfter) {
  FakeServer server(openaiRoutes);
  server.worker().refusal = Status{Code::Exhausted, "1024 wait"};
  server.worker().retryAfter = 7;
  const auto client = server.post(kPath, hello());
  client->waitForEnd();
  EXPECT_EQ(client->status(), 503);
  EXPECT_THAT(client->head().headers, testing::Contains(testing::Pair("retry-after", "7")));
}

TEST(OpenAiChat, AModelThatIsNotThereIs404) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith({{"model", "tyni"}}));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 404);
  EXPECT_EQ(client->parsed()["error"]["code"], "model_not_found");
}

TEST(OpenAiChat, AModelThatCannotBeLoadedIsSaidToBeNone) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith({{"model", "gone"}}));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 404);
}

TEST(OpenAiChat, NoModelIsNamedByAPath) {
  FakeServer server(openaiRoutes);
  for (const char *path : {"/etc/passwd", "../tiny", "./tiny.gguf"}) {
    const auto client = server.post(kPath, helloWith({{"model", path}}));
    client->waitForEnd();
    EXPECT_EQ(client->status(), 404) << path;
  }
  EXPECT_TRUE(server.pool.asked().empty());
}

TEST(OpenAiChat, TheOnlyModelNeedsNoName) {
  FakeServer server(openaiRoutes);
  server.pool.known = {"tiny"};
  server.answered(kPath, helloWith({{"model", nullptr}}), {"x"});
  EXPECT_EQ(server.pool.asked(), std::vector<std::string>{"tiny"});
}

struct Refusal {
  const char *name;
  json more;
  const char *param, *message;
};

class OpenAiChatRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(OpenAiChatRefusal, NamesTheField) {
  FakeServer server(openaiRoutes);
  const auto client = server.post(kPath, helloWith(GetParam().more));
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
  const json error = client->parsed()["error"];
  EXPECT_EQ(error["param"], GetParam().param) << error;
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(GetParam().message));
  EXPECT_EQ(server.worker().jobCount(), 0u);
}

const Refusal kRefusals[] = {
    {"Model", {{"model", nullptr}}, "model", "'model' is absent"},
    {"Messages", {{"messages", json::array()}}, "messages", "at least one message"},
    {"Role",
     {{"messages", {{{"role", "boss"}, {"content", "x"}}}}},
     "messages[0].role",
     "is the text 'boss'"},
    {"Content", {{"messages", {{{"role", "user"}}}}}, "messages[0].content", "absent"},
    {"Image",
     {{"messages",
       {{{"role", "user"}, {"content", {{{"type", "image_url"}, {"image_url", "x"}}}}}}}},
     "messages[0].content[0].type",
     "'image_url'"},
    {"Temperature",
     {{"temperature", 101}},
     "temperature",
     "is the number 101, expected a number from 0 to 100"},
    {"TopK", {{"top_k", 1.5}}, "top_k", "a whole number"},
    {"N", {{"n", 0}}, "n", "from 1 to 128"},
    {"MaxTokens", {{"max_tokens", -5}}, "max_tokens", "from 0"},
    {"Seed", {{"seed", "x"}}, "seed", "a whole number"},
    {"Stop", {{"stop", {""}}}, "stop", "1 to 1024 bytes"},
    {"TopLogprobs", {{"top_logprobs", 3}}, "top_logprobs", "'logprobs' to be true"},
    {"ResponseFormat", {{"response_format", {{"type", "xml"}}}}, "response_format.type", "'xml'"},
    {"ResponseFormatWithoutSchema",
     {{"response_format", {{"type", "json_schema"}}}},
     "response_format.schema",
     "a JSON schema"},
    {"TwoForms",
     {{"guided_regex", "a"}, {"response_format", {{"type", "json_object"}}}},
     "response_format",
     "both ask for a form"},
    {"GuidedChoice", {{"guided_choice", "a"}}, "guided_choice", "a list of texts"},
    {"ToolChoice", {{"tool_choice", "required"}}, "tool_choice", "there are no 'tools'"},
    {"Tools", {{"tools", {{{"type", "function"}}}}}, "tools[0].function", "a name"},
    {"Functions", {{"functions", {{{"name", "f"}}}}}, "functions", "replaced by tools"},
    {"Audio", {{"modalities", {"text", "audio"}}}, "modalities", "'audio'"},
    {"Store", {{"store", true}}, "store", "not kept"},
    {"Progress", {{"return_progress", true}}, "return_progress", "nothing of its progress"},
    {"StreamOptions",
     {{"stream_options", {{"include_usage", true}}}},
     "stream_options",
     "'stream'"},
    {"Foreign", {{"top_n_sigma", 1.5}}, "top_n_sigma", "no such setting"},
    {"ContinuesNothing",
     {{"continue_final_message", true}},
     "continue_final_message",
     "a last message of the assistant"},
    {"ContinuesAndBegins",
     {{"continue_final_message", true}, {"add_generation_prompt", true}},
     "continue_final_message",
     "'add_generation_prompt' to be false"},
};
INSTANTIATE_TEST_SUITE_P(Fields, OpenAiChatRefusal, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(OpenAiChat, ABodyThatIsNoJsonIsSaidToBeNone) {
  FakeServer server(openaiRoutes);
  for (const std::string body : {"", "{", "[1]", "{\"model\": \"\xff\"}"}) {
    const auto client = server.send("POST", kPath, body);
    client->waitForEnd();
    EXPECT_EQ(client->status(), 400) << body;
  }
}

} // namespace
} // namespace sinter::serve
