// The example of a call is its marks in order.
#include "llm/chat/tool_prompt.h"

#include "grammar/json_text.h"

namespace sinter {
namespace {

std::string exampleArguments(const CallSyntax &syntax) {
  const ArgumentTags &tags = syntax.tags;
  switch (syntax.arguments) {
  case ArgumentForm::Tags:
    return tags.keyOpen + "KEY" + tags.textOpen + "VALUE" + tags.close;
  case ArgumentForm::Elements:
    return tags.keyOpen + "KEY" + tags.textOpen + "VALUE" + tags.close + "KEY" + tags.textOpen;
  case ArgumentForm::Braces:
    return std::string("{KEY:") + kBraceQuote + "VALUE" + kBraceQuote + "}";
  case ArgumentForm::Keywords:
    return "(KEY='VALUE')";
  case ArgumentForm::Json:
    break;
  }
  return "{\"KEY\": \"VALUE\"}";
}

std::string exampleOf(const CallSyntax &syntax) {
  std::string text = syntax.begin;
  for (const CallPart &part : syntax.parts) {
    text += part.before;
    if (part.slot == CallSlot::Name)
      text += syntax.idHoldsName ? "functions.NAME:0" : "NAME";
    else
      text += part.slot == CallSlot::Arguments ? exampleArguments(syntax) : "1";
  }
  return text + syntax.close + syntax.end;
}

} // namespace

bool takesTools(const AnswerSyntax &syntax) {
  const CallShape shape = syntax.calls.shape;
  return syntax.offersTools ||
         (syntax.readsSystem && (shape == CallShape::Json || shape == CallShape::Named));
}

std::string toolPrompt(const CallSyntax &syntax, const jinja::Input &tools) {
  std::string text = "# Tools\n\nYou may call these functions, each described by a line of JSON:\n";
  for (size_t i = 0; tools.list() && i < tools.list()->size(); ++i) {
    const jinja::Input &tool = (*tools.list())[i];
    const jinja::Input *function = tool.find("function");
    text += grammar::jsonLiteral(function ? *function : tool) + "\n";
  }
  return text + "\nTo call one, write its name and its arguments in this form:\n" +
         exampleOf(syntax) + "\n";
}

} // namespace sinter
