// sinter quantize: a model file with its matrices as another type.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "hal/cpu/host_cpu.h"
#include "host/model_store.h"
#include "host/quantize/model_file.h"

#include <map>
#include <sys/stat.h>

namespace sinter::cli {
namespace {

Result<void> refuseSameFile(const GgufFile &model, const std::string &output) {
  struct stat in, out;
  for (const std::string &input : model.paths())
    if (stat(input.c_str(), &in) == 0 && stat(output.c_str(), &out) == 0 &&
        in.st_dev == out.st_dev && in.st_ino == out.st_ino)
      return fail(Code::InvalidArgument,
                  "'" + output + "' is the model itself, expected another file to write");
  return {};
}

std::string text(std::string_view view) {
  return std::string(view);
}

std::string tensorCount(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " tensor" : " tensors");
}

// One line for all tensors of the same rows and types.
void sayStandIns(const GgufFile &model, std::span<const host::TensorChoice> choices) {
  struct Group {
    uint64_t count = 0;
    std::string_view first;
  };
  using Key = std::tuple<uint64_t, const BlockFormat *, const BlockFormat *>;
  std::map<Key, Group> groups;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (!choices[i].wanted)
      continue;
    const GgufTensor &tensor = model.tensors()[i];
    Group &group = groups[{tensor.dims[0], choices[i].wanted, choices[i].format}];
    if (group.count++ == 0)
      group.first = tensor.name;
  }
  for (const auto &[key, group] : groups) {
    const auto &[rowLength, wanted, format] = key;
    sayOnStderr(tensorCount(group.count) + " with rows of " + std::to_string(rowLength) + " ('" +
                text(group.first) + "' first) as " + text(format->name) + ": " +
                text(wanted->name) + " has blocks of " + std::to_string(wanted->blockLength));
  }
}

void sayRequantized(const GgufFile &model, std::span<const host::TensorChoice> choices) {
  uint64_t count = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    const BlockFormat *from = model.tensors()[i].format;
    count += !from->isPlain() && choices[i].format != from;
  }
  if (count)
    sayOnStderr(tensorCount(count) + " of the model " + (count == 1 ? "is" : "are") +
                " quantised already: quantising again loses more than from F16, BF16 or F32");
}

Result<void> write(const GgufFile &model, const host::QuantizedFile &quantized,
                   const QuantizeArguments &arguments, Interrupts &interrupts, OutputFile &file) {
  const Interrupts::Guard guard(interrupts);
  ProgressLine progress("quantising to " + text(arguments.types.scheme->name));
  const auto show = [&](uint64_t done, uint64_t total) {
    constexpr uint64_t kMillion = 1'000'000;
    progress.show(done / kMillion, total / kMillion, "million numbers");
  };
  const uint32_t threads = arguments.threads ? arguments.threads : hal::usableCpus();
  return host::writeQuantized(model, quantized, {threads, interrupts.flag(), show}, file);
}

std::string summary(const GgufFile &model, const host::QuantizedFile &quantized,
                    const std::string &output) {
  std::map<uint32_t, uint64_t> counts; // by type
  for (const host::TensorChoice &choice : quantized.choices)
    ++counts[static_cast<uint32_t>(choice.format->type)];
  std::string types;
  for (const auto &[type, count] : counts)
    types += (types.empty() ? "" : ", ") + std::to_string(count) + " " +
             text(findBlockFormat(type)->name);
  return withoutControls(output) + ": " +
         bytesText(static_cast<double>(quantized.header.fileBytes)) +
         " (before: " + bytesText(static_cast<double>(model.totalBytes())) +
         "); tensors: " + (types.empty() ? "none" : types) + "\n";
}

} // namespace

Result<int> quantizeCommand(const QuantizeArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const std::string path, host::modelPath(arguments.model));
  SINTER_ASSIGN(const GgufFile model, GgufFile::openModel(path));
  SINTER_TRY(refuseSameFile(model, arguments.output));
  SINTER_ASSIGN(const host::QuantizedFile quantized, host::quantizedFileOf(model, arguments.types));
  SINTER_ASSIGN(OutputFile file, OutputFile::create(arguments.output));
  sayRequantized(model, quantized.choices);
  sayStandIns(model, quantized.choices);
  SINTER_TRY(write(model, quantized, arguments, interrupts, file));
  SINTER_TRY(file.commit());
  SINTER_TRY(writeStdout(summary(model, quantized, arguments.output)));
  return kExitOk;
}

} // namespace sinter::cli
