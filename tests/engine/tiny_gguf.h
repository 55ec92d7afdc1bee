// Model files in memory from a model of the models' tests: metadata, tensor table, zeros as
// weights.
#pragma once

#include "engine/engine.h"
#include "format/gguf_writer.h"
#include "models/fake_source.h"

namespace sinter::engine {

inline void writeValue(GgufWriter &w, const std::string &key,
                       const models::FakeSource::Value &value) {
  if (auto *integer = std::get_if<int64_t>(&value))
    w.value(key, GgufType::I64, *integer);
  else if (auto *real = std::get_if<double>(&value))
    w.value(key, GgufType::F32, static_cast<float>(*real));
  else if (auto *flag = std::get_if<bool>(&value))
    w.value(key, GgufType::Bool, static_cast<uint8_t>(*flag));
  else
    w.text(key, std::get<std::string>(value));
}

inline std::vector<uint8_t> ggufOf(const models::FakeSource &source) {
  GgufWriter w;
  w.header(source.tensors.size(), source.values.size());
  for (const auto &[key, value] : source.values)
    writeValue(w, key, value);
  uint64_t offset = 0;
  for (const auto &[name, info] : source.tensors) {
    w.string(name).u32(static_cast<uint32_t>(info.shape.size()));
    uint64_t rows = 1;
    for (size_t axis = info.shape.size(); axis-- > 0;)
      w.u64(static_cast<uint64_t>(info.shape[axis]));
    for (size_t axis = 0; axis + 1 < info.shape.size(); ++axis)
      rows *= static_cast<uint64_t>(info.shape[axis]);
    w.u32(static_cast<uint32_t>(info.format->type)).u64(offset);
    offset += (rows * info.format->rowBytes(info.shape.back()).value_or(0) + 31) / 32 * 32;
  }
  return w.pad().zeros(offset).bytes();
}

// Options that compile quickly.
inline EngineOptions quickOptions() {
  EngineOptions options;
  options.target = "avx2";
  options.pageRows = 16;
  options.queryTile = 1;
  return options;
}

// What building a plan of `source` gives.
inline Result<plan::Plan> planOf(const models::FakeSource &source,
                                 const EngineOptions &options = quickOptions()) {
  std::vector<uint8_t> bytes = ggufOf(source);
  SINTER_ASSIGN(GgufFile file, GgufFile::parse(bytes));
  return buildPlan(file, options, [](std::string_view, uint32_t, uint32_t) {});
}

// The same without code: what is chosen shows without compiling it.
inline Result<plan::Plan> outlineOf(const models::FakeSource &source,
                                    const EngineOptions &options = quickOptions()) {
  std::vector<uint8_t> bytes = ggufOf(source);
  SINTER_ASSIGN(GgufFile file, GgufFile::parse(bytes));
  return buildOutline(file, options, [](std::string_view, uint32_t, uint32_t) {});
}

// One layer, to be compiled quickly.
inline models::FakeSource tinyLlama(TensorType type = TensorType::Q4_1) {
  models::FakeSource source = models::smallLlama(type);
  source.values["llama.block_count"] = int64_t(1);
  std::erase_if(source.tensors, [](const auto &t) { return t.first.starts_with("blk.1."); });
  return source;
}

} // namespace sinter::engine
