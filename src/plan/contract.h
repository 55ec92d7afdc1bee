// The contract between compiler and runtime about a decoder's plan: every name, type and bound that
// both need, stated once. A decoder declares its tensors and symbols from these tables, and the
// runtime binds a plan's by them.
#pragma once

#include "base/status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sinter::plan {
struct Plan;
}

namespace sinter::contract {

inline constexpr const char *kStepProcedure = "step";

// A step's rows are all of one phase, and a row's bits depend on its phase. The value of
// Symbol::Phase.
enum class Phase : uint8_t {
  Prefill,
  Decode, // one token a sequence, that was chosen from logits
};

// The numbers that the runtime binds before each step, in the order in which a decoder declares
// them.
enum class Symbol : uint8_t {
  Tokens,
  Sequences,
  QueryTiles, // of attention over all tokens
  LogitRows,  // tokens whose logits are wanted
  LogitTiles, // query tiles of these
  PagesPerSequence,
  PoolPages, // of the KV cache
  Phase,
  // What attention reads, for costs alone; 0 unless steps are profiled.
  KeysHeld, // by the step's sequences
  KeysSeen, // by its tokens, summed over tokens
  // Where each query tile has one token, or there are logits' tiles and each has one row: positions
  // of the step's longest sequence, this step's tokens counted, rounded up to a power of two, so
  // that few sizes occur. The minimum where that is less, and for all other steps.
  LongestContext,
  StateSlots,      // slots of sequences' states; of plans that have such states
  WindowPoolPages, // of the second KV cache group; of plans that have one
  // Rows of the lists of partitions of either group, of plans that have such lists. Rounded up, so
  // that few sizes occur; 1 in prefill steps, which read none.
  Partitions,
  WindowPartitions,
};

struct SymbolRow {
  Symbol id;
  const char *name; // in a plan and in extents of a graph
  int64_t min, max; // a plan's bounds lie within these
};

inline constexpr int64_t kMaxStepTokens = 1 << 16;
inline constexpr int64_t kMaxStateSlots = 1 << 17;

inline constexpr int64_t kMaxPartitions = 1 << 24;

inline constexpr std::array<SymbolRow, 15> kSymbols = {{
    {Symbol::Tokens, "T", 1, kMaxStepTokens},
    {Symbol::Sequences, "S", 1, kMaxStepTokens},
    {Symbol::QueryTiles, "B", 1, kMaxStepTokens},
    {Symbol::LogitRows, "R", 0, kMaxStepTokens},
    {Symbol::LogitTiles, "C", 0, kMaxStepTokens},
    {Symbol::PagesPerSequence, "P", 1, int64_t(1) << 30},
    {Symbol::PoolPages, "N", 1, INT32_MAX},
    {Symbol::Phase, "G", 0, 1},
    {Symbol::KeysHeld, "K", 0, INT64_MAX},
    {Symbol::KeysSeen, "V", 0, INT64_MAX},
    {Symbol::LongestContext, "L", 256, int64_t(1) << 31},
    {Symbol::StateSlots, "Z", 1, kMaxStateSlots},
    {Symbol::WindowPoolPages, "N1", 1, INT32_MAX},
    {Symbol::Partitions, "W", 1, kMaxPartitions},
    {Symbol::WindowPartitions, "W1", 1, kMaxPartitions},
}};

constexpr const char *nameOf(Symbol symbol) {
  return kSymbols[static_cast<size_t>(symbol)].name;
}
// The row of that name, or null.
constexpr const SymbolRow *findSymbolRow(std::string_view name) {
  for (const SymbolRow &row : kSymbols)
    if (name == row.name)
      return &row;
  return nullptr;
}

// Numbers that a plan states about itself, within bounds.
struct PropertyRow {
  const char *name;
  int64_t min, max;
};
inline constexpr PropertyRow kVocabSize = {"vocab_size", 1, INT32_MAX};
inline constexpr PropertyRow kContextLength = {"context_length", 1, INT32_MAX};
inline constexpr PropertyRow kPageRows = {"page_rows", 1, INT32_MAX};      // positions of a KV page
inline constexpr PropertyRow kQueryTile = {"query_block", 1, INT32_MAX};   // most rows of one
inline constexpr PropertyRow kKvBytesPerPage = {"kv_bytes", 0, INT64_MAX}; // of a group's layers
inline constexpr PropertyRow kWindowKvBytesPerPage = {"kv_bytes.1", 1, INT64_MAX};
// Positions before a step's first token of a sequence that a group's kernels read at most, beside
// others of the same page. Absent: all of them.
inline constexpr PropertyRow kLookBack = {"look_back", 0, INT32_MAX};
inline constexpr PropertyRow kWindowLookBack = {"look_back.1", 0, INT32_MAX};
// Of one sequence in all layers, beside its pages. Absent where sequences have no states.
inline constexpr PropertyRow kStateBytes = {"state_bytes", 1, INT64_MAX};
inline constexpr PropertyRow kEmbeddingLength = {"embedding_length", 1, INT32_MAX};
// Prefill takes so many tokens of a sequence at once: a step that does not end a prompt has a
// multiple of them of it. Absent: 1, so prompts are cut anywhere.
inline constexpr PropertyRow kChunkRows = {"chunk_rows", 1, 128};
// 1: each token of a step sees all of its sequence, which one step holds; absent: 0.
inline constexpr PropertyRow kBothWays = {"both_ways", 0, 1};
// Positions of a split-KV partition; of plans that have lists of partitions.
inline constexpr PropertyRow kPartitionKeys = {"partition_keys", 1, INT32_MAX};
// Of such plans, in the first KV cache group: a query tile whose last row is at position n - 1 has
// longer ones, of ceil(n / (most * step)) * step positions, where that is more. Absent: it has not.
inline constexpr PropertyRow kMostPartitions = {"most_partitions", 1, INT32_MAX};
inline constexpr PropertyRow kPartitionStep = {"partition_step", 1, INT32_MAX};
// Logits of each row that a plan gives apart, the largest first. Absent where the host reads all
// logits in place.
inline constexpr PropertyRow kTopCount = {"top_count", 1, 1 << 14};
// Of all plans; the former two are of those that need them.
inline constexpr std::array kProperties = {kVocabSize, kContextLength, kPageRows, kQueryTile,
                                           kKvBytesPerPage};

enum class ElementType : uint8_t { I32, F32 };

// A fixed number, a symbol's value or a property's.
struct Extent {
  constexpr Extent(int64_t size) : size(size) {}
  constexpr Extent(Symbol symbol) : symbol(symbol) {}
  constexpr Extent(const PropertyRow &property) : property(&property) {}

  int64_t size = 0;
  std::optional<Symbol> symbol;
  const PropertyRow *property = nullptr;
};

// A vector, or a matrix where there are columns.
struct TensorRow {
  const char *name;
  ElementType element;
  Extent rows;
  std::optional<Extent> columns;
};

// The buffers that the runtime writes before each step.
enum class Input : uint8_t {
  TokenIds,
  Positions,
  KvSlots,        // page * page_rows + row
  PageTable,      // 0 beyond a sequence's pages, and before the first that is read
  KvLengths,      // this step's tokens counted
  QueryTiles,     // sequence, first token, tokens
  LogitIndices,   // of tokens
  LogitPositions, // of these
  LogitTiles,     // sequence, first row, rows
  // Of plans with states of sequences: slot that is read (-1: none, the sequence begins), slot that
  // is written, first token, tokens.
  StateSpans,
  // Of the second KV cache group, where a plan has one.
  WindowKvSlots,
  WindowPageTable,
  // Of decode steps of plans that have them: the split-KV partitions of query tiles, and of logits'
  // tiles. Columns are those of kernels/attention.h; rows beyond the last partition are 0. Then the
  // same of the second group.
  Partitions,
  LogitPartitions,
  WindowPartitions,
  WindowLogitPartitions,
};
inline constexpr int64_t kPartitionColumns = 6;
inline constexpr std::array<TensorRow, 16> kInputs = {{
    {"tokens", ElementType::I32, Symbol::Tokens, {}},
    {"positions", ElementType::I32, Symbol::Tokens, {}},
    {"kv_slots", ElementType::I32, Symbol::Tokens, {}},
    {"page_table", ElementType::I32, Symbol::Sequences, Symbol::PagesPerSequence},
    {"kv_lengths", ElementType::I32, Symbol::Sequences, {}},
    {"blocks", ElementType::I32, Symbol::QueryTiles, 3},
    {"logit_rows", ElementType::I32, Symbol::LogitRows, {}},
    {"logit_positions", ElementType::I32, Symbol::LogitRows, {}},
    {"logit_blocks", ElementType::I32, Symbol::LogitTiles, 3},
    {"state_spans", ElementType::I32, Symbol::Sequences, 4},
    {"kv_slots.1", ElementType::I32, Symbol::Tokens, {}},
    {"page_table.1", ElementType::I32, Symbol::Sequences, Symbol::PagesPerSequence},
    {"partitions", ElementType::I32, Symbol::Partitions, kPartitionColumns},
    {"logit_partitions", ElementType::I32, Symbol::Partitions, kPartitionColumns},
    {"partitions.1", ElementType::I32, Symbol::WindowPartitions, kPartitionColumns},
    {"logit_partitions.1", ElementType::I32, Symbol::WindowPartitions, kPartitionColumns},
}};
constexpr const TensorRow &rowOf(Input input) {
  return kInputs[static_cast<size_t>(input)];
}

// Layers that look back equally far are a KV cache group: they share a page table and a pool. Where
// some layers have a window and others have none, those with a window are the second group.
struct KvGroup {
  Input slots, pageTable;
  Symbol poolPages;
  PropertyRow bytesPerPage, lookBack;
  Input partitions, logitPartitions;
  Symbol partitionCount;
};
inline constexpr std::array<KvGroup, 2> kKvGroups = {{
    {Input::KvSlots, Input::PageTable, Symbol::PoolPages, kKvBytesPerPage, kLookBack,
     Input::Partitions, Input::LogitPartitions, Symbol::Partitions},
    {Input::WindowKvSlots, Input::WindowPageTable, Symbol::WindowPoolPages, kWindowKvBytesPerPage,
     kWindowLookBack, Input::WindowPartitions, Input::WindowLogitPartitions,
     Symbol::WindowPartitions},
}};
// Those of a plan that keeps the contract.
std::span<const KvGroup> kvGroupsOf(const plan::Plan &plan);

// The buffer that the runtime reads after each step: a plan has one of these. Embeddings are rows
// after the last layer, for the same tokens as logits would be.
inline constexpr TensorRow kLogits = {"logits", ElementType::F32, Symbol::LogitRows, kVocabSize};
inline constexpr TensorRow kEmbeddings = {"embeddings", ElementType::F32, Symbol::LogitRows,
                                          kEmbeddingLength};
const TensorRow &outputOf(const plan::Plan &plan);
// The largest logits of each row and their tokens, of equal ones the lowest first, NaN before all
// numbers; of plans with kTopCount.
inline constexpr TensorRow kTopLogits = {"top_logits", ElementType::F32, Symbol::LogitRows,
                                         kTopCount};
inline constexpr TensorRow kTopTokens = {"top_tokens", ElementType::I32, Symbol::LogitRows,
                                         kTopCount};

// Of plans with this procedure, which have kTopCount: a step that may begin before the host has
// chosen the tokens of the step before. It takes these from the guesses of that step, and guesses
// its own.
inline constexpr const char *kAheadProcedure = "step_ahead";
// Of each token, the row of the step before whose guess it is; -1: it is in Input::TokenIds.
inline constexpr TensorRow kTokenSources = {"token_sources", ElementType::I32, Symbol::Tokens, {}};
// How a row's token is guessed: columns in the order of GuessColumn. TopK is 0 where it is not.
enum class GuessColumn : uint8_t {
  TopK,          // at most kTopCount
  TopP,          // share of the mass that stays; above 1: all of it
  LeastDistance, // of logits to the largest one: at most 0
  XtcThreshold,  // above 1: no XTC
  Temperature,   // above 0
  Uniform,       // in [0, 1]: where the draw falls
};
inline constexpr int64_t kGuessColumns = 6;
inline constexpr TensorRow kGuessRules = {"guess_rules", ElementType::F32, Symbol::LogitRows,
                                          kGuessColumns};
// Of each row of the newest step: the token, -1: none.
inline constexpr TensorRow kGuesses = {"guesses", ElementType::I32, kMaxStepTokens, {}};

// Texts that the runtime and the command line compare with what is asked for.
inline constexpr const char *kKvType = "kv_type";           // numeric/formats/kv_type.h
inline constexpr const char *kAskedOutput = "asked_output"; // numeric/precision.h; absent: usual
inline constexpr const char *kAskedActivations = "asked_activations"; // numeric/precision.h

// What only explain reads: properties, then texts.
inline constexpr const char *kLayers = "layers";
inline constexpr const char *kHeads = "heads";
inline constexpr const char *kKvHeads = "kv_heads";
inline constexpr const char *kHeadDim = "head_dim";
inline constexpr const char *kRopeDims = "rope_dims";
inline constexpr const char *kGraphOperations = "graph_operations"; // before any was fused
inline constexpr const char *kArchitecture = "architecture";
inline constexpr const char *kUnusedKeys = "unused_keys"; // of the model file, absent where none
inline constexpr const char *kRopeBase = "rope_base";
inline constexpr const char *kActivations =
    "activations"; // formats that matmuls take activations in

// Whether a plan that keeps the contract has states of sequences.
bool hasStates(const plan::Plan &plan);
// Whether such a plan has lists of partitions.
bool listsPartitions(const plan::Plan &plan);
// Whether such a plan has steps that begin ahead.
bool runsAhead(const plan::Plan &plan);
// Whether it has this row of kInputs.
bool hasInput(const plan::Plan &plan, const TensorRow &row);

// Whether a valid plan has the procedure, inputs, output and properties above, and no symbol to be
// bound but the ones above, all within their bounds. Corrupt, with what was found and expected.
// A symbol that no step needs may be absent.
Result<void> check(const plan::Plan &plan);

} // namespace sinter::contract
