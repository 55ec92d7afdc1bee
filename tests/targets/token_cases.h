// Conformance cases of kernels on rows of tokens: embeddings, rotary positions, cache writes and
// attention over ragged batches.
#pragma once

#include "kernels/attention.h"
#include "targets/kernel_cases.h"

namespace sinter::targets::cpu {

inline void setScalar(LaunchArguments &arguments, const std::string &name, float value) {
  argumentNamed(arguments, name).scalar = std::bit_cast<int32_t>(value);
}

// Sets a dense view of i32.
inline void setIntegers(LaunchArguments &arguments, const std::string &name,
                        const std::vector<int32_t> &values) {
  LaunchArgument &a = argumentNamed(arguments, name);
  forEachElement(a, [&](int64_t at, int64_t number) {
    setElement(a.view().getElementType(), a.bytes, at, values.at(number));
  });
}

// ---- embeddings ----

// Ids of all of the table's rows and two beyond either end, the last row always among them.
inline void prepareEmbed(LaunchArguments &arguments, const Extents &extents, Random &random) {
  auto rows = static_cast<int32_t>(extents.at("V"));
  std::vector<int32_t> ids(extents.at("T"));
  for (int32_t &id : ids)
    id = static_cast<int32_t>(random() % static_cast<uint32_t>(rows + 4)) - 2;
  if (!ids.empty())
    ids.back() = rows - 1;
  setIntegers(arguments, "ids", ids);
}

inline KernelCase embedCase(const std::string &table, int64_t columns) {
  bool plain = table.front() != 'q';
  KernelCase c{"embed_" + table + "_" + sizeText({columns}),
               "embed",
               {{"table", table}, {"block_columns", std::to_string(columns)}},
               {{"ids", {"T"}}, {"table", {"V", "K"}}, {"out", {"T", "K"}}},
               {{"T", {0, 1, 5}},
                {"V", {0, 1, 7}},
                {"K", plain ? oddExtents(columns) : blockExtents(columns)}},
               {0, 0}};
  c.prepare = prepareEmbed;
  return c;
}

// ---- pages ----

// Rows of pages of `pageRows`, page by page; some pages do not exist.
inline KernelCase pagesCase(const std::string &type, int64_t pageRows) {
  KernelCase c{
      "pages_" + type + "_" + sizeText({pageRows}),
      "pages",
      {},
      {{"index", {"N"}}, {"pages", {"P", std::to_string(pageRows), "K"}}, {"out", {"T", "K"}}},
      {{"N", {0, 1, 5}}, {"P", {0, 1, 6}}, {"K", {1, 33, 64}}},
      {0, 0}};
  c.derive = [pageRows](Extents &extents) { extents["T"] = extents.at("N") * pageRows; };
  c.build = [type, pageRows](kernel::KernelBuilder &k) {
    using namespace kernel;
    const Element element = type == "f16" ? F16 : F32;
    View index = k.in("index", I32, {dyn}), pages = k.in("pages", element, {dyn, pageRows, dyn});
    View out = k.out("out", element, {dyn, dyn});
    constexpr int64_t kRows = 3, kColumns = 32;
    k.grid(ceilDiv(out.dim(1), kColumns), ceilDiv(out.dim(0), kRows));
    Scalar row = k.programId(1) * kRows, column = k.programId(0) * kColumns;
    store(out, {row, column}, load(gather(pages, index), {row, column}, {kRows, kColumns}));
  };
  return c;
}

// ---- rotary positions ----

// Positions of long contexts, and some that no model has.
inline void preparePositions(LaunchArguments &arguments, const Extents &extents, Random &random) {
  std::vector<int32_t> positions(extents.at("T"));
  for (int32_t &position : positions)
    position = static_cast<int32_t>(random() % (random() % 4 == 0 ? 1 << 20 : 2048));
  setIntegers(arguments, "positions", positions);
}

inline KernelCase ropeTableCase(int64_t pairs, int64_t blockRows) {
  std::string count = std::to_string(pairs), rows = std::to_string(blockRows);
  KernelCase c{"rope_table_" + count + "_" + rows,
               "rope_table",
               {{"pairs", count}, {"block_rows", rows}},
               {{"positions", {"T", "1"}}, {"frequencies", {"F"}}, {"out", {"T", "2", count}}},
               {{"T", oddExtents(blockRows)}, {"F", oddExtents(pairs)}},
               {0, 2e-6}}; // sines and cosines of both are good to a few units of 1
  c.prepare = preparePositions;
  return c;
}

// With divisors and magnitudes of each pair. Positions are few: an angle's last bit counts.
inline KernelCase scaledRopeTableCase(int64_t pairs) {
  std::string count = std::to_string(pairs);
  KernelCase c{"rope_table_scaled_" + count,
               "rope_table",
               {{"pairs", count}, {"divided", "true"}, {"scaled", "true"}},
               {{"positions", {"T", "1"}},
                {"frequencies", {count}},
                {"divisors", {count}},
                {"magnitudes", {count}},
                {"out", {"T", "2", count}}},
               {{"T", {0, 1, 5}}},
               {0, 2e-5}};
  c.prepare = [pairs](LaunchArguments &arguments, const Extents &extents, Random &random) {
    std::vector<int32_t> positions(extents.at("T")), divisors(pairs);
    for (int32_t &position : positions)
      position = static_cast<int32_t>(random() % 64);
    for (int32_t &divisor : divisors)
      divisor = static_cast<int32_t>(1 + random() % 8);
    setIntegers(arguments, "positions", positions);
    setIntegers(arguments, "divisors", divisors);
  };
  return c;
}

inline KernelCase ropeCase(const std::string &type, int64_t pairs, bool halves, bool inPlace,
                           int64_t rest = 0) {
  std::string count = std::to_string(pairs);
  std::vector<std::string> shape = halves ? std::vector<std::string>{"T", "H", "2", count}
                                          : std::vector<std::string>{"T", "H", count, "2"};
  const std::vector<std::string> others = {"T", "H", std::to_string(rest)};
  return KernelCase{"rope_" + type + "_" + count + (halves ? "_halves" : "_neighbours") +
                        (inPlace ? "_in_place" : "") + (rest ? "_rest" : ""),
                    "rope",
                    {{"in", type},
                     {"out", type},
                     {"pairs", count},
                     {"rest", std::to_string(rest)},
                     {"block_rows", "2"},
                     {"block_heads", "3"},
                     {"halves", halves ? "true" : "false"},
                     {"in_place", inPlace ? "true" : "false"}},
                    {{"x", shape},
                     {"rope_table", {"T", "2", count}},
                     {"out", shape},
                     {"x_rest", others},
                     {"out_rest", others}},
                    {{"T", oddExtents(2)}, {"H", oddExtents(3)}},
                    {0, 2e-6}}; // sums of two products
}

// ---- cache writes ----

// Each token has a slot of its own; some lie before or behind the pool.
inline void prepareSlots(LaunchArguments &arguments, const Extents &extents, Random &random) {
  const auto cache = std::ranges::find_if(
      arguments, [](const LaunchArgument &argument) { return argument.name.ends_with("cache"); });
  int64_t slots = cache->shape[0] * cache->shape[1];
  std::vector<int32_t> order(slots + 2 * extents.at("T") + 8);
  std::iota(order.begin(), order.end(), static_cast<int32_t>(-extents.at("T") - 4));
  std::shuffle(order.begin(), order.end(), random);
  order.resize(extents.at("T"));
  setIntegers(arguments, "slots", order);
}

inline KernelCase kvAppendCase(const std::string &cache, int64_t heads, int64_t dim, int64_t rows,
                               bool strided = false) {
  std::string h = std::to_string(heads), d = std::to_string(dim), r = std::to_string(rows);
  KernelCase c{"kv_append_" + cache + "_" + sizeText({heads, dim, rows}) +
                   (strided ? "_strided" : ""),
               "kv_append",
               {{"cache", cache},
                {"kv_heads", h},
                {"head_dim", d},
                {"page_rows", r},
                {"strided", strided ? "true" : "false"}},
               {{"rows", {"T", h, d}}, {"slots", {"T"}}, {"cache", {"P", r, h, d}}},
               {{"T", oddExtents(16)}, {"P", {0, 1, 3}}},
               {0, 0}};
  c.prepare = prepareSlots;
  c.small = cache.front() == 'q';
  return c;
}

// Heads in memory: normalized, rotated and appended.
struct QkvRowsCase {
  std::string cache = "f16";
  int64_t heads = 4;
  bool keys = true, values = true, norms = true, follow = false, halves = true;
  int64_t headDim = 64, rest = 0;

  std::string label() const {
    return "qkv_rows_" + cache + "_" + sizeText({heads, 2, headDim}) + (keys ? "" : "_no_keys") +
           (values ? "" : "_no_values") + (norms ? "" : "_no_norms") + (follow ? "_follow" : "") +
           (halves ? "" : "_neighbours") + (rest ? "_rest" + std::to_string(rest) : "");
  }
};

inline ViewShapes qkvRowsViews(const QkvRowsCase &q, const std::string &kv, const std::string &r) {
  const std::string h = std::to_string(q.heads), d = std::to_string(q.headDim);
  ViewShapes views;
  if (q.heads) {
    views["queries"] = views["q"] = {"T", h, d};
    views["q_norm"] = {"1", d};
  }
  if (q.keys) {
    views["keys"] = {"T", kv, d};
    views["k_cache"] = {"P", r, kv, d};
    views["k_norm"] = {"1", d};
  }
  if (q.values) {
    views["values"] = {"T", kv, d};
    views["v_cache"] = {"P", r, kv, d};
  }
  views["rope_table"] = {"T", std::to_string(q.headDim - q.rest)};
  views["slots"] = {"T"};
  return views; // a kernel takes those that it has
}

inline KernelCase qkvRowsCase(const QkvRowsCase &q) {
  const std::string kv = "2", r = "16";
  auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  KernelCase c{q.label(),
               "qkv_rows",
               {{"cache", q.cache},
                {"heads", std::to_string(q.heads)},
                {"kv_heads", kv},
                {"head_dim", std::to_string(q.headDim)},
                {"rest", std::to_string(q.rest)},
                {"page_rows", r},
                {"keys", flag(q.keys)},
                {"values", flag(q.values)},
                {"norm_queries", flag(q.norms)},
                {"norm_keys", flag(q.norms)},
                {"norms_follow", flag(q.follow)},
                {"halves", flag(q.halves)}},
               qkvRowsViews(q, kv, r),
               {{"T", oddExtents(16)}, {"P", {0, 1, 3}}},
               {4e-6, 4e-5}};
  c.prepare = [=](LaunchArguments &arguments, const Extents &extents, Random &random) {
    if (q.keys || q.values)
      prepareSlots(arguments, extents, random);
  };
  c.small = q.cache.front() == 'q';
  return c;
}

inline void addQkvRows(KernelCases &cases) {
  cases.push_back(qkvRowsCase({}));
  cases.push_back(qkvRowsCase({.cache = "bf16", .heads = 3, .norms = false}));
  cases.push_back(qkvRowsCase({.heads = 3, .keys = false, .values = false}));
  cases.push_back(qkvRowsCase({.cache = "q8_0", .heads = 0}));
  cases.push_back(qkvRowsCase({.cache = "f8e4m3", .heads = 3}));
  cases.push_back(qkvRowsCase({.headDim = 80, .rest = 48}));
  cases.push_back(qkvRowsCase({.rest = 64})); // norms alone
  cases.push_back(qkvRowsCase({.heads = 3, .follow = true}));
  cases.push_back(qkvRowsCase({.norms = false, .halves = false, .headDim = 40, .rest = 8}));
  cases.push_back(qkvRowsCase({.cache = "q8_0", .follow = true, .halves = false}));
}

// ---- attention ----

// A batch of sequences: what is stored of each, and how many rows at its end are asked for.
struct RaggedBatch {
  std::vector<int32_t> lengths, rows;
};

// A function of the extents S, L (about the longest sequence) and seed.
inline RaggedBatch raggedBatch(const Extents &extents) {
  Random random(extents.at("seed"));
  RaggedBatch batch;
  for (int64_t s = 0; s < extents.at("S"); ++s) {
    int64_t length = s == 0 ? extents.at("L") : static_cast<int64_t>(random() % 20);
    batch.lengths.push_back(static_cast<int32_t>(length));
    batch.rows.push_back(
        static_cast<int32_t>(length ? random() % std::min<int64_t>(length, 9) : 0));
  }
  return batch;
}

inline std::vector<int32_t> attentionBlocks(const RaggedBatch &batch, int64_t queryTile) {
  std::vector<int32_t> blocks = {0, 0, 0}; // unused
  int32_t first = 0;
  for (size_t s = 0; s < batch.rows.size(); ++s) {
    for (int64_t row = 0; row < batch.rows[s]; row += queryTile)
      blocks.insert(blocks.end(), {static_cast<int32_t>(s), static_cast<int32_t>(first + row),
                                   static_cast<int32_t>(std::min(queryTile, batch.rows[s] - row))});
    first += batch.rows[s];
  }
  return blocks;
}

struct AttentionCase {
  std::string kernel = "attention";
  std::string cache = "f16", out = "f32";
  int64_t kvHeads = 2, groupHeads = 3, headDim = 16, pageRows = 16, queryTile = 1, window = 0;
  int64_t chunk = 0, valueDim = 0;
  bool slopes = false, sinks = false;
  int64_t stepPages = 1, partitionSteps = 0, shortStep = 0;
  bool causal = true;
  std::string compute = "f32";
  bool joinHeads = false;
  int64_t combinePartitions = 1, combineColumns = 0;

  std::string label() const {
    return kernel + "_" + cache + (out == "f32" ? "_" : "_to_" + out + "_") +
           sizeText({kvHeads, groupHeads, headDim, pageRows, queryTile}) +
           (stepPages > 1 ? "_steps" + std::to_string(stepPages) : "") +
           (partitionSteps ? "_partitions" + std::to_string(partitionSteps) : "") +
           (shortStep ? "_short" + std::to_string(shortStep) : "") + (window ? "_window" : "") +
           (chunk ? "_chunk" : "") + (valueDim ? "_values" + std::to_string(valueDim) : "") +
           (slopes ? "_slopes" : "") + (sinks ? "_sinks" : "") + (causal ? "" : "_whole") +
           (compute == "f32" ? "" : "_in_" + compute) + (joinHeads ? "_joined" : "") +
           (combinePartitions > 1 ? "_combined" + std::to_string(combinePartitions) : "") +
           (combineColumns ? "_columns" + std::to_string(combineColumns) : "");
  }
  int64_t ofValues() const { return valueDim ? valueDim : headDim; }
  bool combines() const { return kernel.starts_with("attention_combine"); }
  bool isRagged() const { return kernel.ends_with("_ragged"); }
};

// Rows of a list of partitions, one of them unused, and their slots.
struct PartitionList {
  std::vector<int32_t> rows;
  int64_t slots = 0;

  int64_t count() const { return static_cast<int64_t>(rows.size()) / kernels::kPartitionColumns; }
};

inline PartitionList partitionList(const AttentionCase &a, const RaggedBatch &batch) {
  const std::vector<int32_t> blocks = attentionBlocks(batch, a.queryTile);
  const int64_t keys = a.pageRows * a.stepPages * std::max<int64_t>(1, a.partitionSteps);
  PartitionList list;
  std::vector<int64_t> bases;
  for (size_t at = 0; at < blocks.size(); at += 3) {
    bases.push_back(list.slots);
    for (int64_t from = 0; blocks[at + 2] && from < batch.lengths[blocks[at]]; from += keys) {
      list.rows.insert(list.rows.end(), &blocks[at], &blocks[at] + 3);
      list.rows.insert(list.rows.end(),
                       {static_cast<int32_t>(from), static_cast<int32_t>(list.slots), 0});
      list.slots += blocks[at + 2];
    }
  }
  const int64_t count = std::max(list.count() + 1, static_cast<int64_t>(bases.size()));
  list.rows.resize(count * kernels::kPartitionColumns, 0);
  for (size_t tile = 0; tile < bases.size(); ++tile)
    list.rows[tile * kernels::kPartitionColumns + kernels::kBaseColumn] =
        static_cast<int32_t>(bases[tile]);
  return list;
}

inline void deriveAttention(const AttentionCase &a, Extents &extents) {
  RaggedBatch batch = raggedBatch(extents);
  int64_t tokens = 0, pages = 1;
  for (size_t s = 0; s < batch.rows.size(); ++s) {
    tokens += batch.rows[s];
    pages = std::max<int64_t>(pages, llvm::divideCeil(batch.lengths[s], a.pageRows));
  }
  extents["T"] = tokens;
  extents["P"] = pages;
  extents["N"] = pages * extents.at("S") + 1;
  extents["Z"] = llvm::divideCeil(pages, a.stepPages * std::max<int64_t>(1, a.partitionSteps));
  extents["B"] = static_cast<int64_t>(attentionBlocks(batch, a.queryTile).size()) / 3;
  const PartitionList list = partitionList(a, batch);
  extents["W"] = list.count();
  extents["Y"] = std::max<int64_t>(1, list.slots);
}

// Totals of exponentials are no less than that of the largest score.
inline void preparePartitions(LaunchArguments &arguments, Random &random) {
  LaunchArgument &total = argumentNamed(arguments, "total");
  forEachElement(total, [&](int64_t at, int64_t) {
    setElement(total.view().getElementType(), total.bytes, at,
               1 + static_cast<double>(random() % 1000) / 250);
  });
}

inline void prepareAttention(const AttentionCase &a, LaunchArguments &arguments,
                             const Extents &extents, Random &random) {
  RaggedBatch batch = raggedBatch(extents);
  std::vector<int32_t> pages(extents.at("N")), positions;
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), random);
  pages.resize(extents.at("S") * extents.at("P"));
  for (size_t s = 0; s < batch.rows.size(); ++s)
    for (int32_t row = 0; row < batch.rows[s]; ++row)
      positions.push_back(batch.lengths[s] - batch.rows[s] + row);
  if (a.combines())
    preparePartitions(arguments, random);
  else
    setIntegers(arguments, "page_table", pages);
  if (a.isRagged())
    setIntegers(arguments, "partitions", partitionList(a, batch).rows);
  if (!a.isRagged() || a.combines())
    setIntegers(arguments, "blocks", attentionBlocks(batch, a.queryTile));
  setIntegers(arguments, "kv_lengths", batch.lengths);
  setIntegers(arguments, "positions", positions);
  if (!a.combines())
    setScalar(arguments, "scale", 0.4f);
}

// What a kernel reads and writes.
inline ViewShapes attentionViews(const AttentionCase &a) {
  const std::string heads = std::to_string(a.kvHeads), dim = std::to_string(a.headDim),
                    rows = std::to_string(a.pageRows), valueDim = std::to_string(a.ofValues()),
                    all = std::to_string(a.kvHeads * a.groupHeads);
  const bool inBlocks = a.cache.front() == 'q'; // keys lie as values do
  const ViewShapes keys = {{"q", {"T", all, dim}},
                           {"k_cache", inBlocks ? std::vector<std::string>{"N", heads, rows, dim}
                                                : std::vector<std::string>{"N", heads, dim, rows}},
                           {"v_cache", {"N", heads, rows, valueDim}},
                           {"page_table", {"S", "P"}}};
  const ViewShapes places = {{"blocks", {"B", "3"}},
                             {"partitions", {"W", "6"}},
                             {"kv_lengths", {"S"}},
                             {"positions", {"T", "1"}}};
  const ViewShapes byToken = {
      {"acc", {"T", all, "Z", valueDim}}, {"high", {"T", all, "Z"}}, {"total", {"T", all, "Z"}}};
  const ViewShapes inSlots = {
      {"acc", {"Y", all, valueDim}}, {"high", {"Y", all}}, {"total", {"Y", all}}};
  const ViewShapes &sums = a.isRagged() ? inSlots : byToken;
  const std::string joined = std::to_string(a.kvHeads * a.groupHeads * a.ofValues());
  const ViewShapes out = {{"out", a.joinHeads ? std::vector<std::string>{"T", joined}
                                              : std::vector<std::string>{"T", all, valueDim}}};
  ViewShapes views;
  auto add = [&](const ViewShapes &more) { views.insert(more.begin(), more.end()); };
  add(a.combines() ? sums : keys);
  add(places);
  add(a.kernel.starts_with("attention_partitions") ? sums : out);
  add({{"slopes", {"1", all}}, {"sinks", {"1", all}}}); // those that the kernel takes
  return views;
}

inline KernelCase attentionCase(const AttentionCase &a) {
  KernelCase c{a.label(),
               a.kernel,
               {{"cache", a.cache},
                {"out", a.out},
                {"kv_heads", std::to_string(a.kvHeads)},
                {"group_heads", std::to_string(a.groupHeads)},
                {"head_dim", std::to_string(a.headDim)},
                {"page_rows", std::to_string(a.pageRows)},
                {"query_tile", std::to_string(a.queryTile)},
                {"step_pages", std::to_string(a.stepPages)},
                {"partition_steps", std::to_string(a.partitionSteps)},
                {"combine_partitions", std::to_string(a.combinePartitions)},
                {"combine_columns", std::to_string(a.combineColumns)},
                {"short_step", std::to_string(a.shortStep)},
                {"window", std::to_string(a.window)},
                {"chunk", std::to_string(a.chunk)},
                {"value_dim", std::to_string(a.valueDim)},
                {"slopes", a.slopes ? "true" : "false"},
                {"sinks", a.sinks ? "true" : "false"},
                {"causal", a.causal ? "true" : "false"},
                {"compute", a.compute},
                {"join_heads", a.joinHeads ? "true" : "false"}},
               attentionViews(a),
               {{"S", {1, 2, 3}}, {"L", oddExtents(a.pageRows)}, {"seed", {1, 2, 3, 4, 5}}},
               {2e-5, 4e-6}};
  c.derive = [a](Extents &extents) { deriveAttention(a, extents); };
  c.prepare = [a](LaunchArguments &arguments, const Extents &extents, Random &random) {
    prepareAttention(a, arguments, extents, random);
  };
  if (a.compute == "bf16") // a score's last bit can move a weight by one step
    c.bound = {4e-3, 2e-3};
  c.rounds = 1;
  return c;
}

// Of heads and pages that make whole vectors of pairs, and of some that do not.
inline void addBfloatAttention(KernelCases &cases) {
  for (const char *cache : {"f16", "bf16", "q8_0", "f8e4m3"})
    for (int64_t queries : {1, 11})
      cases.push_back(attentionCase({.cache = cache,
                                     .headDim = 32,
                                     .pageRows = 32,
                                     .queryTile = queries,
                                     .compute = "bf16"}));
  cases.push_back(attentionCase({.cache = "bf16",
                                 .headDim = 96,
                                 .pageRows = 32,
                                 .queryTile = 3,
                                 .window = 9,
                                 .stepPages = 2,
                                 .compute = "bf16"}));
  cases.push_back(attentionCase(
      {.headDim = 32, .pageRows = 32, .queryTile = 12, .causal = false, .compute = "bf16"}));
  cases.push_back(attentionCase({.kernel = "attention_partitions",
                                 .headDim = 32,
                                 .pageRows = 32,
                                 .partitionSteps = 3,
                                 .compute = "bf16"}));
  cases.push_back(attentionCase({.stepPages = 2, .compute = "bf16"})); // of one vector of columns
  cases.push_back(attentionCase({.headDim = 17, .pageRows = 4, .queryTile = 3, .compute = "bf16"}));
  cases.push_back(attentionCase({.headDim = 32, .pageRows = 4, .queryTile = 3, .compute = "bf16"}));
}

// A last step of fewer keys than others, of one page.
inline void addShortSteps(KernelCases &cases) {
  for (int64_t window : {0, 9})
    cases.push_back(attentionCase({.queryTile = 4, .window = window, .shortStep = 8}));
  for (int64_t window : {0, 9})
    cases.push_back(
        attentionCase({.queryTile = 4, .window = window, .shortStep = 8, .causal = false}));
  cases.push_back(attentionCase({.cache = "q8_0",
                                 .headDim = 32,
                                 .pageRows = 4,
                                 .queryTile = 3,
                                 .stepPages = 3,
                                 .shortStep = 3}));
  for (int64_t steps : {0, 2}) {
    KernelCase c = attentionCase({.cache = "bf16",
                                  .headDim = 32,
                                  .pageRows = 64,
                                  .queryTile = 8,
                                  .partitionSteps = steps,
                                  .shortStep = 32,
                                  .compute = "bf16"});
    c.bound = {4e-3, 4e-3}; // of more keys one weight near 1 can move by its step, 1/256
    cases.push_back(c);
  }
}

// Rules of scores, sinks, and heads of other sizes than powers of two.
inline void addFormsOfAttention(KernelCases &cases) {
  cases.push_back(attentionCase({.pageRows = 4, .queryTile = 3, .chunk = 6, .slopes = true}));
  cases.push_back(attentionCase({.groupHeads = 5, .queryTile = 2, .slopes = true, .sinks = true}));
  cases.push_back(
      attentionCase({.queryTile = 4, .window = 9, .chunk = 0, .sinks = true, .shortStep = 8}));
  for (const char *kernel : {"attention", "attention_partitions", "attention_combine"})
    cases.push_back(attentionCase({.kernel = kernel,
                                   .groupHeads = 2,
                                   .headDim = 24,
                                   .pageRows = 4,
                                   .chunk = 10,
                                   .valueDim = 16,
                                   .slopes = std::string_view(kernel) != "attention_combine",
                                   .sinks = std::string_view(kernel) != "attention_partitions",
                                   .partitionSteps = 2}));
  cases.push_back(attentionCase({.cache = "q8_0", .headDim = 64, .queryTile = 2, .valueDim = 32}));
}

// Partitions of a list: several rows of a tile, windows, sinks, values of another size.
inline void addRaggedAttention(KernelCases &cases, const std::string &activation) {
  for (const char *kernel : {"attention_partitions_ragged", "attention_combine_ragged"}) {
    const bool combines = std::string_view(kernel) == "attention_combine_ragged";
    cases.push_back(attentionCase({.kernel = kernel, .pageRows = 4, .partitionSteps = 3}));
    cases.push_back(attentionCase({.kernel = kernel,
                                   .headDim = 64,
                                   .pageRows = 4,
                                   .queryTile = 3,
                                   .window = 9,
                                   .partitionSteps = 2}));
    cases.push_back(attentionCase({.kernel = kernel,
                                   .groupHeads = 2,
                                   .headDim = 24,
                                   .pageRows = 4,
                                   .chunk = 10,
                                   .valueDim = 16,
                                   .slopes = !combines,
                                   .sinks = combines,
                                   .partitionSteps = 2}));
  }
  cases.push_back(attentionCase({.kernel = "attention_combine_ragged",
                                 .out = activation,
                                 .kvHeads = 6,
                                 .groupHeads = 1,
                                 .headDim = 64,
                                 .pageRows = 4,
                                 .partitionSteps = 1,
                                 .combinePartitions = 4,
                                 .combineColumns = 32}));
}

inline void addRopeCases(KernelCases &cases) {
  for (const char *type : {"f32", "f16", "bf16"})
    cases.push_back(ropeCase(type, 8, false, false));
  cases.push_back(ropeCase("f32", 7, false, true));
  cases.push_back(ropeCase("f32", 32, true, false));
  cases.push_back(ropeCase("f32", 13, true, true));
  cases.push_back(ropeCase("f32", 8, true, false, 5));
}

inline void addAttentionCases(KernelCases &cases, const std::string &activation) {
  cases.push_back(attentionCase({}));
  cases.push_back(attentionCase({.queryTile = 4}));
  cases.push_back(attentionCase({.headDim = 5, .pageRows = 4, .queryTile = 3, .window = 3}));
  cases.push_back(attentionCase({.headDim = 5, .pageRows = 4, .queryTile = 2, .causal = false}));
  cases.push_back(attentionCase({.kvHeads = 1, .groupHeads = 1, .headDim = 17, .pageRows = 1}));
  cases.push_back(attentionCase({.cache = "bf16", .queryTile = 2}));
  for (int64_t queries : {1, 4})
    cases.push_back(attentionCase({.cache = "f8e4m3", .headDim = 32, .queryTile = queries}));
  cases.push_back(attentionCase({.cache = "f8e4m3", .headDim = 5, .pageRows = 4, .window = 3}));
  cases.push_back(attentionCase({.headDim = 5, .pageRows = 4, .queryTile = 2, .stepPages = 3}));
  cases.push_back(attentionCase({.pageRows = 4, .queryTile = 3, .window = 9, .stepPages = 4}));
  addShortSteps(cases);
  for (int64_t dim : {32, 64, 96})
    for (int64_t queries : {1, 4})
      cases.push_back(
          attentionCase({.cache = "q8_0", .headDim = dim, .pageRows = 64, .queryTile = queries}));
  cases.push_back(
      attentionCase({.cache = "q8_0", .headDim = 64, .queryTile = 2, .window = 9, .stepPages = 2}));
  for (int64_t steps : {1, 3}) {
    cases.push_back(attentionCase({.pageRows = 4, .queryTile = 3, .partitionSteps = steps}));
    for (const char *kernel : {"attention_partitions", "attention_combine"}) {
      cases.push_back(attentionCase({.kernel = kernel, .pageRows = 4, .partitionSteps = steps}));
      cases.push_back(attentionCase({.kernel = kernel,
                                     .headDim = 64,
                                     .pageRows = 4,
                                     .queryTile = 2,
                                     .window = 9,
                                     .partitionSteps = steps}));
    }
  }
  cases.push_back(attentionCase({.kernel = "attention_combine", .out = activation, .headDim = 64}));
  cases.push_back(attentionCase({.kernel = "attention_combine",
                                 .kvHeads = 6,
                                 .groupHeads = 1,
                                 .pageRows = 4,
                                 .window = 9,
                                 .partitionSteps = 1,
                                 .combinePartitions = 4}));
  for (const char *cache : {"q8_0", "f8e4m3"})
    cases.push_back(
        attentionCase({.kernel = "attention_partitions", .cache = cache, .headDim = 64}));
  for (int64_t dim : {32, 64})
    cases.push_back(attentionCase({.out = activation, .headDim = dim, .queryTile = dim / 32}));
  addBfloatAttention(cases);
  addRaggedAttention(cases, activation);
  addFormsOfAttention(cases);
  for (const char *kernel : {"attention", "attention_combine"})
    for (const std::string &out : {std::string("f32"), activation})
      cases.push_back(attentionCase({.kernel = kernel,
                                     .out = out,
                                     .groupHeads = 4,
                                     .headDim = 48,
                                     .pageRows = 4,
                                     .queryTile = 2,
                                     .joinHeads = true}));
}

inline void addTokenCases(KernelCases &cases, const std::string &activation) {
  for (const char *table : {"f32", "f16", "bf16", "q4_0", "q4_1", "q8_0"})
    for (bool packed : {false, true}) {
      KernelCase c = embedCase(table, 64);
      c.extents["V"] = {0, 1, 7, 16, 21};
      cases.push_back(packed ? interleaved(c) : c);
    }
  cases.push_back(embedCase("f32", 17));
  for (int64_t rows : {1, 4})
    for (const char *type : {"f32", "f16"})
      cases.push_back(pagesCase(type, rows));
  cases.push_back(interleaved(embedCase("f16", 17)));
  cases.push_back(ropeTableCase(32, 4));
  cases.push_back(ropeTableCase(7, 1));
  cases.push_back(scaledRopeTableCase(7));
  addRopeCases(cases);
  cases.push_back(kvAppendCase("f16", 2, 5, 4, true));
  cases.push_back(kvAppendCase("f16", 3, 64, 16));
  cases.push_back(kvAppendCase("bf16", 1, 17, 1));
  cases.push_back(kvAppendCase("bf16", 3, 64, 16, true));
  cases.push_back(kvAppendCase("f8e4m3", 3, 64, 16, true));
  cases.push_back(kvAppendCase("f8e4m3", 1, 17, 1));
  cases.push_back(kvAppendCase("q8_0", 2, 64, 4));
  cases.push_back(kvAppendCase("q8_0", 1, 96, 3));
  addQkvRows(cases);
  addAttentionCases(cases, activation);
}

} // namespace sinter::targets::cpu
