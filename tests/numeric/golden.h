// Reads the golden files of tests/data/format (see make_goldens.py there).
#pragma once

#include "numeric/formats/block_format.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

namespace sinter {

inline void PrintTo(const BlockFormat &format, std::ostream *out) {
  *out << format.name;
}

template <typename Condition> std::vector<BlockFormat> formatsWhere(Condition condition) {
  std::vector<BlockFormat> chosen;
  for (const BlockFormat &format : blockFormats())
    if (condition(format))
      chosen.push_back(format);
  return chosen;
}

struct Golden {
  uint32_t blocks = 0, blockBytes = 0, blockLength = 0;
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};

inline Golden readGolden(const std::string &kind, std::string_view type) {
  std::string path =
      std::string(SINTER_TEST_DIR) + "/data/format/" + kind + "/" + std::string(type) + ".bin";
  std::ifstream file(path, std::ios::binary);
  std::vector<char> raw((std::istreambuf_iterator<char>(file)), {});
  Golden golden;
  if (raw.size() < 16 || std::memcmp(raw.data(), "SGLD", 4) != 0) {
    ADD_FAILURE() << path << " is missing or not a golden file";
    return golden;
  }
  std::memcpy(&golden.blocks, &raw[4], 4);
  std::memcpy(&golden.blockBytes, &raw[8], 4);
  std::memcpy(&golden.blockLength, &raw[12], 4);
  golden.bytes.resize(size_t{golden.blocks} * golden.blockBytes);
  golden.values.resize(size_t{golden.blocks} * golden.blockLength);
  size_t expected = 16 + golden.bytes.size() + golden.values.size() * 4;
  if (golden.values.empty() || raw.size() != expected) {
    ADD_FAILURE() << path << " has " << raw.size() << " bytes, expected " << expected;
    return Golden{};
  }
  std::memcpy(golden.bytes.data(), &raw[16], golden.bytes.size());
  std::memcpy(golden.values.data(), &raw[16 + golden.bytes.size()], golden.values.size() * 4);
  return golden;
}

// The same bits, or both NaN (whose payload and sign are the processor's business).
inline bool sameValue(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

} // namespace sinter
