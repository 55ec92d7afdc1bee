// The texts of published chat and infilling formats, the same that llama.cpp knows.
#include "llm/tokenizer/end_tokens.h"

#include <algorithm>

namespace sinter {
namespace {

enum class EndRole : uint8_t {
  End,
  FimPad,
  FimRepository,
  FimSeparator,
  FimPrefix, // this and the next two end nothing
  FimSuffix,
  FimMiddle,
};

struct EndText {
  std::string_view text;
  EndRole role = EndRole::End;
};

constexpr EndText kEndTexts[] = {
    {"<|eot_id|>"},
    {"<|im_end|>"},
    {"<|end|>"},
    {"<|return|>"},
    {"<|call|>"},
    {"<|flush|>"},
    {"<|calls|>"},
    {"<end_of_turn>"},
    {"<|endoftext|>"},
    {"</s>"},
    {"<|eom_id|>"},
    {"<EOT>"},
    {"_<EOT>"},
    {"[EOT]"},
    {"[EOS]"},
    {"<|end_of_text|>"},
    {"<end_of_utterance>"},
    {"<eos>"},
    {"<turn|>"},
    {"<|tool_response>"},
    {"<｜end▁of▁sentence｜>"},
    {"[e~["},
    {"<|fim_pad|>", EndRole::FimPad},
    {"<fim-pad>", EndRole::FimPad},
    {"<fim_pad>", EndRole::FimPad},
    {"<PAD>", EndRole::FimPad},
    {"[PAD]", EndRole::FimPad},
    {"<|fim_repo|>", EndRole::FimRepository},
    {"<|repo_name|>", EndRole::FimRepository},
    {"<fim-repo>", EndRole::FimRepository},
    {"<REPO>", EndRole::FimRepository},
    {"<reponame>", EndRole::FimRepository},
    {"<|file_sep|>", EndRole::FimSeparator},
    {"<|fim_prefix|>", EndRole::FimPrefix},
    {"<fim-prefix>", EndRole::FimPrefix},
    {"<fim_prefix>", EndRole::FimPrefix},
    {"<｜fim▁begin｜>", EndRole::FimPrefix},
    {"<PRE>", EndRole::FimPrefix},
    {"▁<PRE>", EndRole::FimPrefix},
    {"<|code_prefix|>", EndRole::FimPrefix},
    {"<|prefix|>", EndRole::FimPrefix},
    {"<|fim_suffix|>", EndRole::FimSuffix},
    {"<fim-suffix>", EndRole::FimSuffix},
    {"<fim_suffix>", EndRole::FimSuffix},
    {"<｜fim▁hole｜>", EndRole::FimSuffix},
    {"<SUF>", EndRole::FimSuffix},
    {"▁<SUF>", EndRole::FimSuffix},
    {"<|code_suffix|>", EndRole::FimSuffix},
    {"<|suffix|>", EndRole::FimSuffix},
    {"<|fim_middle|>", EndRole::FimMiddle},
    {"<fim-middle>", EndRole::FimMiddle},
    {"<fim_middle>", EndRole::FimMiddle},
    {"<｜fim▁end｜>", EndRole::FimMiddle},
    {"<MID>", EndRole::FimMiddle},
    {"▁<MID>", EndRole::FimMiddle},
    {"<|code_middle|>", EndRole::FimMiddle},
    {"<|middle|>", EndRole::FimMiddle},
};

// Control tokens between which an answer's channels stand; without them nobody could tell those
// apart.
constexpr std::string_view kShownTexts[] = {"<|channel|>", "<|message|>", "<|start|>",
                                            "<|constrain|>"};

// Of the ends, the ones that end a turn, the likeliest first.
constexpr std::string_view kTurnEndTexts[] = {"<|eot_id|>",    "<|im_end|>", "<|end|>",
                                              "<end_of_turn>", "<EOT>",      "[EOT]"};

// A text that ends nothing in a vocabulary that has the companions too.
struct Exception {
  std::string_view text;
  std::string_view companions[2]; // the second may be empty
};

constexpr Exception kExceptions[] = {
    // In channels of an answer <|end|> ends a message, after which others follow.
    {"<|end|>", {"<|return|>", "<|call|>"}},
    {"<|end|>", {"<|return|>", "<|calls|>"}},
    {"<|end|>", {"<|flush|>", "<|call|>"}},
    {"<|end|>", {"<|flush|>", "<|calls|>"}},
    // A tag of hypertext.
    {"</s>", {"<|tool_response>"}},
    {"</s>", {"<|plamo:eos|>"}},
};

bool goesOn(std::string_view text, const TextIndex &texts) {
  return std::ranges::any_of(kExceptions, [&](const Exception &exception) {
    return exception.text == text && std::ranges::all_of(exception.companions, [&](auto companion) {
             return companion.empty() || texts.find(companion);
           });
  });
}

bool isNamed(EndRole role, const VocabularyData &data) {
  switch (role) {
  case EndRole::FimPad:
    return data.fimPad.has_value();
  case EndRole::FimRepository:
    return data.fimRepository.has_value();
  case EndRole::FimSeparator:
    return data.fimSeparator.has_value();
  case EndRole::FimPrefix:
    return data.fimPrefix.has_value();
  case EndRole::FimSuffix:
    return data.fimSuffix.has_value();
  case EndRole::FimMiddle:
    return data.fimMiddle.has_value();
  case EndRole::End:
    break;
  }
  return false;
}

// Null for roles that no prompt has.
std::optional<TokenId> *placeOf(EndRole role, InfillTokens &infill) {
  switch (role) {
  case EndRole::FimPrefix:
    return &infill.prefix;
  case EndRole::FimSuffix:
    return &infill.suffix;
  case EndRole::FimMiddle:
    return &infill.middle;
  case EndRole::FimRepository:
    return &infill.repository;
  case EndRole::FimSeparator:
    return &infill.separator;
  default:
    return nullptr;
  }
}

bool canEnd(EndRole role) {
  return role < EndRole::FimPrefix;
}

} // namespace

EndTokens findEndTokens(const VocabularyData &data, const TextIndex &texts) {
  EndTokens found;
  for (const EndText &row : kEndTexts) {
    const std::optional<TokenId> id = texts.find(row.text);
    if (!id)
      continue;
    if (goesOn(row.text, texts)) {
      found.never.push_back(*id);
      continue;
    }
    if (auto *place = placeOf(row.role, found.infill); place && !*place)
      *place = id;
    const bool named = isNamed(row.role, data);
    if (named && !canEnd(row.role))
      continue;
    found.known.push_back(*id);
    if (!named && canEnd(row.role))
      found.ends.push_back(*id);
  }
  found.shown = found.never;
  for (std::string_view text : kShownTexts)
    if (const auto id = texts.find(text))
      found.shown.push_back(*id);
  std::ranges::sort(found.shown);
  for (std::string_view text : kTurnEndTexts)
    if (const auto id = texts.find(text); id && !found.turn && !goesOn(text, texts))
      found.turn = id;
  std::ranges::sort(found.known);
  std::ranges::sort(found.ends);
  std::ranges::sort(found.never);
  return found;
}

} // namespace sinter
