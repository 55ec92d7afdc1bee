// Routes that tell how the server is.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"
#include "serve/metrics.h"

namespace sinter::serve {

// GET /health: {"status":"ok"}, without a key. GET /version: {"version":"..."}. GET /metrics: as
// Prometheus reads them. The metrics outlive the routes.
void addStatusRoutes(Routes &routes, const std::string &version, const Metrics &metrics);

// As llama-server has them. GET /slots: a place for each context that a loaded
// model has memory for. GET
// /props: the file, template and context of a model; ?model= names another than the default. GET
// /roofline: {"bytes_per_second": of memory, null until it could be measured while no model ran,
// "models": [{"model", "weight_bytes": that a decode step reads at least, null where experts make
// that vary}]}. The context outlives the routes.
void addModelStatusRoutes(Routes &routes, ApiContext &context);

} // namespace sinter::serve
