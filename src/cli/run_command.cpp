// sinter run: one answer, or a chat.
#include "cli/answer.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"

namespace sinter::cli {
namespace {

constexpr size_t kMostPromptBytes = size_t{64} << 20; // from standard input

Result<std::string> readPrompt(bool raw) {
  SINTER_ASSIGN(std::string prompt, readStdin(kMostPromptBytes));
  // The one that `echo` and editors put there.
  if (!raw && prompt.ends_with('\n'))
    prompt.pop_back();
  if (prompt.empty())
    return fail(Code::InvalidArgument, "the prompt on standard input is empty");
  return prompt;
}

Result<std::vector<TokenId>> encode(const ModelFile &file, const std::string &prompt, bool raw) {
  if (raw)
    return file.encodeRaw(prompt);
  if (const auto can = file.canChat(); !can)
    return fail(can.error().code,
                can.error().message + "; --raw gives the prompt to the model as it stands");
  return file.encodeChat(std::vector<ChatMessage>{{"user", prompt}});
}

Result<int> answerOnce(ModelFile file, const RunArguments &arguments, const std::string &prompt,
                       Interrupts &interrupts) {
  SINTER_ASSIGN(const auto ids, encode(file, prompt, arguments.raw));
  SINTER_ASSIGN(OpenedModel opened, openModel(std::move(file), arguments.model, interrupts));
  Model &model = *opened.model;
  Session session(model.runner(), model.pages(), model.tokenizer());
  SINTER_ASSIGN(Sampler sampler, makeSampler(arguments, model.tokenizer()));
  const Interrupts::Guard guard(interrupts);
  const double start = secondsSinceProcessStart();
  SINTER_ASSIGN(const Answer answer, writeAnswer(session, model.tokenizer(), ids,
                                                 {.maxTokens = arguments.tokens,
                                                  .cancel = &interrupts.flag(),
                                                  .sampler = &sampler}));
  SINTER_TRY(writeStdout("\n"));
  sayFigures(answer.generation, sampler.settings(), start + answer.generation.prefillSeconds,
             opened.buildSeconds);
  return answer.generation.reason == StopReason::Cancelled ? kExitInterrupted : kExitOk;
}

} // namespace

Result<int> runCommand(const RunArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(ModelFile file, openModelFile(arguments.model.model));
  SINTER_TRY(arguments.sampler.checkVocabulary(file.tokenizer().size()));
  if (arguments.prompt)
    return answerOnce(std::move(file), arguments, *arguments.prompt, interrupts);
  if (stdinIsTerminal() && arguments.raw) {
    sayOnStderr("--raw needs a prompt: give one with -p");
    return kExitUsage;
  }
  if (stdinIsTerminal())
    return chat(std::move(file), arguments, interrupts);
  SINTER_ASSIGN(const std::string prompt, readPrompt(arguments.raw));
  return answerOnce(std::move(file), arguments, prompt, interrupts);
}

} // namespace sinter::cli
