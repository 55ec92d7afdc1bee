// Requests from bytes: each case whole, and a byte at a time.
#include "serve/http_check.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace sinter::serve {
namespace {

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

// One or two edits: a byte set, cut out, doubled, or a piece of another case put in.
std::string mutated(const std::vector<HttpCase> &cases, std::mt19937 &random) {
  const auto below = [&](size_t count) { return random() % std::max<size_t>(count, 1); };
  std::string bytes = cases[below(cases.size())].bytes;
  constexpr std::string_view kTelling("\r\n\t :;,0\0\x80\xff", 11);
  for (size_t edits = 1 + below(2); edits > 0 && !bytes.empty(); --edits) {
    const size_t at = below(bytes.size());
    const std::string &other = cases[below(cases.size())].bytes;
    switch (below(4)) {
    case 0:
      bytes[at] = kTelling[below(kTelling.size())];
      break;
    case 1:
      bytes.erase(at, 1 + below(4));
      break;
    case 2:
      bytes.insert(at, 1, bytes[at]);
      break;
    default:
      bytes.insert(at, other, below(other.size()), below(40));
    }
  }
  return bytes;
}

TEST(HttpMutations, AreReadInOneWay) {
  const std::vector<HttpCase> cases = httpCases();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    const std::string bytes = mutated(cases, random);
    ASSERT_EQ(httpInconsistencyOf(bytes), "") << i;
  }
}

TEST(HttpCorpus, IsReadInOneWay) {
  size_t count = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(SINTER_TEST_DIR "/fuzz/corpus/http")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(httpInconsistencyOf(bytes), "") << entry.path();
    ++count;
  }
  EXPECT_GE(count, 20u);
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
