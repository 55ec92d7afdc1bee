// Ollama's registry: manifests of the Docker registry's second version, whose layers have media
// types of Ollama's own.
#include "store/json_fields.h"
#include "store/remote.h"

namespace sinter::store {
namespace {

constexpr std::string_view kAccept = "application/vnd.docker.distribution.manifest.v2+json";
constexpr std::string_view kPrefix = "application/vnd.ollama.image.";
constexpr uint64_t kMostTextBytes = 4 << 20; // of a layer that is no model

struct MediaType {
  std::string_view name; // behind the prefix
  Role role;
};
constexpr MediaType kTypes[] = {
    {"model", Role::Model},   {"template", Role::Template}, {"system", Role::System},
    {"params", Role::Params}, {"license", Role::License},   {"messages", Role::Messages},
};

std::string repositoryUrl(const ModelName &name, const Endpoints &endpoints) {
  return endpoints.registry + "/v2/" + name.space + "/" + name.model;
}

Fail damaged(const ModelName &name, const std::string &what) {
  return fail(Code::Corrupt, "the registry's manifest of '" + name.text() + "' " + what);
}

// Nothing for what is not fetched, which becomes a note.
Result<std::optional<Layer>> layerOf(JsonElement element, const ModelName &name,
                                     std::vector<std::string> &notes) {
  const std::string type = textField(element, "mediaType").value_or("");
  const auto digest = digestFromText(textField(element, "digest").value_or(""));
  const auto bytes = wholeField(element, "size");
  if (!digest || !bytes)
    return damaged(name, "has a layer without digest or size");
  const std::string_view kind = std::string_view(type).starts_with(kPrefix)
                                    ? std::string_view(type).substr(kPrefix.size())
                                    : std::string_view();
  for (const MediaType &known : kTypes) {
    if (known.name != kind)
      continue;
    if (known.role != Role::Model && *bytes > kMostTextBytes)
      return damaged(name, "has a " + std::string(kind) + " of " + std::to_string(*bytes) +
                               " bytes, expected at most " + std::to_string(kMostTextBytes));
    if (*bytes > kMostLayerBytes)
      return damaged(name, "has a model of " + std::to_string(*bytes) +
                               " bytes, expected at most " + std::to_string(kMostLayerBytes));
    return Layer{known.role, *digest, *bytes};
  }
  if (kind == "adapter")
    return fail(Code::Unsupported, "'" + name.text() +
                                       "' has an adapter (LoRA) beside its model, and adapters "
                                       "are not applied here");
  if (kind == "tensor")
    return fail(Code::Unsupported,
                "'" + name.text() + "' is kept as single tensors, expected a GGUF file");
  notes.push_back("'" + name.text() + "' has a layer that is not fetched, of the type '" +
                  type.substr(0, 100) + "'");
  return std::nullopt;
}

} // namespace

Result<RemoteModel> readRegistryManifest(std::string_view text, const ModelName &name,
                                         const Endpoints &endpoints) {
  simdjson::dom::parser parser;
  SINTER_ASSIGN(const JsonElement root,
                parseJson(parser, text, "the registry's manifest of '" + name.text() + "'"));
  const auto layers = listField(root, "layers");
  if (!layers || layers->size() > kMostLayers)
    return damaged(name, "has no list of at most " + std::to_string(kMostLayers) + " layers");
  RemoteModel model;
  size_t models = 0;
  model.source = shownUrl(repositoryUrl(name, endpoints)) + ":" + name.tag;
  for (const JsonElement element : *layers) {
    SINTER_ASSIGN(const std::optional<Layer> layer, layerOf(element, name, model.notes));
    if (!layer)
      continue;
    models += layer->role == Role::Model;
    model.layers.push_back(
        {*layer, repositoryUrl(name, endpoints) + "/blobs/" + digestText(layer->digest)});
  }
  if (models != 1)
    return damaged(name, "has " + std::to_string(models) + " model layers, expected one");
  return model;
}

Result<RemoteModel> findInRegistry(const ModelName &name, const Endpoints &endpoints,
                                   const DownloadOptions &options,
                                   const std::atomic<bool> &cancel) {
  const HttpGet get{repositoryUrl(name, endpoints) + "/manifests/" + name.tag,
                    std::string(kAccept)};
  auto text =
      fetchText(get, "the manifest of '" + name.text() + "'", kMostManifestBytes, options, cancel);
  if (!text && text.error().code == Code::NotFound)
    return fail(Code::NotFound, "the registry " + shownUrl(endpoints.registry) + " has no model '" +
                                    name.text() + "'");
  if (!text)
    return Fail(text.error());
  return readRegistryManifest(*text, name, endpoints);
}

} // namespace sinter::store
