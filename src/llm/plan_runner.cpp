// Binds a plan's symbols and buffers to batches.
#include "llm/plan_runner.h"

#include "base/checked.h"
#include "llm/plan_names.h"
#include "plan/walk.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sinter {
namespace {

namespace names = plan_names;

// In the order in which step() writes them.
constexpr std::array kInputs = {
    names::kTokenIds,     names::kPositions,      names::kKvSlots,
    names::kPageTable,    names::kKvLengths,      names::kBlockTable,
    names::kLogitIndices, names::kLogitPositions, names::kLogitBlockTable};

Result<uint32_t> property(const plan::Plan &plan, const char *name) {
  const auto found = plan.properties.find(name);
  if (found == plan.properties.end())
    return fail(Code::Corrupt, std::string("the plan has no property '") + name + "'");
  if (found->second < 1 || found->second > std::numeric_limits<int32_t>::max())
    return fail(Code::Corrupt, std::string("the plan's property '") + name + "' is " +
                                   std::to_string(found->second) + ", expected 1 to 2147483647");
  return static_cast<uint32_t>(found->second);
}

// A symbol's upper bound as a count; unbounded where the plan names no such symbol.
uint32_t upperBound(const plan::Plan &plan, const char *name) {
  const auto id = plan::findSymbol(plan, name);
  const int64_t most = id ? plan.symbols[id->index].max : std::numeric_limits<int32_t>::max();
  return static_cast<uint32_t>(std::clamp<int64_t>(most, 1, std::numeric_limits<int32_t>::max()));
}

Result<plan::BufferId> bufferOfKind(const plan::Plan &plan, const char *name,
                                    plan::BufferKind kind) {
  const auto id = plan::findBuffer(plan, name);
  if (!id)
    return fail(Code::Corrupt, std::string("the plan has no buffer '") + name + "'");
  const plan::BufferKind found = plan.buffers[id->index].kind;
  if (found != kind)
    return fail(Code::Corrupt, std::string("the plan's buffer '") + name + "' is of kind " +
                                   plan::kindName(found) + ", expected " + plan::kindName(kind));
  return *id;
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
  const auto phase = plan::findSymbol(plan, names::kGenerated);
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
  std::unique_ptr<PlanRunner> runner(new PlanRunner(file, std::move(plan)));
  SINTER_TRY(runner->readLimits(options));
  SINTER_TRY(runner->readNames());
  SINTER_TRY(runner->readSymbols());
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
  SINTER_ASSIGN(limits_.vocabSize, property(*plan_, names::kVocabSize));
  SINTER_ASSIGN(const uint32_t most, property(*plan_, names::kContextLength));
  SINTER_ASSIGN(limits_.contextTokens, contextTokensOf(most, options.contextTokens));
  SINTER_ASSIGN(limits_.pageRows, property(*plan_, names::kPageRows));
  SINTER_ASSIGN(limits_.queryBlock, property(*plan_, names::kQueryBlock));
  limits_.stepTokens =
      std::min(std::max(options.maxStepTokens, 1u), upperBound(*plan_, names::kTokens));
  limits_.stepSequences = upperBound(*plan_, names::kSequences);
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
                "KV memory for " + std::to_string(options.sequences) + " sequences of " +
                    std::to_string(limits_.contextTokens) + " tokens was asked for, expected at " +
                    "most " + std::to_string(kMostRows) + " tokens in all");
  limits_.poolPages = static_cast<uint32_t>(pages);
  return {};
}

// Weights and the KV state of the whole pool, before any of it is loaded.
Result<void> PlanRunner::checkFits(const hal::DeviceInfo &device) const {
  CheckedSize weights = 0;
  for (const plan::Buffer &buffer : plan_->buffers)
    if (const auto bytes = buffer.bytes.constant(); bytes && *bytes > 0)
      weights = weights + static_cast<uint64_t>(*bytes);
  const auto perPage = plan_->properties.find(names::kKvBytesPerPage);
  const int64_t pageBytes = perPage == plan_->properties.end() ? 0 : perPage->second;
  const CheckedSize kv =
      CheckedSize(limits_.poolPages) * static_cast<uint64_t>(std::max<int64_t>(pageBytes, 0));
  const CheckedSize all = weights + kv;
  if (all.valid() && *all.value() <= device.memoryBytes)
    return {};
  const auto text = [](const CheckedSize &size) {
    return size.valid() ? std::to_string(*size.value()) : std::string("more than 2^64");
  };
  return fail(
      Code::Exhausted,
      "the model takes " + text(weights) + " bytes of weights and " + text(kv) +
          " of KV state for " + std::to_string(uint64_t{limits_.poolPages} * limits_.pageRows) +
          " tokens, device '" + device.name + "' has " + std::to_string(device.memoryBytes) +
          " bytes; a smaller --context or fewer sequences take less KV state");
}

Result<void> PlanRunner::readNames() {
  const auto step = plan::findProcedure(*plan_, names::kStepProcedure);
  if (!step)
    return fail(Code::Corrupt,
                std::string("the plan has no procedure '") + names::kStepProcedure + "'");
  names_.step = *step;
  for (size_t i = 0; i < kInputs.size(); ++i) {
    SINTER_ASSIGN(names_.inputs[i], bufferOfKind(*plan_, kInputs[i], plan::BufferKind::Input));
  }
  SINTER_ASSIGN(names_.logits, bufferOfKind(*plan_, names::kLogits, plan::BufferKind::Output));
  return {};
}

// Symbols of other names count loops; the executor ignores their values.
Result<void> PlanRunner::readSymbols() {
  struct Known {
    std::string_view name;
    Size size;
  };
  static constexpr Known kKnown[] = {
      {names::kTokens, Size::Tokens},           {names::kSequences, Size::Sequences},
      {names::kBlocks, Size::Blocks},           {names::kLogitRows, Size::LogitRows},
      {names::kLogitBlocks, Size::LogitBlocks}, {names::kPagesPerSequence, Size::TableWidth},
      {names::kPoolPages, Size::PoolPages},     {names::kGenerated, Size::Generated},
      {names::kLongest, Size::Longest},         {names::kKeysHeld, Size::KeysHeld},
      {names::kKeysSeen, Size::KeysSeen}};
  for (const plan::Symbol &symbol : plan_->symbols) {
    const auto *known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [&](const Known &k) { return k.name == symbol.name; });
    sizes_.push_back(known == std::end(kKnown) ? Size::Counted : known->size);
    if (sizes_.back() == Size::LogitRows)
      minLogitRows_ = std::max<int64_t>(symbol.min, 0);
    if (sizes_.back() == Size::Longest)
      minLongest_ = symbol.min;
  }
  symbolValues_.assign(sizes_.size(), 0);
  return {};
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

Result<void> PlanRunner::bind(const Batch &batch) {
  growPool(batch);
  const bool costs = executor_->profiling(); // they change in each step, sizes seldom do
  for (size_t i = 0; i < sizes_.size(); ++i) {
    int64_t &value = symbolValues_[i];
    switch (sizes_[i]) {
    case Size::Tokens:
      value = batch.tokenCount();
      break;
    case Size::Sequences:
      value = batch.sequenceCount();
      break;
    case Size::Blocks:
      value = batch.blockCount();
      break;
    case Size::LogitRows:
      value = logitRows_.count();
      break;
    case Size::LogitBlocks:
      value = logitRows_.blockCount();
      break;
    case Size::TableWidth:
      value = batch.pagesPerSequence;
      break;
    case Size::PoolPages:
      value = boundPages_;
      break;
    case Size::Generated:
      value = batch.phase == Phase::Generated;
      break;
    case Size::Longest:
      value = std::max(minLongest_, longestOf(batch, logitRows_));
      break;
    case Size::KeysHeld:
      value = costs ? sumOf(batch.kvLengths) : 0;
      break;
    case Size::KeysSeen:
      value = costs ? sumOf(batch.positions) + batch.tokenCount() : 0;
      break;
    case Size::Counted:
      break;
    }
  }
  return executor_->bind(symbolValues_);
}

Result<void> PlanRunner::writeInputs(const Batch &batch) {
  const std::array<const std::vector<int32_t> *, kInputs.size()> values = {
      &batch.tokens, &batch.positions,   &batch.kvSlots,        &batch.pageTable,  &batch.kvLengths,
      &batch.blocks, &logitRows_.tokens, &logitRows_.positions, &logitRows_.blocks};
  for (size_t i = 0; i < values.size(); ++i) {
    if (written_[i] == *values[i])
      continue;
    written_[i].clear(); // should the write fail
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(values[i]->data()),
                                         values[i]->size() * sizeof(int32_t));
    SINTER_TRY(executor_->setBuffer(kInputs[i], bytes));
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
  SINTER_TRY(executor_->readBuffer(names::kLogits, {reinterpret_cast<uint8_t *>(logits_.data()),
                                                    logits_.size() * sizeof(float)}));
  return std::span<const float>(logits_);
}

} // namespace sinter
