// The header first, then tensor by tensor.
#include "host/quantize/model_file.h"

#include "host/quantize/tensor.h"

namespace sinter::host {

static constexpr uint32_t kQuantizationVersion = 2; // of ggml's block formats

Result<QuantizedFile> quantizedFileOf(const GgufFile &model, const QuantizeTypes &types) {
  std::vector<GgufValue> values(model.values().begin(), model.values().end());
  std::erase_if(values, [](const GgufValue &value) { return value.key.starts_with("split."); });
  GgufContents contents{.values = values,
                        .numbers = {{"general.file_type", types.scheme->fileType},
                                    {"general.quantization_version", kQuantizationVersion}},
                        .tensors = {},
                        .alignment = model.alignment()};
  QuantizedFile file{chooseTypes(model, types), {}};
  for (size_t i = 0; i < file.choices.size(); ++i) {
    const GgufTensor &tensor = model.tensors()[i];
    contents.tensors.push_back({tensor.name, tensor.dims, tensor.rank, file.choices[i].format});
  }
  SINTER_ASSIGN(file.header, makeGgufHeader(contents));
  return file;
}

Result<void> writeQuantized(const GgufFile &model, const QuantizedFile &quantized,
                            const QuantizeRun &run, OutputFile &file) {
  SINTER_TRY(file.reserve(quantized.header.fileBytes));
  SINTER_TRY(file.writeAt(quantized.header.bytes, 0));
  uint64_t total = 0, done = 0;
  for (const GgufTensor &tensor : model.tensors())
    total += tensor.elements();
  const auto advance = [&](uint64_t elements) { run.onProgress(done += elements, total); };
  SINTER_ASSIGN(TensorQuantizer quantizer,
                TensorQuantizer::create(run.threads, run.interrupted, advance));
  for (size_t i = 0; i < quantized.choices.size(); ++i)
    SINTER_TRY(quantizer.write(model.tensors()[i], *quantized.choices[i].format, file,
                               quantized.header.offsets[i]));
  if (!model.stillIntact())
    return fail(Code::Corrupt,
                "'" + model.paths().front() + "' changed while it was read; run this again");
  return {};
}

} // namespace sinter::host
