// The models that a user keeps: blobs named by the SHA-256 digest of their bytes, and a small
// manifest for each name that says which blobs it consists of.
//
//   FOLDER/manifests/llama3.2=1b.json          one a name
//   FOLDER/blobs/sha256-0123...                one a content, shared by all names that have it
//   FOLDER/blobs/partial-0123...               a download that goes on later (download.h)
//   FOLDER/views/hf.co+owner+repo=Q8_0/FILE    hard links, for models in several files
//
// Several processes share a folder. A blob or manifest appears under its name when it is whole.
// Whoever changes manifests holds a lock; readers need none.
#pragma once

#include "base/file_lock.h"
#include "store/manifest.h"

#include <atomic>
#include <functional>
#include <set>

namespace sinter::store {

// Called with the bytes that are done.
using OnBytes = std::function<void(uint64_t done)>;

// Values: a folder's path. Safe from any thread.
class Store {
public:
  // `folder` is absolute; it is made when something is written.
  explicit Store(std::string folder) : folder_(std::move(folder)) {}

  const std::string &folder() const { return folder_; }

  // Of all manifests, sorted; those that cannot be read are among them.
  std::vector<ModelName> names() const;
  // All manifests that can be read, by name.
  std::vector<Manifest> list() const;
  bool has(const ModelName &name) const;
  // NotFound: there is none of that name. Corrupt, Unsupported: what is wrong with it, and what to
  // do.
  Result<Manifest> find(const ModelName &name) const;

  // Puts it in place of what had its name. NotFound: a blob is missing, with its digest; Corrupt:
  // one has another size.
  Result<void> put(const Manifest &manifest) const;
  // The bytes of blobs that no other manifest names, which are removed. NotFound as find(); a
  // manifest that is damaged can be removed, too.
  Result<uint64_t> remove(const ModelName &name) const;

  std::string blobPath(const Sha256Digest &digest) const;
  std::string partialPath(const Sha256Digest &digest) const;
  // The size of a blob; nothing where there is none.
  std::optional<uint64_t> blobBytes(const Sha256Digest &digest) const;
  // Keeps bytes as a blob; one that is there is as good.
  Result<Layer> addBytes(Role role, std::string_view bytes) const;
  // Keeps a file's bytes as a blob. `links`: the file is the store's own, and the blob may be the
  // same file under another name. Cancelled: `cancel` became true.
  Result<Layer> addFile(Role role, const std::string &path, bool links, const OnBytes &onBytes,
                        const std::atomic<bool> *cancel) const;
  // Gives a whole file its name as a blob; it was written below folder().
  Result<void> adopt(const std::string &path, const Sha256Digest &digest) const;
  // The text of a small blob. Corrupt: it is missing or has another size.
  Result<std::string> readText(const ModelName &name, const Layer &layer) const;

  // A path at which the model can be opened: the blob, or the first of its parts beside the others.
  // Corrupt: a blob is missing or has another size, and what to do.
  Result<std::string> modelPath(const Manifest &manifest) const;

  // Held while a blob is made, so that others wait instead of making it too.
  Result<FileLock> lockBlob(const Sha256Digest &digest, const std::atomic<bool> *cancel) const;
  // Makes the folder for blobs.
  Result<void> prepare() const;
  std::string manifestPath(const ModelName &name) const;

private:
  Result<FileLock> lock() const;
  Result<void> checkBlob(const Layer &layer) const;
  Result<uint64_t> removeUnnamed(const std::vector<Layer> &layers) const;
  void removeForgotten(const std::set<Sha256Digest> &named) const;
  Result<void> makeView(const std::string &view, const std::vector<Layer> &parts) const;

  std::string folder_;
};

// The digest and size of a file. Cancelled: `cancel` became true.
struct FileDigest {
  Sha256Digest digest;
  uint64_t bytes = 0;
};
Result<FileDigest> digestOfFile(const std::string &path, const OnBytes &onBytes,
                                const std::atomic<bool> *cancel);

} // namespace sinter::store
