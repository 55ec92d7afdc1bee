// Percent-decoding of paths and queries.
#include "serve/http/target.h"

#include "serve/http/ascii.h"

#include <optional>

namespace sinter::serve {
namespace {

tl::unexpected<HttpFault> bad(std::string message) {
  return tl::unexpected(HttpFault{400, std::move(message)});
}

int hexDigit(char c) {
  const char lower = lowerCase(c);
  if (lower >= '0' && lower <= '9')
    return lower - '0';
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Nothing where a '%' has no two digits behind it, or a control character comes out.
std::optional<std::string> decoded(std::string_view text, bool plusIsSpace) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plusIsSpace)
      c = ' ';
    if (c == '%') {
      const int high = i + 2 < text.size() ? hexDigit(text[i + 1]) : -1;
      const int low = high >= 0 ? hexDigit(text[i + 2]) : -1;
      if (low < 0)
        return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return std::nullopt;
    out += c;
  }
  return out;
}

std::optional<HttpFault> readQuery(std::string_view text, RequestTarget &target) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const size_t equals = part.find('=');
    auto name = decoded(part.substr(0, equals), true);
    auto value = decoded(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
    if (!name || !value)
      return HttpFault{400, "the query of the target is not percent-encoded text"};
    if (!part.empty())
      target.query.emplace_back(std::move(*name), std::move(*value));
  }
  return std::nullopt;
}

} // namespace

tl::expected<RequestTarget, HttpFault> parseTarget(std::string_view text) {
  RequestTarget target;
  if (text == "*") {
    target.path = "*";
    return target;
  }
  for (const std::string_view scheme : {"http://", "https://"})
    if (equalsIgnoringCase(text.substr(0, scheme.size()), scheme)) {
      text.remove_prefix(scheme.size());
      target.authority = text.substr(0, text.find_first_of("/?"));
      text.remove_prefix(target.authority.size());
      if (target.authority.empty() || target.authority.find('@') != std::string::npos)
        return bad("the target's host is not HOST or HOST:PORT");
      if (!text.starts_with('/'))
        target.path = "/";
      break;
    }
  if (target.authority.empty() && !text.starts_with('/'))
    return bad("the target begins with neither / nor http://");
  if (text.find('#') != std::string_view::npos)
    return bad("the target has a fragment");
  const size_t question = text.find('?');
  auto path = decoded(text.substr(0, question), false);
  if (!path)
    return bad("the path of the target is not percent-encoded text");
  target.path += *path;
  if (question != std::string_view::npos)
    if (auto fault = readQuery(text.substr(question + 1), target))
      return tl::unexpected(std::move(*fault));
  return target;
}

} // namespace sinter::serve
