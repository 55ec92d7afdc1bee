// A file is a head and the run of bytes. The head holds a checksum of each piece of the run, so
// that what was torn by a crash or damaged is found when it is mapped: files need no waiting for
// the disk when they are written.
#include "runtime/weight_cache.h"

#include "base/check.h"
#include "base/checked.h"
#include "base/output_file.h"
#include "base/system_error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <xxhash.h>

namespace sinter::runtime {
namespace {

constexpr char kMagic[8] = {'s', 'i', 'n', 't', 'e', 'r', 'w', '1'};
constexpr uint64_t kPieceBytes = uint64_t(4) << 20;
constexpr uint64_t kHeadAlignment = 4096; // the run begins on a page
constexpr const char *kSuffix = ".weights";
constexpr const char *kPart = ".weights.part-"; // what a killed process left
constexpr int64_t kLeftForSeconds = 3600;

uint64_t piecesOf(uint64_t bytes) {
  return bytes / kPieceBytes + (bytes % kPieceBytes != 0);
}

// Magic, key, size of the run, checksums of its pieces, checksum of all that; zeros to a page.
CheckedSize headBytes(const std::string &key, uint64_t bytes) {
  const CheckedSize numbers = CheckedSize(piecesOf(bytes)) + 2;
  return alignUp(numbers * sizeof(uint64_t) + sizeof kMagic + key.size(), kHeadAlignment);
}

struct Summing {
  std::span<const uint8_t> bytes;
  std::vector<uint64_t> sums;

  static void piece(void *context, int64_t index) {
    auto &self = *static_cast<Summing *>(context);
    const uint64_t at = static_cast<uint64_t>(index) * kPieceBytes;
    const uint64_t size = std::min<uint64_t>(kPieceBytes, self.bytes.size() - at);
    self.sums[static_cast<size_t>(index)] = XXH3_64bits(self.bytes.data() + at, size);
  }
};

// The whole head of these bytes.
std::vector<uint8_t> headOf(const std::string &key, std::span<const uint8_t> bytes,
                            hal::Device &device) {
  Summing summing{bytes, std::vector<uint64_t>(piecesOf(bytes.size()))};
  device.parallelFor(static_cast<int64_t>(summing.sums.size()), Summing::piece, &summing);
  std::vector<uint8_t> head;
  const auto put = [&](const void *data, size_t size) {
    const auto *first = static_cast<const uint8_t *>(data);
    head.insert(head.end(), first, first + size);
  };
  const uint64_t size = bytes.size();
  put(kMagic, sizeof kMagic);
  put(key.data(), key.size());
  put(&size, sizeof size);
  put(summing.sums.data(), summing.sums.size() * sizeof(uint64_t));
  const uint64_t sum = XXH3_64bits(head.data(), head.size());
  put(&sum, sizeof sum);
  head.resize(*headBytes(key, size).value());
  return head;
}

// Writes a file from its beginning, in steps of huge pages: what is written in smaller ones lies in
// smaller pages of the system's, and is read more slowly.
class AlignedWriter {
public:
  explicit AlignedWriter(OutputFile &file) : file_(file) {}

  // Bytes that lie behind those of all calls before; what is between is zero.
  Result<void> put(std::span<const uint8_t> bytes, uint64_t offset) {
    SINTER_CHECK(offset >= begin_ + filled_);
    while (offset > begin_ + filled_)
      SINTER_TRY(add({}, offset - begin_ - filled_));
    while (!bytes.empty()) {
      const uint64_t size = std::min<uint64_t>(bytes.size(), kStepBytes - filled_);
      SINTER_TRY(add(bytes.first(size), size));
      bytes = bytes.subspan(size);
    }
    return {};
  }
  Result<void> flush() {
    SINTER_TRY(file_.writeAt(std::span(step_).first(filled_), begin_));
    begin_ += filled_;
    filled_ = 0;
    return {};
  }

private:
  static constexpr uint64_t kStepBytes = uint64_t(2) << 20;

  // These bytes, or as many zeros as still fit into the step.
  Result<void> add(std::span<const uint8_t> bytes, uint64_t size) {
    size = std::min(size, kStepBytes - filled_);
    if (bytes.empty())
      std::memset(step_.data() + filled_, 0, size);
    else
      std::memcpy(step_.data() + filled_, bytes.data(), size);
    filled_ += size;
    return filled_ == kStepBytes ? flush() : Result<void>();
  }

  OutputFile &file_;
  std::vector<uint8_t> step_ = std::vector<uint8_t>(kStepBytes);
  uint64_t begin_ = 0, filled_ = 0;
};

int64_t secondsNow() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

} // namespace

std::string WeightCache::pathOf(const std::string &key) const {
  return folder_ + "/" + key + kSuffix;
}

Result<KeptWeights> WeightCache::find(const std::string &key, uint64_t bytes,
                                      hal::Device &device) const {
  SINTER_ASSIGN(MappedFile file, MappedFile::open(pathOf(key)));
  file.preferHugePages();
  const uint64_t head = *headBytes(key, bytes).value();
  const std::span<const uint8_t> all = file.bytes();
  if (all.size() != head + bytes)
    return fail(Code::Corrupt, "it has " + std::to_string(all.size()) + " bytes, expected " +
                                   std::to_string(head + bytes));
  if (!std::ranges::equal(all.first(head), headOf(key, all.subspan(head), device)))
    return fail(Code::Corrupt, "its bytes do not have the checksums that were written");
  utimensat(AT_FDCWD, pathOf(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW); // used now
  return KeptWeights(std::move(file), head);
}

Result<KeptWeights> WeightCache::fillNew(const std::string &key, uint64_t bytes,
                                         hal::Device &device, const Fill &fill) const {
  const uint64_t head = *headBytes(key, bytes).value();
  SINTER_TRY(makeRoom(head + bytes));
  SINTER_ASSIGN(OutputFile output, OutputFile::create(pathOf(key), 0600));
  SINTER_TRY(output.reserve(head + bytes));
  AlignedWriter writer(output);
  SINTER_TRY(fill([&](std::span<const uint8_t> part, uint64_t offset) {
    return writer.put(part, head + offset);
  }));
  SINTER_TRY(writer.flush());
  SINTER_ASSIGN(MappedFile file, MappedFile::open("/proc/self/fd/" + std::to_string(output.fd())));
  file.preferHugePages();
  KeptWeights kept(std::move(file), head);
  SINTER_TRY(output.writeAt(headOf(key, kept.bytes(), device), 0));
  SINTER_TRY(output.commit(OutputFile::Durability::Checked));
  return kept;
}

std::vector<WeightCache::Entry> WeightCache::entries() const {
  std::vector<Entry> found;
  DIR *folder = opendir(folder_.c_str());
  if (!folder)
    return found;
  const int64_t now = secondsNow();
  while (const dirent *entry = readdir(folder)) {
    const std::string_view name = entry->d_name;
    const bool left = name.find(kPart) != name.npos;
    struct stat info;
    if (!(left || name.ends_with(kSuffix)) ||
        fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (!left)
      found.push_back({{info.st_mtim.tv_sec, info.st_mtim.tv_nsec},
                       static_cast<uint64_t>(info.st_size),
                       folder_ + "/" + entry->d_name});
    else if (now - info.st_mtim.tv_sec > kLeftForSeconds)
      unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
  std::ranges::sort(found, {}, &Entry::used);
  return found;
}

// Files that other processes have mapped stay theirs when they lose their names.
Result<void> WeightCache::makeRoom(uint64_t bytes) const {
  struct statvfs disk;
  if (statvfs(folder_.c_str(), &disk) != 0)
    return systemFailed("cannot examine the disk of '" + folder_ + "'", errno);
  const uint64_t part = disk.f_blocks / kKeptPart * disk.f_frsize;
  const uint64_t most = std::min(mostBytes_, part);
  if (bytes > most)
    return fail(Code::Exhausted, std::to_string(bytes) + " bytes of packed weights, at most " +
                                     std::to_string(most) + " are kept in '" + folder_ + "'");
  const std::vector<Entry> old = entries();
  uint64_t kept = 0, free = disk.f_bavail * disk.f_frsize;
  for (const Entry &entry : old)
    kept += entry.bytes;
  if (free + kept < bytes + part)
    return fail(Code::Exhausted, std::to_string(bytes) + " bytes of packed weights, of " +
                                     std::to_string(free + kept) +
                                     " that are free or kept on the disk of '" + folder_ + "' " +
                                     std::to_string(part) + ", a tenth of it, stay free");
  size_t files = old.size();
  for (const Entry &entry : old) {
    if (kept + bytes <= most && files < kMostKeptFiles && free >= bytes + part)
      break;
    unlink(entry.path.c_str());
    kept -= entry.bytes;
    free += entry.bytes;
    --files;
  }
  return {};
}

std::optional<KeptWeights> WeightCache::findOrFill(const std::string &key, uint64_t bytes,
                                                   hal::Device &device, const Fill &fill) const {
  if (const CheckedSize head = headBytes(key, bytes); bytes == 0 || !(head + bytes).valid())
    return std::nullopt;
  auto found = find(key, bytes, device);
  const Code code = found ? Code::NotFound : found.error().code;
  const bool damaged = code == Code::Corrupt || code == Code::Truncated;
  if (damaged)
    note_("packed weights '" + pathOf(key) +
          "' are damaged and are written again: " + found.error().message);
  auto kept = !found && (damaged || code == Code::NotFound) ? fillNew(key, bytes, device, fill)
                                                            : std::move(found);
  if (kept)
    return std::move(*kept);
  note_("packed weights are not kept: " + kept.error().toString());
  return std::nullopt;
}

} // namespace sinter::runtime
