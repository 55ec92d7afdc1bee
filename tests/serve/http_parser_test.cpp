// Requests from bytes: each case whole, and a byte at a time.
#include "serve/http/request_parser.h"
#include "serve/http_cases.h"

namespace sinter::serve {
namespace {

std::string textOf(const HttpRequest &request, bool hasBody) {
  std::string text = request.method + " " + request.path;
  for (const auto &[name, value] : request.query)
    text += "?" + name + "=" + value;
  return hasBody ? text + "=" + request.body : text;
}

// What comes of the bytes when so many arrive at a time.
std::string readAs(std::string_view bytes, size_t atOnce) {
  const HttpLimits limits = limitsOfCases();
  std::string text, waiting;
  auto parser = std::make_unique<RequestParser>(limits);
  while (true) {
    const bool hadHead = parser->headDone();
    const auto taken = parser->put(waiting);
    if (!taken)
      return text + std::to_string(taken.error().status);
    waiting.erase(0, *taken);
    if (!hadHead && parser->headDone())
      if (const auto fault = parser->limitBody(limits.bodyBytes))
        return text + std::to_string(fault->status);
    if (parser->done()) {
      HttpRequest &request = parser->request();
      text += textOf(request, request.method == "POST" || !request.body.empty()) + "; ";
      parser = std::make_unique<RequestParser>(limits);
    } else if (*taken == 0) {
      if (bytes.empty())
        break;
      waiting += bytes.substr(0, atOnce);
      bytes.remove_prefix(std::min(atOnce, bytes.size()));
    }
  }
  if (!waiting.empty() || parser->begun())
    return text + "more";
  return text.substr(0, text.size() - 2);
}

class HttpCases : public testing::TestWithParam<HttpCase> {};

TEST_P(HttpCases, AreReadInOneWay) {
  EXPECT_EQ(readAs(GetParam().bytes, std::string::npos), GetParam().expected);
}

TEST_P(HttpCases, AreReadAlikeByteForByte) {
  EXPECT_EQ(readAs(GetParam().bytes, 1), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Cases, HttpCases, testing::ValuesIn(httpCases()), [](const auto &info) {
  std::string name;
  for (const char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(HttpCaseFile, HasAtLeast120Cases) {
  EXPECT_GE(httpCases().size(), 120u);
}

TEST(RequestParser, KeepsHeadersInTheirOrderWithNamesInLowerCase) {
  RequestParser parser(limitsOfCases());
  ASSERT_TRUE(parser.put("GET / HTTP/1.1\r\nHost: a\r\nX-B:  c \r\nX-A: d\r\n\r\n"));
  const Headers expected = {{"host", "a"}, {"x-b", "c"}, {"x-a", "d"}};
  EXPECT_EQ(parser.request().headers, expected);
}

TEST(RequestParser, KeepsTheConnectionAsVersionAndHeaderSay) {
  const std::pair<const char *, bool> cases[] = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nHost: a\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n\r\n", true}};
  for (const auto &[bytes, keeps] : cases) {
    RequestParser parser(limitsOfCases());
    ASSERT_TRUE(parser.put(bytes));
    EXPECT_EQ(parser.keepsAlive(), keeps) << bytes;
  }
}

TEST(RequestParser, StopsBehindTheHeadSoThatTheBodyCanBeLimited) {
  RequestParser parser(limitsOfCases());
  const std::string bytes = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  const auto taken = parser.put(bytes);
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, bytes.size() - 5);
  const auto fault = parser.limitBody(4);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->status, 413);
}

} // namespace
} // namespace sinter::serve
