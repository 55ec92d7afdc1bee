// Which route a path finds, and errors in the shapes of APIs.
#include "serve/http/routes.h"

#include <gtest/gtest.h>

namespace sinter::serve {
namespace {

Routes someRoutes() {
  Routes routes;
  const HttpHandler handler = [](const HttpRequest &, const std::shared_ptr<Responder> &) {};
  for (const auto &[method, pattern] : std::initializer_list<std::pair<const char *, const char *>>{
           {"GET", "/"},
           {"GET", "/v1/models"},
           {"GET", "/v1/models/{model...}"},
           {"DELETE", "/v1/models/{model...}"},
           {"POST", "/a/{x}/b/{y}"},
           {"GET", "/folder/"}})
    routes.add({method, pattern, handler});
  routes.setErrorBody("/api/", plainErrorBody);
  return routes;
}

// "PATTERN name=value ...", the methods that are allowed, or "none".
std::string found(const char *method, const char *path) {
  const Routes routes = someRoutes();
  const Routes::Lookup lookup = routes.find(method, path);
  if (const auto *others = std::get_if<std::string>(&lookup))
    return *others;
  if (!std::holds_alternative<Routes::Found>(lookup))
    return "none";
  const auto &match = std::get<Routes::Found>(lookup);
  std::string text = match.route->pattern;
  for (const auto &[name, value] : match.parameters)
    text += " " + name + "=" + value;
  return text;
}

TEST(RouteTable, FindsPathsAsWholes) {
  EXPECT_EQ(found("GET", "/"), "/");
  EXPECT_EQ(found("GET", "/v1/models"), "/v1/models");
  EXPECT_EQ(found("GET", "/folder/"), "/folder/");
  for (const char *path : {"/v1", "/v1/model", "/v1/modelss", "//v1/models", "/v1//models", "",
                           "/folder", "v1/models", "/V1/models", "/v1/models/"})
    EXPECT_EQ(found("GET", path), "none") << path;
}

TEST(RouteTable, NamesPartsOfPaths) {
  EXPECT_EQ(found("POST", "/a/1/b/2 3"), "/a/{x}/b/{y} x=1 y=2 3");
  EXPECT_EQ(found("GET", "/v1/models/org/name:tag"), "/v1/models/{model...} model=org/name:tag");
  for (const char *path : {"/a//b/2", "/a/1/b", "/a/1/b/", "/a/1/c/2", "/a/1/b/2/3"})
    EXPECT_EQ(found("POST", path), "none") << path;
}

TEST(RouteTable, AnswersHeadAsGet) {
  EXPECT_EQ(found("HEAD", "/v1/models"), "/v1/models");
  EXPECT_EQ(found("HEAD", "/a/1/b/2"), "POST, OPTIONS");
}

TEST(RouteTable, TellsWhichMethodsAPathHas) {
  EXPECT_EQ(found("POST", "/v1/models/x"), "GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(found("get", "/"), "GET, HEAD, OPTIONS");
}

TEST(RouteTable, ShapesErrorsByTheLongestPrefix) {
  Routes routes = someRoutes();
  EXPECT_EQ(routes.error("/api/x", 404, "no \"x\"").body, R"({"error":"no \"x\""})");
  EXPECT_EQ(routes.error("/v1/x", 404, "no").body,
            R"({"error":{"message":"no","type":"not_found_error","param":null,"code":null}})");
  routes.setErrorBody("/api/v2/",
                      [](uint16_t status, std::string_view) { return std::to_string(status); });
  EXPECT_EQ(routes.error("/api/v2/x", 404, "no").body, "404");
  EXPECT_EQ(routes.error("/api/x", 404, "no").body, R"({"error":"no"})");
}

TEST(RouteTable, WritesErrorsThatAreNoUtf8AsJson) {
  EXPECT_EQ(plainErrorBody(400, "a\xff"), "{\"error\":\"a\xEF\xBF\xBD\"}");
}

} // namespace
} // namespace sinter::serve
