// PLaMo 2's tokenizer: the cheapest sequence of tokens, found from the end of the text; of equals
// the one whose token is longest. Scores count in units of 1/10000.
#include "llm/tokenizer/subword/prefix_index.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/unicode.h"

#include <cmath>

namespace sinter {
namespace {

constexpr double kUnits = 1e4;
constexpr int64_t kUnknownCost = 10'000'000; // of a character that is spelled in bytes
constexpr int64_t kMostCost = 20'000'000;    // a token that costs more is never taken

class Plamo2 : public SubwordModel {
public:
  Plamo2(const TokenTable &tokens, const TokenizerRecipe &recipe) : fallback_(tokens, recipe) {
    std::vector<PrefixIndex::Entry> entries;
    costs_.assign(tokens.texts.size(), kMostCost);
    for (size_t i = 0; i < tokens.texts.size(); ++i) {
      const double cost = std::round(-tokens.scores[i] * kUnits);
      if (!tokens.isPlain(static_cast<TokenId>(i)) || !(std::abs(cost) < kMostCost))
        continue;
      costs_[i] = static_cast<int64_t>(cost);
      entries.push_back({tokens.texts[i], static_cast<TokenId>(i)});
    }
    index_ = PrefixIndex(std::move(entries));
  }

  void encode(const Words &words, Encoding &out) const override {
    std::vector<Place> places;
    for (size_t i = 0; i < words.spans.size(); ++i) {
      search(words.at(i), places);
      for (uint32_t at = 0; at < words.at(i).size(); at = places[at].next) {
        if (places[at].token >= 0)
          out.ids.push_back(places[at].token);
        else
          fallback_.append(words.at(i).substr(at, places[at].next - at), 0, out);
      }
    }
  }

private:
  // The cheapest way from a place to the end: its first token.
  struct Place {
    int64_t cost = INT64_MAX / 2; // inside a character
    uint32_t next = 0;
    TokenId token = -1; // below zero: the bytes of a character
  };

  void search(std::string_view word, std::vector<Place> &places) const {
    places.assign(word.size() + 1, {});
    places.back().cost = 0;
    for (auto at = static_cast<uint32_t>(word.size()); at-- > 0;) {
      if ((static_cast<uint8_t>(word[at]) & 0xC0) == 0x80)
        continue; // inside a character
      const uint32_t next = at + decodeUtf8(word, at).length;
      Place best{places[next].cost + kUnknownCost, next, -1};
      index_.eachPrefix(word.substr(at), [&](PrefixIndex::Match match) {
        const auto end = at + static_cast<uint32_t>(match.length);
        const int64_t cost = places[end].cost + costs_[static_cast<size_t>(match.id)];
        if (cost <= best.cost)
          best = {cost, end, match.id};
      });
      places[at] = best;
    }
  }

  Fallback fallback_;
  std::vector<int64_t> costs_; // of tokens
  PrefixIndex index_;
};

} // namespace

MadeModel makePlamo2(const TokenTable &tokens) {
  if (tokens.scores.empty())
    return fail(Code::Corrupt, "vocabulary has no scores, without which a PLaMo 2 tokenizer cannot "
                               "choose among its tokens");
  TokenizerRecipe recipe;
  recipe.model = ModelKind::Plamo2;
  recipe.spelling = Spelling::Plain;
  recipe.byteFallback = true;
  return std::make_unique<Plamo2>(tokens, recipe);
}

} // namespace sinter
