// How many exchanges have to go is found by bisection, since encoding a long chat takes time.
#include "llm/chat/conversation.h"

#include <algorithm>

namespace sinter {
namespace {

// Parts of the context that are left for an answer. What is dropped makes more room than what asks
// for dropping: each time the rest of the chat is computed again.
constexpr uint64_t kLeastRoom = 8, kRoomAfterDropping = 4;

uint64_t roomFor(uint32_t contextTokens, uint64_t part, uint64_t mostAnswerTokens) {
  return std::min(contextTokens / part, mostAnswerTokens);
}

} // namespace

std::vector<ChatMessage> Conversation::messagesFrom(size_t first) const {
  std::vector<ChatMessage> messages;
  if (!system_.empty())
    messages.push_back({"system", system_});
  messages.insert(messages.end(), opening_.begin(), opening_.end());
  for (size_t i = first; i < exchanges_.size(); ++i) {
    messages.push_back({"user", exchanges_[i].message});
    if (i + 1 < exchanges_.size())
      messages.push_back({"assistant", exchanges_[i].answer});
  }
  return messages;
}

Result<ChatPrompt> Conversation::fit(const ChatEncoder &encode, uint32_t contextTokens,
                                     uint64_t mostAnswerTokens) const {
  const size_t last = exchanges_.size() - 1;
  ChatPrompt prompt;
  prompt.keptExchanges = last;
  SINTER_ASSIGN(prompt.ids, encode(messagesFrom(0)));
  prompt.tokensBefore = prompt.ids.size();
  if (prompt.ids.size() + roomFor(contextTokens, kLeastRoom, mostAnswerTokens) <= contextTokens)
    return prompt;
  const uint64_t room = roomFor(contextTokens, kRoomAfterDropping, mostAnswerTokens);
  // Fewer than `low` dropped leave too little room; `high` dropped leave enough, or nothing does.
  size_t low = 0, high = last;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    SINTER_ASSIGN(const std::vector<TokenId> ids, encode(messagesFrom(middle)));
    if (ids.size() + room <= contextTokens)
      high = middle;
    else
      low = middle + 1;
  }
  SINTER_ASSIGN(prompt.ids, encode(messagesFrom(high)));
  prompt.droppedExchanges = high;
  prompt.keptExchanges = last - high;
  if (prompt.ids.size() > contextTokens)
    return fail(Code::InvalidArgument, "the message has " + std::to_string(prompt.ids.size()) +
                                           " tokens with its template" +
                                           (system_.empty() ? "" : " and the system message") +
                                           ", the context holds " + std::to_string(contextTokens));
  return prompt;
}

Result<ChatPrompt> Conversation::ask(std::string message, const ChatEncoder &encode,
                                     uint32_t contextTokens, uint64_t mostAnswerTokens) {
  exchanges_.push_back({std::move(message), ""});
  auto prompt = fit(encode, contextTokens, mostAnswerTokens);
  if (!prompt)
    withdraw();
  else
    exchanges_.erase(exchanges_.begin(),
                     exchanges_.begin() + static_cast<ptrdiff_t>(prompt->droppedExchanges));
  return prompt;
}

} // namespace sinter
