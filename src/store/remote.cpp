// The two public services, and what names others.
#include "store/remote.h"

#include <cstdlib>

namespace sinter::store {
namespace {

std::string variableOr(const char *name, const char *fallback) {
  const char *value = std::getenv(name);
  std::string text = value && *value ? value : fallback;
  while (text.ends_with('/'))
    text.pop_back();
  return text;
}

} // namespace

Endpoints Endpoints::fromEnvironment() {
  return {variableOr("SINTER_REGISTRY", "https://registry.ollama.ai"),
          variableOr("HF_ENDPOINT", "https://huggingface.co"), variableOr("HF_TOKEN", "")};
}

Result<RemoteModel> findRemote(const ModelName &name, const Endpoints &endpoints,
                               const DownloadOptions &options, const std::atomic<bool> &cancel) {
  return name.origin == Origin::HuggingFace ? findInHuggingFace(name, endpoints, options, cancel)
                                            : findInRegistry(name, endpoints, options, cancel);
}

} // namespace sinter::store
