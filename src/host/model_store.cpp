// The folder of models, and files beside a path that is mistyped.
#include "host/model_store.h"

#include "base/nearest.h"
#include "base/system_error.h"
#include "format/known_names.h"
#include "host/go_templates.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr const char *kModelSuffix = ".gguf";
constexpr std::string_view kLatest = ":latest";

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

// The manifest of a name that a registry might have.
std::optional<store::ModelName> pulledName(const store::Store &models, const std::string &model) {
  const auto name = store::ModelName::parse(model);
  return name && models.has(*name) ? std::optional(*name) : std::nullopt;
}

// What a path at which there is no file may have been meant to be: the known model, a stored one,
// or a file beside it, whose suffix may have been left out.
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
  if (!found.empty())
    return " (did you mean '" + (path.parent_path() / found).string() + "'?)";
  const bool isPath = path.is_absolute() || model.ends_with(kModelSuffix);
  return !isPath && store::ModelName::parse(model)
             ? " (`sinter pull " + model + "` fetches a model of that name)"
             : "";
}

Result<std::string> layerText(const store::Store &models, const store::Manifest &manifest,
                              store::Role role) {
  std::string text;
  for (const store::Layer &layer : manifest.layers) {
    if (layer.role != role)
      continue;
    SINTER_ASSIGN(const std::string part, models.readText(manifest.name, layer));
    text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

// Models without a template of their own may have one that Ollama's converter left out.
Result<void> useGoTemplate(ModelFile &file, const std::string &model, Observer &observer) {
  SINTER_ASSIGN(const ModelExtras extras, modelExtras(model));
  if (extras.goTemplate.empty() || file.gguf().find("tokenizer.chat_template"))
    return {};
  if (const auto known = builtinForGoTemplate(extras.goTemplate)) {
    SINTER_ASSIGN(ChatTemplate made, ChatTemplate::parse(*known));
    file.useChatTemplate(std::move(made));
    return {};
  }
  observer.note("'" + model + "' has no Jinja template, and its Go template is not known here: " +
                "chats need --chat-template");
  return {};
}

} // namespace

Result<store::Store> modelStore() {
  SINTER_ASSIGN(const std::string cache, cacheHome());
  return store::Store(cache + "/sinter/models");
}

std::optional<std::string> storedName(const std::string &name) {
  const auto models = modelStore();
  if (!models || name.empty())
    return std::nullopt;
  const auto isFile = [&](const std::string &file) {
    return file.find('/') == std::string::npos &&
           access((models->folder() + "/" + file + kModelSuffix).c_str(), F_OK) == 0;
  };
  if (isFile(name))
    return name;
  if (const auto pulled = pulledName(*models, name))
    return pulled->text();
  if (name.ends_with(kLatest) && isFile(name.substr(0, name.size() - kLatest.size())))
    return name.substr(0, name.size() - kLatest.size());
  return std::nullopt;
}

Result<std::string> modelPath(const std::string &model) {
  const std::optional<std::string> stored = storedName(model);
  if (stored || model == kKnownModel) {
    SINTER_ASSIGN(const store::Store models, modelStore());
    const std::string file = models.folder() + "/" + stored.value_or(model) + kModelSuffix;
    if (access(file.c_str(), F_OK) == 0)
      return file;
    if (!stored)
      return fail(Code::NotFound, "model '" + model + "' is not at '" + file +
                                      "': run ./demo once, or `sinter pull " + model +
                                      "`, which fetch it");
    SINTER_ASSIGN(const store::ModelName name, store::ModelName::parse(*stored));
    SINTER_ASSIGN(const store::Manifest manifest, models.find(name));
    return models.modelPath(manifest);
  }
  const int error = access(model.c_str(), F_OK) == 0 ? 0 : errno;
  if (error)
    return systemFailed("cannot open '" + model + "'" + hintFor(model), error);
  return model;
}

std::vector<std::string> storedModels() {
  std::vector<std::string> names;
  const auto models = modelStore();
  if (!models)
    return names;
  for (const std::string &file : modelFilesIn(models->folder()))
    names.push_back(std::filesystem::path(file).stem().string());
  for (const store::ModelName &name : models->names())
    names.push_back(name.text());
  std::ranges::sort(names);
  return names;
}

Result<ModelExtras> modelExtras(const std::string &model) {
  const auto models = modelStore();
  const std::optional<std::string> stored = storedName(model);
  const auto name = stored ? store::ModelName::parse(*stored) : fail(Code::NotFound, "");
  if (!models || !name || !models->has(*name) || *stored != name->text())
    return ModelExtras();
  SINTER_ASSIGN(const store::Manifest manifest, models->find(*name));
  ModelExtras extras;
  extras.source = manifest.source;
  const std::pair<store::Role, std::string *> texts[] = {
      {store::Role::System, &extras.system},       {store::Role::Params, &extras.params},
      {store::Role::Template, &extras.goTemplate}, {store::Role::Messages, &extras.messages},
      {store::Role::License, &extras.license},
  };
  for (const auto &[role, text] : texts) {
    SINTER_ASSIGN(*text, layerText(*models, manifest, role));
  }
  return extras;
}

Result<ModelFile> openModelFile(const std::string &model, Observer &observer, TextNeed text) {
  SINTER_ASSIGN(const std::string path, modelPath(model));
  SINTER_ASSIGN(ModelFile file, ModelFile::open(path, text));
  if (const std::string unknown = findUnknownNames(file.gguf()).text(); !unknown.empty())
    observer.note("'" + model + "' holds what is not known here and goes unused: " + unknown);
  if (file.hasTokenizer())
    for (const std::string &line : file.tokenizer().warnings())
      observer.note("'" + model + "': " + line);
  SINTER_TRY(useGoTemplate(file, model, observer));
  return file;
}

} // namespace sinter::host
