// The folder of built plans: found by the content they were built from, safe against other
// processes and crashes.
#pragma once

#include "base/file_lock.h"
#include "plan/plan.h"

#include <functional>
#include <span>

namespace sinter::runtime {

inline constexpr uint64_t kMaxPlanFileBytes = uint64_t(2) << 30;
inline constexpr size_t kMostPlans = 64; // entries of one folder; those used least lately go

// The name of a plan that was built from all of `parts` (model digest, target, options, compiler
// version, ...): 32 hexadecimal digits of XXH3_128 over the parts and their lengths.
std::string planKey(std::span<const std::string_view> parts);

// What find() saw. Neither field set: there is no such plan.
struct CacheLookup {
  std::optional<plan::Plan> plan;
  std::string damage; // one line that says how the entry is damaged, and that it is built again
};

// A plan that may have one of several keys, as it depends on what is known only when it is there:
// the schedules of its own kernels.
struct CacheQuery {
  std::vector<std::string> keys;                        // looked at in this order; at least one
  std::function<bool(const plan::Plan &)> fits = {};    // whether a plan that was found may be used
  std::function<size_t(const plan::Plan &)> place = {}; // of a built plan's key among `keys`
  const std::atomic<bool> *cancel = nullptr; // once true, waiting for another process ends
};

// Any number of processes and threads may use one folder at a time. Keys are planKey()'s.
class PlanCache {
public:
  // The user's own: $XDG_CACHE_HOME/sinter, else $HOME/.cache/sinter. NotFound when neither is set.
  static Result<PlanCache> open();
  // Makes the folder with mode 0700 where it is missing. Plans hold native code, so a folder that
  // others may write to or that another user owns is refused: Permission.
  static Result<PlanCache> openAt(const std::string &folder);

  PlanCache(PlanCache &&other) noexcept;
  PlanCache &operator=(PlanCache &&other) noexcept;
  ~PlanCache();

  const std::string &folder() const { return folder_; }

  // A damaged entry is no error. Permission: an entry that another user owns or others may write
  // to.
  Result<CacheLookup> find(const std::string &key) const;
  // Waits for another process that builds the same plan. Timeout after `timeoutMs`, Cancelled once
  // `cancel` is true. Clears what a killed builder left.
  Result<FileLock> lock(const std::string &key, uint32_t timeoutMs,
                        const std::atomic<bool> *cancel = nullptr) const;
  // Writes an entry whole or not at all. Removes the entries beyond kMostPlans that were found or
  // written least lately, and lock files that nobody holds. Exhausted, with the numbers, when the
  // disk is full.
  Result<void> publish(const std::string &key, const plan::Plan &plan) const;

  // The first plan of the query's keys that fits (without `fits` any does), or one that `build`
  // makes, published in place of what is there (without `place` under the first key). One process
  // builds at a time of those whose queries have the same last key. `note` is called with one line
  // when another process has to be waited for, a damaged entry is built again or a built plan
  // cannot be kept.
  using Build = std::function<Result<plan::Plan>()>;
  using Note = std::function<void(const std::string &line)>;
  Result<plan::Plan> findOrBuild(const CacheQuery &query, uint32_t timeoutMs, const Build &build,
                                 const Note &note) const;

private:
  PlanCache(std::string folder, int fd) : folder_(std::move(folder)), fd_(fd) {}
  Result<std::optional<std::vector<uint8_t>>> readEntry(const std::string &name) const;
  Result<CacheLookup> findFitting(const CacheQuery &query) const;
  Result<FileLock> waitForLock(const CacheQuery &query, uint32_t timeoutMs, const Note &note) const;
  void removeLeftovers(const std::string &key) const;
  void removeOldest() const;
  void removeFreeLocks() const;
  void forEachName(const std::function<void(const char *name)> &visit) const;

  std::string folder_;
  int fd_; // of the folder: entries stay in it should its path be replaced
};

} // namespace sinter::runtime
