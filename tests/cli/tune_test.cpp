// sinter tune as a user meets it: a table, nothing to do the second time, plans that have what it
// found, and a database that may be damaged.
#include "cli/cli_test.h"
#include "cli/tune/trial_bench.h"
#include "golden_model.h"
#include "host/device_choice.h"
#include "host/machine_tunings.h"
#include "plan/file.h"
#include "runtime/tuning_database.h"

namespace sinter {
namespace {

class Tune : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
    watchTrials();
  }
  // Keeps what was asked of the compiler. Trials take a second even where they were compiled
  // before: a budget of one is spent then.
  void watchTrials() {
    const std::string kept = *options_.environment["SINTER_COMPILER"];
    useCompiler("echo \"$@\" >> '" + path("asked") +
                "'\ncase \"$*\" in *--schedule*) sleep 1 ;; esac\nexec '" + kept + "' \"$@\"");
  }
  Outcome tune(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"tune", model_, "--device", "cpu"});
    Child child(command(more), options_);
    return child.wait(250);
  }
  std::vector<runtime::TuningEntry> entries() const {
    auto found = runtime::TuningDatabase(cache_).read();
    EXPECT_TRUE(found && found->damage.empty());
    return found ? found->entries : std::vector<runtime::TuningEntry>();
  }
  // Each kernel's other schedules, by content: those of the plans that are kept.
  std::map<std::string, std::vector<plan::ScheduleChoice>> alternatives() const {
    std::map<std::string, std::vector<plan::ScheduleChoice>> found;
    for (const auto &entry : std::filesystem::directory_iterator(cache_)) {
      if (entry.path().extension() != ".plan")
        continue;
      const std::string bytes = read(entry.path());
      const auto plan =
          plan::parse({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
      EXPECT_TRUE(plan) << entry.path();
      for (const plan::Kernel &kernel : plan ? plan->kernels : std::vector<plan::Kernel>())
        found[kernel.content] = kernel.alternatives;
    }
    return found;
  }
  // As if tuning had found these.
  template <typename Schedule> void rewrite(const Schedule &scheduleOf) const {
    std::vector<runtime::TuningEntry> all = entries();
    for (runtime::TuningEntry &entry : all)
      entry.schedule = scheduleOf(entry);
    ASSERT_TRUE(runtime::TuningDatabase(cache_).merge(all));
  }
  // A schedule that tuning with that compiler chose for a kernel.
  void keepFor(const std::string &compiler, const std::string &content) const {
    const auto device = host::openDevice(std::nullopt, 0);
    const auto identity = host::compilerIdentity(compiler);
    ASSERT_TRUE(device && identity);
    const runtime::TuningEntry entry{host::machineText(device->device->info(), *identity),
                                     content,
                                     "gemm(n=64)",
                                     {{{"block_m", 48}}},
                                     1,
                                     {{512, 1000, 800}}};
    std::filesystem::create_directories(cache_);
    std::filesystem::permissions(cache_, std::filesystem::perms::owner_all);
    ASSERT_TRUE(runtime::TuningDatabase(cache_).merge({{entry}}));
  }
  static bool built(const Outcome &outcome) {
    return outcome.err.find("building the plan") != std::string::npos;
  }
};

TEST_F(Tune, PrintsATableAndMakesNoTrialWhereAllWereMade) {
  const Outcome first = tune({"--budget", "1"});
  ASSERT_THAT(first, EndedWith(0));
  EXPECT_THAT(first.out, AllOf(HasSubstr("kernel"), HasSubstr("schedule"), HasSubstr("gemm"),
                               Not(HasSubstr("no trial"))));
  auto others = alternatives();
  std::vector<runtime::TuningEntry> all = entries(); // as if the budget had been long
  for (runtime::TuningEntry &entry : all)
    entry.tried = static_cast<uint32_t>(others[entry.content].size());
  ASSERT_TRUE(runtime::TuningDatabase(cache_).merge(all));
  const Outcome second = tune();
  ASSERT_THAT(second, EndedWith(0));
  EXPECT_THAT(second.out, HasSubstr("no trial: every schedule of the"));
  const auto tableOf = [](const std::string &text) { return text.substr(0, text.find("\n\n")); };
  EXPECT_EQ(tableOf(second.out), tableOf(first.out));
}

// The plan is there, and the final times what the one round compiled.
TEST_F(Tune, ABudgetThatIsTooSmallCompilesOneSchedulePerKernelOnceAndSaysWhatItTakes) {
  answer();
  const Outcome outcome = tune({"--budget", "1"});
  ASSERT_THAT(outcome, EndedWith(0));
  std::istringstream asked(read(path("asked")));
  std::vector<std::string> runs;
  for (std::string line; std::getline(asked, line);)
    runs.push_back(line);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_THAT(runs[0], Not(HasSubstr("--schedule")));
  EXPECT_THAT(runs[1], AllOf(HasSubstr("--schedule=1:"), Not(HasSubstr("--schedule=2:"))));
  ASSERT_FALSE(messages(outcome).empty());
  EXPECT_THAT(messages(outcome)[0], testing::ContainsRegex("one round of trials and its final take "
                                                           "about [0-9]+ s, the budget is 1 s"));
}

TEST_F(Tune, PlansHaveWhatWasFoundWithTheSameAnswers) {
  const Outcome before = answer();
  ASSERT_THAT(tune({"--budget", "1"}), EndedWith(0));
  const auto others = alternatives();
  const auto first = [&](const auto &entry) { return others.at(entry.content).front(); };
  rewrite(first);
  const Outcome chosen = answer(), again = answer();
  ASSERT_THAT(chosen, EndedWith(0));
  EXPECT_TRUE(built(chosen)) << "its kernels have other schedules now";
  EXPECT_FALSE(built(again));
  EXPECT_EQ(chosen.out, before.out);
  const Outcome explained = sinter({"explain", model_, "--device", "cpu", "--prompt", "8"});
  ASSERT_THAT(explained, EndedWith(0));
  EXPECT_THAT(explained.out, HasSubstr("autotuning: " + std::to_string(entries().size()) + " of"));
}

TEST_F(Tune, SchedulesOfOtherKernelsLeaveThePlanAsItIs) {
  const Outcome before = answer();
  keepFor(options_.environment["SINTER_COMPILER"].value(), "0123abcd");
  const Outcome after = answer();
  EXPECT_THAT(after, EndedWith(0));
  EXPECT_FALSE(built(after));
  EXPECT_EQ(messages(after).size(), 1u) << after; // the figures
  EXPECT_EQ(after.out, before.out);
}

TEST_F(Tune, AModelThatTheCompilerRefusesIsBuiltAndSaidOnce) {
  const std::string runs = path("runs");
  useCompiler("echo run >> '" + runs + "'; echo 'no such model' >&2; exit 1");
  keepFor(path("compiler"), "0123abcd");
  EXPECT_THAT(answer(), FailedSaying("no such model"));
  EXPECT_EQ(read(runs), "run\n");
}

TEST_F(Tune, ASchedulesFaultIsNotTheModels) {
  const std::string runs = path("runs");
  useCompiler("echo run >> '" + runs + "'; echo $# >&2; exit 2");
  keepFor(path("compiler"), "0123abcd");
  const Outcome outcome = answer();
  EXPECT_EQ(read(runs), "run\nrun\n");
  ASSERT_EQ(messages(outcome).size(), 2u) << outcome;
  EXPECT_THAT(messages(outcome)[0], HasSubstr("kernels have those of rules"));
}

TEST_F(Tune, SchedulesThatDoNotFitAndThoseOfRulesLeaveThePlanOfBefore) {
  const Outcome before = answer();
  ASSERT_THAT(tune({"--budget", "1"}), EndedWith(0));
  rewrite([](const auto &) { return plan::ScheduleChoice{{{"block_m", 7}}}; });
  const Outcome unfit = answer();
  ASSERT_THAT(unfit, EndedWith(0));
  ASSERT_EQ(messages(unfit).size(), 2u) << unfit; // and the figures
  EXPECT_THAT(messages(unfit)[0],
              AllOf(HasSubstr(runtime::TuningDatabase(cache_).path()),
                    HasSubstr("which is none of its own"), HasSubstr("have those of rules")));
  EXPECT_EQ(unfit.out, before.out);
  rewrite([](const auto &) { return plan::ScheduleChoice{}; });
  const Outcome byRules = answer();
  EXPECT_THAT(byRules, EndedWith(0));
  EXPECT_FALSE(built(byRules));
  EXPECT_EQ(messages(byRules).size(), 1u) << byRules;
}

TEST_F(Tune, ASmallBudgetLeavesTheRestForTheNextTime) {
  const Outcome first = tune({"--budget", "1"});
  ASSERT_THAT(first, EndedWith(0));
  ASSERT_FALSE(entries().empty());
  if (first.out.find(" are left, which `sinter tune` goes on with") == std::string::npos)
    GTEST_SKIP() << "this machine tried all within a second";
  uint32_t tried = 0, now = 0;
  for (const runtime::TuningEntry &entry : entries())
    tried += entry.tried;
  ASSERT_THAT(tune({"--budget", "1"}), EndedWith(0));
  for (const runtime::TuningEntry &entry : entries())
    now += entry.tried;
  EXPECT_GT(now, tried);
}

TEST_F(Tune, OtherThreadsAreAnotherMachine) {
  ASSERT_THAT(tune({"--budget", "1", "--threads", "1"}), EndedWith(0));
  const size_t one = entries().size();
  ASSERT_THAT(tune({"--budget", "1", "--threads", "2"}), EndedWith(0));
  EXPECT_EQ(entries().size(), 2 * one);
}

TEST_F(Tune, ADamagedDatabaseIsSaidInOneLineAndBegunAnew) {
  const Outcome before = answer();
  const std::string path = runtime::TuningDatabase(cache_).path();
  for (const std::string &bytes : {std::string(), std::string(300, 'x')}) {
    std::ofstream(path, std::ios::binary) << bytes;
    const Outcome run = answer();
    EXPECT_THAT(run, EndedWith(0));
    EXPECT_EQ(run.out, before.out);
    ASSERT_EQ(messages(run).size(), 2u) << run; // and the figures
    EXPECT_THAT(messages(run)[0], AllOf(HasSubstr("tuning.db' is damaged: "),
                                        HasSubstr("kernels have the schedules of rules until")));
  }
  useCompiler("exit 1");
  EXPECT_EQ(tune().code, 1);
  EXPECT_EQ(std::filesystem::file_size(path), 300u) << "it stays until there is something to keep";
  keepCompilations();
  const Outcome tuned = tune({"--budget", "1"});
  EXPECT_THAT(tuned, EndedWith(0));
  EXPECT_THAT(tuned.err, HasSubstr("tuning.db' is damaged: "));
  EXPECT_THAT(tuned.err, HasSubstr("it is begun anew"));
  EXPECT_FALSE(entries().empty());
}

TEST_F(Tune, WithoutAPlaceForItsDatabaseIsRefusedBeforeTheFirstTrial) {
  std::filesystem::create_directories(runtime::TuningDatabase(cache_).path());
  std::filesystem::permissions(cache_, std::filesystem::perms::owner_all);
  EXPECT_THAT(tune(), FailedSaying("is no regular file"));
}

TEST_F(Tune, WhatCannotBeWrittenIsRefusedBeforeTheFirstTrial) {
  std::filesystem::create_directories(runtime::TuningDatabase(cache_).path() + ".lock");
  std::filesystem::permissions(cache_, std::filesystem::perms::owner_all);
  EXPECT_THAT(tune(), FailedSaying("cannot open lock file"));
}

TEST_F(Tune, ADatabaseOfAnotherVersionIsLeftAsItIs) {
  std::vector<uint8_t> bytes = runtime::serializeTunings({});
  bytes[runtime::kTuningMagic.size()] = runtime::kTuningVersion + 1;
  runtime::sealTunings(bytes);
  std::filesystem::create_directories(cache_);
  std::filesystem::permissions(cache_, std::filesystem::perms::owner_all);
  const std::string path = runtime::TuningDatabase(cache_).path(), text(bytes.begin(), bytes.end());
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_THAT(tune(), FailedSaying("remove it to tune anew"));
  EXPECT_EQ(read(path), text);
}

// On different numbers of threads, for which trials are compiled once.
TEST_F(Tune, TwoAtOnceKeepWhatBothFound) {
  const auto tuneWith = [&](const char *threads) {
    return command({"tune", model_, "--device", "cpu", "--budget", "1", "--threads", threads});
  };
  Child first(tuneWith("1"), options_), second(tuneWith("2"), options_);
  EXPECT_THAT(first.wait(250), EndedWith(0));
  EXPECT_THAT(second.wait(250), EndedWith(0));
  std::map<std::string, size_t> found; // by machine, which the number of threads is a part of
  for (const runtime::TuningEntry &entry : entries())
    ++found[entry.machine];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.begin()->second, found.rbegin()->second);
}

TEST_F(Tune, CtrlCKeepsWhatWasFoundAndEndsWith130) {
  ASSERT_THAT(tune({"--budget", "1"}), EndedWith(0));
  const size_t before = entries().size();
  Child child(command({"tune", model_, "--device", "cpu", "--budget", "600", "--threads", "1"}),
              options_);
  ASSERT_TRUE(child.sees("tuning"));
  child.send(SIGINT);
  const Outcome outcome = child.wait(60);
  // It may have been quicker.
  EXPECT_TRUE(outcome.code == 130 || outcome.code == 0) << outcome;
  EXPECT_GE(entries().size(), before);
  EXPECT_THAT(outcome.out, HasSubstr(" trial"));
}

TEST_F(Tune, ACompilerThatFailsIsOneError) {
  useCompiler("echo 'sinter-compiler: no more ideas' >&2; exit 1");
  EXPECT_THAT(tune(), FailedSaying("no more ideas"));
}

// Each run of a step begins with the state that the steps before it left.
TEST_F(Tune, StepsOfAModelWithStatesRepeatTheirBits) {
  const std::vector<uint8_t> bytes =
      GoldenModel::read(SINTER_TEST_DIR "/data/architectures/lfm2.txt").bytes();
  const std::string model =
      write("states.gguf", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  constexpr int kSeconds = 250; // of a compiler that others slow down
  const Outcome built = runChild({SINTER_BIN_DIR "/sinter-compiler", "plan", model, "-o",
                                  path("trial.plan"), "--target", "host", "--schedule",
                                  "1:0=block_m=1"}, // of no kernel, so the step again
                                 options_, {}, kSeconds);
  ASSERT_THAT(built, EndedWith(0));
  const std::string text = read(path("trial.plan"));
  auto plan = plan::parse({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  const auto file = GgufFile::open(model);
  const auto device = host::openDevice(host::DeviceName{"cpu"}, 2);
  ASSERT_TRUE(plan && file && device);
  ASSERT_EQ(plan->procedures.size(), 2u);
  const std::atomic<bool> cancel = false;
  const auto trials =
      cli::timeTrials(*device->device, *file, std::make_shared<const plan::Plan>(std::move(*plan)),
                      {1, 1, 0}, cancel);
  EXPECT_TRUE(trials) << trials.error().message;
}

} // namespace
} // namespace sinter
