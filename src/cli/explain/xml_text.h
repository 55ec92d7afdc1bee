// Any bytes as text of an XML document.
#pragma once

#include <string>
#include <string_view>

namespace sinter::cli {

// With markup escaped; what is no UTF-8, or a character that XML does not allow, becomes U+FFFD.
std::string xmlText(std::string_view bytes);

} // namespace sinter::cli
