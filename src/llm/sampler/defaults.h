// How tokens are chosen unless a user says otherwise: as the model's file proposes, else by
// Sinter's own defaults.
#pragma once

#include "format/gguf.h"
#include "llm/sampler/settings.h"

#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// Temperature 0.8, top-k 40, top-p 0.95, min-p 0.05.
SamplerSettings standardSampler();

struct SamplerDefaults {
  SamplerSettings settings = standardSampler();
  std::vector<std::string_view> fromFile = {}; // names in samplerSettingTable()
  // A line for each proposal of the file that goes unused: what was found, what was expected.
  std::vector<std::string> notes = {};

  bool isFromFile(std::string_view setting) const;
};

// Reads the metadata keys `general.sampling.*`, which llama.cpp's converter writes. A proposal is
// advice, so one that makes no sense becomes a note and the default stays. A file that proposes
// Mirostat turns the steps off that Mirostat replaces.
SamplerDefaults samplerDefaultsOf(const GgufFile &file);

} // namespace sinter
