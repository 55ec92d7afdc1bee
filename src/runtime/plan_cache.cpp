// Entries are KEY.plan, written as KEY.tmp-RANDOM and renamed; KEY.lock is held with flock while a
// plan is built, and removed then.
#include "runtime/plan_cache.h"

#include "base/check.h"
#include "base/folders.h"
#include "base/system_error.h"
#include "plan/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

namespace sinter::runtime {
namespace {

constexpr const char *kLockSuffix = ".lock";

// A descriptor that is closed at the end of its scope.
class File {
public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0)
      close(fd_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int get() const { return fd_; }
  int take() { return std::exchange(fd_, -1); }

private:
  int fd_;
};

// Whether only this user can have written there; `what` begins the message.
Result<void> checkPrivate(const struct stat &info, const std::string &what) {
  if (info.st_uid != geteuid())
    return fail(Code::Permission, what + " belongs to user " + std::to_string(info.st_uid) +
                                      ", expected user " + std::to_string(geteuid()));
  if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
    return fail(Code::Permission,
                what + " has mode " + mode + " and may be written to by others, expected 0700");
  }
  return {};
}

bool isKey(const std::string &key) {
  return key.size() == 32 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<void> writeAll(int fd, std::span<const uint8_t> bytes, const std::string &what) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t step = write(fd, bytes.data() + done, bytes.size() - done);
    if (step < 0 && errno == EINTR)
      continue;
    if (step <= 0)
      return systemFailed(what + ": " + std::to_string(done) + " of " +
                              std::to_string(bytes.size()) + " bytes were written",
                          step < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(step);
  }
  if (fsync(fd) != 0)
    return systemFailed(what, errno);
  return {};
}

std::string randomSuffix() {
  std::random_device device;
  const uint64_t value = uint64_t(device()) << 32 | device();
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace

std::string planKey(std::span<const std::string_view> parts) {
  XXH3_state_t *state = XXH3_createState();
  SINTER_CHECK(state != nullptr);
  XXH3_128bits_reset(state);
  for (std::string_view part : parts) {
    const uint64_t bytes = part.size();
    XXH3_128bits_update(state, &bytes, sizeof bytes);
    XXH3_128bits_update(state, part.data(), part.size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text;
}

PlanCache::PlanCache(PlanCache &&other) noexcept
    : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)) {}
PlanCache &PlanCache::operator=(PlanCache &&other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(fd_, other.fd_);
  return *this;
}
PlanCache::~PlanCache() {
  if (fd_ >= 0)
    close(fd_);
}

Result<PlanCache> PlanCache::open() {
  // A relative XDG_CACHE_HOME is to be ignored, says its specification.
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/')
    return openAt(std::string(cache) + "/sinter");
  const char *home = std::getenv("HOME");
  if (home && home[0] == '/')
    return openAt(std::string(home) + "/.cache/sinter");
  return fail(Code::NotFound,
              "no place for the plan cache: neither XDG_CACHE_HOME nor HOME names a folder");
}

Result<PlanCache> PlanCache::openAt(const std::string &folder) {
  SINTER_TRY(makeFolders(folder, "cache folder"));
  File file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string what = "cache folder '" + folder + "'";
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    return systemFailed("cannot open " + what, errno);
  SINTER_TRY(checkPrivate(info, what));
  return PlanCache(folder, file.take());
}

Result<std::optional<std::vector<uint8_t>>> PlanCache::readEntry(const std::string &name) const {
  const std::string what = "cached plan '" + folder_ + "/" + name + "'";
  // Non-blocking, so that a pipe in the entry's place does not hang the open.
  File file(openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT)
    return std::nullopt;
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0)
    return systemFailed("cannot open " + what, errno);
  SINTER_TRY(checkPrivate(info, what));
  if (!S_ISREG(info.st_mode) || static_cast<uint64_t>(info.st_size) > kMaxPlanFileBytes)
    return fail(Code::Corrupt, what + " is no regular file of at most " +
                                   std::to_string(kMaxPlanFileBytes) + " bytes");
  std::vector<uint8_t> bytes(static_cast<std::size_t>(info.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t step = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (step < 0 && errno == EINTR)
      continue;
    if (step < 0)
      return systemFailed("cannot read " + what, errno);
    if (step == 0)
      bytes.resize(done);
    done += static_cast<std::size_t>(step);
  }
  return bytes;
}

Result<CacheLookup> PlanCache::find(const std::string &key) const {
  SINTER_CHECK(isKey(key));
  auto damaged = [&](const Status &status) {
    return CacheLookup{std::nullopt, "cached plan " + key +
                                         " is damaged and is built again: " + status.toString()};
  };
  auto bytes = readEntry(key + ".plan");
  if (!bytes && bytes.error().code == Code::Corrupt)
    return damaged(bytes.error());
  if (!bytes)
    return tl::unexpected(bytes.error());
  if (!*bytes)
    return CacheLookup{};
  auto plan = plan::parse(**bytes);
  if (!plan)
    return damaged(plan.error());
  utimensat(fd_, (key + ".plan").c_str(), nullptr, AT_SYMLINK_NOFOLLOW); // used now
  return CacheLookup{std::move(*plan), ""};
}

Result<FileLock> PlanCache::lock(const std::string &key, uint32_t timeoutMs,
                                 const std::atomic<bool> *cancel) const {
  SINTER_CHECK(isKey(key));
  const std::string name = key + kLockSuffix;
  SINTER_ASSIGN(FileLock lock,
                FileLock::take(fd_, name, "lock file '" + folder_ + "/" + name + "'",
                               "another process has been building plan " + key, timeoutMs, cancel));
  removeLeftovers(key);
  return lock;
}

void PlanCache::forEachName(const std::function<void(const char *name)> &visit) const {
  DIR *folder = fdopendir(openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder)
    return;
  while (const dirent *entry = readdir(folder))
    visit(entry->d_name);
  closedir(folder);
}

void PlanCache::removeLeftovers(const std::string &key) const {
  const std::string prefix = key + ".tmp-";
  forEachName([&](const char *name) {
    if (std::string_view(name).starts_with(prefix))
      unlinkat(fd_, name, 0);
  });
}

// What killed processes left. A lock file that a process holds stays.
void PlanCache::removeFreeLocks() const {
  std::vector<std::string> names;
  forEachName([&](const char *name) {
    if (std::string_view(name).ends_with(kLockSuffix))
      names.push_back(name);
  });
  for (const std::string &name : names)
    FileLock::removeIfFree(fd_, name);
}

void PlanCache::removeOldest() const {
  std::vector<std::pair<std::pair<int64_t, int64_t>, std::string>> plans; // by time of last use
  forEachName([&](const char *name) {
    struct stat info;
    if (std::string_view(name).ends_with(".plan") &&
        fstatat(fd_, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
      plans.push_back({{info.st_mtim.tv_sec, info.st_mtim.tv_nsec}, name});
  });
  std::sort(plans.begin(), plans.end());
  for (size_t i = 0; i + kMostPlans < plans.size(); ++i)
    unlinkat(fd_, plans[i].second.c_str(), 0);
}

Result<void> PlanCache::publish(const std::string &key, const plan::Plan &plan) const {
  SINTER_CHECK(isKey(key));
  SINTER_ASSIGN(const std::vector<uint8_t> bytes, plan::serialize(plan));
  const std::string temporary = key + ".tmp-" + randomSuffix();
  const std::string what = "cannot write cached plan '" + folder_ + "/" + key + ".plan'";
  File file(
      openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0)
    return systemFailed(what, errno);
  Result<void> written = writeAll(file.get(), bytes, what);
  if (written && renameat(fd_, temporary.c_str(), fd_, (key + ".plan").c_str()) != 0)
    written = systemFailed(what, errno);
  if (!written)
    unlinkat(fd_, temporary.c_str(), 0);
  else if (fsync(fd_) != 0)
    return systemFailed(what, errno);
  removeOldest();
  removeFreeLocks();
  return written;
}

Result<FileLock> PlanCache::waitForLock(const CacheQuery &query, uint32_t timeoutMs,
                                        const Note &note) const {
  const std::string &key = query.keys.back();
  Result<FileLock> atOnce = lock(key, 0);
  if (atOnce || atOnce.error().code != Code::Timeout || timeoutMs == 0)
    return atOnce;
  note("another process is building this plan: waiting for it");
  return lock(key, timeoutMs, query.cancel);
}

Result<CacheLookup> PlanCache::findFitting(const CacheQuery &query) const {
  CacheLookup all;
  for (const std::string &key : query.keys) {
    SINTER_ASSIGN(CacheLookup found, find(key));
    if (found.plan && (!query.fits || query.fits(*found.plan)))
      return found;
    if (all.damage.empty())
      all.damage = std::move(found.damage);
  }
  return all;
}

Result<plan::Plan> PlanCache::findOrBuild(const CacheQuery &query, uint32_t timeoutMs,
                                          const Build &build, const Note &note) const {
  SINTER_CHECK(!query.keys.empty());
  SINTER_ASSIGN(CacheLookup before, findFitting(query));
  if (before.plan)
    return std::move(*before.plan);
  SINTER_ASSIGN(const FileLock lock, waitForLock(query, timeoutMs, note));
  // Whoever held the lock may have built it meanwhile, or left the beginning of another's entry.
  for (const std::string &key : query.keys)
    removeLeftovers(key);
  SINTER_ASSIGN(CacheLookup found, findFitting(query));
  if (found.plan)
    return std::move(*found.plan);
  if (!found.damage.empty())
    note(found.damage);
  SINTER_ASSIGN(plan::Plan plan, build());
  const std::string &key = query.keys[query.place ? query.place(plan) : 0];
  if (auto kept = publish(key, plan); !kept)
    note(kept.error().toString());
  return plan;
}

} // namespace sinter::runtime
