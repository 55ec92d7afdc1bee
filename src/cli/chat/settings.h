// What a chat's /set changes: the system message, and how tokens are chosen, by the names and with
// the refusals of the command line's options.
#pragma once

#include "cli/sampling_options.h"
#include "llm/sampler/defaults.h"

#include <string>
#include <string_view>

namespace sinter::cli {

class ChatSettings {
public:
  // As the command line has them: checked, and `sampler` is what `sampling` makes of `defaults`.
  ChatSettings(std::string system, SamplingTexts sampling, SamplerDefaults defaults,
               SamplerSettings sampler)
      : system_(std::move(system)), sampling_(std::move(sampling)), defaults_(std::move(defaults)),
        sampler_(std::move(sampler)) {}

  // "NAME VALUE" gives a setting this value (an option that may be repeated one value more),
  // "NAME" its default. A message, in one sentence: there is no such setting, or the command line
  // would refuse the options that this makes; nothing has changed then.
  std::optional<std::string> set(std::string_view words);
  // A line for each setting: its name, its value, who said so (the user, the model's file or the
  // default) and what it means; at the end the system message.
  std::string list() const;

  const std::string &systemMessage() const { return system_; }
  const SamplingTexts &sampling() const { return sampling_; }
  const SamplerSettings &sampler() const { return sampler_; }

private:
  std::string valueOf(const SamplingOption &option) const;
  std::string sourceOf(const SamplingOption &option) const;

  std::string system_;
  SamplingTexts sampling_;
  SamplerDefaults defaults_;
  SamplerSettings sampler_;
};

} // namespace sinter::cli
