// sinter run: one answer, or a chat.
#include "cli/answer.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace sinter::cli {
namespace {

constexpr size_t kMostPromptBytes = size_t{64} << 20; // from standard input

Result<std::string> readStdin() {
  std::string text;
  char bytes[65536];
  while (true) {
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail(Code::Internal, std::string("cannot read the prompt from standard input: ") +
                                      std::strerror(errno));
    if (count == 0)
      return text;
    text.append(bytes, static_cast<size_t>(count));
    if (text.size() > kMostPromptBytes)
      return fail(Code::InvalidArgument, "the prompt on standard input has more than " +
                                             std::to_string(kMostPromptBytes) + " bytes");
  }
}

Result<std::vector<TokenId>> encode(const ModelFile &file, const std::string &prompt, bool raw) {
  if (raw)
    return file.encodeRaw(prompt);
  auto ids = file.encodeChat(std::vector<ChatMessage>{{"user", prompt}});
  if (!ids)
    return fail(ids.error().code,
                ids.error().message + "; --raw gives the prompt to the model as it stands");
  return ids;
}

Result<int> answerOnce(ModelFile file, const RunArguments &arguments, const std::string &prompt,
                       Interrupts &interrupts) {
  SINTER_ASSIGN(const auto ids, encode(file, prompt, arguments.raw));
  SINTER_ASSIGN(OpenedModel opened, openModel(std::move(file), arguments.model, interrupts));
  Model &model = *opened.model;
  Session session(model.runner(), model.pages(), model.tokenizer());
  const Interrupts::Guard guard(interrupts);
  const double start = secondsSinceProcessStart();
  SINTER_ASSIGN(const Answer answer,
                writeAnswer(session, model.tokenizer(), ids,
                            {.maxTokens = arguments.tokens, .cancel = &interrupts.flag()}));
  SINTER_TRY(writeStdout("\n"));
  sayFigures(answer.generation, start + answer.generation.prefillSeconds, opened.buildSeconds);
  return answer.generation.reason == StopReason::Cancelled ? kExitInterrupted : kExitOk;
}

} // namespace

Result<int> runCommand(const RunArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(ModelFile file, openModelFile(arguments.model));
  if (arguments.prompt)
    return answerOnce(std::move(file), arguments, *arguments.prompt, interrupts);
  if (stdinIsTerminal() && arguments.raw)
    return fail(Code::InvalidArgument, "--raw needs a prompt: give one with -p");
  if (stdinIsTerminal())
    return chat(std::move(file), arguments, interrupts);
  SINTER_ASSIGN(const std::string prompt, readStdin());
  return answerOnce(std::move(file), arguments, prompt, interrupts);
}

} // namespace sinter::cli
