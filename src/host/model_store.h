// Model files by path or name.
#pragma once

#include "host/observer.h"
#include "llm/model.h"

namespace sinter::host {

// The file that `model` names: one of storedModels(), else a path. NotFound, with what to do, where
// `smollm2` was not fetched yet or there is no place for it; with the nearest name, where there is
// no such file.
Result<std::string> modelPath(const std::string &model);

// The names of the files in the folder of fetched models, sorted.
std::vector<std::string> storedModels();

// Opens it. Metadata and tensors that nobody knows are one note; so is each oddity of its
// tokenizer.
Result<ModelFile> openModelFile(const std::string &model, Observer &observer,
                                TextNeed text = TextNeed::Required);

} // namespace sinter::host
