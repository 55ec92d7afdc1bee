// Two spellings of the same objects: chat completions' and responses'.
#include "serve/api/tool_choice.h"

#include <algorithm>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr const char *kField = "tool_choice";
constexpr size_t kMostAllowed = 1024;

std::string nameOf(const RequestReader &function) {
  const auto within = function.object("function");
  return (within ? *within : function).requiredText("name");
}

ToolChoice allowedTools(const RequestReader &choice) {
  const auto within = choice.object("allowed_tools");
  const RequestReader &holder = within ? *within : choice;
  ToolChoice made;
  if (holder.choice("mode", {"auto", "required"}) == "required")
    made.wish = CallWish::Must;
  const Input::List *list = holder.list("tools", kMostAllowed);
  for (size_t i = 0; list && i < list->size(); ++i)
    made.names.push_back(nameOf(RequestReader(
        (*list)[i], holder.pathOf("tools") + "[" + std::to_string(i) + "]", choice.problem())));
  if (made.names.empty())
    holder.wrong("tools", "a list of at least one tool");
  return made;
}

ToolChoice choiceOf(const RequestReader &request, const Input &found) {
  if (found.text()) {
    const auto text = request.choice(kField, {"auto", "none", "required"});
    return {text == "required" ? CallWish::Must : text == "none" ? CallWish::None : CallWish::May};
  }
  const auto choice = found.object() ? request.object(kField) : std::nullopt;
  if (!choice) {
    request.wrong(kField, "'auto', 'none', 'required' or a function");
    return {};
  }
  const auto type = choice->choice("type", {"function", "allowed_tools"});
  if (type == "allowed_tools")
    return allowedTools(*choice);
  return {CallWish::Must, {nameOf(*choice)}};
}

bool hasTool(const Input::List &tools, const std::string &name) {
  return std::ranges::any_of(tools, [&](const Input &tool) {
    const Input *function = tool.find("function");
    const Input *found = function ? function->find("name") : nullptr;
    return found && found->text() && *found->text() == name;
  });
}

} // namespace

bool ToolChoice::allows(std::string_view name) const {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

ToolChoice readToolChoice(const RequestReader &request, const Input::List &tools) {
  const Input *found = request.find(kField);
  if (!found)
    return {};
  ToolChoice made = choiceOf(request, *found);
  const std::string path = request.pathOf(kField);
  for (const std::string &name : made.names)
    if (request.isFine() && !hasTool(tools, name))
      request.problem().note(
          Code::InvalidArgument,
          "'" + path + "' names the tool '" + name + "', which is not among 'tools'", path);
  if (made.wish == CallWish::Must && tools.empty() && request.isFine())
    request.problem().note(Code::InvalidArgument,
                           "'" + path + "' asks for a call, but there are no 'tools'", path);
  return made;
}

} // namespace sinter::serve
