// What a decoder builder reads of a model file, whatever its container: metadata by key and the
// table of tensors.
#pragma once

#include "base/status.h"
#include "numeric/formats/block_format.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::models {

struct TensorInfo {
  const BlockFormat *format = nullptr; // never null
  std::vector<int64_t> shape;          // outermost first: a matrix is [rows, columns]; extents >= 1
};

// Keys are GGUF's. Getters fail with NotFound where the key is absent and Corrupt where it has
// another type.
class ModelSource {
public:
  virtual ~ModelSource() = default;
  virtual bool has(std::string_view key) const = 0;
  virtual Result<std::string> text(std::string_view key) const = 0;
  virtual Result<int64_t> integer(std::string_view key) const = 0;
  virtual Result<double> real(std::string_view key) const = 0;
  virtual std::vector<std::string> keys() const = 0;
  // The value's elements as format/known_names.h's valueTexts gives them; none where there is no
  // such key.
  virtual std::vector<std::string> texts(std::string_view key) const = 0;
  virtual std::optional<TensorInfo> tensor(std::string_view name) const = 0;
  virtual std::vector<std::string> tensorNames() const = 0;
};

} // namespace sinter::models
