// From the command line's MODEL and its options to a model that runs.
#pragma once

#include "cli/arguments.h"
#include "host/open_model.h"

namespace sinter::cli {

// The device of --device. A choice that nobody named is said on stderr; errors name the option.
Result<std::unique_ptr<hal::Device>> openDevice(const ModelArguments &arguments);

// There is KV memory for `sequences` whole contexts.
Result<host::OpenedModel> openModel(ModelFile file, const ModelArguments &arguments,
                                    host::Observer &observer, uint32_t sequences = 1);
// One that gives embeddings instead of logits.
Result<host::OpenedModel> openEmbedder(ModelFile file, const ModelArguments &arguments,
                                       host::Observer &observer);

} // namespace sinter::cli
