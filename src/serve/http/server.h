// An HTTP/1.1 server: listens, reads requests, asks routes, sends answers. A few threads serve any
// number of connections.
#pragma once

#include "base/status.h"
#include "serve/http/access_rules.h"
#include "serve/http/api_keys.h"
#include "serve/http/limits.h"
#include "serve/http/pending_answer.h"
#include "serve/http/quotas.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// One request as it went; for logs and metrics.
struct RequestRecord {
  std::chrono::system_clock::time_point received;
  std::string client, keyName, method, path, route, userAgent;
  uint64_t requestBytes = 0; // of the body
  AnswerFacts answer;
  double seconds = 0; // from the head's last byte to the answer's, or to its end otherwise
};

struct TlsFiles {
  std::string certificate; // a chain, PEM
  std::string key;         // PEM
};

struct ServerOptions {
  std::string host = "127.0.0.1"; // a name or an address; empty: no TCP
  uint16_t port = 11434;          // 0: the system chooses
  std::string unixPath;           // a socket of the file system; empty: none
  std::optional<TlsFiles> tls;    // for TCP
  uint32_t threads = 2;
  HttpLimits limits;
  std::vector<std::string> hosts, origins; // AccessRules'
  std::shared_ptr<const ApiKeys> keys;     // none, or none in it: none is asked for
  std::shared_ptr<Quotas> quotas;          // none: no limit
  // Called on an I/O thread behind each request; must not wait.
  std::function<void(const RequestRecord &)> onRequest;
  // Called on an I/O thread with what an operator should know, such as that descriptors ran out.
  std::function<void(const std::string &)> onTrouble;
};

// Of now, and totals since the start.
struct ServerState {
  uint64_t connections = 0, requests = 0;
  uint64_t accepted = 0, evicted = 0;
};

class Server {
public:
  // Listens from here on. NotFound, Permission, InvalidArgument, Exhausted: an address, a file or
  // the system is at fault; the message says which.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Routes routes);
  // Cancels what still runs.
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  // Where it listens: "http://127.0.0.1:11434", "https://...", "unix:/path".
  const std::vector<std::string> &addresses() const;
  uint16_t port() const; // of TCP
  // Every address of it is this machine's own.
  bool isLoopback() const;
  ServerState state() const;

  // Accepts nothing more, closes connections without a request, and waits for the others' answers
  // for at most `most`. False: some were cancelled then. Once.
  bool drain(std::chrono::milliseconds most);

private:
  Server();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace sinter::serve
