// Conformance of the tile language's operations, one small kernel each: compiled code equals the
// scheduled interpreter bit for bit and lies near the tile interpreter.
#include "tile/mlir_pch.h"

#include "targets/make_arguments.h"

namespace sinter::targets::cpu {
namespace {

using namespace kernel;

// Block of every kernel here.
constexpr int64_t kRows = 2, kColumns = 48;

// out = body(x, y) on blocks of x and y; `body` may change the shape.
struct Operation {
  std::string name;
  Element in, out;
  std::function<Tile(KernelBuilder &, Tile, Tile)> body;
  Bound bound = {0, 0};
};

template <class F> Operation binary(const std::string &name, Element element, F f, Bound b = {}) {
  return {name, element, element, [f](KernelBuilder &, Tile x, Tile y) -> Tile { return f(x, y); },
          b};
}

template <class F> Operation unary(const std::string &name, F f, Bound b = {}) {
  return {name, F32, F32, [f](KernelBuilder &, Tile x, Tile) -> Tile { return f(x); }, b};
}

// Functions are good to a few units in the last place, sine and cosine to a few units of 1.
constexpr Bound kFunction = {1e-6, 1e-37}, kWave = {0, 5e-7};

// One rounding to bf16 the other way; the exponential itself is off by much less.
constexpr Bound kBf16 = {0x1p-7, 1e-37};

Tile exponentialAsBf16(const Tile &x) {
  return convert(convert(exp(x), BF16), F32);
}

void addMath(std::vector<Operation> &all) {
  all.push_back(unary("exp", [](Tile x) { return exp(x); }, kFunction));
  all.push_back(unary("exp_to_bf16", exponentialAsBf16, kBf16));
  all.push_back(unary("exp2", [](Tile x) { return exp2(x); }, kFunction));
  all.push_back(unary("log", [](Tile x) { return log(abs(x)); }, {1e-6, 1e-7}));
  all.push_back(unary("sqrt", [](Tile x) { return sqrt(abs(x)); }));
  all.push_back(unary("rsqrt", [](Tile x) { return rsqrt(abs(x)); }, kFunction));
  all.push_back(unary("sin", [](Tile x) { return sin(x * 100.0); }, kWave));
  all.push_back(unary("cos", [](Tile x) { return cos(x * 100.0); }, kWave));
  all.push_back(unary("tanh", [](Tile x) { return tanh(x); }, {1e-6, 5e-7}));
  all.push_back(unary("floor", [](Tile x) { return floor(x * 3.0); }));
  all.push_back(unary("ceil", [](Tile x) { return ceil(x * 3.0); }));
  all.push_back(unary("round_even", [](Tile x) { return roundEven(x * 3.0); }));
  all.push_back(unary("abs", [](Tile x) { return abs(x); }));
  all.push_back(unary("negate", [](Tile x) { return -x; }));
}

void addArithmetic(std::vector<Operation> &all, Element e) {
  std::string type = std::string("_") + e.name();
  all.push_back(binary("add" + type, e, [](Tile x, Tile y) { return x + y; }));
  all.push_back(binary("subtract" + type, e, [](Tile x, Tile y) { return x - y; }));
  all.push_back(binary("multiply" + type, e, [](Tile x, Tile y) { return x * y; }));
  all.push_back(binary("max" + type, e, [](Tile x, Tile y) { return max(x, y); }));
  all.push_back(binary("min" + type, e, [](Tile x, Tile y) { return min(x, y); }));
  all.push_back(binary("less" + type, e, [](Tile x, Tile y) { return select(x < y, x, y); }));
  all.push_back(binary("equal" + type, e, [](Tile x, Tile y) { return select(x == y, x, y); }));
  all.push_back(binary("unequal" + type, e, [](Tile x, Tile y) { return select(x != y, x, y); }));
  all.push_back(binary("at_least" + type, e, [](Tile x, Tile y) {
    return select(logicalAnd(x >= y, logicalNot(x > y)), x, y);
  }));
}

void addFloats(std::vector<Operation> &all) {
  all.push_back(binary("divide", F32, [](Tile x, Tile y) { return x / y; }));
  all.push_back(binary("fma", F32, [](Tile x, Tile y) { return fma(x, y, x); }));
  for (Element narrow : {F16, BF16})
    all.push_back(unary(std::string("round_to_") + narrow.name(),
                        [narrow](Tile x) { return convert(convert(x, narrow), F32); }));
  all.push_back(unary("to_i32_and_back", [](Tile x) {
    return convert(convert(max(min(x * 7.0, 1e6), -1e6), I32), F32);
  }));
  all.push_back(unary("bits", [](Tile x) { return bitcast(bitcast(x, I32) & 0x7fffffff, F32); }));
}

// Divisors are odd, and so never zero.
void addIntegers(std::vector<Operation> &all) {
  all.push_back(binary("divide_i32", I32, [](Tile x, Tile y) { return x / (y | 1); }));
  all.push_back(binary("remainder_i32", I32, [](Tile x, Tile y) { return x % (y | 1); }));
  all.push_back(binary("floor_div_i32", I32, [](Tile x, Tile y) { return floorDiv(x, y | 1); }));
  all.push_back(binary("ceil_div_i32", I32, [](Tile x, Tile y) { return ceilDiv(x, y | 1); }));
  all.push_back(binary("and_i32", I32, [](Tile x, Tile y) { return x & y; }));
  all.push_back(binary("or_i32", I32, [](Tile x, Tile y) { return x | y; }));
  all.push_back(binary("xor_i32", I32, [](Tile x, Tile y) { return x ^ y; }));
  all.push_back(binary("not_i32", I32, [](Tile x, Tile) { return ~x; }));
  all.push_back(binary("shift_left_i32", I32, [](Tile x, Tile y) { return x << (y & 31); }));
  all.push_back(binary("shift_right_i32", I32, [](Tile x, Tile y) { return x >> (y & 31); }));
  all.push_back(binary("shift_logical_i32", I32,
                       [](Tile x, Tile y) { return shiftRightLogical(x, y & 31); }));
}

// Sums of rows have rounding errors of their own.
constexpr Bound kSum = {4e-6, 4e-6};

Operation shaped(const std::string &name, std::function<Tile(KernelBuilder &, Tile, Tile)> body,
                 Bound bound = {}) {
  return {name, F32, F32, std::move(body), bound};
}

void addShapes(std::vector<Operation> &all) {
  auto whole = [](const Tile &part) { return broadcast(part, {kRows, kColumns}); };
  // Weights that are taken as bf16 once they are divided by their sum, and that sum.
  all.push_back(shaped("sum_of_weights_in_bf16",
                       [=](auto &, Tile x, Tile) {
                         Tile weights = exp(x - whole(reduceMax(x, 1)));
                         return whole(reduceSum(weights, 1)) +
                                min(convert(convert(weights, BF16), F32), 0.0);
                       },
                       {8e-7, 0}));
  for (uint32_t axis : {0u, 1u}) {
    std::string along = "_axis_" + std::to_string(axis);
    all.push_back(shaped(
        "sum" + along, [=](auto &, Tile x, Tile) { return whole(reduceSum(x, axis)); }, kSum));
    all.push_back(
        shaped("largest" + along, [=](auto &, Tile x, Tile) { return whole(reduceMax(x, axis)); }));
    all.push_back(shaped("largest_any_nan" + along,
                         [=](auto &, Tile x, Tile) { return whole(reduceMaxAnyNan(x, axis)); }));
    all.push_back(shaped("smallest" + along,
                         [=](auto &, Tile x, Tile) { return whole(reduceMin(x, axis)); }));
    all.push_back(shaped("numbers" + along, [=](KernelBuilder &k, Tile x, Tile) {
      return x + convert(k.iota({kRows, kColumns}, axis), F32);
    }));
    all.push_back(shaped("joined" + along, [=](auto &, Tile x, Tile y) {
      Tile both = concat({x, y}, axis);
      return axis == 0 ? slice(both, {1, 0}, {kRows, kColumns})
                       : slice(both, {0, 17}, {kRows, kColumns});
    }));
  }
  all.push_back(shaped("transposed_twice", [](auto &, Tile x, Tile y) {
    return permute(permute(x, {1, 0}) * permute(y, {1, 0}), {1, 0});
  }));
  all.push_back(shaped("reshaped", [](auto &, Tile x, Tile y) {
    Tile lines = reshape(x, {kRows * kColumns / 16, 16});
    return reshape(lines * 2.0, {kRows, kColumns}) + y;
  }));
}

void addControl(std::vector<Operation> &all) {
  all.push_back(shaped("loop", [](KernelBuilder &k, Tile x, Tile y) {
    return k.forLoop(0, 5, 1, x, [&](Scalar, Tile carried) { return fma(carried, y, x); });
  }));
  all.push_back(shaped("two_carried", [](KernelBuilder &k, Tile x, Tile y) {
    auto [a, b] = k.forLoop(0, 3, 1, std::tuple{x, y},
                            [&](Scalar, Tile p, Tile q) { return std::tuple{q, p + q}; });
    return a * b;
  }));
  all.push_back(shaped("nested_loops", [](KernelBuilder &k, Tile x, Tile y) {
    return k.forLoop(0, 3, 1, x, [&](Scalar i, Tile outer) {
      return k.forLoop(0, i, 1, outer, [&](Scalar, Tile inner) { return inner * y; });
    });
  }));
}

const std::vector<Operation> &allOperations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> made;
    addMath(made);
    for (Element e : {F32, I32})
      addArithmetic(made, e);
    addFloats(made);
    addIntegers(made);
    addShapes(made);
    addControl(made);
    return made;
  }();
  return all;
}

void defineKernel(KernelBuilder &k, const Operation &operation) {
  View x = k.in("x", operation.in, {dyn, dyn}), y = k.in("y", operation.in, {dyn, dyn});
  View out = k.out("out", operation.out, {dyn, dyn});
  k.grid(ceilDiv(out.dim(1), kColumns), ceilDiv(out.dim(0), kRows));
  Scalar row = k.programId(1) * kRows, column = k.programId(0) * kColumns;
  store(out, {row, column},
        operation.body(k, load(x, {row, column}, {kRows, kColumns}),
                       load(y, {row, column}, {kRows, kColumns})));
}

class Operations : public testing::TestWithParam<std::tuple<size_t, std::string>> {};

TEST_P(Operations, Hold) {
  const auto &[index, level] = GetParam();
  const Operation &operation = allOperations()[index];
  HostLevel host = hostLevel(level);
  if (!host.missing.empty())
    GTEST_SKIP() << host.missing;
  tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &defined) {
    defined.kernel("operation", [&](KernelBuilder &k) { defineKernel(k, operation); });
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto compiled = CompiledKernels::compile(module.module(), host);
  ASSERT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(index);
  ViewShapes views = {{"x", {"M", "N"}}, {"y", {"M", "N"}}, {"out", {"M", "N"}}};
  for (const Extents &extents :
       mixExtents({{"M", {0, 1, 3}}, {"N", {1, 47, 48, 49, 67}}}, 1, random))
    for (bool specials : {false, true}) {
      LaunchArguments arguments = makeArguments(compiled->kernel(), views, extents, 3, random);
      for (LaunchArgument &a : arguments)
        if (specials && a.view().isReadable())
          sprinkleSpecials(a, random);
      SCOPED_TRACE("M=" + std::to_string(extents.at("M")) +
                   " N=" + std::to_string(extents.at("N")));
      compiled->check(arguments, specials ? Bound{INFINITY, INFINITY} : operation.bound);
      if (HasFailure())
        return;
    }
}

// ---- functions on special values ----

struct Function {
  const char *name;
  Tile (*of)(const Tile &);
  bool periodic = false;
  float error = 1e-6f; // relative
};

const Function kFunctions[] = {{"exp", [](const Tile &x) { return exp(x); }},
                               {"exp_to_bf16", exponentialAsBf16, false, 0x1p-7f},
                               {"exp2", [](const Tile &x) { return exp2(x); }},
                               {"log", [](const Tile &x) { return log(x); }},
                               {"rsqrt", [](const Tile &x) { return rsqrt(x); }},
                               {"tanh", [](const Tile &x) { return tanh(x); }},
                               {"softmax",
                                [](const Tile &x) { // NaN for all of a row that holds NaN
                                  Tile weights = exp(x - reduceMaxAnyNan(x, 1));
                                  return weights / reduceSum(weights, 1);
                                }},
                               {"sin", [](const Tile &x) { return sin(x); }, true},
                               {"cos", [](const Tile &x) { return cos(x); }, true}};

constexpr float kSpecials[] = {NAN,      INFINITY, -INFINITY, 0.0f,  -0.0f,  1e-41f,  -1e-41f,
                               1.2e-38f, 3e38f,    -3e38f,    88.9f, -88.9f, -104.0f, 1.0f};

// What `function` gives for the special values: compiled, and in the tile interpreter.
std::pair<std::vector<float>, std::vector<float>> valuesOf(const Function &function) {
  tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &defined) {
    defined.kernel("function", [&](KernelBuilder &k) {
      View x = k.in("x", F32, {1, 48}), out = k.out("out", F32, {1, 48});
      k.grid(1);
      store(out, {0, 0}, function.of(load(x, {0, 0}, {1, 48})));
    });
  });
  auto compiled = CompiledKernels::compile(module.module(), hostLevel("avx2"));
  EXPECT_TRUE(compiled.has_value()) << compiled.error().toString();
  Random random(1);
  LaunchArguments arguments =
      makeArguments(compiled->kernel(), {{"x", {"1", "48"}}, {"out", {"1", "48"}}}, {}, 0, random);
  std::memcpy(arguments[0].bytes.data(), kSpecials, sizeof kSpecials);
  LaunchArguments found = compiled->check(arguments, {INFINITY, INFINITY});
  LaunchArguments expected = interpreted(arguments, compiled->kernel(), false);
  std::vector<float> a(std::size(kSpecials)), b(a.size());
  std::memcpy(a.data(), found[1].bytes.data(), sizeof kSpecials);
  std::memcpy(b.data(), expected[1].bytes.data(), sizeof kSpecials);
  return {a, b};
}

class Functions : public testing::TestWithParam<size_t> {};

TEST_P(Functions, AreRightOnSpecialValues) {
  const Function &function = kFunctions[GetParam()];
  auto [found, expected] = valuesOf(function);
  for (size_t i = 0; i < found.size(); ++i) {
    // sin and cos are made for angles up to 1e5.
    if (std::abs(kSpecials[i]) > 1e5f && std::isfinite(kSpecials[i]) && function.periodic)
      continue;
    SCOPED_TRACE("of " + std::to_string(kSpecials[i]) + ": " + std::to_string(found[i]));
    EXPECT_EQ(std::isnan(found[i]), std::isnan(expected[i]));
    EXPECT_EQ(std::isinf(found[i]), std::isinf(expected[i]));
    if (std::isinf(expected[i]))
      EXPECT_EQ(std::signbit(found[i]), std::signbit(expected[i]));
    if (std::isfinite(expected[i]))
      EXPECT_LE(std::abs(found[i] - expected[i]), function.error * std::abs(expected[i]) + 2e-38);
  }
}

INSTANTIATE_TEST_SUITE_P(Tile, Functions, testing::Range(size_t(0), std::size(kFunctions)),
                         [](const auto &info) { return kFunctions[info.param].name; });

INSTANTIATE_TEST_SUITE_P(Tile, Operations,
                         testing::Combine(testing::Range(size_t(0), allOperations().size()),
                                          testing::ValuesIn(vectorLevelNames())),
                         [](const auto &info) {
                           return allOperations()[std::get<0>(info.param)].name + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
} // namespace sinter::targets::cpu
