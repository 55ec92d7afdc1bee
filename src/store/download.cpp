// Threads take segments of the file in order. The first answer decides whether the server gives
// ranges; only then others begin.
#include "store/download.h"

#include "base/joining_thread.h"
#include "base/number_text.h"
#include "store/attempts.h"
#include "store/partial_file.h"

#include <algorithm>
#include <sys/stat.h>

namespace sinter::store {
namespace {

constexpr uint64_t kGain = 1 << 20; // bytes after which attempts count anew

class Download {
public:
  Download(PartialFile &file, const DownloadSource &source, const DownloadOptions &options,
           const DownloadProgress &progress, const std::atomic<bool> &cancel)
      : file_(file), source_(source), options_(options), progress_(progress), cancel_(cancel),
        what_("'" + shownUrl(source.url) + "'") {}

  Result<void> run();

private:
  bool isOver() const { return cancel_.load() || isStopped_.load(); }
  std::optional<size_t> nextSegment();
  void work();
  Result<void> workOn(size_t segment, HttpClient &client);
  std::optional<HttpFailure> fetch(size_t segment, HttpClient &client, uint32_t &retryAfter);
  Result<void> checkHead(const HttpHead &head, ByteRange asked, bool hasRange);
  Result<void> take(size_t segment, std::span<const uint8_t> data, uint64_t &left);
  Result<void> startOthers();
  void stopWith(Status status);

  PartialFile &file_;
  const DownloadSource &source_;
  const DownloadOptions &options_;
  const DownloadProgress &progress_;
  const std::atomic<bool> &cancel_;
  const std::string what_;

  std::atomic<bool> isStopped_ = false; // one thread failed
  std::mutex mutex_;
  size_t next_ = 0;               // segment that no thread has taken
  bool hasOthers_ = false;        // the server gives ranges, and all threads run
  std::optional<Status> failure_; // the first
  std::vector<JoiningThread> threads_;
};

std::optional<size_t> Download::nextSegment() {
  const std::lock_guard lock(mutex_);
  while (next_ < file_.segments()) {
    const size_t segment = next_++;
    if (file_.segmentBegin(segment) + file_.done(segment) < file_.segmentEnd(segment))
      return segment;
  }
  return std::nullopt;
}

void Download::stopWith(Status status) {
  const std::lock_guard lock(mutex_);
  if (!failure_)
    failure_ = std::move(status);
  isStopped_ = true;
}

void Download::work() {
  auto client = makeHttpClient(options_.http);
  if (!client)
    return stopWith(std::move(client).error());
  while (!isOver()) {
    const auto segment = nextSegment();
    if (!segment)
      return;
    if (auto done = workOn(*segment, **client); !done)
      return stopWith(std::move(done).error());
  }
}

Result<void> Download::workOn(size_t segment, HttpClient &client) {
  Attempts attempts(options_, [this] { return isOver(); });
  uint64_t lastDone = file_.doneBytes();
  while (file_.segmentBegin(segment) + file_.done(segment) < file_.segmentEnd(segment)) {
    uint32_t retryAfter = 0;
    const auto failure = fetch(segment, client, retryAfter);
    if (!failure)
      continue;
    if (file_.doneBytes() >= lastDone + kGain) {
      attempts.reset();
      lastDone = file_.doneBytes();
    }
    SINTER_TRY(attempts.waitAfter(*failure, retryAfter));
  }
  return {};
}

// The bytes of a range, or of the whole file where the server knows no ranges.
Result<void> Download::checkHead(const HttpHead &head, ByteRange asked, bool hasRange) {
  const auto wrong = [&](const std::string &found, const std::string &expected) {
    return fail(Code::Corrupt, what_ + " gives " + found + ", expected " + expected);
  };
  if (head.status == 206) {
    const bool isAsked =
        hasRange && head.range && head.range->begin == asked.begin && head.range->end <= asked.end;
    if (!isAsked)
      return wrong(head.range ? "bytes " + std::to_string(head.range->begin) + " to " +
                                    std::to_string(head.range->end)
                              : "a range without its place",
                   std::to_string(asked.begin) + " to " + std::to_string(asked.end));
    if (head.wholeBytes && *head.wholeBytes != source_.bytes)
      return wrong("a file of " + std::to_string(*head.wholeBytes) + " bytes",
                   std::to_string(source_.bytes));
    return startOthers();
  }
  if (head.bytes && *head.bytes != source_.bytes)
    return wrong(std::to_string(*head.bytes) + " bytes", std::to_string(source_.bytes));
  const std::lock_guard lock(mutex_);
  if (hasOthers_)
    return wrong("the whole file", "the range that was asked for, as it gave before");
  file_.clear();
  return {};
}

Result<void> Download::startOthers() {
  const std::lock_guard lock(mutex_);
  const size_t left = file_.segments() - next_;
  const size_t count = std::min<size_t>(options_.connections, left + 1);
  if (std::exchange(hasOthers_, true))
    return {};
  for (size_t i = 1; i < count; ++i) {
    SINTER_ASSIGN(JoiningThread thread, JoiningThread::start("sinter-pull", [this] { work(); }));
    threads_.push_back(std::move(thread));
  }
  return {};
}

Result<void> Download::take(size_t segment, std::span<const uint8_t> data, uint64_t &left) {
  if (data.size() > left)
    return fail(Code::Corrupt, what_ + " gives more bytes than the " +
                                   std::to_string(source_.bytes) + " that it has");
  left -= data.size();
  SINTER_TRY(file_.append(segment, data));
  const std::lock_guard lock(mutex_);
  if (progress_.onBytes)
    progress_.onBytes(file_.doneBytes());
  return {};
}

std::optional<HttpFailure> Download::fetch(size_t segment, HttpClient &client,
                                           uint32_t &retryAfter) {
  const ByteRange asked{file_.segmentBegin(segment) + file_.done(segment),
                        file_.segmentEnd(segment)};
  HttpGet get{source_.url, "", source_.bearer};
  if (asked.begin > 0 || asked.end < source_.bytes)
    get.range = asked;
  uint64_t left = asked.end - asked.begin;
  size_t target = segment;
  const HttpReceiver receiver{
      [&](const HttpHead &head) -> Result<void> {
        SINTER_TRY(checkHead(head, asked, get.range.has_value()));
        if (head.status != 206) {
          left = source_.bytes;
          target = 0;
        }
        return {};
      },
      [&](std::span<const uint8_t> data) { return take(target, data, left); }};
  const auto answer = client.get(get, receiver, [this] { return isOver(); });
  if (!answer) {
    // A server that is confused about its ranges may be one of several.
    HttpFailure failure = answer.error();
    failure.isTransient |= failure.status.code == Code::Corrupt;
    return failure;
  }
  retryAfter = answer->head.retryAfter.value_or(0);
  if (answer->head.status >= 300)
    return statusFailure(what_, *answer);
  if (left > 0)
    return HttpFailure{
        {Code::Truncated, what_ + " ended " + std::to_string(left) + " bytes before its end"},
        true};
  return std::nullopt;
}

Result<void> Download::run() {
  // More than once where the server gave ranges at one time and none at another.
  while (!isOver() && !file_.isWhole()) {
    next_ = 0;
    hasOthers_ = false;
    work();
    threads_.clear(); // joins; only the first thread adds to them, and it has ended
  }
  if (auto saved = file_.saveJournal(); !saved && !failure_)
    failure_ = std::move(saved).error();
  if (cancel_.load())
    return fail(Code::Cancelled, "interrupted while " + what_ + " was fetched");
  if (failure_)
    return Fail(*failure_);
  return {};
}

Result<void> verify(const Store &store, const PartialFile &file, const DownloadSource &source,
                    const DownloadProgress &progress, const std::atomic<bool> &cancel) {
  if (progress.onVerify)
    progress.onVerify();
  SINTER_TRY(file.sync());
  const std::string path = store.partialPath(source.digest);
  SINTER_ASSIGN(const FileDigest found, digestOfFile(path, nullptr, &cancel));
  if (found.digest != source.digest || found.bytes != source.bytes) {
    file.removeFiles();
    return fail(Code::Corrupt, "the bytes of '" + shownUrl(source.url) + "' have the digest " +
                                   digestText(found.digest) + ", expected " +
                                   digestText(source.digest) +
                                   ": they were deleted, and fetching again may help");
  }
  SINTER_TRY(store.adopt(path, source.digest));
  file.removeFiles(); // the journal
  return {};
}

} // namespace

Result<void> downloadBlob(const Store &store, const DownloadSource &source,
                          const DownloadOptions &options, const DownloadProgress &progress,
                          const std::atomic<bool> &cancel) {
  SINTER_ASSIGN(const FileLock held, store.lockBlob(source.digest, &cancel));
  if (store.blobBytes(source.digest) == source.bytes)
    return {};
  SINTER_ASSIGN(PartialFile file, PartialFile::open(store.partialPath(source.digest), source.bytes,
                                                    options.segmentBytes));
  SINTER_TRY(Download(file, source, options, progress, cancel).run());
  return verify(store, file, source, progress, cancel);
}

Result<std::string> fetchText(const HttpGet &get, const std::string &what, size_t mostBytes,
                              const DownloadOptions &options, const std::atomic<bool> &cancel) {
  SINTER_ASSIGN(const std::unique_ptr<HttpClient> client, makeHttpClient(options.http));
  const IsCancelled isCancelled = [&] { return cancel.load(); };
  // Nothing was gained yet, and someone waits to hear that there is no network.
  DownloadOptions few = options;
  few.attempts = std::min(few.attempts, 3u);
  Attempts attempts(few, isCancelled);
  while (true) {
    std::string text;
    const HttpReceiver receiver{
        [&](const HttpHead &) -> Result<void> {
          text.clear();
          return {};
        },
        [&](std::span<const uint8_t> data) -> Result<void> {
          text.append(reinterpret_cast<const char *>(data.data()), data.size());
          if (text.size() > mostBytes)
            return fail(Code::Corrupt, what + " has more than " + std::to_string(mostBytes) +
                                           " bytes, which no answer of this kind has");
          return {};
        }};
    const auto answer = client->get(get, receiver, isCancelled);
    if (answer && answer->head.status < 300)
      return text;
    const HttpFailure failure = answer ? statusFailure(what, *answer) : answer.error();
    SINTER_TRY(attempts.waitAfter(failure, answer ? answer->head.retryAfter.value_or(0) : 0));
  }
}

uint64_t partialBytes(const Store &store, const Sha256Digest &digest) {
  struct stat info;
  if (stat(store.partialPath(digest).c_str(), &info) != 0)
    return 0;
  return static_cast<uint64_t>(info.st_blocks) * 512; // without its holes
}

} // namespace sinter::store
