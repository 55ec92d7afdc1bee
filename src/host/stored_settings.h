// Settings and messages that a stored model has beside its file.
#pragma once

#include "llm/chat/template.h"
#include "llm/sampler/defaults.h"

#include <optional>
#include <string>
#include <vector>

namespace sinter::host {

// Over what the file proposes. `params` is ModelExtras::params; what is no sampling setting is left
// to others, and a value that makes no sense becomes a note. Corrupt: it is no JSON object.
Result<void> applyStoredSettings(std::string_view params, SamplerDefaults &defaults);

// What `params` say of answers beside how tokens are chosen.
struct StoredAnswers {
  std::vector<std::string> stops;
  uint32_t context = 0;            // tokens; 0: nothing is said
  std::optional<uint64_t> tokens;  // of an answer at most
  std::vector<std::string> notes;  // what goes unused
};
// Corrupt: it is no JSON object.
Result<StoredAnswers> storedAnswers(std::string_view params);

// The messages that chats begin with, of ModelExtras::messages. Corrupt: they are no list of roles
// and texts.
Result<std::vector<ChatMessage>> storedMessages(std::string_view messages);

} // namespace sinter::host
