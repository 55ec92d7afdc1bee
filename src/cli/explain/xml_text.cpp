// Escapes character by character.
#include "cli/explain/xml_text.h"

#include "llm/tokenizer/unicode.h"

namespace sinter::cli {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// XML 1.0, production Char.
bool isAllowed(uint32_t codePoint) {
  return codePoint == '\t' || codePoint == '\n' || codePoint == '\r' ||
         (codePoint >= 0x20 && codePoint != 0xfffe && codePoint != 0xffff);
}

std::string_view entityOf(uint32_t codePoint) {
  switch (codePoint) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  default:
    return {};
  }
}

} // namespace

std::string xmlText(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = decodeUtf8(bytes, at);
    at += step.length;
    const bool good = step.kind == Utf8Step::Kind::Character && isAllowed(step.codePoint);
    const uint32_t codePoint = good ? step.codePoint : kReplacement;
    if (const std::string_view entity = entityOf(codePoint); !entity.empty())
      out += entity;
    else
      appendUtf8(codePoint, out);
  }
  return out;
}

} // namespace sinter::cli
