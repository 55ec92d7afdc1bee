// Durations as Ollama's clients spell them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace sinter::serve {

// "5m", "1h30m", "250ms", "-1s", "0": numbers with units, as Go's time.ParseDuration reads them,
// cut to seconds. Nothing where it is none, or beyond a hundred years.
std::optional<std::chrono::seconds> parseDuration(std::string_view text);

} // namespace sinter::serve
