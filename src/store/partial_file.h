// A file of which parts are there, and a journal that says which.
#pragma once

#include "store/store.h"

#include <mutex>

namespace sinter::store {

// Segments of equal size, each filled from its beginning. The journal may tell of less than there
// is, never of more than was written. All calls are safe from any thread but close().
class PartialFile {
public:
  // Opens what an earlier process left at `path`, or begins anew where that is of another size or
  // damaged.
  static Result<PartialFile> open(const std::string &path, uint64_t bytes, uint64_t segmentBytes);

  PartialFile(PartialFile &&other) noexcept;
  PartialFile &operator=(PartialFile &&) = delete;
  ~PartialFile();

  uint64_t bytes() const { return bytes_; }
  size_t segments() const { return done_.size(); }
  uint64_t segmentBegin(size_t segment) const { return segment * segmentBytes_; }
  uint64_t segmentEnd(size_t segment) const;
  uint64_t done(size_t segment) const;
  uint64_t doneBytes() const;
  bool isWhole() const { return doneBytes() == bytes_; }

  // Writes at the end of what a segment has, over its end into the next ones where it is the first
  // that is not whole. Exhausted: the disk is full.
  Result<void> append(size_t segment, std::span<const uint8_t> data);
  // Nothing is there any more.
  void clear();
  // So that the next process finds what there is.
  Result<void> saveJournal() const;
  // Waits until the disk has all bytes.
  Result<void> sync() const;
  void removeFiles() const;

private:
  PartialFile(std::string path, uint64_t bytes, uint64_t segmentBytes);
  bool readJournal();
  std::string journalPath() const { return path_ + ".journal"; }

  std::string path_;
  uint64_t bytes_, segmentBytes_;
  int fd_ = -1;
  mutable std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::vector<uint64_t> done_; // of each segment
  uint64_t unsaved_ = 0;       // bytes since the journal was written
};

} // namespace sinter::store
