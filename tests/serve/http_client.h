// What tests of the server share: a server on a port of its own, and a client that sends any bytes.
#pragma once

#include "serve/http/server.h"

#include <arpa/inet.h>
#include <atomic>
#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace sinter::serve {

// An answer as it came.
struct Answer {
  int status = 0; // 0: none came
  std::string head, body;
  bool whole = false; // the body had its end

  // Of a header by its name as it was written; empty where there is none.
  std::string header(const std::string &name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos)
      return "";
    const size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
};

// One connection. Waits for at most 20 seconds for anything.
class Client {
public:
  explicit Client(uint16_t port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  }
  explicit Client(const std::string &path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  }
  ~Client() { close(); }
  Client(Client &&other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_), in_(std::move(other.in_)) {
  }
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;

  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0)
      ::close(std::exchange(fd_, -1));
  }
  void endSending() const { shutdown(fd_, SHUT_WR); }
  // With a reset, as when a process is killed.
  void reset() {
    const linger now = {1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void readLittle() const {
    const int bytes = 4096;
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  // False: the server ended the connection, or kept silent.
  bool more() {
    pollfd watched = {fd_, POLLIN, 0};
    char bytes[16384];
    constexpr int kMostMs = 20'000;
    const ssize_t count = poll(&watched, 1, kMostMs) == 1 ? recv(fd_, bytes, sizeof bytes, 0) : -1;
    if (count > 0)
      in_.append(bytes, static_cast<size_t>(count));
    ended_ = count == 0;
    return count > 0;
  }
  // Whether `text` came, or comes; what is before it is dropped.
  bool sees(const std::string &text) {
    while (in_.find(text) == std::string::npos)
      if (!more())
        return false;
    in_.erase(0, in_.find(text) + text.size());
    return true;
  }
  // Whether the server ends the connection in order, whatever it still sends.
  bool seesEnd() {
    while (more())
      in_.clear();
    return ended_;
  }
  Answer read(bool isHead = false) {
    Answer answer;
    while (in_.find("\r\n\r\n") == std::string::npos)
      if (!more())
        return answer;
    const size_t end = in_.find("\r\n\r\n");
    answer.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    answer.status =
        (answer.head[9] - '0') * 100 + (answer.head[10] - '0') * 10 + answer.head[11] - '0';
    const std::string length = answer.header("Content-Length");
    if (isHead || answer.status < 200 || answer.status == 204)
      answer.whole = true;
    else if (!length.empty())
      readLength(answer, std::strtoul(length.c_str(), nullptr, 10));
    else if (answer.header("Transfer-Encoding") == "chunked")
      readChunks(answer);
    else
      readToEnd(answer);
    return answer;
  }
  Answer ask(std::string_view request) {
    send(request);
    return read(request.starts_with("HEAD"));
  }
  Answer get(const std::string &path, const std::string &headers = "") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  Answer post(const std::string &path, const std::string &body, const std::string &headers = "") {
    return ask("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body);
  }

private:
  bool take(std::string &into, size_t bytes) {
    while (in_.size() < bytes)
      if (!more())
        return false;
    into += in_.substr(0, bytes);
    in_.erase(0, bytes);
    return true;
  }
  void readLength(Answer &answer, size_t bytes) { answer.whole = take(answer.body, bytes); }
  void readChunks(Answer &answer) {
    while (true) {
      while (in_.find("\r\n") == std::string::npos)
        if (!more())
          return;
      const size_t size = std::strtoul(in_.c_str(), nullptr, 16);
      in_.erase(0, in_.find("\r\n") + 2);
      std::string end;
      if (!take(answer.body, size) || !take(end, 2))
        return;
      if (size == 0) {
        answer.whole = true;
        return;
      }
    }
  }
  void readToEnd(Answer &answer) {
    while (more())
      ;
    answer.body = std::exchange(in_, "");
    answer.whole = ended_;
  }

  int fd_ = -1;
  bool connected_ = false;
  bool ended_ = false;
  std::string in_;
};

// Waits for what another thread brings about.
template <typename F> bool comes(F condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

inline size_t entriesOf(const char *folder) {
  size_t count = 0;
  DIR *open = opendir(folder);
  while (readdir(open))
    ++count;
  closedir(open);
  return count;
}
inline size_t openDescriptors() {
  return entriesOf("/proc/self/fd");
}
inline size_t threadCount() {
  return entriesOf("/proc/self/task");
}

// Routes that tests share, and a place for answers that are made later.
class ServerTest : public testing::Test {
protected:
  ServerTest() {
    options_.port = 0;
    add("GET", "/hello", [](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
      responder->respond({200, "text/plain", "hello"});
    });
    add("POST", "/echo", [](HttpRequest request, const std::shared_ptr<Responder> &responder) {
      responder->respond({200, "text/plain", std::move(request.body)});
    });
    // Answered by the test.
    add("GET", "/later", [this](const HttpRequest &, std::shared_ptr<Responder> responder) {
      const std::lock_guard lock(mutex_);
      later_.push_back(std::move(responder));
    });
    add("GET", "/drop", [](const HttpRequest &, const std::shared_ptr<Responder> &) {});
  }
  ~ServerTest() override { later_.clear(); }

  void add(const char *method, const char *pattern, HttpHandler handler) {
    routes_.add({method, pattern, std::move(handler)});
  }
  void start() {
    auto server = Server::start(options_, routes_);
    ASSERT_TRUE(server) << server.error().toString();
    server_ = std::move(*server);
  }
  Client client() const { return Client(server_->port()); }
  // The responder of the nth request for /later.
  std::shared_ptr<Responder> later(size_t n) {
    comes([&] {
      const std::lock_guard lock(mutex_);
      return later_.size() > n;
    });
    const std::lock_guard lock(mutex_);
    return later_.at(n);
  }
  bool hasNoConnection() const {
    return comes([&] { return server_->state().connections == 0; });
  }

  ServerOptions options_;
  Routes routes_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Responder>> later_;
  std::unique_ptr<Server> server_;
};

inline const std::string kAskLater = "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n";

} // namespace sinter::serve
