// From MODEL on the command line to a model that runs.
#pragma once

#include "cli/arguments.h"
#include "cli/interrupts.h"
#include "llm/model.h"

namespace sinter::cli {

// The file that MODEL names. NotFound, with what to do, where `smollm2` was not fetched yet or
// there is no place for it; with the nearest name, where there is no such file.
Result<std::string> modelPath(const std::string &model);

struct OpenedModel {
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<Model> model; // borrows the device
  double buildSeconds = 0;      // of its plan; 0 when that was in the cache
};

// Runs the parts that need no plan first, so that what is wrong with a file is said at once. There
// is KV cache for `sequences` whole contexts.
Result<OpenedModel> openModel(ModelFile file, const ModelArguments &arguments,
                              Interrupts &interrupts, uint32_t sequences = 1);
// Names on stderr, in one line, the metadata and tensors that nobody here knows.
Result<ModelFile> openModelFile(const std::string &model);

} // namespace sinter::cli
