// Lays sequences of any lengths side by side as the inputs of one step.
#include "llm/batch.h"

#include "base/check.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace sinter {
namespace {

// A step keeps all pages that it writes beside those that it reads.
template <typename Who> Result<void> checkRings(const BatchPart &part, const Who &who) {
  const PagePool &pool = part.pages->pool();
  const uint64_t end = uint64_t{part.position} + part.tokens.size();
  for (size_t i = 0; i < pool.groupCount(); ++i) {
    const KvGroupPages &group = pool.group(i);
    const uint64_t pages =
        (end - 1) / pool.pageRows() + 1 - group.firstPage(part.position, pool.pageRows());
    if (group.isRing() && pages > group.sequencePages)
      return fail(Code::InvalidArgument,
                  who() + " takes " + std::to_string(pages) +
                      " pages of layers with a window for " + std::to_string(part.tokens.size()) +
                      " tokens, expected at most " + std::to_string(group.sequencePages));
  }
  return {};
}

// Pages of the table's row for a part, by their numbers in the sequence.
uint64_t rowPages(const BatchPart &part) {
  const uint64_t end = uint64_t{part.position} + part.tokens.size();
  return std::max<uint64_t>(part.pages->pages().size(),
                            (end - 1) / part.pages->pool().pageRows() + 1);
}

// A table as wide as a long context would be mostly zeros, and all of it is written in each step
// (256 sequences of at most 131,072 tokens: 2 MiB). Few widths, as a device may record a step of
// each.
uint32_t tableWidth(std::span<const BatchPart> parts, const BatchShape &shape) {
  constexpr uint64_t kLeast = 128;
  uint64_t pages = kLeast;
  for (const BatchPart &part : parts)
    pages = std::max(pages, rowPages(part));
  return static_cast<uint32_t>(std::min<uint64_t>(std::bit_ceil(pages), shape.pagesPerSequence));
}

Result<void> checkPart(const BatchPart &part, size_t index, const BatchShape &shape) {
  const auto who = [&] { return "sequence " + std::to_string(index) + " of the batch"; };
  if (part.tokens.empty())
    return fail(Code::InvalidArgument, who() + " has no tokens");
  for (TokenId id : part.tokens)
    if (id < 0 || static_cast<uint32_t>(id) >= shape.vocabSize)
      return fail(Code::InvalidArgument, who() + " has token " + std::to_string(id) +
                                             ", expected one below " +
                                             std::to_string(shape.vocabSize));
  if (part.phase == Phase::Decode && part.tokens.size() != 1)
    return fail(Code::InvalidArgument, who() + " has " + std::to_string(part.tokens.size()) +
                                           " decode tokens, expected 1");
  const uint64_t end = uint64_t{part.position} + part.tokens.size();
  if (end > uint64_t{std::numeric_limits<int32_t>::max()} || end > part.pages->capacity())
    return fail(Code::InvalidArgument, who() + " reaches position " + std::to_string(end) +
                                           ", its pages hold " +
                                           std::to_string(part.pages->capacity()));
  const uint64_t pages = rowPages(part);
  if (pages > shape.pagesPerSequence)
    return fail(Code::InvalidArgument, who() + " has " + std::to_string(pages) +
                                           " pages, expected at most " +
                                           std::to_string(shape.pagesPerSequence));
  return checkRings(part, who);
}

void addTokens(const BatchPart &part, Batch &batch) {
  for (size_t i = 0; i < part.tokens.size(); ++i) {
    batch.tokens.push_back(part.tokens[i]);
    batch.positions.push_back(static_cast<int32_t>(part.position + i));
    for (size_t group = 0; group < part.pages->pool().groupCount(); ++group)
      batch.kv[group].slots.push_back(part.pages->slot(uint64_t{part.position} + i, group));
  }
}

// A sequence's row of a page table: all of its pages, or of a ring those that the step reads.
void fillRow(const BatchPart &part, size_t group, std::span<int32_t> row) {
  const KvGroupPages &shape = part.pages->pool().group(group);
  const auto indexOf = [](PageId page) { return static_cast<int32_t>(page.index); };
  if (!shape.isRing()) {
    std::ranges::transform(part.pages->pages(group), row.begin(), indexOf);
    return;
  }
  const uint32_t pageRows = part.pages->pool().pageRows();
  const uint64_t last = uint64_t{part.position} + part.tokens.size() - 1;
  for (uint64_t number = shape.firstPage(part.position, pageRows); number <= last / pageRows;
       ++number)
    row[number] = indexOf(part.pages->page(number, group));
}

void addPages(std::span<const BatchPart> parts, uint32_t width, Batch &batch) {
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t group = 0; group < parts[i].pages->pool().groupCount(); ++group) {
      std::vector<int32_t> &table = batch.kv[group].pageTable;
      table.resize(parts.size() * width, 0);
      fillRow(parts[i], group, std::span(table).subspan(i * width, width));
    }
}

// Rows [first, first + count) of a sequence, in blocks of at most `queryTile`.
void addBlocks(int32_t sequence, int32_t first, int32_t count, uint32_t queryTile,
               std::vector<int32_t> &blocks) {
  const int64_t end = int64_t{first} + count;
  for (int64_t begin = first; begin < end; begin += queryTile)
    blocks.insert(blocks.end(), {sequence, static_cast<int32_t>(begin),
                                 static_cast<int32_t>(std::min<int64_t>(queryTile, end - begin))});
}

// The state of a sequence's first token is none.
void addState(const BatchPart &part, int32_t firstToken, std::vector<int32_t> &spans) {
  if (!part.pages->hasState())
    return;
  spans.insert(spans.end(),
               {part.position == 0 ? -1 : part.pages->stateToRead(), part.pages->stateToWrite(),
                firstToken, static_cast<int32_t>(part.tokens.size())});
}

void addLogitRows(const BatchPart &part, int32_t sequence, int32_t firstToken, uint32_t queryTile,
                  LogitRows &rows) {
  const int32_t count = static_cast<int32_t>(part.tokens.size());
  if (part.logits == LogitsWanted::None)
    return;
  const int32_t begin = part.logits == LogitsWanted::Last ? count - 1 : 0,
                end = part.logits == LogitsWanted::First ? 1 : count;
  rows.add(sequence, firstToken + begin, static_cast<int32_t>(part.position) + begin, end - begin,
           queryTile);
}

} // namespace

void LogitRows::add(int32_t sequence, int32_t firstToken, int32_t position, int32_t count,
                    uint32_t queryTile) {
  addBlocks(sequence, static_cast<int32_t>(tokens.size()), count, queryTile, blocks);
  for (int32_t i = 0; i < count; ++i) {
    tokens.push_back(firstToken + i);
    positions.push_back(position + i);
  }
}

void Batch::clear() {
  pagesPerSequence = 0;
  phase = Phase::Prefill;
  for (auto *list : {&tokens, &positions, &kvLengths, &blocks, &stateSpans, &logitRows.tokens,
                     &logitRows.positions, &logitRows.blocks})
    list->clear();
  for (KvPlaces &places : kv) {
    places.slots.clear();
    places.pageTable.clear();
  }
}

Result<void> buildBatch(std::span<const BatchPart> parts, const BatchShape &shape, Batch &batch) {
  SINTER_CHECK(shape.queryTile >= 1 && shape.pagesPerSequence >= 1);
  batch.clear();
  uint64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    SINTER_TRY(checkPart(parts[i], i, shape));
    if (parts[i].phase != parts[0].phase)
      return fail(Code::InvalidArgument, "sequences 0 and " + std::to_string(i) +
                                             " of the batch are in different phases, expected "
                                             "prefill steps or decode steps");
    if (parts[i].pages->hasState() != parts[0].pages->hasState())
      return fail(Code::InvalidArgument, "sequences 0 and " + std::to_string(i) +
                                             " of the batch are with and without a state");
    if (parts[i].pages->pool().groupCount() != parts[0].pages->pool().groupCount())
      return fail(Code::InvalidArgument,
                  "sequences 0 and " + std::to_string(i) +
                      " of the batch are with and without pages of layers with a window");
    total += parts[i].tokens.size();
  }
  if (total > uint64_t{std::numeric_limits<int32_t>::max()})
    return fail(Code::InvalidArgument, "a batch of " + std::to_string(total) + " tokens");
  batch.pagesPerSequence = tableWidth(parts, shape);
  batch.phase = parts.empty() ? Phase::Prefill : parts[0].phase;
  addPages(parts, batch.pagesPerSequence, batch);
  for (size_t i = 0; i < parts.size(); ++i) {
    const BatchPart &part = parts[i];
    const int32_t firstToken = static_cast<int32_t>(batch.tokens.size());
    addTokens(part, batch);
    batch.kvLengths.push_back(static_cast<int32_t>(part.position + part.tokens.size()));
    const auto sequence = static_cast<int32_t>(i);
    addBlocks(sequence, firstToken, static_cast<int32_t>(part.tokens.size()), shape.queryTile,
              batch.blocks);
    addState(part, firstToken, batch.stateSpans);
    addLogitRows(part, sequence, firstToken, shape.queryTile, batch.logitRows);
  }
  return {};
}

int64_t longestOf(const Batch &batch, const LogitRows &rows) {
  const bool single = batch.tokenCount() == batch.blockCount(),
             singleLogits = rows.count() > 0 && rows.count() == rows.blockCount();
  if (!single && !singleLogits)
    return 0;
  int32_t most = 1;
  for (const int32_t length : batch.kvLengths)
    most = std::max(most, length);
  return int64_t(std::bit_ceil(static_cast<uint32_t>(most)));
}

} // namespace sinter
