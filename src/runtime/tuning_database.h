// The user's tuning database: one file in the cache folder, shared by all models and machines, safe
// against other processes and crashes.
#pragma once

#include "runtime/tuning_file.h"

#include <string>

namespace sinter::runtime {

// What read() saw. A missing file has no entries and no damage.
struct TuningLookup {
  std::vector<TuningEntry> entries;
  std::string damage; // one line that says how the file is damaged; then there are no entries
};

// Any number of processes and threads may use one file at a time.
class TuningDatabase {
public:
  // In a folder that only the user may write to, such as PlanCache::folder().
  explicit TuningDatabase(const std::string &folder) : path_(folder + "/tuning.db") {}

  const std::string &path() const { return path_; }

  // Damage is no error. Unsupported: the file is of another version. Permission, Exhausted: it
  // cannot be read.
  Result<TuningLookup> read() const;
  // Takes out entries that are equal to one of `unfit`, then puts those found in place of those of
  // the same machines and contents, unless these come from more trials, and leaves all others as
  // they are, whoever wrote them; the oldest beyond kMostTunings go. A damaged file is begun anew.
  // The file is replaced whole or not at all, and only the user may read it. Unsupported: it is of
  // another version. Timeout: another process has held it for `timeoutMs`; Permission, Exhausted:
  // it cannot be written.
  Result<void> merge(std::span<const TuningEntry> found, std::span<const TuningEntry> unfit = {},
                     uint32_t timeoutMs = 10'000) const;
  // Whether merge() could write the file now; changes nothing. Errors as merge().
  Result<void> checkWritable() const;

private:
  std::string path_;
};

} // namespace sinter::runtime
