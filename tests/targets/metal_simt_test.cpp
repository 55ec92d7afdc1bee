// Single operations of SIMT IR in printed MSL, run in the shim: bit for bit what the
// scheduled interpreter gives, for every type, vector and alignment.
#include "tile/mlir_pch.h"

#include "targets/make_arguments.h"
#include "targets/metal_object.h"
#include "targets/registry.h"

using namespace mlir;

namespace sinter::targets::metal {
namespace {

using namespace cpu;

constexpr int64_t kThreads = 64, kExtent = 300;

std::string number(int64_t value) {
  return std::to_string(value);
}

int64_t bitsOfName(const std::string &type) {
  int64_t bits = 0;
  StringRef(type).drop_while([](char c) { return !llvm::isDigit(c); }).getAsInteger(10, bits);
  return bits;
}

// A kernel that makes %r of one element each of two views, %x and %y, and writes it.
struct Operation {
  std::string name, in, out, body;
  bool secondIsSmall = false; // a shift or a divisor
  int64_t shared = 0;
  bool writes = false; // the body itself writes, instead of making %r
};

std::string kernelText(const Operation &op) {
  std::string in = "!tile.view<?x" + op.in + ", in>", out = "!tile.view<?x" + op.out + ", out>";
  std::string load = "[%byte] when %inside else %none : " + in + " -> " + op.in + "\n";
  return "tile.kernel @" + op.name + "(%a: " + in + ", %b: " + in + ", %out: " + out +
         ") attributes {sched.threads = " + number(kThreads) +
         " : i64, sched.shared = " + number(op.shared) +
         " : i64} {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%size = arith.constant " +
         number(kThreads) + " : index\n%n = tile.dim %a, 0 : " + in +
         "\n%blocks = arith.ceildivsi %n, %size : index\n"
         "tile.grid %blocks, %c1, %c1\n"
         "%yes = arith.constant true\n%none = arith.constant " +
         (op.in[0] == 'i' ? "1" : "1.0") + " : " + op.in +
         "\n%program = tile.program_id 0\n%thread = sched.thread\n"
         "%lane = arith.index_castui %thread : i32 to index\n"
         "%first = arith.muli %program, %size : index\n%at = arith.addi %first, %lane : index\n"
         "%inside = arith.cmpi ult, %at, %n : index\n"
         "%wide = arith.constant " +
         number(bitsOfName(op.in) / 8) + " : index\n%outWide = arith.constant " +
         number(bitsOfName(op.out) / 8) +
         " : index\n"
         "%byte = arith.muli %at, %wide : index\n%outByte = arith.muli %at, %outWide : index\n"
         "%x = sched.view_load %a" +
         load + "%y = sched.view_load %b" + load + op.body +
         (op.writes ? ""
                    : "sched.view_store %r, %out[%outByte] when %inside : " + op.out + ", " + out) +
         "\n}\n";
}

// ---- running ----

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

// Random numbers, small and of all bits, and special floats.
void fillMixed(LaunchArgument &a, bool small, Random &random) {
  Type element = a.view().getElementType();
  fillNormal(a, random);
  if (isa<FloatType>(element))
    return sprinkleSpecials(a, random);
  int64_t bytes = bytesOf(element, 1);
  for (int64_t at = 0; at < a.shape[0]; ++at)
    if (small)
      setElement(element, a.bytes, at, static_cast<double>(1 + random() % 7));
    else if (random() % 2)
      for (int64_t i = 0; i < bytes; ++i)
        a.bytes[at * bytes + i] = static_cast<uint8_t>(random());
}

LaunchArguments argumentsFor(tile::KernelOp kernel, bool secondIsSmall, Random &random) {
  LaunchArguments arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    LaunchArgument a{"v" + number(static_cast<int64_t>(index)), type, {kExtent}};
    layOut(a, 0);
    poison(a.bytes);
    if (!a.written())
      fillMixed(a, index == 1 && secondIsSmall, random);
    arguments.push_back(std::move(a));
  }
  return arguments;
}

// Compiles all kernels into one object and runs each.
void checkAll(const std::vector<Operation> &operations, const std::string &family) {
  std::string text;
  for (const Operation &op : operations)
    text += kernelText(op);
  SimtText parsed(text);
  ASSERT_TRUE(parsed.ok()) << text;
  auto target = findTarget("metal:" + family);
  ASSERT_TRUE(target) << target.error().toString();
  auto code = compileKernels(**target, parsed.module());
  ASSERT_TRUE(code) << code.error().toString();
  ASSERT_EQ(code->kernels.size(), operations.size());
  std::string_view source(reinterpret_cast<const char *>(code->code.data()), code->code.size());
  auto object = MetalObject::compile(source, code->kernels);
  ASSERT_TRUE(object) << object.error().toString();
  Random random(7);
  for (auto [op, emitted, kernel] :
       llvm::zip_equal(operations, code->kernels, parsed.module().getOps<tile::KernelOp>())) {
    SCOPED_TRACE(op.name);
    LaunchArguments arguments = argumentsFor(kernel, op.secondIsSmall, random);
    LaunchArguments expected = interpreted(arguments, kernel, true);
    std::array<int64_t, 3> grid = {llvm::divideCeil(kExtent, kThreads), 1, 1};
    LaunchArguments found = object->launch(arguments, emitted, grid, GuardedEnd::Back, false);
    EXPECT_NE(found.back().bytes, arguments.back().bytes) << "nothing was written";
    EXPECT_EQ(firstDifference(found, expected), "") << kernelText(op);
    if (op.out[0] == 'i') // beyond what a double holds
      EXPECT_EQ(found.back().bytes, expected.back().bytes) << kernelText(op);
  }
}

const std::vector<std::string> kTypes = {"i8", "i16", "i32", "i64", "f16", "bf16", "f32"};

// Families differ in bf16 only.
std::vector<std::string> typesOf(const std::string &family) {
  return family == "apple9" ? kTypes : std::vector<std::string>{"bf16"};
}

// ---- elementwise ----

Operation binary(const std::string &op, const std::string &type, bool small = false) {
  std::string name = op.substr(op.find('.') + 1) + "_" + type;
  return {name, type, type, "%r = " + op + " %x, %y : " + type + "\n", small};
}

Operation unary(const std::string &op, const std::string &type, const std::string &flags = "") {
  return {op.substr(op.find('.') + 1) + "_" + type, type, type,
          "%r = " + op + " %x " + flags + ": " + type + "\n"};
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

std::vector<Operation> integerOperations() {
  std::vector<Operation> list;
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
    for (const char *to : {"f32", "f16", "bf16"})
      for (const char *op : {"sitofp", "uitofp"})
        list.push_back(cast(op, type, to));
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
  list.push_back({"permute_bytes", "i32", "i32", "%r = sched.permute_bytes %x, %y by %x\n"});
  return list;
}

std::vector<Operation> floatOperations() {
  std::vector<Operation> list;
  for (const char *type : {"f32", "f16", "bf16"}) {
    for (const char *op :
         {"addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf"})
      list.push_back(binary("arith." + std::string(op), type));
    for (const char *op :
         {"arith.negf", "math.absf", "math.floor", "math.ceil", "math.roundeven", "math.sqrt"})
      list.push_back(unary(op, type));
    for (const char *predicate : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
                                  "uge", "ult", "ule", "une", "uno", "true", "false"})
      list.push_back(compare("cmpf", predicate, type));
    for (const char *to : {"i8", "i16", "i32", "i64"})
      for (const char *op : {"fptosi", "fptoui"})
        list.push_back(cast(op, type, to));
  }
  for (const char *narrow : {"f16", "bf16"}) {
    list.push_back(cast("extf", narrow, "f32"));
    list.push_back(cast("truncf", "f32", narrow));
    list.push_back(cast("bitcast", narrow, "i16"));
  }
  list.push_back(cast("bitcast", "f32", "i32"));
  list.push_back({"fma_f32", "f32", "f32", "%r = math.fma %x, %y, %x : f32\n"});
  return list;
}

// %p and %q are conditions.
std::vector<Operation> conditionOperations() {
  std::vector<Operation> list;
  for (const char *op :
       {"addi %p, %q : i1", "subi %p, %q : i1", "muli %p, %q : i1", "andi %p, %q : i1",
        "ori %p, %q : i1", "xori %p, %q : i1", "maxsi %p, %q : i1", "minsi %p, %q : i1",
        "maxui %p, %q : i1", "minui %p, %q : i1", "select %p, %q, %p : i1", "trunci %x : i32 to i1",
        "cmpi eq, %p, %q : i1", "cmpi ne, %p, %q : i1", "cmpi slt, %p, %q : i1",
        "cmpi ult, %p, %q : i1"})
    for (const char *extension : {"extui", "extsi"})
      list.push_back({"condition" + number(static_cast<int64_t>(list.size())), "i32", "i32",
                      "%p = arith.cmpi slt, %x, %y : i32\n%q = arith.cmpi ult, %x, %y : i32\n"
                      "%c = arith." +
                          std::string(op) + "\n%r = arith." + extension + " %c : i1 to i32\n"});
  for (const char *op : {"sitofp", "uitofp"})
    list.push_back(
        {"condition" + number(static_cast<int64_t>(list.size())), "i32", "f32",
         "%p = arith.cmpi slt, %x, %y : i32\n%r = arith." + std::string(op) + " %p : i1 to f32\n"});
  return list;
}

// Numbers that are hard to write.
std::vector<Operation> constantOperations() {
  std::vector<Operation> list;
  auto add = [&](const std::string &type, const std::string &value) {
    list.push_back({"constant" + number(static_cast<int64_t>(list.size())), type, type,
                    "%k = arith.constant " + value + " : " + type +
                        "\n%z = arith.cmpi eq, %at, %c1 : index\n%r = arith.select %z, %x, %k : " +
                        type + "\n"});
  };
  for (const char *value : {"0x7F800000", "0xFF800000", "0x7FC00000", "1.0e-45", "1.17549435e-38",
                            "3.40282347e+38", "-0.0", "0.1", "16777216.0", "1.0e+10", "-2.5"})
    add("f32", value);
  for (const char *value : {"0x7C00", "0xFC00", "0x7E00", "0x0001", "0x8000", "0x7BFF", "0.1"})
    add("f16", value);
  for (const char *value : {"0x7F80", "0xFF80", "0x7FC0", "0x0001", "0x8000", "0x7F7F", "0.1"})
    add("bf16", value);
  for (const char *value : {"-128", "127", "-1"})
    add("i8", value);
  for (const char *value : {"-32768", "32767", "-1"})
    add("i16", value);
  for (const char *value : {"-2147483648", "2147483647", "-1", "-65537"})
    add("i32", value);
  for (const char *value : {"-9223372036854775808", "9223372036854775807", "-1"})
    add("i64", value);
  return list;
}

class MetalOperation : public testing::TestWithParam<std::string> {};

TEST_P(MetalOperation, OfIntegersIsTheInterpreters) {
  checkAll(integerOperations(), GetParam());
}

TEST_P(MetalOperation, OfFloatsIsTheInterpreters) {
  checkAll(floatOperations(), GetParam());
}

TEST_P(MetalOperation, OfConditionsIsTheInterpreters) {
  checkAll(conditionOperations(), GetParam());
}

TEST_P(MetalOperation, OfConstantsKeepsTheirBits) {
  checkAll(constantOperations(), GetParam());
}

// ---- vectors in memory ----

// Threads move `count` elements: even ones %b's, odd ones what the thread opposite read from %a,
// by way of shared memory. Elements that make no whole vector are left alone.
Operation moving(const std::string &type, int64_t count, int64_t align) {
  std::string vector = "vector<" + number(count) + "x" + type + ">";
  std::string in = "!tile.view<?x" + type + ", in>", out = "!tile.view<?x" + type + ", out>";
  int64_t size = count * bitsOfName(type) / 8;
  std::string how = " {align = " + number(align) + " : i64} : ";
  Operation op{"move_" + type + "_" + number(count) + "_" + number(align), type, type, ""};
  op.body = "%bytes = arith.constant " + number(size) + " : index\n%small = arith.constant " +
            number(size) + " : i32\n%threes = arith.constant dense<" +
            (type[0] == 'i' ? "3" : "3.0") + "> : " + vector +
            "\n%from = arith.muli %at, %bytes : index\n"
            "%end = arith.addi %from, %bytes : index\n%all = arith.muli %n, %wide : index\n"
            "%whole = arith.cmpi ule, %end, %all : index\n"
            "%bit = arith.andi %at, %c1 : index\n%even = arith.cmpi eq, %bit, %c0 : index\n"
            "%some = arith.andi %whole, %even : i1\n"
            "%v = sched.view_load %a[%from] when %some else %threes" +
            how + in + " -> " + vector + "\n%w = sched.view_load %b[%from] when %whole else %v" +
            how + in + " -> " + vector +
            "\n%k = arith.constant 63 : i32\n%other = arith.subi %k, %thread : i32\n"
            "%to = arith.muli %thread, %small : i32\n%back = arith.muli %other, %small : i32\n"
            "sched.shared_store %v, [%to] when %yes : " +
            vector + "\nsched.barrier\n%mirrored = sched.shared_load [%back] : " + vector +
            "\n%both = arith.select %even, %w, %mirrored : " + vector +
            "\nsched.view_store %both, %out[%from] when %whole" + how + vector + ", " + out;
  op.shared = kThreads * size;
  op.writes = true;
  return op;
}

std::vector<Operation> movingOperations(const std::string &type) {
  std::vector<Operation> list;
  for (int64_t count : {1, 2, 3, 4, 6, 8, 16}) {
    int64_t bytes = count * bitsOfName(type) / 8;
    for (int64_t align = 1; align <= std::min<int64_t>(16, bytes & -bytes); align *= 2)
      list.push_back(moving(type, count, align));
  }
  return list;
}

TEST_P(MetalOperation, OnMemoryMovesVectorsOfAnyLengthAndAlignment) {
  for (const std::string &type : typesOf(GetParam()))
    checkAll(movingOperations(type), GetParam());
}

// %x and %y as `count` words, read as vectors of `middle` and back.
Operation reading(const std::string &type, int64_t count, const std::string &middle) {
  std::string vector = "vector<" + number(count) + "x" + type + ">";
  std::string other =
      "vector<" + number(count * bitsOfName(type) / bitsOfName(middle)) + "x" + middle + ">";
  std::string elements, types;
  for (int64_t i = 0; i < count; ++i)
    elements += (i ? ", %" : "%") + std::string(i % 2 ? "y" : "x");
  return {"read_" + type + "_" + number(count) + "_" + middle, type, type,
          "%v = vector.from_elements " + elements + " : " + vector + "\n%m = vector.bitcast %v : " +
              vector + " to " + other + "\n%s = arith.select %inside, %m, %m : " + other +
              "\n%w = vector.bitcast %s : " + other + " to " + vector +
              "\n%r = vector.extract %w[" + number(count - 1) + "] : " + type + " from " + vector +
              "\n"};
}

TEST_P(MetalOperation, OnBitsKeepsThemWhateverTheType) {
  std::vector<Operation> list;
  for (const std::string &type : kTypes)
    for (const std::string &middle : typesOf(GetParam()))
      for (int64_t count : {1, 2, 3, 4, 8, 16})
        if (count * bitsOfName(type) % bitsOfName(middle) == 0)
          list.push_back(reading(type, count, middle));
  checkAll(list, GetParam());
}

// ---- structure and neighbours ----

TEST_P(MetalOperation, InLoopsAndBranchesYieldsValues) {
  std::vector<Operation> list;
  for (const std::string &t : kTypes)
    list.push_back(
        {"loop_" + t, t, t,
         "%c5 = arith.constant 5 : index\n"
         "%sum, %swapped = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %x, %q = %y) -> (" +
             t + ", " + t +
             ") {\n%inner = scf.for %j = %c0 to %i step %c1 iter_args(%s = %p) -> (" + t +
             ") {\n scf.yield %q : " + t +
             "\n}\n%odd = arith.cmpi sgt, %i, %c1 : index\n%chosen = scf.if %odd -> (" + t +
             ") {\n scf.yield %inner : " + t + "\n} else {\n scf.yield %p : " + t +
             "\n}\n scf.yield %q, %chosen : " + t + ", " + t +
             "\n}\n%even = arith.cmpi eq, %thread, %i2 : i32\n"
             "%r = arith.select %even, %sum, %swapped : " +
             t + "\n"});
  for (Operation &op : list)
    op.body = "%i2 = arith.constant 2 : i32\n" + op.body;
  checkAll(list, GetParam());
}

// A vector's elements rotate from one trip to the next.
TEST_P(MetalOperation, OfElementsOfALoopsVariablesReadsThemBeforeTheyChange) {
  checkAll({{"rotate", "f32", "f32",
             "%c5 = arith.constant 5 : index\n%v0 = vector.from_elements %x, %y : vector<2xf32>\n"
             "%v, %e = scf.for %i = %c0 to %c5 step %c1 iter_args(%p = %v0, %q = %x) -> "
             "(vector<2xf32>, f32) {\n"
             "%a0 = vector.extract %p[0] : f32 from vector<2xf32>\n"
             "%a1 = vector.extract %p[1] : f32 from vector<2xf32>\n"
             "%s = arith.addf %a0, %q : f32\n"
             "%n2 = vector.from_elements %a1, %s : vector<2xf32>\n"
             "scf.yield %n2, %a0 : vector<2xf32>, f32\n}\n"
             "%b0 = vector.extract %v[1] : f32 from vector<2xf32>\n"
             "%r = arith.addf %b0, %e : f32\n"}},
           GetParam());
}

TEST_P(MetalOperation, OfLoadsThatNeverHappenIsAValueOfItsOwn) {
  checkAll({{"never", "f32", "f32",
             "%no = arith.constant false\n%c5 = arith.constant 5 : index\n"
             "%p, %q = scf.for %i = %c0 to %c5 step %c1 iter_args(%s = %x, %t = %y) -> (f32, f32) "
             "{\n%o = sched.view_load %a[%byte] when %no else %s : !tile.view<?xf32, in> -> f32\n"
             "%u = arith.addf %s, %t : f32\nscf.yield %u, %o : f32, f32\n}\n"
             "%r = arith.addf %p, %q : f32\n"}},
           GetParam());
}

TEST_P(MetalOperation, OfShufflesReachesTheThreadsOfTheSimdgroup) {
  std::vector<Operation> list;
  for (const char *type : {"i32", "f32"})
    for (int64_t mask = 1; mask < 32; ++mask)
      list.push_back({"shuffle_" + std::string(type) + "_" + number(mask), type, type,
                      "%r = sched.shuffle %x xor " + number(mask) + " : " + type + "\n"});
  checkAll(list, GetParam());
}

// The product of what the threads hold, with sums that go in.
Operation multiplying(const std::string &type) {
  std::string ab = "vector<2x" + type + ">";
  return {"matrix_" + type, type, "f32",
          "%a2 = vector.from_elements %x, %y : " + ab +
              "\n%b2 = vector.from_elements %y, %x : " + ab +
              "\n%k = arith.sitofp %thread : i32 to f32\n"
              "%c2 = vector.from_elements %k, %k : vector<2xf32>\n"
              "%d = sched.matrix \"metal.simdgroup.8x8x8.f32." +
              type + "\" %a2, %b2, %c2 : " + ab + ", " + ab +
              ", vector<2xf32>\n%d0 = vector.extract %d[0] : f32 from vector<2xf32>\n"
              "%d1 = vector.extract %d[1] : f32 from vector<2xf32>\n"
              "%half = arith.constant 0.5 : f32\n%r = math.fma %d0, %half, %d1 : f32\n"};
}

TEST(MetalMatrix, IsTheInterpretersProduct) {
  checkAll({multiplying("f16"), multiplying("bf16"), multiplying("f32")}, "apple9");
  checkAll({multiplying("f16"), multiplying("f32")}, "apple7");
}

// ---- arguments ----

// Runs the text's one kernel as one program, with these bits of its scalars; the last argument's
// bytes.
std::vector<uint8_t> runOnce(const std::string &text, std::vector<int64_t> scalars) {
  SimtText parsed(text);
  auto target = findTarget("metal:apple9");
  EXPECT_TRUE(parsed.ok()) << text;
  if (!parsed.ok())
    return {};
  auto code = compileKernels(**target, parsed.module());
  EXPECT_TRUE(code) << code.error().toString() << "\n" << text;
  if (!code)
    return {};
  std::string_view source(reinterpret_cast<const char *>(code->code.data()), code->code.size());
  auto object = MetalObject::compile(source, code->kernels);
  EXPECT_TRUE(object) << object.error().toString();
  if (!object)
    return {};
  LaunchArguments arguments;
  for (Type type : (*parsed.module().getOps<tile::KernelOp>().begin()).getArgumentTypes()) {
    LaunchArgument a{"v" + number(static_cast<int64_t>(arguments.size())), type, {}};
    if (a.view()) {
      a.shape = {1};
      layOut(a, 0);
      setElement(a.view().getElementType(), a.bytes, 0, static_cast<double>(arguments.size() + 1));
    } else {
      a.scalar = scalars.front();
      scalars.erase(scalars.begin());
    }
    arguments.push_back(std::move(a));
  }
  return object->launch(arguments, code->kernels.front(), {1, 1, 1}, GuardedEnd::Back, false)
      .back()
      .bytes;
}

TEST(MetalArguments, MoreViewsThanMetalHasBuffersAreReached) {
  static constexpr int64_t kViews = 40;
  std::string arguments, body;
  for (int64_t i = 0; i < kViews; ++i) {
    arguments += "%x" + number(i) + ": !tile.view<?xi32, in>, ";
    body += "%l" + number(i) + " = sched.view_load %x" + number(i) + "[%c0] when %yes else %s0" +
            " : !tile.view<?xi32, in> -> i32\n%s" + number(i + 1) + " = arith.addi %s" + number(i) +
            ", %l" + number(i) + " : i32\n";
  }
  std::vector<uint8_t> bytes = runOnce(
      "tile.kernel @views(" + arguments +
          "%out: !tile.view<?xi32, out>) attributes {sched.threads = 1 : i64, sched.shared = 0 : "
          "i64} {\n%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
          "tile.grid %c1, %c1, %c1\n%yes = arith.constant true\n%s0 = arith.constant 0 : i32\n" +
          body + "sched.view_store %s" + number(kViews) +
          ", %out[%c0] when %yes : i32, !tile.view<?xi32, out>\n}\n",
      {});
  ASSERT_EQ(bytes.size(), 4u);
  int32_t sum = 0;
  std::memcpy(&sum, bytes.data(), sizeof sum);
  EXPECT_EQ(sum, kViews * (kViews + 1) / 2);
}

TEST(MetalArguments, ScalarsOfEachTypeArriveWithTheirBits) {
  struct Scalar {
    std::string type, integer; // of the same width
    int64_t bits;
  };
  const Scalar scalars[] = {{"i8", "i8", -3},          {"i16", "i16", -300},
                            {"i32", "i32", -70000},    {"i64", "i64", INT64_MIN},
                            {"f16", "i16", 0x3e01},    {"bf16", "i16", 0x3fc1},
                            {"f32", "i32", 0x40490fdb}};
  for (const Scalar &scalar : scalars) {
    std::string cast = scalar.type == scalar.integer
                           ? "%b = arith.addi %v, %zero : " + scalar.integer
                           : "%b = arith.bitcast %v : " + scalar.type + " to " + scalar.integer;
    std::vector<uint8_t> bytes = runOnce(
        "tile.kernel @scalar(%v: " + scalar.type + ", %out: !tile.view<?x" + scalar.integer +
            ", out>) attributes {sched.threads = 1 : i64, sched.shared = 0 : i64} {\n"
            "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
            "tile.grid %c1, %c1, %c1\n%yes = arith.constant true\n%zero = arith.constant 0 : " +
            scalar.integer + "\n" + cast + "\nsched.view_store %b, %out[%c0] when %yes : " +
            scalar.integer + ", !tile.view<?x" + scalar.integer + ", out>\n}\n",
        {scalar.bits});
    EXPECT_FALSE(bytes.empty());
    EXPECT_EQ(std::memcmp(bytes.data(), &scalar.bits, bytes.size()), 0) << scalar.type;
  }
}

// ---- the shim itself ----

// A barrier that only threads below `first` reach.
std::string divergingText(int64_t first) {
  return "tile.kernel @diverge(%out: !tile.view<?xi32, out>) attributes {sched.threads = 64 : i64, "
         "sched.shared = 0 : i64} {\n%c1 = arith.constant 1 : index\n"
         "tile.grid %c1, %c1, %c1\n%thread = sched.thread\n%first = arith.constant " +
         number(first) +
         " : i32\n%some = arith.cmpi ult, %thread, %first : i32\n"
         "scf.if %some {\n sched.barrier\n}\n}\n";
}

TEST(MetalShimDeathTest, ThreadsThatMeetInDifferentPlacesAreAnErrorNotAHang) {
  EXPECT_DEATH(runOnce(divergingText(1), {}), "threads of a simdgroup meet in different places");
  EXPECT_DEATH(runOnce(divergingText(32), {}), "threads end while others wait at a barrier");
}

INSTANTIATE_TEST_SUITE_P(Simt, MetalOperation, testing::Values("apple7", "apple9"),
                         [](const auto &info) { return info.param; });

} // namespace
} // namespace sinter::targets::metal
