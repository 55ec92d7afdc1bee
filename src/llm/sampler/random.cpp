// Philox and its conversion to uniform numbers.
#include "llm/sampler/random.h"

namespace sinter {
namespace {

uint32_t high(uint64_t word) {
  return static_cast<uint32_t>(word >> 32);
}
uint32_t low(uint64_t word) {
  return static_cast<uint32_t>(word);
}

double uniform(uint32_t lowWord, uint32_t highWord) {
  const uint64_t word = uint64_t{highWord} << 32 | lowWord;
  return static_cast<double>(word >> 11) * 0x1p-53;
}

} // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = kMultipliers[0] * counter[0], b = kMultipliers[1] * counter[2];
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key = {key[0] + kWeyl[0], key[1] + kWeyl[1]};
  }
  return counter;
}

std::array<double, 2> SamplerRandom::next() {
  const std::array<double, 2> numbers = peek(0);
  ++position_;
  return numbers;
}

std::array<double, 2> SamplerRandom::peek(uint64_t calls) const {
  const uint64_t position = position_ + calls;
  const std::array<uint32_t, 4> words =
      philox({low(position), high(position), 0, 0}, {low(seed_), high(seed_)});
  return {uniform(words[0], words[1]), uniform(words[2], words[3])};
}

} // namespace sinter
