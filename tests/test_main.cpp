// The main program of all tests. Several cases share a process, so it also writes a line for each
// case to the file that SINTER_TEST_CASES names: outcome, CPU seconds, name and why it was skipped,
// apart by tabs. A line "started" comes before, for a case in which the process dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>

namespace {

constexpr int kAllSkipped = 77; // as ctest is told (cmake/SinterTests.cmake)

double cpuSeconds() {
  double seconds = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used;
    getrusage(who, &used);
    for (const timeval &time : {used.ru_utime, used.ru_stime})
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }
  return seconds;
}

std::string firstLine(const char *text) {
  std::string line = text;
  line.resize(std::min(line.find('\n'), line.size()));
  for (char &c : line)
    c = c == '\t' ? ' ' : c;
  return line;
}

std::string reasonOf(const testing::TestResult &result) {
  for (int i = 0; i < result.total_part_count(); ++i)
    if (result.GetTestPartResult(i).skipped())
      return firstLine(result.GetTestPartResult(i).message());
  return "";
}

class CaseLines : public testing::EmptyTestEventListener {
public:
  ~CaseLines() override {
    if (file_)
      std::fclose(file_);
  }
  // Children that re-run a test for its death get no events, so they leave the file alone.
  void OnTestProgramStart(const testing::UnitTest &) override {
    if (const char *path = std::getenv("SINTER_TEST_CASES"))
      file_ = std::fopen(path, "we");
  }
  void OnTestStart(const testing::TestInfo &info) override {
    before_ = cpuSeconds();
    write("started", info, "");
  }
  void OnTestEnd(const testing::TestInfo &info) override {
    const testing::TestResult &result = *info.result();
    write(result.Failed()    ? "failed"
          : result.Skipped() ? "skipped"
                             : "passed",
          info, reasonOf(result));
  }

private:
  void write(const char *outcome, const testing::TestInfo &info, const std::string &reason) {
    if (!file_)
      return;
    std::fprintf(file_, "%s\t%.3f\t%s.%s\t%s\n", outcome, cpuSeconds() - before_,
                 info.test_suite_name(), info.name(), reason.c_str());
    std::fflush(file_); // a crash loses no line, a forked child writes none twice
  }

  std::FILE *file_ = nullptr;
  double before_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest &unit = *testing::UnitTest::GetInstance();
  unit.listeners().Append(new CaseLines);
  if (const int failed = RUN_ALL_TESTS(); failed || GTEST_FLAG_GET(list_tests))
    return failed;
  if (unit.test_to_run_count() == 0) {
    std::fprintf(stderr, "no test has a name that fits the filter '%s'\n",
                 GTEST_FLAG_GET(filter).c_str());
    return 1;
  }
  return unit.skipped_test_count() == unit.test_to_run_count() ? kAllSkipped : 0;
}
