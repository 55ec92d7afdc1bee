// Cuts a Jinja template into text, output tags and statements; knows no more of the language than
// that.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// A word of a tag: a name, a string literal (unescaped), or one operator or bracket.
struct TemplateWord {
  enum class Kind : uint8_t { Name, String, Symbol };
  Kind kind;
  std::string text;
  bool operator==(const TemplateWord &) const = default;
};

// A piece of a template.
struct TemplateNode {
  enum class Kind : uint8_t { Text, Output, Statement };
  Kind kind;
  std::string text;                // of a Text: what it renders, after white-space control
  std::vector<TemplateWord> words; // of a tag
  size_t offset;                   // in the source
};

// The pieces in order, without comments and empty texts. White space follows the settings that chat
// templates are published for: trim_blocks and lstrip_blocks on, '-' and '+' marks obeyed. Corrupt
// for a tag or string that does not end.
Result<std::vector<TemplateNode>> lexTemplate(std::string_view source);

} // namespace sinter
