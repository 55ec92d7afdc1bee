// Reads lines, answers them, and keeps the conversation.
#include "cli/chat/chat.h"

#include "base/nearest.h"
#include "cli/answer.h"
#include "cli/chat/history.h"
#include "cli/chat/line_editor.h"
#include "cli/chat/settings.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "llm/chat/conversation.h"

#include <cstdio>

namespace sinter::cli {
namespace {

constexpr const char *kHelp = R"(/clear            start a new conversation
/set              list the settings
/set NAME VALUE   change one: /set temperature 0.5, /set system Be brief.
/set NAME         give it its default again
/help             show this
/quit             leave, as does Ctrl-D
Ctrl-C stops an answer; what was said until then stays in the conversation, a message without any
answer does not.
A message may begin with / after a space; a line that ends in \ goes on in the next one.
The arrow keys recall earlier lines. When the context is full the oldest messages are dropped.
)";
constexpr std::string_view kSpaces = " \t\n\r\f\v";
constexpr std::string_view kSet = "/set";
const std::vector<std::string> kCommands = {"/clear", "/set", "/help", "/quit", "/exit"};

void say(const std::string &text) {
  std::fputs(withoutControls(text, "\n").c_str(), stderr);
}

// The user's lines of earlier chats, as long as they can be kept.
class KeptLines {
public:
  explicit KeptLines(LineEditor &editor) {
    if (const auto read = recall(editor); !read)
      giveUp(read.error());
  }
  void add(const std::string &text) {
    if (!history_ || text == last_)
      return;
    last_ = text;
    if (const auto kept = history_->append(text); !kept)
      giveUp(kept.error());
  }

private:
  Result<void> recall(LineEditor &editor) {
    SINTER_ASSIGN(ChatHistory history, ChatHistory::open());
    SINTER_ASSIGN(const std::vector<std::string> entries, history.read());
    for (const std::string &entry : entries)
      editor.remember(entry);
    last_ = entries.empty() ? "" : entries.back();
    history_ = std::move(history);
    return {};
  }
  void giveUp(const Status &error) {
    sayOnStderr("lines of this chat are not kept: " + error.toString());
    history_ = std::nullopt;
  }

  std::optional<ChatHistory> history_;
  std::string last_;
};

// Whether there is room for any message after this system message.
Result<void> checkHoldsAMessage(const ModelFile &file, const ChatInputs &inputs,
                                const std::string &system,
                                const std::vector<ChatMessage> &opening, uint32_t context) {
  std::vector<ChatMessage> messages = opening;
  messages.push_back({"user", "?"});
  if (!system.empty())
    messages.insert(messages.begin(), {"system", system});
  SINTER_ASSIGN(const std::vector<TokenId> ids, file.encodeChat(messages, inputs));
  if (ids.size() <= context)
    return {};
  return fail(Code::InvalidArgument, "a message of one character has " +
                                         std::to_string(ids.size()) + " tokens with its template" +
                                         (system.empty() ? "" : " and the system message") +
                                         (opening.empty() ? "" : " and the stored messages") +
                                         ", the context holds " + std::to_string(context));
}

class Chat {
public:
  Chat(host::OpenedModel opened, Sampler sampler, const RunArguments &arguments, ChatInputs inputs,
       SamplingChoice sampling, StoredParts stored, Interrupts &interrupts)
      : opened_(std::move(opened)), sampler_(std::move(sampler)), arguments_(arguments),
        inputs_(std::move(inputs)), stored_(std::move(stored)), interrupts_(interrupts),
        session_(opened_.model->runner(), opened_.model->pages(), opened_.model->tokenizer(),
                 {.prefixCache = true}),
        settings_(arguments.system, arguments.sampling, std::move(sampling.defaults),
                  std::move(sampling.settings)) {
    conversation_.setSystem(arguments.system);
    conversation_.setOpening(stored_.opening);
  }

  Result<int> run() {
    greet();
    while (auto line = readMessage()) {
      if (line->find_first_not_of(kSpaces) == std::string::npos)
        continue;
      editor_.remember(*line);
      kept_.add(*line);
      if (line->front() != '/') {
        SINTER_TRY(answer(*line));
        continue;
      }
      const std::string command = line->substr(0, line->find_last_not_of(kSpaces) + 1);
      if (command == "/quit" || command == "/exit")
        return kExitOk;
      obey(command);
    }
    std::fputs("\n", stderr);
    return kExitOk;
  }

private:
  uint64_t mostTokens() const { return arguments_.tokens.value_or(UINT64_MAX); } // of an answer
  uint32_t context() const { return opened_.model->runner().limits().contextTokens; }

  void greet() {
    say(arguments_.model.model + ", context " + std::to_string(context()) +
        " tokens; /help lists the commands\n");
  }

  // Lines joined while they end in a backslash; Ctrl-C drops all of them.
  std::optional<std::string> readMessage() {
    std::string message;
    for (const char *prompt = "> ";; prompt = ". ") {
      const Interrupts::Guard guard(interrupts_);
      auto line = editor_.readLine(prompt);
      interrupts_.clear();
      if (!line)
        return std::nullopt;
      if (editor_.wasCleared())
        return "";
      if (!line->ends_with('\\'))
        return message + *line;
      message += line->substr(0, line->size() - 1) + "\n";
    }
  }

  void obey(const std::string &command) {
    if (command == "/clear") {
      conversation_.clear();
      session_.clear();
      say("a new conversation\n");
    } else if (command == "/help") {
      say(kHelp);
    } else if (command == kSet) {
      say(settings_.list());
    } else if (command.starts_with(kSet) && kSpaces.find(command[kSet.size()]) != kSpaces.npos) {
      set(std::string_view(command).substr(kSet.size()));
    } else {
      say("no command '" + command + "'" + nearestHint(command, kCommands) +
          "; /help lists them\n");
    }
  }

  void set(std::string_view words) {
    ChatSettings changed = settings_;
    if (const auto bad = changed.set(words))
      return sayOnStderr(*bad);
    if (const auto fits =
            checkHoldsAMessage(opened_.model->file(), inputs_, changed.systemMessage(),
                               stored_.opening, context());
        !fits)
      return sayOnStderr(fits.error().toString());
    if (changed.systemMessage() != settings_.systemMessage()) {
      settings_ = std::move(changed);
      return conversation_.setSystem(settings_.systemMessage());
    }
    auto sampler = makeSampler(changed.sampling(), changed.sampler(), opened_.model->tokenizer());
    if (!sampler)
      return sayOnStderr(sampler.error().toString());
    settings_ = std::move(changed);
    sampler_ = std::move(*sampler);
  }

  Result<ChatPrompt> promptFor(const std::string &message) {
    const auto encode = [&](std::span<const ChatMessage> messages) {
      return opened_.model->file().encodeChat(messages, inputs_);
    };
    return conversation_.ask(message, encode, context(), mostTokens());
  }

  void sayDropped(const ChatPrompt &prompt) {
    if (prompt.droppedExchanges == 0)
      return;
    sayOnStderr("the conversation has " + std::to_string(prompt.tokensBefore) +
                " tokens, the context holds " + std::to_string(context()) +
                ": the oldest exchanges are dropped (" + std::to_string(prompt.droppedExchanges) +
                " of " + std::to_string(prompt.droppedExchanges + prompt.keptExchanges) + "), " +
                std::to_string(prompt.ids.size()) + " tokens stay");
  }

  // What is wrong with one message leaves the conversation as it was before; what is wrong with the
  // model ends it.
  Result<void> answer(const std::string &message) {
    const auto prompt = promptFor(message);
    if (!prompt) {
      sayOnStderr(prompt.error().toString());
      return {};
    }
    sayDropped(*prompt);
    const Interrupts::Guard guard(interrupts_);
    interrupts_.clear();
    SINTER_ASSIGN(Answer answer, writeAnswer(session_, opened_.model->tokenizer(), prompt->ids,
                                             {.maxTokens = mostTokens(),
                                              .cancel = &interrupts_.flag(),
                                              .sampler = &sampler_},
                                             stored_.stops));
    interrupts_.clear();
    const bool isAnswered = !answer.hasNoToken();
    if (isAnswered)
      SINTER_TRY(writeStdout("\n"));
    sayFigures(answer, sampler_.settings(), answer.generation.prefillSeconds, 0);
    if (isAnswered)
      conversation_.answer(std::move(answer.text));
    else
      conversation_.withdraw();
    return {};
  }

  host::OpenedModel opened_;
  Sampler sampler_; // its random numbers go on from answer to answer
  const RunArguments &arguments_;
  const ChatInputs inputs_;
  const StoredParts stored_;
  Interrupts &interrupts_;
  Session session_;
  ChatSettings settings_;
  LineEditor editor_;
  KeptLines kept_{editor_};
  Conversation conversation_;
};

} // namespace

Result<int> chat(ModelFile file, const RunArguments &arguments, ChatInputs inputs,
                 SamplingChoice sampling, StoredParts stored, Interrupts &interrupts) {
  SINTER_ASSIGN(const uint32_t context, file.contextTokens(arguments.model.context));
  SINTER_TRY(checkHoldsAMessage(file, inputs, arguments.system, stored.opening, context));
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(host::OpenedModel opened, openModel(std::move(file), arguments.model, observer));
  SINTER_ASSIGN(Sampler sampler,
                makeSampler(arguments.sampling, sampling.settings, opened.model->tokenizer()));
  return Chat(std::move(opened), std::move(sampler), arguments, std::move(inputs),
              std::move(sampling), std::move(stored), interrupts)
      .run();
}

} // namespace sinter::cli
