// The search for schedules: what to try next, and what times tell. Knows neither a device nor a
// compiler.
#pragma once

#include "cli/tune/trial_bench.h"
#include "cli/tune/trial_variants.h"
#include "runtime/tuning_file.h"

#include <limits>

namespace sinter::cli {

// What a kernel takes as chosen by what it takes by the rules: the geometric mean over all sizes of
// step, which is what schedules are compared by. 1 without times.
double ratioOf(const std::vector<runtime::TuningTimes> &times);

// A schedule takes the place of the rules' where its median time is at most this share of theirs:
// the same code, timed against itself, comes to 0.98 at times.
inline constexpr double kWorthwhile = 0.97;
// The same after few rounds, without a second look.
inline constexpr double kWorthwhileAtOnce = 0.93;
// No size of a step may become slower than by this.
inline constexpr double kTolerable = 1.04;

class TuneSearch {
public:
  // The kernels of a trial plan, with what is known of them already and fits them.
  TuneSearch(const plan::Plan &plan, const std::vector<runtime::TuningEntry> &known,
             std::string machine);

  size_t kernels() const { return kernels_.size(); }
  // What was known and does not fit: a schedule that is not made of the kernel's alternatives, or
  // more trials than it has. Its kernels begin anew.
  const std::vector<runtime::TuningEntry> &unfit() const { return unfit_; }
  // Schedules that were never tried.
  size_t left() const;
  // At most `most` variants with the next schedule of each kernel that has one left.
  std::vector<Assignment> next(size_t most) const;
  // What the times of next()'s variants say.
  void learn(const std::vector<Assignment> &variants, const std::vector<StepTimes> &times);

  // Variants with the most promising schedules, to be timed once more and longer: the best block
  // sizes, the best of the target's decisions, both together, and what was the fastest before.
  std::vector<Assignment> finalists() const;
  // Decides on the kernels that the variants have schedules of.
  void settle(const std::vector<Assignment> &variants, const std::vector<StepTimes> &times);

  // What is known now of all kernels that had a trial, now or before.
  std::vector<runtime::TuningEntry> entries() const;

private:
  struct Candidate {
    plan::ScheduleChoice schedule;
    double ratio = std::numeric_limits<double>::infinity(); // ratioOf() its times
    std::vector<runtime::TuningTimes> times;
  };
  struct Kernel {
    std::string content, name;
    std::vector<plan::ScheduleChoice> alternatives;
    uint32_t tried = 0;
    Candidate blocks, ofTarget;              // the best of each kind so far
    Candidate chosen;                        // from the final, or known from before
    std::vector<runtime::TuningTimes> rules; // of the rules by themselves, lately
  };
  static void recall(Kernel &kernel, const runtime::TuningEntry &entry);
  static Candidate judge(const std::string &content, const plan::ScheduleChoice &schedule,
                         size_t variant, const std::vector<StepTimes> &times);
  static void noteRules(Kernel &kernel, const std::vector<StepTimes> &times);
  std::vector<plan::ScheduleChoice> finalistsOf(const Kernel &kernel) const;
  runtime::TuningEntry entryOf(const Kernel &kernel) const;

  std::string machine_;
  std::vector<Kernel> kernels_;
  std::vector<runtime::TuningEntry> unfit_;
};

} // namespace sinter::cli
