// Figures of the process and of its connections.
#pragma once

#include "serve/http/server.h"
#include "serve/metrics.h"

namespace sinter::serve {

// Memory, processor time, descriptors and threads, by the names that Prometheus' own clients use.
void writeProcessMetrics(MetricsText &text);

void writeServerMetrics(const ServerState &state, MetricsText &text);

} // namespace sinter::serve
