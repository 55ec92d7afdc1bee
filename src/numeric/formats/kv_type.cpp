// The rows of the format table that can hold keys and values.
#include "numeric/formats/kv_type.h"

#include "numeric/formats/byte_blocks.h"

#include <algorithm>
#include <cctype>

namespace sinter {

static bool holdsKeys(const BlockFormat &format) {
  return format.type == TensorType::F16 || format.type == TensorType::BF16 ||
         byteBlocks(format).has_value();
}

std::string kvTypeName(const BlockFormat &format) {
  std::string text(format.name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

const BlockFormat *findKvType(std::string_view name) {
  if (name == kDefaultKvType)
    return &blockFormat(TensorType::F16);
  for (const BlockFormat &format : blockFormats())
    if (holdsKeys(format) && kvTypeName(format) == name)
      return &format;
  return nullptr;
}

std::string kvTypeNames() {
  std::string names(kDefaultKvType);
  for (const BlockFormat &format : blockFormats())
    if (holdsKeys(format))
      names += ", " + kvTypeName(format);
  return names;
}

} // namespace sinter
