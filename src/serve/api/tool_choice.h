// "tool_choice": whether tools may, must or must not be called, and which.
#pragma once

#include "llm/chat/answer_grammar.h"
#include "serve/api/request_reader.h"

#include <vector>

namespace sinter::serve {

struct ToolChoice {
  CallWish wish = CallWish::May;
  std::vector<std::string> names = {}; // of the tools that may be called; empty: all

  bool allows(std::string_view name) const;
};

// "auto", "none", "required"; a function, as {"type": "function", "function": {"name"}} or
// {"type": "function", "name"}; or {"type": "allowed_tools", "mode", "tools"}, these within
// "allowed_tools" or beside the type. Notes a problem where the list has no tool that is named, or
// a call must be made and there are no tools.
ToolChoice readToolChoice(const RequestReader &request, const jinja::Input::List &tools);

} // namespace sinter::serve
