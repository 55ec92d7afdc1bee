// Time to make the mask of a token, by grammar, over the vocabulary of a model file: of the first
// token of a grammar, and of those after it. Answers are drawn from what the masks allow.
#include "format/gguf.h"
#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/regex.h"
#include "llm/generation.h"
#include "llm/grammar_constraint.h"
#include "llm/tokenizer/vocabulary_from_gguf.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <time.h>

namespace {

using namespace sinter;

constexpr int kAnswers = 60, kMostTokens = 60;

struct Case {
  const char *name;
  enum { Schema, Regex, Gbnf } kind;
  const char *text;
};

const Case kCases[] = {
    {"any JSON", Case::Schema, "{}"},
    {"a tool's arguments", Case::Schema,
     R"({"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
         "unit":{"enum":["celsius","fahrenheit"]},"tags":{"type":"array","items":{"type":"string"}}},
         "required":["city","days","unit","tags"],"additionalProperties":false})"},
    {"a string of 100 at most", Case::Schema, R"({"type":"string","maxLength":100})"},
    {"a string of 20 to 2000", Case::Schema,
     R"({"type":"string","minLength":20,"maxLength":2000})"},
    {"a date and a uuid", Case::Schema,
     R"({"type":"array","prefixItems":[{"type":"string","format":"date"},
         {"type":"string","format":"uuid"}],"minItems":2,"items":false})"},
    {"[^\"]{0,100}", Case::Regex, "[^\"]{0,100}"},
    {"[^\"]{0,1000}", Case::Regex, "[^\"]{0,1000}"},
    {"[a-z ]{1,100}\\.", Case::Regex, "[a-z ]{1,100}\\."},
    {"(\\w+ ){3,40}", Case::Regex, "(\\w+ ){3,40}"},
    {"lines", Case::Gbnf, "root ::= (\"- \" [^\\n]{1,80} \"\\n\"){1,20}"},
};

Result<grammar::Grammar> grammarOf(const Case &one) {
  if (one.kind == Case::Gbnf)
    return grammar::parseGbnf(one.text);
  if (one.kind == Case::Schema) {
    SINTER_ASSIGN(const jinja::Input schema, jinja::inputFromJson(one.text));
    return grammar::parseJsonSchema(schema);
  }
  grammar::Grammar made;
  SINTER_ASSIGN(const grammar::ExprId root,
                grammar::parseRegex(made, one.text, grammar::RegexUse::Whole));
  made.setRoot(root);
  return made;
}

// Of this thread, so that others on the machine do not count.
double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e6 + double(now.tv_nsec) / 1e3;
}

std::optional<TokenId> drawn(std::span<const uint64_t> bits, std::mt19937 &random) {
  std::vector<TokenId> allowed;
  for (size_t i = 0; i < bits.size() * 64; ++i)
    if (bits[i / 64] >> i % 64 & 1)
      allowed.push_back(static_cast<TokenId>(i));
  return allowed.empty() ? std::nullopt : std::optional(allowed[random() % allowed.size()]);
}

Result<void> run(const Case &one, const std::shared_ptr<const grammar::TokenTrie> &trie,
                 const Tokenizer &tokenizer) {
  const double start = microseconds();
  SINTER_ASSIGN(grammar::Grammar grammar, grammarOf(one));
  SINTER_ASSIGN(const auto form, GrammarForm::create(std::move(grammar), trie, tokenizer));
  const double compiled = microseconds() - start;
  std::mt19937 random(1);
  std::vector<double> times;
  double first = 0;
  for (int answer = 0; answer < kAnswers; ++answer) {
    const auto constraint = form->constrain();
    for (int i = 0; i < kMostTokens; ++i) {
      const double before = microseconds();
      SINTER_ASSIGN(const std::span<const uint64_t> bits, constraint->allowed());
      double took = microseconds() - before;
      const std::optional<TokenId> token = drawn(bits, random);
      if (!token || endsAnswer(tokenizer, *token))
        break;
      const double then = microseconds();
      SINTER_TRY(constraint->accept(*token));
      took += microseconds() - then;
      if (answer == 0 && i == 0)
        first = took;
      else
        times.push_back(took);
    }
  }
  double sum = 0;
  for (const double time : times)
    sum += time;
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return times[static_cast<size_t>(part * double(times.size() - 1))];
  };
  std::printf("%-26s %8zu %9.0f %8.0f %8.1f %8.1f %8.1f %8.0f\n", one.name, times.size(), compiled,
              first, sum / double(times.size()), at(0.5), at(0.99), times.back());
  return {};
}

Result<void> runAll(const char *path) {
  SINTER_ASSIGN(const GgufFile file, GgufFile::open(path));
  SINTER_ASSIGN(const VocabularyData data, vocabularyFromGguf(file));
  SINTER_ASSIGN(const Tokenizer tokenizer, Tokenizer::create(data));
  const auto trie = tokenTrieOf(tokenizer, tokenizer.size());
  std::printf("%zu tokens; microseconds\n%-26s %8s %9s %8s %8s %8s %8s %8s\n", tokenizer.size(),
              "grammar", "masks", "compiling", "first", "mean", "p50", "p99", "most");
  for (const Case &one : kCases)
    SINTER_TRY(run(one, trie, tokenizer));
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: text_masks MODEL.gguf\n");
    return 2;
  }
  if (const auto done = runAll(argv[1]); !done) {
    std::fprintf(stderr, "%s\n", done.error().toString().c_str());
    return 1;
  }
  return 0;
}
