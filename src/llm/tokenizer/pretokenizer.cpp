// The splits of pre-tokenizers: one finds matches in a piece, one says what becomes of them.
#include "llm/tokenizer/pretokenizer.h"

#include "base/check.h"
#include "llm/tokenizer/pretokenizer_table.h"
#include "llm/tokenizer/unicode.h"
#include "llm/tokenizer/unicode_properties.h"

namespace sinter {
namespace {

using Span = Words::Span;

constexpr std::string_view kMetaspace = "\u2581";

// One stretch of a piece: a match, or what lies between two.
struct Cut {
  Span span;
  bool isMatch;
};

// The cuts of one piece, which they cover without gaps.
class Cuts {
public:
  explicit Cuts(Span piece) : piece_(piece), end_(piece.begin) {}

  void match(uint32_t begin, uint32_t end) {
    if (begin > end_)
      cuts_.push_back({{end_, begin}, false});
    if (end > begin)
      cuts_.push_back({{begin, end}, true});
    end_ = end;
  }

  std::vector<Cut> finish() {
    if (end_ < piece_.end)
      cuts_.push_back({{end_, piece_.end}, false});
    return std::move(cuts_);
  }

private:
  Span piece_;
  uint32_t end_; // of the last match
  std::vector<Cut> cuts_;
};

uint32_t characterAt(std::string_view text, size_t at, size_t &length) {
  const Utf8Step step = decodeUtf8(text, at);
  length = step.length;
  return step.codePoint;
}

Result<std::vector<Cut>> regexCuts(const Regex &regex, Regex::Scratch &scratch,
                                   std::string_view text, Span piece) {
  // An assertion must not see past its piece, so the piece is the whole subject.
  const std::string_view subject = text.substr(piece.begin, piece.end - piece.begin);
  Cuts cuts(piece);
  for (size_t at = 0; at < subject.size();) {
    SINTER_ASSIGN(const auto found, regex.find(subject, at, scratch));
    if (!found)
      break;
    cuts.match(piece.begin + static_cast<uint32_t>(found->begin),
               piece.begin + static_cast<uint32_t>(found->end));
    at = found->end;
  }
  return cuts.finish();
}

// Numbers in threes from the right. `atBorder`: digits only, and only where a word ends after them.
std::vector<Cut> digitCuts(std::string_view text, Span piece, bool atBorder) {
  Cuts cuts(piece);
  std::vector<uint32_t> starts; // of a run's digits
  auto flush = [&](uint32_t end, bool endsWord) {
    size_t taken = 0;
    while (endsWord && taken < starts.size()) {
      const size_t size = taken == 0 && starts.size() % 3 ? starts.size() % 3 : 3;
      const size_t next = taken + size;
      cuts.match(starts[taken], next < starts.size() ? starts[next] : end);
      taken = next;
    }
    starts.clear();
  };
  for (uint32_t at = piece.begin; at < piece.end;) {
    size_t length = 0;
    const uint32_t character = characterAt(text, at, length);
    if (atBorder ? isDecimalDigit(character) : isNumber(character))
      starts.push_back(at);
    else
      flush(at, !atBorder || !isWordCharacter(character));
    at += static_cast<uint32_t>(length);
  }
  flush(piece.end, true);
  return cuts.finish();
}

// Spaces are left out; each punctuation character is a word.
void bertWords(std::string_view text, Span piece, std::vector<Span> &out) {
  uint32_t begin = piece.begin;
  auto flush = [&](uint32_t end) {
    if (end > begin)
      out.push_back({begin, end});
  };
  for (uint32_t at = piece.begin; at < piece.end;) {
    size_t length = 0;
    const uint32_t character = characterAt(text, at, length);
    const uint32_t next = at + static_cast<uint32_t>(length);
    // BERT takes the symbols of ASCII for punctuation.
    const bool alone = isPunctuation(character) ||
                       (character > 0x20 && character < 0x7F && !isWordCharacter(character));
    const bool space = isWhiteSpace(character);
    if (alone || space) {
      flush(at);
      if (alone)
        out.push_back({at, next});
      begin = next;
    }
    at = next;
  }
  flush(piece.end);
}

void applyBehavior(const std::vector<Cut> &cuts, const SplitStep &rule, std::vector<Span> &out) {
  bool afterMatch = false, pending = false; // pending: a match that waits for what follows it
  bool isNew = true;                        // nothing of this piece stands in `out` yet
  for (const Cut &cut : cuts) {
    const bool isMatch = cut.isMatch != rule.invert;
    bool joins = false; // the stretch before
    switch (rule.behavior) {
    case SplitBehavior::Isolated:
      break;
    case SplitBehavior::Removed:
      if (isMatch)
        continue;
      break;
    case SplitBehavior::MergedWithPrevious:
      joins = isMatch && !afterMatch;
      break;
    case SplitBehavior::MergedWithNext:
      joins = !isMatch && pending;
      pending = isMatch;
      break;
    case SplitBehavior::Contiguous:
      joins = isMatch == afterMatch;
      break;
    }
    if (joins && !isNew)
      out.back().end = cut.span.end;
    else
      out.push_back(cut.span);
    afterMatch = isMatch;
    isNew = false;
  }
}

bool startsWith(const Words &words, size_t i, std::string_view prefix) {
  return words.at(i).starts_with(prefix);
}

// A text made anew, piece by piece.
class Rewrite {
public:
  explicit Rewrite(const Words &from) {
    made_.text.reserve(from.text.size());
    made_.spans.reserve(from.spans.size());
  }

  size_t begin() { return made_.text.size(); }
  void append(std::string_view text) { made_.text += text; }
  Result<void> finishPiece(size_t begin) {
    if (made_.text.size() > Pretokenizer::kMaxTextBytes)
      return fail(Code::Exhausted, "the tokenizer makes more than 4 GiB of a prompt");
    made_.spans.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(made_.text.size())});
    return {};
  }
  Words take() { return std::move(made_); }

private:
  Words made_;
};

Result<Words> withPrefixSpaces(const Words &words) {
  Rewrite rewrite(words);
  for (size_t i = 0; i < words.spans.size(); ++i) {
    const size_t begin = rewrite.begin();
    if (!startsWith(words, i, " "))
      rewrite.append(" ");
    rewrite.append(words.at(i));
    SINTER_TRY(rewrite.finishPiece(begin));
  }
  return rewrite.take();
}

Result<Words> withMetaspaces(const Words &words, PrependScheme prepend, bool isFirst) {
  Rewrite rewrite(words);
  for (size_t i = 0; i < words.spans.size(); ++i) {
    const size_t begin = rewrite.begin();
    const bool prepends =
        prepend == PrependScheme::Always ||
        (prepend == PrependScheme::First && isFirst && i == 0 && words.spans[i].begin == 0);
    if (prepends && !startsWith(words, i, " ") && !startsWith(words, i, kMetaspace))
      rewrite.append(kMetaspace);
    for (char byte : words.at(i))
      rewrite.append(byte == ' ' ? kMetaspace : std::string_view(&byte, 1));
    SINTER_TRY(rewrite.finishPiece(begin));
  }
  return rewrite.take();
}

std::vector<Cut> metaspaceCuts(std::string_view text, Span piece) {
  Cuts cuts(piece);
  const std::string_view whole = text.substr(0, piece.end);
  for (size_t at = piece.begin; (at = whole.find(kMetaspace, at)) != std::string_view::npos;) {
    cuts.match(static_cast<uint32_t>(at), static_cast<uint32_t>(at + kMetaspace.size()));
    at += kMetaspace.size();
  }
  return cuts.finish();
}

} // namespace

Result<Pretokenizer> Pretokenizer::create(std::span<const SplitStep> steps) {
  Pretokenizer made;
  for (const SplitStep &rule : steps) {
    std::optional<Regex> regex;
    if (rule.kind == SplitKind::Regex) {
      SINTER_ASSIGN(regex, Regex::create(rule.expression));
    }
    made.steps_.push_back({rule, std::move(regex)});
  }
  return made;
}

Result<Pretokenizer> Pretokenizer::create(std::string_view name) {
  const PretokenizerFamily *family = findPretokenizer(name);
  if (!family)
    return fail(Code::Unsupported, "pre-tokenizer '" + std::string(name.substr(0, 64)) +
                                       "' is not known to this version, expected one such as "
                                       "'smollm', 'gpt-2', 'llama-bpe' or 'qwen2'");
  std::vector<SplitStep> steps;
  for (const FamilySplit &split : family->splits)
    steps.push_back({.kind = split.kind, .expression = std::string(split.expression)});
  return create(steps);
}

Result<Words> Pretokenizer::split(std::string text, bool isFirst) const {
  SINTER_CHECK(text.size() <= kMaxTextBytes);
  Words words{std::move(text), {}};
  if (!words.text.empty())
    words.spans.push_back({0, static_cast<uint32_t>(words.text.size())});
  SINTER_ASSIGN(Regex::Scratch scratch, Regex::Scratch::create());
  for (const Step &step : steps_) {
    if (step.rule.kind == SplitKind::PrefixSpace) {
      SINTER_ASSIGN(words, withPrefixSpaces(words));
      continue;
    }
    SplitStep rule = step.rule;
    if (rule.kind == SplitKind::Metaspace) {
      SINTER_ASSIGN(words, withMetaspaces(words, rule.prepend, isFirst));
      rule.behavior = SplitBehavior::MergedWithNext;
      if (!rule.splits)
        continue;
    }
    std::vector<Span> refined;
    refined.reserve(words.spans.size());
    for (const Span piece : words.spans) {
      if (rule.kind == SplitKind::Bert) {
        bertWords(words.text, piece, refined);
        continue;
      }
      std::vector<Cut> cuts;
      if (rule.kind == SplitKind::Regex) {
        SINTER_ASSIGN(cuts, regexCuts(*step.regex, scratch, words.text, piece));
      } else if (rule.kind == SplitKind::Metaspace) {
        cuts = metaspaceCuts(words.text, piece);
      } else {
        cuts = digitCuts(words.text, piece, rule.kind == SplitKind::DigitsByThreesAtWordBorder);
      }
      applyBehavior(cuts, rule, refined);
    }
    words.spans = std::move(refined);
  }
  return words;
}

} // namespace sinter
