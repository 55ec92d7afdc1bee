// A table of digests: the texts themselves are Ollama's.
#include "host/go_templates.h"

#include "base/sha256.h"
#include "llm/chat/builtin_templates.h"

#include <algorithm>
#include <string>

namespace sinter::host {
namespace {

struct KnownTemplate {
  std::string_view digest;  // SHA-256 of the text without white space, the first half
  std::string_view builtin; // the name of ours
};

// Ollama's names behind them: its repository, folder template/.
constexpr KnownTemplate kKnown[] = {
    {"c701aa6f1ba8cee58e3a11ceb6b6a85c", "chatml"},  // chatml
    {"3b2a2765dcf146b370fa2524a2d8a8d4", "llama3"},  // llama3-instruct
    {"4a41b3d0fdab5978b6a80d874b544ad7", "gemma"},   // gemma-instruct
    {"dee2d1de405c18cc223acae7d8678ac6", "vicuna"},  // vicuna
    {"6e604a63d9940926fdc9d68c3884193a", "zephyr"},  // zephyr
    {"65a34dd78bdc3cac23a5fcb9499bda62", "mistral"}, // mistral-instruct
    {"fe46b77ad33e709fe71717918566b998", "phi3"},    // phi-3
    {"bb416fd11e12cbdf44af93fbe2dd63b3", "llama2"},  // llama2-chat
};

} // namespace

std::optional<std::string_view> builtinForGoTemplate(std::string_view goTemplate) {
  std::string text(goTemplate);
  std::erase_if(text, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  const std::span bytes(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  const auto digest = sha256({bytes});
  if (!digest)
    return std::nullopt;
  const std::string hex = digest->hex();
  const auto known = std::ranges::find_if(
      kKnown, [&](const KnownTemplate &row) { return hex.starts_with(row.digest); });
  if (known == std::end(kKnown))
    return std::nullopt;
  return builtinTemplate(known->builtin);
}

} // namespace sinter::host
