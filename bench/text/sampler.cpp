// Time to choose one token, by setting and size of vocabulary; each beside sorting the whole row,
// which is what a plain sampler does.
#include "llm/sampler/sampler.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>

namespace {

using namespace sinter;
using Clock = std::chrono::steady_clock;

constexpr int kRepeats = 100;
constexpr size_t kRows = 8; // more than one, so that branches are not learned by heart

struct Case {
  const char *name;
  SamplerSettings settings;
};

const Case kCases[] = {
    {"greedy", {}},
    {"temperature", {.temperature = 0.8}},
    {"top-k 40, top-p, min-p", {.temperature = 0.8, .topK = 40, .topP = 0.95, .minP = 0.05}},
    {"top-k 20000", {.temperature = 0.8, .topK = 20000}},
    {"top-p", {.temperature = 0.8, .topP = 0.95}},
    {"top-p 0.999999", {.temperature = 0.8, .topP = 0.999999}},
    {"min-p", {.temperature = 0.8, .minP = 0.05}},
    {"typical", {.temperature = 0.8, .typicalP = 0.9}},
    {"XTC", {.temperature = 0.8, .xtcProbability = 1, .xtcThreshold = 0.1}},
    {"mirostat 2", {.temperature = 0.8, .mirostat = 2}},
    {"penalties of all, top-k 40",
     {.temperature = 0.8, .topK = 40, .repeatPenalty = 1.1, .repeatLastN = -1}},
    {"DRY of all, top-k 40", {.temperature = 0.8, .topK = 40, .dryMultiplier = 0.8}},
};

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Normal logits; where `peaked`, some stand out as those of a model do.
std::vector<std::vector<float>> rowsOf(size_t vocabulary, bool peaked) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, peaked ? 2.5f : 0.5f);
  std::vector<std::vector<float>> rows(kRows, std::vector<float>(vocabulary));
  for (auto &row : rows)
    std::generate(row.begin(), row.end(), [&] { return normal(random); });
  for (auto &row : rows)
    for (size_t i = 0; peaked && i < 100; ++i)
      row[random() % vocabulary] += 8 + static_cast<float>(random() % 1000) / 100;
  return rows;
}

double sortMicroseconds(std::vector<std::vector<float>> rows) {
  const Clock::time_point start = Clock::now();
  for (auto &row : rows)
    std::sort(row.begin(), row.end(), std::greater<>());
  return microsecondsSince(start) / kRows;
}

// Negative: the sampler refused.
double sampleMicroseconds(const Case &one, const std::vector<std::vector<float>> &rows,
                          std::span<const TokenId> history) {
  Result<Sampler> sampler = Sampler::create(one.settings, rows[0].size(), nullptr);
  if (!sampler)
    return -1;
  sampler->begin(history);
  SamplerScratch scratch;
  double least = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point start = Clock::now();
    const auto token = sampler->sample(rows[static_cast<size_t>(i) % kRows], scratch);
    if (!token)
      return -1;
    sampler->accept(*token);
    least = i < 10 ? least : std::min(least, microsecondsSince(start));
  }
  return least;
}

} // namespace

int main() {
  std::printf("microseconds a token, least of %d; history 100,000 tokens\n", kRepeats);
  const std::vector<TokenId> history(100000, 7);
  for (const size_t vocabulary : {size_t{49152}, size_t{151936}})
    for (const bool peaked : {true, false}) {
      const auto rows = rowsOf(vocabulary, peaked);
      std::printf("\nvocabulary %zu, %s: sorting takes %.0f\n", vocabulary,
                  peaked ? "as of a model" : "flat", sortMicroseconds(rows));
      for (const Case &one : kCases)
        std::printf("  %-28s %7.1f\n", one.name, sampleMicroseconds(one, rows, history));
    }
}
