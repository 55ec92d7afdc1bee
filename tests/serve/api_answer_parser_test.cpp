// Answers taken apart: the same whatever pieces they come in, and never half a mark.
#include "serve/api/answer_parser.h"

#include "serve/answer_check.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace sinter::serve {
namespace {

struct Parsed {
  std::string content, reasoning, calls;
  bool operator==(const Parsed &) const = default;
};
std::ostream &operator<<(std::ostream &out, const Parsed &parsed) {
  return out << "content '" << parsed.content << "' reasoning '" << parsed.reasoning << "' calls "
             << parsed.calls;
}

std::shared_ptr<const AnswerSyntax> syntaxOf(std::string_view name) {
  for (const ChatFamily &family : kChatFamilies)
    if (family.name == name)
      return familySyntax(family);
  return nullptr;
}

AnswerStyle styleOf(std::string_view family) {
  const auto syntax = syntaxOf(family);
  return {.syntax = syntax,
          .startsInCall = syntax->calls.promptOpens,
          .readsCalls = true,
          .tools = someTools()};
}

Parsed parse(const AnswerStyle &style, const std::string &text,
             const std::function<size_t()> &pieceBytes) {
  const auto parser = makeAnswerParser(style);
  AnswerText all;
  for (size_t at = 0; at < text.size();) {
    const size_t size = std::min(pieceBytes(), text.size() - at);
    all.add(parser->push(text.substr(at, size)));
    at += size;
  }
  all.add(parser->finish());
  Parsed parsed{all.content, all.reasoning, ""};
  for (const ToolCall &call : all.toolCalls)
    parsed.calls += call.name + call.arguments + ";";
  return parsed;
}
Parsed parse(const AnswerStyle &style, const std::string &text) {
  return parse(style, text, [&] { return text.size(); });
}

struct Case {
  const char *name, *family, *text;
  Parsed expected;
  bool startsInReasoning = false;
};

const Case kCases[] = {
    {"Plain", "Plain", "a <think> b", {"a <think> b", "", ""}},
    {"Thinks", "Hermes", "<think>\nhm\n</think>\n\nyes \n", {"yes \n", "hm", ""}},
    {"NoThought", "Hermes", " a < b", {" a < b", "", ""}},
    {"Opened", "Hermes", "hm </thin </think> a", {"a", "hm </thin", ""}, true},
    {"OpenedAgain", "Hermes", "<think>\nhm</think>a", {"a", "hm", ""}, true},
    {"NeverClosed", "Hermes", "hm </thi", {"", "hm </thi", ""}, true},
    {"CloseAlone", "Hermes", "\n</think>\n\na </think> b", {"a </think> b", "", ""}},
    {"EmptyThought", "Hermes", "<think>\n\n</think>\n\na", {"a", "", ""}},
    {"ChannelThought", "Gemma", "<|channel>thought\nhm<channel|>a", {"a", "hm", ""}},
    {"Call",
     "Hermes",
     "ok\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1, \"<}\"]}}\n</tool_call>",
     {"ok", "", "f{\"x\": [1, \"<}\"]};"}},
    {"TwoCalls",
     "Hermes",
     "<think>a</think><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
     "<tool_call>{\"name\":\"g\"}</tool_call>",
     {"", "a", "f{};g{};"}},
    {"CallThenText",
     "Hermes",
     "<tool_call>{\"name\":\"f\"}</tool_call>\n\nmore",
     {"more", "", "f{};"}},
    {"ArgumentsFirst",
     "Hermes",
     "<tool_call>{\"arguments\": {\"x\": 1}, \"name\": \"f\", \"n\": [{}]}</tool_call>",
     {"", "", "f{\"x\": 1};"}},
    {"ArgumentsAsText",
     "Hermes",
     "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"x\\\": 1}\"}</tool_call>",
     {"", "", "f{\"x\": 1};"}},
    {"NoCall", "Hermes", "<tool_call>no</tool_call>b", {"<tool_call>no</tool_call>b", "", ""}},
    {"NoName", "Hermes", "a <tool_call>{\"x\": 1}b", {"a <tool_call>{\"x\": 1}b", "", ""}},
    {"CutCall", "Hermes", " <tool_call>{\"name\":", {" <tool_call>{\"name\":", "", ""}},
    {"CutMark", "Hermes", "a <tool_ca", {"a <tool_ca", "", ""}},
    {"CutArguments",
     "Hermes",
     "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1",
     {"", "", "f{\"x\": 1;"}},
    {"CutValue", "QwenCoder", "<tool_call><function=f><parameter=x>12", {"", "", "f{\"x\": 12;"}},
    {"CutWord", "Keywords", "<|tool_call_start|>[f(x=12", {"", "", "f{\"x\": 12;"}},
    {"UnclosedCall", "Hermes", "<tool_call>{\"name\":\"f\"}", {"", "", "f{};"}},
    {"Tags",
     "QwenCoder",
     "I look.\n\n<tool_call>\n<function=f>\n<parameter=s>\na \"b\"\n<c>\n</parameter>\n"
     "<parameter=x>\n5\n</parameter>\n<parameter=o>\n{\"a\": [1]}\n</parameter>\n</function>\n"
     "</tool_call>",
     {"I look.", "", "f{\"s\": \"a \\\"b\\\"\\n<c>\", \"x\": 5, \"o\": {\"a\": [1]}};"}},
    {"TagsWithoutTheFirst",
     "QwenCoder",
     "<function=f>\n<parameter=s>1</parameter></function>\n</tool_call>",
     {"", "", "f{\"s\": \"1\"};"}},
    {"TagsOfNoSchema",
     "QwenCoder",
     "<tool_call><function=g><parameter=a>1</parameter><parameter=b>one</parameter>"
     "<parameter=c>True</parameter></function></tool_call>",
     {"", "", "g{\"a\": 1, \"b\": \"one\", \"c\": true};"}},
    {"TagsOfTwoTypes",
     "QwenCoder",
     "<tool_call><function=f><parameter=m>1</parameter></function></tool_call>"
     "<tool_call><function=f><parameter=m>true</parameter></function></tool_call>",
     {"", "", "f{\"m\": 1};f{\"m\": \"true\"};"}},
    {"NoTags",
     "QwenCoder",
     "<tool_call>\nhm </tool_call>",
     {"<tool_call>\nhm </tool_call>", "", ""}},
    {"Glm",
     "Glm",
     "<think>a</think>\n<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x y</arg_value>\n"
     "</tool_call>\n<tool_call>g</tool_call>",
     {"", "a", "f{\"s\": \"x y\"};g{};"}},
    {"MiniMax",
     "MiniMax",
     "a</think>b<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"x\">1</parameter>\n"
     "</invoke>\n<invoke name=\"g\">\n</invoke>\n</minimax:tool_call>",
     {"b", "a", "f{\"x\": 1};g{};"},
     true},
    {"Dsml",
     "Dsml",
     "<｜DSML｜calls>\n<｜DSML｜invoke name=\"g\">\n<｜DSML｜parameter name=\"a\" string=\"true\">1"
     "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"b\" string=\"false\">1</｜DSML｜parameter>\n"
     "</｜DSML｜invoke>\n</｜DSML｜calls>",
     {"", "", "g{\"a\": \"1\", \"b\": 1};"}},
    {"Bare", "Llama", " {\"name\": \"f\", \"parameters\": {\"x\": 1}}", {"", "", "f{\"x\": 1};"}},
    {"Python", "Llama", "<|python_tag|>{\"name\": \"f\"}", {"", "", "f{};"}},
    {"BareTwo", "Llama", "{\"name\": \"f\"}; {\"name\": \"g\"}", {"", "", "f{};g{};"}},
    {"BareNoCall", "Llama", "{\"a\": 1}", {"{\"a\": 1}", "", ""}},
    {"LaterBrace", "Llama", "see {\"name\": \"f\"}", {"see {\"name\": \"f\"}", "", ""}},
    {"List",
     "MistralList",
     "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"x\": 1}, \"id\": \"123456789\"}, "
     "{\"name\": \"g\"}]",
     {"", "", "f{\"x\": 1};g{};"}},
    {"BrokenBehindArguments",
     "MistralList",
     "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"x\": 1}, \"id\": \"1\"! a",
     {"! a", "", "f{\"x\": 1};"}},
    {"Named",
     "MistralNamed",
     "a[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{\"x\": 1}[TOOL_CALLS]g[ARGS]{}",
     {"a", "", "f{\"x\": 1};g{};"}},
    {"NamedThinks", "MistralNamed", "[THINK]hm[/THINK]a", {"a", "hm", ""}},
    {"NamedNoCall", "MistralNamed", "[TOOL_CALLS]f[ARGS][", {"[TOOL_CALLS]f[ARGS][", "", ""}},
    {"DeepSeek",
     "DeepSeek",
     "a<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"x\": 1}<｜tool▁call▁end｜>"
     "<｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     {"a", "", "f{\"x\": 1};g{};"}},
    {"DeepSeekR1",
     "DeepSeekR1",
     "hm\n</think>\n\n<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n"
     "{\"x\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     {"", "hm", "f{\"x\": 1};"},
     true},
    {"Kimi",
     "Kimi",
     "<|calls_begin|><|call_begin|>functions.f:0<|argument_begin|>{\"x\": 1}<|call_end|>"
     "<|calls_end|>",
     {"", "", "f{\"x\": 1};"}},
    {"Functionary", "Functionary", "<function=f>{\"x\": 1}</function>", {"", "", "f{\"x\": 1};"}},
    {"CommandR",
     "CommandR",
     "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", "
     "\"tool_name\": \"f\", \"parameters\": {\"x\": 1}}\n]<|END_ACTION|>",
     {"", "hm", "f{\"x\": 1};"}},
    {"Apertus",
     "Apertus",
     "<|tools_prefix|>[{\"f\": {\"x\": 1}}, {\"g\": {}}]<|tools_suffix|>",
     {"", "", "f{\"x\": 1};g{};"}},
    {"Gemma",
     "Gemma",
     "<|tool_call>call:f{s:<|\"|>a, \"b\": {<|\"|>,x:1,o:{k:[<|\"|>v<|\"|>,true]}}<tool_call|>"
     "<|tool_call>call:g{}<tool_call|>",
     {"", "", "f{\"s\":\"a, \\\"b\\\": {\",\"x\":1,\"o\":{\"k\":[\"v\",true]}};g{};"}},
    {"RecipientAll", "Recipients", "all\nHello >>> you", {"Hello >>> you", "", ""}},
    {"RecipientText", "Recipients", "allow\nme", {"allow\nme", "", ""}},
    {"RecipientEnd", "Recipients", "all", {"all", "", ""}},
    {"RecipientCalls", "Recipients", "f\n{\"x\": 1}>>>g\n{}", {"", "", "f{\"x\": 1};g{};"}},
    {"RecipientAllThenCall", "Recipients", "all\nok>>>f\n{}", {"ok", "", "f{};"}},
    {"Kimi3",
     "Kimi3",
     "hm<|close|>think<|sep|><|open|>response<|sep|>On it.<|close|>response<|sep|>"
     "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|>"
     "<|open|>argument key=\"s\" type=\"string\"<|sep|>5<|close|>argument<|sep|>"
     "<|open|>argument key=\"x\" type=\"number\"<|sep|>5<|close|>argument<|sep|>"
     "<|open|>argument key=\"o\" type=\"object\"<|sep|>{\"a\": 1}<|close|>argument<|sep|>"
     "<|close|>call<|sep|><|open|>call tool=\"g\" index=\"2\"<|sep|><|close|>call<|sep|>"
     "<|close|>tools<|sep|><|close|>message<|sep|>",
     {"On it.", "hm", "f{\"s\": \"5\", \"x\": 5, \"o\": {\"a\": 1}};g{};"},
     true},
    {"Kimi3Prose",
     "Kimi3",
     "<|open|>response<|sep|>Use the response tag.<|close|>response<|sep|><|close|>message<|sep|>",
     {"Use the response tag.", "", ""},
     true},
    {"Kimi3NoThought", "Kimi3", "a <|open|>b", {"a <|open|>b", "", ""}},
    {"Elements",
     "Elements",
     "]$[<tool_call>\n]$[<invoke name=\"f\">]$[<s>a <b>]$[</s>]$[<o>]$[<a>]$[<item>1]$[</item>"
     "]$[<item>true]$[</item>]$[</a>]$[<o>q]$[</o>]$[</o>]$[</invoke>\n]$[<invoke name=\"g\">"
     "]$[</invoke>\n]$[</tool_call>",
     {"", "", "f{\"s\": \"a <b>\", \"o\": {\"a\": [1, true], \"o\": \"q\"}};g{};"}},
    {"Keywords",
     "Keywords",
     "<|tool_call_start|>[f(s='it\\'s', x=5, o={'a': [True, None, \"q\\\"\\n\\x41\"],}), g()]"
     "<|tool_call_end|> done",
     {"done", "",
      "f{\"s\": \"it's\", \"x\": 5, \"o\": {\"a\": [true, null, \"q\\\"\\n\\u0041\"]}};g{};"}},
    {"KeywordsUnseen",
     "KeywordsUnseen",
     "<|tool_call_start|>[g(a=1)]<|tool_call_end|>",
     {"", "", "g{\"a\": 1};"}},
    {"KeywordsNone",
     "Keywords",
     "<|tool_call_start|>[hm]<|tool_call_end|>b",
     {"<|tool_call_start|>[hm]<|tool_call_end|>b", "", ""}},
    {"Answers",
     "Answers",
     "<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>hi <b> [<|END_RESPONSE|>",
     {"hi <b> [", "plan", ""}},
    {"TagsOfPython",
     "QwenCoder",
     "<tool_call><function=f><parameter=o>{'a': [True, 'q']}</parameter></function></tool_call>",
     {"", "", "f{\"o\": {\"a\": [true, \"q\"]}};"}},
    {"Granite", "Granite", "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]", {"", "", "f{};"}},
    {"Phi",
     "Phi",
     "<|tool_call|>[{\"name\": \"f\", \"arguments\": {\"x\": 1}}]<|/tool_call|>",
     {"", "", "f{\"x\": 1};"}},
    {"Channels",
     "Channels",
     "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f "
     "<|constrain|>json<|message|>{\"x\": 1}",
     {"", "hm", "f{\"x\": 1};"}},
    {"ChannelsFinal",
     "Channels",
     "<|channel|>analysis<|message|>h < m<|end|><|start|>assistant<|channel|>final<|message|>a <|b",
     {"a <|b", "h < m", ""}},
    {"ChannelsNone", "Channels", "plain text", {"plain text", "", ""}},
};

class AnswerParserCase : public testing::TestWithParam<Case> {};

TEST_P(AnswerParserCase, GivesTheSameInPiecesOfAnySize) {
  const Case &test = GetParam();
  AnswerStyle style = styleOf(test.family);
  style.startsInReasoning = test.startsInReasoning;
  const std::string text = test.text;
  ASSERT_EQ(parse(style, text), test.expected) << "as a whole";
  for (const size_t size : {1, 2, 3, 7})
    ASSERT_EQ(parse(style, text, [&] { return size; }), test.expected) << size << " bytes a piece";
}
INSTANTIATE_TEST_SUITE_P(Answers, AnswerParserCase, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

// Marks of all families and pieces of JSON.
constexpr const char *kBits[] = {"<think>",
                                 "</think>",
                                 "<tool_call>",
                                 "</tool_call>",
                                 "<function=f>",
                                 "<parameter=s>",
                                 "\n",
                                 "</parameter>",
                                 "</function>",
                                 "{\"name\": \"f\"",
                                 ", \"arguments\": {",
                                 "\"x\": 1",
                                 "}",
                                 "[",
                                 "]",
                                 " ",
                                 "<",
                                 "a",
                                 "\"",
                                 "\\",
                                 ",",
                                 "[TOOL_CALLS]",
                                 "f[ARGS]",
                                 "[CALL_ID]",
                                 "<arg_key>",
                                 "</arg_key>",
                                 "<arg_value>",
                                 "</arg_value>",
                                 "f\n",
                                 "<|tool_call>call:f{",
                                 "<|\"|>",
                                 "k:",
                                 "<tool_call|>",
                                 "<|channel|>",
                                 "analysis",
                                 "<|message|>",
                                 "<|end|>",
                                 "<|start|>",
                                 "assistant",
                                 "to=functions.f",
                                 "<|call_begin|>",
                                 "functions.f:0",
                                 "<|argument_begin|>",
                                 "{",
                                 ">>>",
                                 "all\n",
                                 "<|open|>",
                                 "response<|sep|>",
                                 "<|close|>",
                                 "think<|sep|>",
                                 "tools<|sep|>",
                                 "call tool=\"f\" index=\"1\"<|sep|>",
                                 "argument key=\"s\" type=\"string\"<|sep|>",
                                 "argument<|sep|>",
                                 "]$[",
                                 "<invoke name=\"f\">",
                                 "<s>",
                                 "</s>",
                                 "</invoke>\n",
                                 "<|tool_call_start|>[",
                                 "f(x='",
                                 "')",
                                 "<|tool_call_end|>",
                                 "<|START_RESPONSE|>",
                                 "<|END_RESPONSE|>",
                                 "é",
                                 ":"};

// These in any order.
std::string hostileText(std::mt19937 &random) {
  std::string text;
  for (size_t i = random() % 24; i > 0; --i)
    text += kBits[random() % std::size(kBits)];
  return text;
}

TEST(AnswerParser, PiecesOfAnyTextGiveWhatTheWholeGives) {
  std::mt19937 random(17);
  for (int round = 0; round < 150; ++round)
    for (const ChatFamily &family : kChatFamilies) {
      AnswerStyle style = styleOf(family.name);
      style.startsInReasoning = random() % 4 == 0 && !style.syntax->reasoning.close.empty();
      style.wholeCalls = random() % 2 == 0;
      style.oneCall = random() % 4 == 0;
      const std::string text = hostileText(random);
      const Parsed whole = parse(style, text);
      ASSERT_EQ(parse(style, text, [&] { return 1 + random() % 5; }), whole)
          << family.name << ": " << text;
    }
}

// Words that no mark has, anywhere among marks; but heads of channels say only where text goes.
TEST(AnswerParser, NoWordIsLost) {
  std::mt19937 random(23);
  for (int round = 0; round < 60; ++round)
    for (const ChatFamily &family : kChatFamilies) {
      AnswerStyle style = styleOf(family.name);
      if (style.syntax->usesChannels())
        continue;
      style.startsInReasoning = random() % 4 == 0 && !style.syntax->reasoning.close.empty();
      style.wholeCalls = random() % 2 == 0;
      std::string text;
      const size_t words = 1 + random() % 4;
      for (size_t i = 0; i < words; ++i)
        text += hostileText(random) + "word" + std::to_string(i) + "!";
      const Parsed parsed = parse(style, text + hostileText(random));
      for (size_t i = 0; i < words; ++i)
        EXPECT_THAT(parsed.content + parsed.reasoning + parsed.calls,
                    testing::HasSubstr("word" + std::to_string(i)))
            << family.name << ": " << text << "\n"
            << parsed;
    }
}

TEST(AnswerParser, TheCorpusOfItsFuzzerIsReadAlikeInPieces) {
  size_t files = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(SINTER_TEST_DIR "/fuzz/corpus/answer")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(answerInconsistencyOf(bytes), "") << entry.path().filename();
    ++files;
  }
  EXPECT_GE(files, 10u);
}

TEST(AnswerParser, SaysWhatIsNoMarkAtOnce) {
  const auto parser = makeAnswerParser(styleOf("Hermes"));
  EXPECT_EQ(parser->push("a").content, "a");
  EXPECT_EQ(parser->push(" <").content, "");
  EXPECT_EQ(parser->push("b").content, " <b");
}

TEST(AnswerParser, ACallsNameComesBeforeItsArguments) {
  const auto parser = makeAnswerParser(styleOf("Hermes"));
  EXPECT_TRUE(parser->push("<tool_call>{\"name\": \"f\", \"arguments\": ").empty());
  const AnswerDelta first = parser->push("{\"x\": ");
  ASSERT_EQ(first.calls.size(), 1u);
  EXPECT_EQ(first.calls[0].call.name, "f");
  EXPECT_THAT(first.calls[0].call.id, testing::StartsWith("call_"));
  EXPECT_EQ(first.calls[0].call.arguments, "{\"x\": ");
  const AnswerDelta second = parser->push("1}}</tool_call>");
  ASSERT_EQ(second.calls.size(), 1u);
  EXPECT_EQ(second.calls[0].call.name, "");
  EXPECT_EQ(second.calls[0].call.arguments, "1}");
}

TEST(AnswerParser, TextsBetweenTagsComeAsTheyAreWritten) {
  const auto parser = makeAnswerParser(styleOf("QwenCoder"));
  parser->push("<tool_call><function=f><parameter=s>\n");
  EXPECT_EQ(parser->push("one\ntwo\n").calls.at(0).call.arguments, "one\\ntwo");
  EXPECT_EQ(parser->push("</parameter>").calls.at(0).call.arguments, "\"");
}

TEST(AnswerParser, AWholeCallThatIsNoJsonIsContent) {
  AnswerStyle style = styleOf("Hermes");
  style.wholeCalls = true;
  const std::string broken = "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": }}</tool_call>";
  EXPECT_EQ(parse(style, broken), (Parsed{broken, "", ""}));
  const std::string cut = "a <tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1";
  EXPECT_EQ(parse(style, cut), (Parsed{cut, "", ""}));
}

TEST(AnswerParser, OneCallAloneIsGivenWhereOnlyOneIsWanted) {
  AnswerStyle style = styleOf("MistralList");
  style.oneCall = true;
  EXPECT_EQ(parse(style, "[TOOL_CALLS][{\"name\": \"f\"}, {\"name\": \"g\"}]").calls, "f{};");
}

TEST(AnswerParser, CallsAreContentWhereNoToolsWereOffered) {
  AnswerStyle style = styleOf("Hermes");
  style.readsCalls = false;
  const std::string text = "<tool_call>{\"name\": \"f\"}</tool_call>";
  EXPECT_EQ(parse(style, text), (Parsed{text, "", ""}));
}

TEST(AnswerParser, IdsAreThoseThatTheTemplateTakes) {
  const auto idOf = [](const char *family, const char *text) {
    return makeAnswerParser(styleOf(family))->push(text).calls.at(0).call.id;
  };
  EXPECT_EQ(idOf("MistralList", "[TOOL_CALLS][{\"name\": \"f\"}]").size(), 9u);
  EXPECT_EQ(idOf("MistralNamed", "[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{}"), "abcdefghi");
  EXPECT_EQ(idOf("Kimi", "<|calls_begin|><|call_begin|>functions.f:3<|argument_begin|>{}"),
            "functions.f:3");
}

} // namespace
} // namespace sinter::serve
