// Ollama's chat templates, which are Go's text/template, by what they write.
#pragma once

#include <optional>
#include <string_view>

namespace sinter::host {

// The source of the Jinja template that writes the same chats; nothing where the text is not one of
// those that Ollama gives to models of known families. Go templates are told from one another by
// their text without white space; none is run.
std::optional<std::string_view> builtinForGoTemplate(std::string_view goTemplate);

} // namespace sinter::host
