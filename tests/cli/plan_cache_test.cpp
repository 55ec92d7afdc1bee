// The cache of plans as a user meets it: damaged, unsafe, read-only, full, and shared by processes.
#include "cli/cli_test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace sinter {
namespace {

class Cache : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
  }
  std::vector<std::string> files(const std::string &ending) const {
    std::vector<std::string> found;
    if (std::filesystem::exists(cache_))
      for (const auto &entry : std::filesystem::directory_iterator(cache_))
        if (entry.path().string().ends_with(ending))
          found.push_back(entry.path());
    return found;
  }
  // A flipped byte at each of these places is said in one line that has `words`, and mended.
  void expectMended(const std::string &entry, const std::vector<size_t> &places,
                    const std::string &answered, const char *words) {
    for (const size_t at : places) {
      std::string bytes = read(entry);
      bytes[at] = static_cast<char>(bytes[at] ^ 4);
      std::ofstream(entry, std::ios::binary) << bytes;
      const Outcome again = answer();
      EXPECT_THAT(again, EndedWith(0));
      EXPECT_EQ(again.out, answered);
      ASSERT_EQ(messages(again).size(), 2u) << again; // and the figures
      EXPECT_THAT(messages(again)[0], HasSubstr(words));
      EXPECT_EQ(messages(answer()).size(), 1u);
    }
  }
  static bool built(const Outcome &outcome) {
    return outcome.err.find("building the plan") != std::string::npos;
  }
};

TEST_F(Cache, PlanIsBuiltOnceAndKeptForTheUserAlone) {
  useRealCompiler();
  const Outcome first = answer(), second = answer();
  EXPECT_TRUE(built(first)) << first;
  EXPECT_FALSE(built(second)) << second;
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(files(".plan").size(), 1u);
  struct stat info;
  ASSERT_EQ(stat(cache_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(Cache, FlippedEntryIsBuiltAgainAndSaidInOneLine) {
  const Outcome first = answer();
  ASSERT_EQ(files(".plan").size(), 1u);
  const std::string entry = files(".plan")[0];
  const std::string whole = read(entry);
  expectMended(entry, {0, whole.size() / 3, whole.size() / 2, whole.size() - 1}, first.out,
               "is damaged and is built again");
  EXPECT_FALSE(built(answer()));
}

TEST_F(Cache, TruncatedEntryIsBuiltAgain) {
  answer();
  ASSERT_EQ(files(".plan").size(), 1u);
  for (const off_t bytes : {0, 1, 1000}) {
    ASSERT_EQ(truncate(files(".plan")[0].c_str(), bytes), 0);
    const Outcome again = answer();
    EXPECT_THAT(again, EndedWith(0));
    EXPECT_THAT(again.err, HasSubstr("is damaged and is built again"));
  }
}

TEST_F(Cache, FolderThatOthersMayWriteToIsNotUsed) {
  answer();
  ASSERT_EQ(files(".plan").size(), 1u);
  const std::string before = read(files(".plan")[0]);
  ASSERT_EQ(chmod(cache_.c_str(), 0777), 0);
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_TRUE(built(outcome)) << "a plan of an unsafe folder was run";
  ASSERT_EQ(messages(outcome).size(), 2u) << outcome;
  EXPECT_THAT(messages(outcome)[0],
              AllOf(HasSubstr("plans are not kept"), HasSubstr("may be written to by others")));
  EXPECT_EQ(read(files(".plan")[0]), before);
}

TEST_F(Cache, EntryThatOthersMayWriteToIsNotUsed) {
  answer();
  ASSERT_EQ(files(".plan").size(), 1u);
  ASSERT_EQ(chmod(files(".plan")[0].c_str(), 0666), 0);
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_TRUE(built(outcome)) << outcome;
  EXPECT_THAT(outcome.err, HasSubstr("may be written to by others"));
}

TEST_F(Cache, FolderThatIsALinkIsNotUsed) {
  std::filesystem::create_directories(path("elsewhere"));
  std::filesystem::create_symlink(path("elsewhere"), cache_);
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("plans are not kept"));
  EXPECT_TRUE(std::filesystem::is_empty(path("elsewhere")));
}

TEST_F(Cache, FileInTheFoldersPlaceIsNotHarmed) {
  write("cache/sinter", "precious");
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("plans are not kept"));
  EXPECT_EQ(read(cache_), "precious");
}

TEST_F(Cache, ReadOnlyFolderStillGivesAnAnswer) {
  std::filesystem::create_directory(cache_);
  loseRights();
  ASSERT_EQ(chmod(cache_.c_str(), 0500), 0);
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("plans are not kept"), HasSubstr("Permission denied")));
}

TEST_F(Cache, ReadOnlyFolderWithAPlanIsRead) {
  loseRights();
  const Outcome first = answer();
  ASSERT_EQ(files(".plan").size(), 1u) << first;
  ASSERT_EQ(chmod(cache_.c_str(), 0500), 0);
  const Outcome second = answer();
  EXPECT_THAT(second, EndedWith(0));
  EXPECT_FALSE(built(second)) << second;
}

TEST_F(Cache, WithoutAnyHomeThePlanIsBuiltForThisRun) {
  options_.environment["HOME"] = options_.environment["XDG_CACHE_HOME"] = std::nullopt;
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("neither XDG_CACHE_HOME nor HOME"));
}

TEST_F(Cache, HomeServesWhereThereIsNoCacheHome) {
  options_.environment["XDG_CACHE_HOME"] = std::nullopt;
  EXPECT_THAT(answer(), EndedWith(0));
  EXPECT_TRUE(std::filesystem::exists(path(".cache/sinter")));
}

// A file system of 64 KiB, less than a plan, in a name space of the child's own.
TEST_F(Cache, FullDiskStillGivesAnAnswerAndLeavesNothing) {
  std::filesystem::create_directory(cache_);
  const std::string folder = cache_, listing = path("listing");
  options_.before = [folder] {
    const bool own = unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!own || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", folder.c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
      _exit(125);
  };
  // The shell sees what is left in the file system, which goes with its last process.
  const Outcome outcome =
      runChild({"/bin/sh", "-c",
                "\"$0\" run \"$1\" -p hi -n 4 --no-weight-cache; code=$?; ls \"$2\" > \"$3\"; "
                "exit $code",
                kSinter, model_, cache_, listing},
               options_);
  if (outcome.code == 125)
    GTEST_SKIP() << "this machine allows no name space of one's own";
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(messages(outcome).size(), 2u) << outcome;
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("cannot write cached plan"), HasSubstr("No space left")));
  EXPECT_THAT(read(listing), AllOf(Not(HasSubstr(".plan")), Not(HasSubstr(".tmp"))));
}

TEST_F(Cache, FileSizeLimitIsOneError) {
  useRealCompiler();
  options_.before = [] {
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const Outcome outcome = answer();
  EXPECT_EQ(outcome.signal, 0) << outcome;
  EXPECT_THAT(outcome, FailedSaying("cannot build the plan"));
  EXPECT_THAT(files(".plan"), IsEmpty());
  options_.before = nullptr;
  EXPECT_THAT(answer(), EndedWith(0));
}

TEST_F(Cache, TwoProcessesBuildAPlanOnceAndBothAnswer) {
  Child one(command({"run", model_, "-p", "hi", "-n", "4", "--temp", "0"}), options_);
  Child two(command({"run", model_, "-p", "hi", "-n", "4", "--temp", "0"}), options_);
  const Outcome first = one.wait(), second = two.wait();
  EXPECT_THAT(first, EndedWith(0));
  EXPECT_THAT(second, EndedWith(0));
  EXPECT_EQ(first.out, second.out);
  EXPECT_NE(built(first), built(second)) << first << second;
}

TEST_F(Cache, KilledBuilderLeavesTheNextOneFree) {
  {
    useCompiler("sleep 100");
    Child killed(command({"run", model_, "-p", "hi", "-n", "4", "--temp", "0"}), options_);
    ASSERT_TRUE(killed.sees("building the plan"));
    killed.send(SIGKILL);
    EXPECT_EQ(killed.wait(10).signal, SIGKILL);
  }
  keepCompilations();
  EXPECT_THAT(answer(), EndedWith(0));
  EXPECT_THAT(files(".tmp"), IsEmpty());
}

// Packed weights are kept for models that were not changed within the last second or two.
class WeightCache : public Cache {
protected:
  void SetUp() override {
    Cache::SetUp();
    usleep(2'100'000);
  }
};

TEST_F(WeightCache, WeightsArePackedOnceAndAnswersStayTheSame) {
  const Outcome inMemory =
      sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--no-weight-cache"});
  EXPECT_THAT(inMemory, EndedWith(0));
  EXPECT_EQ(files(".weights").size(), 0u);
  const Outcome first = answer();
  ASSERT_EQ(files(".weights").size(), 1u);
  const auto written = std::filesystem::file_size(files(".weights")[0]);
  const Outcome second = answer();
  EXPECT_EQ(first.out, inMemory.out);
  EXPECT_EQ(second.out, inMemory.out);
  EXPECT_EQ(messages(second).size(), 1u) << second; // the figures
  EXPECT_EQ(files(".weights").size(), 1u);
  EXPECT_EQ(std::filesystem::file_size(files(".weights")[0]), written);
}

TEST_F(WeightCache, DamagedWeightsAreWrittenAgainAndSaidInOneLine) {
  const Outcome first = answer();
  ASSERT_EQ(files(".weights").size(), 1u);
  const std::string entry = files(".weights")[0], whole = read(entry);
  expectMended(entry, {3, 100, whole.size() / 2, whole.size() - 1}, first.out,
               "are damaged and are written again");
  EXPECT_EQ(read(entry), whole);
}

TEST_F(WeightCache, WhereWeightsCannotBeWrittenTheyArePackedIntoMemory) {
  loseRights();
  usleep(2'100'000); // the model has another owner since
  const Outcome inMemory =
      sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--no-weight-cache"});
  ASSERT_EQ(files(".plan").size(), 1u) << inMemory;
  ASSERT_EQ(chmod(cache_.c_str(), 0500), 0);
  const Outcome outcome = answer();
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out, inMemory.out);
  ASSERT_EQ(messages(outcome).size(), 2u) << outcome; // and the figures
  EXPECT_THAT(messages(outcome)[0],
              AllOf(HasSubstr("packed weights are not kept"), HasSubstr("Permission denied")));
  EXPECT_THAT(files(".weights"), IsEmpty());
}

TEST_F(WeightCache, ModelThatChangesUnderItsNameIsPackedAnew) {
  const Outcome first = answer();
  ASSERT_EQ(files(".weights").size(), 1u);
  TinyModel louder;
  louder.scale = 0x2800; // other weights, the same header and size
  writeModel("tiny.gguf", louder);
  usleep(2'100'000);
  const Outcome changed = answer();
  EXPECT_THAT(changed, EndedWith(0));
  EXPECT_FALSE(built(changed)) << "the plan knows nothing of the weights";
  EXPECT_EQ(files(".weights").size(), 2u);
  EXPECT_EQ(changed.out,
            sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--no-weight-cache"}).out);
}

} // namespace
} // namespace sinter
