// Masks of tokens equal trying each token alone, for any vocabulary.
#include "grammar/matching.h"
#include "grammar/token_masks.h"

#include <random>
#include <set>

namespace sinter::grammar {
namespace {

// All bytes, and texts of JSON and prose drawn by a seed.
std::vector<std::string> drawnVocabulary(uint32_t seed, size_t size) {
  std::mt19937 random(seed);
  const std::vector<std::string> parts = {"a", "b", "th",   "\"",   "\\",       "{",
                                          "}", ":", ",",    " ",    "\n",       "1",
                                          "0", "-", ".",    "e",    "\xC3\xA9", "true",
                                          "[", "]", "\xE2", "\x82", "\xAC",     "\xF0\x9F\x98\x80"};
  std::vector<std::string> words;
  for (int byte = 0; byte < 256; ++byte)
    words.emplace_back(1, static_cast<char>(byte));
  while (words.size() < size) {
    std::string word;
    for (size_t i = 0, count = 1 + random() % 6; i < count; ++i)
      word += parts[random() % parts.size()];
    words.push_back(std::move(word));
  }
  words[300].clear(); // a control token
  return words;
}

std::shared_ptr<const TokenTrie> trieOf(const std::vector<std::string> &words) {
  std::vector<TokenBytes> tokens;
  for (uint32_t i = 0; i < words.size(); ++i)
    tokens.push_back({i, words[i]});
  return std::make_shared<TokenTrie>(tokens, words.size());
}

const char *const kJson = R"(root ::= value
value ::= object | array | string | number | "true"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}"
array ::= "[" ws (value ("," ws value)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\nrt])* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)?
ws ::= [ \n]*)";

const char *const kGrammars[] = {
    kJson,
    R"(root ::= "\"" [^"\\]{0,5} "\"")",
    R"(root ::= [a-z\u00e0-\u00ff ]{3,40} ".")",
    R"(root ::= ("th" | "tha" | "a" "th"*)+)",
    R"(root ::= ("a" | "b" [ab]){30,90} "th" ([a-z] "."?){0,70})",
};

void expectMasksOf(TokenMasks &masks, StateId state, const std::vector<std::string> &words) {
  const auto bits = masks.maskOf(state);
  ASSERT_TRUE(bits) << bits.error().toString();
  for (uint32_t token = 0; token < words.size(); ++token) {
    const bool fits =
        !words[token].empty() && *masks.automaton().next(state, words[token]) != kDead;
    ASSERT_EQ((**bits)[token / 64] >> token % 64 & 1, fits) << words[token];
  }
}

TEST(TokenMasks, EqualEachTokenAlone) {
  const std::vector<std::string> words = drawnVocabulary(7, 1500);
  std::mt19937 random(11);
  for (const char *text : kGrammars) {
    TokenMasks masks(gbnf(text), trieOf(words));
    StateId state = masks.automaton().start();
    for (int step = 0; step < 40; ++step) {
      const auto bits = masks.maskOf(state);
      ASSERT_TRUE(bits) << bits.error().toString();
      std::vector<uint32_t> allowed;
      for (uint32_t token = 0; token < words.size(); ++token) {
        const bool fits =
            !words[token].empty() && *masks.automaton().next(state, words[token]) != kDead;
        ASSERT_EQ((**bits)[token / 64] >> token % 64 & 1, fits) << text << words[token];
        if (fits)
          allowed.push_back(token);
      }
      if (allowed.empty())
        break;
      state = *masks.after(state, allowed[random() % allowed.size()]);
    }
  }
}

// A repetition's counts that no token reaches make no difference, so few masks are made of it.
TEST(TokenMasks, AreSharedByCountsFarFromTheirBounds) {
  const std::vector<std::string> words = drawnVocabulary(7, 600);
  const char *const grammars[] = {R"(root ::= "\"" ([^"\\] | "\\" ["\\n]){300,2000} "\"")",
                                  R"(root ::= ([a-z]+ " "){300,2000} ".")"};
  for (const char *text : grammars) {
    TokenMasks masks(gbnf(text), trieOf(words));
    Automaton &automaton = masks.automaton();
    std::set<uint32_t> all, alike;
    StateId state = automaton.start();
    std::mt19937 random(3);
    const std::string_view letters = text[9] == '(' ? "ab " : "\"ab";
    for (int i = 0; i < 1900; ++i) {
      StateId next = kDead;
      while (next == kDead || automaton.accepts(next))
        next = *automaton.next(state, static_cast<uint8_t>(letters[random() % letters.size()]));
      state = next;
      all.insert(state.index);
      alike.insert(automaton.alike(state)->index);
      if (i % 97 == 0)
        expectMasksOf(masks, state, words);
    }
    EXPECT_LT(alike.size() * 4, all.size()) << text;
  }
}

} // namespace
} // namespace sinter::grammar
