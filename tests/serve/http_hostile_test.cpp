// Clients that break the rules, go away, or do not read: they cost little and hurt nobody else.
#include "serve/http_cases.h"
#include "serve/http_client.h"

#include <sys/resource.h>

namespace sinter::serve {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class HostileClients : public ServerTest {};

TEST_F(HostileClients, SmuggleNoRequest) {
  std::atomic<int> next = 0;
  add("GET", "/next", [&](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    ++next;
    responder->respond({200, "text/plain", ""});
  });
  add("POST", "/p", [](const HttpRequest &, const std::shared_ptr<Responder> &) {});
  options_.hosts = {"a"};
  options_.limits = limitsOfCases();
  start();
  for (const HttpCase &each : httpCases()) {
    if (each.expected.size() != 3) // refused at once, whatever follows
      continue;
    Client one = client();
    ASSERT_TRUE(one.send(each.bytes));
    const Answer answer = one.read();
    EXPECT_EQ(std::to_string(answer.status), each.expected) << each.name;
    EXPECT_TRUE(answer.body.starts_with("{\"error\":")) << each.name;
    EXPECT_TRUE(one.seesEnd()) << each.name;
  }
  EXPECT_EQ(next, 0);
}

TEST_F(HostileClients, ThatSendNoWholeHeadAreToldSo) {
  options_.limits.head = milliseconds(50);
  start();
  Client one = client();
  ASSERT_TRUE(one.send("GET /hello HTTP/1.1\r\n"));
  EXPECT_EQ(one.read().status, 408);
  EXPECT_TRUE(one.seesEnd());
}

TEST_F(HostileClients, ThatSendNoWholeBodyAreToldSo) {
  options_.limits.transfer = milliseconds(50);
  start();
  Client one = client();
  EXPECT_EQ(
      one.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc").status,
      408);
}

TEST_F(HostileClients, ThatSayNothingAreClosed) {
  options_.limits.idle = milliseconds(50);
  start();
  EXPECT_TRUE(client().seesEnd());
}

TEST_F(HostileClients, ThatSayNothingMoreAreClosed) {
  options_.limits.idle = milliseconds(1000); // the client may be slow to begin
  start();
  Client used = client();
  EXPECT_EQ(used.get("/hello").body, "hello");
  EXPECT_TRUE(used.seesEnd());
}

TEST_F(HostileClients, ThatGoAreNoticedWhileTheirAnswerIsMade) {
  start();
  std::atomic<int> gone = 0;
  for (int i = 0; i < 3; ++i) {
    Client one = client();
    ASSERT_TRUE(one.send(kAskLater));
    const auto responder = later(static_cast<size_t>(i));
    responder->onGone([&] { ++gone; });
    if (i > 0)
      responder->begin({200, "text/plain", ""});
    if (i == 2)
      one.reset();
    one.close();
    EXPECT_TRUE(comes([&] { return gone == i + 1; }));
    if (i == 0)
      responder->respond({200, "text/plain", "late"});
    else
      EXPECT_FALSE(responder->write("x"));
  }
  EXPECT_TRUE(hasNoConnection());
  EXPECT_EQ(gone, 3);
}

TEST_F(HostileClients, ThatReadNothingAreGivenUpWithABoundedQueue) {
  options_.limits.unreadBytes = 100'000;
  start();
  Client one = client();
  one.readLittle();
  ASSERT_TRUE(one.send(kAskLater));
  const auto responder = later(0);
  std::atomic<bool> gone = false;
  responder->onGone([&] { gone = true; });
  responder->begin({200, "text/plain", ""});
  size_t written = 0;
  constexpr size_t kFarMore = 256u << 20; // than the system's own buffers take
  while (written < kFarMore && responder->write(std::string(10'000, 'x')))
    written += 10'000;
  EXPECT_LT(written, kFarMore);
  EXPECT_TRUE(comes([&] { return gone.load(); }));
  EXPECT_TRUE(hasNoConnection());
}

TEST_F(HostileClients, ThatReadNoWholeAnswerAreClosed) {
  add("GET", "/long", [](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "text/plain", std::string(16u << 20, 'x')});
  });
  options_.limits.transfer = milliseconds(100);
  start();
  Client one = client();
  one.readLittle();
  ASSERT_TRUE(one.send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_TRUE(comes([&] { return server_->state().accepted == 1; }));
  EXPECT_TRUE(hasNoConnection());
}

TEST_F(HostileClients, ThatPipelineWithoutReadingAreAnsweredOneByOne) {
  start();
  Client one = client();
  std::string many;
  for (int i = 0; i < 2000; ++i)
    many += "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::thread sender([&] { one.send(many); });
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(one.read().body, "hello") << i;
  sender.join();
}

// 1,000 that send a byte at a time and 200 that never read, beside clients that keep to the rules.
TEST_F(HostileClients, ManySlowOnesHurtNobody) {
  add("GET", "/long", [](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "text/plain", std::string(1u << 20, 'x')});
  });
  constexpr std::chrono::minutes kLong{10}; // how long this takes is the machine's affair
  options_.limits.head = options_.limits.transfer = options_.limits.idle = kLong;
  start();
  std::vector<Client> slow, unread;
  for (int i = 0; i < 200; ++i) {
    unread.push_back(client());
    unread.back().readLittle();
    ASSERT_TRUE(unread.back().send("GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  }
  for (int i = 0; i < 1000; ++i)
    slow.push_back(client());
  const std::string request = "GET /hello";
  Client good = client();
  for (const char byte : request) {
    for (const Client &each : slow)
      ASSERT_TRUE(each.send({&byte, 1}));
    ASSERT_EQ(good.get("/hello").body, "hello");
  }
  EXPECT_EQ(server_->state().connections, 1201u);
}

TEST_F(HostileClients, IdleStreamsAddNoThread) {
  start();
  const size_t before = threadCount();
  std::vector<Client> streams;
  for (size_t i = 0; i < 1000; ++i) {
    streams.push_back(client());
    ASSERT_TRUE(streams.back().send(kAskLater));
  }
  for (size_t i = 0; i < 1000; ++i)
    later(i)->begin({200, "text/event-stream", ""});
  EXPECT_EQ(threadCount(), before);
  for (size_t i = 0; i < 1000; ++i)
    ASSERT_TRUE(later(i)->write("data: x\n\n"));
  for (Client &each : streams)
    ASSERT_TRUE(each.sees("data: x\n\n"));
}

TEST_F(HostileClients, LeaveNoDescriptorBehind) {
  start();
  ASSERT_EQ(client().get("/hello").status, 200);
  ASSERT_TRUE(hasNoConnection());
  const size_t before = openDescriptors();
  for (int i = 0; i < 200; ++i) {
    Client one = client();
    const std::string whole =
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
    one.send(whole.substr(0, static_cast<size_t>(i) % whole.size()));
    if (i % 2 == 0)
      one.reset();
  }
  EXPECT_TRUE(hasNoConnection());
  EXPECT_TRUE(comes([&] { return openDescriptors() == before; }));
}

TEST_F(HostileClients, BeyondTheLimitTakeThePlaceOfIdleOnes) {
  options_.limits.connections = 4;
  start();
  Client busy = client();
  ASSERT_TRUE(busy.send(kAskLater));
  later(0);
  std::vector<Client> idle;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(client());
    ASSERT_EQ(idle.back().get("/hello").status, 200);
  }
  Client last = client();
  EXPECT_EQ(last.get("/hello").status, 200);
  EXPECT_FALSE(idle[0].more()); // the oldest made room
  later(0)->respond({200, "text/plain", "busy"});
  EXPECT_EQ(busy.read().body, "busy");
}

TEST_F(HostileClients, BeyondTheLimitAreClosedWhereAllAreBusy) {
  options_.limits.connections = 2;
  start();
  Client one = client(), two = client();
  ASSERT_TRUE(one.send(kAskLater) && two.send(kAskLater));
  later(1);
  EXPECT_FALSE(client().more());
  later(0)->respond({200, "text/plain", "x"});
  later(1)->respond({200, "text/plain", "x"});
  EXPECT_EQ(one.read().body + two.read().body, "xx");
}

TEST_F(HostileClients, ThatUseUpDescriptorsAreOutlasted) {
  std::atomic<int> troubles = 0;
  options_.onTrouble = [&](const std::string &what) {
    EXPECT_THAT(what, HasSubstr("cannot accept connections"));
    ++troubles;
  };
  start();
  std::vector<Client> before;
  for (int i = 0; i < 3; ++i) {
    before.push_back(client());
    ASSERT_EQ(before.back().get("/hello").status, 200);
  }
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // The client's own descriptor is the last that there is.
  const int last = dup(0);
  close(last);
  const rlimit tight = {static_cast<rlim_t>(last) + 1, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Client late = client();
  const bool isTold = comes([&] { return troubles > 0; });
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_TRUE(isTold);
  EXPECT_EQ(late.get("/hello").body, "hello");
}

} // namespace
} // namespace sinter::serve
