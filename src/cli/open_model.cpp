// The words of options around what the host layer opens.
#include "cli/open_model.h"

#include "cli/terminal.h"
#include "host/device_choice.h"

namespace sinter::cli {

Result<std::unique_ptr<hal::Device>> openDevice(const ModelArguments &arguments) {
  const std::optional<host::DeviceName> &name = arguments.device;
  auto choice = host::openDevice(name, arguments.threads);
  if (!choice && name && name->driver != "auto")
    return fail(choice.error().code, "--device " + name->driver + ": " + choice.error().message);
  if (!choice)
    return Fail(std::move(choice).error());
  const bool isCpu = choice->device->info().driver == "cpu";
  if (!choice->why.empty())
    sayOnStderr(choice->why + (isCpu ? "" : "; --device cpu chooses the CPU"));
  return std::move(choice->device);
}

static Result<host::OpenedModel> open(ModelFile file, const ModelArguments &arguments,
                                      host::Observer &observer, uint32_t sequences,
                                      bool embeddings) {
  SINTER_TRY(file.contextTokens(arguments.context)); // before a device is opened
  if (!embeddings)
    SINTER_TRY(file.givesLogits());
  SINTER_ASSIGN(auto device, openDevice(arguments));
  return host::openModel(std::move(file), std::move(device),
                         {.context = arguments.context,
                          .sequences = sequences,
                          .plan = arguments.plan,
                          .precision = arguments.precision,
                          .keepsWeights = arguments.keepsWeights,
                          .embeddings = embeddings,
                          .overlap = arguments.overlap},
                         observer);
}

Result<host::OpenedModel> openModel(ModelFile file, const ModelArguments &arguments,
                                    host::Observer &observer, uint32_t sequences) {
  return open(std::move(file), arguments, observer, sequences, false);
}

Result<host::OpenedModel> openEmbedder(ModelFile file, const ModelArguments &arguments,
                                       host::Observer &observer) {
  return open(std::move(file), arguments, observer, 1, true);
}

} // namespace sinter::cli
