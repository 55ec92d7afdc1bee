// sinter run: one answer, or a chat.
#include "cli/answer.h"
#include "cli/chat/chat.h"
#include "cli/chat/template_options.h"
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "host/stored_settings.h"

namespace sinter::cli {
namespace {

constexpr size_t kMostPromptBytes = size_t{64} << 20; // from standard input
constexpr uint64_t kAnswerTokens = 512;               // of one answer, unless -n says otherwise

Result<std::string> readPrompt(bool raw) {
  SINTER_ASSIGN(std::string prompt, readStdin(kMostPromptBytes));
  // The one that `echo` and editors put there.
  if (!raw && prompt.ends_with('\n'))
    prompt.pop_back();
  if (prompt.empty())
    return fail(Code::InvalidArgument, "the prompt on standard input is empty");
  return prompt;
}

// The prompt's tokens. What cannot be answered is refused here, before a plan is built.
Result<std::vector<TokenId>> encode(const ModelFile &file, const RunArguments &arguments,
                                    const ChatInputs &inputs, const StoredParts &stored,
                                    const std::string &prompt) {
  Result<std::vector<TokenId>> ids;
  if (arguments.raw) {
    ids = file.encodeRaw(prompt);
  } else {
    SINTER_TRY(checkCanChat(file, inputs));
    std::vector<ChatMessage> messages = stored.opening;
    messages.push_back({"user", prompt});
    if (!arguments.system.empty())
      messages.insert(messages.begin(), {"system", arguments.system});
    ids = file.encodeChat(messages, inputs);
  }
  SINTER_TRY(ids);
  SINTER_ASSIGN(const uint32_t context, file.contextTokens(arguments.model.context));
  SINTER_TRY(checkPrompt(*ids, context));
  return ids;
}

// What the options make of the settings that the file proposes, and the stored model over it.
tl::expected<SamplingChoice, Message>
chooseSampling(const ModelFile &file, const std::string &params, const RunArguments &arguments) {
  SamplingChoice sampling{samplerDefaultsOf(file.gguf()), {}};
  if (const auto applied = host::applyStoredSettings(params, sampling.defaults); !applied)
    return tl::unexpected(Message{kExitFailure, applied.error().message});
  for (const std::string &note : sampling.defaults.notes)
    sayOnStderr("'" + arguments.model.model + "': " + note);
  sampling.settings = sampling.defaults.settings;
  if (auto bad = readSampler(arguments.sampling, sampling.settings))
    return tl::unexpected(std::move(*bad));
  return sampling;
}

// What the stored model says where the command line says nothing. Its context gives way to what the
// model was made for.
Result<StoredParts> takeStored(const ModelFile &file, const host::ModelExtras &extras,
                               RunArguments &arguments) {
  SINTER_ASSIGN(host::StoredAnswers answers, host::storedAnswers(extras.params));
  for (const std::string &note : answers.notes)
    sayOnStderr("'" + arguments.model.model + "': " + note);
  if (arguments.model.context == 0 && file.contextTokens(answers.context))
    arguments.model.context = answers.context;
  if (!arguments.tokens)
    arguments.tokens = answers.tokens;
  if (arguments.system.empty() && !arguments.raw)
    arguments.system = extras.system;
  StoredParts made;
  SINTER_ASSIGN(made.stops, serve::StopTexts::create(std::move(answers.stops)));
  if (!arguments.raw) {
    SINTER_ASSIGN(made.opening, host::storedMessages(extras.messages));
  }
  return made;
}

Result<int> answerOnce(ModelFile file, const RunArguments &arguments, const ChatInputs &inputs,
                       const SamplerSettings &settings, StoredParts stored,
                       const std::string &prompt, Interrupts &interrupts) {
  SINTER_ASSIGN(const auto ids, encode(file, arguments, inputs, stored, prompt));
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(host::OpenedModel opened, openModel(std::move(file), arguments.model, observer));
  Model &model = *opened.model;
  Session session(model.runner(), model.pages(), model.tokenizer());
  SINTER_ASSIGN(Sampler sampler, makeSampler(arguments.sampling, settings, model.tokenizer()));
  const Interrupts::Guard guard(interrupts);
  const double start = secondsSinceProcessStart();
  SINTER_ASSIGN(const Answer answer,
                writeAnswer(session, model.tokenizer(), ids,
                            {.maxTokens = arguments.tokens.value_or(kAnswerTokens),
                             .cancel = &interrupts.flag(),
                             .sampler = &sampler},
                            std::move(stored.stops)));
  if (!answer.hasNoToken())
    SINTER_TRY(writeStdout("\n"));
  sayFigures(answer, sampler.settings(), start + answer.generation.prefillSeconds,
             opened.buildSeconds);
  return answer.generation.reason == StopReason::Cancelled ? kExitInterrupted : kExitOk;
}

} // namespace

Result<int> runCommand(const RunArguments &asked, Interrupts &interrupts) {
  RunArguments arguments = asked;
  if (stdinIsTerminal() && !arguments.prompt && arguments.raw) {
    sayOnStderr("--raw needs a prompt: give one with -p");
    return kExitUsage;
  }
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer));
  SINTER_ASSIGN(const host::ModelExtras extras, host::modelExtras(arguments.model.model));
  SINTER_ASSIGN(StoredParts stored, takeStored(file, extras, arguments));
  const auto sampling = chooseSampling(file, extras.params, arguments);
  if (!sampling) {
    sayOnStderr(sampling.error().text);
    return sampling.error().exitCode;
  }
  SINTER_TRY(file.givesLogits());
  SINTER_TRY(sampling->settings.checkVocabulary(file.tokenizer().size()));
  SINTER_TRY(useChatTemplate(file, arguments.chat));
  SINTER_ASSIGN(ChatInputs inputs, chatInputs(arguments.chat));
  if (!arguments.prompt && stdinIsTerminal()) {
    SINTER_TRY(checkCanChat(file, inputs));
    return chat(std::move(file), arguments, std::move(inputs), *sampling, std::move(stored),
                interrupts);
  }
  std::string prompt = arguments.prompt.value_or("");
  if (!arguments.prompt) {
    SINTER_ASSIGN(prompt, readPrompt(arguments.raw));
  }
  return answerOnce(std::move(file), arguments, inputs, sampling->settings, std::move(stored), prompt,
                    interrupts);
}

} // namespace sinter::cli
