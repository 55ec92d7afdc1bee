// Sockets through Boost.Asio, TLS through OpenSSL.
#include "serve/http/transport_adapter.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509err.h>
#include <unistd.h>

namespace sinter::serve {
namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

void closeSocket(StreamSocket &socket) {
  error_code ignored;
  socket.close(ignored);
}

void shutdownSending(StreamSocket &socket) {
  error_code ignored;
  socket.shutdown(StreamSocket::shutdown_send, ignored);
}

class PlainTransport final : public Transport {
public:
  explicit PlainTransport(StreamSocket socket) : socket_(std::move(socket)) {}

  asio::awaitable<error_code> handshake() override { co_return error_code(); }
  asio::awaitable<Moved> readSome(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await socket_.async_read_some(into, kToken);
    co_return Moved{error, bytes};
  }
  asio::awaitable<Moved> writeSome(asio::const_buffer from) override {
    const auto [error, bytes] = co_await socket_.async_write_some(from, kToken);
    co_return Moved{error, bytes};
  }
  asio::awaitable<void> finish() override {
    shutdownSending(socket_);
    co_return;
  }
  void close() override { closeSocket(socket_); }

private:
  StreamSocket socket_;
};

class TlsTransport final : public Transport {
public:
  TlsTransport(StreamSocket socket, asio::ssl::context &context)
      : stream_(std::move(socket), context) {}

  asio::awaitable<error_code> handshake() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kToken);
    co_return error;
  }
  asio::awaitable<Moved> readSome(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await stream_.async_read_some(into, kToken);
    co_return Moved{error, bytes};
  }
  asio::awaitable<Moved> writeSome(asio::const_buffer from) override {
    const auto [error, bytes] = co_await stream_.async_write_some(from, kToken);
    co_return Moved{error, bytes};
  }
  // Sends close_notify and does not wait for the client's: a read may be under way.
  asio::awaitable<void> finish() override {
    SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    co_await stream_.async_shutdown(kToken);
    shutdownSending(stream_.next_layer());
  }
  void close() override { closeSocket(stream_.next_layer()); }

private:
  asio::ssl::stream<StreamSocket> stream_;
};

Fail tlsFault(const std::string &what, const std::string &path, const error_code &error) {
  if (access(path.c_str(), R_OK) != 0)
    return fail(errno == ENOENT ? Code::NotFound : Code::Permission,
                "cannot read the " + what + " '" + path + "': " + std::strerror(errno));
  return fail(Code::InvalidArgument, "the " + what + " '" + path +
                                         "' is no PEM file that TLS can use: " + error.message());
}

// HTTP/1.1 is all that is spoken.
int chooseProtocol(SSL *, const unsigned char **out, unsigned char *outBytes,
                   const unsigned char *in, unsigned inBytes, void *) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char *chosen = nullptr;
  if (SSL_select_next_proto(&chosen, outBytes, kOurs, sizeof kOurs - 1, in, inBytes) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

} // namespace

std::unique_ptr<Transport> makePlainTransport(StreamSocket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> makeTlsTransport(StreamSocket socket, asio::ssl::context &context) {
  return std::make_unique<TlsTransport>(std::move(socket), context);
}

Result<std::unique_ptr<asio::ssl::context>> makeTlsContext(const TlsFiles &files) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  context->use_certificate_chain_file(files.certificate, error);
  if (error)
    return tlsFault("certificate", files.certificate, error);
  // Without it OpenSSL would ask the terminal.
  context->set_password_callback(
      [](size_t, asio::ssl::context::password_purpose) { return std::string(); }, error);
  context->use_private_key_file(files.key, asio::ssl::context::pem, error);
  const auto code = static_cast<unsigned long>(error.value());
  if (error.category() == asio::error::get_ssl_category() && ERR_GET_LIB(code) == ERR_LIB_X509 &&
      ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH)
    return fail(Code::InvalidArgument, "the key '" + files.key +
                                           "' is not the one of the certificate '" +
                                           files.certificate + "'");
  if (error)
    return tlsFault("key", files.key, error);
  SSL_CTX *native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(native, chooseProtocol, nullptr);
  return context;
}

} // namespace sinter::serve
