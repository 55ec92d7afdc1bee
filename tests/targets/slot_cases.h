// Conformance cases of kernels whose slots are filled, as graph fusion fills them.
#pragma once

#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/norm_squares.h"
#include "kernels/qkv_epilogue.h"
#include "kernels/rows.h"
#include "kernels/tokens.h"
#include "targets/token_cases.h"

namespace sinter::targets::cpu {

// tile / (1 + exp(-tile)) + the element of the f32 view `name` [M, N] at the same place.
inline kernels::Slot siluAndAddSlot(const std::string &name) {
  auto view = std::make_shared<kernel::View>();
  kernels::Slot slot;
  slot.declare = [=](kernel::KernelBuilder &k) {
    *view = k.in(name, kernel::F32, {kernel::dyn, kernel::dyn});
  };
  slot.apply = [=](kernel::KernelBuilder &, kernel::Tile tile, const kernels::TilePlace &place) {
    kernel::Tile other = kernels::loadF32(*view, kernel::F32, place);
    return tile / (1.0 + exp(-tile)) + other;
  };
  return slot;
}

// tile * 0.5, a slot without arguments.
inline kernels::Slot halveSlot() {
  kernels::Slot slot;
  slot.apply = [](kernel::KernelBuilder &, kernel::Tile tile, const kernels::TilePlace &) {
    return tile * 0.5;
  };
  return slot;
}

// `c` with slots: `params` as it stands instead of the case's settings.
template <class P>
KernelCase withSlots(KernelCase c, const std::string &suffix, const P &params,
                     void (*build)(kernel::KernelBuilder &, const P &)) {
  c.label += "_" + suffix;
  c.slots = suffix;
  c.rounds = 1; // the plain case has all shapes
  c.build = [params, build](kernel::KernelBuilder &k) { build(k, params); };
  return c;
}

inline kernels::Gemm gemmParams(kernel::Element a, kernel::Element b, int64_t m, int64_t n,
                                int64_t k, int64_t interleave) {
  kernels::Gemm p;
  p.a = a;
  p.b = b;
  p.blockM = m;
  p.blockN = n;
  p.blockK = k;
  p.interleave = interleave;
  return p;
}

// Stores half of each tile of so many columns in a view of its own.
inline kernels::EpilogueStore partStore(int64_t columns) {
  auto out = std::make_shared<kernel::View>();
  return {[out](kernel::KernelBuilder &k) {
            *out = k.out("out", kernel::F32, {kernel::dyn, kernel::dyn});
          },
          [out, columns](kernel::KernelBuilder &, const kernel::Tile &tile,
                         const kernels::TilePlace &place) {
            EXPECT_EQ(place.columns, columns);
            kernels::storeF32(*out, kernel::F32, place, tile * 0.5);
          },
          columns};
}

// A product of rows that it normalizes from sums of squares, as random as these.
inline KernelCase squaresNormCase(int64_t m) {
  KernelCase c = gemmCase("f32", "f32", true, m, 48, 16);
  c.kernel = "gemm_norm";
  c.label += "_norm_of_squares";
  c.views["norm_squares"] = {"M", "G"};
  c.views["norm_weight"] = {"1", "K"};
  c.extents["K"] = {16, 80, 112};
  c.derive = [](Extents &extents) { extents["G"] = extents["K"] / kernels::kSquareColumns; };
  c.prepare = [](LaunchArguments &arguments, const Extents &, Random &random) {
    LaunchArgument &squares = argumentNamed(arguments, "norm_squares");
    forEachElement(squares, [&](int64_t at, int64_t) {
      setElement(squares.view().getElementType(), squares.bytes, at,
                 1 + static_cast<double>(random() % 64));
    });
  };
  c.rounds = 1;
  c.bound = {1e-5, 1e-5};
  return c;
}

inline void addGemmSlotCases(KernelCases &cases, const std::string &activation) {
  KernelCase plain = gemmCase("f32", "f32", true, 24, 48, 16);
  kernels::Gemm p = gemmParams(kernel::F32, kernel::F32, 24, 48, 16, 0);
  p.prologue = halveSlot();
  cases.push_back(withSlots(plain, "prologue", p, kernels::gemm));
  for (int64_t m : {1, 24}) { // a norm that takes K in steps
    KernelCase normed = gemmCase("f32", "f32", true, m, 48, 16);
    normed.views["norm_weight"] = {"1", "K"};
    normed.bound = {1e-5, 1e-5};
    kernels::Gemm q = gemmParams(kernel::F32, kernel::F32, m, 48, 16, 0);
    q.prologue = kernels::rmsNormSlot(kernel::F32, kernel::dyn);
    cases.push_back(withSlots(normed, "norm", q, kernels::gemm));
  }
  for (int64_t m : {1, 24})
    cases.push_back(squaresNormCase(m));
  kernels::Gemm scaled = gemmParams(kernel::F32, kernel::F32, 24, 48, 16, 0);
  scaled.epilogue = halveSlot();
  scaled.out = kernel::F16;
  KernelCase rounded = gemmCase("f32", "f32", true, 24, 48, 16);
  rounded.settings["out"] = "f16";
  cases.push_back(withSlots(rounded, "scaled", scaled, kernels::gemm));
  plain.views["residual"] = {"M", "N"};
  plain.bound = {4e-6, 4e-6};
  p.epilogue = siluAndAddSlot("residual");
  cases.push_back(withSlots(plain, "both_slots", p, kernels::gemm));
  for (int64_t m : {1, 24}) {
    kernels::Gemm q = gemmParams(kernel::F32, kernel::F32, m, 48, 16, 0);
    q.epilogueStore = partStore(16);
    cases.push_back(withSlots(gemmCase("f32", "f32", true, m, 48, 16), "parts", q, kernels::gemm));
  }
  for (const char *format : {"q4_1", "q8_0"})
    for (int64_t m : {1, 12}) {
      KernelCase block = blockGemmCase(activation, format, m, 32, 64);
      block.views["residual"] = {"M", "N"};
      block.bound = {4e-6, 4e-6};
      kernels::Gemm q = gemmParams(kernel::block(activation), kernel::block(format), m, 32, 64, 16);
      q.epilogue = siluAndAddSlot("residual");
      cases.push_back(withSlots(block, "epilogue", q, kernels::gemm));
      KernelCase dequantized = gemmCase("f32", format, true, m, 32, 64);
      dequantized.extents["K"] = blockExtents(64);
      dequantized.bound = {1e-5, 1e-5};
      kernels::Gemm d = gemmParams(kernel::F32, kernel::block(format), m, 32, 64, 0);
      d.activation = kernel::F32;
      cases.push_back(withSlots(dequantized, "dequantized", d, kernels::gemm));
    }
  for (const char *format : {"q4_1", "q8_0"})
    for (kernel::Element rows : {kernel::F32, kernel::BF16}) {
      KernelCase dequantized = blockGemmCase(activation, format, 32, 64, 32);
      dequantized.bound = {1e-5, 1e-5};
      kernels::Gemm d = gemmParams(rows, kernel::block(format), 32, 64, 32, 16);
      d.activation = kernel::BF16;
      cases.push_back(
          withSlots(dequantized, std::string("bf16_rows_of_") + rows.name(), d, kernels::gemm));
    }
}

inline void addRowSlotCases(KernelCases &cases, const std::string &activation) {
  kernels::RmsNorm norm;
  norm.blockRows = 2;
  norm.blockColumns = 64;
  norm.prologue = halveSlot();
  norm.epilogue = siluAndAddSlot("other");
  KernelCase c = rowsCase("rms_norm", 2, 64, "f32");
  c.views["other"] = {"M", "N"};
  cases.push_back(withSlots(c, "both_slots", norm, kernels::rmsNorm));

  kernels::QuantizeRows rows;
  rows.out = kernel::block(activation);
  rows.blockColumns = 64;
  rows.prologue = siluAndAddSlot("other");
  c = quantizedRowsCase("quantize_rows", 1, 64, kRows, activation);
  c.views["other"] = {"M", "N"};
  cases.push_back(withSlots(c, "prologue", rows, kernels::quantizeRows));

  kernels::Add add;
  add.blockRows = 2;
  add.blockColumns = 48;
  add.epilogue = siluAndAddSlot("other");
  c = mapCase("add", "a", "b", "f32", kRows);
  c.views["other"] = {"M", "N"};
  cases.push_back(withSlots(c, "epilogue", add, kernels::add));

  kernels::Embed embed;
  embed.table = kernel::block("q8_0");
  embed.blockColumns = 64;
  embed.epilogue = halveSlot();
  cases.push_back(withSlots(embedCase("q8_0", 64), "epilogue", embed, kernels::embed));
}

inline void addAttentionSlotCases(KernelCases &cases) {
  AttentionCase a{.queryTile = 2};
  kernels::Attention p;
  p.kvHeads = a.kvHeads;
  p.groupHeads = a.groupHeads;
  p.headDim = a.headDim;
  p.pageRows = a.pageRows;
  p.queryTile = a.queryTile;
  p.scores = kernels::softCapSlot();
  KernelCase c = attentionCase(a);
  c.prepare = [a](LaunchArguments &arguments, const Extents &extents, Random &random) {
    prepareAttention(a, arguments, extents, random);
    setScalar(arguments, "soft_cap", 10);
  };
  c.bound = {2e-5, 2e-5}; // ten times the error of tanh in each score
  cases.push_back(withSlots(c, "capped_scores", p, kernels::attention));
}

// The joined product of queries, keys and values, whose heads rotate and scatter as they come, of
// rows in the elements or blocks `a`.
inline KernelCase qkvEpilogueCase(const std::string &b, int64_t m,
                                  const kernels::QkvEpilogue &heads, const std::string &a) {
  int64_t columns = heads.allHeads() * heads.headDim;
  bool blocks = b.front() == 'q';
  std::string n = std::to_string(columns);
  std::string count = std::to_string(heads.heads), kvCount = std::to_string(heads.kvHeads);
  std::string dim = std::to_string(heads.headDim), rows = std::to_string(heads.pageRows);
  KernelCase c = blocks ? blockGemmCase(a, b, m, heads.headDim, 64)
                        : interleaved(gemmCase(a, b, true, m, heads.headDim, 32));
  c.extents.erase("N");
  c.extents["P"] = {0, 1, 3};
  c.views = {{"a", {"M", "K"}}, {"b", {n, "K"}}};
  if ((heads.heads || heads.keys) && heads.rotating())
    c.views["rope_table"] = {"M", std::to_string(heads.rotating())};
  if (heads.keys || heads.values)
    c.views["slots"] = {"M"};
  if (heads.keys)
    c.views["k_cache"] = {"P", rows, kvCount, dim};
  if (heads.values)
    c.views["v_cache"] = {"P", rows, kvCount, dim};
  if (heads.heads)
    c.views["q"] = {"M", count, dim};
  c.derive = [](Extents &extents) { extents["T"] = extents.at("M"); };
  c.prepare = [heads](LaunchArguments &arguments, const Extents &extents, Random &random) {
    if (heads.keys || heads.values)
      prepareSlots(arguments, extents, random);
  };
  c.bound = {4e-6, 4e-5}; // sums of up to 96 products, rotated
  c.kernel = "gemm_qkv";
  kernels::QkvGemm p;
  p.gemm = gemmParams(blocks ? kernel::block(a) : kernel::Element(a),
                      blocks ? kernel::block(b) : kernel::Element(b), m, heads.headDim,
                      blocks ? 64 : 32, 16);
  p.heads = heads;
  std::string some = heads.keys == heads.values ? (heads.keys ? "" : "_query_tile")
                                                : (heads.keys ? "_keys" : "_values");
  if (heads.rest)
    some += "_rest" + std::to_string(heads.rest);
  return withSlots(c, "heads_" + sizeText({heads.heads, heads.kvHeads, heads.group}) + some, p,
                   kernels::qkvGemm);
}

inline void addStoreCases(KernelCases &cases, const std::string &activation) {
  kernels::QkvEpilogue heads;
  heads.heads = 3;
  heads.kvHeads = 1;
  heads.pageRows = 16;
  for (const char *format : {"f16", "q4_1", "q8_0"})
    for (int64_t m : {1, 6}) {
      const std::string rows = std::string_view(format) == "f16" ? "f32" : activation;
      heads.headDim = m == 1 ? 64 : 32;
      heads.group = 0;
      cases.push_back(qkvEpilogueCase(format, m, heads, rows));
      heads.group = 8;
      cases.push_back(qkvEpilogueCase(format, m, heads, rows));
    }
  // Of a part of each head, or of nothing.
  heads.headDim = 64;
  for (const auto &[rest, group] :
       {std::pair(int64_t(32), int64_t(0)), {32, 8}, {16, 0}, {64, 8}}) {
    heads.rest = rest;
    heads.group = group;
    cases.push_back(qkvEpilogueCase("f16", group ? 1 : 6, heads, "f32"));
  }
  heads.rest = 16;
  heads.group = 0;
  heads.cache = kernel::block("q8_0");
  cases.push_back(qkvEpilogueCase("f16", 6, heads, "f32"));
  cases.back().label += "_block_caches";
  cases.back().small = true;
  heads.headDim = 32;
  heads.rest = 0;
  heads.group = 8;
  heads.cache = kernel::BF16;
  cases.push_back(qkvEpilogueCase("q8_0", 6, heads, activation));
  cases.back().label += "_bf16_caches";
  heads.cache = kernel::F16;
  // Some of them, as where the others' weights are of another format.
  for (int64_t queries : {3, 0})
    for (auto [keys, values] : {std::pair(true, false), {false, true}, {false, false}})
      if (queries || keys || values) {
        heads.heads = queries;
        heads.keys = keys;
        heads.values = values;
        heads.group = queries ? 0 : 8;
        cases.push_back(qkvEpilogueCase("q8_0", 6, heads, activation));
      }
}

inline void addSlotCases(KernelCases &cases, const std::string &activation) {
  addGemmSlotCases(cases, activation);
  addStoreCases(cases, activation);
  addRowSlotCases(cases, activation);
  addAttentionSlotCases(cases);
}

} // namespace sinter::targets::cpu
