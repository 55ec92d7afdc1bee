// The longest token at each place, over bytes: RWKV's tokenizer.
#include "llm/tokenizer/subword/prefix_index.h"
#include "llm/tokenizer/subword/subword_model.h"

namespace sinter {
namespace {

class LongestMatch : public SubwordModel {
public:
  LongestMatch(const TokenTable &tokens, std::span<const std::string> pieces)
      : unknown_(tokens.unknown) {
    std::vector<PrefixIndex::Entry> entries;
    for (size_t i = 0; i < pieces.size(); ++i)
      if (tokens.isPlain(static_cast<TokenId>(i)))
        entries.push_back({pieces[i], static_cast<TokenId>(i)});
    index_ = PrefixIndex(std::move(entries));
  }

  void encode(const Words &words, Encoding &out) const override {
    for (size_t i = 0; i < words.spans.size(); ++i) {
      const std::string_view word = words.at(i);
      for (size_t at = 0; at < word.size();) {
        const PrefixIndex::Match match = index_.longest(word.substr(at));
        if (match.length > 0)
          out.ids.push_back(match.id);
        else if (unknown_)
          out.ids.push_back(*unknown_);
        else
          ++out.droppedBytes;
        at += std::max<size_t>(match.length, 1);
      }
    }
  }

private:
  std::optional<TokenId> unknown_;
  PrefixIndex index_; // by the bytes that tokens stand for
};

} // namespace

MadeModel makeLongestMatch(const TokenTable &tokens, std::span<const std::string> pieces) {
  return std::make_unique<LongestMatch>(tokens, pieces);
}

} // namespace sinter
