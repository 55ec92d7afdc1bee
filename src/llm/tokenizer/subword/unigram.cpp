// Unigram language models (Kudo 2018): the sequence of tokens with the greatest sum of scores,
// which are logarithms of probabilities, by Viterbi's algorithm.
#include "llm/tokenizer/subword/prefix_index.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <cfloat>

namespace sinter {
namespace {

// How much worse an unknown character is than the worst token; SentencePiece's figure.
constexpr double kUnknownPenalty = 10;

class Unigram : public SubwordModel {
public:
  Unigram(const TokenTable &tokens, const TokenizerRecipe &recipe)
      : tokens_(tokens), fallback_(tokens, recipe) {
    double worst = DBL_MAX;
    std::vector<PrefixIndex::Entry> entries;
    for (size_t i = 0; i < tokens.texts.size(); ++i) {
      if (!tokens.isPlain(static_cast<TokenId>(i)))
        continue;
      if (tokens.types[i] == TokenType::Normal)
        worst = std::min(worst, tokens.scores[i]);
      entries.push_back({tokens.texts[i], static_cast<TokenId>(i)});
    }
    unknownScore_ = (worst == DBL_MAX ? 0 : worst) - kUnknownPenalty;
    index_ = PrefixIndex(std::move(entries));
  }

  void encode(const Words &words, Encoding &out) const override {
    std::vector<Place> places;
    std::vector<Step> path;
    for (size_t i = 0; i < words.spans.size(); ++i) {
      search(words.at(i), places);
      readPath(words.at(i), places, path, out);
    }
  }

private:
  // The best way to a place in a word: its last token.
  struct Place {
    double score = -DBL_MAX;
    uint32_t from = 0;
    TokenId token = -1; // below zero: a character without a token
  };
  struct Step {
    uint32_t from, to;
    TokenId token;
  };

  double scoreOf(TokenId id) const {
    const auto at = static_cast<size_t>(id);
    const double score = tokens_.scores[at];
    // What a user defined is always likely enough; a score that is no number never is.
    if (tokens_.types[at] == TokenType::UserDefined)
      return 0;
    return score == score ? score : -DBL_MAX;
  }

  void search(std::string_view word, std::vector<Place> &places) const {
    places.assign(word.size() + 1, {});
    places[0].score = 0;
    for (uint32_t at = 0; at < word.size();) {
      const uint32_t length = decodeUtf8(word, at).length;
      bool hasCharacter = false;
      const auto offer = [&](size_t end, TokenId token, double score) {
        if (score > places[end].score)
          places[end] = {score, at, token};
      };
      index_.eachPrefix(word.substr(at), [&](PrefixIndex::Match match) {
        hasCharacter = hasCharacter || match.length == length;
        offer(at + match.length, match.id, places[at].score + scoreOf(match.id));
      });
      if (!hasCharacter)
        offer(at + length, -1, places[at].score + unknownScore_);
      at += length;
    }
  }

  void readPath(std::string_view word, const std::vector<Place> &places, std::vector<Step> &path,
                Encoding &out) const {
    path.clear();
    for (auto at = static_cast<uint32_t>(word.size()); at > 0; at = places[at].from)
      path.push_back({places[at].from, at, places[at].token});
    std::ranges::reverse(path);
    const size_t before = out.ids.size();
    bool afterUnknown = false; // neighbouring unknown characters are one token
    for (size_t i = 0; i < path.size(); ++i) {
      const bool unknown = path[i].token < 0;
      if (!unknown)
        out.ids.push_back(path[i].token);
      else if (!afterUnknown) {
        uint32_t end = path[i].to;
        for (size_t next = i + 1; next < path.size() && path[next].token < 0; ++next)
          end = path[next].to;
        fallback_.append(word.substr(path[i].from, end - path[i].from), before, out);
      }
      afterUnknown = unknown;
    }
  }

  TokenTable tokens_;
  Fallback fallback_;
  PrefixIndex index_;
  double unknownScore_ = 0;
};

} // namespace

MadeModel makeUnigram(const TokenTable &tokens, const TokenizerRecipe &recipe) {
  if (tokens.scores.empty())
    return fail(Code::Corrupt, "vocabulary has no scores, without which a Unigram tokenizer cannot "
                               "choose among its tokens");
  return std::make_unique<Unigram>(tokens, recipe);
}

} // namespace sinter
