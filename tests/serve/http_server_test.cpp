// The server over real sockets: what a client that keeps to the rules sees.
#include "serve/http_client.h"

namespace sinter::serve {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HttpServer : public ServerTest {};

TEST_F(HttpServer, AnswersManyRequestsOfOneConnection) {
  start();
  Client one = client();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.get("/hello").body, "hello");
    EXPECT_EQ(one.post("/echo", std::string(100'000, 'x')).body.size(), 100'000u);
  }
  EXPECT_EQ(server_->state().accepted, 1u);
}

TEST_F(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  start();
  Client one = client();
  ASSERT_TRUE(one.send(kAskLater + "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" + kAskLater));
  later(0)->respond({200, "text/plain", "first"});
  EXPECT_EQ(one.read().body, "first");
  EXPECT_EQ(one.read().body, "hello");
  later(1)->respond({200, "text/plain", "third"});
  EXPECT_EQ(one.read().body, "third");
}

TEST_F(HttpServer, StreamsPartsAsTheyAreMade) {
  start();
  Client one = client();
  ASSERT_TRUE(one.send(kAskLater));
  const auto responder = later(0);
  responder->begin({200, "text/event-stream", ""});
  EXPECT_TRUE(responder->write("data: 1\n\n"));
  EXPECT_TRUE(one.sees("data: 1\n\n"));
  EXPECT_TRUE(responder->write("data: 2\n\n"));
  EXPECT_TRUE(one.sees("data: 2\n\n"));
  responder->end();
  EXPECT_TRUE(one.sees("0\r\n\r\n"));
  EXPECT_EQ(one.get("/hello").body, "hello");
}

TEST_F(HttpServer, ReadsChunkedBodies) {
  start();
  EXPECT_EQ(client()
                .ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-Trailer: z\r\n\r\n")
                .body,
            "abcde");
}

TEST_F(HttpServer, AnswersHeadWithoutABody) {
  start();
  Client one = client();
  const Answer head = one.ask("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "5");
  EXPECT_EQ(one.get("/hello").body, "hello");
}

TEST_F(HttpServer, AnswersOptionsWithTheMethodsOfThePath) {
  start();
  Client one = client();
  const Answer path = one.ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(path.status, 204);
  EXPECT_EQ(path.header("Allow"), "POST, OPTIONS");
  EXPECT_EQ(one.ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 204);
  EXPECT_EQ(one.ask("OPTIONS /none HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
}

TEST_F(HttpServer, RefusesPathsAndMethodsThatNoRouteHas) {
  start();
  Client one = client();
  EXPECT_EQ(one.get("/none").status, 404);
  const Answer method = one.post("/hello", "x");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.header("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(one.get("/hello").status, 200); // the connection goes on
}

TEST_F(HttpServer, AsksForABodyThatWaitsToBeAskedFor) {
  start();
  Client one = client();
  ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                       "Expect: 100-continue\r\n\r\n"));
  EXPECT_EQ(one.read().status, 100);
  EXPECT_EQ(one.ask("hi").body, "hi");
}

TEST_F(HttpServer, RefusesABodyBeforeItIsSent) {
  options_.limits.bodyBytes = 10;
  start();
  Client one = client();
  const Answer answer = one.ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n"
                                "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(answer.status, 413);
  EXPECT_TRUE(one.seesEnd());
}

TEST_F(HttpServer, LetsAClientReadWhyItsLongBodyIsRefused) {
  options_.limits.bodyBytes = 10;
  start();
  Client one = client();
  EXPECT_EQ(one.post("/echo", std::string(200'000, 'x')).status, 413);
}

TEST_F(HttpServer, HasALimitOfTheRoutesOwn) {
  routes_.add({"POST", "/big",
               [](const HttpRequest &request, const std::shared_ptr<Responder> &responder) {
                 responder->respond({200, "text/plain", std::to_string(request.body.size())});
               },
               openAiErrorBody, false, 100});
  options_.limits.bodyBytes = 10;
  start();
  EXPECT_EQ(client().post("/big", std::string(100, 'x')).body, "100");
  EXPECT_EQ(client().post("/big", std::string(101, 'x')).status, 413);
}

TEST_F(HttpServer, RefusesBodiesBeyondWhatAllMayTake) {
  options_.limits.bodiesBytes = 1000;
  start();
  Client holder = client();
  ASSERT_TRUE(holder.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" +
                          std::string(900, 'x')));
  Client other = client();
  EXPECT_TRUE(comes([&] {
    Client each = client();
    const Answer answer = each.post("/echo", std::string(300, 'x') + "", "");
    return answer.status == 200;
  }));
  // Of a body that is not whole, what came is held.
  ASSERT_TRUE(other.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" +
                         std::string(900, 'x')));
  const Answer refused = other.read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(holder.ask(std::string(100, 'x')).body.size(), 1000u);
}

TEST_F(HttpServer, ServesHttp10) {
  start();
  Client one = client();
  const Answer answer = one.ask("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(one.seesEnd());
  Client kept = client();
  EXPECT_EQ(kept.ask("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").body, "hello");
  EXPECT_EQ(kept.ask("GET /hello HTTP/1.0\r\n\r\n").body, "hello");
}

TEST_F(HttpServer, ClosesWhereTheClientAsksForIt) {
  start();
  Client one = client();
  EXPECT_EQ(one.get("/hello", "Connection: close\r\n").header("Connection"), "close");
  EXPECT_TRUE(one.seesEnd());
}

TEST_F(HttpServer, AnswersAClientThatEndsItsSide) {
  start();
  Client one = client();
  ASSERT_TRUE(one.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  one.endSending();
  EXPECT_EQ(one.read().body, "hello");
}

TEST_F(HttpServer, AnswersWhatARouteDrops) {
  start();
  Client one = client();
  const Answer answer = one.get("/drop");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("dropped without an answer"));
  EXPECT_EQ(one.get("/hello").body, "hello");
}

TEST_F(HttpServer, EndsTheConnectionOfAnAnswerThatCannotBecomeWhole) {
  start();
  Client one = client();
  ASSERT_TRUE(one.send(kAskLater));
  auto responder = later(0);
  responder->begin({200, "text/plain", ""});
  ASSERT_TRUE(responder->write("half"));
  ASSERT_TRUE(one.sees("half"));
  responder.reset();
  later_.clear();
  EXPECT_FALSE(one.sees("0\r\n\r\n"));
}

TEST_F(HttpServer, GivesRoutesWhatTheyNeedToKnow) {
  std::string seen;
  add("GET", "/models/{name...}",
      [&](const HttpRequest &request, const std::shared_ptr<Responder> &responder) {
        seen = request.route + " " + std::string(request.parameter("name")) + " " + request.client +
               " " + request.account + " " + std::string(request.header("x-a"));
        responder->respond({200, "text/plain", ""});
      });
  start();
  EXPECT_EQ(client().get("/models/org/a%20b", "X-A: b\r\n").status, 200);
  EXPECT_EQ(seen, "/models/{name...} org/a b 127.0.0.1 127.0.0.1 b");
}

TEST_F(HttpServer, AsksForKeysButOfOpenRoutes) {
  auto keys = std::make_shared<ApiKeys>();
  ASSERT_TRUE(keys->add("ana", "sk-1"));
  options_.keys = keys;
  Route open{"GET", "/open", [](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
               responder->respond({200, "text/plain", "open"});
             }};
  open.isOpen = true;
  routes_.add(open);
  add("GET", "/who", [](const HttpRequest &request, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "text/plain", request.keyName + " " + request.account});
  });
  start();
  Client one = client();
  const Answer refused = one.get("/hello");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(one.get("/hello", "Authorization: Bearer sk-2\r\n").status, 401);
  EXPECT_EQ(one.get("/open").body, "open");
  EXPECT_EQ(one.get("/who", "Authorization: Bearer sk-1\r\n").body, "ana ana");
}

TEST_F(HttpServer, LimitsTheRateOfEachKey) {
  options_.quotas = std::make_shared<Quotas>(2, 0);
  start();
  Client one = client();
  EXPECT_EQ(one.get("/hello").status, 200);
  EXPECT_EQ(one.get("/hello").status, 200);
  const Answer refused = one.get("/hello");
  EXPECT_EQ(refused.status, 429);
  EXPECT_FALSE(refused.header("Retry-After").empty());
}

TEST_F(HttpServer, RefusesStrangeHostsAndPages) {
  start();
  Client one = client();
  EXPECT_EQ(one.ask("GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(one.get("/hello", "Origin: https://evil.example\r\n").status, 403);
  const Answer own = one.get("/hello", "Origin: http://localhost:3000\r\n");
  EXPECT_EQ(own.header("Access-Control-Allow-Origin"), "http://localhost:3000");
}

TEST_F(HttpServer, TellsAPageWhatItMaySend) {
  start();
  const Answer answer =
      client().ask("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\n"
                   "Access-Control-Request-Method: POST\r\n"
                   "Access-Control-Request-Headers: authorization,content-type\r\n\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.header("Access-Control-Allow-Methods"), "POST, OPTIONS");
  EXPECT_EQ(answer.header("Access-Control-Allow-Headers"), "authorization,content-type");
}

TEST_F(HttpServer, ReportsEachRequest) {
  std::vector<RequestRecord> records;
  options_.onRequest = [&](const RequestRecord &record) {
    const std::lock_guard lock(mutex_);
    records.push_back(record);
  };
  start();
  Client one = client();
  one.post("/echo", "abc", "User-Agent: me\r\n");
  one.get("/none");
  ASSERT_TRUE(comes([&] {
    const std::lock_guard lock(mutex_);
    return records.size() == 2;
  }));
  EXPECT_EQ(records[0].route + " " + records[0].userAgent, "/echo me");
  EXPECT_EQ(records[0].requestBytes + records[0].answer.bodyBytes, 6u);
  EXPECT_EQ(records[1].answer.status, 404);
  EXPECT_EQ(records[1].path, "/none");
}

TEST_F(HttpServer, IsRefusedAPortThatIsTaken) {
  start();
  ServerOptions same = options_;
  same.port = server_->port();
  const auto second = Server::start(same, routes_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr("cannot listen on 127.0.0.1:"), HasSubstr("--port")));
}

TEST_F(HttpServer, SaysThatAHostIsUnknown) {
  options_.host = "no.such.host.invalid";
  const auto server = Server::start(options_, routes_);
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("no.such.host.invalid"));
}

TEST_F(HttpServer, KnowsWhetherOthersReachIt) {
  start();
  EXPECT_TRUE(server_->isLoopback());
  options_.host = "0.0.0.0";
  start();
  EXPECT_FALSE(server_->isLoopback());
  EXPECT_EQ(client().get("/hello").body, "hello");
}

class UnixServer : public ServerTest {
protected:
  UnixServer() {
    path_ = testing::TempDir() + "sinter-" + std::to_string(getpid()) + ".sock";
    options_.host.clear();
    options_.unixPath = path_;
  }
  ~UnixServer() override { unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(UnixServer, ListensForItsUserAlone) {
  start();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(server_->addresses(), std::vector<std::string>{"unix:" + path_});
  EXPECT_EQ(Client(path_).ask("GET /hello HTTP/1.1\r\nHost: anything\r\n\r\n").body, "hello");
}

TEST_F(UnixServer, TakesTheSocketAwayWhenItEnds) {
  start();
  server_.reset();
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixServer, TakesThePlaceOfOneThatWasKilled) {
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    close(fd);
  }
  start();
  EXPECT_EQ(Client(path_).get("/hello").body, "hello");
}

TEST_F(UnixServer, LeavesAnotherServersSocketAndOtherFiles) {
  start();
  EXPECT_FALSE(Server::start(options_, routes_));
  EXPECT_EQ(Client(path_).get("/hello").body, "hello");
  server_.reset();
  std::ofstream(path_) << "a file";
  const auto second = Server::start(options_, routes_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("is no socket"));
}

} // namespace
} // namespace sinter::serve
