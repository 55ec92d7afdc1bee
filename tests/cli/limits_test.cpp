// Too little memory, too few descriptors, no folder for temporary files: an answer or one error.
#include "cli/cli_test.h"

#include <sys/resource.h>

namespace sinter {
namespace {

class Limits : public CliTest {
protected:
  void limit(int resource, rlim_t value) {
    options_.before = [resource, value] {
      const rlimit both = {value, value};
      setrlimit(static_cast<__rlimit_resource>(resource), &both);
    };
  }
};

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer) &&                         \
    !__has_feature(thread_sanitizer) // which reserve terabytes
TEST_F(Limits, AnyAmountOfAddressSpaceEndsInAnAnswerOrOneError) {
  ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
  size_t refused = 0, answered = 0;
  // Below, it ends before main: the loader, or what libraries set up there, finds no memory.
  for (rlim_t mebibytes = 20; mebibytes <= 130; mebibytes += 8) {
    limit(RLIMIT_AS, mebibytes << 20);
    const Outcome outcome =
        sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--threads", "2"});
    refused += outcome.code == 1;
    answered += outcome.code == 0;
    EXPECT_TRUE(outcome.signal == 0 && (outcome.code == 0 || outcome.code == 1))
        << mebibytes << ": " << outcome;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(answered, 0u);
}
#endif

TEST_F(Limits, AnyNumberOfDescriptorsEndsInAnAnswerOrAnError) {
  ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
  size_t refused = 0;
  for (rlim_t count = 6; count <= 20; ++count) {
    limit(RLIMIT_NOFILE, count);
    const Outcome outcome = answer();
    refused += outcome.code == 1;
    EXPECT_TRUE(outcome.signal == 0 && !outcome.late && outcome.code != -1) << count << outcome;
    EXPECT_TRUE(outcome.code == 0 || !outcome.err.empty()) << count;
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(Limits, TemporaryFolderThatIsMissingIsOneError) {
  useOwnCache();
  options_.environment["TMPDIR"] = path("nowhere");
  EXPECT_THAT(answer(), testing::AnyOf(EndedWith(0), FailedSaying("temporary folder")));
}

TEST_F(Limits, MoreThreadsThanProcessorsStillAnswer) {
  const Outcome one =
      sinter({"run", model_, "-p", "hi", "-n", "20", "--temp", "0", "--threads", "1"});
  const Outcome many =
      sinter({"run", model_, "-p", "hi", "-n", "20", "--temp", "0", "--threads", "64"});
  EXPECT_THAT(many, EndedWith(0));
  EXPECT_EQ(many.out, one.out);
}

TEST_F(Limits, PromptWithoutAnEndIsRefused) {
  options_.before = [] { dup2(open("/dev/zero", O_RDONLY), 0); };
  EXPECT_THAT(sinter({"run", model_}), FailedSaying("more than 67108864 bytes"));
}

} // namespace
} // namespace sinter
