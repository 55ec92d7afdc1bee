// Names of models that can be pulled and stored.
#pragma once

#include "base/status.h"

#include <string>
#include <string_view>

namespace sinter::store {

// Who has models of a name.
enum class Origin : uint8_t {
  Registry,    // Ollama's: [NAMESPACE/]MODEL[:TAG]
  HuggingFace, // hf.co/OWNER/REPOSITORY[:TAG], the tag a quantization such as Q4_K_M
};

// A checked name. Each part has letters, digits, '.', '_' and '-' alone, begins with none of the
// last two and is no path, so that it may stand in addresses and in names of files.
struct ModelName {
  Origin origin = Origin::Registry;
  std::string space; // "library" where a name of the registry has none; the owner of a repository
  std::string model; // or the repository
  std::string tag = "latest";

  // InvalidArgument, with what was found and the forms that are taken.
  static Result<ModelName> parse(std::string_view text);

  // The whole name in its shortest form, its tag included: "llama3.2:1b",
  // "hf.co/owner/repo:latest".
  std::string text() const;
  bool operator==(const ModelName &) const = default;
};

} // namespace sinter::store
