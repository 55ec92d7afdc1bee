// Hosts, origins, keys and rates.
#include "serve/http/access_rules.h"
#include "serve/http/api_keys.h"
#include "serve/http/quotas.h"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::serve {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Optional;

int hostStatus(const char *authority, const AccessRules &rules) {
  const auto fault = checkHost(authority, rules);
  return fault ? fault->status : 200;
}

TEST(HostRules, OfALoopbackServerTakeLoopbackNamesAlone) {
  const AccessRules rules;
  for (const char *host : {"localhost", "LocalHost:1", "localhost.:80", "127.0.0.1:11434",
                           "127.9.9.9", "[::1]:5", "app.localhost"})
    EXPECT_EQ(hostStatus(host, rules), 200) << host;
  for (const char *host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "192.168.0.1", "[::2]", "evillocalhost", "0.0.0.0", "128.0.0.1", "box"})
    EXPECT_EQ(hostStatus(host, rules), 403) << host;
}

TEST(HostRules, OfAPublicServerTakeNamesThatNoStrangerOwns) {
  const AccessRules rules{{}, {}, false, false};
  for (const char *host :
       {"192.168.0.1:80", "[fe80::1]", "box", "box.local", "a.b.internal", "localhost"})
    EXPECT_EQ(hostStatus(host, rules), 200) << host;
  for (const char *host : {"evil.example", "local.example", "xlocal.com"})
    EXPECT_EQ(hostStatus(host, rules), 403) << host;
}

TEST(HostRules, OfAPublicServerWithKeysTakeAnyName) {
  EXPECT_EQ(hostStatus("evil.example", {{}, {}, false, true}), 200);
  EXPECT_EQ(hostStatus("evil.example", {{}, {}, true, true}), 403);
}

TEST(HostRules, TakeWhatIsListed) {
  const AccessRules rules{{"chat.example"}, {}, true, false};
  EXPECT_EQ(hostStatus("Chat.Example:443", rules), 200);
  EXPECT_EQ(hostStatus("x.chat.example", rules), 403);
  EXPECT_EQ(hostStatus("any.example", {{"*"}, {}, true, false}), 200);
}

TEST(HostRules, RefuseWhatIsNoHost) {
  for (const char *host : {"", ":80", "a:", "a:b", "a:1:2", "[::1", "a:123456", "[::1]x"})
    EXPECT_EQ(hostStatus(host, {{}, {}, false, true}), 400) << host;
}

int originStatus(const char *origin, const AccessRules &rules) {
  const OriginAnswer answer = checkOrigin(origin, "localhost:11434", rules);
  return answer.fault ? answer.fault->status : 200;
}

TEST(OriginRules, OfALoopbackServerTakePagesOfThisMachine) {
  const AccessRules rules;
  for (const char *origin : {"", "http://localhost:11434", "http://localhost:3000",
                             "https://127.0.0.1", "http://[::1]:80"})
    EXPECT_EQ(originStatus(origin, rules), 200) << origin;
  for (const char *origin : {"https://evil.example", "null", "file://",
                             "http://localhost.evil.example", "chrome-extension://abc"})
    EXPECT_EQ(originStatus(origin, rules), 403) << origin;
}

TEST(OriginRules, OfAPublicServerTakeItsOwnPagesAndThoseListed) {
  const AccessRules rules{{}, {"https://chat.example"}, false, false};
  EXPECT_EQ(originStatus("http://localhost:11434", rules), 200);
  EXPECT_EQ(originStatus("https://chat.example", rules), 200);
  EXPECT_EQ(originStatus("http://chat.example", rules), 403);
  EXPECT_EQ(originStatus("http://localhost:3000", rules), 403);
}

std::string header(const Headers &headers, const std::string &name) {
  for (const auto &[key, value] : headers)
    if (key == name)
      return value;
  return "";
}

TEST(OriginRules, TellThePageThatItMayRead) {
  const std::string name = "Access-Control-Allow-Origin";
  const AccessRules listed{{}, {"https://chat.example"}, true, false}, any{{}, {"*"}, false, false};
  const char *origin = "https://chat.example";
  EXPECT_EQ(header(checkOrigin(origin, "localhost", listed).headers, name), origin);
  EXPECT_EQ(header(checkOrigin(origin, "localhost", any).headers, name), "*");
  EXPECT_TRUE(checkOrigin("", "localhost", any).headers.empty());
}

HttpRequest withHeader(const std::string &name, const std::string &value) {
  HttpRequest request;
  request.headers = {{name, value}};
  return request;
}

TEST(ApiKeySet, KnowsKeysByTheirNames) {
  ApiKeys keys;
  ASSERT_TRUE(keys.add("one", "sk-1"));
  ASSERT_TRUE(keys.add("two", "sk-2"));
  EXPECT_THAT(keys.nameFor(withHeader("authorization", "Bearer sk-1")),
              Optional(std::string("one")));
  EXPECT_THAT(keys.nameFor(withHeader("authorization", "bearer  sk-2")),
              Optional(std::string("two")));
  EXPECT_THAT(keys.nameFor(withHeader("x-api-key", "sk-2")), Optional(std::string("two")));
  for (const char *value :
       {"Bearer sk-", "Bearer sk-11", "sk-1", "Basic sk-1", "Bearer", "Bearer "})
    EXPECT_FALSE(keys.nameFor(withHeader("authorization", value))) << value;
  EXPECT_FALSE(keys.nameFor({}));
}

TEST(ApiKeySet, RefusesWhatCannotBeTold) {
  ApiKeys keys;
  ASSERT_TRUE(keys.add("one", "sk-1"));
  for (const auto &[name, key] : std::initializer_list<std::pair<const char *, const char *>>{
           {"", "x"}, {"x", ""}, {"one", "sk-2"}, {"two", "sk-1"}, {"x", "a b"}, {"x", "\xff"}})
    EXPECT_FALSE(keys.add(name, key)) << name << ":" << key;
}

TEST(ApiKeySet, ReadsAFileOfNamesAndKeys) {
  const std::string path = testing::TempDir() + "sinter-keys-" + std::to_string(getpid());
  std::ofstream(path) << "# keys\n\nana:sk-a:b\r\nbob:sk-b\n";
  ApiKeys keys;
  ASSERT_TRUE(keys.addFile(path));
  EXPECT_THAT(keys.nameFor(withHeader("x-api-key", "sk-a:b")), Optional(std::string("ana")));
  EXPECT_THAT(keys.nameFor(withHeader("x-api-key", "sk-b")), Optional(std::string("bob")));
  std::ofstream(path) << "ana:sk-c\nno key\n";
  const auto bad = ApiKeys().addFile(path);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr(":2: found no colon, expected NAME:KEY"));
  std::ofstream(path) << "# none\n";
  EXPECT_FALSE(ApiKeys().addFile(path));
  unlink(path.c_str());
  EXPECT_FALSE(ApiKeys().addFile(path));
}

const Quotas::Clock::time_point kStart = Quotas::Clock::time_point() + std::chrono::hours(1);

TEST(RateQuotas, LetSoManyRequestsThroughInAMinute) {
  Quotas quotas(2, 0);
  EXPECT_FALSE(quotas.takeRequest("a", kStart));
  EXPECT_FALSE(quotas.takeRequest("a", kStart));
  EXPECT_THAT(quotas.takeRequest("a", kStart), Optional(30u));
  EXPECT_FALSE(quotas.takeRequest("b", kStart));
  EXPECT_FALSE(quotas.takeRequest("a", kStart + seconds(30)));
  EXPECT_THAT(quotas.takeRequest("a", kStart + seconds(31)), Optional(29u));
}

TEST(RateQuotas, KeepNoMoreThanAMinuteUnused) {
  Quotas quotas(1, 0);
  EXPECT_FALSE(quotas.takeRequest("a", kStart));
  EXPECT_FALSE(quotas.takeRequest("a", kStart + minutes(60)));
  EXPECT_TRUE(quotas.takeRequest("a", kStart + minutes(60)));
}

TEST(RateQuotas, DelayTheNextRequestByTokensThatWereUsed) {
  Quotas quotas(0, 600);
  EXPECT_FALSE(quotas.takeRequest("a", kStart));
  quotas.chargeTokens("a", 599, kStart);
  EXPECT_FALSE(quotas.takeRequest("a", kStart));
  quotas.chargeTokens("a", 101, kStart);
  EXPECT_THAT(quotas.takeRequest("a", kStart), Optional(11u));
  EXPECT_FALSE(quotas.takeRequest("a", kStart + seconds(11)));
}

TEST(RateQuotas, WithoutLimitsLetAllThrough) {
  Quotas quotas(0, 0);
  quotas.chargeTokens("a", UINT64_MAX, kStart);
  for (int i = 0; i < 1000; ++i)
    ASSERT_FALSE(quotas.takeRequest("a", kStart));
}

TEST(RateQuotas, OfManyNamesStayBounded) {
  Quotas quotas(60, 0);
  for (int i = 0; i < 70'000; ++i)
    ASSERT_FALSE(quotas.takeRequest(std::to_string(i), kStart));
}

} // namespace
} // namespace sinter::serve
