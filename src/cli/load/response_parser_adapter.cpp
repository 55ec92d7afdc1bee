// Boost.Beast's parser: it throws nothing here, but its headers need exceptions.
#include "cli/load/response_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace sinter::cli {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

class Collector : public http::basic_parser<false> {
public:
  unsigned code = 0;
  std::optional<std::string> retryAfter;
  std::string *body = nullptr; // during put()

private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code &) override {}
  void on_response_impl(int status, string_view, int, error_code &) override {
    code = static_cast<unsigned>(status);
  }
  void on_field_impl(http::field field, string_view, string_view value, error_code &) override {
    if (field == http::field::retry_after)
      retryAfter.emplace(value.data(), value.size());
  }
  void on_header_impl(error_code &) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t> &, error_code &) override {}
  std::size_t on_body_impl(string_view bytes, error_code &) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code &) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code &) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code &) override {}
};

constexpr std::uint32_t kMostHead = 64 << 10;

} // namespace

struct ResponseParser::Impl {
  Impl() {
    parser.eager(true);
    parser.header_limit(kMostHead);
    parser.body_limit(boost::none);
  }

  Collector parser;
  std::string waiting, why;
  bool begun = false;
};

ResponseParser::ResponseParser() : impl_(std::make_unique<Impl>()) {}
ResponseParser::~ResponseParser() = default;

bool ResponseParser::put(std::string_view bytes, std::string &body) {
  Impl &it = *impl_;
  it.begun = it.begun || !bytes.empty();
  it.waiting += bytes;
  it.parser.body = &body;
  while (!it.waiting.empty() && !it.parser.is_done()) {
    error_code error;
    const size_t taken =
        it.parser.put(boost::asio::const_buffer(it.waiting.data(), it.waiting.size()), error);
    it.waiting.erase(0, taken);
    if (error == http::error::need_more && it.waiting.size() < kMostHead)
      return true;
    if (error) {
      it.why = error.message();
      return false;
    }
    if (taken == 0)
      return true;
  }
  return true;
}

bool ResponseParser::end() {
  if (impl_->parser.is_done())
    return true;
  if (!impl_->parser.is_header_done() || !impl_->waiting.empty())
    return false;
  std::string rest;
  impl_->parser.body = &rest;
  error_code error;
  impl_->parser.put_eof(error);
  return !error && impl_->parser.is_done();
}

const std::string &ResponseParser::why() const {
  return impl_->why;
}
bool ResponseParser::begun() const {
  return impl_->begun;
}
bool ResponseParser::headDone() const {
  return impl_->parser.is_header_done();
}
bool ResponseParser::done() const {
  return impl_->parser.is_done();
}
unsigned ResponseParser::status() const {
  return impl_->parser.code;
}
bool ResponseParser::keepsAlive() const {
  return impl_->parser.is_done() && impl_->waiting.empty() && impl_->parser.keep_alive();
}
const std::optional<std::string> &ResponseParser::retryAfter() const {
  return impl_->parser.retryAfter;
}

} // namespace sinter::cli
