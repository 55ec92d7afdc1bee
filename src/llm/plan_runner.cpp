// Binds a plan's symbols and buffers to batches.
#include "llm/plan_runner.h"

#include "base/checked.h"
#include "plan/walk.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sinter {
namespace {

using contract::Symbol;

Result<void> checkSameModel(const plan::Plan &plan, const GgufFile &file) {
  SINTER_ASSIGN(const Sha256Digest digest, file.digest());
  if (plan.modelDigest == digest.hex() && plan.modelBytes == file.totalBytes())
    return {};
  return fail(Code::InvalidArgument, "the plan was made for another model file: of " +
                                         std::to_string(plan.modelBytes) + " bytes, digest " +
                                         plan.modelDigest.substr(0, 16) + "; this one has " +
                                         std::to_string(file.totalBytes()) + " bytes, digest " +
                                         digest.hex().substr(0, 16));
}

} // namespace

Result<std::span<const uint8_t>> PlanRunner::Weights::tensor(std::string_view name) {
  SINTER_ASSIGN(const GgufTensor *tensor, file_.tensor(name));
  return tensor->bytes;
}

void PlanRunner::Weights::release(std::span<const uint8_t> bytes) {
  runtime::dropMappedPages(bytes);
}

Result<std::unique_ptr<PlanRunner>> PlanRunner::create(hal::Device &device, const GgufFile &file,
                                                       std::shared_ptr<const plan::Plan> plan,
                                                       const PlanRunnerOptions &options) {
  SINTER_TRY(checkSameModel(*plan, file));
  SINTER_TRY(contract::check(*plan));
  std::unique_ptr<PlanRunner> runner(new PlanRunner(file, std::move(plan)));
  SINTER_ASSIGN(runner->limits_, limitsOf(*runner->plan_, options));
  runner->readNames();
  SINTER_TRY(runner->readOverlap(options));
  runner->readPartitions();
  runner->readSymbols();
  // Where memory is taken as it comes into use, one sequence may never need all of its context.
  if (runner->limits_.holdsSeveral() || !device.supports(hal::Feature::WrapMemory))
    SINTER_TRY(checkFits(*runner->plan_, runner->limits_, device));
  if (!device.supports(hal::Feature::WrapMemory))
    runner->takeWholePools();
  runtime::ExecutorOptions executorOptions;
  executorOptions.weightCache = options.weightCache;
  SINTER_ASSIGN(runner->executor_, runtime::Executor::create(device, runner->plan_,
                                                             &runner->weights_, executorOptions));
  if (!file.stillIntact())
    return fail(Code::Corrupt, "the model file changed while its weights were read");
  // Once more all of it: where files are mapped in huge pages, reading a tensor maps what was given
  // back of its neighbours. The header goes too; mapped weights come back when they are read.
  for (const std::span<const uint8_t> part : file.parts())
    runtime::dropMappedPages(part);
  return runner;
}

void PlanRunner::readNames() {
  for (size_t i = 0; i < contract::kInputs.size(); ++i)
    hasInput_[i] = contract::hasInput(*plan_, contract::kInputs[i]);
  names_.step = *plan::findProcedure(*plan_, contract::kStepProcedure);
  names_.rows = *plan::findBuffer(*plan_, contract::outputOf(*plan_).name);
  if (const auto count = plan_->properties.find(contract::kTopCount.name);
      count != plan_->properties.end()) {
    topCount_ = static_cast<size_t>(count->second);
    names_.topLogits = *plan::findBuffer(*plan_, contract::kTopLogits.name);
    names_.topTokens = *plan::findBuffer(*plan_, contract::kTopTokens.name);
  }
  names_.aheadStep = plan::findProcedure(*plan_, contract::kAheadProcedure);
  if (names_.aheadStep)
    names_.guesses = *plan::findBuffer(*plan_, contract::kGuesses.name);
}

Result<void> PlanRunner::readOverlap(const PlanRunnerOptions &options) {
  const bool canRunAhead = names_.aheadStep && limits_.canTakeBack();
  runsAhead_ = options.overlap.value_or(true) && canRunAhead;
  if (canRunAhead || !options.overlap.value_or(false))
    return {};
  return fail(Code::Unsupported,
              std::string("steps that begin ahead were asked for (--overlap on), and ") +
                  (names_.aheadStep ? "a sequence of this model cannot take its last row back"
                                    : "the plan for this device has none"));
}

void PlanRunner::readPartitions() {
  if (!contract::listsPartitions(*plan_))
    return;
  for (const contract::KvGroup &group : contract::kvGroupsOf(*plan_)) {
    PartitionRules rules{plan_->properties.at(contract::kPartitionKeys.name)};
    if (const auto back = plan_->properties.find(group.lookBack.name);
        back != plan_->properties.end())
      rules.lookBack = back->second;
    if (const auto most = plan_->properties.find(contract::kMostPartitions.name);
        most != plan_->properties.end() && partitionRules_.empty()) { // of the first group
      rules.most = most->second;
      rules.step = plan_->properties.at(contract::kPartitionStep.name);
    }
    partitionRules_.push_back(rules);
  }
}

void PlanRunner::readSymbols() {
  for (const plan::Symbol &symbol : plan_->symbols) {
    const contract::SymbolRow *row = contract::findSymbolRow(symbol.name);
    symbols_.push_back(row ? std::optional(row->id) : std::nullopt);
    if (symbols_.back() == Symbol::LogitRows)
      minLogitRows_ = symbol.min;
    if (symbols_.back() == Symbol::LongestContext)
      minLongest_ = symbol.min;
  }
  symbolValues_.assign(symbols_.size(), 0);
}

// What grows later would be there twice while it is copied, and other programs may have taken the
// rest by then.
void PlanRunner::takeWholePools() {
  for (size_t group = 0; group < limits_.kvGroups.size(); ++group)
    boundPages_[group] = limits_.kvGroups[group].pages;
  boundStates_ = std::max(boundStates_, limits_.stateSlots);
}

// Memory of the host is taken as pages come into use, lowest first, so that a long context costs
// nothing before it is filled. Doubling keeps the number of copies small.
void PlanRunner::growPool(const Batch &batch) {
  constexpr uint64_t kFirstTokens = 1024;
  for (size_t group = 0; group < limits_.kvGroups.size(); ++group) {
    uint64_t pages =
        std::max<uint64_t>(boundPages_[group], (kFirstTokens - 1) / limits_.pageRows + 1);
    for (const int32_t page : batch.kv[group].pageTable)
      while (static_cast<uint64_t>(page) >= pages)
        pages *= 2;
    boundPages_[group] =
        static_cast<uint32_t>(std::min<uint64_t>(pages, limits_.kvGroups[group].pages));
  }
}

// Slots come into use lowest first, as pages do.
void PlanRunner::growStates(const Batch &batch) {
  for (size_t i = 1; i < batch.stateSpans.size(); i += 4)
    boundStates_ = std::max(boundStates_, static_cast<uint32_t>(batch.stateSpans[i]) + 1);
}

static int64_t sumOf(const std::vector<int32_t> &values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

int64_t PlanRunner::valueOf(Symbol symbol, const Batch &batch) const {
  const bool costs = executor_->profiling(); // they change in each step, sizes seldom do
  switch (symbol) {
  case Symbol::Tokens:
    return batch.tokenCount();
  case Symbol::Sequences:
    return batch.sequenceCount();
  case Symbol::QueryTiles:
    return batch.blockCount();
  case Symbol::LogitRows:
    return logitRows_.count();
  case Symbol::LogitTiles:
    return logitRows_.blockCount();
  case Symbol::PagesPerSequence:
    return batch.pagesPerSequence;
  case Symbol::PoolPages:
    return boundPages_[0];
  case Symbol::WindowPoolPages:
    return boundPages_[1];
  case Symbol::StateSlots:
    return boundStates_;
  case Symbol::Phase:
    return static_cast<int64_t>(batch.phase);
  case Symbol::KeysHeld:
    return costs ? sumOf(batch.kvLengths) : 0;
  case Symbol::KeysSeen:
    return costs ? sumOf(batch.positions) + batch.tokenCount() : 0;
  case Symbol::LongestContext:
    return std::max(minLongest_, longestOf(batch, logitRows_));
  case Symbol::Partitions:
    return partitionCount(partitions_[0].ofTokens);
  case Symbol::WindowPartitions:
    return partitionCount(partitions_[1].ofTokens);
  }
  return 0;
}

// Both lists of a group are as long, since one symbol is their length.
void PlanRunner::fillPartitions(const Batch &batch) {
  for (size_t group = 0; group < partitionRules_.size(); ++group) {
    auto &[ofTokens, ofLogits] = partitions_[group];
    ofTokens.clear();
    ofLogits.clear();
    if (batch.phase == Phase::Decode) {
      listPartitions({batch.blocks, batch.positions, batch.kvLengths}, partitionRules_[group],
                     ofTokens);
      listPartitions({logitRows_.blocks, logitRows_.positions, batch.kvLengths},
                     partitionRules_[group], ofLogits);
    }
    const int64_t count =
        paddedPartitions(std::max(partitionCount(ofTokens), partitionCount(ofLogits)));
    padPartitions(count, ofTokens);
    padPartitions(count, ofLogits);
  }
}

Result<void> PlanRunner::bind(const Batch &batch) {
  growPool(batch);
  growStates(batch);
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i])
      symbolValues_[i] = valueOf(*symbols_[i], batch);
  return executor_->bind(symbolValues_);
}

Result<void> PlanRunner::writeInputs(const Batch &batch) {
  // In the order of contract::Input.
  const std::array<const std::vector<int32_t> *, contract::kInputs.size()> values = {
      &batch.tokens,
      &batch.positions,
      &batch.kv[0].slots,
      &batch.kv[0].pageTable,
      &batch.kvLengths,
      &batch.blocks,
      &logitRows_.tokens,
      &logitRows_.positions,
      &logitRows_.blocks,
      &batch.stateSpans,
      &batch.kv[1].slots,
      &batch.kv[1].pageTable,
      &partitions_[0].ofTokens,
      &partitions_[0].ofLogits,
      &partitions_[1].ofTokens,
      &partitions_[1].ofLogits};
  for (size_t i = 0; i < values.size(); ++i) {
    if (!hasInput_[i] || written_[i] == *values[i])
      continue;
    written_[i].clear(); // should the write fail
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(values[i]->data()),
                                         values[i]->size() * sizeof(int32_t));
    SINTER_TRY(executor_->setBuffer(contract::kInputs[i].name, bytes));
    written_[i] = *values[i];
  }
  return {};
}

Result<void> PlanRunner::prepare(const Batch &batch) {
  if (!file_.stillIntact())
    return fail(Code::Corrupt, "the model file changed while the model was running");
  if (limits_.stateSlots > 0 && batch.stateSpans.empty())
    return fail(Code::InvalidArgument, "the batch has no states of its sequences, which the model "
                                       "has: expected a block pool with slots for them");
  if (limits_.kvGroups.size() > 1 && batch.kv[1].slots.empty())
    return fail(Code::InvalidArgument, "the batch has no pages of layers with a window, which the "
                                       "model has: expected a block pool with a group of these");
  // A plan may demand a row of logits even where none is wanted.
  logitRows_ = batch.logitRows;
  while (logitRows_.count() < minLogitRows_)
    logitRows_.add(0, 0, batch.positions.front(), 1, 1);
  fillPartitions(batch);
  SINTER_TRY(bind(batch));
  return writeInputs(batch);
}

Result<void> PlanRunner::run(const Batch &batch) {
  SINTER_TRY(prepare(batch));
  return executor_->run(names_.step);
}

template <class T>
Result<std::span<const T>> PlanRunner::read(plan::BufferId output, size_t first, size_t count,
                                            std::vector<T> &copy) {
  const auto host = executor_->buffer(output);
  if (host && host->size() >= (first + count) * sizeof(T))
    return std::span(reinterpret_cast<const T *>(host->data()) + first, count);
  copy.resize(count);
  if (count > 0)
    SINTER_TRY(executor_->readBuffer(plan_->buffers[output.index].name,
                                     {reinterpret_cast<uint8_t *>(copy.data()), count * sizeof(T)},
                                     first * sizeof(T)));
  return std::span<const T>(copy);
}

Result<std::span<const float>> PlanRunner::readRows(size_t first, size_t count) {
  const size_t length = limits_.rowLength();
  return read(names_.rows, first * length, count * length, rows_);
}

Result<std::span<const float>> PlanRunner::step(const Batch &batch) {
  SINTER_TRY(run(batch));
  return readRows(0, static_cast<size_t>(batch.logitRows.count()));
}

Result<StepRows> PlanRunner::stepToChoose(const Batch &batch) {
  if (topCount_ == 0)
    return StepRunner::stepToChoose(batch);
  SINTER_TRY(run(batch));
  const size_t count = static_cast<size_t>(batch.logitRows.count()) * topCount_;
  SINTER_ASSIGN(const auto logits, read(names_.topLogits, 0, count, topLogits_));
  SINTER_ASSIGN(const auto tokens, read(names_.topTokens, 0, count, topTokens_));
  return StepRows([this](size_t row) { return readRows(row, 1); }, limits_.rowLength(), logits,
                  tokens, topCount_);
}

} // namespace sinter
