// The texts of published chat and infilling formats, the same that llama.cpp knows.
#include "llm/tokenizer/end_tokens.h"

#include <algorithm>

namespace sinter {
namespace {

enum class EndRole : uint8_t { End, FimPad, FimRepository, FimSeparator };

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
};

// Of those, the ones that end a turn, the likeliest first.
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
  case EndRole::End:
    break;
  }
  return false;
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
    found.known.push_back(*id);
    if (!isNamed(row.role, data))
      found.ends.push_back(*id);
  }
  for (std::string_view text : kTurnEndTexts)
    if (const auto id = texts.find(text); id && !found.turn && !goesOn(text, texts))
      found.turn = id;
  std::ranges::sort(found.known);
  std::ranges::sort(found.ends);
  std::ranges::sort(found.never);
  return found;
}

} // namespace sinter
