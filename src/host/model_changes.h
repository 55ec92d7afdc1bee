// Changes to the models that are stored: fetching, copying, removing.
#pragma once

#include "host/model_store.h"
#include "store/pull.h"

namespace sinter::host {

// Fetches a model by name: `smollm2` as ./demo does, others as store::pull() says, from where the
// environment says (store::Endpoints). Cancelled: what came is kept.
Result<void> pullModel(const std::string &name, store::PullObserver &observer,
                       const std::atomic<bool> &cancel);

// The bytes that it freed; a file NAME.gguf of the folder of models is removed, too. NotFound, with
// the nearest name.
Result<uint64_t> removeModel(const std::string &name);

// Gives a model another name, too; one that has it is replaced. `from` is a stored model, or the
// path of a GGUF file, which is copied into the store.
Result<void> copyModel(const std::string &from, const std::string &to,
                       const std::atomic<bool> &cancel);

// The manifest of a stored model or a file, under another name; blobs that it needs are made.
Result<store::Manifest> manifestFrom(const store::Store &models, const std::string &from,
                                     const store::ModelName &to, const std::atomic<bool> &cancel);

struct StoredModel {
  std::string name;
  uint64_t bytes = 0;
  std::string digest; // of its first file, 12 digits; empty for files NAME.gguf
  std::string source; // or the path of such a file
  std::string path;   // of what changed when the model did
};
// All that can be read, sorted by name.
std::vector<StoredModel> listModels();

} // namespace sinter::host
