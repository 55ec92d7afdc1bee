// What `sinter show` says of a KV cache whose layers look back unequally far.
#include "cli/show/model_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::cli {
namespace {

using testing::HasSubstr;

// Pages of 64 rows; groups of 1 KiB and 2 KiB a page.
DeviceFacts factsWith(std::vector<KvGroupPages> groups) {
  DeviceFacts facts;
  facts.kvType = "f16";
  facts.limits.pageRows = 64;
  facts.limits.kvGroups = std::move(groups);
  for (size_t group = 0; group < facts.limits.kvGroups.size(); ++group)
    facts.kvGroupBytes.push_back((group + 1) * 1024 * facts.limits.kvGroups[group].pages);
  for (const uint64_t bytes : facts.kvGroupBytes)
    facts.memory.state += bytes;
  return facts;
}

FileFacts someFile() {
  FileFacts file;
  file.paths = {"model.gguf"};
  return file;
}

std::string cacheLine(const DeviceFacts &facts) {
  const std::string text = showText(someFile(), facts, "");
  const size_t at = text.find("KV cache");
  return text.substr(at, text.find('\n', at) - at);
}

TEST(ShowReport, LayersThatSeeAllHaveBytesForEachToken) {
  EXPECT_EQ(cacheLine(factsWith({{128}})),
            "KV cache            128.0 KiB in f16 for 8192 tokens, 16 B each");
}

TEST(ShowReport, LayersWithAWindowKeepTheLastTokens) {
  const DeviceFacts some = factsWith({{128}, {17, 17, 511}});
  EXPECT_EQ(cacheLine(some), "KV cache            162.0 KiB in f16: 128.0 KiB for 8192 tokens, "
                             "34.0 KiB for the last 1088 tokens in layers with a window");
  EXPECT_THAT(showJson(someFile(), some, ""), HasSubstr("\"tokens\": 1088,\n    \"bytes\": 34816"));
  EXPECT_EQ(cacheLine(factsWith({{17, 17, 511}})),
            "KV cache            17.0 KiB in f16 for the last 1088 tokens, 16 B each");
}

} // namespace
} // namespace sinter::cli
