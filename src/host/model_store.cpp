// The folder of fetched models, and files beside a path that is mistyped.
#include "host/model_store.h"

#include "base/nearest.h"
#include "base/system_error.h"
#include "format/known_names.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr const char *kKnownModel = "smollm2";
constexpr const char *kModelSuffix = ".gguf";

Result<std::string> cacheHome() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/')
    return std::string(cache);
  const char *home = std::getenv("HOME");
  if (home && home[0] == '/')
    return std::string(home) + "/.cache";
  return fail(Code::NotFound, "neither XDG_CACHE_HOME nor HOME names a folder to find models in");
}

// The model files of a folder, by name.
std::vector<std::string> modelFilesIn(const std::filesystem::path &folder) {
  constexpr size_t kMostEntries = 4096; // of a folder that is looked through
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder.empty() ? "." : folder, failed);
  for (size_t i = 0; !failed && at != std::filesystem::directory_iterator() && i < kMostEntries;
       ++i, at.increment(failed))
    if (at->path().extension() == kModelSuffix)
      names.push_back(at->path().filename().string());
  return names;
}

Result<std::string> storeFolder() {
  SINTER_ASSIGN(const std::string cache, cacheHome());
  return cache + "/sinter/models";
}

// Of a name that may be one of the store's.
std::string storedPath(const std::string &model) {
  const auto folder = storeFolder();
  if (!folder || model.empty() || model.find('/') != std::string::npos)
    return "";
  const std::string path = *folder + "/" + model + kModelSuffix;
  return access(path.c_str(), F_OK) == 0 ? path : "";
}

// What a path at which there is no file may have been meant to be: the known model, or a file
// beside it, whose suffix may have been left out.
std::string hintFor(const std::string &model) {
  const std::filesystem::path path(model);
  std::vector<std::string> names = modelFilesIn(path.parent_path());
  if (path.parent_path().empty()) {
    names.insert(names.begin(), kKnownModel);
    std::ranges::copy(storedModels(), std::back_inserter(names));
  }
  std::string found(nearest(path.filename().string(), names));
  if (found.empty())
    found = nearest(path.filename().string() + kModelSuffix, names);
  if (found.empty())
    return "";
  return " (did you mean '" + (path.parent_path() / found).string() + "'?)";
}

} // namespace

Result<std::string> modelPath(const std::string &model) {
  if (std::string stored = storedPath(model); !stored.empty())
    return stored;
  if (model == kKnownModel) {
    SINTER_ASSIGN(const std::string folder, storeFolder());
    return fail(Code::NotFound, std::string("model '") + kKnownModel + "' is not at '" + folder +
                                    "/" + kKnownModel + kModelSuffix +
                                    "': run ./demo once, which fetches it");
  }
  const int error = access(model.c_str(), F_OK) == 0 ? 0 : errno;
  if (error)
    return systemFailed("cannot open '" + model + "'" + hintFor(model), error);
  return model;
}

std::vector<std::string> storedModels() {
  std::vector<std::string> names;
  if (const auto folder = storeFolder())
    for (const std::string &file : modelFilesIn(*folder))
      names.push_back(std::filesystem::path(file).stem().string());
  std::ranges::sort(names);
  return names;
}

Result<ModelFile> openModelFile(const std::string &model, Observer &observer, TextNeed text) {
  SINTER_ASSIGN(const std::string path, modelPath(model));
  SINTER_ASSIGN(ModelFile file, ModelFile::open(path, text));
  if (const std::string unknown = findUnknownNames(file.gguf()).text(); !unknown.empty())
    observer.note("'" + path + "' holds what is not known here and goes unused: " + unknown);
  if (file.hasTokenizer())
    for (const std::string &line : file.tokenizer().warnings())
      observer.note("'" + path + "': " + line);
  return file;
}

} // namespace sinter::host
