// The table of architectures whose ranking heads differ, as llama.cpp 0.5.0-dev computes them.
#include "llm/ranking_family.h"

#include <algorithm>

namespace sinter {

static constexpr RankingFamily kUsual;
static constexpr RankingFamily kFamilies[] = {
    {.architecture = "modern-bert", .gelu = true, .ofMean = true},
    {.architecture = "qwen3", .sharesOne = true},
    {.architecture = "qwen3vl", .sharesOne = true},
};

const RankingFamily &rankingFamilyOf(std::string_view architecture) {
  const auto found = std::ranges::find(kFamilies, architecture, &RankingFamily::architecture);
  return found == std::end(kFamilies) ? kUsual : *found;
}

} // namespace sinter
