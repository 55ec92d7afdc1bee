// Reads lines, answers them, and keeps the conversation.
#include "cli/chat.h"

#include "cli/answer.h"
#include "cli/line_editor.h"
#include "cli/open_model.h"
#include "cli/terminal.h"

#include <chrono>
#include <cstdio>

namespace sinter::cli {
namespace {

constexpr const char *kHelp = R"(/clear   start a new conversation
/help    show this
/quit    leave, as does Ctrl-D
Ctrl-C stops an answer; what was said until then stays in the conversation.
A message may begin with / after a space; a line that ends in \ goes on in the next one.
The arrow keys recall earlier lines.
)";

class Chat {
public:
  Chat(OpenedModel opened, Sampler sampler, const RunArguments &arguments, Interrupts &interrupts)
      : opened_(std::move(opened)), sampler_(std::move(sampler)), arguments_(arguments),
        interrupts_(interrupts),
        session_(opened_.model->runner(), opened_.model->pages(), opened_.model->tokenizer()) {}

  Result<int> run() {
    greet();
    while (auto line = readMessage()) {
      if (line->empty())
        continue;
      if (line->front() != '/') {
        SINTER_TRY(answer(*line));
        continue;
      }
      const std::string command = line->substr(0, line->find_last_not_of(" \t") + 1);
      if (command == "/quit" || command == "/exit")
        return kExitOk;
      obey(command);
    }
    std::fputs("\n", stderr);
    return kExitOk;
  }

private:
  void greet() {
    std::fprintf(stderr, "%s, context %u tokens; /help lists the commands\n",
                 arguments_.model.model.c_str(), opened_.model->runner().limits().contextTokens);
  }

  // Lines joined while they end in a backslash.
  std::optional<std::string> readMessage() {
    std::string message;
    for (const char *prompt = "> ";; prompt = ". ") {
      const Interrupts::Guard guard(interrupts_);
      auto line = editor_.readLine(prompt);
      interrupts_.clear();
      if (!line)
        return std::nullopt;
      if (!line->ends_with('\\'))
        return message + *line;
      message += line->substr(0, line->size() - 1) + "\n";
    }
  }

  void obey(const std::string &command) {
    if (command == "/clear") {
      messages_.clear();
      session_.clear();
      std::fputs("a new conversation\n", stderr);
    } else if (command == "/help") {
      std::fputs(kHelp, stderr);
    } else {
      std::fprintf(stderr, "no command '%s'; /help lists them\n", command.c_str());
    }
  }

  // What is wrong with one message leaves the conversation as it was before; what is wrong with the
  // model ends it.
  Result<void> answer(const std::string &line) {
    messages_.push_back({"user", line});
    auto ids = opened_.model->file().encodeChat(messages_);
    const uint32_t context = opened_.model->runner().limits().contextTokens;
    if (ids && ids->size() > context)
      ids = fail(Code::InvalidArgument, "the conversation has " + std::to_string(ids->size()) +
                                            " tokens, the context holds " +
                                            std::to_string(context) + "; /clear starts a new one");
    if (!ids) {
      sayOnStderr(ids.error().toString());
      messages_.pop_back();
      return {};
    }
    const Interrupts::Guard guard(interrupts_);
    interrupts_.clear();
    SINTER_ASSIGN(const Answer answer, writeAnswer(session_, opened_.model->tokenizer(), *ids,
                                                   {.maxTokens = arguments_.tokens,
                                                    .cancel = &interrupts_.flag(),
                                                    .sampler = &sampler_}));
    interrupts_.clear();
    SINTER_TRY(writeStdout("\n"));
    messages_.push_back({"assistant", answer.text});
    sayFigures(answer.generation, sampler_.settings(), answer.generation.prefillSeconds, 0);
    return {};
  }

  OpenedModel opened_;
  Sampler sampler_; // its random numbers go on from answer to answer
  const RunArguments &arguments_;
  Interrupts &interrupts_;
  Session session_;
  LineEditor editor_;
  std::vector<ChatMessage> messages_;
};

} // namespace

Result<int> chat(ModelFile file, const RunArguments &arguments, Interrupts &interrupts) {
  SINTER_TRY(file.canChat());
  SINTER_ASSIGN(OpenedModel opened, openModel(std::move(file), arguments.model, interrupts));
  SINTER_ASSIGN(Sampler sampler, makeSampler(arguments, opened.model->tokenizer()));
  return Chat(std::move(opened), std::move(sampler), arguments, interrupts).run();
}

} // namespace sinter::cli
