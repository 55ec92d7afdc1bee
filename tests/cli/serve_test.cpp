// sinter serve: what it says, answers, logs, and how it ends.
#include "cli/cli_test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace sinter {
namespace {

class Serve : public CliTest {
protected:
  // The port that the child says it listens on.
  static uint16_t portOf(Child &child) {
    // A plan may have to be built first.
    constexpr int kMostSeconds = 120;
    if (!child.sees("listening on http://127.0.0.1:", secondsFromNow(kMostSeconds)) ||
        !child.sees("\n"))
      return 0;
    const std::string &text = child.errors();
    const size_t at = text.find("127.0.0.1:") + std::string_view("127.0.0.1:").size();
    return static_cast<uint16_t>(std::strtoul(text.c_str() + at, nullptr, 10));
  }
  static int connectTo(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval most = {20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    return connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 ? fd : -1;
  }
  static std::string ask(uint16_t port, const std::string &path, const std::string &headers = "") {
    return send(port, "GET " + path + " HTTP/1.1\r\n" + headers, "");
  }
  static std::string post(uint16_t port, const std::string &path, const std::string &body) {
    return send(port, "POST " + path + " HTTP/1.1\r\n", body);
  }
  static std::string send(uint16_t port, const std::string &head, const std::string &body) {
    const int fd = connectTo(port);
    const std::string request = head + "Host: localhost\r\nConnection: close\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    std::string answer;
    if (::write(fd, request.data(), request.size()) == std::ssize(request)) {
      char bytes[4096];
      for (ssize_t count; (count = ::read(fd, bytes, sizeof bytes)) > 0;)
        answer.append(bytes, static_cast<size_t>(count));
    }
    close(fd);
    return answer;
  }
};

TEST_F(Serve, AnswersUntilItIsToldToEnd) {
  Child child(command({"serve", "--port", "0"}), options_);
  const uint16_t port = portOf(child);
  EXPECT_THAT(ask(port, "/health"),
              AllOf(HasSubstr("HTTP/1.1 200 OK"), HasSubstr(R"({"status":"ok"})")));
  EXPECT_THAT(ask(port, "/version"), HasSubstr(R"({"version":")"));
  child.send(SIGTERM);
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr(R"("path":"/health","route":"/health","status":200)"));
}

TEST_F(Serve, AnswersForAnEncoder) {
  const std::string file = writeModel("encoder.gguf", {.seesBothWays = true});
  Child child(command({"serve", file, "--port", "0", "--access-log", "off"}), options_);
  const uint16_t port = portOf(child);
  EXPECT_THAT(post(port, "/v1/embeddings", R"({"input":"hi"})"),
              AllOf(HasSubstr("200 OK"), HasSubstr(R"("embedding":[)")));
  EXPECT_THAT(post(port, "/v1/completions", R"({"prompt":"hi"})"),
              AllOf(HasSubstr("400 "), HasSubstr(R"("message":"encoder.gguf: )"),
                    HasSubstr("continues no text")));
  child.send(SIGTERM);
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(Serve, OddDefaultsAndTemplatesAreRefused) {
  EXPECT_THAT(sinter({"serve", "--port", "0", "--defaults", R"({"tempo": 1})"}),
              FailedSaying("--defaults: there is no default 'tempo'"));
  EXPECT_THAT(sinter({"serve", "--port", "0", "--chat-template", "none-such"}),
              FailedSaying("--chat-template none-such: no such file"));
}

TEST_F(Serve, AnswersForItsModelByNameAndByDefault) {
  Child child(command({"serve", model_, "--port", "0", "--context", "256", "--access-log", "off"}),
              options_);
  const uint16_t port = portOf(child);
  EXPECT_THAT(ask(port, "/v1/models"), HasSubstr(R"("id":"tiny")"));
  EXPECT_THAT(post(port, "/v1/completions", R"({"model":"tiny","prompt":"hi","max_tokens":4})"),
              AllOf(HasSubstr("200 OK"), HasSubstr(R"("completion_tokens":)")));
  EXPECT_THAT(post(port, "/tokenize", R"({"content":"hi"})"), HasSubstr(R"({"tokens":[)"));
  EXPECT_THAT(ask(port, "/props"), HasSubstr(R"("n_ctx":256)"));
  const std::string metrics = ask(port, "/metrics");
  EXPECT_THAT(metrics,
              HasSubstr("sinter_answers_finished_total{model=\"tiny\",gives=\"text\"} 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("sinter_http_requests_total{route=\"/tokenize\",code=\"200\"} 1\n"));
  child.send(SIGTERM);
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(Serve, ReusesWhatAPromptBeginsWithUnlessItIsToldNotTo) {
  std::string prompt;
  for (int i = 0; i < 100; ++i)
    prompt += std::to_string(i) + " ";
  const std::string body = R"({"model":"tiny","prompt":")" + prompt + R"(","max_tokens":2})";
  const auto none = HasSubstr(R"("cached_tokens":0)");
  for (const bool caches : {true, false}) {
    std::vector<std::string> words = {"serve", model_, "--port", "0", "--access-log", "off"};
    if (!caches)
      words.push_back("--no-prefix-cache");
    Child child(command(words), options_);
    const uint16_t port = portOf(child);
    EXPECT_THAT(post(port, "/v1/completions", body), AllOf(HasSubstr("200 OK"), none));
    const std::string again = post(port, "/v1/completions", body);
    EXPECT_THAT(again, HasSubstr(R"("cached_tokens":)"));
    EXPECT_EQ(again.find(R"("cached_tokens":0)") == again.npos, caches);
    EXPECT_THAT(ask(port, "/metrics"),
                HasSubstr("sinter_prefix_hits_total{model=\"tiny\",gives=\"text\"} " +
                          std::to_string(caches) + "\n"));
  }
}

TEST_F(Serve, OpensNoPathThatARequestNames) {
  Child child(command({"serve", "--port", "0", "--access-log", "off"}), options_);
  const uint16_t port = portOf(child);
  EXPECT_THAT(post(port, "/v1/completions", R"({"model":")" + model_ + R"(","prompt":"hi"})"),
              AllOf(HasSubstr("404 Not Found"), HasSubstr("there is no model")));
  EXPECT_THAT(post(port, "/api/show", R"({"model":")" + model_ + R"("})"),
              HasSubstr("404 Not Found"));
  EXPECT_THAT(ask(port, "/props?model=" + model_), HasSubstr("404 Not Found"));
}

TEST_F(Serve, SaysWhichModelIsNotThere) {
  EXPECT_THAT(sinter({"serve", path("none.gguf")}), FailedSaying("none.gguf"));
  EXPECT_THAT(sinter({"serve", model_, model_}), FailedSaying("would both be named 'tiny'"));
}

TEST_F(Serve, WaitsForNoOneWithoutARequest) {
  Child child(command({"serve", "--port", "0", "--access-log", "off"}), options_);
  const int fd = connectTo(portOf(child));
  child.send(SIGINT);
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, Not(HasSubstr("some answers were cut")));
  close(fd);
}

TEST_F(Serve, AsksForTheKeysOfAFile) {
  const std::string keys = write("keys", "ana:sk-1\n");
  const std::string log = path("log");
  Child child(command({"serve", "--port", "0", "--api-key-file", keys, "--access-log", log}),
              options_);
  const uint16_t port = portOf(child);
  EXPECT_THAT(ask(port, "/version"), HasSubstr("HTTP/1.1 401 Unauthorized"));
  EXPECT_THAT(ask(port, "/version", "Authorization: Bearer sk-1\r\n"), HasSubstr("200 OK"));
  EXPECT_THAT(ask(port, "/health"), HasSubstr("200 OK"));
  child.send(SIGTERM);
  EXPECT_THAT(child.wait(20), EndedWith(0));
  EXPECT_THAT(read(log), AllOf(HasSubstr(R"("key":"ana")"), Not(HasSubstr("sk-1"))));
}

TEST_F(Serve, WarnsWhereOthersReachItWithoutAKey) {
  Child open(command({"serve", "--host", "0.0.0.0", "--port", "0"}), options_);
  EXPECT_TRUE(open.sees("warning: other machines can reach this server"));
  Child keyed(command({"serve", "--host", "0.0.0.0", "--port", "0", "--api-key", "sk-1"}),
              options_);
  ASSERT_TRUE(keyed.sees("listening on"));
  keyed.send(SIGTERM);
  EXPECT_THAT(keyed.wait(20).err, Not(HasSubstr("warning")));
}

TEST_F(Serve, SaysWhatIsWrongWithItsFiles) {
  EXPECT_THAT(sinter({"serve", "--api-key-file", path("none")}), FailedSaying(path("none")));
  EXPECT_THAT(sinter({"serve", "--api-key-file", write("keys", "x")}),
              FailedSaying("keys:1: found no colon, expected NAME:KEY"));
  EXPECT_THAT(sinter({"serve", "--port", "0", "--tls-cert", path("c"), "--tls-key", path("k")}),
              FailedSaying("cannot read the certificate"));
  EXPECT_THAT(sinter({"serve", "--unix", "/no/such/folder/socket"}),
              FailedSaying("cannot listen on '/no/such/folder/socket'"));
}

} // namespace
} // namespace sinter
