// The machine: memory, pages, terminal.
#include "cli/doctor/checks.h"

#include "base/number_text.h"
#include "cli/terminal.h"
#include "hal/host_memory.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sys/resource.h>

namespace sinter::cli {
namespace {

constexpr double kLittleMemory = 1 << 30; // a small model and the compiler beside it

// A line `KEY   N kB` of /proc/meminfo, in bytes.
std::optional<uint64_t> memoryField(const std::string &root, std::string_view key) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key))
      continue;
    const size_t start = std::min(line.find_first_of("0123456789", key.size()), line.size());
    uint64_t kilobytes = 0;
    const auto parsed = std::from_chars(line.data() + start, line.data() + line.size(), kilobytes);
    if (parsed.ec == std::errc() && kilobytes <= UINT64_MAX / 1024)
      return kilobytes * 1024;
  }
  return std::nullopt;
}

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

} // namespace

const char *healthName(Health health) {
  switch (health) {
  case Health::Ok:
    return "ok";
  case Health::Warning:
    return "warning";
  case Health::Problem:
    return "problem";
  }
  return "unknown";
}

Finding checkMemory(const std::string &root) {
  const auto usable = static_cast<double>(hal::usableMemoryBytes());
  const auto available = memoryField(root, "MemAvailable:");
  Finding finding{"memory", Health::Ok, bytesText(usable) + " may be used", ""};
  if (available)
    finding.found += ", " + bytesText(static_cast<double>(*available)) + " available now";
  rlimit space{};
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    return {"memory", Health::Warning,
            finding.found + "; `ulimit -v` limits addresses to " +
                bytesText(static_cast<double>(space.rlim_cur)),
            "`ulimit -v unlimited`: mapped model files need addresses, not memory"};
  if (std::min(usable, available ? static_cast<double>(*available) : usable) < kLittleMemory) {
    finding.health = Health::Warning;
    finding.mend = "end other programs, or choose a smaller model or a smaller --context";
  }
  return finding;
}

Finding checkHugePages(const std::string &root) {
  const std::string path = "/sys/kernel/mm/transparent_hugepage/enabled";
  std::ifstream file(root + path);
  std::string modes;
  std::getline(file, modes); // "always [madvise] never"
  const size_t open = modes.find('['), close = modes.find(']');
  const std::string mode =
      open < close && close != modes.npos ? modes.substr(open + 1, close - open - 1) : "";
  if (mode == "always" || mode == "madvise")
    return {"huge pages", Health::Ok, "transparent huge pages: " + mode, ""};
  return {"huge pages", Health::Warning,
          mode.empty() ? "the system tells of no transparent huge pages ('" + path + "')"
                       : "transparent huge pages: " + mode,
          "as root: echo madvise > " + path + "; decode is up to 7 % slower in small pages"};
}

Finding checkTerminal() {
  if (!stdinIsTerminal() || !stdoutIsTerminal())
    return {"terminal", Health::Ok,
            "no terminal: `sinter run` reads its prompt from standard input", ""};
  const std::string type = environment("TERM");
  if (type.empty() || type == "dumb")
    return {"terminal", Health::Warning,
            type.empty() ? "a terminal, but TERM is not set" : "a terminal, but TERM is dumb",
            "set TERM, to xterm-256color for most: a chat edits lines by it"};
  return {"terminal", Health::Ok, "a terminal, TERM is " + type, ""};
}

} // namespace sinter::cli
