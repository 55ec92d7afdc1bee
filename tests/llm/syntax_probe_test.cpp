// What templates of published models' forms tell of their answers.
#include "llm/chat/syntax_probe.h"

#include "chat_families.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace sinter {
namespace {

const ChatVariables kTokens = {{"bos_token", jinja::Input("<s>", jinja::Origin::Template)},
                               {"eos_token", jinja::Input("</s>", jinja::Origin::Template)}};

AnswerSyntax syntaxOf(std::string_view source) {
  const auto chat = ChatTemplate::parse(source);
  EXPECT_TRUE(chat.has_value()) << (chat ? "" : chat.error().toString());
  return chat ? probeAnswerSyntax(*chat, kTokens) : AnswerSyntax();
}

std::string shapeOf(const AnswerSyntax &syntax) {
  constexpr const char *kShapes[] = {"none", "json", "named", "channels"};
  constexpr const char *kForms[] = {"", "-tags", "-braces", "-keywords", "-elements"};
  return std::string(kShapes[static_cast<size_t>(syntax.calls.shape)]) +
         kForms[static_cast<size_t>(syntax.calls.arguments)];
}

// One line that says all.
std::string described(const AnswerSyntax &syntax) {
  const CallSyntax &calls = syntax.calls;
  std::string text = "think{" + syntax.reasoning.open + "|" + syntax.reasoning.close + "} ";
  if (syntax.content.isMarked())
    text += "said{" + syntax.content.open + "|" + syntax.content.close + "|" +
            syntax.content.turnEnd + "} ";
  text += shapeOf(syntax);
  if (calls.parts.empty())
    return text;
  text += " begin{" + calls.begin + "} ";
  constexpr const char *kSlots[] = {"NAME", "ARGS", "ID", "NUMBER"};
  for (const CallPart &part : calls.parts)
    text += part.before + "@" + kSlots[static_cast<size_t>(part.slot)] + "@";
  text += calls.close + " sep{" + calls.separator + "} end{" + calls.end + "}";
  if (!calls.tags.keyOpen.empty())
    text +=
        " tags{" + calls.tags.keyOpen + "K" + calls.tags.textOpen + "T" + calls.tags.close + "}";
  if (calls.tags.tellTexts())
    text += " other{" + calls.tags.otherOpen + "}";
  if (calls.isList)
    text += " list";
  if (!calls.severalCalls)
    text += " one";
  if (calls.tags.nameTypes)
    text += " types";
  if (calls.promptOpens)
    text += " opens";
  if (calls.idHoldsName)
    text += " id-holds-name";
  if (calls.shortIds)
    text += " short-ids";
  if (syntax.argumentsAsText)
    text += " text-arguments";
  if (syntax.offersTools)
    text += " offers";
  std::string line;
  for (const char byte : text)
    line += byte == '\n' ? std::string("\\n") : std::string(1, byte);
  return line;
}

struct FamilyCase {
  const char *name, *expected;
};

class SyntaxProbeFamily : public testing::TestWithParam<FamilyCase> {};

TEST_P(SyntaxProbeFamily, IsLearnedFromItsTemplate) {
  EXPECT_EQ(described(syntaxOf(templateOf(GetParam().name))), GetParam().expected);
}

const FamilyCase kFamilies[] = {
    {"Hermes",
     R"(think{<think>|</think>} json begin{} <tool_call>\n{"name": "@NAME@", "arguments": )"
     R"(@ARGS@}\n</tool_call> sep{\n} end{} offers)"},
    {"QwenCoder",
     R"(think{<think>|</think>} named-tags begin{} )"
     R"(<tool_call>\n<function=@NAME@>\n@ARGS@</function>\n</tool_call> sep{\n} end{} )"
     R"(tags{<parameter=K>\nT\n</parameter>\n} offers)"},
    {"Glm",
     R"(think{<think>|</think>} named-tags begin{} <tool_call>@NAME@\n@ARGS@</tool_call> sep{} )"
     R"(end{} tags{<arg_key>K</arg_key>\n<arg_value>T</arg_value>\n} offers)"},
    {"MiniMax",
     R"(think{<think>|</think>} named-tags begin{<minimax:tool_call>\n} <invoke )"
     R"(name="@NAME@">\n@ARGS@</invoke>\n sep{} end{</minimax:tool_call>} tags{<parameter )"
     R"(name="K">T</parameter>\n} offers)"},
    {"Dsml",
     R"(think{|} named-tags begin{<｜DSML｜calls>\n} <｜DSML｜invoke )"
     R"(name="@NAME@">\n@ARGS@</｜DSML｜invoke>\n sep{} end{</｜DSML｜calls>} tags{<｜DSML｜parameter )"
     R"(name="K" string="true">T</｜DSML｜parameter>\n} other{" string="false">} offers)"},
    {"Llama",
     R"(think{|} json begin{} {"name": "@NAME@", "parameters": @ARGS@} sep{} end{} one offers)"},
    {"MistralList",
     R"(think{|} json begin{[TOOL_CALLS][} {"name": "@NAME@", "arguments": @ARGS@, "id": )"
     R"("@ID@"} sep{, } end{]} list short-ids offers)"},
    {"MistralNamed",
     R"(think{[THINK]|[/THINK]} named begin{} [TOOL_CALLS]@NAME@[CALL_ID]@ID@[ARGS]@ARGS@ sep{} )"
     R"(end{} short-ids offers)"},
    {"DeepSeek", R"(think{<think>|</think>} named begin{<｜tool▁calls▁begin｜>} )"
                 R"(<｜tool▁call▁begin｜>@NAME@<｜tool▁sep｜>@ARGS@<｜tool▁call▁end｜> sep{} )"
                 R"(end{<｜tool▁calls▁end｜>} offers)"},
    {"DeepSeekR1",
     R"(think{<think>|</think>} named begin{<｜tool▁calls▁begin｜>} )"
     R"(<｜tool▁call▁begin｜>function<｜tool▁sep｜>@NAME@\n```json\n@ARGS@\n```<｜tool▁call▁end｜> )"
     R"(sep{\n} end{<｜tool▁calls▁end｜>} offers)"},
    {"Kimi", R"(think{|} named begin{<|calls_begin|>} )"
             R"(<|call_begin|>@NAME@<|argument_begin|>@ARGS@<|call_end|> sep{} end{<|calls_end|>} )"
             R"(id-holds-name offers)"},
    {"Functionary",
     R"(think{|} named begin{} <function=@NAME@>@ARGS@</function> sep{} end{} offers)"},
    {"CommandR",
     R"(think{<|START_THINKING|>|<|END_THINKING|>} json begin{<|START_ACTION|>[} \n    )"
     R"({"tool_call_id": "@ID@", "tool_name": "@NAME@", "parameters": @ARGS@} sep{,} )"
     R"(end{]<|END_ACTION|>} list offers)"},
    {"Apertus", R"(think{|} named begin{<|tools_prefix|>[} {"@NAME@": @ARGS@} sep{, } )"
                R"(end{]<|tools_suffix|>} list offers)"},
    {"Gemma", R"(think{<|channel>thought|<channel|>} named-braces begin{} )"
              R"(<|tool_call>call:@NAME@@ARGS@<tool_call|> sep{} end{} offers)"},
    {"Granite",
     R"(think{|} json begin{<|tool_call|>[} {"name": "@NAME@", "arguments": @ARGS@} sep{, } )"
     R"(end{]} list offers)"},
    {"Phi",
     R"(think{|} json begin{<|tool_call|>[} {"name": "@NAME@", "arguments": @ARGS@} sep{, } )"
     R"(end{]<|/tool_call|>} list offers)"},
    {"SmolLm",
     R"(think{<think>|</think>} json begin{} <tool_call>\n{"name": "@NAME@", "arguments": )"
     R"(@ARGS@}\n</tool_call> sep{\n} end{} offers)"},
    {"Recipients", R"(think{|} said{>>>all\n||<|eot|>} named begin{} >>>@NAME@\n@ARGS@ sep{} )"
                   R"(end{} opens text-arguments offers)"},
    {"Kimi3",
     R"(think{<|open|>think<|sep|>|<|close|>think<|sep|>} said{<|open|>response<|sep|>|<|close|>)"
     R"(response<|sep|>|<|close|>message<|sep|>} named-tags begin{<|open|>tools<|sep|>} <|open|>call )"
     R"(tool="@NAME@" index="@NUMBER@"<|sep|>@ARGS@<|close|>call<|sep|> sep{} )"
     R"(end{<|close|>tools<|sep|>} tags{<|open|>argument key="K" )"
     R"(type="string"<|sep|>T<|close|>argument<|sep|>} other{" type="number"<|sep|>} types offers)"},
    {"Elements",
     R"(think{<mm:think>|</mm:think>} named-elements begin{]$[<tool_call>\n]$[} <invoke )"
     R"(name="@NAME@">@ARGS@]$[</invoke>\n]$[ sep{} end{</tool_call>} tags{]$[<K>T]$[</} offers)"},
    {"Keywords", R"(think{<think>|</think>} named-keywords begin{<|tool_call_start|>[} )"
                 R"(@NAME@@ARGS@ sep{, } end{]<|tool_call_end|>} list offers)"},
    {"KeywordsUnseen", R"(think{|} named-keywords begin{<|tool_call_start|>[} @NAME@@ARGS@ )"
                       R"(sep{, } end{]<|tool_call_end|>} list offers)"},
    {"Answers",
     R"(think{<|START_THINKING|>|<|END_THINKING|>} said{<|START_RESPONSE|>|<|END_RESPONSE|>|<|eot|>} )"
     R"(json begin{<|START_ACTION|>[} \n    {"tool_call_id": "@ID@", "tool_name": "@NAME@", )"
     R"("parameters": @ARGS@} sep{,} end{]<|END_ACTION|>} list offers)"},
    {"Channels", R"(think{|} channels)"},
    {"Plain", R"(think{|} none)"},
};
INSTANTIATE_TEST_SUITE_P(Families, SyntaxProbeFamily, testing::ValuesIn(kFamilies),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(SyntaxProbe, TellsWhetherToolsAndTheSystemAreRead) {
  const AnswerSyntax all = syntaxOf(templateOf("Plain"));
  EXPECT_TRUE(all.offersTools);
  EXPECT_TRUE(all.readsSystem);
  const AnswerSyntax none = syntaxOf(
      "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}");
  EXPECT_FALSE(none.offersTools);
  EXPECT_FALSE(none.readsSystem);
}

TEST(SyntaxProbe, ATemplateThatTakesArgumentsAsTextIsGivenText) {
  const AnswerSyntax syntax = syntaxOf(
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<call={{ "
      "c.function.name }}>{{ 'x' + c.function.arguments }}</call>{% endfor %}{% endfor %}");
  EXPECT_TRUE(syntax.argumentsAsText);
  EXPECT_EQ(syntax.calls.shape, CallShape::Named);
}

TEST(SyntaxProbe, CallsWhoseMarksDifferAreNotRead) {
  const AnswerSyntax syntax =
      syntaxOf("{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}<call={{ "
               "c.function.name }} {{ 'first' if loop.first else 'other' }}>{{ "
               "c.function.arguments | tojson }}</call>"
               "{% endfor %}{% endfor %}");
  EXPECT_EQ(syntax.calls.shape, CallShape::None);
}

TEST(SyntaxProbe, AHeadThatPromptsLackIsNoMarkOfContent) {
  const AnswerSyntax syntax = syntaxOf(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}!"
      "{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}>");
  EXPECT_FALSE(syntax.content.isMarked());
}

// Published templates, where a folder of them is named: "NAME.jinja" by the shape of their calls
// and the mark that ends thoughts.
TEST(SyntaxProbe, PublishedTemplatesAreRead) {
  struct Row {
    const char *file, *shape, *thoughtEnd;
  };
  constexpr Row kRows[] = {
      {"Qwen3.5-4B", "named-tags", "</think>"},
      {"google-gemma-4-31B-it", "named-braces", "<channel|>"},
      {"meta-llama-Llama-3.2-3B-Instruct", "json", ""},
      {"Qwen-Qwen2.5-7B-Instruct", "json", ""},
      {"Qwen-QwQ-32B", "json", "</think>"},
      {"Qwen-Qwen3-0.6B", "json", "</think>"},
      {"deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "named", "</think>"},
      {"google-gemma-2-2b-it", "none", ""},
      {"Qwen3-Coder", "named-tags", ""},
      {"NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "named-tags", "</think>"},
      {"openai-gpt-oss-120b", "channels", ""},
      {"mistralai-Mistral-Nemo-Instruct-2407", "json", ""},
      {"Mistral-Small-3.2-24B-Instruct-2506", "named", ""},
      {"mistralai-Ministral-3-14B-Reasoning-2512", "named", "[/THINK]"},
      {"microsoft-Phi-3.5-mini-instruct", "none", ""},
      {"deepseek-ai-DeepSeek-V3.1", "named", "</think>"},
      {"GLM-4.6", "named-tags", "</think>"},
      {"GLM-4.7-Flash", "named-tags", "</think>"},
      {"ibm-granite-granite-4.0", "json", ""},
      {"Kimi-K2-Instruct", "named", ""},
      {"MiniMax-M2", "named-tags", "</think>"},
      {"meetkai-functionary-medium-v3.1", "named", ""},
      {"meetkai-functionary-medium-v3.2", "named", ""},
      {"Kimi-K3", "named-tags", "<|close|>think<|sep|>"},
      {"MiniMax-M3", "named-elements", "</mm:think>"},
      {"LFM2-8B-A1B", "named-keywords", ""},
      {"LFM2.5-8B-A1B", "named-keywords", "</think>"},
      {"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "json", "<|END_THINKING|>"},
  };
  const char *folder = std::getenv("SINTER_CHAT_TEMPLATES");
  if (!folder)
    GTEST_SKIP() << "SINTER_CHAT_TEMPLATES names no folder of templates";
  for (const Row &row : kRows) {
    std::ifstream file(std::filesystem::path(folder) / (row.file + std::string(".jinja")));
    const AnswerSyntax syntax = syntaxOf(std::string((std::istreambuf_iterator<char>(file)), {}));
    EXPECT_EQ(shapeOf(syntax), row.shape) << row.file;
    EXPECT_EQ(syntax.reasoning.close, row.thoughtEnd) << row.file;
  }
}

} // namespace
} // namespace sinter
