// The corpora of the fuzzers, for tests that replay them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sinter {

// The files of tests/fuzz/corpus/NAME, in the same order everywhere.
inline std::vector<std::string> fuzzCorpus(const std::string &name) {
  std::vector<std::string> all;
  for (const auto &entry :
       std::filesystem::directory_iterator(SINTER_TEST_DIR "/fuzz/corpus/" + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(all);
  return all;
}

} // namespace sinter
