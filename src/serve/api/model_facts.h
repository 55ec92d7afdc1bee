// What a model's file says of it, in the words of Ollama's clients.
#pragma once

#include "format/gguf.h"
#include "serve/api/json_text.h"

namespace sinter::serve {

// {"format", "family", "parameter_size", "quantization_level", ...}
Json modelDetails(const GgufFile &file);
// All metadata by key; lists are null unless `withLists`.
Json modelInfo(const GgufFile &file, bool withLists);
// What the chat template takes and writes, in llama-server's words. `chatTemplate` stands in place
// of the file's; empty: there is no other.
Json templateCapabilities(const GgufFile &file, const std::string &chatTemplate);
// "completion", "tools", "thinking", "embedding".
Json modelCapabilities(const GgufFile &file, const std::string &chatTemplate);
// The digest in hexadecimal; empty where there is none.
std::string modelDigest(const GgufFile &file);
// A point in time as "2026-11-27T12:00:00.000000Z".
std::string timeText(std::chrono::system_clock::time_point time);
// When the file changed last.
std::string modifiedText(const std::string &path);

} // namespace sinter::serve
