// Packed weights kept in files beside the plans: a later start maps them, and so do other processes
// that run the model, which then share their memory.
#pragma once

#include "base/mapped_file.h"
#include "hal/hal.h"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace sinter::runtime {

/// What all packed weights of one user may take, in how many files, and the part of a file system
/// that they may take and that they leave free at least.
inline constexpr uint64_t kMostKeptBytes = uint64_t(16) << 30;
inline constexpr size_t kMostKeptFiles = 64;
inline constexpr uint64_t kKeptPart = 10;

/// Packed weights as one run of bytes, in a mapped file.
class KeptWeights {
public:
  std::span<const uint8_t> bytes() const { return file_.bytes().subspan(begin_); }

private:
  friend class WeightCache;
  KeptWeights(MappedFile file, uint64_t begin) : file_(std::move(file)), begin_(begin) {}

  MappedFile file_;
  uint64_t begin_;
};

/// Any number of processes and threads may use one folder at a time. Keys are planKey()'s.
class WeightCache {
public:
  /// Called with one line: a damaged file is written again, or why weights are not kept.
  using Note = std::function<void(const std::string &line)>;
  /// Puts bytes where they belong in the run, in ascending order.
  using Write = std::function<Result<void>(std::span<const uint8_t> bytes, uint64_t offset)>;
  using Fill = std::function<Result<void>(const Write &write)>;

  /// In a folder that only the user may write to, such as PlanCache::folder(). Of all files
  /// together those used least lately go beyond `mostBytes`.
  WeightCache(std::string folder, Note note, uint64_t mostBytes = kMostKeptBytes)
      : folder_(std::move(folder)), note_(std::move(note)), mostBytes_(mostBytes) {}

  /// The run of `bytes` bytes under `key`: found, and as it was written (every byte is checked, on
  /// the device's threads), or written by `fill`. Nothing where it cannot be had, which is noted:
  /// there is not enough room on the disk, more would be kept than may be, the system refuses, or
  /// `fill` fails.
  std::optional<KeptWeights> findOrFill(const std::string &key, uint64_t bytes, hal::Device &device,
                                        const Fill &fill) const;

private:
  struct Entry {
    std::pair<int64_t, int64_t> used; // time of last use
    uint64_t bytes;
    std::string path;
  };
  std::string pathOf(const std::string &key) const;
  Result<KeptWeights> find(const std::string &key, uint64_t bytes, hal::Device &device) const;
  Result<KeptWeights> fillNew(const std::string &key, uint64_t bytes, hal::Device &device,
                              const Fill &fill) const;
  Result<void> makeRoom(uint64_t bytes) const;
  std::vector<Entry> entries() const;

  std::string folder_;
  Note note_;
  uint64_t mostBytes_;
};

} // namespace sinter::runtime
