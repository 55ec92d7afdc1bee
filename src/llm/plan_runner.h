// Runs the steps of a language model's plan on a device.
#pragma once

#include "format/gguf.h"
#include "hal/hal.h"
#include "llm/step_runner.h"
#include "plan/contract.h"
#include "plan/plan.h"
#include "runtime/executor.h"

#include <array>
#include <memory>

namespace sinter {

struct PlanRunnerOptions {
  uint32_t contextTokens = 0;   // 0: what the plan says, but at most kDefaultContextTokens
  uint32_t sequences = 1;       // KV cache for the whole context of so many; at least 1
  uint32_t poolTokens = 0;      // KV cache for so many tokens in all; 0: as `sequences` says
  uint32_t maxStepTokens = 512; // prompts are cut into steps of so many
  const runtime::WeightCache *weightCache = nullptr; // while the runner is made; null: none
};
inline constexpr uint32_t kDefaultContextTokens = 8192;

// The context that a runner gets where a model was made for `most` tokens and `asked` are asked for
// (0: the default). InvalidArgument, with the numbers: more is asked for.
Result<uint32_t> contextTokensOf(uint64_t most, uint32_t asked);

class PlanRunner : public StepRunner {
public:
  // `device` and `file` must outlive the runner. Checks that the plan was made for this file and
  // keeps the contract (Corrupt where it does not), loads it and packs its weights.
  static Result<std::unique_ptr<PlanRunner>> create(hal::Device &device, const GgufFile &file,
                                                    std::shared_ptr<const plan::Plan> plan,
                                                    const PlanRunnerOptions &options);

  const RunnerLimits &limits() const override { return limits_; }
  // Fails also when the model file changed since it was opened (Corrupt).
  Result<std::span<const float>> step(const Batch &batch) override;

  // For explain and statistics.
  runtime::Executor &executor() { return *executor_; }

private:
  // Numbers of the plan's tables, looked up once.
  struct Names {
    plan::ProcedureId step;
    plan::BufferId logits;
  };

  class Weights : public runtime::WeightSource {
  public:
    explicit Weights(const GgufFile &file) : file_(file) {}
    Result<std::span<const uint8_t>> tensor(std::string_view name) override;
    std::string identity() const override { return file_.settledIdentity(); }
    void release(std::span<const uint8_t> bytes) override;

  private:
    const GgufFile &file_;
  };

  PlanRunner(const GgufFile &file, std::shared_ptr<const plan::Plan> plan)
      : file_(file), plan_(std::move(plan)), weights_(file) {}
  Result<void> readLimits(const PlanRunnerOptions &options);
  Result<void> sizePool(const PlanRunnerOptions &options);
  uint64_t contextPages() const { return (limits_.contextTokens - 1) / limits_.pageRows + 1; }
  Result<void> checkFits(const hal::DeviceInfo &device) const;
  void readNames();
  void readSymbols();
  void growPool(const Batch &batch);
  int64_t valueOf(contract::Symbol symbol, const Batch &batch) const;
  Result<void> bind(const Batch &batch);
  Result<void> writeInputs(const Batch &batch);

  const GgufFile &file_;
  std::shared_ptr<const plan::Plan> plan_;
  Weights weights_;
  std::unique_ptr<runtime::Executor> executor_;
  RunnerLimits limits_;
  Names names_;
  // The plan's symbols in its order; those that loops count are none of the contract's.
  std::vector<std::optional<contract::Symbol>> symbols_;
  int64_t minLogitRows_ = 0;
  int64_t minLongest_ = 0;
  std::vector<int64_t> symbolValues_;
  uint32_t boundPages_ = 0; // of the pool; grows to limits_.poolPages with the pages in use
  LogitRows logitRows_;
  // What each input holds: most of them stay as they are from step to step, and a write takes time.
  std::array<std::vector<int32_t>, contract::kInputs.size()> written_;
  std::vector<float> logits_; // where the device's memory is not the host's
};

} // namespace sinter
