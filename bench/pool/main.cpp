// What a launch costs on the cpu driver's threads, and what becomes of a step when other processes
// take cores: launches inside and outside of a step, then steps like those of a small model, alone
// and beside processes that never wait.
#include "hal/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

// A step of 200 launches of 48 points of 1 us of work each: about what a generated token of a model
// of 100 MB takes on two cores.
constexpr int kLaunches = 200, kPoints = 48;
constexpr int kWork = 256; // dependent products of a point
constexpr int kSteps = 400;
constexpr int kShortLaunches = 20000, kParkedLaunches = 500;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::atomic<uint64_t> sink;

void workOnPoints(void *, uint32_t, int64_t first, int64_t last) {
  uint64_t value = static_cast<uint64_t>(first);
  for (int64_t i = first * kWork; i < last * kWork; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
  sink.fetch_add(value, std::memory_order_relaxed);
}

void nothing(void *, uint32_t, int64_t, int64_t) {}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double launchInStep(hal::ThreadPool &pool) {
  pool.enterStep();
  const auto start = Clock::now();
  for (int i = 0; i < kShortLaunches; ++i)
    pool.run(pool.threads(), nothing, nullptr);
  const double seconds = secondsSince(start) / kShortLaunches;
  pool.leaveStep();
  return seconds;
}

double launchOutsideOfSteps(hal::ThreadPool &pool) {
  std::vector<double> seconds;
  for (int i = 0; i < kParkedLaunches; ++i) {
    usleep(200); // time to park
    const auto start = Clock::now();
    pool.run(pool.threads(), nothing, nullptr);
    seconds.push_back(secondsSince(start));
  }
  return median(std::move(seconds));
}

double stepsPerSecond(hal::ThreadPool &pool) {
  const auto start = Clock::now();
  for (int step = 0; step < kSteps; ++step) {
    pool.enterStep();
    for (int launch = 0; launch < kLaunches; ++launch)
      pool.run(kPoints, workOnPoints, nullptr);
    pool.leaveStep();
  }
  return kSteps / secondsSince(start);
}

// Processes that take all the time they get.
class Hogs {
public:
  explicit Hogs(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0)
        for (volatile uint64_t turns = 0;; turns = turns + 1)
          ;
      children_.push_back(child);
    }
  }
  ~Hogs() {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

private:
  std::vector<pid_t> children_;
};

int report(uint32_t threads, uint32_t hogs) {
  auto alone = hal::ThreadPool::create(1), pool = hal::ThreadPool::create(threads);
  if (!alone || !pool) {
    std::fprintf(stderr, "bench_pool: no threads\n");
    return 1;
  }
  const double inStep = launchInStep(**pool), outside = launchOutsideOfSteps(**pool);
  const double one = stepsPerSecond(**alone), free = stepsPerSecond(**pool);
  double beside = free;
  {
    const Hogs running(hogs);
    if (hogs > 0)
      beside = stepsPerSecond(**pool);
  }
  std::printf("{\"threads\": %u, \"hogs\": %u, \"launch_in_step_ns\": %.0f, "
              "\"launch_outside_us\": %.1f, \"steps_of_one_thread\": %.1f, \"steps_alone\": %.1f, "
              "\"steps_beside_hogs\": %.1f}\n",
              threads, hogs, inStep * 1e9, outside * 1e6, one, free, beside);
  return 0;
}

bool readCount(const char *text, uint32_t &value) {
  const char *end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && value <= 4096;
}

} // namespace
} // namespace sinter

int main(int argc, char **argv) {
  uint32_t threads = 2, hogs = 1;
  const bool good = argc <= 3 && (argc < 2 || sinter::readCount(argv[1], threads)) &&
                    (argc < 3 || sinter::readCount(argv[2], hogs)) && threads > 0;
  if (!good) {
    std::fprintf(stderr, "usage: bench_pool [THREADS [HOGS]]\n");
    return 2;
  }
  return sinter::report(threads, hogs);
}
