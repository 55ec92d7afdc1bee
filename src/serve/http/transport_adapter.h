// A connection's bytes, plain or through TLS. For *_adapter.cpp files alone: it includes Boost.
#pragma once

#include "serve/http/server.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>

namespace sinter::serve {

namespace asio = boost::asio;
using boost::system::error_code;
using StreamSocket = asio::generic::stream_protocol::socket;

// All calls are made on the socket's strand. One read and one write may be under way together.
class Transport {
public:
  struct Moved {
    error_code error;
    size_t bytes = 0;
  };

  virtual ~Transport() = default;
  virtual asio::awaitable<error_code> handshake() = 0;
  virtual asio::awaitable<Moved> readSome(asio::mutable_buffer into) = 0;
  virtual asio::awaitable<Moved> writeSome(asio::const_buffer from) = 0;
  // Says to the client that nothing more comes.
  virtual asio::awaitable<void> finish() = 0;
  // Ends what is under way. May be called again.
  virtual void close() = 0;
};

std::unique_ptr<Transport> makePlainTransport(StreamSocket socket);
std::unique_ptr<Transport> makeTlsTransport(StreamSocket socket, asio::ssl::context &context);

// A server's context with its certificate and key. NotFound, InvalidArgument: which file is at
// fault, and why.
Result<std::unique_ptr<asio::ssl::context>> makeTlsContext(const TlsFiles &files);

} // namespace sinter::serve
