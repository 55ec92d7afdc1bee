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
    if (!child.sees("listening on http://127.0.0.1:") || !child.sees("\n"))
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
    const int fd = connectTo(port);
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n";
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
