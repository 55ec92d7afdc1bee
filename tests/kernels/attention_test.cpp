// Paged attention in the interpreter: against f64, and that a sequence's bits do not depend on its
// batch.
#include "kernels/run_support.h"
#include "tile/mlir_pch.h"

#include <functional>
#include <limits>
#include <map>

namespace sinter::kernels {
namespace {

constexpr int64_t kHeads = 2, kGroup = 3, kDim = 5, kPageRows = 4, kAllHeads = kHeads * kGroup;
constexpr float kScale = 0.4f;
const std::vector<float> kSlopes = {0.5f, 0.25f, 0.125f, 0, 1, 0.0625f};
const std::vector<float> kSinks = {-1, 0.5f, 2, -30, 0, 1};
const uint16_t kStale = 0x7c00; // an infinity left over in a pool

// A sequence with `length` stored positions whose last `rows` are asked for.
struct Sequence {
  int64_t length, rows;
  uint64_t seed;
};

// What scores and rows are subject to.
struct Rules {
  int64_t window = 0, chunk = 0; // 0: all earlier positions
  bool causal = true;            // else the whole sequence, or half a window to each side
  bool slopes = false, sinks = false;

  Settings settings() const {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    return {{"window", std::to_string(window)},
            {"chunk", std::to_string(chunk)},
            {"causal", flag(causal)},
            {"slopes", flag(slopes)},
            {"sinks", flag(sinks)}};
  }
};

// A ragged batch as the runtime lays it out.
struct Batch {
  Batch(const std::vector<Sequence> &sequences, int64_t queryTile) : sequences(sequences) {
    for (const Sequence &s : sequences)
      pagesPerSequence = std::max(pagesPerSequence, (s.length + kPageRows - 1) / kPageRows);
    int64_t pages = pagesPerSequence * count() + 1;
    keyCache.assign(pages * kHeads * kDim * kPageRows, kStale);
    valueCache.assign(keyCache.size(), kStale);
    table.assign(count() * pagesPerSequence, 0);
    for (int64_t s = 0; s < count(); ++s)
      addSequence(s, queryTile);
    out.assign(q.size(), 99.0f);
  }

  int64_t count() const { return static_cast<int64_t>(sequences.size()); }
  int64_t tokens() const { return static_cast<int64_t>(positions.size()); }

  void addSequence(int64_t s, int64_t queryTile) {
    const Sequence &seq = sequences[s];
    auto keys = randomFloats(seq.length * kHeads * kDim, seq.seed * 3);
    auto values = randomFloats(keys.size(), seq.seed * 3 + 1);
    auto queries = randomFloats(seq.rows * kHeads * kGroup * kDim, seq.seed * 3 + 2);
    // Pages in an order of their own, from the end of the pool.
    for (int64_t p = 0; p < pagesPerSequence; ++p)
      table[s * pagesPerSequence + p] =
          static_cast<int32_t>(pagesPerSequence * count() - p * count() - s);
    for (int64_t t = 0; t < seq.length; ++t)
      for (int64_t i = 0; i < kHeads * kDim; ++i)
        write(s, t, i, keys[t * kHeads * kDim + i], values[t * kHeads * kDim + i]);
    for (int64_t row = 0; row < seq.rows; row += queryTile) {
      blocks.push_back(static_cast<int32_t>(s));
      blocks.push_back(static_cast<int32_t>(tokens() + row));
      blocks.push_back(static_cast<int32_t>(std::min(queryTile, seq.rows - row)));
    }
    for (int64_t row = 0; row < seq.rows; ++row)
      positions.push_back(static_cast<int32_t>(seq.length - seq.rows + row));
    q.insert(q.end(), queries.begin(), queries.end());
    lengths.push_back(static_cast<int32_t>(seq.length));
  }

  void write(int64_t s, int64_t t, int64_t i, float key, float value) {
    int64_t page = table[s * pagesPerSequence + t / kPageRows], row = t % kPageRows;
    keyCache[(page * kHeads * kDim + i) * kPageRows + row] = f32ToF16(key);
    valueCache[((page * kHeads + i / kDim) * kPageRows + row) * kDim + i % kDim] = f32ToF16(value);
  }
  double key(int64_t s, int64_t t, int64_t i) const {
    int64_t page = table[s * pagesPerSequence + t / kPageRows], row = t % kPageRows;
    return f16ToF32(keyCache[(page * kHeads * kDim + i) * kPageRows + row]);
  }
  double value(int64_t s, int64_t t, int64_t i) const {
    int64_t page = table[s * pagesPerSequence + t / kPageRows], row = t % kPageRows;
    return f16ToF32(valueCache[((page * kHeads + i / kDim) * kPageRows + row) * kDim + i % kDim]);
  }

  static Settings shaped(Settings settings) {
    settings.insert(
        {{"kv_heads", "2"}, {"group_heads", "3"}, {"head_dim", "5"}, {"page_rows", "4"}});
    return settings;
  }
  // What kernels take from q to positions.
  std::vector<Argument> inputs() {
    int64_t pages = pagesPerSequence * count() + 1;
    return {viewOf(q, {tokens(), kAllHeads, kDim}),
            viewOf(keyCache, {pages, kHeads, kDim, kPageRows}),
            viewOf(valueCache, {pages, kHeads, kPageRows, kDim}),
            viewOf(table, {count(), pagesPerSequence}),
            viewOf(blocks, {static_cast<int64_t>(blocks.size()) / 3, 3}),
            viewOf(lengths, {count()}),
            viewOf(positions, {tokens(), 1})};
  }
  Argument output() { return viewOf(out, {tokens(), kAllHeads, kDim}); }

  // What follows the other arguments, as the settings say.
  static void addIf(const Settings &settings, const char *flag, const std::vector<float> &numbers,
                    std::vector<Argument> &arguments) {
    if (auto found = settings.find(flag); found != settings.end() && found->second == "true")
      arguments.push_back(viewOf(numbers, {1, kAllHeads}));
  }
  void run(const Settings &settings) {
    std::vector<Argument> arguments = inputs();
    arguments.insert(arguments.end(), {output(), tile::f32Argument(kScale)});
    addIf(settings, "slopes", kSlopes, arguments);
    addIf(settings, "sinks", kSinks, arguments);
    runKernel("attention", shaped(settings), arguments);
  }

  // The same by programs of `partitionSteps` steps each; `spans` of them, some of which may be
  // empty.
  void runInPartitions(Settings settings, int64_t partitionSteps, int64_t partitions) {
    settings = shaped(std::move(settings));
    settings["partition_steps"] = std::to_string(partitionSteps);
    std::vector<float> acc(tokens() * kAllHeads * partitions * kDim, 99.0f);
    std::vector<float> high(tokens() * kAllHeads * partitions, 99.0f), total = high;
    std::vector<Argument> sums = {viewOf(acc, {tokens(), kAllHeads, partitions, kDim}),
                                  viewOf(high, {tokens(), kAllHeads, partitions}),
                                  viewOf(total, {tokens(), kAllHeads, partitions})};
    std::vector<Argument> arguments = inputs(), rows(arguments.begin() + 4, arguments.end());
    arguments.insert(arguments.end(), sums.begin(), sums.end());
    arguments.push_back(tile::f32Argument(kScale));
    addIf(settings, "slopes", kSlopes, arguments);
    runKernel("attention_partitions", settings, arguments);
    sums.insert(sums.end(), rows.begin(), rows.end());
    sums.push_back(output());
    addIf(settings, "sinks", kSinks, sums);
    runKernel("attention_combine", settings, sums);
    expectSameCombined("attention_combine", settings, sums);
    expectSameListed(settings, partitionSteps * kPageRows * numberOf(settings, "step_pages", 1));
  }

  static int64_t numberOf(const Settings &settings, const char *name, int64_t otherwise) {
    const auto found = settings.find(name);
    int64_t number = otherwise;
    if (found != settings.end())
      EXPECT_FALSE(llvm::StringRef(found->second).getAsInteger(10, number)) << found->second;
    return number;
  }

  // The partitions of all query tiles, those that begin before `firstSeen` of a tile left out, and
  // a row that is not used; the number of slots.
  int64_t list(int64_t least, const std::function<int64_t(int64_t tile)> &firstSeen,
               int64_t most = INT32_MAX) {
    int64_t slots = 0;
    partitions.clear();
    std::vector<int64_t> bases;
    for (size_t tile = 0; tile < blocks.size() / 3; ++tile) {
      const int32_t *block = &blocks[tile * 3];
      const int64_t step = most * kPageRows, length = positions[block[1] + block[2] - 1] + 1;
      const int64_t keys = std::max(least, (length + step - 1) / step * kPageRows);
      const int64_t first = firstSeen(tile) / keys;
      bases.push_back(slots - first * block[2]);
      for (int64_t from = first * keys; from < lengths[block[0]]; from += keys, slots += block[2])
        for (int64_t value :
             {int64_t(block[0]), int64_t(block[1]), int64_t(block[2]), from, slots, int64_t(0)})
          partitions.push_back(static_cast<int32_t>(value));
    }
    partitions.insert(partitions.end(), 6, 0);
    for (size_t tile = 0; tile < bases.size(); ++tile)
      partitions[tile * 6 + 5] = static_cast<int32_t>(bases[tile]);
    return slots;
  }

  // By programs of listed partitions; slots that none of them fills hold NaN.
  void expectSameListed(const Settings &settings, int64_t keys) {
    const std::vector<float> expected = out;
    const auto causal = settings.find("causal");
    const bool windowed = numberOf(settings, "chunk", 0) == 0 &&
                          (causal == settings.end() || causal->second == "true");
    const int64_t back = windowed ? numberOf(settings, "window", 0) : 0;
    runListed(settings, list(keys, [&](int64_t tile) {
                return back ? std::max<int64_t>(0, positions[blocks[tile * 3 + 1]] - back + 1) : 0;
              }));
    EXPECT_EQ(out, expected);
    expectSameCombined("attention_combine_ragged", settings, listedSums);
  }

  // By programs of the listed partitions, which have so many slots.
  void runListed(const Settings &settings, int64_t slots) {
    const int64_t count = static_cast<int64_t>(partitions.size()) / 6;
    acc.assign(slots * kAllHeads * kDim, NAN);
    high.assign(slots * kAllHeads, NAN);
    total = high;
    std::vector<Argument> sums = {viewOf(acc, {slots, kAllHeads, kDim}),
                                  viewOf(high, {slots, kAllHeads}),
                                  viewOf(total, {slots, kAllHeads})};
    std::vector<Argument> arguments = inputs(), rows(arguments.begin() + 4, arguments.end());
    arguments[4] = viewOf(partitions, {count, 6});
    arguments.insert(arguments.end(), sums.begin(), sums.end());
    arguments.push_back(tile::f32Argument(kScale));
    addIf(settings, "slopes", kSlopes, arguments);
    runKernel("attention_partitions_ragged", settings, arguments);
    sums.insert(sums.end(), rows.begin(), rows.end());
    sums.push_back(viewOf(partitions, {count, 6}));
    out.assign(out.size(), 99.0f);
    sums.push_back(output());
    addIf(settings, "sinks", kSinks, sums);
    runKernel("attention_combine_ragged", settings, sums);
    listedSums = std::move(sums);
  }

  // By programs of one head each that read several partitions together.
  void expectSameCombined(const char *kernel, Settings settings,
                          const std::vector<Argument> &arguments) {
    const std::vector<float> expected = out;
    settings["kv_heads"] = std::to_string(kAllHeads);
    settings["group_heads"] = "1";
    for (const auto &[together, columns] :
         {std::pair{"1", "0"}, {"2", "0"}, {"8", "0"}, {"8", "2"}}) {
      out.assign(out.size(), 99.0f);
      settings["combine_partitions"] = together;
      settings["combine_columns"] = columns;
      runKernel(kernel, settings, arguments);
      // Several of one row are a sum of their own.
      if (together == std::string_view("1") || numberOf(settings, "query_tile", 1) > 1)
        EXPECT_EQ(out, expected) << together << " of " << columns << " columns";
      else
        expectClose(out, std::vector<double>(expected.begin(), expected.end()), 2e-6, 2e-7);
    }
    out = expected;
  }

  // Row `token` of sequence s attends [low, high).
  std::vector<double> row(int64_t s, int64_t token, int64_t head, int64_t low, int64_t high,
                          const Rules &rules) const {
    std::vector<double> weights, result(kDim, 0.0);
    double sum = rules.sinks ? std::exp(kSinks[head]) : 0;
    int64_t base = head / kGroup * kDim;
    for (int64_t t = low; t < high; ++t) {
      double score = 0;
      for (int64_t i = 0; i < kDim; ++i)
        score += q[(token * kHeads * kGroup + head) * kDim + i] * key(s, t, base + i) * kScale;
      if (rules.slopes)
        score -= kSlopes[head] * static_cast<double>(std::abs(positions[token] - t));
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int64_t t = low; t < high; ++t)
      for (int64_t i = 0; i < kDim; ++i)
        result[i] += weights[t - low] / sum * value(s, t, base + i);
    return result;
  }

  std::vector<double> reference(const Rules &rules) const {
    std::vector<double> expected;
    int64_t token = 0;
    for (int64_t s = 0; s < count(); ++s)
      for (int64_t r = 0; r < sequences[s].rows; ++r, ++token)
        for (int64_t head = 0; head < kHeads * kGroup; ++head) {
          int64_t high = rules.causal ? positions[token] + 1 : sequences[s].length, low = 0;
          const int64_t half = rules.window / 2; // of a window both ways
          if (rules.window)
            low = std::max<int64_t>(0, positions[token] - (rules.causal ? rules.window - 1 : half));
          if (rules.window && !rules.causal)
            high = std::min(high, positions[token] + half + 1);
          if (rules.chunk)
            low = positions[token] / rules.chunk * rules.chunk;
          for (double value : row(s, token, head, low, high, rules))
            expected.push_back(value);
        }
    return expected;
  }
  // `window` 0: all earlier positions; not causal: the whole sequence.
  std::vector<double> reference(int64_t window, bool causal) const {
    return reference(Rules{.window = window, .causal = causal});
  }

  std::vector<Sequence> sequences;
  int64_t pagesPerSequence = 1;
  std::vector<uint16_t> keyCache, valueCache;
  std::vector<float> q, out;
  std::vector<float> acc, high, total; // of listed partitions
  std::vector<Argument> listedSums;    // what combined them
  std::vector<int32_t> table, blocks, lengths, positions, partitions;
};

// One position, whole pages, one more and one less, prompts of several blocks, continued prompts.
const std::vector<Sequence> kRagged = {{1, 1, 1}, {4, 4, 2},   {5, 1, 3},
                                       {3, 2, 4}, {13, 13, 5}, {17, 6, 6}};

TEST(Attention, RowsOfARaggedBatchAttendTheirOwnPast) {
  Batch batch(kRagged, 1);
  batch.run({{"query_tile", "1"}});
  expectClose(batch.out, batch.reference(0, true), 2e-5, 2e-6);
}

// Pools of blocks, and the same numbers as f32.
struct BlockCaches {
  static constexpr int64_t kPages = 3, kBlockDim = 64,
                           kElements = kPages * kHeads * kPageRows * kBlockDim;
  std::vector<uint8_t> keys, values;
  std::vector<float> plainKeys, plainValues;

  BlockCaches() {
    fill(11, keys, plainValues);
    plainKeys.resize(kElements); // a key's elements lie a page's rows apart
    for (int64_t at = 0; at < kElements; ++at) {
      int64_t dim = at % kBlockDim, row = at / kBlockDim % kPageRows,
              head = at / kBlockDim / kPageRows;
      plainKeys[(head * kBlockDim + dim) * kPageRows + row] = plainValues[at];
    }
    fill(12, values, plainValues);
  }
  static void fill(uint64_t seed, std::vector<uint8_t> &blocks, std::vector<float> &numbers) {
    const BlockFormat &format = blockFormat(TensorType::Q8_0);
    numbers = randomFloats(kElements, seed);
    blocks.resize(*format.rowBytes(kElements));
    ASSERT_TRUE(quantizeRow(format, numbers, blocks));
    dequantizeRow(format, blocks, numbers);
  }
};

// Ten positions on three pages, of which the last two are asked for.
std::vector<float> attendCaches(const std::string &cache, const Argument &keys,
                                const Argument &values) {
  constexpr int64_t kTokens = 2, kAll = kHeads * kGroup, kBlockDim = BlockCaches::kBlockDim;
  auto q = randomFloats(kTokens * kAll * kBlockDim, 5);
  std::vector<float> out(q.size());
  std::vector<int32_t> table = {2, 0, 1}, blocks = {0, 0, 2}, lengths = {10}, positions = {8, 9};
  runKernel("attention",
            {{"cache", cache},
             {"kv_heads", "2"},
             {"group_heads", "3"},
             {"head_dim", "64"},
             {"page_rows", "4"},
             {"query_tile", "2"}},
            {viewOf(q, {kTokens, kAll, kBlockDim}), keys, values, viewOf(table, {1, 3}),
             viewOf(blocks, {1, 3}), viewOf(lengths, {1}), viewOf(positions, {kTokens, 1}),
             viewOf(out, {kTokens, kAll, kBlockDim}), tile::f32Argument(kScale)});
  return out;
}

TEST(Attention, PoolsOfBlocksGiveTheBitsOfTheNumbersThatTheyHold) {
  BlockCaches caches;
  const std::vector<int64_t> byRow = {BlockCaches::kPages, kHeads, kPageRows,
                                      BlockCaches::kBlockDim};
  std::vector<float> blocks =
      attendCaches("q8_0", viewOf(caches.keys, byRow), viewOf(caches.values, byRow));
  std::vector<float> plain = attendCaches(
      "f32",
      viewOf(caches.plainKeys, {BlockCaches::kPages, kHeads, BlockCaches::kBlockDim, kPageRows}),
      viewOf(caches.plainValues, byRow));
  EXPECT_EQ(blocks, plain);
  EXPECT_NE(blocks, std::vector<float>(blocks.size(), 0.0f));
}

TEST(Attention, BlocksOfQueriesGiveTheSameBitsAsSingleRows) {
  Batch single(kRagged, 1), blocked(kRagged, 4);
  single.run({{"query_tile", "1"}});
  blocked.run({{"query_tile", "4"}});
  ASSERT_NE(single.blocks.size(), blocked.blocks.size());
  EXPECT_EQ(single.out, blocked.out);
}

TEST(Attention, StepsOfSeveralPagesAttendTheSamePositions) {
  for (int64_t window : {0, 3, 14}) {
    Batch batch(kRagged, 4);
    batch.run({{"query_tile", "4"}, {"step_pages", "3"}, {"window", std::to_string(window)}});
    expectClose(batch.out, batch.reference(window, true), 2e-5, 2e-6);
  }
}

TEST(Attention, ShortStepsGiveTheBitsOfWholeOnes) {
  for (const char *partitions : {"0", "2"})
    for (const char *window : {"0", "3", "9"})
      for (const char *causal : {"true", "false"})
        for (const char *keys : {"1", "2", "3", "4"}) {
          Batch whole(kRagged, 4), inShort = whole;
          Settings settings = {{"query_tile", "4"},
                               {"step_pages", "2"},
                               {"partition_steps", partitions},
                               {"window", window},
                               {"causal", causal}};
          whole.run(settings);
          settings["short_step"] = keys;
          inShort.run(settings);
          EXPECT_EQ(whole.out, inShort.out)
              << keys << " keys, " << partitions << " spans, " << window;
        }
}

TEST(Attention, SpansSummedUpApartGiveTheBitsOfSpansTogether) {
  for (int64_t steps : {1, 2, 3})
    for (int64_t rows : {1, 4})
      for (int64_t window : {0, 3, 9}) {
        Batch together(kRagged, rows), apart = together;
        const Settings settings = {{"query_tile", std::to_string(rows)},
                                   {"window", std::to_string(window)}};
        Settings inPartitions = settings;
        inPartitions["partition_steps"] = std::to_string(steps);
        together.run(inPartitions);
        apart.runInPartitions(settings, steps, /*partitions=*/6);
        EXPECT_EQ(together.out, apart.out) << steps << " steps, " << rows << " rows, " << window;
        expectClose(apart.out, apart.reference(window, true), 2e-5, 2e-6);
      }
}

// A sequence of 17 keys has 3 partitions of 8 in place of 5 of 4; one of 5 has 2 of 4.
TEST(Attention, LongSequencesHaveLongerListedPartitions) {
  Batch batch(kRagged, 1);
  const Settings settings =
      Batch::shaped({{"query_tile", "1"}, {"partition_steps", "1"}, {"most_partitions", "3"}});
  const auto fromFirst = [](int64_t) { return 0; };
  const int64_t equal = batch.list(kPageRows, fromFirst);
  const int64_t slots = batch.list(kPageRows, fromFirst, /*most=*/3);
  EXPECT_LT(slots, equal);
  batch.runListed(settings, slots);
  expectClose(batch.out, batch.reference(0, true), 2e-5, 2e-6);
}

TEST(Attention, OneSpanOfAllKeysGivesTheBitsOfNone) {
  Batch whole(kRagged, 2), apart = whole;
  whole.run({{"query_tile", "2"}});
  apart.runInPartitions({{"query_tile", "2"}}, /*partitionSteps=*/5,
                        /*partitions=*/2); // 20 positions
  EXPECT_EQ(whole.out, apart.out);
}

TEST(Attention, RowsHaveTheSameBitsAmongOthersWhereKeysAreInSpans) {
  Batch single(kRagged, 1), blocked(kRagged, 4);
  single.run({{"query_tile", "1"}, {"partition_steps", "2"}});
  blocked.run({{"query_tile", "4"}, {"partition_steps", "2"}});
  EXPECT_EQ(single.out, blocked.out);
}

TEST(Attention, ASequenceHasTheSameBitsAloneAndInABatch) {
  Batch batch(kRagged, 4), alone({kRagged[4]}, 4);
  batch.run({{"query_tile", "4"}});
  alone.run({{"query_tile", "4"}});
  size_t row = kHeads * kGroup * kDim, first = (1 + 4 + 1 + 2) * row;
  std::vector<float> part(batch.out.begin() + first, batch.out.begin() + first + 13 * row);
  EXPECT_EQ(part, alone.out);
}

TEST(Attention, AWindowForgetsWhatLiesFurtherBack) {
  Batch batch(kRagged, 4);
  batch.run({{"query_tile", "4"}, {"window", "3"}});
  expectClose(batch.out, batch.reference(3, true), 2e-5, 2e-6);
}

// Each rule with those that change what it must be careful of.
const std::vector<Rules> kRules = {{.chunk = 3},
                                   {.chunk = 8},
                                   {.slopes = true},
                                   {.causal = false, .slopes = true},
                                   {.window = 1, .causal = false},
                                   {.window = 6, .causal = false},
                                   {.window = 9, .causal = false, .slopes = true, .sinks = true},
                                   {.sinks = true},
                                   {.window = 5, .slopes = true, .sinks = true},
                                   {.chunk = 6, .slopes = true, .sinks = true}};

TEST(Attention, RowsAttendByTheRulesOfScoresAndSinks) {
  for (const Rules &rules : kRules)
    for (int64_t rows : {1, 4}) {
      Batch batch(kRagged, rows);
      Settings settings = rules.settings();
      settings["query_tile"] = std::to_string(rows);
      batch.run(settings);
      expectClose(batch.out, batch.reference(rules), 2e-5, 2e-6);
    }
}

TEST(Attention, RulesGiveTheSameBitsInPartitionsInShortStepsAndAlone) {
  for (const Rules &rules : kRules) {
    Settings settings = rules.settings();
    Batch single(kRagged, 1), blocked(kRagged, 4), inShort = blocked, apart = blocked;
    for (auto [batch, rows] : {std::pair(&single, "1"), {&blocked, "4"}, {&inShort, "4"}}) {
      settings["query_tile"] = rows;
      settings["partition_steps"] = "2";
      if (batch == &inShort)
        settings["short_step"] = "2";
      batch->run(settings);
    }
    settings.erase("short_step");
    apart.runInPartitions(settings, /*partitionSteps=*/2, /*partitions=*/3);
    EXPECT_EQ(single.out, blocked.out);
    EXPECT_EQ(single.out, inShort.out);
    EXPECT_EQ(single.out, apart.out);
    expectClose(single.out, single.reference(rules), 2e-5, 2e-6);
  }
}

// A page that lies before the step in which every row's window begins may have other rows by now.
TEST(Attention, PagesThatLeftTheWindowAreNotRead) {
  for (const Rules &rules : {Rules{.window = 3}, Rules{.chunk = 4}})
    for (int64_t stepPages : {1, 2}) {
      Batch batch({{17, 2, 6}}, 2);
      const std::vector<double> expected = batch.reference(rules);
      for (int64_t page = 0; page < 4 - stepPages; ++page)
        batch.table[page] = 0; // of infinities
      Settings settings = rules.settings();
      settings["query_tile"] = "2";
      settings["step_pages"] = std::to_string(stepPages);
      for (const char *steps : {"0", "2"}) {
        settings["partition_steps"] = steps;
        batch.run(settings);
        expectClose(batch.out, expected, 2e-5, 2e-6);
      }
      batch.runInPartitions(settings, /*partitionSteps=*/2, /*partitions=*/3);
      expectClose(batch.out, expected, 2e-5, 2e-6);
    }
}

TEST(Attention, ValuesOfAnotherSizeAreWeightedByTheSameScores) {
  constexpr int64_t kValueDim = 3;
  Batch batch(kRagged, 4);
  batch.run({{"query_tile", "4"}});
  const int64_t pages = batch.pagesPerSequence * batch.count() + 1;
  std::vector<uint16_t> values; // the first elements of each
  for (size_t at = 0; at < batch.valueCache.size(); at += kDim)
    values.insert(values.end(), batch.valueCache.begin() + at,
                  batch.valueCache.begin() + at + kValueDim);
  std::vector<float> out(batch.tokens() * kAllHeads * kValueDim, 99.0f), expected;
  for (size_t at = 0; at < batch.out.size(); at += kDim)
    expected.insert(expected.end(), batch.out.begin() + at, batch.out.begin() + at + kValueDim);
  std::vector<Argument> arguments = batch.inputs();
  arguments[2] = viewOf(values, {pages, kHeads, kPageRows, kValueDim});
  arguments.insert(arguments.end(), {viewOf(out, {batch.tokens(), kAllHeads, kValueDim}),
                                     tile::f32Argument(kScale)});
  runKernel("attention", Batch::shaped({{"query_tile", "4"}, {"value_dim", "3"}}), arguments);
  EXPECT_EQ(out, expected);
}

TEST(Attention, WithoutCausalityRowsAttendTheWholeSequence) {
  Batch batch(kRagged, 4);
  batch.run({{"query_tile", "4"}, {"causal", "false"}});
  expectClose(batch.out, batch.reference(0, false), 2e-5, 2e-6);
}

TEST(Attention, AnUnusedBlockWritesNothing) {
  Batch batch({{5, 2, 1}}, 2);
  batch.blocks.insert(batch.blocks.end(), {0, 0, 0});
  auto expected = batch.reference(0, true);
  batch.run({{"query_tile", "2"}});
  expectClose(batch.out, expected, 2e-5, 2e-6);
}

} // namespace
} // namespace sinter::kernels
