// What a stored model consists of.
#pragma once

#include "base/sha256.h"
#include "store/model_name.h"

#include <span>
#include <vector>

namespace sinter::store {

// What a blob is of a model.
enum class Role : uint8_t {
  Model,    // a GGUF file, or a part of one
  Template, // of chats: Go's text/template
  System,   // the system message of chats that have none
  Params,   // sampling settings and stop texts, a JSON object
  License,
  Messages, // that chats begin with, a JSON list
};

// "model", "template", ...
std::string_view roleName(Role role);

struct Layer {
  Role role;
  Sha256Digest digest;
  uint64_t bytes = 0;
  std::string file = {}; // its name among the parts of a model; empty: it has none

  bool operator==(const Layer &) const = default;
};

struct Manifest {
  ModelName name;
  std::string source;        // where it came from, for people
  std::vector<Layer> layers; // at least one of Role::Model

  // JSON; parse() gives it back.
  std::string text() const;
  // Of hostile bytes. Corrupt: it is no manifest, with what was found.
  static Result<Manifest> parse(std::string_view text);

  // The first of that role; null where there is none.
  const Layer *find(Role role) const;
  std::vector<Layer> modelLayers() const;
  uint64_t bytes() const; // of all layers
};

inline constexpr size_t kMostManifestBytes = 1 << 20;
inline constexpr size_t kMostLayers = 512;
// More than any model has; a sum over all layers fits 64 bits.
inline constexpr uint64_t kMostLayerBytes = uint64_t{1} << 50;

// "sha256:" and the digest's digits, and back; nothing where the text is something else.
std::string digestText(const Sha256Digest &digest);
std::optional<Sha256Digest> digestFromText(std::string_view text);

} // namespace sinter::store
