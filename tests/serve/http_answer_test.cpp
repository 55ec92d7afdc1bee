// Answers as bytes, and the queue before a connection.
#include "serve/http/pending_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::serve {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Queue {
  explicit Queue(ResponseStyle style = {}, size_t mostUnread = 1000)
      : answer(std::make_shared<PendingAnswer>(std::move(style), mostUnread, [this] { ++wakes; })),
        responder(
            makeResponder(answer, [] { return HttpResponse{500, "text/plain", "dropped"}; })) {}

  int wakes = 0;
  std::shared_ptr<PendingAnswer> answer;
  std::shared_ptr<Responder> responder;
};

TEST(ResponseHead, HasNoHeaderThatAValueSmuggledIn) {
  HttpResponse response{200, "text/plain", "", {{"X", "a\r\nSet-Cookie: b"}, {"Y: c\r\nZ", "d"}}};
  const std::string head = responseHead(response, {}, 0);
  EXPECT_THAT(head, AllOf(HasSubstr("\r\nX: a  Set-Cookie: b\r\n"),
                          Not(HasSubstr("\r\nSet-Cookie")), Not(HasSubstr("Z"))));
}

TEST(ResponseHead, OfNoContentHasNoLength) {
  const std::string head = responseHead({204, "text/plain", ""}, {}, 0);
  EXPECT_THAT(
      head, AllOf(testing::StartsWith("HTTP/1.1 204 No Content\r\n"), Not(HasSubstr("Content-"))));
}

TEST(ResponseChunk, SaysItsSizeInHexadecimal) {
  EXPECT_EQ(chunk("a"), "1\r\na\r\n");
  EXPECT_EQ(chunk(std::string(0x1a3, 'x')), "1a3\r\n" + std::string(0x1a3, 'x') + "\r\n");
}

TEST(AnswerQueue, GivesAWholeAnswerAtOnce) {
  Queue queue;
  queue.responder->respond({200, "text/plain", "hello"});
  EXPECT_EQ(queue.wakes, 1);
  const PendingAnswer::Taken taken = queue.answer->take();
  EXPECT_TRUE(taken.last);
  EXPECT_THAT(taken.bytes, testing::EndsWith("\r\n\r\nhello"));
}

TEST(AnswerQueue, OfHeadHasTheLengthAndNoBody) {
  Queue queue({.isHead = true});
  queue.responder->respond({200, "text/plain", "hello"});
  EXPECT_THAT(queue.answer->take().bytes,
              AllOf(HasSubstr("Content-Length: 5"), testing::EndsWith("\r\n\r\n")));
}

TEST(AnswerQueue, GivesPartsAsChunks) {
  Queue queue;
  queue.responder->begin({200, "text/plain", ""});
  EXPECT_TRUE(queue.responder->write("one"));
  EXPECT_TRUE(queue.responder->write(""));
  EXPECT_TRUE(queue.responder->write("two"));
  EXPECT_EQ(queue.wakes, 1); // the connection was not there yet
  const PendingAnswer::Taken first = queue.answer->take();
  EXPECT_THAT(first.bytes, testing::EndsWith("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n"));
  EXPECT_FALSE(first.last);
  queue.responder->end();
  EXPECT_EQ(queue.wakes, 2);
  const PendingAnswer::Taken second = queue.answer->take();
  EXPECT_EQ(second.bytes, kLastChunk);
  EXPECT_TRUE(second.last);
}

TEST(AnswerQueue, OfHttp10GivesPartsAsTheyAreAndCloses) {
  Queue queue({.isHttp10 = true});
  queue.responder->begin({200, "text/plain", ""});
  queue.responder->write("one");
  queue.responder->end();
  EXPECT_THAT(queue.answer->take().bytes,
              AllOf(HasSubstr("Connection: close"), testing::EndsWith("\r\n\r\none")));
  EXPECT_TRUE(queue.answer->closes());
}

TEST(AnswerQueue, GivesUpWhoDoesNotRead) {
  Queue queue({}, 300);
  int gone = 0;
  queue.responder->onGone([&] { ++gone; });
  queue.responder->begin({200, "text/plain", ""});
  queue.answer->take();
  EXPECT_FALSE(queue.responder->write(std::string(400, 'x')));
  EXPECT_FALSE(queue.responder->write("more"));
  EXPECT_TRUE(queue.answer->take().gaveUp);
  EXPECT_TRUE(queue.answer->take().bytes.empty());
  EXPECT_EQ(gone, 0); // a maker's own lock may be held in write()
  queue.answer->lose();
  EXPECT_EQ(gone, 1);
  EXPECT_TRUE(queue.answer->facts().gone);
}

TEST(AnswerQueue, CountsWhatIsBeingSentAsUnread) {
  Queue queue({}, 1000);
  queue.responder->begin({200, "text/plain", ""});
  queue.responder->write(std::string(600, 'x'));
  queue.answer->take();
  EXPECT_FALSE(queue.responder->write(std::string(600, 'x')));
}

TEST(AnswerQueue, CountsWhatWasSentNoMore) {
  Queue queue({}, 1000);
  queue.responder->begin({200, "text/plain", ""});
  queue.responder->write(std::string(600, 'x'));
  queue.answer->take();
  queue.answer->sent();
  EXPECT_TRUE(queue.responder->write(std::string(600, 'x')));
}

TEST(AnswerQueue, TellsOnceThatTheClientIsGone) {
  Queue queue;
  int gone = 0;
  queue.responder->onGone([&] { ++gone; });
  queue.answer->lose();
  queue.answer->lose();
  EXPECT_EQ(gone, 1);
  queue.responder->onGone([&] { ++gone; });
  EXPECT_EQ(gone, 2); // at once where it has gone
  queue.responder->begin({200, "text/plain", ""});
  EXPECT_FALSE(queue.responder->write("x"));
  queue.responder->end();
  EXPECT_EQ(queue.wakes, 0);
}

TEST(AnswerQueue, OfAWholeAnswerTellsNothing) {
  Queue queue;
  int gone = 0;
  queue.responder->onGone([&] { ++gone; });
  queue.responder->respond({200, "text/plain", "hello"});
  queue.answer->lose();
  EXPECT_EQ(gone, 0);
  EXPECT_FALSE(queue.answer->facts().gone);
}

TEST(AnswerQueue, AnswersWhatIsDropped) {
  Queue queue;
  queue.responder.reset();
  const PendingAnswer::Taken taken = queue.answer->take();
  EXPECT_THAT(taken.bytes, AllOf(testing::StartsWith("HTTP/1.1 500 "), HasSubstr("dropped")));
  EXPECT_TRUE(taken.last);
}

TEST(AnswerQueue, CutsWhatIsDroppedInTheMiddle) {
  Queue queue;
  queue.responder->begin({200, "text/plain", ""});
  queue.responder.reset();
  EXPECT_TRUE(queue.answer->take().gaveUp);
  queue.answer->lose();
  EXPECT_TRUE(queue.answer->facts().broken);
  EXPECT_FALSE(queue.answer->facts().gone);
}

} // namespace
} // namespace sinter::serve
