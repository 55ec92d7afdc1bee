// sinter chat-template: a conversation as the prompt that the model sees.
#include "cli/chat/template_options.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"

namespace sinter::cli {
namespace {

constexpr size_t kMostMessageBytes = size_t{64} << 20;

Result<jinja::Input> readMessages(const std::string &path) {
  if (!path.empty())
    return readJsonOf("--messages", path);
  SINTER_ASSIGN(const std::string text, readStdin(kMostMessageBytes));
  auto json = jinja::inputFromJson(text);
  if (!json)
    return fail(json.error().code, "standard input: " + json.error().message,
                json.error().byteOffset);
  return json;
}

} // namespace

Result<int> chatTemplateCommand(const ChatTemplateArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model, observer));
  SINTER_TRY(useChatTemplate(file, arguments.chat));
  SINTER_ASSIGN(const ChatInputs inputs, chatInputs(arguments.chat));
  SINTER_TRY(checkCanChat(file, inputs));
  SINTER_ASSIGN(jinja::Input json, readMessages(arguments.messages));
  SINTER_ASSIGN(const jinja::Input messages, messageList(std::move(json)));
  SINTER_ASSIGN(const auto parts, file.renderChat(messages, arguments.addGenerationPrompt, inputs));
  const std::string prompt = promptText(parts);
  SINTER_TRY(writeStdout(stdoutIsTerminal() ? withoutControls(prompt, "\n\t") : prompt));
  return kExitOk;
}

} // namespace sinter::cli
