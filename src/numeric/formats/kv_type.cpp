// The rows of the format tables that can hold keys and values.
#include "numeric/formats/kv_type.h"

#include "numeric/formats/byte_blocks.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sinter {

// Numbers of 16 bits at most, each converted on its own, or bytes with a scale.
static bool holdsKeys(const BlockFormat &format) {
  constexpr uint16_t kMostBytes = 2;
  const bool converts = format.isPlain() && format.rounding == Rounding::Convert;
  return converts ? format.blockBytes <= kMostBytes : byteBlocks(format).has_value();
}

std::string kvTypeName(const BlockFormat &format) {
  std::string text(format.name);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// In the order in which options name them.
static std::vector<const BlockFormat *> kvTypes() {
  std::vector<const BlockFormat *> types;
  for (std::span<const BlockFormat> formats : {blockFormats(), cacheFormats()})
    for (const BlockFormat &format : formats)
      if (holdsKeys(format))
        types.push_back(&format);
  return types;
}

const BlockFormat *findKvType(std::string_view name) {
  if (name == kDefaultKvType)
    return &blockFormat(TensorType::F16);
  for (const BlockFormat *format : kvTypes())
    if (kvTypeName(*format) == name)
      return format;
  return nullptr;
}

std::string kvTypeNames() {
  std::string names(kDefaultKvType);
  for (const BlockFormat *format : kvTypes())
    names += ", " + kvTypeName(*format);
  return names;
}

} // namespace sinter
