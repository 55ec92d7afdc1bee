// Heads of answers; the words for status codes are Boost.Beast's.
#include "serve/http/response_text.h"

#include "serve/http/ascii.h"

#include <boost/beast/http/status.hpp>
#include <ctime>

namespace sinter::serve {
namespace {

namespace http = boost::beast::http;

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string dateText() {
  constexpr const char *kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char *kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char rest[32];
  std::strftime(rest, sizeof rest, " %Y %H:%M:%S GMT", &utc);
  const std::string day = std::to_string(utc.tm_mday);
  return std::string(kDays[utc.tm_wday]) + ", " + (day.size() < 2 ? "0" : "") + day + " " +
         kMonths[utc.tm_mon] + rest;
}

// What a route was given by a client must not become a header of its own.
void addHeader(std::string &head, std::string_view name, std::string_view value) {
  if (name.empty() || !std::ranges::all_of(name, isTokenCharacter))
    return;
  head += name;
  head += ": ";
  for (const char c : value)
    head += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  head += "\r\n";
}

void addFraming(std::string &head, uint16_t status, const ResponseStyle &style,
                std::optional<size_t> length) {
  if (!hasBody(status))
    return;
  if (length)
    addHeader(head, "Content-Length", std::to_string(*length));
  else if (!style.isHttp10)
    addHeader(head, "Transfer-Encoding", "chunked");
}

} // namespace

bool hasBody(uint16_t status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string responseHead(const HttpResponse &response, const ResponseStyle &style,
                         std::optional<size_t> length) {
  const auto reason = http::obsolete_reason(http::int_to_status(response.status));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(reason.data(), reason.size());
  head += "\r\n";
  addHeader(head, "Date", dateText());
  addHeader(head, "Server", "sinter");
  if (style.closes)
    addHeader(head, "Connection", "close");
  else if (style.isHttp10)
    addHeader(head, "Connection", "keep-alive");
  if (hasBody(response.status) && !response.contentType.empty()) {
    addHeader(head, "Content-Type", response.contentType);
    addHeader(head, "X-Content-Type-Options", "nosniff");
  }
  addFraming(head, response.status, style, length);
  for (const Headers *headers : {&response.headers, &style.headers})
    for (const auto &[name, value] : *headers)
      addHeader(head, name, value);
  return head + "\r\n";
}

std::string chunk(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string size;
  for (size_t rest = bytes.size(); rest > 0; rest /= 16)
    size.insert(size.begin(), kDigits[rest % 16]);
  std::string text;
  text.reserve(size.size() + bytes.size() + 4);
  text += size;
  text += "\r\n";
  text += bytes;
  text += "\r\n";
  return text;
}

} // namespace sinter::serve
