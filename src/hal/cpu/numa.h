// The machine's memory nodes: which processors are near which memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sinter::hal {

// Processors of one node that this process may run on, ascending.
using NumaNode = std::vector<uint32_t>;

// The nodes of ROOT/sys/devices/system/node/node*/cpulist in their order, each without the
// processors that are not in `allowed`, empty ones left out. One node with all of `allowed` where
// the system tells nothing that makes sense.
std::vector<NumaNode> numaNodes(std::string_view root, const std::vector<uint32_t> &allowed);

// How many of `threads` threads belong to each node: in proportion to its processors, each within
// one of its part.
std::vector<uint32_t> threadsOfNodes(const std::vector<NumaNode> &nodes, uint32_t threads);

} // namespace sinter::hal
