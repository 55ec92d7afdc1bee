// The JSON Schema Test Suite, where the variable SINTER_SCHEMA_SUITE names the folder of a draft's
// files: no grammar has an invalid instance. tests/schema_suite/schema_suite.py fetches it.
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/matching.h"

#include <filesystem>
#include <fstream>

namespace sinter::grammar {
namespace {

using jinja::Input;

struct Counts {
  size_t schemas = 0, refused = 0; // schemas
  size_t valid = 0, reached = 0;   // valid instances of the others
  size_t invalid = 0, wrong = 0;   // invalid ones, and those that a grammar has
};

// In any order of the outermost members, since grammars have one.
bool reaches(Automaton &automaton, Input value) {
  constexpr size_t kMostMembers = 6;
  auto *object = std::get_if<Input::Object>(&value.content());
  if (!object || object->size() > kMostMembers)
    return matches(automaton, jsonLiteral(value));
  const auto byName = [](const auto &a, const auto &b) { return a.first < b.first; };
  std::ranges::sort(*object, byName);
  do {
    if (matches(automaton, jsonLiteral(value)))
      return true;
  } while (std::next_permutation(object->begin(), object->end(), byName));
  return false;
}

void run(const std::string &file, const Input &group, Counts &counts) {
  const std::string name = file + ": " + *group.find("description")->text();
  ++counts.schemas;
  Result<Grammar> grammar = parseJsonSchema(*group.find("schema"));
  const bool isNone = !grammar && grammar.error().message.ends_with("no value satisfies it");
  if (!grammar && !isNone) {
    ++counts.refused;
    std::printf("refused: %s: %s\n", name.c_str(), grammar.error().message.c_str());
    return;
  }
  std::unique_ptr<Automaton> automaton;
  if (grammar)
    automaton = automatonOf(std::move(*grammar));
  for (const Input &test : *group.find("tests")->list()) {
    const bool isValid = std::get<bool>(test.find("valid")->content());
    const bool isReached = automaton && reaches(*automaton, *test.find("data"));
    const std::string what = name + ": " + *test.find("description")->text();
    ++(isValid ? counts.valid : counts.invalid);
    counts.reached += isValid && isReached;
    counts.wrong += !isValid && isReached;
    EXPECT_FALSE(!isValid && isReached) << what;
    if (isValid && !isReached)
      std::printf("not reached: %s\n", what.c_str());
  }
}

TEST(SchemaSuite, NoGrammarHasAnInvalidInstance) {
  const char *folder = std::getenv("SINTER_SCHEMA_SUITE");
  if (!folder)
    GTEST_SKIP() << "SINTER_SCHEMA_SUITE names no folder";
  Counts counts;
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path &path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Result<Input> groups = jinja::inputFromJson(text);
    ASSERT_TRUE(groups && groups->list()) << path;
    for (const Input &group : *groups->list())
      run(path.stem().string(), group, counts);
  }
  EXPECT_GT(counts.schemas, 0u) << folder;
  std::printf("schemas %zu, refused %zu; valid %zu, reached %zu; invalid %zu, reached %zu\n",
              counts.schemas, counts.refused, counts.valid, counts.reached, counts.invalid,
              counts.wrong);
}

} // namespace
} // namespace sinter::grammar
