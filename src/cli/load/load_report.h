// What a load test showed, as text, JSON and a drawing.
#pragma once

#include "cli/load/load_figures.h"

namespace sinter::cli {

struct LoadReport {
  LoadArguments arguments; // with the model's name
  std::vector<RunFigures> runs;
};

std::string loadText(const LoadReport &report);
std::string loadJson(const LoadReport &report);
// Latencies of each run as shares of requests, and throughput over the runs' rates.
std::string loadSvg(const LoadReport &report);

// "2 req/s", "8 clients".
std::string shapeName(const LoadShape &shape);

} // namespace sinter::cli
