// Transfers by libcurl's easy interface. Redirects are followed here, one request each, so that a
// token goes to the host that it is for and an encrypted address leads to no plain one.
#include "store/curl_library.h"
#include "store/http_head.h"

#include <algorithm>
#include <cstdlib>

namespace sinter::store {
namespace {

constexpr size_t kMostErrorText = 2048;

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  });
  return lower;
}

// "https://host:443", for comparing whom a token goes to.
std::string originOf(std::string_view url) {
  const size_t scheme = url.find("://");
  const size_t end = url.find_first_of("/?#", scheme == url.npos ? 0 : scheme + 3);
  return lowered(url.substr(0, end));
}

bool isTransient(CURLcode code) {
  switch (code) {
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_CONNECT:
  case CURLE_PARTIAL_FILE:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_HTTP2:
  case CURLE_HTTP2_STREAM:
  case CURLE_SSL_CONNECT_ERROR:
    return true;
  default:
    return false;
  }
}

class CurlClient final : public HttpClient {
public:
  CurlClient(const CurlLibrary &curl, CURL *handle, HttpOptions options)
      : curl_(curl), handle_(handle), options_(std::move(options)) {}
  ~CurlClient() override { curl_.cleanup(handle_); }

  tl::expected<HttpAnswer, HttpFailure> get(const HttpGet &get, const HttpReceiver &receiver,
                                            const IsCancelled &isCancelled) override;

private:
  // One request and its answer.
  struct Transfer {
    CurlClient &client;
    const HttpReceiver &receiver;
    const IsCancelled &isCancelled;
    HttpAnswer answer = {};
    bool hasBegun = false; // the body of an answer that is wanted
    std::optional<Status> refused = {};

    bool begin();
    bool take(std::span<const uint8_t> bytes);
  };
  static size_t onHeader(char *data, size_t size, size_t count, void *user);
  static size_t onBody(char *data, size_t size, size_t count, void *user);
  static int onProgress(void *user, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  std::optional<HttpFailure> perform(const HttpGet &get, const std::string &url, bool withBearer,
                                     Transfer &transfer);
  void setUp(const HttpGet &get, const std::string &url, Transfer &transfer);
  uint16_t status() const;
  std::string redirectUrl() const;

  const CurlLibrary &curl_;
  CURL *const handle_;
  const HttpOptions options_;
};

uint16_t CurlClient::status() const {
  long status = 0;
  curl_.getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<uint16_t>(status);
}

// Of "Location", absolute; empty where there is none.
std::string CurlClient::redirectUrl() const {
  char *url = nullptr;
  curl_.getinfo(handle_, CURLINFO_REDIRECT_URL, &url);
  return url ? url : "";
}

bool CurlClient::Transfer::begin() {
  hasBegun = true;
  answer.head.status = client.status();
  if (answer.head.status < 200 || answer.head.status >= 300 || !receiver.onHead)
    return true;
  auto taken = receiver.onHead(answer.head);
  if (!taken)
    refused = std::move(taken).error();
  return !refused;
}

bool CurlClient::Transfer::take(std::span<const uint8_t> bytes) {
  if (!hasBegun && !begin())
    return false;
  const uint16_t status = answer.head.status;
  if (status >= 400) {
    const size_t room = kMostErrorText - std::min(kMostErrorText, answer.errorText.size());
    answer.errorText.append(reinterpret_cast<const char *>(bytes.data()),
                            std::min(room, bytes.size()));
    return room > 0; // the rest is not worth its time
  }
  if (status >= 300)
    return true;
  auto taken = receiver.onBody(bytes);
  if (!taken)
    refused = std::move(taken).error();
  return !refused;
}

size_t CurlClient::onHeader(char *data, size_t size, size_t count, void *user) {
  readHeadLine({data, size * count}, static_cast<Transfer *>(user)->answer.head);
  return size * count;
}

size_t CurlClient::onBody(char *data, size_t size, size_t count, void *user) {
  const std::span bytes(reinterpret_cast<const uint8_t *>(data), size * count);
  return static_cast<Transfer *>(user)->take(bytes) ? bytes.size() : 0;
}

int CurlClient::onProgress(void *user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Transfer *>(user)->isCancelled() ? 1 : 0;
}

void CurlClient::setUp(const HttpGet &get, const std::string &url, Transfer &transfer) {
  curl_.reset(handle_); // keeps the connection
  const auto set = [this](CURLoption option, auto value) { curl_.setopt(handle_, option, value); };
  set(CURLOPT_URL, url.c_str());
  // Older than CURLOPT_PROTOCOLS_STR, so that older libraries have it.
  set(CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, options_.userAgent.c_str());
  set(CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, static_cast<long>(options_.leastBytesPerSecond));
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.slowest.count()));
  if (const char *roots = std::getenv("SSL_CERT_FILE"); roots && *roots)
    set(CURLOPT_CAINFO, roots);
  if (get.range)
    set(CURLOPT_RANGE, (std::to_string(get.range->begin) + "-" + std::to_string(get.range->end - 1))
                           .c_str()); // copied
  set(CURLOPT_HEADERFUNCTION, &CurlClient::onHeader);
  set(CURLOPT_HEADERDATA, static_cast<void *>(&transfer));
  set(CURLOPT_WRITEFUNCTION, &CurlClient::onBody);
  set(CURLOPT_WRITEDATA, static_cast<void *>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &CurlClient::onProgress);
  set(CURLOPT_XFERINFODATA, static_cast<void *>(&transfer));
}

std::optional<HttpFailure> CurlClient::perform(const HttpGet &get, const std::string &url,
                                               bool withBearer, Transfer &transfer) {
  setUp(get, url, transfer);
  curl_slist *headers = nullptr;
  if (!get.accept.empty())
    headers = curl_.append(headers, ("Accept: " + get.accept).c_str());
  if (withBearer && !get.bearer.empty())
    headers = curl_.append(headers, ("Authorization: Bearer " + get.bearer).c_str());
  curl_.setopt(handle_, CURLOPT_HTTPHEADER, headers);
  const CURLcode code = curl_.perform(handle_);
  curl_.freeAll(headers);
  if (code == CURLE_OK && !transfer.hasBegun)
    transfer.begin(); // no body
  if (transfer.refused)
    return HttpFailure{*transfer.refused};
  if (transfer.isCancelled())
    return HttpFailure{{Code::Cancelled, "interrupted while '" + shownUrl(url) + "' was fetched"}};
  const bool isEnough = transfer.hasBegun && transfer.answer.head.status >= 300;
  if (code == CURLE_OK || isEnough)
    return std::nullopt;
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
    return HttpFailure{
        {Code::InvalidArgument, "'" + shownUrl(url) + "' is no address of http or https"}};
  return HttpFailure{{code == CURLE_OPERATION_TIMEDOUT ? Code::Timeout : Code::Internal,
                      "cannot fetch '" + shownUrl(url) + "': " + curl_.strerror(code)},
                     isTransient(code)};
}

tl::expected<HttpAnswer, HttpFailure>
CurlClient::get(const HttpGet &get, const HttpReceiver &receiver, const IsCancelled &isCancelled) {
  std::string url = get.url;
  for (uint32_t redirects = 0;; ++redirects) {
    Transfer transfer{*this, receiver, isCancelled};
    if (auto failure = perform(get, url, originOf(url) == originOf(get.url), transfer))
      return tl::unexpected(std::move(*failure));
    const uint16_t status = transfer.answer.head.status;
    if (status < 300 || status >= 400)
      return std::move(transfer.answer);
    const std::string next = redirectUrl();
    const auto refuse = [&](const std::string &why) {
      return tl::unexpected(
          HttpFailure{{Code::Internal, "'" + shownUrl(get.url) + "' " + why}, false});
    };
    if (next.empty())
      return refuse("answered status " + std::to_string(status) + " without an address to go to");
    if (redirects == options_.mostRedirects)
      return refuse("leads from address to address, more than " + std::to_string(redirects) +
                    " times");
    if (originOf(url).starts_with("https:") && !originOf(next).starts_with("https:"))
      return refuse("leads to the address '" + shownUrl(next) + "', which is not encrypted");
    url = next;
  }
}

} // namespace

std::string shownUrl(std::string_view url) {
  std::string shown(url.substr(0, url.find_first_of("?#")));
  const size_t scheme = shown.find("://");
  const size_t from = scheme == shown.npos ? 0 : scheme + 3;
  const size_t at = shown.substr(0, shown.find('/', from)).rfind('@');
  if (at != shown.npos && at >= from)
    shown.erase(from, at + 1 - from);
  return shown.substr(0, 300);
}

Result<std::unique_ptr<HttpClient>> makeHttpClient(const HttpOptions &options) {
  SINTER_ASSIGN(const CurlLibrary *curl, curlLibrary());
  CURL *handle = curl->init();
  if (!handle)
    return fail(Code::Exhausted, "libcurl has no memory for a transfer");
  return std::unique_ptr<HttpClient>(new CurlClient(*curl, handle, options));
}

} // namespace sinter::store
