// The messages of a chat, kept within a model's context: when they no longer fit, the oldest go.
#pragma once

#include "llm/chat/template.h"

#include <functional>

namespace sinter {

// The tokens of messages that ask for an answer.
using ChatEncoder = std::function<Result<std::vector<TokenId>>(std::span<const ChatMessage>)>;

// A prompt, and what was left out so that it fits.
struct ChatPrompt {
  std::vector<TokenId> ids;
  size_t droppedExchanges = 0; // the oldest messages, each with its answer
  size_t keptExchanges = 0;    // before the message that is to be answered
  size_t tokensBefore = 0;     // of the prompt with all of them
};

// A system message and opening messages, if there are such, and messages of the user with their
// answers.
class Conversation {
public:
  // Stays first whatever is dropped; empty: none.
  void setSystem(std::string text) { system_ = std::move(text); }
  // Messages that follow it and stay, too.
  void setOpening(std::vector<ChatMessage> messages) { opening_ = std::move(messages); }
  // Forgets everything but these.
  void clear() { exchanges_.clear(); }

  // Adds a message of the user and gives the prompt that asks for its answer. Where that would
  // leave less than an eighth of the context for the answer (or `mostAnswerTokens`, where that is
  // less), whole exchanges are forgotten, the oldest first, until a quarter is left.
  // InvalidArgument, with the numbers: the message alone is longer than the context. Encoding
  // errors are passed on. After an error the conversation is as it was before.
  Result<ChatPrompt> ask(std::string message, const ChatEncoder &encode, uint32_t contextTokens,
                         uint64_t mostAnswerTokens);
  // The answer to the last message.
  void answer(std::string text) { exchanges_.back().answer = std::move(text); }
  // Forgets the last message, which has no answer.
  void withdraw() { exchanges_.pop_back(); }

private:
  struct Exchange {
    std::string message, answer;
  };
  std::vector<ChatMessage> messagesFrom(size_t first) const;
  Result<ChatPrompt> fit(const ChatEncoder &encode, uint32_t contextTokens,
                         uint64_t mostAnswerTokens) const;

  std::string system_;
  std::vector<ChatMessage> opening_;
  std::vector<Exchange> exchanges_; // the last one may lack its answer
};

} // namespace sinter
