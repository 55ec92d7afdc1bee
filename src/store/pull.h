// From a name to a stored model.
#pragma once

#include "store/remote.h"

namespace sinter::store {

// What a pull is doing. Called from its threads, one at a time.
class PullObserver {
public:
  virtual ~PullObserver() = default;

  // "pulling manifest", "verifying sha256 digest", "writing manifest", "success".
  virtual void onStep(const std::string &step) {}
  // One blob's bytes so far.
  virtual void onBlob(const Layer &layer, uint64_t doneBytes) {}
  // A step that is no download, how much of it is done.
  virtual void onPart(const std::string &step, uint64_t done, uint64_t total) {}
  // What is not as expected, and no error.
  virtual void onNote(const std::string &line) {}
};

struct PullOptions {
  Endpoints endpoints;
  DownloadOptions download = {};
};

// Fetches what is missing, then stores the manifest. Errors: findRemote()'s, downloadBlob()'s;
// Exhausted: the disk has no room, with the numbers, before anything is fetched.
Result<Manifest> pull(const Store &store, const ModelName &name, const PullOptions &options,
                      PullObserver &observer, const std::atomic<bool> &cancel);

} // namespace sinter::store
