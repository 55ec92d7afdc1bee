// Compares a plan's tables with the contract's.
#include "plan/contract.h"

#include "plan/plan.h"
#include "plan/walk.h"

#include <algorithm>

namespace sinter::contract {
namespace {

std::string rangeText(int64_t min, int64_t max) {
  return std::to_string(min) + " to " + std::to_string(max);
}

Result<void> checkProperty(const plan::Plan &plan, const PropertyRow &row) {
  const std::string what = std::string("property '") + row.name + "'";
  const auto found = plan.properties.find(row.name);
  if (found == plan.properties.end())
    return fail(Code::Corrupt, "the plan has no " + what);
  if (found->second < row.min || found->second > row.max)
    return fail(Code::Corrupt, "the plan's " + what + " is " + std::to_string(found->second) +
                                   ", expected " + rangeText(row.min, row.max));
  return {};
}

Result<void> checkOptionalProperty(const plan::Plan &plan, const PropertyRow &row) {
  return plan.properties.contains(row.name) ? checkProperty(plan, row) : Result<void>();
}

// A step has room for a chunk.
Result<void> checkChunks(const plan::Plan &plan) {
  SINTER_TRY(checkOptionalProperty(plan, kChunkRows));
  const auto rows = plan.properties.find(kChunkRows.name);
  const auto tokens = plan::findSymbol(plan, nameOf(Symbol::Tokens));
  if (rows == plan.properties.end() || !tokens || rows->second <= plan.symbols[tokens->index].max)
    return {};
  return fail(Code::Corrupt, "the plan takes " + std::to_string(rows->second) +
                                 " tokens of a sequence at once, and a step has at most " +
                                 std::to_string(plan.symbols[tokens->index].max));
}

Result<void> checkBuffer(const plan::Plan &plan, const TensorRow &row, plan::BufferKind kind) {
  const std::string what = std::string("buffer '") + row.name + "'";
  const auto id = plan::findBuffer(plan, row.name);
  if (!id)
    return fail(Code::Corrupt, "the plan has no " + what);
  const plan::BufferKind found = plan.buffers[id->index].kind;
  if (found != kind)
    return fail(Code::Corrupt, "the plan's " + what + " is of kind " + plan::kindName(found) +
                                   ", expected " + plan::kindName(kind));
  return {};
}

// A row has no more logits than the vocabulary has tokens.
Result<void> checkTop(const plan::Plan &plan) {
  const auto count = plan.properties.find(kTopCount.name);
  if (count == plan.properties.end())
    return {};
  SINTER_TRY(checkProperty(plan, kTopCount));
  const int64_t vocabulary = plan.properties.at(kVocabSize.name);
  if (count->second > vocabulary)
    return fail(Code::Corrupt, "the plan gives the largest " + std::to_string(count->second) +
                                   " logits of a row, and its vocabulary has " +
                                   std::to_string(vocabulary) + " tokens");
  SINTER_TRY(checkBuffer(plan, kTopLogits, plan::BufferKind::Output));
  return checkBuffer(plan, kTopTokens, plan::BufferKind::Output);
}

// Guesses are chosen among the largest logits.
Result<void> checkAhead(const plan::Plan &plan) {
  if (!runsAhead(plan))
    return {};
  SINTER_TRY(checkProperty(plan, kTopCount));
  for (const TensorRow *row : {&kTokenSources, &kGuessRules})
    SINTER_TRY(checkBuffer(plan, *row, plan::BufferKind::Input));
  return checkBuffer(plan, kGuesses, plan::BufferKind::State);
}

std::string symbolNames() {
  std::string names;
  for (const SymbolRow &row : kSymbols)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

std::vector<bool> loopSymbols(const plan::Plan &plan) {
  std::vector<bool> counted(plan.symbols.size());
  for (const plan::Procedure &procedure : plan.procedures)
    for (plan::StepWalker walker(procedure.steps); walker.next();)
      if (const auto *loop = std::get_if<plan::Loop>(&walker.step().op))
        counted[loop->induction.index] = true;
  return counted;
}

Result<void> checkSymbols(const plan::Plan &plan) {
  const std::vector<bool> counted = loopSymbols(plan);
  for (size_t i = 0; i < plan.symbols.size(); ++i) {
    const plan::Symbol &symbol = plan.symbols[i];
    const SymbolRow *row = findSymbolRow(symbol.name);
    if (row && symbol.computed)
      return fail(Code::Corrupt, "the plan computes symbol '" + symbol.name +
                                     "', expected it to be bound by the runtime");
    if (counted[i] || symbol.computed)
      continue;
    if (!row)
      return fail(Code::Corrupt, "the plan's symbol '" + symbol.name +
                                     "' is none that the runtime binds, expected " + symbolNames());
    if (symbol.min < row->min || symbol.max > row->max)
      return fail(Code::Corrupt, "the plan's symbol '" + symbol.name + "' is " +
                                     rangeText(symbol.min, symbol.max) + ", expected within " +
                                     rangeText(row->min, row->max));
  }
  return {};
}

constexpr bool followTheirEnum() {
  for (size_t i = 0; i < kSymbols.size(); ++i)
    if (static_cast<size_t>(kSymbols[i].id) != i)
      return false;
  return true;
}
static_assert(followTheirEnum());

} // namespace

bool hasStates(const plan::Plan &plan) {
  return plan.properties.contains(kStateBytes.name);
}

std::span<const KvGroup> kvGroupsOf(const plan::Plan &plan) {
  const bool windows = plan.properties.contains(kWindowKvBytesPerPage.name);
  return std::span(kKvGroups).first(windows ? 2 : 1);
}

const TensorRow &outputOf(const plan::Plan &plan) {
  return plan::findBuffer(plan, kEmbeddings.name) ? kEmbeddings : kLogits;
}

bool listsPartitions(const plan::Plan &plan) {
  return plan.properties.contains(kPartitionKeys.name);
}

bool runsAhead(const plan::Plan &plan) {
  return plan::findProcedure(plan, kAheadProcedure).has_value();
}

// A plan has those lists of partitions that its layers read.
static bool isPartitionList(const TensorRow &row) {
  return std::ranges::any_of(kKvGroups, [&](const KvGroup &group) {
    return &row == &rowOf(group.partitions) || &row == &rowOf(group.logitPartitions);
  });
}

bool hasInput(const plan::Plan &plan, const TensorRow &row) {
  if (isPartitionList(row))
    return plan::findBuffer(plan, row.name).has_value();
  if (&row == &rowOf(Input::StateSpans))
    return hasStates(plan);
  const bool second =
      &row == &rowOf(Input::WindowKvSlots) || &row == &rowOf(Input::WindowPageTable);
  return !second || kvGroupsOf(plan).size() > 1;
}

// Nothing says what lists are of, or how long, without the property and the symbol.
static Result<void> checkPartitions(const plan::Plan &plan) {
  SINTER_TRY(checkOptionalProperty(plan, kPartitionKeys));
  for (const auto &[row, other] :
       {std::pair{kMostPartitions, kPartitionStep}, std::pair{kPartitionStep, kMostPartitions}}) {
    SINTER_TRY(checkOptionalProperty(plan, row));
    if (plan.properties.contains(row.name))
      SINTER_TRY(checkProperty(plan, other));
  }
  for (const KvGroup &group : kKvGroups)
    for (const Input list : {group.partitions, group.logitPartitions}) {
      if (!hasInput(plan, rowOf(list)))
        continue;
      SINTER_TRY(checkProperty(plan, kPartitionKeys));
      if (!plan::findSymbol(plan, nameOf(group.partitionCount)))
        return fail(Code::Corrupt, std::string("the plan has buffer '") + rowOf(list).name +
                                       "' and no symbol '" + nameOf(group.partitionCount) + "'");
    }
  return {};
}

Result<void> check(const plan::Plan &plan) {
  if (!plan::findProcedure(plan, kStepProcedure))
    return fail(Code::Corrupt, std::string("the plan has no procedure '") + kStepProcedure + "'");
  for (const PropertyRow &row : kProperties)
    SINTER_TRY(checkProperty(plan, row));
  SINTER_TRY(checkOptionalProperty(plan, kStateBytes));
  for (const PropertyRow &row : {kLookBack, kWindowLookBack, kWindowKvBytesPerPage})
    SINTER_TRY(checkOptionalProperty(plan, row));
  for (const TensorRow &row : kInputs)
    if (hasInput(plan, row))
      SINTER_TRY(checkBuffer(plan, row, plan::BufferKind::Input));
  SINTER_TRY(checkOptionalProperty(plan, kBothWays));
  SINTER_TRY(checkChunks(plan));
  SINTER_TRY(checkPartitions(plan));
  const TensorRow &output = outputOf(plan);
  if (&output == &kEmbeddings)
    SINTER_TRY(checkProperty(plan, kEmbeddingLength));
  SINTER_TRY(checkBuffer(plan, output, plan::BufferKind::Output));
  SINTER_TRY(checkTop(plan));
  SINTER_TRY(checkAhead(plan));
  return checkSymbols(plan);
}

} // namespace sinter::contract
