// Health and version.
#include "serve/status/status_routes.h"

#include <nlohmann/json.hpp>

namespace sinter::serve {
namespace {

HttpHandler always(const nlohmann::ordered_json &json) {
  return [body = json.dump()](const HttpRequest &, const std::shared_ptr<Responder> &responder) {
    responder->respond({200, "application/json", body});
  };
}

} // namespace

void addStatusRoutes(Routes &routes, const std::string &version) {
  Route health{"GET", "/health", always({{"status", "ok"}})};
  health.isOpen = true;
  routes.add(std::move(health));
  routes.add({"GET", "/version", always({{"version", version}})});
}

} // namespace sinter::serve
