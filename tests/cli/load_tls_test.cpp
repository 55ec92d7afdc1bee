// The client of `sinter bench serve` over TLS and Unix sockets.
#include "cli/load/load_client.h"

#include "serve/certificates.h"
#include "serve/http_client.h"

#include <filesystem>

namespace sinter::cli {
namespace {

using testing::HasSubstr;

class LoadTransports : public serve::ServerTest {
protected:
  LoadTransports() {
    std::filesystem::create_directories(folder_);
    add("POST", "/v1/completions",
        [this](const serve::HttpRequest &request,
               const std::shared_ptr<serve::Responder> &responder) {
          key_ = request.header("authorization");
          responder->begin({200, "text/event-stream", ""});
          responder->write(
              "data: {\"choices\": [{\"text\": \"a\", \"finish_reason\": \"stop\"}]}\n\n");
          responder->write("data: [DONE]\n\n");
          responder->end();
        });
  }
  ~LoadTransports() override { std::filesystem::remove_all(folder_); }

  static RunFigures runTo(const std::string &url, LoadTexts texts = {}) {
    texts["url"] = {url};
    texts["requests"] = {"4"};
    const auto load = readLoadOptions(texts);
    auto client = LoadClient::open(load->target);
    const auto workload = Workload::create(*load, "m");
    if (!client || !workload)
      return {};
    const LoadRun run{.shape = {.concurrency = 2}, .requests = 4};
    return (*client)->run(run, *workload, false, [](uint64_t) {});
  }

  const std::string folder_ = testing::TempDir() + "sinter-load-" + std::to_string(getpid());
  std::string key_;
};

TEST_F(LoadTransports, TlsTrustsWhatItIsToldTo) {
  const serve::Files files = serve::writeCertificate(folder_, "own");
  options_.tls = {files.certificate, files.key};
  options_.threads = 1;
  start();
  const std::string url = "https://localhost:" + std::to_string(server_->port());
  EXPECT_EQ(runTo(url, {{"tls-ca", {files.certificate}}, {"key", {"k"}}}).answered, 4u);
  EXPECT_EQ(key_, "Bearer k");
  EXPECT_EQ(runTo(url, {{"insecure", {""}}}).answered, 4u);
  const RunFigures stranger = runTo(url);
  EXPECT_EQ(stranger.answered, 0u);
  EXPECT_THAT(stranger.errors.at("no connection").example, HasSubstr("certificate"));
  // The name that the certificate has is not this one.
  const RunFigures other = runTo("https://127.0.0.1:" + std::to_string(server_->port()),
                                 {{"tls-ca", {files.certificate}}});
  EXPECT_EQ(other.answered, 0u);
}

TEST_F(LoadTransports, UnixSocketsWorkAsTcpDoes) {
  options_.host.clear();
  options_.unixPath = folder_ + "/socket";
  options_.threads = 1;
  start();
  EXPECT_EQ(runTo("unix:" + options_.unixPath).answered, 4u);
  EXPECT_EQ(runTo("unix:" + folder_ + "/none").errors.at("no connection").count, 4u);
}

} // namespace
} // namespace sinter::cli
