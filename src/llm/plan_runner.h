// Runs the steps of a language model's plan on a device.
#pragma once

#include "format/gguf.h"
#include "hal/hal.h"
#include "llm/partition_list.h"
#include "llm/plan_limits.h"
#include "plan/contract.h"
#include "runtime/executor.h"

#include <array>
#include <memory>

namespace sinter {

class PlanRunner : public StepRunner {
public:
  // `device` and `file` must outlive the runner. Checks that the plan was made for this file and
  // keeps the contract (Corrupt where it does not), loads it and packs its weights. Unsupported:
  // options.overlap is on, and the plan or the model has no steps that begin ahead.
  static Result<std::unique_ptr<PlanRunner>> create(hal::Device &device, const GgufFile &file,
                                                    std::shared_ptr<const plan::Plan> plan,
                                                    const PlanRunnerOptions &options);

  const RunnerLimits &limits() const override { return limits_; }
  // Fails also when the model file changed since it was opened (Corrupt).
  Result<std::span<const float>> step(const Batch &batch) override;
  Result<StepRows> stepToChoose(const Batch &batch) override;
  bool runsAhead() const override { return runsAhead_; }
  Result<void> begin(const Batch &batch, const StepOrders &orders) override;
  Result<StepRows> finish() override;

  // For explain and statistics.
  runtime::Executor &executor() { return *executor_; }

private:
  // Numbers of the plan's tables, looked up once.
  struct Names {
    plan::ProcedureId step;
    plan::BufferId rows;                 // logits or embeddings
    plan::BufferId topLogits, topTokens; // where the plan gives them
    std::optional<plan::ProcedureId> aheadStep;
    plan::BufferId guesses; // of plans with that step
  };

  // A step that was begun, and what is read back of it: largest logits, their tokens, guesses, then
  // the rows that are kept.
  struct BegunStep {
    std::unique_ptr<hal::Readback> readback;
    uint64_t bytes = 0; // that the readback holds
    size_t rows = 0;
    std::vector<uint8_t> kept; // of each row
    std::span<const float> topLogits, keptRows;
    std::span<const TokenId> topTokens, guesses;
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
  void readNames();
  Result<void> readOverlap(const PlanRunnerOptions &options);
  void readPartitions();
  void readSymbols();
  void takeWholePools();
  void growPool(const Batch &batch);
  void growStates(const Batch &batch);
  int64_t valueOf(contract::Symbol symbol, const Batch &batch) const;
  void fillPartitions(const Batch &batch);
  Result<void> bind(const Batch &batch);
  Result<void> writeInputs(const Batch &batch);
  Result<void> prepare(const Batch &batch);
  Result<void> run(const Batch &batch);
  // plan_runner_ahead.cpp
  template <class T>
  Result<void> writeIfChanged(const contract::TensorRow &input, std::span<const T> values,
                              std::vector<T> &written);
  Result<void> writeOrders(const Batch &batch, const StepOrders &orders);
  Result<void> beginReads(const StepOrders &orders, BegunStep &step);
  Result<std::span<const float>> rowOf(const BegunStep &step, size_t row);
  // Elements of an output, in place where the host sees them; else they are copied to `copy`.
  template <class T>
  Result<std::span<const T>> read(plan::BufferId output, size_t first, size_t count,
                                  std::vector<T> &copy);
  Result<std::span<const float>> readRows(size_t first, size_t count);

  const GgufFile &file_;
  std::shared_ptr<const plan::Plan> plan_;
  Weights weights_;
  std::unique_ptr<runtime::Executor> executor_;
  RunnerLimits limits_;
  Names names_;
  bool runsAhead_ = false;
  // The plan's symbols in its order; those that loops count are none of the contract's.
  std::vector<std::optional<contract::Symbol>> symbols_;
  int64_t minLogitRows_ = 0;
  int64_t minLongest_ = 0;
  std::vector<int64_t> symbolValues_;
  // Of each KV cache group; grows to its pages with the pages in use.
  std::array<uint32_t, contract::kKvGroups.size()> boundPages_{};
  uint32_t boundStates_ = 1; // the same of slots
  LogitRows logitRows_;
  // Of each KV cache group, where the plan has lists of partitions.
  std::vector<PartitionRules> partitionRules_;
  struct PartitionLists {
    std::vector<int32_t> ofTokens, ofLogits;
  };
  std::array<PartitionLists, contract::kKvGroups.size()> partitions_;
  std::array<bool, contract::kInputs.size()> hasInput_{};
  // What each input holds: most of them stay as they are from step to step, and a write takes time.
  std::array<std::vector<int32_t>, contract::kInputs.size()> written_;
  std::vector<float> rows_; // where the device's memory is not the host's
  size_t topCount_ = 0;     // 0: the plan gives no largest logits
  std::vector<float> topLogits_;
  std::vector<TokenId> topTokens_;
  // Steps under way follow firstBegun_; the step that was finished last keeps its place.
  std::array<BegunStep, 2> begun_;
  size_t firstBegun_ = 0, underWay_ = 0;
  std::vector<int32_t> sources_; // as the inputs hold them
  std::vector<float> guessRules_;
};

} // namespace sinter
