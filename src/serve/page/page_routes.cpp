// One route for each file; the page itself is `/`.
#include "serve/page/page_routes.h"

#include "serve/page/page_files.h"

#include <xxhash.h>

namespace sinter::serve {
namespace {

std::string typeOf(std::string_view name) {
  if (name.ends_with(".html"))
    return "text/html; charset=utf-8";
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

constexpr const char *kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

std::string tagOf(std::string_view content) {
  return '"' + std::to_string(XXH3_64bits(content.data(), content.size())) + '"';
}

bool hasHeader(const HttpRequest &request, std::string_view name, std::string_view value) {
  for (const auto &[key, found] : request.headers)
    if (key == name && found == value)
      return true;
  return false;
}

HttpHandler handlerOf(const PageFile &file) {
  return [file, tag = tagOf(file.content)](HttpRequest request,
                                           std::shared_ptr<Responder> responder) {
    HttpResponse response{.contentType = typeOf(file.name)};
    response.headers = {{"etag", tag},
                        {"cache-control", "no-cache"},
                        {"content-security-policy", kPolicy},
                        {"referrer-policy", "no-referrer"}};
    if (hasHeader(request, "if-none-match", tag))
      response.status = 304;
    else
      response.body = std::string(file.content);
    responder->respond(std::move(response));
  };
}

} // namespace

void addPage(Routes &routes) {
  for (const PageFile &file : pageFiles()) {
    const std::string path = file.name == "index.html" ? "/" : "/" + std::string(file.name);
    routes.add({.method = "GET", .pattern = path, .handler = handlerOf(file), .isOpen = true});
  }
}

} // namespace sinter::serve
