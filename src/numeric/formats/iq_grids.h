// The grids of ggml's IQ types: tables that give the 8 (or 4) magnitudes of a code. Facts of the
// format.
#pragma once

#include <array>
#include <cstdint>

namespace sinter {

extern const std::array<int8_t, 256 * 8> kIq2XxsGrid;
extern const std::array<int8_t, 512 * 8> kIq2XsGrid;
extern const std::array<int8_t, 1024 * 8> kIq2SGrid;
extern const std::array<int8_t, 256 * 4> kIq3XxsGrid;
extern const std::array<int8_t, 512 * 4> kIq3SGrid;
extern const std::array<int8_t, 2048 * 8> kIq1Grid; // IQ1_S and IQ1_M

} // namespace sinter
