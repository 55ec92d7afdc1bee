// A GGUF file as the source of a model.
#pragma once

#include "format/gguf.h"
#include "models/model_source.h"

namespace sinter::engine {

// Reads from `file`, which must outlive this object.
class GgufSource : public models::ModelSource {
public:
  explicit GgufSource(const GgufFile &file) : file_(file) {}
  bool has(std::string_view key) const override;
  Result<std::string> text(std::string_view key) const override;
  Result<int64_t> integer(std::string_view key) const override;
  Result<double> real(std::string_view key) const override;
  std::vector<std::string> keys() const override;
  std::vector<std::string> texts(std::string_view key) const override;
  std::optional<models::TensorInfo> tensor(std::string_view name) const override;
  std::vector<std::string> tensorNames() const override;

private:
  const GgufFile &file_;
};

} // namespace sinter::engine
