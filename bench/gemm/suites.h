// What is measured: one function for each table that the program prints.
#pragma once

#include "hal/hal.h"

#include <map>

namespace sinter::bench {

struct BenchOptions {
  int64_t m = 1024, n = 1024, k = 1024; // of the f32 product and of sweeps
  int rounds = 15;
  uint32_t threads = 1;
  std::map<std::string, int64_t> set;                 // settings of every generated kernel
  std::string a = "q8a", b = "q4_1";                  // formats of a sweep
  std::map<std::string, std::vector<int64_t>> sweeps; // settings to try in a sweep
};

// f32 against oneDNN, OpenBLAS and the multiply-add rate, b plain and prepacked.
Result<void> benchFloat(hal::Device &device, const BenchOptions &options);

// 512 rows of block-scaled dots against the byte-dot rate.
Result<void> benchBlocks(hal::Device &device, const BenchOptions &options);

// One row against the rate at which the same number of bytes can be read.
Result<void> benchOneRow(hal::Device &device, const BenchOptions &options);

// Every combination of the settings in `sweeps` on one product, fastest first.
Result<void> benchSweep(hal::Device &device, const BenchOptions &options);

} // namespace sinter::bench
