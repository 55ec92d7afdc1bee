// Limits and memory from a plan's properties, symbols and formulas.
#include "llm/plan_limits.h"

#include "base/checked.h"
#include "plan/contract.h"
#include "plan/walk.h"

#include <algorithm>
#include <limits>

namespace sinter {

using contract::Symbol;

namespace {

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

} // namespace

Result<uint32_t> contextTokensOf(uint64_t most, uint32_t asked) {
  if (asked > most)
    return fail(Code::InvalidArgument, "a context of " + std::to_string(asked) +
                                           " tokens was asked for, the model was made for " +
                                           std::to_string(most));
  return asked ? asked : static_cast<uint32_t>(std::min<uint64_t>(most, kDefaultContextTokens));
}

// Pages of a sequence in a group whose steps read `lookBack` rows before their own, wherever these
// begin within a page; none where the context has no more pages.
static std::optional<uint32_t> ringPages(uint64_t lookBack, const RunnerLimits &limits) {
  const uint64_t rows = lookBack + std::min(limits.stepTokens, limits.contextTokens);
  const uint64_t pages = (rows - 1 + limits.pageRows - 1) / limits.pageRows + 1;
  if (pages >= limits.contextPages())
    return std::nullopt;
  return static_cast<uint32_t>(pages);
}

static KvGroupPages groupOf(const plan::Plan &plan, const contract::KvGroup &group,
                            const RunnerLimits &limits) {
  const auto lookBack = plan.properties.find(group.lookBack.name);
  KvGroupPages pages;
  if (lookBack == plan.properties.end())
    return pages;
  if (const auto ring = ringPages(static_cast<uint64_t>(lookBack->second), limits)) {
    pages.sequencePages = *ring;
    pages.lookBack = static_cast<uint64_t>(lookBack->second);
  }
  return pages;
}

static Result<void> sizePool(const PlanRunnerOptions &options, KvGroupPages group,
                             RunnerLimits &limits) {
  const uint64_t poolTokens = std::max(options.poolTokens, limits.contextTokens);
  const uint64_t ofOne = std::min<uint64_t>(limits.contextPages(), group.sequencePages);
  const uint64_t shared = (poolTokens - 1) / limits.pageRows + 1;
  const uint64_t pages = options.poolTokens ? std::min(shared, ofOne * limits.stepSequences)
                                            : ofOne * std::max(options.sequences, 1u);
  constexpr uint64_t kMostRows = std::numeric_limits<int32_t>::max();
  if (pages > kMostRows / limits.pageRows)
    return fail(Code::InvalidArgument, "KV cache for " + std::to_string(options.sequences) +
                                           " sequences of " + std::to_string(limits.contextTokens) +
                                           " tokens was asked for, expected at " + "most " +
                                           std::to_string(kMostRows) + " tokens in all");
  group.pages = static_cast<uint32_t>(pages);
  limits.kvGroups.push_back(group);
  return {};
}

// States of the sequences that run at once, and of one's checkpoints.
static uint32_t stateSlotsOf(const plan::Plan &plan, const PlanRunnerOptions &options) {
  if (!contract::hasStates(plan))
    return 0;
  const uint64_t slots = uint64_t{std::max(options.sequences, 1u)} + kMostCheckpoints;
  return static_cast<uint32_t>(std::min<uint64_t>(slots, upperBound(plan, Symbol::StateSlots)));
}

Result<RunnerLimits> limitsOf(const plan::Plan &plan, const PlanRunnerOptions &options) {
  RunnerLimits limits;
  limits.vocabSize = property(plan, contract::kVocabSize);
  const uint32_t most = property(plan, contract::kContextLength);
  SINTER_ASSIGN(limits.contextTokens, contextTokensOf(most, options.contextTokens));
  limits.pageRows = property(plan, contract::kPageRows);
  limits.queryTile = property(plan, contract::kQueryTile);
  const auto chunk = plan.properties.find(contract::kChunkRows.name);
  if (chunk != plan.properties.end())
    limits.chunkRows = static_cast<uint32_t>(chunk->second);
  limits.stepTokens =
      std::min(std::max(options.maxStepTokens, limits.chunkRows), upperBound(plan, Symbol::Tokens));
  limits.stepSequences = upperBound(plan, Symbol::Sequences);
  if (&contract::outputOf(plan) == &contract::kEmbeddings)
    limits.embeddingLength = property(plan, contract::kEmbeddingLength);
  const auto both = plan.properties.find(contract::kBothWays.name);
  limits.bothWays = both != plan.properties.end() && both->second == 1;
  // No part of a text may see keys that come later.
  if (limits.bothWays)
    limits.stepTokens = std::min(limits.contextTokens, upperBound(plan, Symbol::Tokens));
  limits.phasesAgree = !knowsPhases(plan);
  limits.kvGroups.clear();
  for (const contract::KvGroup &group : contract::kvGroupsOf(plan))
    SINTER_TRY(sizePool(options, groupOf(plan, group, limits), limits));
  limits.stateSlots = stateSlotsOf(plan, options);
  return limits;
}

CheckedSize kvBytes(const plan::Plan &plan, const RunnerLimits &limits, size_t group) {
  const int64_t pageBytes = plan.properties.at(contract::kKvGroups[group].bytesPerPage.name);
  return CheckedSize(limits.kvGroups[group].pages) * static_cast<uint64_t>(pageBytes);
}

// Of a prompt of `tokens` at the end of a full context, whose last row is wanted.
static int64_t valueOf(Symbol symbol, const RunnerLimits &limits, int64_t tokens) {
  switch (symbol) {
  case Symbol::Tokens:
    return tokens;
  case Symbol::QueryTiles:
    return (tokens - 1) / limits.queryTile + 1;
  case Symbol::PagesPerSequence:
    return static_cast<int64_t>(limits.contextPages());
  case Symbol::PoolPages:
    return limits.kvGroups[0].pages;
  case Symbol::WindowPoolPages:
    return limits.kvGroups.back().pages;
  case Symbol::StateSlots:
    return limits.stateSlots;
  case Symbol::Phase:
    return static_cast<int64_t>(Phase::Prefill);
  case Symbol::KeysHeld:
  case Symbol::KeysSeen:
    return 0; // costs alone
  case Symbol::LongestContext:
    return limits.contextTokens;
  case Symbol::Sequences:
  case Symbol::LogitRows:
  case Symbol::LogitTiles:
  case Symbol::Partitions:
  case Symbol::WindowPartitions:
    return 1;
  }
  return 0;
}

Result<runtime::MemoryNeed> memoryNeedOf(const plan::Plan &plan, const RunnerLimits &limits) {
  const int64_t tokens = std::min(limits.stepTokens, limits.contextTokens);
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols) {
    const contract::SymbolRow *row = contract::findSymbolRow(symbol.name);
    values.push_back(
        std::clamp(row ? valueOf(row->id, limits, tokens) : symbol.min, symbol.min, symbol.max));
  }
  return runtime::memoryNeed(plan, *plan::findProcedure(plan, contract::kStepProcedure), values);
}

// Before any of it is loaded.
Result<void> checkFits(const plan::Plan &plan, const RunnerLimits &limits, hal::Device &device) {
  CheckedSize weights = 0;
  for (const plan::Buffer &buffer : plan.buffers)
    if (const auto bytes = buffer.bytes.constant(); bytes && *bytes > 0)
      weights = weights + static_cast<uint64_t>(*bytes);
  CheckedSize kv = 0;
  for (size_t i = 0; i < limits.kvGroups.size(); ++i)
    kv = kv + kvBytes(plan, limits, i);
  CheckedSize states = 0;
  if (limits.stateSlots > 0)
    states = CheckedSize(limits.stateSlots) *
             static_cast<uint64_t>(plan.properties.at(contract::kStateBytes.name));
  CheckedSize step = 0;
  if (const auto need = memoryNeedOf(plan, limits))
    step = CheckedSize(need->temporary) + need->inputsAndOutputs;
  const CheckedSize all = weights + kv + states + step;
  const hal::DeviceInfo &info = device.info();
  const std::optional<uint64_t> free = device.freeBytes();
  if (all.valid() && *all.value() <= std::min(info.memoryBytes, free.value_or(UINT64_MAX)))
    return {};
  const auto text = [](const CheckedSize &size) {
    return size.valid() ? std::to_string(*size.value()) : std::string("more than 2^64");
  };
  return fail(
      Code::Exhausted,
      "the model takes " + text(weights) + " bytes of weights and " + text(kv) +
          " of KV cache for " +
          std::to_string(uint64_t{limits.kvGroups[0].pages} * limits.pageRows) + " tokens" +
          (limits.stateSlots > 0 ? " and " + text(states) + " of states of sequences" : "") +
          " and " + text(step) + " for a step" + ", device '" + info.name + "' has " +
          std::to_string(info.memoryBytes) + " bytes" +
          (free ? " of which " + std::to_string(*free) + " are free" : "") +
          "; a smaller --context or fewer sequences take less KV cache");
}

} // namespace sinter
