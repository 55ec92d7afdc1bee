// sinter doctor: each broken thing is named with what mends it, and the others are looked at.
#include "cli/cli_test.h"

#include "cli/doctor/checks.h"

#include <nlohmann/json.hpp>

namespace sinter {
namespace {

class Doctor : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
    std::filesystem::permissions(path("cache"), std::filesystem::perms::owner_all);
  }
  // The line on `what`, and the one after it.
  static std::string finding(const Outcome &outcome, const std::string &what) {
    std::istringstream lines(outcome.out);
    for (std::string line, next; std::getline(lines, line);)
      if (line.find("  " + what + "  ") != std::string::npos) {
        std::getline(lines, next);
        return line + "\n" + next;
      }
    return "";
  }
  void makeCache(std::filesystem::perms mode) const {
    std::filesystem::create_directories(cache_);
    std::filesystem::permissions(cache_, mode);
  }
};

TEST_F(Doctor, SaysThatModelsRunWhereTheyDo) {
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(finding(outcome, "compiler"), HasSubstr("compiles for this processor"));
  EXPECT_THAT(finding(outcome, "cache"), AllOf(HasSubstr(cache_), HasSubstr("mode 0700")));
  for (const char *what : {"processor", "cuda", "vulkan", "disk", "model", "memory", "huge pages"})
    EXPECT_THAT(finding(outcome, what), Not(IsEmpty())) << what;
  EXPECT_THAT(outcome.out, HasSubstr("0 problems"));
}

TEST_F(Doctor, AMissingCompilerIsAProblemWithItsMending) {
  options_.environment["SINTER_COMPILER"] = path("no-compiler");
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(finding(outcome, "compiler"),
              AllOf(testing::StartsWith("problem"), HasSubstr(path("no-compiler")),
                    HasSubstr("-> build sinter-compiler")));
  EXPECT_THAT(outcome.out, HasSubstr("1 problem,"));
  EXPECT_THAT(finding(outcome, "memory"), Not(IsEmpty())) << "it went on";
}

TEST_F(Doctor, ACompilerThatCrashesIsAProblem) {
  useCompiler("kill -SEGV $$");
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(finding(outcome, "compiler"), HasSubstr("SIGSEGV"));
}

TEST_F(Doctor, ACacheThatOthersMayWriteIsAWarning) {
  makeCache(std::filesystem::perms::all);
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(finding(outcome, "cache"),
              AllOf(testing::StartsWith("warning"), HasSubstr("0777"), HasSubstr("-> ")));
}

TEST_F(Doctor, ACacheThatCannotBeWrittenIsAWarning) {
  makeCache(std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  loseRights();
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(finding(outcome, "cache"),
              AllOf(testing::StartsWith("warning"), HasSubstr("cannot make a file in")));
}

TEST_F(Doctor, AFileInTheCachesPlaceIsAWarning) {
  write("cache/sinter", "a file");
  EXPECT_THAT(finding(sinter({"doctor"}), "cache"), testing::StartsWith("warning"));
}

TEST_F(Doctor, WithoutAHomeThereIsNoCacheAndNoHarm) {
  options_.environment["HOME"] = options_.environment["XDG_CACHE_HOME"] = std::nullopt;
  const Outcome outcome = sinter({"doctor"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(finding(outcome, "cache"), HasSubstr("neither XDG_CACHE_HOME nor HOME"));
}

TEST_F(Doctor, LeavesNothingInTheCache) {
  EXPECT_THAT(sinter({"doctor"}), EndedWith(0));
  EXPECT_TRUE(std::filesystem::is_empty(cache_));
}

TEST_F(Doctor, GivesTheSameAsJson) {
  options_.environment["SINTER_COMPILER"] = path("no-compiler");
  const Outcome outcome = sinter({"doctor", "--json"});
  EXPECT_THAT(outcome, EndedWith(1));
  const auto report = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(report.is_discarded()) << outcome;
  EXPECT_EQ(report.value("problems", 0), 1);
  size_t problems = 0;
  for (const auto &check : report["checks"])
    if (check.value("state", "") == "problem") {
      ++problems;
      EXPECT_EQ(check.value("check", ""), "compiler");
      EXPECT_NE(check.value("mend", ""), "");
    }
  EXPECT_EQ(problems, 1u);
}

// The system's files as a folder of the test's.
class DoctorChecks : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "sinter-doctor-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string &path, const std::string &text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  cli::Finding hugePages(const std::string &modes) const {
    write("/sys/kernel/mm/transparent_hugepage/enabled", modes);
    return cli::checkHugePages(root_);
  }

  std::string root_;
};

TEST_F(DoctorChecks, HugePagesThatAreOffAreAWarning) {
  EXPECT_EQ(cli::checkHugePages(root_).health, cli::Health::Warning);
  EXPECT_EQ(hugePages("always [madvise] never\n").health, cli::Health::Ok);
  EXPECT_EQ(hugePages("[always] madvise never\n").health, cli::Health::Ok);
  EXPECT_EQ(hugePages("]nonsense[\n").health, cli::Health::Warning);
  const cli::Finding off = hugePages("always madvise [never]\n");
  EXPECT_EQ(off.health, cli::Health::Warning);
  EXPECT_THAT(off.mend, HasSubstr("echo madvise"));
}

TEST_F(DoctorChecks, LittleMemoryIsAWarning) {
  write("/proc/meminfo", "MemTotal:  16000000 kB\nMemAvailable:     500000 kB\n");
  const cli::Finding little = cli::checkMemory(root_);
  EXPECT_EQ(little.health, cli::Health::Warning);
  EXPECT_THAT(little.found, HasSubstr("488.3 MiB available"));
  write("/proc/meminfo", "MemAvailable: nonsense kB\n");
  EXPECT_THAT(cli::checkMemory(root_).found, Not(HasSubstr("available")));
}

TEST_F(DoctorChecks, AGpuWithoutItsDriverIsAWarning) {
  hal::DriverRegistry none;
  EXPECT_EQ(cli::checkCuda(none, root_).health, cli::Health::Ok);
  EXPECT_EQ(cli::checkVulkan(none, root_).health, cli::Health::Ok);
  write("/dev/nvidiactl", "");
  write("/dev/dri/card0", "");
  EXPECT_EQ(cli::checkCuda(none, root_).health, cli::Health::Warning);
  EXPECT_EQ(cli::checkVulkan(none, root_).health, cli::Health::Warning);
  EXPECT_EQ(cli::checkProcessor(none).health, cli::Health::Problem);
}

} // namespace
} // namespace sinter
