// Whatever a model, its template, a plan, a file of packed weights or the tuning database holds,
// the program ends by itself and says why. A sample; cli.mutations tries many more (label full).
#include "cli/cli_test.h"
#include "cli/mutations.h"

#include "plan/file.h"

namespace sinter {
namespace {

class FileMutations : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
  }
  Outcome answer(const std::string &model, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"run", model,    "-p", "Hi",       "-n",
                                          "2",   "--temp", "0",  "--device", "cpu"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return sinter(arguments);
  }
  // The only file in the cache whose name ends so.
  std::string cached(const std::string &suffix) const {
    std::string found;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(cache_))
      if (entry.path().string().ends_with(suffix))
        found = entry.path().string();
    EXPECT_FALSE(found.empty()) << suffix;
    return found;
  }
  static void replace(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
};

// Models that are compiled take seconds each.
int modelRounds() {
  return mutationRounds(8) / 4;
}

TEST_F(FileMutations, OfAModelAreRefusedOrRun) {
  useRealCompiler(); // each model is another
  const std::string seed = read(model_);
  limitReader(options_, 60);
  MutationRandom random(11);
  for (int left = modelRounds(); left > 0; --left) {
    const Outcome outcome = answer(write("mutated.gguf", mutatedBytes(seed, random)));
    EXPECT_TRUE(isHeld(outcome)) << left << ": " << outcome;
  }
}

TEST_F(FileMutations, OfATemplateAreRefusedOrRun) {
  useRealCompiler(); // each model is another
  limitReader(options_, 60);
  MutationRandom random(12);
  for (int left = modelRounds(); left > 0; --left) {
    TinyModel model;
    model.chatTemplate = mutatedText(model.chatTemplate, random);
    const Outcome outcome = answer(writeModel("mutated.gguf", model));
    EXPECT_TRUE(isHeld(outcome)) << left << ": " << outcome << "\n" << model.chatTemplate;
  }
}

TEST_F(FileMutations, OfAPlanAreFoundByItsChecksum) {
  const std::string path = this->path("seed.plan");
  ASSERT_EQ(sinter({"compile", model_, "--target", "host", "-o", path}).code, 0);
  const std::string seed = read(path);
  ASSERT_EQ(answer(model_, {"--plan", path}).code, 0);
  limitReader(options_, 10);
  MutationRandom random(13);
  for (int left = mutationRounds(10); left > 0; --left) {
    const std::string bytes = mutatedBytes(seed, random);
    if (bytes == seed)
      continue;
    const Outcome outcome = answer(model_, {"--plan", write("mutated.plan", bytes)});
    EXPECT_TRUE(isHeld(outcome) && outcome.code == 1) << left << ": " << outcome;
  }
}

// A damaged file of the cache costs a start's time, never an answer.
TEST_F(FileMutations, OfACachedPlanChangeNoAnswer) {
  const Outcome whole = answer(model_);
  ASSERT_EQ(whole.code, 0) << whole;
  const std::string path = cached(".plan"), seed = read(path);
  limitReader(options_, 60);
  MutationRandom random(14);
  for (int left = modelRounds(); left > 0; --left) {
    replace(path, mutatedBytes(seed, random));
    const Outcome outcome = answer(model_);
    EXPECT_TRUE(outcome.code == 0 && outcome.out == whole.out) << left << ": " << outcome;
  }
}

TEST_F(FileMutations, OfPackedWeightsChangeNoAnswer) {
  usleep(2'100'000); // weights of a model that has just changed are not kept
  const Outcome whole = answer(model_);
  ASSERT_EQ(whole.code, 0) << whole;
  const std::string path = cached(".weights"), seed = read(path);
  limitReader(options_, 10);
  MutationRandom random(15);
  for (int left = mutationRounds(10); left > 0; --left) {
    replace(path, mutatedBytes(seed, random));
    const Outcome outcome = answer(model_);
    EXPECT_TRUE(outcome.code == 0 && outcome.out == whole.out) << left << ": " << outcome;
  }
}

TEST_F(FileMutations, OfTheTuningDatabaseChangeNoAnswer) {
  const Outcome whole = answer(model_);
  ASSERT_EQ(whole.code, 0) << whole;
  const std::string corpus = SINTER_TEST_DIR "/fuzz/corpus/tuning";
  std::vector<std::string> seeds;
  for (const auto &entry : std::filesystem::directory_iterator(corpus))
    seeds.push_back(entry.path().string());
  std::ranges::sort(seeds);
  ASSERT_FALSE(seeds.empty());
  limitReader(options_, 60);
  MutationRandom random(16);
  const std::string database =
      std::filesystem::path(cached(".plan")).parent_path().string() + "/tuning.db";
  for (int left = mutationRounds(10); left > 0; --left) {
    replace(database, mutatedBytes(read(seeds[random() % seeds.size()]), random));
    const Outcome outcome = answer(model_);
    EXPECT_TRUE(outcome.code == 0 && outcome.out == whole.out) << left << ": " << outcome;
  }
}

} // namespace
} // namespace sinter
