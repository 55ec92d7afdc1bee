// sinter pull, list, cp and rm, as a user calls them.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class StoredModels : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
  }
};

TEST_F(StoredModels, AreCopiedListedAndRemovedByName) {
  EXPECT_THAT(sinter({"list"}).err, HasSubstr("no models are here"));
  EXPECT_THAT(sinter({"cp", model_, "mine:1"}), EndedWith(0));
  EXPECT_THAT(sinter({"cp", "mine:1", "yours"}), EndedWith(0));
  const Outcome listed = sinter({"list"});
  EXPECT_THAT(listed.out, HasSubstr("mine:1 "));
  EXPECT_THAT(listed.out, HasSubstr("yours:latest"));
  EXPECT_THAT(sinter({"list", "--json"}).out, HasSubstr("\"name\": \"mine:1\""));
  EXPECT_THAT(sinter({"tokenize", "yours", "-p", "a"}), EndedWith(0));
  EXPECT_THAT(sinter({"rm", "mine:1", "yours"}), EndedWith(0));
  EXPECT_TRUE(std::filesystem::is_empty(cache_ + "/models/blobs"));
  EXPECT_THAT(sinter({"rm", "yours"}), FailedSaying("no stored model 'yours'"));
}

TEST_F(StoredModels, NothingIsFetchedUnderANameThatIsAPath) {
  EXPECT_THAT(sinter({"pull", "../../etc/passwd"}),
              FailedSaying("names no model that can be pulled or stored"));
}

TEST_F(StoredModels, ARegistryThatIsNotThereIsNamed) {
  options_.environment["no_proxy"] = "127.0.0.1";
  options_.environment["SINTER_REGISTRY"] = "http://127.0.0.1:1";
  const Outcome outcome = sinter({"pull", "some-model"});
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("cannot fetch 'http://127.0.0.1:1/v2/library/some-model"));
}

} // namespace
} // namespace sinter
