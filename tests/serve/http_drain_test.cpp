// How a server ends.
#include "serve/http_client.h"

namespace sinter::serve {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Draining : public ServerTest {};

TEST_F(Draining, AnswersWhatRunsAndAcceptsNothingMore) {
  start();
  Client running = client(), idle = client();
  ASSERT_EQ(idle.get("/hello").status, 200);
  ASSERT_TRUE(running.send(kAskLater));
  const auto responder = later(0);
  std::atomic<bool> ended = false;
  std::thread drainer([&] {
    EXPECT_TRUE(server_->drain(seconds(20)));
    ended = true;
  });
  EXPECT_TRUE(idle.seesEnd());
  EXPECT_TRUE(comes([&] { return !client().connected(); }));
  EXPECT_FALSE(ended);
  responder->begin({200, "text/plain", ""});
  responder->write("whole");
  responder->end();
  const Answer answer = running.read();
  EXPECT_EQ(answer.body, "whole");
  EXPECT_TRUE(answer.whole);
  EXPECT_TRUE(running.seesEnd());
  running.close();
  drainer.join();
}

TEST_F(Draining, CancelsWhatDoesNotEnd) {
  start();
  Client running = client();
  ASSERT_TRUE(running.send(kAskLater));
  std::atomic<bool> gone = false;
  const auto responder = later(0);
  responder->onGone([&] { gone = true; });
  EXPECT_FALSE(server_->drain(milliseconds(20)));
  EXPECT_TRUE(gone);
  EXPECT_FALSE(running.more());
  responder->respond({200, "text/plain", "nobody reads this"});
}

TEST_F(Draining, OfAServerThatIsDroppedCancelsAll) {
  start();
  Client running = client(), half = client(), idle = client();
  ASSERT_TRUE(half.send("POST /echo HTTP/1.1\r\nContent-Le"));
  ASSERT_TRUE(running.send(kAskLater));
  std::atomic<bool> gone = false;
  const auto responder = later(0);
  responder->onGone([&] { gone = true; });
  server_.reset();
  EXPECT_TRUE(gone);
  for (Client *each : {&running, &half, &idle})
    EXPECT_FALSE(each->more());
}

TEST_F(Draining, AnswersARequestThatIsOnItsWay) {
  start();
  Client half = client();
  ASSERT_TRUE(half.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n"));
  ASSERT_TRUE(comes([&] { return server_->state().accepted == 1; }));
  std::thread drainer([&] { server_->drain(seconds(20)); });
  EXPECT_TRUE(comes([&] { return !client().connected(); }));
  const Answer answer = half.ask("\r\n");
  half.close();
  drainer.join();
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.header("Connection"), "close");
}

TEST_F(Draining, LeavesNoDescriptor) {
  const size_t before = openDescriptors();
  for (int i = 0; i < 5; ++i) {
    start();
    Client one = client();
    EXPECT_EQ(one.get("/hello").status, 200);
    one.close();
    EXPECT_TRUE(server_->drain(seconds(20)));
    server_.reset();
  }
  EXPECT_EQ(openDescriptors(), before);
}

} // namespace
} // namespace sinter::serve
