// Metadata and tensor shapes of a GGUF file, in the order that models expect.
#include "tile/mlir_pch.h"

#include "engine/gguf_source.h"
#include "format/known_names.h"

namespace sinter::engine {

bool GgufSource::has(std::string_view key) const {
  return file_.find(key) != nullptr;
}

Result<std::string> GgufSource::text(std::string_view key) const {
  SINTER_ASSIGN(std::string_view text, file_.getString(key));
  return std::string(text);
}

Result<int64_t> GgufSource::integer(std::string_view key) const {
  return file_.getI64(key);
}

Result<double> GgufSource::real(std::string_view key) const {
  SINTER_ASSIGN(float value, file_.getF32(key));
  return static_cast<double>(value);
}

std::vector<std::string> GgufSource::keys() const {
  std::vector<std::string> keys;
  for (const GgufValue &value : file_.values())
    keys.emplace_back(value.key);
  return keys;
}

std::vector<std::string> GgufSource::texts(std::string_view key) const {
  const GgufValue *value = file_.find(key);
  return value ? valueTexts(*value) : std::vector<std::string>();
}

std::optional<models::TensorInfo> GgufSource::tensor(std::string_view name) const {
  const GgufTensor *tensor = file_.findTensor(name);
  if (!tensor)
    return std::nullopt;
  models::TensorInfo info;
  info.format = tensor->format;
  // The file's first extent is the innermost.
  for (uint32_t axis = tensor->rank; axis-- > 0;)
    info.shape.push_back(static_cast<int64_t>(tensor->dims[axis]));
  return info;
}

std::vector<std::string> GgufSource::tensorNames() const {
  std::vector<std::string> names;
  for (const GgufTensor &tensor : file_.tensors())
    names.emplace_back(tensor.name);
  return names;
}

} // namespace sinter::engine
