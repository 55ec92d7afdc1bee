// The options around chat templates, and the files that they name.
#pragma once

#include "cli/arguments.h"
#include "llm/model.h"

namespace sinter::cli {

// The text of a file that an option names. Errors name the option and the file.
Result<std::string> readFileOf(const std::string &option, const std::string &path);
// The same as JSON.
Result<jinja::Input> readJsonOf(const std::string &option, const std::string &path);

// What the options give to the template. The time is that of the call, so that all turns of a chat
// have the same. InvalidArgument, with the option: a text that is no JSON, tools that are no list.
Result<ChatInputs> chatInputs(const ChatArguments &arguments);

// Puts the template of --chat-template in place of the file's: one of the file's own names, a
// built-in name, else a file. NotFound, with the names, where it is none of these; errors of
// ChatTemplate::parse.
Result<void> useChatTemplate(ModelFile &file, const ChatArguments &arguments);

// Whether a chat with these inputs can begin; the error says what to do instead.
Result<void> checkCanChat(const ModelFile &file, const ChatInputs &inputs);

} // namespace sinter::cli
