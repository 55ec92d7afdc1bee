// What requests say about reusing parts of prompts, on the routes of all families.
#include "serve/api/native/native.h"
#include "serve/api/ollama/ollama.h"
#include "serve/api/openai/openai.h"
#include "serve/fake_server.h"

#include <set>

namespace sinter::serve {
namespace {

struct CacheRoute {
  const char *name;
  FakeServer::MakeRoutes routes;
  const char *path;
  json body;

  friend void PrintTo(const CacheRoute &route, std::ostream *stream) { *stream << route.name; }
};

class ApiCache : public testing::TestWithParam<CacheRoute> {
protected:
  // The job of a request with these fields beside those it must have.
  GenerationJob &jobWith(const json &fields, const std::string &keyName = "") {
    json body = GetParam().body;
    body["model"] = "tiny";
    body.update(fields);
    server_.keyName = keyName;
    server_.post(GetParam().path, body);
    server_.worker().waitForJobs(++jobs_);
    return server_.worker().job(jobs_ - 1);
  }

  FakeServer server_{GetParam().routes};
  size_t jobs_ = 0;
};

TEST_P(ApiCache, PromptsAreSharedWithinAKeyAndASaltAlone) {
  const std::string plain = jobWith(json::object()).cacheScope;
  EXPECT_EQ(jobWith(json::object()).cacheScope, plain);
  const std::string salted = jobWith({{"cache_salt", "x"}}).cacheScope;
  const std::string ana = jobWith(json::object(), "ana").cacheScope,
                    bob = jobWith(json::object(), "bob").cacheScope;
  const std::string both = jobWith({{"cache_salt", "x"}}, "ana").cacheScope;
  EXPECT_EQ(std::set<std::string>({plain, salted, ana, bob, both}).size(), 5u);
  EXPECT_EQ(jobWith({{"cache_salt", "x"}}, "ana").cacheScope, both);
}

TEST_P(ApiCache, ARequestMayDoWithoutIt) {
  EXPECT_TRUE(jobWith(json::object()).usesPrefixCache);
  EXPECT_TRUE(jobWith({{"cache_prompt", true}}).usesPrefixCache);
  EXPECT_FALSE(jobWith({{"cache_prompt", false}}).usesPrefixCache);
}

TEST_P(ApiCache, AnEmptySaltIsRefusedByItsName) {
  json body = GetParam().body;
  body.update({{"model", "tiny"}, {"cache_salt", ""}});
  const auto client = server_.post(GetParam().path, body);
  client->waitForEnd();
  EXPECT_EQ(client->status(), 400);
  EXPECT_NE(client->body().find("cache_salt"), std::string::npos);
}

const json kMessages = {{"messages", {{{"role", "user"}, {"content", "ab"}}}}};
INSTANTIATE_TEST_SUITE_P(
    Routes, ApiCache,
    testing::Values(CacheRoute{"chat", openaiRoutes, "/v1/chat/completions", kMessages},
                    CacheRoute{"completions", openaiRoutes, "/v1/completions", {{"prompt", "ab"}}},
                    CacheRoute{"responses", openaiRoutes, "/v1/responses", {{"input", "ab"}}},
                    CacheRoute{"llama", nativeRoutes, "/completion", {{"prompt", "ab"}}},
                    CacheRoute{"generate", ollamaRoutes, "/api/generate", {{"prompt", "ab"}}},
                    CacheRoute{"ollama_chat", ollamaRoutes, "/api/chat", kMessages}),
    [](const auto &info) { return info.param.name; });

} // namespace
} // namespace sinter::serve
