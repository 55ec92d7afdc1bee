// What a tokenizer does to a text, as data: normalizers, then splits into words, then a subword
// model, then the tokens around all. Tables for GGUF and the readers of tokenizer.json fill it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

// How a split finds its matches.
enum class SplitKind : uint8_t {
  Regex,                      // the matches of `expression`
  DigitsByThrees,             // numbers (\p{N}) in threes, counted from their right end
  DigitsByThreesAtWordBorder, // digits (\p{Nd}) the same way, where no letter follows the last
  Bert,                       // punctuation on its own, spaces removed
  Metaspace,                  // spaces become U+2581, of which each begins a word
  PrefixSpace,                // puts a space before a word that has none in front
};

// What becomes of a match: the names are those of tokenizer.json.
enum class SplitBehavior : uint8_t {
  Isolated,
  Removed,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous, // like Isolated, but neighbouring matches stay together
};

// Where a Metaspace split puts U+2581 in front.
enum class PrependScheme : uint8_t { Never, First, Always };

// One split. Each works on the pieces of the one before.
struct SplitStep {
  SplitKind kind = SplitKind::Regex;
  std::string expression = {}; // PCRE2's syntax; `\s` is Unicode's White_Space
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false; // what lies between the matches counts as the matches
  PrependScheme prepend = PrependScheme::Never;
  bool splits = true; // a Metaspace that only replaces does not
};

enum class NormalizerKind : uint8_t {
  Nfc,
  Nfd,
  Nfkc,
  Nfkd,
  Lowercase,
  StripAccents,  // removes nonspacing marks
  StripMarks,    // removes marks of all kinds
  Strip,         // white space at the ends
  Replace,       // `pattern`, a text, by `content`
  ReplaceRegex,  // the matches of `pattern` by `content`
  Prepend,       // `content` before a text that is not empty
  Charsmap,      // SentencePiece's compiled rules, in `content`
  SentencePiece, // SentencePiece's treatment of spaces
  BertClean,     // drops control characters; every white space becomes a space
  PadCjk,        // spaces around each CJK character
};

struct NormalizerStep {
  NormalizerKind kind;
  std::string pattern = {};
  std::string content = {};
  bool left = false, right = false; // of Strip
  // Of SentencePiece: a space before the first word, and runs of spaces as one.
  bool prefixesSpace = false, mergesSpaces = false, escapesSpaces = true;
};

enum class ModelKind : uint8_t {
  MergeRanks,   // byte-pair encoding by a list of merges
  MergeScores,  // joins neighbours into the token of the best score (SentencePiece BPE, tiktoken)
  Unigram,      // the most probable sequence of tokens
  WordPiece,    // the longest token, from the left; a word that has none is unknown
  WordLevel,    // words are tokens
  LongestMatch, // the longest token, from the left, over bytes
  Plamo2,       // the cheapest sequence, from the right
  None,         // no text at all
};

// How the text of a token spells its bytes.
enum class Spelling : uint8_t {
  ByteAlphabet, // GPT-2's characters for bytes
  Metaspace,    // U+2581 for a space
  Plain,        // itself
  Escapes,      // \n, \t, \r, \\ and \xNN
  WordPiece,    // "##" continues a word, all others follow a space
};

struct TokenizerRecipe {
  std::vector<NormalizerStep> normalizers;
  std::vector<SplitStep> splits;
  ModelKind model = ModelKind::MergeRanks;
  Spelling spelling = Spelling::ByteAlphabet;
  bool bytes = false;           // words are taken apart into bytes, not characters
  bool byteFallback = false;    // what has no token becomes tokens such as <0x0A>
  bool usesByteTexts = false;   // a byte without such a token is the token of its own text
  bool fusesUnknown = false;    // neighbouring unknown tokens become one
  bool takesWholeWords = false; // a word that is a token is taken before any merge is tried
  bool takesNewlines = false;   // the same for words of newlines only
  std::string wordStart;        // of WordPiece: what begins the text of a token that starts a word
  std::string continuation;     // what begins the text of a token inside a word
  std::string wordEnd;          // what ends the text of a token that ends a word
  uint32_t longestWord = 0;     // of WordPiece, in characters; longer words are unknown; 0: any
  bool cleansSpaces = false;    // whole texts lose the space before punctuation
  bool dropsFirstSpace = false; // the text of a whole sequence starts without its space
  bool dropsByteOrderMark = false;
};

} // namespace sinter
