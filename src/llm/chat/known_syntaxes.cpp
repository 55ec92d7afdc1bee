// Tables by what stands in a template.
#include "llm/chat/known_syntaxes.h"

#include <algorithm>

namespace sinter {
namespace {

bool has(std::string_view source, std::string_view text) {
  return text.empty() || source.find(text) != source.npos;
}

// Calls that are JSON objects.
struct JsonRow {
  std::string_view text, alsoText; // both are in the template
  const char *begin, *open, *close, *separator, *end;
  bool isList, severalCalls;
  const char *argumentsKey = "arguments";
};

constexpr JsonRow kJsonCalls[] = {
    // Hermes' form, which many templates ask for in words.
    {"<tool_call>", "", "", "<tool_call>\n", "\n</tool_call>", "\n", "", false, true},
    // SmolLM 3's, whose template may leave the tools out.
    {"Reasoning Mode: ", "/no_think", "", "<tool_call>\n", "\n</tool_call>", "\n", "", false, true},
    // Granite 3.
    {"<|tool_call|>", "", "<|tool_call|>[", "", "", ", ", "]", true, true},
    // Phi-4-mini.
    {"<|tool|>", "<|/tool|>", "<|tool_call|>[", "", "", ", ", "]<|/tool_call|>", true, true},
    // Mistral's third.
    {"[TOOL_CALLS]", "", "[TOOL_CALLS][", "", "", ", ", "]", true, true},
    // Llama 3.
    {"<|python_tag|>", "", "", "", "", "", "", false, false, "parameters"},
    {"\"parameters\": dictionary", "", "", "", "", "", "", false, false, "parameters"},
};

CallSyntax ofRow(const JsonRow &row) {
  CallSyntax syntax;
  syntax.shape = CallShape::Json;
  syntax.begin = row.begin;
  syntax.argumentsKey = row.argumentsKey;
  syntax.parts = {{row.open + std::string("{\"name\": \""), CallSlot::Name},
                  {std::string("\", \"") + row.argumentsKey + "\": ", CallSlot::Arguments}};
  syntax.close = std::string("}") + row.close;
  syntax.separator = row.separator;
  syntax.end = row.end;
  syntax.isList = row.isList;
  syntax.severalCalls = row.severalCalls;
  return syntax;
}

// DeepSeek R1's, whose arguments stand in a block of code.
CallSyntax deepSeekCalls() {
  CallSyntax syntax;
  syntax.shape = CallShape::Named;
  syntax.begin = "<｜tool▁calls▁begin｜>";
  syntax.parts = {{"<｜tool▁call▁begin｜>function<｜tool▁sep｜>", CallSlot::Name},
                  {"\n```json\n", CallSlot::Arguments}};
  syntax.close = "\n```<｜tool▁call▁end｜>";
  syntax.separator = "\n";
  syntax.end = "<｜tool▁calls▁end｜>";
  return syntax;
}

// LFM2's, whose calls are lists of Python's.
CallSyntax keywordCalls() {
  CallSyntax syntax;
  syntax.shape = CallShape::Named;
  syntax.arguments = ArgumentForm::Keywords;
  syntax.begin = "<|tool_call_start|>[";
  syntax.parts = {{"", CallSlot::Name}, {"", CallSlot::Arguments}};
  syntax.separator = ", ";
  syntax.end = "]<|tool_call_end|>";
  syntax.isList = true;
  return syntax;
}

struct ReasoningRow {
  const char *open, *close;
};
constexpr ReasoningRow kReasoning[] = {
    {"<think>", "</think>"},
    {"[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>"},
    {"<mm:think>", "</mm:think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>"},
    {"<|inner_prefix|>", "<|inner_suffix|>"},
};

} // namespace

std::optional<CallSyntax> knownCallSyntax(std::string_view source) {
  if (has(source, "<｜tool▁calls▁begin｜>"))
    return deepSeekCalls();
  if (has(source, "<|tool_list_start|>") || has(source, "List of tools: ["))
    return keywordCalls();
  const auto row = std::ranges::find_if(kJsonCalls, [&](const JsonRow &each) {
    return has(source, each.text) && has(source, each.alsoText);
  });
  return row == std::end(kJsonCalls) ? std::nullopt : std::optional(ofRow(*row));
}

ReasoningSyntax knownReasoning(std::string_view source) {
  for (const ReasoningRow &row : kReasoning)
    if (has(source, row.close))
      return {row.open, row.close};
  return {};
}

bool writesChannels(std::string_view source) {
  return has(source, "<|channel|>") && has(source, "<|message|>") && has(source, "<|start|>");
}

} // namespace sinter
