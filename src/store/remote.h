// Where models come from, and what a model there consists of.
#pragma once

#include "store/download.h"
#include "store/manifest.h"

namespace sinter::store {

struct Endpoints {
  std::string registry;         // of Ollama's protocol
  std::string huggingFace;      // of Hugging Face's
  std::string huggingFaceToken; // empty: none

  // SINTER_REGISTRY, HF_ENDPOINT and HF_TOKEN, with the public services where they are not set.
  static Endpoints fromEnvironment();
};

struct RemoteLayer {
  Layer layer;
  std::string url;
  std::string bearer = {};
};

struct RemoteModel {
  std::string source;
  std::vector<RemoteLayer> layers; // at least one of Role::Model
  std::vector<std::string> notes;  // what the model has besides, and is not fetched
};

// Asks the name's origin. NotFound: it has no such model, or none of that tag, with those that
// there are; Unsupported: the model needs what there is not, by name; Corrupt: the answer makes no
// sense; and fetchText()'s errors.
Result<RemoteModel> findRemote(const ModelName &name, const Endpoints &endpoints,
                               const DownloadOptions &options, const std::atomic<bool> &cancel);

// Of one origin each.
Result<RemoteModel> findInRegistry(const ModelName &name, const Endpoints &endpoints,
                                   const DownloadOptions &options, const std::atomic<bool> &cancel);
Result<RemoteModel> findInHuggingFace(const ModelName &name, const Endpoints &endpoints,
                                      const DownloadOptions &options,
                                      const std::atomic<bool> &cancel);

// What the answers say, without the network. `text` is hostile.
Result<RemoteModel> readRegistryManifest(std::string_view text, const ModelName &name,
                                         const Endpoints &endpoints);
Result<RemoteModel> readRepository(std::string_view text, const ModelName &name,
                                   const Endpoints &endpoints);

} // namespace sinter::store
