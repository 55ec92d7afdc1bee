// Reads cpu.max and memory.max (version 2) or the quota and limit files (version 1) up the tree of
// groups.
#include "hal/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <vector>

namespace sinter::hal {
namespace {

constexpr int kMostLines = 64;

std::vector<std::string> readWords(const std::string &path) {
  std::ifstream in(path);
  std::vector<std::string> words;
  for (std::string word; words.size() < 64 && in >> word;)
    words.push_back(word);
  return words;
}

std::optional<uint64_t> number(const std::vector<std::string> &words, std::size_t index) {
  uint64_t value = 0;
  if (index >= words.size())
    return std::nullopt;
  const std::string &word = words[index];
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() ? std::optional(value)
                                                                  : std::nullopt;
}

template <typename T> void tighten(std::optional<T> &limit, std::optional<T> other) {
  if (other)
    limit = limit ? std::min(*limit, *other) : other;
}

std::optional<double> ratio(std::optional<uint64_t> quota, std::optional<uint64_t> period) {
  if (!quota || !period || *quota == 0 || *period == 0)
    return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

void readGroup(const std::string &folder, CgroupLimits &limits) {
  const auto max = readWords(folder + "/cpu.max");
  tighten(limits.cpus, ratio(number(max, 0), number(max, 1)));
  tighten(limits.cpus, ratio(number(readWords(folder + "/cpu.cfs_quota_us"), 0),
                             number(readWords(folder + "/cpu.cfs_period_us"), 0)));
  tighten(limits.memoryBytes, number(readWords(folder + "/memory.max"), 0));
  tighten(limits.memoryBytes, number(readWords(folder + "/memory.limit_in_bytes"), 0));
}

// Where the group files of one line of /proc/self/cgroup may lie, such as "4:memory:/a/b" or
// "0::/a/b".
struct Hierarchy {
  std::vector<std::string> mounts;
  std::string group;
};

// Version 1 is mounted under the names of its controllers together, in either order, or under each
// of them; version 2 at the top, or beside version 1.
std::vector<std::string> mountsOf(const std::string &base, const std::string &controllers) {
  if (controllers.empty())
    return {base, base + "/unified"};
  std::vector<std::string> mounts = {base + "/" + controllers};
  for (size_t at = 0; controllers.find(',') != std::string::npos && at < controllers.size();) {
    const size_t end = std::min(controllers.find(',', at), controllers.size());
    mounts.push_back(base + "/" + controllers.substr(at, end - at));
    at = end + 1;
  }
  return mounts;
}

std::optional<Hierarchy> hierarchyOf(const std::string &root, const std::string &line) {
  const auto first = line.find(':');
  const auto second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos)
    return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  if (controllers.find("name=") != std::string::npos)
    return std::nullopt;
  return Hierarchy{mountsOf(root + "/sys/fs/cgroup", controllers), line.substr(second + 1)};
}

// A limit of any group above holds as well; in a container the path may be the host's and not
// exist.
void readGroupsUpFrom(const std::string &mount, std::string group, CgroupLimits &limits) {
  while (!group.empty()) {
    readGroup(mount + group, limits);
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  readGroup(mount, limits);
}

} // namespace

CgroupLimits cgroupLimits(std::string_view root) {
  CgroupLimits limits;
  std::ifstream in(std::string(root) + "/proc/self/cgroup");
  int lines = 0;
  for (std::string line; lines < kMostLines && std::getline(in, line);
       ++lines) { // names have blanks
    const auto hierarchy = hierarchyOf(std::string(root), line);
    if (!hierarchy || hierarchy->group.find("..") != std::string::npos)
      continue;
    for (const std::string &mount : hierarchy->mounts)
      readGroupsUpFrom(mount, hierarchy->group, limits);
  }
  return limits;
}

} // namespace sinter::hal
