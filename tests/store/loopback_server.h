// An HTTP server on a port of its own whose answers are up to the test: it can break off, lie about
// lengths and ranges, or say nothing.
#pragma once

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sinter::store {

struct Request {
  std::string path; // as it was sent, with its query
  std::string head; // in lower case
  int number = 0;   // of all requests, from 0

  std::string header(const std::string &name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos)
      return "";
    const size_t from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
  // Of "range: bytes=10-19": 10 and 20. The whole of `bytes` where there is none.
  std::pair<size_t, size_t> range(size_t bytes) const {
    const std::string text = header("range");
    if (text.empty())
      return {0, bytes};
    const size_t dash = text.find('-');
    const size_t end = std::strtoull(text.c_str() + dash + 1, nullptr, 10) + 1;
    return {std::strtoull(text.c_str() + 6, nullptr, 10), std::min(end, bytes)};
  }
};

// What is sent as it stands; then the connection is closed.
using Handler = std::function<std::string(const Request &)>;

inline std::string answer(int status, const std::string &body, const std::string &headers = "") {
  return "HTTP/1.1 " + std::to_string(status) +
         " Said\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         headers + "\r\n" + body;
}

// Of a file, in the range that was asked for.
inline std::string rangeAnswer(const Request &request, const std::string &file) {
  if (request.header("range").empty())
    return answer(200, file);
  const auto [begin, end] = request.range(file.size());
  return answer(206, file.substr(begin, end - begin),
                "Content-Range: bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) +
                    "/" + std::to_string(file.size()) + "\r\n");
}

class LoopbackServer {
public:
  explicit LoopbackServer(Handler handler) : handler_(std::move(handler)) {
    setenv("no_proxy", "127.0.0.1", 1); // whatever the machine's proxy is
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept(); });
  }
  ~LoopbackServer() {
    isOver_ = true;
    thread_.join();
    for (std::thread &thread : connections_)
      thread.join();
    close(listener_);
  }
  LoopbackServer(const LoopbackServer &) = delete;
  LoopbackServer &operator=(const LoopbackServer &) = delete;

  std::string url(const std::string &path = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

private:
  void accept() {
    while (!isOver_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (poll(&waiting, 1, 10) <= 0)
        continue;
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0)
        connections_.emplace_back([this, fd] { serve(fd); });
    }
  }
  void serve(int fd) {
    std::string head;
    char buffer[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      pollfd waiting{fd, POLLIN, 0};
      if (isOver_ || poll(&waiting, 1, 1000) < 0)
        break;
      const ssize_t count = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count == 0)
        break;
      if (count > 0)
        head.append(buffer, static_cast<size_t>(count));
    }
    Request request;
    const size_t from = head.find(' ') + 1;
    request.path = head.substr(from, head.find(' ', from) - from);
    for (const char c : head)
      request.head += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    {
      const std::lock_guard lock(mutex_);
      request.number = static_cast<int>(requests_.size());
      requests_.push_back(request);
    }
    sendAll(fd, handler_(request));
    close(fd);
  }
  static void sendAll(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0)
        return;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    shutdown(fd, SHUT_WR);
  }

  const Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> isOver_ = false;
  std::thread thread_;
  std::vector<std::thread> connections_; // of the accepting thread
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
};

} // namespace sinter::store
