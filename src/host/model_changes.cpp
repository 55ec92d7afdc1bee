// The store's operations under the names that users give.
#include "host/model_changes.h"

#include "base/nearest.h"
#include "base/system_error.h"
#include "host/known_model.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr const char *kModelSuffix = ".gguf";

// The path of a file NAME.gguf in the folder of models; empty where the name is no such file's.
std::string loosePath(const store::Store &models, const std::string &stored) {
  const std::string path = models.folder() + "/" + stored + kModelSuffix;
  return stored.find('/') == std::string::npos && access(path.c_str(), F_OK) == 0 ? path : "";
}

Result<std::string> requireStored(const std::string &name) {
  if (const auto stored = storedName(name))
    return *stored;
  return fail(Code::NotFound,
              "there is no stored model '" + name + "'" + nearestHint(name, storedModels()));
}

std::string fileName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}

} // namespace

Result<void> pullModel(const std::string &name, store::PullObserver &observer,
                       const std::atomic<bool> &cancel) {
  if (name == kKnownModel || name == std::string(kKnownModel) + ":latest") {
    observer.onStep("pulling manifest");
    SINTER_TRY(fetchKnownModel(cancel));
    observer.onStep("success");
    return {};
  }
  SINTER_ASSIGN(const store::ModelName parsed, store::ModelName::parse(name));
  SINTER_ASSIGN(const store::Store models, modelStore());
  return store::pull(models, parsed, {store::Endpoints::fromEnvironment()}, observer, cancel)
      .map([](const store::Manifest &) {});
}

Result<uint64_t> removeModel(const std::string &name) {
  SINTER_ASSIGN(const store::Store models, modelStore());
  // A damaged manifest has a name, too.
  SINTER_ASSIGN(const std::string stored, requireStored(name));
  const std::string loose = loosePath(models, stored);
  if (loose.empty()) {
    SINTER_ASSIGN(const store::ModelName parsed, store::ModelName::parse(stored));
    return models.remove(parsed);
  }
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(loose, failed);
  if (unlink(loose.c_str()) != 0)
    return systemFailed("cannot remove '" + loose + "'", errno);
  return failed ? 0 : bytes;
}

Result<store::Manifest> manifestFrom(const store::Store &models, const std::string &from,
                                     const store::ModelName &to, const std::atomic<bool> &cancel) {
  const std::optional<std::string> stored = storedName(from);
  const std::string loose = stored ? loosePath(models, *stored) : "";
  if (stored && loose.empty()) {
    SINTER_ASSIGN(const store::ModelName parsed, store::ModelName::parse(*stored));
    SINTER_ASSIGN(store::Manifest manifest, models.find(parsed));
    manifest.name = to;
    return manifest;
  }
  SINTER_ASSIGN(const std::string path, modelPath(from));
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(path));
  store::Manifest manifest{to, path, {}};
  const std::vector<std::string> parts = file.paths();
  for (const std::string &part : parts) {
    SINTER_ASSIGN(store::Layer layer,
                  models.addFile(store::Role::Model, part, !loose.empty(), nullptr, &cancel));
    if (parts.size() > 1)
      layer.file = fileName(part);
    manifest.layers.push_back(std::move(layer));
  }
  return manifest;
}

Result<void> copyModel(const std::string &from, const std::string &to,
                       const std::atomic<bool> &cancel) {
  SINTER_ASSIGN(const store::ModelName name, store::ModelName::parse(to));
  SINTER_ASSIGN(const store::Store models, modelStore());
  SINTER_ASSIGN(const store::Manifest manifest, manifestFrom(models, from, name, cancel));
  return models.put(manifest);
}

std::vector<StoredModel> listModels() {
  std::vector<StoredModel> found;
  const auto models = modelStore();
  if (!models)
    return found;
  for (const std::string &name : storedModels()) {
    const std::string loose = loosePath(*models, name);
    std::error_code failed;
    if (!loose.empty()) {
      found.push_back({name, std::filesystem::file_size(loose, failed), "", loose, loose});
      continue;
    }
    const auto parsed = store::ModelName::parse(name);
    const auto manifest = parsed ? models->find(*parsed) : fail(Code::NotFound, "");
    if (!manifest)
      continue;
    found.push_back({name, manifest->bytes(),
                     manifest->find(store::Role::Model)->digest.hex().substr(0, 12),
                     manifest->source, models->manifestPath(manifest->name)});
  }
  return found;
}

} // namespace sinter::host
