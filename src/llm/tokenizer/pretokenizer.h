// Pre-tokenizers: the split of a text into the words that byte-pair encoding works on, by the
// regular expressions that the models' published tokenizers name.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// One pre-tokenizer, compiled. Movable; const use is safe from several threads.
class Pretokenizer {
public:
  // `name` is a file's tokenizer.ggml.pre. Unsupported, naming it, where it is not one of ours.
  static Result<Pretokenizer> create(std::string_view name);

  Pretokenizer(Pretokenizer &&);
  Pretokenizer &operator=(Pretokenizer &&);
  ~Pretokenizer();

  // The words of `text` in order, as the offset where each ends; they cover it without gaps. `text`
  // must be valid UTF-8 of less than 4 GiB. Exhausted where a match needs more steps than allowed.
  Result<std::vector<uint32_t>> split(std::string_view text) const;

  // Whether a word that is a token as a whole is taken before any merge is tried.
  bool ignoresMerges() const { return ignoresMerges_; }
  // Whether prompts start with the begin token where the file does not say.
  bool addsBosByDefault() const { return addsBosByDefault_; }

private:
  struct Regex;
  Pretokenizer();

  Result<std::vector<uint32_t>> refine(const Regex &regex, std::string_view text,
                                       const std::vector<uint32_t> &ends) const;

  std::string name_;
  std::vector<Regex> stages_; // each splits the pieces of the one before
  bool ignoresMerges_ = false;
  bool addsBosByDefault_ = false;
};

} // namespace sinter
