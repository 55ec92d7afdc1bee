// TLS: certificates of a test's own, clients of OpenSSL.
#include "serve/certificates.h"
#include "serve/http_client.h"

#include <filesystem>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace sinter::serve {
namespace {

using testing::HasSubstr;

// A key that only a password opens.
std::string writeLockedKey(const std::string &folder) {
  const std::string path = folder + "/locked.key";
  EVP_PKEY *key = EVP_EC_gen("P-256");
  FILE *file = std::fopen(path.c_str(), "w");
  unsigned char password[] = "password";
  PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), password, sizeof password - 1, nullptr,
                       nullptr);
  std::fclose(file);
  EVP_PKEY_free(key);
  return path;
}

// Trusts whatever certificate it is shown.
class TlsClient {
public:
  explicit TlsClient(uint16_t port, int mostVersion = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_max_proto_version(ssl_, mostVersion);
    SSL_set_security_level(ssl_, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval most = {20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    SSL_set_fd(ssl_, fd_);
    connected_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
                 SSL_connect(ssl_) == 1;
  }
  ~TlsClient() {
    SSL_free(ssl_);
    close(fd_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient &) = delete;
  TlsClient &operator=(const TlsClient &) = delete;

  bool connected() const { return connected_; }
  bool send(const std::string &bytes) const {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // Until `text` came; false: the end came first.
  bool sees(const std::string &text) {
    char bytes[16384];
    while (in_.find(text) == std::string::npos) {
      const int count = SSL_read(ssl_, bytes, sizeof bytes);
      if (count <= 0)
        return false;
      in_.append(bytes, static_cast<size_t>(count));
    }
    return true;
  }
  // Whether the server said that nothing more comes, so that nobody can have cut the answer.
  bool seesEnd() {
    char byte;
    const int count = SSL_read(ssl_, &byte, 1);
    return count == 0 && SSL_get_error(ssl_, count) == SSL_ERROR_ZERO_RETURN;
  }
  size_t received() const { return in_.size(); }

private:
  SSL_CTX *context_;
  SSL *ssl_;
  int fd_ = -1;
  bool connected_ = false;
  std::string in_;
};

class HttpsServer : public ServerTest {
protected:
  HttpsServer() {
    folder_ = testing::TempDir() + "sinter-tls-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    files_ = writeCertificate(folder_, "own");
    options_.tls = {files_.certificate, files_.key};
  }
  ~HttpsServer() override { std::filesystem::remove_all(folder_); }

  std::string whyNot() {
    const auto server = Server::start(options_, routes_);
    return server ? "it started" : server.error().message;
  }

  std::string folder_;
  Files files_;
};

TEST_F(HttpsServer, AnswersThroughTls) {
  start();
  EXPECT_THAT(server_->addresses()[0], HasSubstr("https://127.0.0.1:"));
  TlsClient one(server_->port());
  ASSERT_TRUE(one.connected());
  const std::string body(300'000, 'x');
  ASSERT_TRUE(one.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                       "Content-Length: 300000\r\n\r\n"));
  ASSERT_TRUE(one.send(body));
  EXPECT_TRUE(one.sees("\r\n\r\n" + body));
  EXPECT_TRUE(one.seesEnd());
}

TEST_F(HttpsServer, StreamsAndNoticesThatTheClientGoes) {
  start();
  std::atomic<bool> gone = false;
  {
    TlsClient one(server_->port());
    ASSERT_TRUE(one.send(kAskLater));
    const auto responder = later(0);
    responder->onGone([&] { gone = true; });
    responder->begin({200, "text/event-stream", ""});
    responder->write("data: 1\n\n");
    EXPECT_TRUE(one.sees("data: 1\n\n"));
  }
  EXPECT_TRUE(comes([&] { return gone.load(); }));
  EXPECT_TRUE(hasNoConnection());
}

TEST_F(HttpsServer, RefusesOldVersions) {
  start();
  EXPECT_FALSE(TlsClient(server_->port(), TLS1_1_VERSION).connected());
  EXPECT_TRUE(TlsClient(server_->port(), TLS1_2_VERSION).connected());
}

TEST_F(HttpsServer, ClosesClientsThatSpeakNoTlsOrNothing) {
  options_.limits.handshake = std::chrono::milliseconds(50);
  start();
  EXPECT_EQ(client().get("/hello").status, 0);
  EXPECT_TRUE(client().seesEnd());
  EXPECT_TRUE(hasNoConnection());
}

TEST_F(HttpsServer, IsRefusedFilesThatDoNotDo) {
  const Files other = writeCertificate(folder_, "other");
  options_.tls = {folder_ + "/none.pem", files_.key};
  EXPECT_THAT(whyNot(), HasSubstr("cannot read the certificate '" + folder_ + "/none.pem'"));
  options_.tls = {files_.certificate, other.key};
  EXPECT_THAT(whyNot(), HasSubstr("is not the one of the certificate"));
  options_.tls = {files_.key, files_.key};
  EXPECT_THAT(whyNot(), HasSubstr("is no PEM file that TLS can use"));
  options_.tls = {files_.certificate, writeLockedKey(folder_)};
  EXPECT_THAT(whyNot(), HasSubstr("locked.key' is no PEM file that TLS can use"));
  options_.tls = {files_.certificate, files_.certificate};
  EXPECT_THAT(whyNot(), HasSubstr("the key '" + files_.certificate + "'"));
}

} // namespace
} // namespace sinter::serve
