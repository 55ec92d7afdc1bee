// A server of OpenAI's completions that answers as a test says, well or badly.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sinter {

enum class Behaviour {
  Good,
  ClosesEach, // good, and without keep-alive
  Slow,       // good, 20 ms before each event
  Status500,
  Overloaded, // 503 with Retry-After
  Limited,    // 429 without
  ClosesAtOnce,
  ClosesInTheHead,
  ClosesInTheAnswer,
  BadJson,
  BadHttp,
  ErrorEvent,
  NoEnd,
  NoToken,
  Silent
};

class FakeOpenai {
public:
  // Of each request by its number.
  explicit FakeOpenai(std::function<Behaviour(size_t)> behaviour)
      : behaviour_(std::move(behaviour)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 128), 0);
    getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { acceptAll(); });
  }
  ~FakeOpenai() {
    ending_ = true;
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : sockets_)
        shutdown(fd, SHUT_RDWR);
    }
    for (std::thread &each : serving_)
      each.join();
    for (const int fd : sockets_)
      close(fd);
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  size_t connections() const {
    const std::lock_guard lock(mutex_);
    return sockets_.size();
  }
  size_t mostUnderWay() const { return mostUnderWay_; }

private:
  void acceptAll() {
    for (int fd; !ending_ && (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const std::lock_guard lock(mutex_);
      sockets_.push_back(fd);
      serving_.emplace_back([this, fd] { serve(fd); });
    }
  }
  static bool send(int fd, const std::string &text) {
    return ::send(fd, text.data(), text.size(), MSG_NOSIGNAL) == std::ssize(text);
  }
  static std::string chunk(const std::string &text) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    return size + text + "\r\n";
  }
  static std::string event(const nlohmann::json &json) { return "data: " + json.dump() + "\n\n"; }

  void serve(int fd) {
    std::string in;
    char bytes[4096];
    for (ssize_t count; (count = recv(fd, bytes, sizeof bytes, 0)) > 0;) {
      in.append(bytes, static_cast<size_t>(count));
      for (std::string body; takeRequest(in, body);)
        if (!answer(fd, body))
          return static_cast<void>(shutdown(fd, SHUT_RDWR));
    }
  }
  static bool takeRequest(std::string &in, std::string &body) {
    const size_t head = in.find("\r\n\r\n"), at = in.find("Content-Length: ");
    if (head == in.npos)
      return false;
    const size_t length = at < head ? std::strtoul(in.c_str() + at + 16, nullptr, 10) : 0;
    if (in.size() < head + 4 + length)
      return false;
    body = in.substr(head + 4, length);
    in.erase(0, head + 4 + length);
    return true;
  }
  // False: the connection ends.
  bool answer(int fd, const std::string &body) {
    if (body.empty()) {
      const std::string models = R"({"data": [{"id": "fake"}]})";
      return send(fd, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(models.size()) +
                          "\r\n\r\n" + models);
    }
    size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = bodies_.size();
      bodies_.push_back(body);
      mostUnderWay_ = std::max<size_t>(mostUnderWay_, ++underWay_);
    }
    const bool goesOn = answerAs(fd, behaviour_(number), nlohmann::json::parse(body));
    const std::lock_guard lock(mutex_);
    --underWay_;
    return goesOn;
  }
  bool answerAs(int fd, Behaviour behaviour, const nlohmann::json &request) {
    switch (behaviour) {
    case Behaviour::Status500:
      return send(fd, "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops");
    case Behaviour::Overloaded:
      return send(fd, "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
    case Behaviour::Limited:
      return send(fd, "HTTP/1.1 429 Slow down\r\nContent-Length: 0\r\n\r\n");
    case Behaviour::ClosesAtOnce:
      return false;
    case Behaviour::ClosesInTheHead:
      return send(fd, "HTTP/1.1 200 OK\r\nContent-") && false;
    case Behaviour::BadHttp:
      return send(fd, "220 mail.example ESMTP\r\n\r\n") && false;
    case Behaviour::Silent:
      return true;
    default:
      return stream(fd, behaviour, request);
    }
  }
  static bool stream(int fd, Behaviour behaviour, const nlohmann::json &request) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    send(fd, head + (behaviour == Behaviour::ClosesEach ? "Connection: close\r\n" : "") +
                 "Transfer-Encoding: chunked\r\n\r\n");
    const int tokens = behaviour == Behaviour::NoToken ? 0 : request.value("max_tokens", 0);
    for (int i = 0; i < tokens; ++i) {
      if (behaviour == Behaviour::Slow)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (behaviour == Behaviour::ClosesInTheAnswer && i == 1)
        return false;
      if (behaviour == Behaviour::BadJson && i == 1)
        send(fd, chunk("data: {\"choices\": [\n\n"));
      if (behaviour == Behaviour::ErrorEvent && i == 1)
        send(fd, chunk(event({{"error", {{"message", "out of luck"}}}})));
      send(fd, chunk(event({{"choices", {{{"text", "a"}, {"finish_reason", nullptr}}}}})));
    }
    if (behaviour != Behaviour::NoEnd) {
      send(fd, chunk(event({{"choices", {{{"text", ""}, {"finish_reason", "length"}}}}})));
      send(fd, chunk(event({{"choices", nlohmann::json::array()},
                            {"usage", {{"prompt_tokens", 7}, {"completion_tokens", tokens}}}})));
      send(fd, chunk("data: [DONE]\n\n"));
    }
    return send(fd, "0\r\n\r\n") && behaviour != Behaviour::ClosesEach;
  }

  const std::function<Behaviour(size_t)> behaviour_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread accepting_;
  mutable std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> serving_;
  std::vector<std::string> bodies_;
  size_t underWay_ = 0;
  std::atomic<size_t> mostUnderWay_ = 0;
};

} // namespace sinter
