// The rows of the format table that can hold keys and values.
#include "numeric/kv_type.h"

#include "numeric/byte_blocks.h"

#include <algorithm>
#include <cctype>

namespace sinter {

static bool holdsKeys(const BlockFormat &format) {
  return format.type == TensorType::F16 || byteBlocks(format).has_value();
}

static std::string lowered(std::string_view name) {
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

const BlockFormat *findKvType(std::string_view name) {
  for (const BlockFormat &format : blockFormats())
    if (holdsKeys(format) && lowered(format.name) == name)
      return &format;
  return nullptr;
}

std::string kvTypeNames() {
  std::string names;
  for (const BlockFormat &format : blockFormats())
    if (holdsKeys(format))
      names += (names.empty() ? "" : ", ") + lowered(format.name);
  return names;
}

} // namespace sinter
