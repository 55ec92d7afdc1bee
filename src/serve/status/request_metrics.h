// What the server's requests and models' answers add to the metrics.
#pragma once

#include "serve/http/server.h"
#include "serve/metrics.h"
#include "serve/worker/model_pool.h"

namespace sinter::serve {

// Requests by route and code, and their times.
void countRequest(Metrics &metrics, const RequestRecord &record);

// The same pool, whose answers' times are measured: time to first token, between tokens, waiting.
// Both arguments outlive what is returned.
std::unique_ptr<ModelPool> makeMeasuredPool(ModelPool &models, Metrics &metrics);

// Figures of the models that are loaded: sequences, pages, tokens, steps, preemptions.
void writeModelMetrics(const ModelPool &models, MetricsText &text);

} // namespace sinter::serve
