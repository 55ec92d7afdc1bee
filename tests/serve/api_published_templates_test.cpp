// What published templates of models that people run let the server do: tools offered, calls read
// back whole and cut at every byte, several of them, thoughts apart, results of tools shown, and
// calls that must be made. The templates are other people's texts: they are read from a folder.
#include "grammar/automaton.h"
#include "grammar/json_text.h"
#include "llm/chat/answer_grammar.h"
#include "llm/chat/probe_texts.h"
#include "llm/chat/syntax_probe.h"
#include "llm/chat/tool_prompt.h"
#include "serve/answer_check.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr const char *kThought = "hm, well", *kResult = "RESULT", *kQuestion = "Hi";
const ChatVariables kTokens = {{"bos_token", Input("<s>", jinja::Origin::Template)},
                               {"eos_token", Input("</s>", jinja::Origin::Template)}};

Input json(std::string_view text) {
  return *jinja::inputFromJson(text);
}

const Input &tools() {
  static const Input list = json(R"([{"type": "function", "function": {"name": "get_weather",
    "description": "d", "parameters": {"type": "object", "properties": {
      "city": {"type": "string", "description": "d"}, "days": {"type": "integer", "description": "d"}},
      "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "d", "parameters": {
      "type": "object", "properties": {"zone": {"type": "string", "description": "d"}},
      "required": ["zone"]}}}])");
  return list;
}

struct Known {
  const char *name, *arguments, *id;
};
constexpr Known kCalls[] = {{"get_weather", R"({"city": "a < b", "days": 5})", "callid001"},
                            {"now", R"({"zone": "12"})", "callid002"}};

Input message(const char *role, const char *content, Input::Object more = {}) {
  Input::Object made = {{"role", Input(std::string(role))},
                        {"content", Input(std::string(content))}};
  made.insert(made.end(), more.begin(), more.end());
  return Input(std::move(made));
}

// Calls as a model writes them whose template does not show any.
struct Shown {
  const char *one = "", *two = "";
};

class Published {
public:
  explicit Published(std::string_view source)
      : chat_(*ChatTemplate::parse(source)),
        syntax_(std::make_shared<const AnswerSyntax>(probeAnswerSyntax(chat_, kTokens))) {
    prompt_ = render({message("user", kQuestion)}, true);
  }

  // "tools calls parallel obliged thoughts result", without what does not work.
  std::string cells(const Shown &shown) {
    std::string found;
    const auto add = [&](bool works, const char *cell) {
      if (works)
        found += (found.empty() ? "" : " ") + std::string(cell);
    };
    add(takesTools(*syntax_), "tools");
    add(reads(1, "", shown), "calls");
    add(reads(2, "", shown), "parallel");
    add(canOblige(), "obliged");
    add(reads(syntax_->calls.severalCalls && !syntax_->usesChannels() ? 2 : 1, kThought, shown) ||
            (syntax_->calls.shape == CallShape::None && syntax_->thinks()),
        "thoughts");
    add(showsResult(), "result");
    return found;
  }

private:
  std::string render(Input::List messages, bool addPrompt) const {
    const auto parts = chat_.render(*messageList(Input(std::move(messages))), addPrompt,
                                    {.tools = tools()}, kTokens);
    return parts ? promptText(*parts) : "";
  }

  Input::Object answer(size_t count, const char *thought) const {
    Input::List calls;
    for (size_t i = 0; i < count; ++i) {
      const Input arguments = syntax_->argumentsAsText ? Input(std::string(kCalls[i].arguments))
                                                       : json(kCalls[i].arguments);
      calls.push_back(Input(Input::Object{
          {"id", Input(std::string(kCalls[i].id))},
          {"type", Input(std::string("function"))},
          {"function", Input(Input::Object{{"name", Input(std::string(kCalls[i].name))},
                                           {"arguments", arguments}})}}));
    }
    Input::Object made = {{"tool_calls", Input(std::move(calls))}};
    for (const char *name : {"reasoning_content", "reasoning", "thinking"})
      if (*thought)
        made.emplace_back(name, Input(std::string(thought)));
    return made;
  }

  // What a model would write, up to the token that ends its turn; how the prompt before it ends.
  std::pair<std::string, AnswerStyle> written(size_t count, const char *thought,
                                              const Shown &shown) const {
    AnswerStyle style{.syntax = syntax_, .readsCalls = true, .tools = toolTypesOf(tools())};
    const std::string text = render(
        {message("user", kQuestion), message("assistant", "", answer(count, thought))}, false);
    const std::string_view begin = commonBegin(text, prompt_);
    const std::string &open = syntax_->reasoning.open;
    style.startsInReasoning = !open.empty() && trim(begin).ends_with(open);
    style.startsInCall =
        syntax_->calls.promptOpens && trim(begin).ends_with(trim(syntax_->calls.open()));
    std::string rest = text.substr(begin.size());
    if (rest.find(kCalls[0].name) == rest.npos) {
      style.startsInReasoning = false;
      rest = count == 1 ? shown.one : shown.two;
      if (*thought && syntax_->thinks())
        rest = open + thought + syntax_->reasoning.close + rest;
    }
    for (const char *end : kTurnEnds)
      rest.resize(std::min(rest.size(), rest.find(end)));
    if (!syntax_->usesChannels())
      for (const char *end : {"<|end|>", "<|eom|>"})
        rest.resize(std::min(rest.size(), rest.find(end)));
    return {rest, style};
  }

  bool isRead(const AnswerText &parsed, size_t count, const char *thought) const {
    bool isSame =
        parsed.content.empty() && parsed.reasoning == thought && parsed.toolCalls.size() == count;
    for (size_t i = 0; isSame && i < count; ++i) {
      const auto arguments = jinja::inputFromJson(parsed.toolCalls[i].arguments);
      isSame = parsed.toolCalls[i].name == kCalls[i].name && arguments &&
               grammar::jsonEqual(*arguments, json(kCalls[i].arguments));
    }
    return isSame;
  }

  bool reads(size_t count, const char *thought, const Shown &shown) const {
    const auto [text, style] = written(count, thought, shown);
    const size_t all = text.size();
    if (text.empty() || !isRead(parsedAnswer(style, text, [&] { return all; }), count, thought))
      return false;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const auto parser = makeAnswerParser(style);
      AnswerText parts;
      for (const auto piece : {std::string_view(text).substr(0, cut),
                               std::string_view(text).substr(cut), std::string_view()})
        parts.add(piece.empty() ? parser->finish() : parser->push(piece));
      EXPECT_TRUE(isRead(parts, count, thought))
          << "cut at " << cut << ": " << text << "\ncontent " << parts.content << "\nthought "
          << parts.reasoning;
    }
    return true;
  }

  // That a call as the template writes it is allowed, and text is not.
  bool canOblige() const {
    static const Tokenizer tokenizer = plainTokenizer();
    const auto [text, style] = written(1, "", {});
    AnswerRules rules{.calls = CallWish::Must, .startsInCall = style.startsInCall};
    for (const Input &tool : *tools().list()) {
      const Input *function = tool.find("function");
      rules.tools.push_back({*function->find("name")->text(), *function->find("parameters")});
    }
    auto grammar = answerGrammar(*syntax_, std::move(rules), tokenizer);
    if (!grammar)
      return false;
    const auto automaton = grammar::Automaton::create(std::move(*grammar));
    const auto accepts = [&](std::string_view answer) {
      const auto end = (*automaton)->next((*automaton)->start(), answer);
      return end && *end != grammar::kDead && (*automaton)->accepts(*end);
    };
    EXPECT_FALSE(accepts("text"));
    std::string_view call = text;
    if (const size_t close =
            syntax_->reasoning.close.empty() ? call.npos : call.find(syntax_->reasoning.close);
        close != call.npos)
      call.remove_prefix(close + syntax_->reasoning.close.size());
    if (call.find(kCalls[0].name) == call.npos) // it is not shown
      return true;
    const size_t begin = syntax_->calls.begin.empty() || syntax_->usesChannels()
                             ? 0
                             : call.find(trim(syntax_->calls.begin));
    call.remove_prefix(begin == call.npos ? 0 : begin);
    if (const std::string &end = syntax_->content.turnEnd; !end.empty() && call.ends_with(end))
      call.remove_suffix(end.size());
    EXPECT_TRUE(accepts(call) || accepts(trim(call)) || accepts(trimLeft(call))) << call;
    return true;
  }

  bool showsResult() const {
    const std::string text =
        render({message("user", kQuestion), message("assistant", "", answer(1, "")),
                message("tool", kResult,
                        {{"tool_call_id", Input(std::string(kCalls[0].id))},
                         {"name", Input(std::string(kCalls[0].name))}})},
               true);
    return text.rfind(kResult) != text.npos && text.rfind(kResult) > text.find(kQuestion);
  }

  // Bytes alone: marks are texts.
  static Tokenizer plainTokenizer() {
    VocabularyData data;
    static std::vector<std::string> tokens;
    uint32_t next = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool isPlain = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      const uint32_t code = isPlain ? byte : next++;
      tokens.push_back(code < 0x80 ? std::string(1, static_cast<char>(code))
                                   : std::string{static_cast<char>(0xC0 | code >> 6),
                                                 static_cast<char>(0x80 | (code & 0x3F))});
    }
    data.tokens.assign(tokens.begin(), tokens.end());
    static const std::vector<int64_t> types(tokens.size(), 1);
    data.types = types;
    data.pre = "gpt-2";
    data.eos = 0;
    auto made = Tokenizer::create(data);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().toString());
    return std::move(*made);
  }

  static constexpr const char *kTurnEnds[] = {"<|im_end|>",
                                              "</s>",
                                              "<|eot_id|>",
                                              "<|eom_id|>",
                                              "<|end_of_text|>",
                                              "<turn|>",
                                              "<|tool_response>",
                                              "<|END_OF_TURN_TOKEN|>",
                                              "<｜end▁of▁sentence｜>",
                                              "<|end_of_msg|>",
                                              "<seed:eos>",
                                              "[e~[",
                                              "<|return|>",
                                              "<|call|>",
                                              "<SPECIAL_12>",
                                              "<end_of_sentence>",
                                              "<|message_sep|>\n\n",
                                              "</assistant>",
                                              "<|role_end|>",
                                              "<|eot|>",
                                              "\n\n<sep>",
                                              "<|calls|>",
                                              "<｜hy_eos:opensource｜>"};

  const ChatTemplate chat_;
  const std::shared_ptr<const AnswerSyntax> syntax_;
  std::string prompt_; // that asks for an answer
};

struct Row {
  const char *file, *cells;
  Shown shown = {};
};
class PublishedTemplate : public testing::TestWithParam<Row> {};

TEST_P(PublishedTemplate, DoesWhatItsRowSays) {
  const char *folder = std::getenv("SINTER_CHAT_TEMPLATES");
  if (!folder)
    GTEST_SKIP() << "SINTER_CHAT_TEMPLATES names no folder of templates";
  std::ifstream file(std::filesystem::path(folder) / (GetParam().file + std::string(".jinja")));
  const std::string source((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(source.empty());
  EXPECT_EQ(Published(source).cells(GetParam().shown), GetParam().cells);
}

constexpr Shown kKeywords = {
    "<|tool_call_start|>[get_weather(city=\"a < b\", days=5)]<|tool_call_end|>",
    "<|tool_call_start|>[get_weather(city='a < b', days=5), now(zone='12')]<|tool_call_end|>"};

constexpr const char *kAll = "tools calls parallel obliged thoughts result",
                     *kCalls2 = "tools calls parallel obliged result";
const Row kRows[] = {
    {"Qwen3.5-4B", kAll},
    {"google-gemma-4-31B-it", kAll},
    {"google-gemma-4-31B-it-interleaved", kAll},
    {"meta-llama-Llama-3.1-8B-Instruct", "tools calls obliged result"},
    {"meta-llama-Llama-3.2-3B-Instruct", "tools calls obliged result"},
    {"meta-llama-Llama-3.3-70B-Instruct", "tools calls obliged result"},
    {"Qwen-Qwen2.5-7B-Instruct", kCalls2},
    {"Qwen-QwQ-32B", kCalls2},
    {"Qwen-Qwen3-0.6B", kAll},
    {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "tools calls parallel obliged result"},
    {"google-gemma-2-2b-it", ""},
    {"Qwen3-Coder", kCalls2},
    {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", kAll},
    {"NVIDIA-Nemotron-Nano-v2", kCalls2},
    {"openai-gpt-oss-120b", "tools calls obliged thoughts result"},
    {"mistralai-Mistral-Nemo-Instruct-2407", kCalls2},
    {"Mistral-Small-3.2-24B-Instruct-2506", kCalls2},
    {"mistralai-Ministral-3-14B-Reasoning-2512", kCalls2},
    {"unsloth-mistral-Devstral-Small-2507", kCalls2},
    {"microsoft-Phi-3.5-mini-instruct", ""},
    {"deepseek-ai-DeepSeek-V3.1", "tools calls parallel obliged result"},
    {"deepseek-ai-DeepSeek-V3.2", kCalls2},
    {"deepseek-ai-DeepSeek-V4", kCalls2},
    {"GLM-4.6", kAll},
    {"GLM-4.7-Flash", kAll},
    {"Kimi-K2-Instruct", kCalls2},
    {"Kimi-K2-Thinking", kAll},
    {"Kimi-K3", kAll},
    {"MiniMax-M1", kCalls2},
    {"MiniMax-M2", kAll},
    {"MiniMax-M3", kAll},
    {"LFM2-8B-A1B", kCalls2, kKeywords},
    {"LFM2.5-Instruct", kAll, kKeywords},
    {"LFM2.5-8B-A1B", kAll},
    {"ibm-granite-granite-3.3-2B-Instruct",
     kAll,
     {R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "a < b", "days": 5}}])",
      R"(<|tool_call|>[{"name": "get_weather", "arguments": {"city": "a < b", "days": 5}}, {"name": "now",
      "arguments": {"zone": "12"}}])"}},
    {"ibm-granite-granite-4.0", kCalls2},
    {"meetkai-functionary-medium-v3.1", kCalls2},
    {"meetkai-functionary-medium-v3.2", kCalls2},
    {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", kAll},
    {"Cohere2MoE", kAll},
    {"HuggingFaceTB-SmolLM3-3B",
     kAll,
     {R"(<tool_call>
{"name": "get_weather", "arguments": {"city": "a < b", "days": 5}}
</tool_call>)",
      R"(<tool_call>{"name": "get_weather", "arguments": {"city": "a < b", "days": 5}}</tool_call>
<tool_call>{"name": "now", "arguments": {"zone": "12"}}</tool_call>)"}},
    {"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", kCalls2},
    {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", kCalls2},
    {"ByteDance-Seed-OSS", kAll},
    {"Apertus-8B-Instruct", kCalls2},
    {"tencent-Hy3", kAll},
};
INSTANTIATE_TEST_SUITE_P(Templates, PublishedTemplate, testing::ValuesIn(kRows),
                         [](const auto &info) {
                           std::string name(info.param.file);
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

} // namespace
} // namespace sinter::serve
