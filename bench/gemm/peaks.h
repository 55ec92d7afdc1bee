// What this machine can do at most, measured by loops that live in registers or only read memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::bench {

// A loop of one instruction on independent accumulators, enough of them to hide its latency.
struct PeakLoop {
  std::string name;
  double operationsPerTrip = 0; // a multiply-add counts two
  void (*run)(uint64_t trips) = nullptr;
};

// The widest f32 multiply-add loops that this processor runs (AVX-512 and AVX2): neither is always
// the faster.
std::vector<PeakLoop> fmaLoops();

// vpdpbusd on the widest vectors; empty where the processor has none.
std::vector<PeakLoop> byteDotLoops();

// The same where sums of 32 products are scaled, as block formats with such groups ask for, and
// nothing else is done: each by an f32 multiply-add, and two at a time by a dot of words.
std::vector<PeakLoop> scaledDotLoops();

// Reads every byte of `words` once in order; the sum keeps the reads alive.
uint64_t readAll(std::span<const uint64_t> words);

} // namespace sinter::bench
