// What must be known of a SPIR-V module before a driver sees it.
#pragma once

#include "base/status.h"

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter::hal::vulkan {

struct EntryPoint {
  std::string name;
  uint32_t function = 0;                  // id
  std::array<uint32_t, 3> localSize = {}; // zeros: the module does not fix it
};

struct SpirvCode {
  std::vector<uint32_t> words;
  uint32_t version = 0; // 0x00010300 is 1.3
  std::vector<uint32_t> capabilities;
  std::vector<EntryPoint> entryPoints; // those of execution model GLCompute
  // By an entry point's name the words whose address its argument block has. A string of the module
  // holds them: "sinter.constants NAME WORDS", eight hexadecimal digits a word.
  std::map<std::string, std::vector<uint32_t>> constants;
};

// Corrupt, with the byte: no whole words, another magic, an id bound out of range, instructions
// that are empty or reach beyond the end, an id that is not below the bound where it is defined, a
// function that does not end, an entry point without a function, constants that are no words. That
// the instructions make sense is for the producer to see to.
Result<SpirvCode> readSpirv(std::span<const uint8_t> code);

} // namespace sinter::hal::vulkan
