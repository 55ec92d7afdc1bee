// The clean-up that some tokenizers want of whole texts (clean_up_tokenization_spaces).
#pragma once

#include <string>
#include <string_view>

namespace sinter {

// `text` without the space before ? ! . and , before 's 'm 're 've, and around a lone apostrophe.
std::string cleanedSpaces(std::string_view text);

} // namespace sinter
