// Files of the store. Names of files come from checked names and digests alone.
#include "store/store.h"

#include "base/folders.h"
#include "base/output_file.h"
#include "base/system_error.h"
#include "store/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::store {
namespace {

constexpr const char *kManifestSuffix = ".json";
constexpr uint32_t kLockTimeoutMs = 30'000;
constexpr int64_t kForgottenSeconds = 7 * 24 * 3600;      // after which unnamed files go
constexpr uint32_t kBlobLockTimeoutMs = 24 * 3600 * 1000; // as long as a download may take

// "/" and ":" are in no part of a name, nor are "+" and "=".
std::string fileNameOf(const ModelName &name) {
  std::string text = name.text();
  std::ranges::replace(text, '/', '+');
  std::ranges::replace(text, ':', '=');
  return text;
}

std::optional<uint64_t> fileBytes(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    return std::nullopt;
  return static_cast<uint64_t>(info.st_size);
}

std::string shortDigest(const Sha256Digest &digest) {
  return "sha256:" + digest.hex().substr(0, 12);
}

std::string mendText(const ModelName &name) {
  return "; `sinter rm " + name.text() + "` and `sinter pull " + name.text() + "` fetch it anew";
}

Fail damaged(const ModelName &name, const Status &why) {
  return fail(why.code,
              "the stored model '" + name.text() + "' is damaged: " + why.message + mendText(name));
}

bool isOlderThan(const std::string &path, int64_t seconds) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime > seconds;
}

// Of this process and of this file in it.
std::string uniqueCopyName() {
  static std::atomic<uint64_t> count = 0;
  return "copy-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

} // namespace

std::string Store::manifestPath(const ModelName &name) const {
  return folder_ + "/manifests/" + fileNameOf(name) + kManifestSuffix;
}

std::string Store::blobPath(const Sha256Digest &digest) const {
  return folder_ + "/blobs/sha256-" + digest.hex();
}

std::string Store::partialPath(const Sha256Digest &digest) const {
  return folder_ + "/blobs/partial-" + digest.hex();
}

std::optional<uint64_t> Store::blobBytes(const Sha256Digest &digest) const {
  return fileBytes(blobPath(digest));
}

Result<void> Store::prepare() const {
  for (const char *part : {"/manifests", "/blobs"})
    SINTER_TRY(makeFolders(folder_ + part, "the folder of the models"));
  return {};
}

Result<FileLock> Store::lock() const {
  SINTER_TRY(prepare());
  return FileLock::take(AT_FDCWD, folder_ + "/.lock", "the lock of the models",
                        "another process changes the models of '" + folder_ + "'", kLockTimeoutMs);
}

Result<FileLock> Store::lockBlob(const Sha256Digest &digest,
                                 const std::atomic<bool> *cancel) const {
  SINTER_TRY(prepare());
  return FileLock::take(AT_FDCWD, folder_ + "/blobs/.lock-" + digest.hex(), "the lock of a blob",
                        "another process fetches " + shortDigest(digest), kBlobLockTimeoutMs,
                        cancel);
}

bool Store::has(const ModelName &name) const {
  return fileBytes(manifestPath(name)).has_value();
}

Result<Manifest> Store::find(const ModelName &name) const {
  const std::string path = manifestPath(name);
  if (!has(name))
    return fail(Code::NotFound, "there is no stored model '" + name.text() + "'");
  const auto text = readWholeFile(path, kMostManifestBytes);
  if (!text)
    return damaged(name, text.error());
  auto manifest = Manifest::parse(*text);
  if (!manifest)
    return damaged(name, manifest.error());
  if (manifest->name != name)
    return damaged(name, {Code::Corrupt, "its manifest is named '" + manifest->name.text() + "'"});
  return manifest;
}

std::vector<ModelName> Store::names() const {
  std::vector<ModelName> found;
  for (std::string file : filesIn(folder_ + "/manifests")) {
    if (!file.ends_with(kManifestSuffix))
      continue;
    file.resize(file.size() - std::string_view(kManifestSuffix).size());
    std::ranges::replace(file, '+', '/');
    std::ranges::replace(file, '=', ':');
    if (const auto name = ModelName::parse(file); name && name->text() == file)
      found.push_back(*name);
  }
  return found;
}

std::vector<Manifest> Store::list() const {
  std::vector<Manifest> found;
  for (const ModelName &name : names())
    if (auto manifest = find(name))
      found.push_back(std::move(*manifest));
  return found;
}

Result<void> Store::checkBlob(const Layer &layer) const {
  const auto bytes = fileBytes(blobPath(layer.digest));
  if (!bytes)
    return fail(Code::NotFound, "its blob " + shortDigest(layer.digest) + " is missing");
  if (*bytes != layer.bytes)
    return fail(Code::Corrupt, "its blob " + shortDigest(layer.digest) + " has " +
                                   std::to_string(*bytes) + " bytes, expected " +
                                   std::to_string(layer.bytes));
  return {};
}

Result<void> Store::put(const Manifest &manifest) const {
  SINTER_ASSIGN(const FileLock held, lock());
  for (const Layer &layer : manifest.layers)
    SINTER_TRY(checkBlob(layer));
  std::vector<Layer> former;
  if (const auto old = find(manifest.name))
    former = old->layers;
  SINTER_TRY(writeWholeFile(manifestPath(manifest.name), manifest.text()));
  std::error_code ignored;
  std::filesystem::remove_all(folder_ + "/views/" + fileNameOf(manifest.name), ignored);
  return removeUnnamed(former).map([](uint64_t) {});
}

// With the lock held. A manifest that cannot be read may name any blob, so then all stay.
Result<uint64_t> Store::removeUnnamed(const std::vector<Layer> &layers) const {
  std::set<Sha256Digest> named;
  size_t readable = 0, files = 0;
  for (const Manifest &manifest : list()) {
    ++readable;
    for (const Layer &layer : manifest.layers)
      named.insert(layer.digest);
  }
  for (const std::string &file : filesIn(folder_ + "/manifests"))
    files += file.ends_with(kManifestSuffix);
  uint64_t freed = 0;
  if (files != readable)
    return freed;
  for (const Layer &layer : layers) {
    const auto bytes = fileBytes(blobPath(layer.digest));
    if (!bytes || named.contains(layer.digest))
      continue;
    if (unlink(blobPath(layer.digest).c_str()) != 0)
      return systemFailed("cannot remove '" + blobPath(layer.digest) + "'", errno);
    freed += *bytes;
  }
  removeForgotten(named);
  return freed;
}

// What was sent or begun, and never became a part of a model.
void Store::removeForgotten(const std::set<Sha256Digest> &named) const {
  const std::string blobs = folder_ + "/blobs/";
  for (const std::string &file : filesIn(blobs)) {
    const auto digest = digestFromText(file);
    const bool isKept = digest && named.contains(*digest);
    const bool isOurs = digest || file.starts_with("partial-") || file.starts_with("copy-");
    if (isOurs && !isKept && isOlderThan(blobs + file, kForgottenSeconds))
      unlink((blobs + file).c_str());
  }
}

Result<uint64_t> Store::remove(const ModelName &name) const {
  if (!has(name))
    return fail(Code::NotFound, "there is no stored model '" + name.text() + "'");
  SINTER_ASSIGN(const FileLock held, lock());
  const auto manifest = find(name);
  if (!manifest && manifest.error().code == Code::NotFound)
    return Fail(manifest.error()); // another process was first
  if (unlink(manifestPath(name).c_str()) != 0)
    return systemFailed("cannot remove '" + manifestPath(name) + "'", errno);
  std::error_code ignored;
  std::filesystem::remove_all(folder_ + "/views/" + fileNameOf(name), ignored);
  return removeUnnamed(manifest ? manifest->layers : std::vector<Layer>());
}

Result<Layer> Store::addBytes(Role role, std::string_view bytes) const {
  const std::span data(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  SINTER_ASSIGN(const Sha256Digest digest, sha256({data}));
  SINTER_TRY(prepare());
  if (fileBytes(blobPath(digest)) != bytes.size())
    SINTER_TRY(writeWholeFile(blobPath(digest), bytes));
  return Layer{role, digest, bytes.size()};
}

Result<Layer> Store::addFile(Role role, const std::string &path, bool links, const OnBytes &onBytes,
                             const std::atomic<bool> *cancel) const {
  SINTER_TRY(prepare());
  const std::string copyPath = folder_ + "/blobs/" + uniqueCopyName();
  std::optional<OutputFile> copy;
  if (!links) {
    SINTER_ASSIGN(OutputFile made, OutputFile::create(copyPath, 0600));
    copy.emplace(std::move(made));
  }
  SINTER_ASSIGN(const FileDigest of, copyAndDigest(path, copy ? &*copy : nullptr, onBytes, cancel));
  const Layer layer{role, of.digest, of.bytes};
  const std::string blob = blobPath(of.digest);
  if (fileBytes(blob) == of.bytes)
    return layer;
  if (copy) {
    SINTER_TRY(copy->commit());
    SINTER_TRY(adopt(copyPath, of.digest));
    return layer;
  }
  unlink(blob.c_str()); // of another size
  if (link(path.c_str(), blob.c_str()) != 0 && errno != EEXIST)
    return addFile(role, path, false, onBytes, cancel); // another file system
  return layer;
}

Result<void> Store::adopt(const std::string &path, const Sha256Digest &digest) const {
  if (rename(path.c_str(), blobPath(digest).c_str()) != 0)
    return systemFailed("cannot give its name to '" + blobPath(digest) + "'", errno);
  return {};
}

Result<std::string> Store::readText(const ModelName &name, const Layer &layer) const {
  if (auto whole = checkBlob(layer); !whole)
    return damaged(name, whole.error());
  return readWholeFile(blobPath(layer.digest), layer.bytes);
}

// Parts are found beside one another by name, which blobs do not have.
Result<void> Store::makeView(const std::string &view, const std::vector<Layer> &parts) const {
  SINTER_TRY(makeFolders(view, "the folder of a model's parts"));
  for (const Layer &part : parts) {
    const std::string path = view + "/" + part.file, blob = blobPath(part.digest);
    struct stat there, wanted;
    if (stat(path.c_str(), &there) == 0 && stat(blob.c_str(), &wanted) == 0 &&
        there.st_ino == wanted.st_ino)
      continue;
    unlink(path.c_str());
    if (link(blob.c_str(), path.c_str()) != 0 && errno != EEXIST)
      return systemFailed("cannot make '" + path + "'", errno);
  }
  return {};
}

Result<std::string> Store::modelPath(const Manifest &manifest) const {
  for (const Layer &layer : manifest.layers)
    if (auto whole = checkBlob(layer); !whole)
      return damaged(manifest.name, {Code::Corrupt, whole.error().message});
  const std::vector<Layer> parts = manifest.modelLayers();
  if (parts.size() == 1)
    return blobPath(parts.front().digest);
  for (const Layer &part : parts)
    if (part.file.empty())
      return fail(Code::Unsupported, "the stored model '" + manifest.name.text() + "' has " +
                                         std::to_string(parts.size()) +
                                         " model files, which are no parts of one");
  const std::string view = folder_ + "/views/" + fileNameOf(manifest.name);
  SINTER_TRY(makeView(view, parts));
  return view + "/" + parts.front().file;
}

} // namespace sinter::store
