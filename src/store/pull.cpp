// The steps of a pull, in the words of Ollama's clients.
#include "store/pull.h"

#include "base/number_text.h"

#include <set>
#include <sys/statvfs.h>

namespace sinter::store {
namespace {

constexpr uint64_t kSpareBytes = 64 << 20; // what other programs of this disk keep
constexpr int kMostRounds = 3;

uint64_t missingBytes(const Store &store, const RemoteModel &model) {
  uint64_t missing = 0;
  std::set<std::pair<Sha256Digest, uint64_t>> counted;
  for (const RemoteLayer &remote : model.layers) {
    const Layer &layer = remote.layer;
    if (!counted.insert({layer.digest, layer.bytes}).second ||
        store.blobBytes(layer.digest) == layer.bytes)
      continue;
    missing += layer.bytes - std::min(layer.bytes, partialBytes(store, layer.digest));
  }
  return missing;
}

Result<void> checkRoom(const Store &store, const ModelName &name, const RemoteModel &model) {
  const uint64_t missing = missingBytes(store, model);
  struct statvfs disk;
  if (missing == 0 || statvfs(store.folder().c_str(), &disk) != 0)
    return {};
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (missing < free && free - missing >= kSpareBytes)
    return {};
  const auto text = [](uint64_t bytes) { return bytesText(static_cast<double>(bytes)); };
  return fail(Code::Exhausted, "no room for '" + name.text() + "': " + text(missing) +
                                   " are to be fetched, and the disk of '" + store.folder() +
                                   "' has " + text(free) + " free, of which " + text(kSpareBytes) +
                                   " stay free");
}

Result<void> fetchLayers(const Store &store, const RemoteModel &model, const PullOptions &options,
                         PullObserver &observer, const std::atomic<bool> &cancel) {
  for (const RemoteLayer &remote : model.layers) {
    const Layer &layer = remote.layer;
    uint64_t last = store.blobBytes(layer.digest) == layer.bytes ? layer.bytes : 0;
    observer.onBlob(layer, last);
    DownloadProgress progress;
    progress.onBytes = [&](uint64_t done) { observer.onBlob(layer, last = done); };
    progress.onVerify = [&] { observer.onStep("verifying sha256 digest"); };
    SINTER_TRY(downloadBlob(store, {remote.url, remote.bearer, layer.digest, layer.bytes},
                            options.download, progress, cancel));
    if (last != layer.bytes) // another process fetched it
      observer.onBlob(layer, layer.bytes);
  }
  return {};
}

} // namespace

Result<Manifest> pull(const Store &store, const ModelName &name, const PullOptions &options,
                      PullObserver &observer, const std::atomic<bool> &cancel) {
  SINTER_TRY(store.prepare());
  observer.onStep("pulling manifest");
  SINTER_ASSIGN(const RemoteModel model,
                findRemote(name, options.endpoints, options.download, cancel));
  for (const std::string &note : model.notes)
    observer.onNote(note);
  Manifest manifest{name, model.source, {}};
  for (const RemoteLayer &remote : model.layers)
    manifest.layers.push_back(remote.layer);
  SINTER_TRY(checkRoom(store, name, model));
  for (int round = 1;; ++round) {
    SINTER_TRY(fetchLayers(store, model, options, observer, cancel));
    observer.onStep("writing manifest");
    auto put = store.put(manifest);
    // Another process may have removed a blob that was there when it was looked for.
    if (!put && put.error().code == Code::NotFound && round < kMostRounds)
      continue;
    SINTER_TRY(put);
    observer.onStep("success");
    return manifest;
  }
}

} // namespace sinter::store
