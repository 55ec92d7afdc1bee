// Model files by path or name.
#pragma once

#include "host/observer.h"
#include "llm/model.h"
#include "store/store.h"

namespace sinter::host {

// The model that ./demo fetches, whose name is no registry's.
inline constexpr const char *kKnownModel = "smollm2";

// The folder of models: those that were pulled, and files NAME.gguf that lie there. NotFound: there
// is no place for one.
Result<store::Store> modelStore();

// The file that `model` names: one of storedModels(), else a path. NotFound, with what to do, where
// `smollm2` was not fetched yet or there is no place for it; with the nearest name, where there is
// no such file; Corrupt: a stored model is damaged, with what to do.
Result<std::string> modelPath(const std::string &model);

// The names of stored models, sorted: "llama3.2:1b" of those that were pulled, "tiny" of a file
// tiny.gguf.
std::vector<std::string> storedModels();
// The one of storedModels() that `name` means: itself, or with or without ":latest".
std::optional<std::string> storedName(const std::string &name);

// What a stored model has besides its file; all empty for others.
struct ModelExtras {
  std::string system;     // the message of chats that have none
  std::string params;     // a JSON object of sampling settings and more, in Ollama's words
  std::string goTemplate; // Go's text/template
  std::string messages;   // a JSON list that chats begin with
  std::string license;
  std::string source; // where it came from
};
Result<ModelExtras> modelExtras(const std::string &model);

// Opens it. Metadata and tensors that nobody knows are one note; so is each oddity of its
// tokenizer. A file without a chat template takes the one that the stored model's Go template
// stands for, where that is known; where not, chats fail and say so.
Result<ModelFile> openModelFile(const std::string &model, Observer &observer,
                                TextNeed text = TextNeed::Required);

} // namespace sinter::host
