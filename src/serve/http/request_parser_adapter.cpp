// Boost.Beast's parser behind the rules on heads: it throws nothing here, but its headers need
// exceptions.
#include "serve/http/request_parser.h"

#include "serve/http/ascii.h"
#include "serve/http/head_rules.h"
#include "serve/http/target.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace sinter::serve {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

// Collects what Beast's parser reads.
class Collector : public http::basic_parser<true> {
public:
  HttpRequest request;
  std::string target;
  bool isHttp10 = false;
  size_t extraBytes = 0; // that extensions of a chunk, or all trailers, may have
  std::uint64_t chunkLeft = 0;
  bool hadChunk = false; // so that CR LF comes before the next one's size

private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code &) override {
    isHttp10 = version == 10;
    request.method.assign(method.data(), method.size());
    this->target.assign(target.data(), target.size());
  }
  void on_response_impl(int, string_view, int, error_code &) override {}
  // Fields behind a chunked body, trailers, are dropped.
  void on_field_impl(http::field, string_view name, string_view value, error_code &error) override {
    if (!is_header_done()) {
      request.headers.emplace_back(lowerCase({name.data(), name.size()}),
                                   std::string(value.data(), value.size()));
      return;
    }
    trailerBytes_ += name.size() + value.size();
    if (trailerBytes_ > extraBytes)
      error = http::error::header_limit;
  }
  void on_header_impl(error_code &) override {}
  // What a client announces is not yet worth memory.
  void on_body_init_impl(const boost::optional<std::uint64_t> &length, error_code &) override {
    constexpr std::uint64_t kMostAhead = 1 << 20;
    request.body.reserve(std::min(length.value_or(0), kMostAhead));
  }
  std::size_t on_body_impl(string_view bytes, error_code &) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, string_view extensions,
                            error_code &error) override {
    chunkLeft = size;
    hadChunk = true;
    if (extensions.size() > extraBytes)
      error = http::error::header_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code &) override {
    request.body.append(bytes.data(), bytes.size());
    chunkLeft -= bytes.size();
    return bytes.size();
  }
  void on_finish_impl(error_code &) override {}

  size_t trailerBytes_ = 0;
};

constexpr std::string_view kLineEnd = "\r\n";

bool hasOpenQuote(std::string_view text) {
  bool isOpen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"')
      isOpen = !isOpen;
    i += isOpen && text[i] == '\\';
  }
  return isOpen;
}

// Trailers that came so far; Beast takes a folded one.
bool hasFoldedTrailer(std::string_view trailers) {
  trailers = trailers.substr(0, trailers.find("\r\n\r\n"));
  return trailers.find("\r\n ") != trailers.npos || trailers.find("\r\n\t") != trailers.npos;
}

// Whether bytes may go on as a chunk's size, or as the trailers behind the last one; `hadChunk`:
// behind the CR LF of the chunk before. Beast finds some faults only once more bytes follow, for
// which a client need not be waited for.
bool mayBeChunkHead(std::string_view bytes, bool hadChunk) {
  constexpr size_t kMostDigits = 32; // most of them zeros
  if (hadChunk) {
    if (!kLineEnd.starts_with(bytes.substr(0, 2)))
      return false;
    bytes.remove_prefix(std::min(bytes.size(), kLineEnd.size()));
  }
  const size_t digits = std::min(bytes.find_first_not_of("0123456789abcdefABCDEF"), bytes.size());
  if (digits == 0 || digits > kMostDigits)
    return bytes.empty();
  const std::string_view rest = bytes.substr(digits);
  const size_t spaces = std::min(rest.find_first_not_of(" \t"), rest.size());
  const bool hasExtension = rest.substr(spaces).starts_with(';');
  if (spaces < rest.size() && !hasExtension &&
      (spaces > 0 || !kLineEnd.starts_with(rest.substr(0, 2))))
    return false;
  const size_t end = rest.find(kLineEnd);
  if (end == rest.npos)
    return true;
  const bool isLast = bytes.substr(0, digits).find_first_not_of('0') == bytes.npos;
  return !hasOpenQuote(rest.substr(0, end)) && !(isLast && hasFoldedTrailer(rest.substr(end)));
}

} // namespace

struct RequestParser::Impl {
  explicit Impl(const HttpLimits &given) : limits(given) {
    // A step at a time: putBody() looks at the bytes before each.
    parser.eager(false);
    parser.header_limit(static_cast<std::uint32_t>(limits.headBytes));
    parser.body_limit(boost::none);
    parser.extraBytes = limits.headBytes / 2; // well below where putBody() gives up
  }

  std::optional<HttpFault> limitBody(size_t bytes) {
    bodyBytes = bytes;
    if (parser.content_length().value_or(0) > bytes)
      return fault(http::error::body_limit);
    parser.body_limit(bytes);
    return std::nullopt;
  }

  HttpFault fault(const error_code &error) const {
    if (error == http::error::body_limit)
      return {413, "the request's body has more than " + std::to_string(bodyBytes) + " bytes"};
    if (error == http::error::header_limit)
      return {431, "the request's head has too many bytes"};
    return {400, "the request is not HTTP/1.1: " + error.message()};
  }

  tl::expected<size_t, HttpFault> putHead(std::string_view bytes) {
    // An empty line before a request is an old client's mistake (RFC 9112, section 2.2).
    if (scanned == 0 && !skippedLine && bytes.starts_with("\r\n")) {
      skippedLine = true;
      return 2;
    }
    if (bytes == "\r" && !skippedLine)
      return 0;
    begun = begun || !bytes.empty();
    HeadEnd end = findHeadEnd(bytes, scanned, limits);
    if (end.fault)
      return tl::unexpected(std::move(*end.fault));
    if (end.bytes == 0)
      return 0;
    if (auto bad = checkHead(bytes.substr(0, end.bytes), limits))
      return tl::unexpected(std::move(*bad));
    error_code error;
    parser.put(boost::asio::const_buffer(bytes.data(), end.bytes), error);
    if (error && error != http::error::need_more)
      return tl::unexpected(fault(error));
    if (!parser.is_header_done())
      return tl::unexpected(HttpFault{400, "the request's head is not HTTP/1.1"});
    return finishHead().map([&] { return end.bytes; });
  }

  tl::expected<void, HttpFault> finishHead() {
    HttpRequest &request = parser.request;
    auto target = parseTarget(parser.target);
    if (!target)
      return tl::unexpected(std::move(target).error());
    authority = request.header("host");
    if (!target->authority.empty() && !authority.empty() &&
        !equalsIgnoringCase(authority, target->authority))
      return tl::unexpected(HttpFault{400, "the target names another host than Host"});
    if (authority.empty())
      authority = target->authority;
    if (target->path == "*" && request.method != "OPTIONS")
      return tl::unexpected(HttpFault{400, "the target '*' is for OPTIONS alone"});
    request.path = std::move(target->path);
    request.query = std::move(target->query);
    const std::string_view expect = request.header("expect");
    if (!expect.empty() && !equalsIgnoringCase(expect, "100-continue"))
      return tl::unexpected(HttpFault{417, "Expect is not '100-continue'"});
    expectsContinue = !expect.empty() && !parser.isHttp10;
    headDone = true;
    return {};
  }

  tl::expected<size_t, HttpFault> putBody(std::string_view bytes) {
    if (parser.is_done())
      return 0;
    // The end of a chunked body has so many; Beast asserts that it sees no fewer of it.
    constexpr size_t kLastChunkBytes = 5;
    const bool hasChunks = !parser.content_length();
    // So that a head that is too long is refused however it arrives.
    const bool isChunkHead = hasChunks && parser.chunkLeft == 0;
    const std::string_view seen = isChunkHead ? bytes.substr(0, limits.headBytes) : bytes;
    if (isChunkHead && !mayBeChunkHead(seen, parser.hadChunk))
      return tl::unexpected(fault(http::error::bad_chunk));
    const bool hasNext = hasChunks && !isChunkHead && parser.chunkLeft < bytes.size();
    if (hasNext && !mayBeChunkHead(bytes.substr(parser.chunkLeft, limits.headBytes), true))
      return tl::unexpected(fault(http::error::bad_chunk));
    if (seen.size() < (hasChunks ? kLastChunkBytes : 1))
      return 0;
    error_code error;
    const size_t taken = parser.put(boost::asio::const_buffer(seen.data(), seen.size()), error);
    if (error && error != http::error::need_more)
      return tl::unexpected(fault(error));
    // The body itself is taken at once: what stays is a line of a chunk, or trailers.
    if (taken == 0 && bytes.size() > limits.headBytes)
      return tl::unexpected(HttpFault{431, "a chunk's extensions or the trailers have more than " +
                                               std::to_string(limits.headBytes) + " bytes"});
    return taken;
  }

  HttpLimits limits;
  size_t bodyBytes = 0;
  Collector parser;
  std::string authority;
  size_t scanned = 0;
  bool skippedLine = false, begun = false, headDone = false, expectsContinue = false;
};

RequestParser::RequestParser(const HttpLimits &limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

tl::expected<size_t, HttpFault> RequestParser::put(std::string_view bytes) {
  return impl_->headDone ? impl_->putBody(bytes) : impl_->putHead(bytes);
}

bool RequestParser::headDone() const {
  return impl_->headDone;
}
bool RequestParser::done() const {
  return impl_->headDone && impl_->parser.is_done();
}
bool RequestParser::begun() const {
  return impl_->begun;
}
HttpRequest &RequestParser::request() {
  return impl_->parser.request;
}
const std::string &RequestParser::authority() const {
  return impl_->authority;
}
bool RequestParser::isHttp10() const {
  return impl_->parser.isHttp10;
}
bool RequestParser::keepsAlive() const {
  return impl_->parser.keep_alive();
}
bool RequestParser::expectsContinue() const {
  return impl_->expectsContinue;
}
std::optional<uint64_t> RequestParser::contentLength() const {
  const auto length = impl_->parser.content_length();
  return length ? std::optional<uint64_t>(*length) : std::nullopt;
}
std::optional<HttpFault> RequestParser::limitBody(size_t bytes) {
  return impl_->limitBody(bytes);
}

} // namespace sinter::serve
