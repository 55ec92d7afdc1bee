// Normalizers, each a function from text to text.
#include "llm/tokenizer/normalizer.h"

#include "llm/tokenizer/unicode.h"
#include "llm/tokenizer/unicode_properties.h"

#include <algorithm>

namespace sinter {
namespace {

// Calls `visit` with each character of a valid text and its bytes.
template <typename Visit> void eachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    visit(step.codePoint, text.substr(at, step.length));
    at += step.length;
  }
}

std::string lowercased(std::string_view text) {
  std::string out;
  eachCharacter(text,
                [&](uint32_t character, std::string_view) { appendLowercase(character, out); });
  return out;
}

std::string without(std::string_view text, bool (*property)(uint32_t)) {
  std::string out;
  eachCharacter(text, [&](uint32_t character, std::string_view bytes) {
    if (!property(character))
      out += bytes;
  });
  return out;
}

// BERT's cleaning: no controls but tabs and line ends, no U+FFFD, every white space a space.
std::string bertCleaned(std::string_view text) {
  std::string out;
  eachCharacter(text, [&](uint32_t character, std::string_view bytes) {
    const bool lineOrTab = character == '\t' || character == '\n' || character == '\r';
    if (!lineOrTab && (character == 0xFFFD || isControlOrOther(character)))
      return;
    if (isWhiteSpace(character))
      out += ' ';
    else
      out += bytes;
  });
  return out;
}

std::string withPaddedCjk(std::string_view text) {
  std::string out;
  eachCharacter(text, [&](uint32_t character, std::string_view bytes) {
    const std::string_view pad = isCjkIdeograph(character) ? " " : "";
    out += pad;
    out += bytes;
    out += pad;
  });
  return out;
}

std::string stripped(std::string_view text, bool left, bool right) {
  size_t begin = text.size(), end = 0, at = 0;
  eachCharacter(text, [&](uint32_t character, std::string_view bytes) {
    if (!isWhiteSpace(character)) {
      begin = std::min(begin, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (end == 0 && (left || right))
    return {};
  begin = left ? begin : 0;
  end = right ? end : text.size();
  return std::string(text.substr(begin, end - begin));
}

// SentencePiece's spaces: one before the first word, or, where runs are merged, one before each.
std::string withSentencePieceSpaces(std::string_view text, const NormalizerStep &rule) {
  const std::string_view space = rule.escapesSpaces ? "\u2581" : " ";
  std::string out;
  bool inWord = false, hasPrefix = false;
  for (const char byte : text) {
    if (byte == ' ') {
      inWord = false;
      if (!rule.mergesSpaces)
        out += space;
      continue;
    }
    if (!inWord && ((rule.prefixesSpace && !hasPrefix) || rule.mergesSpaces)) {
      out += space;
      hasPrefix = true;
    }
    inWord = true;
    out += byte;
  }
  return out;
}

Fail tooLong() {
  return fail(Code::Exhausted, "the tokenizer's normalization makes more than 4 GiB of a prompt");
}

Result<std::string> replaced(std::string_view text, const std::string &pattern,
                             const std::string &content) {
  std::string out;
  size_t at = 0;
  for (size_t found; (found = text.find(pattern, at)) != std::string_view::npos;) {
    out += text.substr(at, found - at);
    out += content;
    at = found + pattern.size();
    if (out.size() > Normalizer::kMaxTextBytes)
      return tooLong();
  }
  out += text.substr(at);
  return out;
}

Result<std::string> replaced(std::string_view text, const Regex &regex,
                             const std::string &content) {
  SINTER_ASSIGN(Regex::Scratch scratch, Regex::Scratch::create());
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    SINTER_ASSIGN(const auto found, regex.find(text, at, scratch));
    if (!found)
      break;
    out += text.substr(at, found->begin - at);
    out += content;
    at = found->end;
    if (out.size() > Normalizer::kMaxTextBytes)
      return tooLong();
  }
  out += text.substr(at);
  return out;
}

} // namespace

Result<Normalizer> Normalizer::create(std::span<const NormalizerStep> steps) {
  Normalizer made;
  for (const NormalizerStep &rule : steps) {
    Step step{rule, std::nullopt, {}};
    if (rule.kind == NormalizerKind::ReplaceRegex) {
      SINTER_ASSIGN(step.regex, Regex::create(rule.pattern));
    }
    if (rule.kind == NormalizerKind::Charsmap) {
      SINTER_ASSIGN(step.charsmap, Charsmap::create(rule.content));
    }
    if (rule.kind == NormalizerKind::Replace && rule.pattern.empty())
      return fail(Code::Corrupt, "the tokenizer replaces an empty text, expected a character");
    made.steps_.push_back(std::move(step));
  }
  return made;
}

Result<std::string> Normalizer::apply(std::string text) const {
  for (const Step &step : steps_) {
    SINTER_ASSIGN(text, applyStep(step, std::move(text)));
    if (text.size() > kMaxTextBytes)
      return tooLong();
  }
  return text;
}

Result<std::string> Normalizer::applyStep(const Step &step, std::string text) const {
  switch (step.rule.kind) {
  case NormalizerKind::Nfc:
    return normalized(text, NormalForm::Nfc);
  case NormalizerKind::Nfd:
    return normalized(text, NormalForm::Nfd);
  case NormalizerKind::Nfkc:
    return normalized(text, NormalForm::Nfkc);
  case NormalizerKind::Nfkd:
    return normalized(text, NormalForm::Nfkd);
  case NormalizerKind::Lowercase:
    return lowercased(text);
  case NormalizerKind::StripAccents:
    return without(text, isNonspacingMark);
  case NormalizerKind::StripMarks:
    return without(text, isMark);
  case NormalizerKind::Strip:
    return stripped(text, step.rule.left, step.rule.right);
  case NormalizerKind::Replace:
    return replaced(text, step.rule.pattern, step.rule.content);
  case NormalizerKind::ReplaceRegex:
    return replaced(text, *step.regex, step.rule.content);
  case NormalizerKind::Prepend:
    return text.empty() ? text : step.rule.content + text;
  case NormalizerKind::Charsmap:
    return step.charsmap.apply(text, kMaxTextBytes);
  case NormalizerKind::SentencePiece:
    return withSentencePieceSpaces(text, step.rule);
  case NormalizerKind::BertClean:
    return bertCleaned(text);
  case NormalizerKind::PadCjk:
    return withPaddedCjk(text);
  }
  return text;
}

} // namespace sinter
