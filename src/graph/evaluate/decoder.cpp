// Evaluates RoPE, the KV cache and attention over its pages.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"

#include <cmath>

using namespace mlir;

namespace sinter::graph {

// ---- RoPE ----

template <class Real> static void fillRopeTable(RopeTableOp op, Call &call) {
  const Tensor &positions = call.operand(0);
  Tensor &out = call.result();
  const int64_t pairs = out.shape[1] / 2;
  const Real base = static_cast<Real>(op.getBase().convertToFloat());
  const Real magnitude =
      op.getMagnitude() ? static_cast<Real>(op.getMagnitude()->convertToFloat()) : 1;
  for (int64_t t = 0; t < positions.count(); ++t)
    for (int64_t i = 0; i < pairs; ++i) {
      Real angle = static_cast<Real>(positions.values[t]) *
                   static_cast<Real>(std::pow(static_cast<double>(base), -2.0 * i / op.getDims()));
      if (op.getScales())
        angle *= static_cast<Real>((*op.getScales())[i]);
      if (op.getDivisors())
        angle /= static_cast<Real>(call.operand(1).values[i]);
      out.values[t * 2 * pairs + i] = std::cos(angle) * magnitude;
      out.values[t * 2 * pairs + pairs + i] = std::sin(angle) * magnitude;
    }
}

void evaluateRopeTable(RopeTableOp op, Call &call) {
  call.precision == Precision::F32 ? fillRopeTable<float>(op, call)
                                   : fillRopeTable<double>(op, call);
}

template <class Real> static void rotate(RopeOp op, Call &call) {
  const Tensor &in = call.operand(0), &table = call.operand(1);
  Tensor &out = call.result();
  const int64_t heads = in.shape[1], dim = in.shape[2], pairs = op.rotating() / 2;
  const bool halves = op.getPairing() == Pairing::Halves;
  out.values = in.values;
  for (int64_t row = 0; row < in.shape[0] * heads; ++row)
    for (int64_t i = 0; i < pairs; ++i) {
      const double *angles = table.values.data() + row / heads * 2 * pairs;
      const int64_t first = row * dim + (halves ? i : 2 * i), second = first + (halves ? pairs : 1);
      const Real a = static_cast<Real>(in.values[first]), b = static_cast<Real>(in.values[second]);
      const Real cosine = static_cast<Real>(angles[i]), sine = static_cast<Real>(angles[pairs + i]);
      out.values[first] = a * cosine - b * sine;
      out.values[second] = a * sine + b * cosine;
    }
}

void evaluateRope(RopeOp op, Call &call) {
  call.precision == Precision::F32 ? rotate<float>(op, call) : rotate<double>(op, call);
}

// ---- the KV cache ----

namespace {
// Where the elements of cached rows lie: [pages, heads, rows, dim], or keys' [pages, heads, dim,
// rows].
struct PoolLayout {
  int64_t pages, heads, rows, dim, rowStride, dimStride;

  PoolLayout(const Tensor &pool, bool dimsFirst)
      : pages(pool.shape[0]), heads(pool.shape[1]), rows(pool.shape[dimsFirst ? 3 : 2]),
        dim(pool.shape[dimsFirst ? 2 : 3]), rowStride(dimsFirst ? 1 : dim),
        dimStride(dimsFirst ? rows : 1) {}
  int64_t at(int64_t page, int64_t head, int64_t row) const {
    return (page * heads + head) * rows * dim + row * rowStride;
  }
};
} // namespace

// Keys of scalars have their rows last.
static PoolLayout keysOf(const Tensor &pool) {
  return {pool, isScalarElement(pool.element)};
}

// Writes rows that are rounded to the pool's elements.
static void append(const Tensor &from, const Tensor &slots, const PoolLayout &layout,
                   Tensor &pool) {
  for (int64_t t = 0; t < slots.count(); ++t) {
    const double slot = slots.values[t];
    if (slot < 0 || slot >= static_cast<double>(layout.pages) * static_cast<double>(layout.rows))
      continue;
    const int64_t page = static_cast<int64_t>(slot) / layout.rows,
                  row = static_cast<int64_t>(slot) % layout.rows;
    for (int64_t head = 0; head < layout.heads; ++head)
      for (int64_t d = 0; d < layout.dim; ++d)
        pool.values[layout.at(page, head, row) + d * layout.dimStride] =
            from.values[(t * layout.heads + head) * layout.dim + d];
  }
}

Result<void> evaluateKvAppend(KvAppendOp op, Call &call) {
  Tensor rows = call.operand(0);
  Tensor &pool = call.result();
  pool.values = call.operand(2).values;
  rows.element = pool.element;
  SINTER_TRY(roundTo(rows, call.precision));
  const bool keys = op.getPart() == KvPart::Keys;
  append(rows, call.operand(1), keys ? keysOf(pool) : PoolLayout(pool, false), pool);
  return {};
}

// ---- attention ----

namespace {
template <class Real> class Attention {
public:
  Attention(PagedAttentionOp op, Call &call)
      : op_(op), query_(call.operand(0)), keys_(call.operand(1)), values_(call.operand(2)),
        pageTable_(call.operand(4)), sinks_(op.getSinks() ? &call.operand(7) : nullptr),
        out_(call.result()), keyLayout_(keysOf(keys_)), valueLayout_(values_, false),
        scale_(static_cast<Real>(op.getScale().convertToFloat())),
        softCap_(op.getSoftCap() ? static_cast<Real>(op.getSoftCap()->convertToFloat()) : 0) {}

  // Row `row` of the queries, at `position`, over those keys of a sequence that it sees; the
  // sequence has `length`.
  Result<void> attend(int64_t row, int64_t sequence, int64_t position, int64_t length) {
    const int64_t pageRows = keyLayout_.rows, pages = pageTable_.shape[1],
                  visible = op_.endSeen(position, length);
    if (visible > pages * pageRows)
      return fail(Code::InvalidArgument,
                  "row " + std::to_string(row) + " sees " + std::to_string(visible) +
                      " keys, but its sequence has " + std::to_string(pages) + " pages of " +
                      std::to_string(pageRows));
    places_.clear();
    for (int64_t key = op_.firstSeen(position); key < visible; ++key) {
      const double page = pageTable_.values[sequence * pages + key / pageRows];
      if (page < 0 || page >= static_cast<double>(keyLayout_.pages))
        return fail(Code::InvalidArgument,
                    "the page table names page " + std::to_string(static_cast<int64_t>(page)) +
                        ", but the KV cache has " + std::to_string(keyLayout_.pages));
      places_.push_back({static_cast<int64_t>(page), key % pageRows, position - key});
    }
    for (int64_t head = 0; head < query_.shape[1]; ++head)
      attendHead(row, head);
    return {};
  }

private:
  struct Place {
    int64_t page, row;
    int64_t distance; // from the query
  };

  Real scoreOf(const double *q, const Place &place, int64_t head, int64_t kvHead) const {
    const double *k = keys_.values.data() + keyLayout_.at(place.page, kvHead, place.row);
    Real score = 0;
    for (int64_t d = 0; d < keyLayout_.dim; ++d)
      score += static_cast<Real>(q[d]) * static_cast<Real>(k[d * keyLayout_.dimStride]);
    score *= scale_;
    if (softCap_ > 0)
      score = softCap_ * std::tanh(score / softCap_);
    if (op_.getSlopes())
      score -= static_cast<Real>((*op_.getSlopes())[head]) *
               static_cast<Real>(std::abs(place.distance));
    return score;
  }

  void attendHead(int64_t row, int64_t head) {
    const int64_t heads = query_.shape[1], kvHead = head / (heads / keyLayout_.heads);
    const double *q = query_.values.data() + (row * heads + head) * keyLayout_.dim;
    double *out = out_.values.data() + (row * heads + head) * valueLayout_.dim;
    std::vector<Real> weights;
    Real largest = sinks_ ? static_cast<Real>(sinks_->values[head]) : -INFINITY;
    for (const Place &place : places_) {
      weights.push_back(scoreOf(q, place, head, kvHead));
      largest = std::max(largest, weights.back());
    }
    Real sum = sinks_ ? std::exp(static_cast<Real>(sinks_->values[head]) - largest) : 0;
    for (Real &weight : weights)
      sum += weight = std::exp(weight - largest);
    for (int64_t d = 0; d < valueLayout_.dim; ++d) {
      Real mean = 0;
      for (size_t i = 0; i < places_.size(); ++i)
        mean += weights[i] *
                static_cast<Real>(
                    values_.values[valueLayout_.at(places_[i].page, kvHead, places_[i].row) + d]);
      out[d] = places_.empty() ? 0 : mean / sum;
    }
  }

  mutable PagedAttentionOp op_; // a handle whose getters are not const
  const Tensor &query_, &keys_, &values_, &pageTable_, *sinks_;
  Tensor &out_;
  PoolLayout keyLayout_, valueLayout_;
  Real scale_, softCap_; // 0: none
  std::vector<Place> places_;
};
} // namespace

template <class Real> static Result<void> attendAll(PagedAttentionOp op, Call &call) {
  Attention<Real> attention(op, call);
  const Tensor &positions = call.operand(3), &lengths = call.operand(5), &tiles = call.operand(6);
  for (int64_t tile = 0; tile < tiles.shape[0]; ++tile) {
    const auto sequence = static_cast<int64_t>(tiles.values[3 * tile]),
               first = static_cast<int64_t>(tiles.values[3 * tile + 1]),
               rows = static_cast<int64_t>(tiles.values[3 * tile + 2]);
    if (rows <= 0)
      continue;
    if (sequence < 0 || sequence >= lengths.count() || first < 0 ||
        first + rows > positions.count())
      return fail(Code::InvalidArgument,
                  "query tile " + std::to_string(tile) + " has rows " + std::to_string(first) +
                      " to " + std::to_string(first + rows) + " of sequence " +
                      std::to_string(sequence) + ", expected rows below " +
                      std::to_string(positions.count()) + " and a sequence below " +
                      std::to_string(lengths.count()));
    for (int64_t row = first; row < first + rows; ++row)
      SINTER_TRY(attention.attend(row, sequence, static_cast<int64_t>(positions.values[row]),
                                  static_cast<int64_t>(lengths.values[sequence])));
  }
  return {};
}

Result<void> evaluateAttention(PagedAttentionOp op, Call &call) {
  return call.precision == Precision::F32 ? attendAll<float>(op, call)
                                          : attendAll<double>(op, call);
}

} // namespace sinter::graph
