// One HTTP request and the way back to its client, as routes see them. No socket, no library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::serve {

// Names in lower case, in the order in which they came.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method; // "GET"
  std::string path;   // percent-decoded, without the query: "/v1/models/smollm2"
  std::vector<std::pair<std::string, std::string>> query;
  Headers headers;
  std::string body;    // whole, within the server's limit
  std::string client;  // address, or "unix"; for logs
  std::string keyName; // of the API key that it came with; empty: keys are not asked for
  std::string account; // whom limits and fairness count it for: the key's name, else the client
  std::string route;   // the pattern of the route: "/v1/models/{model}"
  std::vector<std::pair<std::string, std::string>> parameters; // of the pattern, by name

  // The first of that name, which is in lower case; empty where there is none.
  std::string_view header(std::string_view name) const { return find(headers, name); }
  std::string_view parameter(std::string_view name) const { return find(parameters, name); }

private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  static std::string_view find(const Pairs &pairs, std::string_view name) {
    for (const auto &[key, value] : pairs)
      if (key == name)
        return value;
    return {};
  }
};

struct HttpResponse {
  uint16_t status = 200;
  std::string contentType = "application/json";
  std::string body;
  Headers headers = {}; // beside those that the server writes
};

// Answers one request. Every call is safe from any thread and none waits: bytes are queued for the
// connection. What is dropped without an answer is answered with status 500.
class Responder {
public:
  virtual ~Responder() = default;

  // The whole answer. At most once, and not after begin().
  virtual void respond(HttpResponse response) = 0;

  // An answer in parts: chunks of HTTP/1.1. `head` has no body.
  virtual void begin(HttpResponse head) = 0;
  // False: the client is gone, or has so much unread that it was given up. Whoever makes the answer
  // stops then.
  virtual bool write(std::string bytes) = 0;
  virtual void end() = 0;

  // Called once, from any thread, when the client goes before the answer is whole; at once where it
  // has gone. Not after end() or respond().
  virtual void onGone(std::function<void()> callback) = 0;
};

// Called on an I/O thread; must not wait. May answer later, from any thread.
using HttpHandler = std::function<void(HttpRequest, std::shared_ptr<Responder>)>;

} // namespace sinter::serve
