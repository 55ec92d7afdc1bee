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

// Of a plan that keeps the contract.
uint32_t property(const plan::Plan &plan, const contract::PropertyRow &row) {
  return static_cast<uint32_t>(plan.properties.at(row.name));
}

// A symbol's upper bound as a count; unbounded where the plan names no such symbol.
uint32_t upperBound(const plan::Plan &plan, Symbol symbol) {
  const auto id = plan::findSymbol(plan, contract::nameOf(symbol));
  const int64_t most = id ? plan.symbols[id->index].max : std::numeric_limits<int32_t>::max();
  return static_cast<uint32_t>(std::clamp<int64_t>(most, 1, std::numeric_limits<int32_t>::max()));
}

bool reads(const plan::Expr &expr, plan::SymbolId symbol) {
  return std::ranges::any_of(expr.nodes(), [&](const plan::ExprNode &node) {
    return node.op == plan::ExprOp::Symbol && node.value == int64_t{symbol.index};
  });
}

bool reads(const plan::Step &step, plan::SymbolId symbol) {
  const auto any = [&](const auto &list) {
    return std::ranges::any_of(list, [&](const plan::Expr &expr) { return reads(expr, symbol); });
  };
  if (const auto *branch = std::get_if<plan::If>(&step.op))
    return reads(branch->condition, symbol);
  if (const auto *loop = std::get_if<plan::Loop>(&step.op))
    return reads(loop->count, symbol);
  const auto *launch = std::get_if<plan::Launch>(&step.op);
  return launch && (any(launch->grid) || any(launch->scalars));
}

// Whether any step depends on the phase of its rows. Where none does, both phases run the same.
bool knowsPhases(const plan::Plan &plan) {
  const auto phase = plan::findSymbol(plan, contract::nameOf(Symbol::Phase));
  for (const plan::Procedure &procedure : plan.procedures)
    for (plan::StepWalker walker(procedure.steps); phase && walker.next();)
      if (reads(walker.step(), *phase))
        return true;
  return false;
}

Result<void> checkSameModel(const plan::Plan &plan, const GgufFile &file) {
  SINTER_ASSIGN(const Sha256Digest digest, file.digest());
  if (plan.modelDigest == digest.hex() && plan.modelBytes == file.bytes().size())
    return {};
  return fail(Code::InvalidArgument, "the plan was made for another model file: of " +
                                         std::to_string(plan.modelBytes) + " bytes, digest " +
                                         plan.modelDigest.substr(0, 16) + "; this one has " +
                                         std::to_string(file.bytes().size()) + " bytes, digest " +
                                         digest.hex().substr(0, 16));
}

} // namespace

Result<uint32_t> contextTokensOf(uint64_t most, uint32_t asked) {
  if (asked > most)
    return fail(Code::InvalidArgument, "a context of " + std::to_string(asked) +
                                           " tokens was asked for, the model was made for " +
                                           std::to_string(most));
  return asked ? asked : static_cast<uint32_t>(std::min<uint64_t>(most, kDefaultContextTokens));
}

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
  SINTER_TRY(runner->readLimits(options));
  runner->readNames();
  runner->readSymbols();
  // Where memory is taken as it comes into use, one sequence may never need all of its context.
  const bool several = runner->limits_.poolPages > runner->contextPages();
  if (several || !device.supports(hal::Feature::WrapMemory))
    SINTER_TRY(runner->checkFits(device.info()));
  runtime::ExecutorOptions executorOptions;
  executorOptions.weightCache = options.weightCache;
  SINTER_ASSIGN(runner->executor_, runtime::Executor::create(device, runner->plan_,
                                                             &runner->weights_, executorOptions));
  if (!file.stillIntact())
    return fail(Code::Corrupt, "the model file changed while its weights were read");
  // Once more all of it: where files are mapped in huge pages, reading a tensor maps what was given
  // back of its neighbours. The header goes too; mapped weights come back when they are read.
  runtime::dropMappedPages(file.bytes());
  return runner;
}

Result<void> PlanRunner::readLimits(const PlanRunnerOptions &options) {
  limits_.vocabSize = property(*plan_, contract::kVocabSize);
  const uint32_t most = property(*plan_, contract::kContextLength);
  SINTER_ASSIGN(limits_.contextTokens, contextTokensOf(most, options.contextTokens));
  limits_.pageRows = property(*plan_, contract::kPageRows);
  limits_.queryTile = property(*plan_, contract::kQueryTile);
  limits_.stepTokens =
      std::min(std::max(options.maxStepTokens, 1u), upperBound(*plan_, Symbol::Tokens));
  limits_.stepSequences = upperBound(*plan_, Symbol::Sequences);
  limits_.phasesAgree = !knowsPhases(*plan_);
  return sizePool(options);
}

Result<void> PlanRunner::sizePool(const PlanRunnerOptions &options) {
  const uint64_t poolTokens = std::max(options.poolTokens, limits_.contextTokens);
  const uint64_t pages = options.poolTokens ? (poolTokens - 1) / limits_.pageRows + 1
                                            : contextPages() * std::max(options.sequences, 1u);
  constexpr uint64_t kMostRows = std::numeric_limits<int32_t>::max();
  if (pages > kMostRows / limits_.pageRows)
    return fail(Code::InvalidArgument,
                "KV cache for " + std::to_string(options.sequences) + " sequences of " +
                    std::to_string(limits_.contextTokens) + " tokens was asked for, expected at " +
                    "most " + std::to_string(kMostRows) + " tokens in all");
  limits_.poolPages = static_cast<uint32_t>(pages);
  return {};
}

// Weights and the KV cache of the whole pool, before any of it is loaded.
Result<void> PlanRunner::checkFits(const hal::DeviceInfo &device) const {
  CheckedSize weights = 0;
  for (const plan::Buffer &buffer : plan_->buffers)
    if (const auto bytes = buffer.bytes.constant(); bytes && *bytes > 0)
      weights = weights + static_cast<uint64_t>(*bytes);
  const int64_t pageBytes = plan_->properties.at(contract::kKvBytesPerPage.name);
  const CheckedSize kv = CheckedSize(limits_.poolPages) * static_cast<uint64_t>(pageBytes);
  const CheckedSize all = weights + kv;
  if (all.valid() && *all.value() <= device.memoryBytes)
    return {};
  const auto text = [](const CheckedSize &size) {
    return size.valid() ? std::to_string(*size.value()) : std::string("more than 2^64");
  };
  return fail(
      Code::Exhausted,
      "the model takes " + text(weights) + " bytes of weights and " + text(kv) +
          " of KV cache for " + std::to_string(uint64_t{limits_.poolPages} * limits_.pageRows) +
          " tokens, device '" + device.name + "' has " + std::to_string(device.memoryBytes) +
          " bytes; a smaller --context or fewer sequences take less KV cache");
}

void PlanRunner::readNames() {
  names_.step = *plan::findProcedure(*plan_, contract::kStepProcedure);
  names_.logits = *plan::findBuffer(*plan_, contract::kLogits.name);
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

// Memory is taken as pages come into use, lowest first, so that a long context costs nothing before
// it is filled. Doubling keeps the number of copies small.
void PlanRunner::growPool(const Batch &batch) {
  constexpr uint64_t kFirstTokens = 1024;
  uint64_t pages = std::max<uint64_t>(boundPages_, (kFirstTokens - 1) / limits_.pageRows + 1);
  for (const int32_t page : batch.pageTable)
    while (static_cast<uint64_t>(page) >= pages)
      pages *= 2;
  boundPages_ = static_cast<uint32_t>(std::min<uint64_t>(pages, limits_.poolPages));
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
    return boundPages_;
  case Symbol::Phase:
    return static_cast<int64_t>(batch.phase);
  case Symbol::KeysHeld:
    return costs ? sumOf(batch.kvLengths) : 0;
  case Symbol::KeysSeen:
    return costs ? sumOf(batch.positions) + batch.tokenCount() : 0;
  case Symbol::LongestContext:
    return std::max(minLongest_, longestOf(batch, logitRows_));
  }
  return 0;
}

Result<void> PlanRunner::bind(const Batch &batch) {
  growPool(batch);
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i])
      symbolValues_[i] = valueOf(*symbols_[i], batch);
  return executor_->bind(symbolValues_);
}

Result<void> PlanRunner::writeInputs(const Batch &batch) {
  // In the order of contract::Input.
  const std::array<const std::vector<int32_t> *, contract::kInputs.size()> values = {
      &batch.tokens, &batch.positions,   &batch.kvSlots,        &batch.pageTable,  &batch.kvLengths,
      &batch.blocks, &logitRows_.tokens, &logitRows_.positions, &logitRows_.blocks};
  for (size_t i = 0; i < values.size(); ++i) {
    if (written_[i] == *values[i])
      continue;
    written_[i].clear(); // should the write fail
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(values[i]->data()),
                                         values[i]->size() * sizeof(int32_t));
    SINTER_TRY(executor_->setBuffer(contract::kInputs[i].name, bytes));
    written_[i] = *values[i];
  }
  return {};
}

Result<std::span<const float>> PlanRunner::step(const Batch &batch) {
  if (!file_.stillIntact())
    return fail(Code::Corrupt, "the model file changed while the model was running");
  // A plan may demand a row of logits even where none is wanted.
  logitRows_ = batch.logitRows;
  while (logitRows_.count() < minLogitRows_)
    logitRows_.add(0, 0, batch.positions.front(), 1, 1);
  SINTER_TRY(bind(batch));
  SINTER_TRY(writeInputs(batch));
  SINTER_TRY(executor_->run(names_.step));
  const size_t wanted = static_cast<size_t>(batch.logitRows.count()) * limits_.vocabSize;
  auto host = executor_->buffer(names_.logits);
  if (host && host->size() >= wanted * sizeof(float))
    return std::span(reinterpret_cast<const float *>(host->data()), wanted);
  logits_.resize(wanted);
  SINTER_TRY(
      executor_->readBuffer(contract::kLogits.name, {reinterpret_cast<uint8_t *>(logits_.data()),
                                                     logits_.size() * sizeof(float)}));
  return std::span<const float>(logits_);
}

} // namespace sinter
