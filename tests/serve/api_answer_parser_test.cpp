// Answers taken apart: the same whatever pieces they come in, and never half a tag.
#include "serve/api/answer_parser.h"

#include <gtest/gtest.h>

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

// In pieces of so many bytes.
Parsed parse(const AnswerStyle &style, const std::string &text, size_t pieceBytes) {
  const auto parser = makeAnswerParser(style);
  Parsed all;
  const auto add = [&](const AnswerDelta &delta) {
    all.content += delta.content;
    all.reasoning += delta.reasoning;
    for (const ToolCall &call : delta.toolCalls)
      all.calls += call.name + call.arguments + ";";
  };
  for (size_t at = 0; at < text.size(); at += pieceBytes)
    add(parser->push(text.substr(at, pieceBytes)));
  add(parser->finish());
  return all;
}

struct Case {
  const char *name;
  AnswerStyle style;
  const char *text;
  Parsed expected;
};
constexpr AnswerStyle kThinks = {.separatesReasoning = true};
constexpr AnswerStyle kOpened = {.separatesReasoning = true, .startsInReasoning = true};
constexpr AnswerStyle kTagged = {.separatesReasoning = true, .toolCalls = ToolCallStyle::Tagged};
constexpr AnswerStyle kBare = {.toolCalls = ToolCallStyle::Bare};
constexpr AnswerStyle kBracket = {.toolCalls = ToolCallStyle::Bracket};

const Case kCases[] = {
    {"Plain", {}, "a <think> b", {"a <think> b", "", ""}},
    {"Thinks", kThinks, "<think>\nhm\n</think>\n\nyes \n", {"yes \n", "hm", ""}},
    {"NoThought", kThinks, " a < b", {" a < b", "", ""}},
    {"Opened", kOpened, "hm </thin </think> a", {"a", "hm </thin", ""}},
    {"NeverClosed", kOpened, "hm </thi", {"", "hm </thi", ""}},
    {"EmptyThought", kThinks, "<think>\n\n</think>\n\na", {"a", "", ""}},
    {"Call",
     kTagged,
     "ok\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1, \"<\"]}}\n</tool_call>",
     {"ok", "", "f{\"x\":[1,\"<\"]};"}},
    {"TwoCalls",
     kTagged,
     "<think>a</think><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
     "<tool_call>{\"name\":\"g\"}</tool_call>",
     {"", "a", "f{};g{};"}},
    {"NoCall", kTagged, "<tool_call>no</tool_call>b", {"<tool_call>no</tool_call>b", "", ""}},
    {"CutCall", kTagged, "<tool_call>{\"name\":", {"<tool_call>{\"name\":", "", ""}},
    {"UnclosedCall", kTagged, "<tool_call>{\"name\":\"f\"}", {"", "", "f{};"}},
    {"Bare", kBare, " {\"name\": \"f\", \"parameters\": {\"x\": 1}}", {"", "", "f{\"x\":1};"}},
    {"Python", kBare, "<|python_tag|>{\"name\": \"f\"}", {"", "", "f{};"}},
    {"BareNoCall", kBare, "{\"a\": 1}", {"{\"a\": 1}", "", ""}},
    {"LaterBrace", kBare, "see {\"name\": \"f\"}", {"see {\"name\": \"f\"}", "", ""}},
    {"Bracket",
     kBracket,
     "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"x\": 1}}, {\"name\": \"g\"}]",
     {"", "", "f{\"x\":1};g{};"}},
    {"BracketArguments",
     kBracket,
     "a[TOOL_CALLS]f[ARGS]{\"x\": 1}[TOOL_CALLS]g[ARGS]{}",
     {"a", "", "f{\"x\": 1};g{};"}},
    {"BracketNoCall", kBracket, "[TOOL_CALLS]f[ARGS]{", {"[TOOL_CALLS]f[ARGS]{", "", ""}},
};

class AnswerParserCase : public testing::TestWithParam<Case> {};

TEST_P(AnswerParserCase, GivesTheSameInPiecesOfAnySize) {
  const Case &test = GetParam();
  const std::string text = test.text;
  for (size_t size = 1; size <= text.size(); ++size)
    ASSERT_EQ(parse(test.style, text, size), test.expected) << size << " bytes a piece";
}
INSTANTIATE_TEST_SUITE_P(Answers, AnswerParserCase, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(AnswerParser, SaysWhatIsNoTagAtOnce) {
  const auto parser = makeAnswerParser(kTagged);
  EXPECT_EQ(parser->push("a").content, "a");
  EXPECT_EQ(parser->push(" <").content, "");
  EXPECT_EQ(parser->push("b").content, " <b");
}

TEST(AnswerParser, OneCallAloneIsGivenWhereOnlyOneIsWanted) {
  const Parsed parsed = parse({.toolCalls = ToolCallStyle::Bracket, .oneCall = true},
                              "[TOOL_CALLS][{\"name\": \"f\"}, {\"name\": \"g\"}]", 7);
  EXPECT_EQ(parsed.calls, "f{};");
}

TEST(AnswerStyle, IsReadFromTheTemplate) {
  EXPECT_FALSE(answerStyleOf("plain", ">", true).separatesReasoning);
  EXPECT_TRUE(answerStyleOf("x.split('</think>')", ">", false).separatesReasoning);
  EXPECT_FALSE(answerStyleOf("x.split('</think>')", ">", false).startsInReasoning);
  EXPECT_TRUE(answerStyleOf("", "<think>\n", false).startsInReasoning);
  EXPECT_EQ(answerStyleOf("<tool_call>", "", false).toolCalls, ToolCallStyle::None);
  EXPECT_EQ(answerStyleOf("<tool_call>", "", true).toolCalls, ToolCallStyle::Tagged);
  EXPECT_EQ(answerStyleOf("[TOOL_CALLS]", "", true).toolCalls, ToolCallStyle::Bracket);
  EXPECT_EQ(answerStyleOf("<|python_tag|>", "", true).toolCalls, ToolCallStyle::Bare);
}

} // namespace
} // namespace sinter::serve
