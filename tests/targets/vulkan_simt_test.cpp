// Single operations of SIMT IR on the software device: as the scheduled interpreter has them.
#include "tile/mlir_pch.h"

#include "targets/device_launch.h"
#include "targets/make_arguments.h"
#include "targets/vulkan_device.h"

using namespace mlir;

namespace sinter::targets::vulkan {
namespace {

using namespace cpu;

constexpr int64_t kThreads = 64, kSubgroup = 8;

// A module of one kernel in SIMT IR.
class SimtText {
public:
  explicit SimtText(const std::string &text) {
    context_.loadDialect<tile::TileDialect, sched::SchedDialect, arith::ArithDialect,
                         math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
    module_ = parseSourceString<ModuleOp>(text, &context_, "kernel.tile");
  }
  bool ok() const { return static_cast<bool>(module_); }
  ModuleOp module() { return *module_; }

private:
  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
};

int64_t bytesOfName(const std::string &type) {
  int64_t bits = 0;
  StringRef(type).drop_while(llvm::isAlpha).getAsInteger(10, bits);
  return bits / 8;
}

std::string number(int64_t value) {
  return std::to_string(value);
}

// What every kernel here begins with: %x and %y of views %a and %b at element %at of `in`, with
// `shared` bytes; `out` is written by the body, which ends the text.
std::string kernelText(const std::string &in, const std::string &out, int64_t shared,
                       const std::string &body) {
  std::string views = "!tile.view<?x" + in + ", in>", none = in[0] == 'i' ? "1" : "1.0";
  std::string load = "] when %inside else %none : " + views + " -> " + in + "\n";
  return "tile.kernel @lanes(%a: " + views + ", %b: " + views + ", %out: !tile.view<?x" + out +
         ", out>) attributes {sched.threads = " + number(kThreads) +
         " : i64, sched.shared = " + number(shared) +
         " : i64} {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%size = arith.constant " +
         number(kThreads) +
         " : index\n"
         "%n = tile.dim %a, 0 : " +
         views +
         "\n"
         "%blocks = arith.ceildivsi %n, %size : index\n"
         "tile.grid %blocks, %c1, %c1\n"
         "%yes = arith.constant true\n%none = arith.constant " +
         none + " : " + in +
         "\n%program = tile.program_id 0\n%thread = sched.thread\n"
         "%lane = arith.index_castui %thread : i32 to index\n"
         "%first = arith.muli %program, %size : index\n"
         "%at = arith.addi %first, %lane : index\n"
         "%inside = arith.cmpi ult, %at, %n : index\n"
         "%wide = arith.constant " +
         number(bytesOfName(in)) + " : index\n%outWide = arith.constant " +
         number(bytesOfName(out)) +
         " : index\n"
         "%byte = arith.muli %at, %wide : index\n%outByte = arith.muli %at, %outWide : index\n"
         "%x = sched.view_load %a[%byte" +
         load + "%y = sched.view_load %b[%byte" + load + body +
         "sched.view_store %r, %out[%outByte] when %inside : " + out + ", !tile.view<?x" + out +
         ", out>\n}\n";
}

// Random numbers, small and of all bits, and special floats.
void fillMixed(LaunchArgument &a, Random &random) {
  Type element = a.view().getElementType();
  fillNormal(a, random);
  if (isa<FloatType>(element))
    return sprinkleSpecials(a, random);
  int64_t bytes = bytesOf(element, 1);
  for (int64_t at = 0; at < a.shape[0]; ++at)
    if (random() % 2)
      for (int64_t i = 0; i < bytes; ++i)
        a.bytes[at * bytes + i] = static_cast<uint8_t>(random());
}

LaunchArguments argumentsFor(tile::KernelOp kernel, bool secondIsSmall, Random &random) {
  LaunchArguments arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    LaunchArgument a{"v" + number(static_cast<int64_t>(index)), type, {300}};
    layOut(a, 0);
    poison(a.bytes);
    if (!a.written())
      fillMixed(a, random);
    if (index == 1 && secondIsSmall) // a shift or a divisor
      for (int64_t at = 0; at < a.shape[0]; ++at)
        setElement(a.view().getElementType(), a.bytes, at, static_cast<double>(1 + random() % 7));
    arguments.push_back(std::move(a));
  }
  return arguments;
}

// Where two runs differ by more than `relative`; numbers too small for f32's normal form are as
// good as zero, and NaN is NaN.
std::string difference(const LaunchArgument &found, const LaunchArgument &expected,
                       double relative) {
  std::vector<double> x = numbersOf(found), y = numbersOf(expected);
  for (size_t i = 0; i < x.size(); ++i) {
    bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])) ||
                std::abs(x[i] - y[i]) <= std::max(relative * std::abs(y[i]), 0x1p-126);
    if (!same)
      return differenceText(found, "differs", i, x[i], y[i]);
  }
  return {};
}

// Compiles the text for the device with `features`, runs it and compares.
void checkText(const std::string &text, const std::string &features, bool secondIsSmall,
               double relative) {
  auto device = softwareDevice(kSubgroup);
  if (!device)
    GTEST_SKIP() << device.error().toString();
  SimtText parsed(text);
  ASSERT_TRUE(parsed.ok()) << text;
  auto target = findTarget(plainTarget(kSubgroup, features));
  ASSERT_TRUE(target) << target.error().toString();
  auto kernel = DeviceKernel::load(parsed.module(), **target, **device);
  ASSERT_TRUE(kernel) << kernel.error().toString() << "\n" << text;
  Random random(7);
  LaunchArguments arguments = argumentsFor(kernel->source(), secondIsSmall, random);
  sched::InterpreterOptions options;
  options.lanes.subgroup = kSubgroup;
  LaunchArguments expected = interpreted(arguments, kernel->source(), true, options);
  auto found = kernel->launch(arguments);
  ASSERT_TRUE(found) << found.error().toString();
  EXPECT_EQ(difference(found->back(), expected.back(), relative), "") << text;
}

const std::vector<std::string> &featureSets() {
  static const std::vector<std::string> sets = {"+float64", "+float16+float64+int16+int8"};
  return sets;
}

std::string featureName(const std::string &features) {
  return features == featureSets().front() ? "plain_types" : "all_types";
}

// ---- elementwise ----

// %r of %x and %y, of types `in` and `out`.
struct Operation {
  std::string name, in, out, body;
  bool secondIsSmall = false;
  double relative = 0;
};

Operation binary(const std::string &op, const std::string &type, bool small = false,
                 double relative = 0) {
  std::string name = op.substr(op.find('.') + 1) + "_" + type;
  return {name, type, type, "%r = " + op + " %x, %y : " + type + "\n", small, relative};
}

Operation unary(const std::string &op, const std::string &type, double relative = 0) {
  return {op.substr(op.find('.') + 1) + "_" + type, type,  type,
          "%r = " + op + " %x : " + type + "\n",    false, relative};
}

Operation cast(const std::string &op, const std::string &from, const std::string &to) {
  return {op + "_" + from + "_" + to, from, to,
          "%r = arith." + op + " %x : " + from + " to " + to + "\n"};
}

Operation compare(const std::string &op, const std::string &predicate, const std::string &type) {
  return {op + "_" + predicate + "_" + type, type, "i32",
          "%is = arith." + op + " " + predicate + ", %x, %y : " + type +
              "\n%r = arith.extui %is : i1 to i32\n"};
}

void addIntegerOperations(std::vector<Operation> &list) {
  for (const char *type : {"i8", "i16", "i32", "i64"}) {
    for (const char *op :
         {"addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"})
      list.push_back(binary("arith." + std::string(op), type));
    for (const char *op :
         {"shli", "shrui", "shrsi", "divui", "divsi", "remui", "remsi", "ceildivsi", "floordivsi"})
      list.push_back(binary("arith." + std::string(op), type, true));
    for (const char *predicate :
         {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"})
      list.push_back(compare("cmpi", predicate, type));
    list.push_back(unary("math.absi", type));
    for (const char *to : {"f32", "f16", "bf16"}) {
      list.push_back(cast("sitofp", type, to));
      list.push_back(cast("uitofp", type, to));
    }
  }
  for (const auto &[narrow, wide] : {std::pair{"i8", "i16"},
                                     {"i8", "i32"},
                                     {"i8", "i64"},
                                     {"i16", "i32"},
                                     {"i16", "i64"},
                                     {"i32", "i64"}}) {
    list.push_back(cast("extsi", narrow, wide));
    list.push_back(cast("extui", narrow, wide));
    list.push_back(cast("trunci", wide, narrow));
  }
}

void addFloatOperations(std::vector<Operation> &list) {
  for (const char *type : {"f32", "f16", "bf16"}) {
    for (const char *op : {"addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"})
      list.push_back(binary("arith." + std::string(op), type));
    for (const char *op : {"arith.negf", "math.absf", "math.floor", "math.ceil", "math.roundeven"})
      list.push_back(unary(op, type));
    for (const char *predicate : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
                                  "uge", "ult", "ule", "une", "uno"})
      list.push_back(compare("cmpf", predicate, type));
    for (const char *to : {"i8", "i16", "i32", "i64"}) {
      list.push_back(cast("fptosi", type, to));
      list.push_back(cast("fptoui", type, to));
    }
  }
  for (const char *narrow : {"f16", "bf16"}) {
    list.push_back(cast("extf", narrow, "f32"));
    list.push_back(cast("truncf", "f32", narrow));
    list.push_back(cast("bitcast", narrow, "i16"));
  }
  list.push_back(cast("bitcast", "f32", "i32"));
  // Units in the last place that Vulkan leaves open.
  list.push_back(binary("arith.divf", "f32", false, 2.5 * 0x1p-23));
  list.push_back({"reciprocal_f32", "f32", "f32", "%r = arith.divf %x, %y fastmath<arcp> : f32\n",
                  true, 4 * 0x1p-23});
  list.push_back(unary("math.sqrt", "f32", 3 * 0x1p-23));
  list.push_back({"clamp_f32", "f32", "f32",
                  "%zero = arith.constant 0.0 : f32\n%one = arith.constant 1.0 : f32\n"
                  "%is = arith.cmpf ord, %x, %x : f32\n"
                  "%number = arith.select %is, %x, %zero : f32\n"
                  "%least = arith.maxnumf %number, %zero fastmath<nnan,nsz> : f32\n"
                  "%r = arith.minnumf %least, %one fastmath<nnan,nsz> : f32\n"});
  list.push_back({"fma_f32", "f32", "f32", "%r = math.fma %x, %y, %x : f32\n"});
}

// Bytes of two words, their signs, and those of a constant.
void addPermutations(std::vector<Operation> &list) {
  auto add = [&](const std::string &name, const std::string &high, const std::string &selector) {
    list.push_back({"permute_" + name, "i32", "i32",
                    "%high = " + high + "\n%by = " + selector +
                        "\n%r = sched.permute_bytes %x, %high by %by\n"});
  };
  auto constant = [](int64_t value) { return "arith.constant " + number(value) + " : i32"; };
  const std::string other = "arith.addi %y, %x : i32";
  for (int64_t selector : {0x0000, 0x7404, 0x7444, 0x4140, 0x3210, 0x7531, 0xba98, 0xf10e})
    for (const auto &[name, high] :
         {std::pair("", other), {"beside_constant_", constant(0x47000000)}})
      add(name + number(selector), high, constant(selector));
  add("by_thread", other, "arith.ori %y, %y : i32");
  add("by_thread_unsigned", other, "arith.andi %y, %kept : i32\n");
  list.back().body = "%kept = " + constant(0x7777) + "\n" + list.back().body;
}

std::vector<Operation> operations() {
  std::vector<Operation> list;
  addIntegerOperations(list);
  addPermutations(list);
  addFloatOperations(list);
  return list;
}

class VulkanOperation : public testing::TestWithParam<std::string> {};

TEST_P(VulkanOperation, IsTheInterpreters) {
  for (const Operation &op : operations()) {
    SCOPED_TRACE(op.name);
    checkText(kernelText(op.in, op.out, 0, op.body), GetParam(), op.secondIsSmall, op.relative);
    if (IsSkipped())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Simt, VulkanOperation, testing::ValuesIn(featureSets()),
                         [](const auto &info) { return featureName(info.param); });

// ---- shared memory, shuffles, structure ----

class VulkanSimt : public testing::TestWithParam<std::tuple<std::string, std::string>> {
protected:
  std::string type() const { return std::get<0>(GetParam()); }
  void check(int64_t shared, const std::string &body) {
    checkText(kernelText(type(), type(), shared, body), std::get<1>(GetParam()), false, 0);
  }
  std::string place() const {
    return "%bytes = arith.constant " + number(bytesOfName(type())) +
           " : i32\n%last = arith.constant " + number(kThreads - 1) + " : i32\n";
  }
};

TEST_P(VulkanSimt, NeighboursInSharedMemoryDoNotTouchOneAnother) {
  check(kThreads * 8, place() +
                          "%to = arith.muli %thread, %bytes : i32\n"
                          "sched.shared_store %x, [%to] when %yes : " +
                          type() +
                          "\nsched.barrier\n"
                          "%mirror = arith.subi %last, %thread : i32\n"
                          "%from = arith.muli %mirror, %bytes : i32\n"
                          "%r = sched.shared_load [%from] : " +
                          type() + "\n");
}

TEST_P(VulkanSimt, VectorsInSharedMemoryAreTheirElements) {
  std::string pair = "vector<2x" + type() + ">";
  check(kThreads * 16, place() +
                           "%two = arith.constant 2 : i32\n%both = arith.muli %bytes, %two : i32\n"
                           "%to = arith.muli %thread, %both : i32\n"
                           "%v = vector.from_elements %x, %y : " +
                           pair + "\nsched.shared_store %v, [%to] when %yes : " + pair +
                           "\nsched.barrier\n"
                           "%mirror = arith.subi %last, %thread : i32\n"
                           "%start = arith.muli %mirror, %both : i32\n"
                           "%from = arith.addi %start, %bytes : i32\n"
                           "%r = sched.shared_load [%from] : " +
                           type() + "\n");
}

TEST_P(VulkanSimt, LoopsAndBranchesYieldValues) {
  std::string t = type();
  check(0, "%c5 = arith.constant 5 : index\n"
           "%sum, %swapped = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %x, %q = %y) -> (" +
               t + ", " + t +
               ") {\n"
               "%inner = scf.for %j = %c0 to %i step %c1 iter_args(%s = %p) -> (" +
               t + ") {\n scf.yield %q : " + t +
               "\n}\n"
               "%odd = arith.cmpi sgt, %i, %c1 : index\n"
               "%chosen = scf.if %odd -> (" +
               t + ") {\n scf.yield %inner : " + t + "\n} else {\n scf.yield %p : " + t +
               "\n}\n scf.yield %q, %chosen : " + t + ", " + t +
               "\n}\n"
               "%even = arith.cmpi sgt, %n, %c1 : index\n%r = arith.select %even, %sum, %swapped "
               ": " +
               t + "\n");
}

INSTANTIATE_TEST_SUITE_P(Simt, VulkanSimt,
                         testing::Combine(testing::ValuesIn(std::vector<std::string>{
                                              "i8", "i16", "i32", "i64", "f16", "bf16", "f32"}),
                                          testing::ValuesIn(featureSets())),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  featureName(std::get<1>(info.param));
                         });

TEST(VulkanShuffle, ReachesTheThreadsOfTheSubgroup) {
  for (int64_t mask = 1; mask < kSubgroup; ++mask)
    checkText(kernelText("f32", "f32", 0, "%r = sched.shuffle %x xor " + number(mask) + " : f32\n"),
              "", false, 0);
}

TEST(VulkanBitcast, VectorsKeepTheirBytes) {
  for (const std::string &features : featureSets())
    checkText(kernelText("i32", "i32", 0,
                         "%v = vector.from_elements %x, %y : vector<2xi32>\n"
                         "%small = vector.bitcast %v : vector<2xi32> to vector<8xi8>\n"
                         "%halves = vector.bitcast %small : vector<8xi8> to vector<4xf16>\n"
                         "%one = vector.bitcast %halves : vector<4xf16> to vector<1xi64>\n"
                         "%all = vector.extract %one[0] : i64 from vector<1xi64>\n"
                         "%byte5 = vector.extract %small[5] : i8 from vector<8xi8>\n"
                         "%c24 = arith.constant 24 : i64\n%high = arith.shrui %all, %c24 : i64\n"
                         "%low = arith.trunci %high : i64 to i32\n"
                         "%signed = arith.extsi %byte5 : i8 to i32\n"
                         "%r = arith.xori %low, %signed : i32\n"),
              features, false, 0);
}

// ---- functions ----

constexpr int64_t kPoints = 4096;

// `function` of numbers from -140 to 140, then of what is beyond, on the device.
Result<std::pair<std::vector<double>, std::vector<double>>> tabulated(const std::string &function) {
  const std::string view = "!tile.view<" + number(kPoints) + "xf32, ", tile = "tensor<64xf32>";
  SimtText parsed("tile.kernel @table(%x: " + view + "in>, %out: " + view +
                  "out>) {\n%c1 = arith.constant 1 : index\n%blocks = arith.constant " +
                  number(kPoints / 64) +
                  " : index\ntile.grid %blocks, %c1, %c1\n%c64 = arith.constant 64 : index\n"
                  "%number = tile.program_id 0\n%p = arith.muli %number, %c64 : index\n"
                  "%t = tile.load %x[%p] : " +
                  view + "in> -> " + tile + "\n%r = " + function + " %t : " + tile +
                  "\ntile.store %r, %out[%p] : " + tile + ", " + view + "out>\n}\n");
  if (!parsed.ok())
    return fail(Code::InvalidArgument, "the table's kernel is malformed");
  SINTER_ASSIGN(auto device, softwareDevice(kSubgroup));
  SINTER_ASSIGN(auto target, findTarget(plainTarget(kSubgroup, "+float64")));
  SINTER_ASSIGN(auto kernel, DeviceKernel::load(parsed.module(), *target, *device));
  LaunchArguments arguments;
  for (Type type : kernel.source().getArgumentTypes()) {
    LaunchArgument a{"v" + number(static_cast<int64_t>(arguments.size())), type, {kPoints}};
    layOut(a, 0);
    arguments.push_back(std::move(a));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const double beyond[] = {infinity, -infinity, 1e30, -1e30, std::nan(""), 0, -0.0, 1e-30};
  for (int64_t i = 0; i < kPoints; ++i)
    setElement(Float32Type::get(parsed.module().getContext()), arguments[0].bytes, i,
               i < 8 ? beyond[i] : -140 + 280.0 * static_cast<double>(i) / kPoints);
  SINTER_ASSIGN(LaunchArguments found, kernel.launch(arguments));
  return std::pair(numbersOf(arguments[0]), numbersOf(found[1]));
}

TEST(VulkanFunctions, OfExponentsAreNearFromZeroToInfinity) {
  for (const std::string function : {"math.exp", "math.exp2"}) {
    auto table = tabulated(function);
    if (!table && table.error().code == Code::NotFound)
      GTEST_SKIP() << table.error().toString();
    ASSERT_TRUE(table) << table.error().toString();
    for (auto [x, y] : llvm::zip(table->first, table->second)) {
      double expected = static_cast<float>(function == "math.exp" ? std::exp(x) : std::exp2(x));
      bool near = std::abs(y - expected) <= std::max(6 * 0x1p-23 * expected, 0x1p-126);
      EXPECT_TRUE(near || y == expected || (std::isnan(x) && std::isnan(y)))
          << function << " of " << x << " is " << y << ", expected " << expected;
    }
  }
}

} // namespace
} // namespace sinter::targets::vulkan
