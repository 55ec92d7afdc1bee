// Manifests as JSON.
#include "store/manifest.h"

#include "base/sha256_stream.h"
#include "store/json_fields.h"

#include <algorithm>
#include <iterator>

namespace sinter::store {
namespace {

constexpr uint64_t kVersion = 1;
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::string_view kRoles[] = {"model",  "template", "system",
                                       "params", "license",  "messages"};

// The name of a file in a folder, and nothing else.
bool isFileName(std::string_view text) {
  return text.size() <= 200 && text != "." && text != ".." && text.find('/') == text.npos &&
         text.find('\0') == text.npos;
}

Result<Layer> layerOf(JsonElement element, size_t number) {
  const auto damaged = [&](const char *what) {
    return fail(Code::Corrupt,
                "layer " + std::to_string(number) + " of the manifest has no " + std::string(what));
  };
  Layer layer{};
  const auto role = std::ranges::find(kRoles, textField(element, "role").value_or(""));
  if (role == std::end(kRoles))
    return damaged("role that is known");
  layer.role = static_cast<Role>(role - std::begin(kRoles));
  const auto digest = digestFromText(textField(element, "digest").value_or(""));
  if (!digest)
    return damaged("SHA-256 digest");
  layer.digest = *digest;
  const auto bytes = wholeField(element, "bytes");
  if (!bytes || *bytes > kMostLayerBytes)
    return damaged("size that a layer may have");
  layer.bytes = *bytes;
  layer.file = textField(element, "file").value_or("");
  if (!isFileName(layer.file))
    return damaged("file name that is one");
  return layer;
}

} // namespace

std::string_view roleName(Role role) {
  return kRoles[static_cast<size_t>(role)];
}

std::string digestText(const Sha256Digest &digest) {
  return std::string(kDigestPrefix) + digest.hex();
}

std::optional<Sha256Digest> digestFromText(std::string_view text) {
  // Ollama's files are named with a dash.
  if (!text.starts_with(kDigestPrefix) && !text.starts_with("sha256-"))
    return std::nullopt;
  return digestFromHex(text.substr(kDigestPrefix.size()));
}

std::string Manifest::text() const {
  std::string text = "{\"version\":" + std::to_string(kVersion) +
                     ",\"name\":" + jsonQuoted(name.text()) + ",\"source\":" + jsonQuoted(source) +
                     ",\"layers\":[";
  for (const Layer &layer : layers) {
    text += text.ends_with('[') ? "\n" : ",\n";
    text += "{\"role\":\"" + std::string(roleName(layer.role)) + "\",\"digest\":\"" +
            digestText(layer.digest) + "\",\"bytes\":" + std::to_string(layer.bytes);
    if (!layer.file.empty())
      text += ",\"file\":" + jsonQuoted(layer.file);
    text += "}";
  }
  return text + "]}\n";
}

Result<Manifest> Manifest::parse(std::string_view text) {
  simdjson::dom::parser parser;
  SINTER_ASSIGN(const JsonElement root, parseJson(parser, text, "the manifest"));
  const auto version = wholeField(root, "version");
  if (version != kVersion)
    return fail(version ? Code::Unsupported : Code::Corrupt,
                "the manifest has version " + (version ? std::to_string(*version) : "none") +
                    ", expected " + std::to_string(kVersion));
  Manifest manifest;
  SINTER_ASSIGN(manifest.name, ModelName::parse(textField(root, "name").value_or("")));
  manifest.source = textField(root, "source").value_or("");
  const auto layers = listField(root, "layers");
  if (!layers || layers->size() > kMostLayers)
    return fail(Code::Corrupt,
                "the manifest has no list of at most " + std::to_string(kMostLayers) + " layers");
  for (const JsonElement element : *layers) {
    SINTER_ASSIGN(Layer layer, layerOf(element, manifest.layers.size()));
    manifest.layers.push_back(std::move(layer));
  }
  if (!manifest.find(Role::Model))
    return fail(Code::Corrupt, "the manifest has no layer of a model");
  return manifest;
}

const Layer *Manifest::find(Role role) const {
  const auto found = std::ranges::find(layers, role, &Layer::role);
  return found == layers.end() ? nullptr : &*found;
}

std::vector<Layer> Manifest::modelLayers() const {
  std::vector<Layer> found;
  std::ranges::copy_if(layers, std::back_inserter(found),
                       [](const Layer &layer) { return layer.role == Role::Model; });
  return found;
}

uint64_t Manifest::bytes() const {
  uint64_t sum = 0;
  for (const Layer &layer : layers)
    sum += layer.bytes;
  return sum;
}

} // namespace sinter::store
