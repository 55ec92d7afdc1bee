// Chats that outgrow the context: what goes, what stays, and that it is told.
#include "llm/chat/conversation.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ConversationTest : public testing::Test {
protected:
  // A token a byte, and none for the template.
  Result<ChatPrompt> ask(const std::string &message, uint32_t context = 64,
                         uint64_t answer = UINT64_MAX) {
    return conversation.ask(
        message,
        [&](std::span<const ChatMessage> messages) -> Result<std::vector<TokenId>> {
          seen.clear();
          for (const ChatMessage &one : messages)
            seen.push_back(one.role[0] + (":" + one.content));
          size_t bytes = 0;
          for (const ChatMessage &one : messages)
            bytes += one.content.size();
          return std::vector<TokenId>(bytes);
        },
        context, answer);
  }
  void exchange(const std::string &message, const std::string &answer) {
    ASSERT_TRUE(ask(message).has_value());
    conversation.answer(answer);
  }

  Conversation conversation;
  std::vector<std::string> seen; // by the encoder at last, roles by their first letter
};

TEST_F(ConversationTest, OpeningMessagesFollowTheSystemMessageAndStay) {
  conversation.setSystem("s");
  conversation.setOpening({{"user", "a"}, {"assistant", "b"}});
  exchange(std::string(40, 'x'), std::string(20, 'y'));
  conversation.clear();
  ASSERT_TRUE(ask("c").has_value());
  EXPECT_THAT(seen, ElementsAre("s:s", "u:a", "a:b", "u:c"));
}

TEST_F(ConversationTest, SaysEverythingInOrderWhileItFits) {
  conversation.setSystem("be brief");
  exchange("one", "1");
  exchange("two", "2");
  const auto prompt = ask("three");
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->droppedExchanges, 0u);
  EXPECT_EQ(prompt->ids.size(), prompt->tokensBefore);
  EXPECT_THAT(seen, ElementsAre("s:be brief", "u:one", "a:1", "u:two", "a:2", "u:three"));
}

TEST_F(ConversationTest, DropsTheOldestExchangesUntilAQuarterIsFreeAndKeepsTheSystemMessage) {
  conversation.setSystem("system"); // 6
  for (const char *message : {"11111", "22222", "33333", "44444"})
    exchange(message, "answer");       // 11 each
  const auto prompt = ask("55555555"); // 58 in all, and an eighth of 64 is 8
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->tokensBefore, 58u);
  EXPECT_EQ(prompt->ids.size(), 47u); // at most 48
  EXPECT_EQ(prompt->droppedExchanges, 1u);
  EXPECT_EQ(prompt->keptExchanges, 3u);
  EXPECT_THAT(seen, ElementsAre("s:system", "u:22222", "a:answer", "u:33333", "a:answer", "u:44444",
                                "a:answer", "u:55555555"));
}

TEST_F(ConversationTest, WhatWasDroppedStaysForgotten) {
  exchange(std::string(30, 'x'), std::string(20, 'y'));
  ASSERT_EQ(ask("second message")->droppedExchanges, 1u);
  conversation.answer("2");
  EXPECT_EQ(ask("third")->droppedExchanges, 0u);
  EXPECT_THAT(seen, ElementsAre("u:second message", "a:2", "u:third"));
}

TEST_F(ConversationTest, ShortAnswersNeedLessRoom) {
  exchange(std::string(30, 'x'), std::string(20, 'y'));
  EXPECT_EQ(ask("0123456789", 64, 4)->droppedExchanges, 0u);
}

TEST_F(ConversationTest, AMessageThatLeavesLittleRoomIsSentAlone) {
  exchange("one", "1");
  const auto prompt = ask(std::string(64, 'x'));
  ASSERT_TRUE(prompt.has_value());
  EXPECT_EQ(prompt->ids.size(), 64u);
  EXPECT_EQ(prompt->droppedExchanges, 1u);
}

TEST_F(ConversationTest, AMessageLongerThanTheContextIsRefusedAndNothingIsForgotten) {
  exchange("one", "1");
  EXPECT_THAT(ask(std::string(65, 'x')).error().message,
              HasSubstr("65 tokens with its template, the context holds 64"));
  ASSERT_TRUE(ask("two").has_value());
  EXPECT_THAT(seen, ElementsAre("u:one", "a:1", "u:two"));
}

TEST_F(ConversationTest, AWithdrawnMessageIsForgottenAndClearingKeepsTheSystemMessage) {
  conversation.setSystem("s");
  ASSERT_TRUE(ask("never answered").has_value());
  conversation.withdraw();
  exchange("one", "1");
  EXPECT_THAT(seen, ElementsAre("s:s", "u:one"));
  conversation.clear();
  exchange("two", "2");
  EXPECT_THAT(seen, ElementsAre("s:s", "u:two"));
}

} // namespace
} // namespace sinter
