// Random graphs over all operations, with what they read. The same seed gives the same graph.
//
// Operations that jump (comparisons, rounding, quantizing) read exact values only: inputs, weights
// and what moves their elements. So any two evaluations of a graph differ by rounding errors alone,
// which the tracked magnitudes keep small.
#pragma once

#include "graph/evaluate/tensor.h"
#include "graph/graph.h"
#include "graph/ir/extent.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace sinter::graph {

struct RandomTensor {
  Shape shape;
  std::vector<double> values;
};

struct RandomGraph {
  std::string body; // operations of a function without arguments
  std::map<std::string, RandomTensor> inputs, weights;
  std::map<std::string, int64_t> symbols;
};

// All operations, or those of which generic kernels make whole graphs (engine/generic_launches.h).
enum class Vocabulary { All, Generic };

class GraphGenerator {
public:
  explicit GraphGenerator(uint64_t seed, Vocabulary vocabulary = Vocabulary::All)
      : random_(seed), vocabulary_(vocabulary) {}

  RandomGraph make(int steps) {
    graph_.symbols["T"] = between(1, 5);
    for (int i = 0; i < 3; ++i)
      floatInput();
    for (int i = 0; i < steps; ++i)
      step();
    for (size_t i = 0; i < values_.size(); ++i)
      if (!values_[i].used && i >= 3)
        output(values_[i]);
    return std::move(graph_);
  }

private:
  struct Operand {
    std::string name;
    std::vector<SymbolicExtent> shape;
    std::string element = "f32";
    double bound = 1;   // no element is larger
    bool exact = false; // the same in any precision
    bool used = false;

    bool isFloat() const { return element == "f32"; }
    std::string type() const {
      std::string extents, symbols;
      for (const SymbolicExtent &extent : shape) {
        const auto number = extent.constant();
        extents += (number ? std::to_string(*number) : "?") + "x";
        if (!number)
          symbols += (symbols.empty() ? "" : ", ") + ("\"" + extent.text() + "\"");
      }
      return "tensor<" + extents + element +
             (symbols.empty() ? "" : ", #graph.dims<" + symbols + ">") + ">";
    }
  };

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % (high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  double number() { return static_cast<float>(static_cast<double>(random_() >> 40) * 0x1p-23 - 1); }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  void line(const std::string &text) { graph_.body += "  " + text + "\n"; }

  SymbolicExtent extent() {
    return chance(30) ? SymbolicExtent::named("T") : SymbolicExtent(between(1, 5));
  }
  int64_t valueOf(const SymbolicExtent &extent) {
    return *extent.evaluate([&](llvm::StringRef symbol) -> std::optional<int64_t> {
      return graph_.symbols.at(symbol.str());
    });
  }
  int64_t countOf(const std::vector<SymbolicExtent> &shape) {
    int64_t count = 1;
    for (const SymbolicExtent &extent : shape)
      count *= valueOf(extent);
    return count;
  }
  RandomTensor contents(const std::vector<SymbolicExtent> &shape, auto make) {
    RandomTensor tensor;
    for (const SymbolicExtent &extent : shape)
      tensor.shape.push_back(valueOf(extent));
    for (int64_t i = countOf(shape); i > 0; --i)
      tensor.values.push_back(make());
    return tensor;
  }

  // ---- edges ----

  Operand define(std::vector<SymbolicExtent> shape, std::string element, double bound, bool exact) {
    values_.push_back({fresh(), std::move(shape), std::move(element), bound, exact});
    return values_.back();
  }
  Operand input(std::vector<SymbolicExtent> shape, const std::string &element, double bound,
                auto make) {
    const Operand value = define(std::move(shape), element, bound, true);
    graph_.inputs[value.name.substr(1)] = contents(value.shape, make);
    line(value.name + " = graph.input \"" + value.name.substr(1) + "\" : " + value.type());
    return value;
  }
  Operand floatInput() {
    // The first binds T.
    std::vector<SymbolicExtent> shape;
    if (values_.empty())
      shape.push_back(SymbolicExtent::named("T"));
    for (int64_t rank = between(1, 3); rank > 0; --rank)
      shape.push_back(extent());
    return input(std::move(shape), "f32", 1, [&] { return number(); });
  }
  Operand wholeInput(std::vector<SymbolicExtent> shape, int64_t low, int64_t high) {
    return input(std::move(shape), "i32", static_cast<double>(std::max(-low, high)),
                 [&] { return static_cast<double>(between(low, high)); });
  }
  Operand weight(std::vector<SymbolicExtent> shape, const std::string &element) {
    const Operand value = define(std::move(shape), element, 1, true);
    values_.pop_back(); // read by the one operation that asks for it
    graph_.weights[value.name.substr(1)] = contents(value.shape, [&] { return number(); });
    line(value.name + " = graph.weight [\"" + value.name.substr(1) + "\"] : " + value.type());
    return value;
  }
  void output(const Operand &value) {
    line("graph.output \"" + value.name.substr(1) + "\", " + value.name + " : " + value.type());
  }

  // ---- choosing operands ----

  // A value that `fits`, or none.
  std::optional<Operand> pick(auto fits) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < values_.size(); ++i)
      if (fits(values_[i]) && countOf(values_[i].shape) <= 2000)
        fitting.push_back(i);
    if (fitting.empty())
      return std::nullopt;
    Operand &value = values_[fitting[random_() % fitting.size()]];
    value.used = true;
    return value;
  }
  // A f32 value of at least `rank` axes and small numbers; a new input where there is none.
  Operand floats(size_t rank) {
    auto found = pick([&](const Operand &v) {
      return v.isFloat() && v.shape.size() >= rank && v.shape.size() <= 4 && v.bound <= 50;
    });
    return found ? *found
                 : input(std::vector<SymbolicExtent>(std::max<size_t>(rank, 1), SymbolicExtent(3)),
                         "f32", 1, [&] { return number(); });
  }
  int64_t axisOf(const Operand &value) {
    return between(0, static_cast<int64_t>(value.shape.size()) - 1);
  }

  static std::string list(const std::vector<int64_t> &numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
  }

  // ---- operations ----

  void step() {
    using Make = void (GraphGenerator::*)();
    static constexpr Make kMakers[] = {
        &GraphGenerator::makeMap,    &GraphGenerator::makeMap,       &GraphGenerator::makeWholeMap,
        &GraphGenerator::makeReduce, &GraphGenerator::makeNorm,      &GraphGenerator::makeDot,
        &GraphGenerator::makeDot,    &GraphGenerator::makeTranspose, &GraphGenerator::makeReshape,
        &GraphGenerator::makeSlice,  &GraphGenerator::makeConcat,    &GraphGenerator::makePad,
        &GraphGenerator::makeGather, &GraphGenerator::makeIota,      &GraphGenerator::makeConstant,
        &GraphGenerator::makeTruth,  &GraphGenerator::makeFold,      &GraphGenerator::makeBlocks,
        &GraphGenerator::makeLinear, &GraphGenerator::makeAttention, &GraphGenerator::makeTopK,
        &GraphGenerator::makeExperts};
    constexpr size_t kDecoders = 4; // at the end
    const size_t count = std::size(kMakers) - (vocabulary_ == Vocabulary::All ? 0 : kDecoders);
    (this->*kMakers[random_() % count])();
  }

  // One axis, or none, of a broadcast operand becomes 1, and leading axes may be left out.
  std::vector<SymbolicExtent> broadcastShape(const std::vector<SymbolicExtent> &shape) {
    std::vector<SymbolicExtent> result = shape;
    for (SymbolicExtent &extent : result)
      if (chance(30))
        extent = SymbolicExtent(1);
    if (chance(40))
      result.erase(result.begin(),
                   result.begin() + between(0, static_cast<int64_t>(result.size())));
    return result;
  }

  void makeMap() {
    struct Expression {
      const char *text; // %x and %y give %r
      double (*bound)(double, double);
    };
    static constexpr Expression kExpressions[] = {
        {"%r = arith.addf %x, %y : f32", [](double a, double b) { return a + b; }},
        {"%r = arith.subf %x, %y : f32", [](double a, double b) { return a + b; }},
        {"%r = arith.mulf %x, %y : f32", [](double a, double b) { return a * b; }},
        {"%r = arith.maximumf %x, %y : f32", [](double a, double b) { return std::max(a, b); }},
        {"%n = arith.negf %x : f32\n%r = arith.minimumf %n, %y : f32",
         [](double a, double b) { return std::max(a, b); }},
        {"%r = math.tanh %x : f32", [](double, double) { return 1.0; }},
        {"%r = math.erf %x : f32", [](double, double) { return 1.0; }},
        {"%s = math.sin %x : f32\n%c = math.cos %y : f32\n%r = arith.mulf %s, %c : f32",
         [](double, double) { return 1.0; }},
        {"%a = math.absf %x : f32\n%o = arith.constant 1.0 : f32\n%d = arith.addf %a, %o : f32\n"
         "%r = arith.divf %y, %d : f32",
         [](double, double b) { return b; }},
        {"%t = math.tanh %x : f32\n%e = math.exp %t : f32\n%f = math.exp2 %t : f32\n"
         "%r = arith.addf %e, %f : f32",
         [](double, double) { return 5.0; }},
        {"%a = math.fma %x, %x, %o1 : f32\n%l = math.log %a : f32\n%m = math.log2 %a : f32\n"
         "%r = arith.addf %l, %m : f32",
         [](double a, double) { return 3 * std::log2(1 + a * a) + 1; }},
        {"%a = math.fma %y, %y, %o1 : f32\n%l = math.sqrt %a : f32\n%m = math.rsqrt %a : f32\n"
         "%r = arith.addf %l, %m : f32",
         [](double, double b) { return b + 2; }},
        {"%z = arith.constant 0.0 : f32\n%c = arith.cmpf ogt, %x, %z : f32\n"
         "%r = arith.select %c, %x, %z : f32",
         [](double a, double) { return a; }},
        {"%a = math.fma %x, %x, %o1 : f32\n%p = arith.constant 0.5 : f32\n%r = math.powf %a, %p : "
         "f32",
         [](double a, double) { return a + 2; }}};
    const Operand x = floats(0);
    const std::vector<SymbolicExtent> shape = broadcastShape(x.shape);
    const Operand y = input(shape, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    const Expression &e = kExpressions[random_() % std::size(kExpressions)];
    const Operand out = define(x.shape, "f32", e.bound(x.bound, y.bound), false);
    line(out.name + " = graph.map " + x.name + ", " + y.name + " : " + x.type() + ", " + y.type() +
         " -> " + out.type() + " {\n^bb0(%x: f32, %y: f32):\n%o1 = arith.constant 1.0 : f32\n" +
         e.text + "\ngraph.yield %r : f32\n}");
  }

  // Whole numbers in bits, comparisons and conversions; exact floats round and narrow.
  void makeWholeMap() {
    if (chance(50)) {
      const auto x = pick([](const Operand &v) { return v.isFloat() && v.exact && v.bound <= 1; });
      if (!x)
        return;
      const char *narrow = chance(50) ? "f16" : "bf16";
      const Operand out = define(x->shape, narrow, 2, true);
      line(out.name + " = graph.map " + x->name + " : " + x->type() + " -> " + out.type() +
           " {\n^bb0(%x: f32):\n%q = arith.constant 8.0 : f32\n%m = arith.mulf %x, %q : f32\n"
           "%f = math.floor %m : f32\n%c = math.ceil %x : f32\n%e = math.roundeven %m : f32\n"
           "%s = arith.addf %f, %e : f32\n%i = arith.fptosi %s : f32 to i32\n"
           "%g = arith.sitofp %i : i32 to f32\n%d = arith.addf %g, %c : f32\n%t = arith.truncf %d "
           ": f32 to " +
           narrow + "\ngraph.yield %t : " + narrow + "\n}");
      return;
    }
    const Operand a = wholes();
    const Operand out = define(a.shape, "i32", INT32_MAX, true);
    line(
        out.name + " = graph.map " + a.name + " : " + a.type() + " -> " + out.type() +
        " {\n^bb0(%x: i32):\n%c = arith.constant 5 : i32\n%a = arith.muli %x, %c : i32\n"
        "%b = arith.shli %a, %c : i32\n%d = arith.shrsi %b, %c : i32\n%e = arith.xori %d, %x : "
        "i32\n"
        "%u = arith.shrui %a, %c : i32\n%f = arith.andi %u, %c : i32\n%g = arith.ori %e, %f : i32\n"
        "%h = arith.maxsi %g, %x : i32\n%l = arith.cmpi slt, %h, %a : i32\n"
        "%s = arith.select %l, %h, %a : i32\n%w = arith.extui %l : i1 to i32\n"
        "%k = arith.extsi %l : i1 to i32\n%y = arith.minsi %s, %c : i32\n%z = arith.addi %y, %w : "
        "i32\n"
        "%r = arith.subi %z, %k : i32\ngraph.yield %r : i32\n}");
  }
  Operand wholes() {
    auto found = pick([](const Operand &v) { return v.element == "i32" && !v.shape.empty(); });
    return found ? *found : wholeInput({extent(), extent()}, -9, 9);
  }

  void makeTruth() {
    const Operand x = wholes();
    const Operand truth = define(x.shape, "i1", 1, true);
    line(truth.name + " = graph.map " + x.name + " : " + x.type() + " -> " + truth.type() +
         " {\n^bb0(%x: i32):\n%c = arith.constant 2 : i32\n%t = arith.cmpi sge, %x, %c : i32\n"
         "%u = arith.trunci %x : i32 to i1\n%v = arith.xori %t, %u : i1\n"
         "%f = arith.uitofp %v : i1 to f32\n%b = arith.bitcast %f : f32 to i32\n"
         "%r = arith.cmpi ne, %b, %c : i32\n%s = arith.andi %r, %v : i1\ngraph.yield %s : i1\n}");
    values_.back().used = true;
    reduceOver(truth, chance(50) ? "all" : "any", 1);
  }

  // Some axes of a value, in any order, and its shape without them or with extent 1 for each.
  struct Reduced {
    std::vector<int64_t> axes;
    std::vector<SymbolicExtent> shape;
  };
  Reduced reducedOf(const Operand &x) {
    Reduced reduced;
    for (size_t axis = 0; axis < x.shape.size(); ++axis)
      if (chance(50))
        reduced.axes.push_back(static_cast<int64_t>(axis));
    std::shuffle(reduced.axes.begin(), reduced.axes.end(), random_);
    const bool kept = chance(50);
    for (size_t axis = 0; axis < x.shape.size(); ++axis)
      if (!llvm::is_contained(reduced.axes, static_cast<int64_t>(axis)))
        reduced.shape.push_back(x.shape[axis]);
      else if (kept)
        reduced.shape.push_back(SymbolicExtent(1));
    return reduced;
  }
  void reduceOver(const Operand &x, const std::string &kind, double bound) {
    const Reduced reduced = reducedOf(x);
    const Operand out = define(reduced.shape, x.element, bound, x.exact && !x.isFloat());
    line(out.name + " = graph.reduce " + kind + " " + x.name + " over " + list(reduced.axes) +
         " : " + x.type() + " -> " + out.type());
  }

  // An exact value's largest element, its index, and whether an odd number is positive; of others a
  // sum whose order shows.
  void makeFold() {
    const Operand x = floats(1);
    const Reduced reduced = reducedOf(x);
    if (!x.exact) {
      const Operand out = define(reduced.shape, "f32", 2 * x.bound + 1, false);
      line(out.name + " = graph.fold " + x.name + " from [1.0 : f32] over " + list(reduced.axes) +
           " : " + x.type() + " -> " + out.type() +
           " {\n^bb0(%s: f32, %x: f32):\n%h = arith.constant 0.5 : f32\n"
           "%r = math.fma %s, %h, %x : f32\ngraph.yield %r : f32\n}");
      return;
    }
    const Operand at = define(x.shape, "i32", 5, true);
    values_.back().used = true;
    line(at.name + " = graph.iota along " + std::to_string(axisOf(x)) + " : " + at.type());
    const Operand most = define(reduced.shape, "f32", std::max(x.bound, 100.0), true),
                  index = define(reduced.shape, "i32", 5, true),
                  odd = define(reduced.shape, "i1", 1, true);
    line(most.name + ", " + index.name + ", " + odd.name + " = graph.fold " + x.name + ", " +
         at.name + " from [-1.0e2 : f32, -1 : i32, true] over " + list(reduced.axes) + " : " +
         x.type() + ", " + at.type() + " -> " + most.type() + ", " + index.type() + ", " +
         odd.type() +
         " {\n^bb0(%m: f32, %n: i32, %o: i1, %x: f32, %i: i32):\n"
         "%g = arith.cmpf ogt, %x, %m : f32\n%a = arith.select %g, %x, %m : f32\n"
         "%b = arith.select %g, %i, %n : i32\n%z = arith.constant 0.0 : f32\n"
         "%p = arith.cmpf ogt, %x, %z : f32\n%c = arith.xori %o, %p : i1\n"
         "graph.yield %a, %b, %c : f32, i32, i1\n}");
  }
  void makeReduce() {
    const char *kinds[] = {"sum", "max", "min", "product"};
    const bool whole = chance(30);
    const Operand x = whole ? wholes() : floats(0);
    const std::string kind = kinds[between(0, whole || x.bound <= 1 ? 3 : 2)];
    reduceOver(x, kind, kind == "sum" ? x.bound * static_cast<double>(countOf(x.shape)) : x.bound);
  }

  void makeNorm() {
    const Operand x = floats(1);
    std::vector<int64_t> axes = {axisOf(x)};
    if (const int64_t second = axisOf(x); second != axes[0] && chance(40))
      axes.push_back(second);
    std::vector<int64_t> ascending = axes;
    std::sort(ascending.begin(), ascending.end());
    std::vector<SymbolicExtent> shape;
    bool isStatic = true;
    for (int64_t axis : ascending) {
      shape.push_back(x.shape[axis]);
      isStatic &= shape.back().constant().has_value();
    }
    const bool layer = chance(50), weighted = isStatic && chance(60),
               biased = isStatic && chance(50);
    const Operand w = weighted ? weight(shape, "f32") : x, b = biased ? weight(shape, "f32") : x;
    const Operand out =
        define(x.shape, "f32", std::sqrt(static_cast<double>(countOf(shape))) + 1, false);
    line(out.name + " = graph.norm " + (layer ? "layer " : "") + x.name +
         (weighted ? ", " + w.name : "") + (biased ? " bias " + b.name : "") + " over " +
         list(axes) + " eps 1.0e-1 : " + x.type() + (weighted ? ", " + w.type() : "") +
         (biased ? " bias " + b.type() : "") + " -> " + out.type());
  }

  // Batch axes are of one operand's, in any order; the other operand is its transpose.
  void makeDot() {
    const Operand a = floats(1);
    std::vector<int64_t> order(a.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<SymbolicExtent> other, result;
    std::vector<int64_t> place(order.size()); // of a's axes in b
    for (size_t i = 0; i < order.size(); ++i) {
      other.push_back(a.shape[order[i]]);
      place[order[i]] = static_cast<int64_t>(i);
    }
    std::vector<int64_t> aBatch, aContract, bBatch, bContract;
    for (int64_t axis = 0; axis < static_cast<int64_t>(order.size()); ++axis)
      if (const int64_t role = between(0, 3); role == 0)
        aBatch.push_back(axis), bBatch.push_back(place[axis]);
      else if (role < 3)
        aContract.push_back(axis), bContract.push_back(place[axis]);
    const Operand b = input(other, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    double depth = 1;
    for (int64_t axis : aBatch)
      result.push_back(a.shape[axis]);
    for (int64_t axis : aContract)
      depth *= static_cast<double>(valueOf(a.shape[axis]));
    auto addOthers = [&](const std::vector<SymbolicExtent> &shape, auto &batch, auto &contract) {
      for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
        if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis))
          result.push_back(shape[axis]);
    };
    addOthers(a.shape, aBatch, aContract);
    addOthers(b.shape, bBatch, bContract);
    if (result.size() > 6)
      return;
    const Operand out = define(std::move(result), "f32", a.bound * depth, false);
    line(out.name + " = graph.dot_general " + a.name + ", " + b.name + " batch " + list(aBatch) +
         " x " + list(bBatch) + " contract " + list(aContract) + " x " + list(bContract) + " : " +
         a.type() + ", " + b.type() + " -> " + out.type());
  }

  // Rows by a weight in any format, quantized first or not.
  void makeLinear() {
    const char *formats[] = {"f32",
                             "f16",
                             "bf16",
                             "!tile.block<\"q8_0\">",
                             "!tile.block<\"q4_1\">",
                             "!tile.block<\"q6_k\">"};
    const std::string format = formats[between(0, 5)];
    const bool blocks = format.starts_with('!');
    const int64_t depth = format.find("_k") != std::string::npos ? 256
                          : blocks                               ? 32
                                                                 : between(1, 5);
    const Operand x = input({extent(), SymbolicExtent(depth)}, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    const Operand w = weight({SymbolicExtent(between(1, 5)), SymbolicExtent(depth)}, format);
    Operand a = x;
    if (chance(50) && format != "f32") {
      a.element = blocks ? "!tile.block<\"q8a\">" : format;
      a.name = fresh();
      line(a.name + " = graph.quantize " + x.name + " : " + x.type() + " -> " + a.type());
    }
    const Operand out = define({x.shape[0], w.shape[0]}, "f32", static_cast<double>(depth), false);
    line(out.name + " = graph.dot_general " + a.name + ", " + w.name + " : " + a.type() + ", " +
         w.type() + " -> " + out.type());
  }

  void makeTranspose() {
    const Operand x = floats(1);
    std::vector<int64_t> order(x.shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<SymbolicExtent> shape;
    for (int64_t axis : order)
      shape.push_back(x.shape[axis]);
    const Operand out = define(std::move(shape), "f32", x.bound, x.exact);
    line(out.name + " = graph.transpose " + x.name + " to " + list(order) + " : " + x.type() +
         " -> " + out.type());
  }

  // Joins two neighbouring axes.
  void makeReshape() {
    const Operand x = floats(2);
    const size_t axis = static_cast<size_t>(between(0, static_cast<int64_t>(x.shape.size()) - 2));
    std::vector<SymbolicExtent> shape = x.shape;
    const auto joined = shape[axis].times(shape[axis + 1]);
    if (!joined)
      return;
    shape[axis] = *joined;
    shape.erase(shape.begin() + static_cast<int64_t>(axis) + 1);
    const Operand out = define(std::move(shape), "f32", x.bound, x.exact);
    line(out.name + " = graph.reshape " + x.name + " : " + x.type() + " -> " + out.type());
  }

  void makeSlice() {
    const Operand x = floats(1);
    std::vector<int64_t> offsets, steps;
    std::vector<SymbolicExtent> shape;
    for (const SymbolicExtent &extent : x.shape) {
      const int64_t length = extent.constant().value_or(1);
      const bool whole = !extent.constant();
      offsets.push_back(whole ? 0 : between(0, length - 1));
      steps.push_back(whole ? 1 : between(1, 3));
      const int64_t most = (length - 1 - offsets.back()) / steps.back() + 1;
      shape.push_back(whole ? extent : SymbolicExtent(between(1, most)));
    }
    const Operand out = define(std::move(shape), "f32", x.bound, x.exact);
    line(out.name + " = graph.slice " + x.name + " from " + list(offsets) + " step " + list(steps) +
         " : " + x.type() + " -> " + out.type());
  }

  void makeConcat() {
    const Operand x = floats(1);
    const int64_t axis = axisOf(x);
    std::vector<SymbolicExtent> shape = x.shape;
    shape[axis] = extent();
    const Operand y = input(shape, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    const auto sum = x.shape[axis].plus(y.shape[axis]);
    if (!sum)
      return;
    shape[axis] = *sum;
    const Operand out = define(std::move(shape), "f32", std::max(1.0, x.bound), x.exact);
    line(out.name + " = graph.concat " + x.name + ", " + y.name + " along " + std::to_string(axis) +
         " : " + x.type() + ", " + y.type() + " -> " + out.type());
  }

  void makePad() {
    const Operand x = floats(1);
    std::vector<int64_t> low, high;
    std::vector<SymbolicExtent> shape;
    for (const SymbolicExtent &extent : x.shape) {
      low.push_back(between(0, 2));
      high.push_back(between(0, 1));
      const auto padded = extent.plus(low.back() + high.back());
      if (!padded)
        return;
      shape.push_back(*padded);
    }
    const Operand out = define(std::move(shape), "f32", std::max(1.0, x.bound), x.exact);
    line(out.name + " = graph.pad " + x.name + " low " + list(low) + " high " + list(high) +
         " fill 5.0e-1 : f32 : " + x.type() + " -> " + out.type());
  }

  // Some axes of the table beside the indexed one may be batch axes, anywhere in the index.
  void gatherFrom(const Operand &table, int64_t axis, int64_t lastBatch) {
    std::vector<int64_t> tableBatch, indexBatch;
    for (int64_t i = 0; i < lastBatch; ++i)
      if (i != axis && chance(30))
        tableBatch.push_back(i);
    std::shuffle(tableBatch.begin(), tableBatch.end(), random_);
    const int64_t others = between(tableBatch.empty() ? 1 : 0, 2);
    std::vector<SymbolicExtent> indexShape, found;
    for (int64_t i = 0; i < others; ++i)
      indexShape.push_back(extent());
    found = indexShape;
    for (int64_t i : tableBatch) {
      const int64_t at = between(0, static_cast<int64_t>(indexShape.size()));
      indexShape.insert(indexShape.begin() + at, table.shape[i]);
      for (int64_t &before : indexBatch)
        before += before >= at;
      indexBatch.push_back(at);
    }
    const Operand index = wholeInput(indexShape, -1, 5);
    values_.back().used = true;
    std::vector<SymbolicExtent> shape(table.shape.begin(), table.shape.begin() + axis);
    shape.insert(shape.end(), found.begin(), found.end());
    shape.insert(shape.end(), table.shape.begin() + axis + 1, table.shape.end());
    const Operand out = define(std::move(shape), "f32", table.bound * 2, table.exact);
    const std::string batch =
        tableBatch.empty() ? "" : " batch " + list(tableBatch) + " x " + list(indexBatch);
    line(out.name + " = graph.gather " + table.name + ", " + index.name + batch + " along " +
         std::to_string(axis) + " : " + table.type() + ", " + index.type() + " -> " + out.type());
  }
  void makeGather() {
    const Operand table = floats(1);
    gatherFrom(table, axisOf(table), static_cast<int64_t>(table.shape.size()));
  }

  // Weights in blocks, moved or not, as operands of what is no linear layer.
  void makeBlocks() {
    const char *formats[] = {"q8_0", "q4_1", "q6_k"};
    const std::string name = formats[between(0, 2)], format = "!tile.block<\"" + name + "\">";
    const SymbolicExtent depth(name.ends_with("k") ? 256 : 32 * between(1, 2));
    Operand w =
        weight({SymbolicExtent(between(1, 3)), SymbolicExtent(between(1, 3)), depth}, format);
    moveBlocks(w);
    switch (between(0, 2)) {
    case 0: {
      const Operand out = define(w.shape, "f32", 1.1, true);
      line(out.name + " = graph.dequantize " + w.name + " : " + w.type() + " -> " + out.type());
      return;
    }
    case 1:
      return gatherFrom(w, between(0, 1), 2);
    default:
      const Operand x = input({extent(), w.shape[1], depth}, "f32", 1, [&] { return number(); });
      values_.back().used = true;
      const Operand out = define({w.shape[1], x.shape[0], w.shape[0]}, "f32",
                                 static_cast<double>(valueOf(depth)), false);
      line(out.name + " = graph.dot_general " + x.name + ", " + w.name +
           " batch [1] x [1] contract [2] x [2] : " + x.type() + ", " + w.type() + " -> " +
           out.type());
    }
  }
  // Blocks stay whole.
  void moveBlocks(Operand &w) {
    const Operand from = w;
    const int64_t way = between(0, 3);
    if (way == 0)
      return;
    w.name = fresh();
    if (way == 1) {
      std::swap(w.shape[0], w.shape[1]);
      line(w.name + " = graph.transpose " + from.name + " to [1, 0, 2] : " + from.type() + " -> " +
           w.type());
    } else if (way == 2) {
      w.shape[0] = *w.shape[0].plus(from.shape[0]);
      line(w.name + " = graph.concat " + from.name + ", " + from.name +
           " along 0 : " + from.type() + ", " + from.type() + " -> " + w.type());
    } else {
      w.shape[1] = SymbolicExtent(1);
      const int64_t first = between(0, valueOf(from.shape[1]) - 1);
      line(w.name + " = graph.slice " + from.name + " from " + list({0, first, 0}) + " : " +
           from.type() + " -> " + w.type());
    }
  }

  void makeIota() {
    const Operand out = define({extent(), extent()}, "i32", 5, true);
    line(out.name + " = graph.iota along " + std::to_string(between(0, 1)) + " : " + out.type());
  }

  void makeConstant() {
    const Operand out = define({SymbolicExtent(3)}, "f32", 1, true);
    line(out.name + " = graph.constant dense<[1.0, -0.5, 0.25]> : " + out.type());
  }

  // Rows of one sequence at the end of its pages, through RoPE and the KV cache.
  void makeAttention() {
    const int64_t rows = graph_.symbols.at("T"), heads = between(1, 2), dim = 4, pageRows = 2;
    const std::string tag = std::to_string(next_++);
    const SymbolicExtent T = SymbolicExtent::named("T");
    auto indices = [&](std::vector<SymbolicExtent> shape, std::vector<double> numbers) {
      size_t at = 0;
      const Operand value = input(std::move(shape), "i32", 5, [&] { return numbers[at++]; });
      values_.pop_back();
      return value;
    };
    std::vector<double> positions, slots;
    for (int64_t t = 0; t < rows; ++t) {
      positions.push_back(static_cast<double>(t));
      // Page i of the sequence is page 2 - i of the cache.
      slots.push_back(static_cast<double>((2 - t / pageRows) * pageRows + t % pageRows));
    }
    auto rowsOf = [&](int64_t count) {
      const Operand value = input({T, SymbolicExtent(count), SymbolicExtent(dim)}, "f32", 1,
                                  [&] { return number(); });
      values_.pop_back();
      return value;
    };
    const Operand query = rowsOf(2 * heads), keys = rowsOf(heads), vals = rowsOf(heads);
    const Operand p = indices({T}, positions), s = indices({T}, slots);
    const Operand pages = indices({SymbolicExtent(1), SymbolicExtent(3)}, {2, 1, 0});
    const Operand lengths = indices({SymbolicExtent(1)}, {static_cast<double>(rows)});
    const Operand tiles =
        indices({SymbolicExtent(1), SymbolicExtent(3)}, {0, 0, static_cast<double>(rows)});
    const std::string element = chance(50) ? "f16" : "bf16";
    Operand keyPool{
        "%k" + tag,
        {SymbolicExtent(3), SymbolicExtent(heads), SymbolicExtent(dim), SymbolicExtent(pageRows)},
        element};
    Operand valuePool{
        "%s" + tag,
        {SymbolicExtent(3), SymbolicExtent(heads), SymbolicExtent(pageRows), SymbolicExtent(dim)},
        element};
    const int64_t rotating = chance(50) ? dim : dim / 2;
    const Operand table{"%t" + tag, {T, SymbolicExtent(rotating)}};
    const std::string dims = std::to_string(rotating);
    const char *pairing = chance(50) ? "halves" : "neighbours";
    line(table.name + " = graph.rope_table " + p.name + " dims " + dims +
         " base 1.0e4 : " + p.type() + " -> " + table.type());
    const std::string turned = "%q" + tag;
    line(turned + " = graph.rope " + pairing + " " + query.name + ", " + table.name + " dims " +
         dims + " : " + query.type() + ", " + table.type() + " -> " + query.type());
    line(keyPool.name + " = graph.state \"keys" + tag + "\" : " + keyPool.type());
    line(valuePool.name + " = graph.state \"values" + tag + "\" : " + valuePool.type());
    auto append = [&](const char *result, const char *part, const Operand &rows,
                      const Operand &pool) {
      line(result + tag + " = graph.kv_append " + part + " " + rows.name + " at " + s.name +
           " into " + pool.name + " : " + rows.type() + ", " + s.type() + " into " + pool.type() +
           " -> " + pool.type());
    };
    append("%a", "keys", keys, keyPool);
    append("%b", "values", vals, valuePool);
    std::string sinks, sinksType;
    if (chance(30)) {
      const Operand weights = weight({SymbolicExtent(2 * heads)}, "f32");
      sinks = " sinks " + weights.name;
      sinksType = " sinks " + weights.type();
    }
    const Operand out = define(query.shape, "f32", 1, false);
    line(out.name + " = graph.paged_attention " + turned + ", %a" + tag + ", %b" + tag + ", " +
         p.name + ", " + pages.name + ", " + lengths.name + ", " + tiles.name + sinks +
         " scale 0.5" + attentionWords(2 * heads) + " : " + query.type() + ", " + keyPool.type() +
         ", " + valuePool.type() + ", " + p.type() + ", " + pages.type() + ", " + lengths.type() +
         ", " + tiles.type() + sinksType + " -> " + query.type());
  }
  // What may be said of scores.
  std::string attentionWords(int64_t heads) {
    std::string words;
    if (chance(40))
      words += (chance(50) ? " window " : " chunk ") + std::to_string(between(1, 4));
    if (chance(30))
      words += " soft_cap 2.0";
    if (chance(30)) {
      words += " slopes [0.5";
      for (int64_t head = 1; head < heads; ++head)
        words += ", 0.25";
      words += "]";
    }
    return words;
  }

  void makeTopK() {
    const Operand x =
        input({extent(), SymbolicExtent(between(1, 9))}, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    std::vector<SymbolicExtent> shape = x.shape;
    shape.back() = SymbolicExtent(between(1, valueOf(x.shape.back())));
    const Operand largest = define(shape, "f32", 1, true), at = define(shape, "i32", 9, true);
    line(largest.name + ", " + at.name + " = graph.top_k " + x.name + " : " + x.type() + " -> " +
         largest.type() + ", " + at.type());
  }

  // Tokens' rows through the experts that random logits choose.
  void makeExperts() {
    const int64_t experts = 2 * between(2, 5), choices = between(1, 2), columns = between(1, 5);
    const bool blocks = chance(50);
    const int64_t depth = blocks ? 32 : between(1, 5), parts = between(1, 2);
    const SymbolicExtent T = SymbolicExtent::named("T");
    const std::vector<SymbolicExtent> chosen = {T, SymbolicExtent(choices)};
    const SymbolicExtent rows = *T.times(SymbolicExtent(choices));
    const Operand x = input({T, SymbolicExtent(depth)}, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    const Operand logits = input({T, SymbolicExtent(experts)}, "f32", 1, [&] { return number(); });
    values_.back().used = true;
    const Operand bias = weight({SymbolicExtent(experts)}, "f32");
    const Operand matrices =
        weight({SymbolicExtent(parts * experts), SymbolicExtent(columns), SymbolicExtent(depth)},
               blocks ? "!tile.block<\"q8_0\">" : "f16");
    const Operand weights = define(chosen, "f32", 1, false),
                  places = define(chosen, "i32", 9, true);
    values_.back().used = true;
    const std::string tag = std::to_string(next_++), ids = "%e" + tag, groups = "%g" + tag,
                      spread = "%s" + tag, sums = "%d" + tag;
    const std::string ofGroups = "tensor<" + std::to_string(experts) + "x3xi32>";
    const Operand spreadRows{spread, {rows, SymbolicExtent(depth)}},
        sumRows{sums, {rows, SymbolicExtent(parts * columns)}};
    const char *kinds[] = {"softmax", "sigmoid", "chosen_softmax"};
    line(weights.name + ", " + ids + " = graph.route " + kinds[between(0, 2)] + " " + logits.name +
         " bias " + bias.name + " {groups = 2 : i64, used_groups = 2 : i64" +
         (chance(50) ? ", normalized" : "") + "} : " + logits.type() + " bias " + bias.type() +
         " -> " + weights.type() + ", " + places.type());
    line(places.name + ", " + groups + " = graph.group_rows " + ids + " : " + places.type() +
         " -> " + places.type() + ", " + ofGroups);
    line(spread + " = graph.spread_rows " + x.name + " to " + places.name + " : " + x.type() +
         ", " + places.type() + " -> " + spreadRows.type());
    line(sums + " = graph.grouped_dot " + spread + ", " + matrices.name + " by " + groups +
         " choices " + std::to_string(choices) + " : " + spreadRows.type() + ", " +
         matrices.type() + " by " + ofGroups + " -> " + sumRows.type());
    const Operand out = define({T, SymbolicExtent(parts * columns)}, "f32",
                               static_cast<double>(depth * choices), false);
    line(out.name + " = graph.combine_rows " + sums + " at " + places.name + " by " + weights.name +
         " : " + sumRows.type() + ", " + places.type() + ", " + weights.type() + " -> " +
         out.type());
  }

  std::mt19937_64 random_;
  Vocabulary vocabulary_;
  RandomGraph graph_;
  std::vector<Operand> values_;
  int next_ = 0;
};

// What the graph reads, for an evaluation or another holder of edges.
inline void giveEdges(auto &evaluation, const RandomGraph &graph) {
  for (const auto &[name, tensor] : graph.inputs)
    evaluation.input(name, tensor.shape, tensor.values);
  for (const auto &[name, tensor] : graph.weights)
    evaluation.weight(name, tensor.shape, tensor.values);
}

inline RandomGraph randomGraph(uint64_t seed, int steps = 12,
                               Vocabulary vocabulary = Vocabulary::All) {
  return GraphGenerator(seed, vocabulary).make(steps);
}

} // namespace sinter::graph
