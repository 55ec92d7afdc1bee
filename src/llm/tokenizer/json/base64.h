// Base64 (RFC 4648), as JSON files hold bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// The bytes; nothing where a character is none of the alphabet or the padding does not fit.
std::optional<std::string> decodeBase64(std::string_view text);

} // namespace sinter
