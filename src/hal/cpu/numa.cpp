// Reads lists such as "0-3,8,10-11".
#include "hal/cpu/numa.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace sinter::hal {
namespace {

constexpr uint32_t kMostCpus = 1 << 16;

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const char *end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && value < kMostCpus ? std::optional(value)
                                                                            : std::nullopt;
}

// Nothing of a part that is no number or range.
std::vector<uint32_t> parseCpuList(std::string_view list) {
  std::vector<uint32_t> cpus;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    const size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    for (uint32_t cpu = first.value_or(1); first && last && cpu <= *last; ++cpu)
      cpus.push_back(cpu);
  }
  return cpus;
}

// By number; node10 comes after node9.
std::map<uint32_t, std::filesystem::path> nodeFolders(std::string_view root) {
  std::map<uint32_t, std::filesystem::path> folders;
  std::error_code error;
  const std::filesystem::path parent = std::string(root) + "/sys/devices/system/node";
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("node"))
      continue;
    if (const auto index = number(std::string_view(name).substr(4)))
      folders[*index] = at->path();
  }
  return folders;
}

} // namespace

std::vector<NumaNode> numaNodes(std::string_view root, const std::vector<uint32_t> &allowed) {
  std::vector<NumaNode> nodes;
  std::vector<uint32_t> placed;
  for (const auto &[index, folder] : nodeFolders(root)) {
    std::ifstream in(folder / "cpulist");
    std::string list;
    in >> list;
    const std::vector<uint32_t> listed = parseCpuList(list);
    NumaNode node;
    for (const uint32_t cpu : allowed)
      if (std::ranges::count(listed, cpu) > 0)
        node.push_back(cpu);
    placed.insert(placed.end(), node.begin(), node.end());
    if (!node.empty())
      nodes.push_back(std::move(node));
  }
  std::ranges::sort(placed);
  return placed == allowed ? nodes : std::vector<NumaNode>{allowed};
}

std::vector<uint32_t> threadsOfNodes(const std::vector<NumaNode> &nodes, uint32_t threads) {
  size_t cpus = 0;
  for (const NumaNode &node : nodes)
    cpus += node.size();
  std::vector<uint32_t> counts;
  size_t before = 0;
  uint32_t given = 0;
  for (const NumaNode &node : nodes) {
    before += node.size();
    const auto reached = static_cast<uint32_t>(cpus ? uint64_t{threads} * before / cpus : threads);
    counts.push_back(reached - given);
    given = reached;
  }
  return counts;
}

} // namespace sinter::hal
