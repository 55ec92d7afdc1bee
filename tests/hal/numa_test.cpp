// Memory nodes from a made-up tree of the system's files, and how threads are shared out to them.
#include "hal/cpu/numa.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace sinter::hal {
namespace {

using Nodes = std::vector<NumaNode>;

class Numa : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "sinter-numa-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void node(int index, const std::string &cpus) {
    const std::filesystem::path folder =
        root_ + "/sys/devices/system/node/node" + std::to_string(index);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "cpulist") << cpus << "\n";
  }
  Nodes nodes(const std::vector<uint32_t> &allowed) { return numaNodes(root_, allowed); }

  std::string root_;
};

TEST_F(Numa, AMachineThatTellsNothingIsOneNode) {
  EXPECT_EQ(nodes({0, 1, 5}), (Nodes{{0, 1, 5}}));
}

TEST_F(Numa, NodesHaveTheProcessorsOfTheirLists) {
  node(0, "0-2,8");
  node(1, "3-5,9-10");
  EXPECT_EQ(nodes({0, 1, 2, 3, 4, 5, 8, 9, 10}), (Nodes{{0, 1, 2, 8}, {3, 4, 5, 9, 10}}));
}

TEST_F(Numa, NodesComeInTheOrderOfTheirNumbers) {
  node(10, "2");
  node(9, "1");
  node(0, "0");
  EXPECT_EQ(nodes({0, 1, 2}), (Nodes{{0}, {1}, {2}}));
}

TEST_F(Numa, ProcessorsThatMayNotBeUsedAndEmptyNodesAreLeftOut) {
  node(0, "0-3");
  node(1, "4-7");
  node(2, "");
  EXPECT_EQ(nodes({1, 2}), (Nodes{{1, 2}}));
  EXPECT_EQ(nodes({3, 4}), (Nodes{{3}, {4}}));
}

TEST_F(Numa, ListsThatMakeNoSenseAreOneNode) {
  for (const char *list : {"rubbish", "0-", "-1", "3-1", "0,0,1", "99999999999", "0-4294967295"}) {
    node(0, list);
    EXPECT_EQ(nodes({0, 1, 2}), (Nodes{{0, 1, 2}})) << list;
  }
}

TEST_F(Numa, ProcessorsOfTwoNodesAtOnceAreOneNode) {
  node(0, "0-1");
  node(1, "1-2");
  EXPECT_EQ(nodes({0, 1, 2}), (Nodes{{0, 1, 2}}));
}

TEST_F(Numa, ThreadsAreSharedOutByProcessors) {
  using Counts = std::vector<uint32_t>;
  const Nodes even = {{0, 1}, {2, 3}}, uneven = {{0, 1, 2}, {3}};
  EXPECT_EQ(threadsOfNodes(even, 4), (Counts{2, 2}));
  EXPECT_EQ(threadsOfNodes(even, 1), (Counts{0, 1}));
  EXPECT_EQ(threadsOfNodes(uneven, 4), (Counts{3, 1}));
  EXPECT_EQ(threadsOfNodes(uneven, 8), (Counts{6, 2}));
  EXPECT_EQ(threadsOfNodes({{0, 1}}, 5), (Counts{5}));
}

} // namespace
} // namespace sinter::hal
