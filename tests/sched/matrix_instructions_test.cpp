// Every matrix instruction's table row: its layouts cover its operands, and a product through the
// interpreter is the plain one.
#include "sched/simt/matrix_instructions.h"
#include "sched/simt_support.h"

#include "numeric/half.h"

#include <cmath>
#include <random>
#include <set>

namespace sinter::sched {
namespace {

class Instruction : public testing::TestWithParam<MatrixInstruction> {};
class OfRegisters : public Instruction {};    // those whose operands lie in registers
class OfSharedMemory : public Instruction {}; // those whose operands lie in shared memory
class OfBoth : public Instruction {};         // those of a in registers, b in shared memory

std::vector<MatrixInstruction> instructionsOf(bool sharedA, bool sharedB) {
  std::vector<MatrixInstruction> rows;
  for (const MatrixInstruction &row : matrixInstructions())
    if (row.sharedOperands == sharedA && row.isAsynchronous() == sharedB && !row.opaqueAccumulators)
      rows.push_back(row);
  return rows;
}

std::string nameOf(const testing::TestParamInfo<MatrixInstruction> &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

// How often each element of a fragment is held, row-major.
std::vector<int> holdersOf(const SimtLayout &layout) {
  std::vector<int> holders(layout.shape()[0] * layout.shape()[1], 0);
  for (int64_t lane = 0; lane < layout.threads(); ++lane)
    for (int64_t number = 0; number < layout.registers(); ++number) {
      auto coords = layout.registerCoords(number);
      auto ofLane = layout.threadCoords(lane);
      ++holders.at((coords[0] + ofLane[0]) * layout.shape()[1] + coords[1] + ofLane[1]);
    }
  return holders;
}

void expectCovered(const SimtLayout &layout, int64_t lanes) {
  EXPECT_EQ(layout.threads(), lanes);
  int copies = layout.copies() ? 2 : 1;
  for (int held : holdersOf(layout))
    EXPECT_EQ(held, copies);
}

TEST_P(OfRegisters, HoldEveryElementAsOftenAsItsCopies) {
  const MatrixInstruction &row = GetParam();
  expectCovered(row.layoutA(), row.lanes);
  expectCovered(row.layoutB(), row.lanes);
}

// b^T has whole patterns of 8 rows; one product's accumulators are the next one's a.
TEST_P(OfBoth, HoldEveryElementWhereAccumulatorsLie) {
  const MatrixInstruction &row = GetParam();
  expectCovered(row.layoutA(), row.lanes);
  EXPECT_EQ(row.n % 8, 0);
  EXPECT_EQ(row.layoutA().threadBits(), row.layoutC().threadBits());
}

TEST_P(Instruction, HoldsEveryResult) {
  expectCovered(GetParam().layoutC(), GetParam().lanes);
}

// Rows of 128 bytes, in patterns of 8, are whole for the operands, and their elements have 16 bits.
TEST_P(OfSharedMemory, HaveOperandsOfWholePatterns) {
  const MatrixInstruction &row = GetParam();
  EXPECT_EQ(row.m % 8, 0);
  EXPECT_EQ(row.n % 8, 0);
  EXPECT_EQ(128 % (2 * row.k), 0);
  for (MatrixElement element : {row.aElement, row.bElement})
    EXPECT_TRUE(element == MatrixElement::F16 || element == MatrixElement::BF16);
}

TEST_P(Instruction, HoldsNoCopiesOfResults) {
  EXPECT_EQ(GetParam().layoutC().copies(), 0);
}

TEST_P(Instruction, IsFoundByItsName) {
  const MatrixInstruction *found = findMatrixInstruction(GetParam().name);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::string(found->name), GetParam().name);
}

// ---- products ----

struct Number {
  int64_t bytes;
  bool isFloat;
};

Number numberOf(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return {2, true};
  case MatrixElement::TF32:
  case MatrixElement::F32:
    return {4, true};
  case MatrixElement::S8:
  case MatrixElement::U8:
    return {1, false};
  case MatrixElement::S32:
    return {4, false};
  }
}

// The value of an element whose lowest bytes are in `bits`, and the other way for random ones.
double dequantize(MatrixElement element, uint32_t bits) {
  switch (element) {
  case MatrixElement::F16:
    return f16ToF32(static_cast<uint16_t>(bits));
  case MatrixElement::BF16:
    return bf16ToF32(static_cast<uint16_t>(bits));
  case MatrixElement::TF32:
    return std::bit_cast<float>(bits & 0xffffe000);
  case MatrixElement::F32:
    return std::bit_cast<float>(bits);
  case MatrixElement::S8:
    return static_cast<int8_t>(bits);
  case MatrixElement::U8:
    return static_cast<uint8_t>(bits);
  case MatrixElement::S32:
    return static_cast<int32_t>(bits);
  }
}

uint32_t randomBits(MatrixElement element, std::mt19937 &engine) {
  float value = std::uniform_real_distribution<float>(-2, 2)(engine);
  if (element == MatrixElement::F16)
    return f32ToF16(value);
  if (element == MatrixElement::BF16)
    return f32ToBf16(value);
  if (numberOf(element).isFloat)
    return std::bit_cast<uint32_t>(value);
  return engine() & (element == MatrixElement::S32 ? 0xffff : 0xff);
}

// A row-major matrix of random elements, and as each lane's registers one after the other.
struct Operand {
  Operand(const SimtLayout &layout, MatrixElement element, int64_t subgroups, unsigned seed)
      : element(element), rows(layout.shape()[0]), columns(layout.shape()[1]) {
    std::mt19937 engine(seed);
    for (int64_t i = 0; i < subgroups * rows * columns; ++i)
      bits.push_back(randomBits(element, engine));
    int64_t bytes = numberOf(element).bytes;
    fragments.resize(subgroups * layout.threads() * layout.registers() * bytes);
    for (int64_t at = 0; at < int64_t(fragments.size()) / bytes; ++at) {
      int64_t thread = at / layout.registers(), group = thread / layout.threads();
      auto coords = layout.registerCoords(at % layout.registers());
      auto ofLane = layout.threadCoords(thread % layout.threads());
      int64_t place =
          group * rows * columns + (coords[0] + ofLane[0]) * columns + coords[1] + ofLane[1];
      places.push_back(place);
      std::memcpy(fragments.data() + at * bytes, &bits[place], bytes);
    }
  }
  double at(int64_t group, int64_t row, int64_t column) const {
    return dequantize(element, bits[group * rows * columns + row * columns + column]);
  }

  MatrixElement element;
  int64_t rows, columns;
  std::vector<uint32_t> bits;
  std::vector<int64_t> places; // of the fragments' elements
  std::vector<std::byte> fragments;
};

std::string textOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Each thread loads its fragments of %a, %b and %c, multiplies and stores to %d.
std::string matmulKernel(const MatrixInstruction &row, int64_t subgroups) {
  mlir::MLIRContext context;
  mlir::Type types[] = {row.typeA(&context), row.typeB(&context), row.typeC(&context)};
  std::string arguments, body;
  const char *const names[] = {"a", "b", "c"};
  for (int at = 0; at < 3; ++at) {
    std::string name = names[at], type = textOf(types[at]);
    auto vector = llvm::dyn_cast<mlir::VectorType>(types[at]);
    mlir::Type number = mlir::getElementTypeOrSelf(types[at]);
    std::string view = "!tile.view<?x" + textOf(number) + ", in>";
    std::string zero = number.isInteger() ? "0" : "0.0";
    int64_t bytes = (vector ? vector.getNumElements() : 1) * number.getIntOrFloatBitWidth() / 8;
    arguments += "%" + name + ": " + view + ", ";
    body += "%n" + name + " = arith.constant " + std::to_string(bytes) + " : index\n%o" + name +
            " = arith.muli %ti, %n" + name + " : index\n%z" + name + " = arith.constant " +
            (vector ? "dense<" + zero + ">" : zero) + " : " + type + "\n%v" + name +
            " = sched.view_load %" + name + "[%o" + name + "] when %yes else %z" + name + " : " +
            view + " -> " + type + "\n";
  }
  std::string out = "!tile.view<?x" + textOf(mlir::getElementTypeOrSelf(types[2])) + ", out>";
  return "tile.kernel @k(" + arguments + "%d: " + out +
         ") attributes {sched.threads = " + std::to_string(row.lanes * subgroups) +
         " : i64} {\n%c1 = arith.constant 1 : index\ntile.grid %c1, %c1, %c1\n"
         "%yes = arith.constant true\n%t = sched.thread\n"
         "%ti = arith.index_castui %t : i32 to index\n" +
         body + "%r = sched.matrix \"" + row.name + "\" %va, %vb, %vc : " + textOf(types[0]) +
         ", " + textOf(types[1]) + ", " + textOf(types[2]) +
         "\nsched.view_store %r, %d[%oc] when %yes : " + textOf(types[2]) + ", " + out + "\n}\n";
}

tile::HostView viewOf(std::vector<std::byte> &bytes, MatrixElement element) {
  return tile::HostView::contiguous(bytes.data(),
                                    {int64_t(bytes.size()) / numberOf(element).bytes});
}

// What one element of d must be, and by how much it may differ.
double expectedAt(const Operand &a, const Operand &b, const Operand &c, int64_t place) {
  int64_t group = place / (c.rows * c.columns), row = place / c.columns % c.rows;
  double sum = dequantize(c.element, c.bits[place]);
  for (int64_t k = 0; k < a.columns; ++k) {
    double left = a.at(group, row, k), right = b.at(group, k, place % c.columns);
    sum = c.element == MatrixElement::S32
              ? sum + left * right
              : std::fma(static_cast<float>(left), static_cast<float>(right),
                         static_cast<float>(sum));
  }
  return sum;
}

void expectMatmuls(const Operand &a, const Operand &b, const Operand &c,
                   const std::vector<std::byte> &d) {
  ASSERT_EQ(c.places.size() * 4, d.size());
  for (size_t at = 0; at < c.places.size(); ++at) {
    uint32_t bits;
    std::memcpy(&bits, d.data() + 4 * at, 4);
    ASSERT_EQ(dequantize(c.element, bits), expectedAt(a, b, c, c.places[at])) << at;
  }
}

TEST_P(OfRegisters, MultiplyAsAPlainProductDoes) {
  const MatrixInstruction &row = GetParam();
  constexpr int64_t kSubgroups = 2;
  Operand a(row.layoutA(), row.aElement, kSubgroups, 1),
      b(row.layoutB(), row.bElement, kSubgroups, 2), c(row.layoutC(), row.cElement, kSubgroups, 3);
  std::vector<std::byte> d(c.fragments.size());
  InterpreterOptions options;
  options.lanes.subgroup = row.lanes;
  auto result = runSimt(matmulKernel(row, kSubgroups),
                        {viewOf(a.fragments, a.element), viewOf(b.fragments, b.element),
                         viewOf(c.fragments, c.element), viewOf(d, c.element)},
                        options);
  ASSERT_TRUE(result) << result.error().message;
  expectMatmuls(a, b, c, d);
}

// ---- products of shared memory ----

constexpr int64_t kRow = 128, kPiece = 16; // bytes

// Shared memory with a matrix for each group of threads, [rows, k], from byte `within` of each row
// on; every other byte is of a NaN.
std::vector<std::byte> imageOf(const Operand &operand, bool transposed, int64_t groups,
                               int64_t within) {
  int64_t rows = transposed ? operand.columns : operand.rows;
  int64_t k = transposed ? operand.rows : operand.columns;
  std::vector<std::byte> image(groups * rows * kRow, std::byte(0xff));
  for (int64_t at = 0; at < groups * rows * k; ++at) {
    int64_t line = at / k, group = line / rows, row = line % rows, step = at % k;
    int64_t byte = within + 2 * step, piece = byte / kPiece ^ line % 8;
    int64_t from = transposed ? step * rows + row : row * k + step;
    std::memcpy(&image[line * kRow + piece * kPiece + byte % kPiece],
                &operand.bits[group * rows * k + from], 2);
  }
  return image;
}

// Copies %a and %b to shared memory, and each group of threads multiplies its own matrices.
std::string sharedMatmulKernel(const MatrixInstruction &row, int64_t groups, int64_t within) {
  mlir::MLIRContext context;
  std::string accumulators = textOf(row.typeC(&context)),
              number = std::to_string(row.lanes * groups);
  int64_t aBytes = row.m * kRow, bBytes = row.n * kRow;
  auto constant = [](const std::string &name, int64_t value, const std::string &type) {
    return "%" + name + " = arith.constant " + std::to_string(value) + " : " + type + "\n";
  };
  auto copies = [](const std::string &name) {
    return "scf.for %i = %c0 to %e" + name + " step %step {\n%at = arith.addi %i, %t16 : index\n" +
           "%to = arith.addi %at, %s" + name +
           " : index\n%place = arith.index_cast %to : index to i32\n"
           "sched.copy_async %" +
           name + "[%at] when %yes to %place : !tile.view<?xi16, in>\n}\n";
  };
  return "tile.kernel @k(%a: !tile.view<?xi16, in>, %b: !tile.view<?xi16, in>, "
         "%c: !tile.view<?xf32, in>, %d: !tile.view<?xf32, out>) attributes {sched.threads = " +
         number + " : i64, sched.shared = " + std::to_string(groups * (aBytes + bBytes)) +
         " : i64} {\n" + constant("c1", 1, "index") + "tile.grid %c1, %c1, %c1\n" +
         constant("c0", 0, "index") + constant("c16", kPiece, "index") +
         constant("step", row.lanes * groups * kPiece, "index") +
         constant("ea", groups * aBytes, "index") + constant("eb", groups * bBytes, "index") +
         constant("sa", 0, "index") + constant("sb", groups * aBytes, "index") +
         constant("lanes", row.lanes, "i32") + constant("am", aBytes, "i32") +
         constant("bm", bBytes, "i32") + constant("aw", within, "i32") +
         constant("bw", groups * aBytes + within, "i32") +
         constant("nc", 4 * row.m * row.n / row.lanes, "index") +
         "%yes = arith.constant true\n%t = sched.thread\n"
         "%ti = arith.index_castui %t : i32 to index\n%t16 = arith.muli %ti, %c16 : index\n" +
         copies("a") + copies("b") +
         "sched.copy_commit\nsched.copy_wait 0\nsched.barrier\n"
         "%oc = arith.muli %ti, %nc : index\n%zc = arith.constant dense<0.0> : " +
         accumulators +
         "\n%vc = sched.view_load %c[%oc] when %yes else %zc : !tile.view<?xf32, in> -> " +
         accumulators +
         "\n%group = arith.divui %t, %lanes : i32\n"
         "%ag = arith.muli %group, %am : i32\n%ap = arith.addi %ag, %aw : i32\n"
         "%bg = arith.muli %group, %bm : i32\n%bp = arith.addi %bg, %bw : i32\n"
         "sched.matrix_fence\n%f = sched.matrix_async \"" +
         row.name + "\" [%ap], [%bp], %vc : " + accumulators +
         "\n%r = sched.matrix_wait 0 commit %f : " + accumulators +
         "\nsched.view_store %r, %d[%oc] when %yes : " + accumulators +
         ", !tile.view<?xf32, out>\n}\n";
}

TEST_P(OfSharedMemory, MultiplyAsAPlainProductDoesAtEachStepOfARow) {
  const MatrixInstruction &row = GetParam();
  constexpr int64_t kGroups = 2;
  Operand a(row.layoutA(), row.aElement, kGroups, 1), b(row.layoutB(), row.bElement, kGroups, 2),
      c(row.layoutC(), row.cElement, kGroups, 3);
  InterpreterOptions options;
  options.lanes.maxShared = 1 << 17;
  for (int64_t within = 0; within < kRow; within += 2 * row.k) {
    std::vector<std::byte> left = imageOf(a, false, kGroups, within),
                           right = imageOf(b, true, kGroups, within), d(c.fragments.size());
    auto result = runSimt(sharedMatmulKernel(row, kGroups, within),
                          {viewOf(left, a.element), viewOf(right, b.element),
                           viewOf(c.fragments, c.element), viewOf(d, c.element)},
                          options);
    ASSERT_TRUE(result) << result.error().message;
    expectMatmuls(a, b, c, d);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OfRegisters, testing::ValuesIn(instructionsOf(false, false)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Table, OfBoth, testing::ValuesIn(instructionsOf(false, true)), nameOf);
INSTANTIATE_TEST_SUITE_P(Table, OfSharedMemory, testing::ValuesIn(instructionsOf(true, true)),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Table, Instruction,
                         testing::ValuesIn(matrixInstructions().begin(),
                                           matrixInstructions().end()),
                         nameOf);

TEST(MatrixInstructions, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const MatrixInstruction &row : matrixInstructions())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(MatrixInstructions, AreNotFoundByAnotherName) {
  EXPECT_EQ(findMatrixInstruction("nvidia.mma"), nullptr);
}

// ---- single places of the vendors' figures ----

struct Place {
  const char *instruction;
  char operand;
  int64_t lane, number, row, column;
};

class Figure : public testing::TestWithParam<Place> {};
TEST_P(Figure, HasTheElementAtThisLaneAndRegister) {
  const Place &place = GetParam();
  const MatrixInstruction *row = findMatrixInstruction(place.instruction);
  ASSERT_NE(row, nullptr);
  SimtLayout layout = place.operand == 'a'   ? row->layoutA()
                      : place.operand == 'b' ? row->layoutB()
                                             : row->layoutC();
  auto coords = layout.registerCoords(place.number), ofLane = layout.threadCoords(place.lane);
  EXPECT_EQ(coords[0] + ofLane[0], place.row);
  EXPECT_EQ(coords[1] + ofLane[1], place.column);
}
INSTANTIATE_TEST_SUITE_P(
    Vendors, Figure,
    testing::Values(Place{"nvidia.mma.m16n8k16.f32.f16", 'a', 5, 3, 9, 3},
                    Place{"nvidia.mma.m16n8k16.f32.f16", 'a', 31, 4, 7, 14},
                    Place{"nvidia.mma.m16n8k16.f32.bf16", 'b', 6, 2, 12, 1},
                    Place{"nvidia.mma.m16n8k16.f32.bf16", 'c', 6, 2, 9, 4},
                    Place{"nvidia.wgmma.m64n256k16.f32.f16", 'c', 37, 6, 25, 10},
                    Place{"nvidia.wgmma.m64n256k16.f32.bf16", 'c', 127, 127, 63, 255},
                    Place{"nvidia.wgmma.m64n128k16.f32.f16", 'c', 1, 63, 8, 123},
                    Place{"nvidia.wgmma.m64n64k16.f32.bf16", 'c', 64, 29, 32, 57},
                    Place{"nvidia.wgmma.m64n32k16.f32.f16", 'c', 37, 10, 25, 18},
                    Place{"nvidia.wgmma.m64n16k16.f32.bf16", 'c', 127, 7, 63, 15},
                    Place{"nvidia.mma.m16n8k8.f32.tf32", 'a', 6, 1, 9, 2},
                    Place{"nvidia.mma.m16n8k8.f32.tf32", 'b', 6, 1, 6, 1},
                    Place{"nvidia.mma.m16n8k32.s32.s8", 'a', 1, 6, 8, 6},
                    Place{"nvidia.mma.m16n8k32.s32.s8", 'a', 1, 8, 0, 20},
                    Place{"nvidia.mma.m16n8k32.s32.u8.s8", 'b', 7, 5, 29, 1},
                    Place{"amd.mfma.f32.32x32x8.f16", 'a', 40, 1, 8, 5},
                    Place{"amd.mfma.f32.32x32x8.f16", 'c', 33, 6, 14, 1},
                    Place{"amd.mfma.f32.16x16x16.bf16", 'b', 18, 3, 7, 2},
                    Place{"amd.mfma.f32.16x16x16.bf16", 'c', 18, 3, 7, 2},
                    Place{"amd.mfma.i32.16x16x32.i8", 'a', 18, 7, 2, 15},
                    Place{"amd.wmma.gfx11.f32.16x16x16.f16", 'a', 19, 7, 3, 7},
                    Place{"amd.wmma.gfx11.f32.16x16x16.f16", 'c', 19, 2, 5, 3},
                    Place{"amd.wmma.gfx12.f32.16x16x16.f16", 'a', 19, 5, 3, 13},
                    Place{"amd.wmma.gfx12.f32.16x16x16.f16", 'c', 19, 5, 13, 3},
                    Place{"metal.simdgroup.8x8x8.f32.f16", 'a', 6, 1, 3, 1},
                    Place{"metal.simdgroup.8x8x8.f32.f32", 'b', 27, 0, 5, 6}));

// ---- what the interpreter refuses ----

TEST(MatrixInstructions, RefuseCopiesThatDiffer) {
  const MatrixInstruction &row = *findMatrixInstruction("amd.wmma.gfx11.f32.16x16x16.f16");
  Operand a(row.layoutA(), row.aElement, 1, 1), b(row.layoutB(), row.bElement, 1, 2),
      c(row.layoutC(), row.cElement, 1, 3);
  a.fragments[16 * 32] ^= std::byte(1); // element 0 of lane 16
  std::vector<std::byte> d(c.fragments.size());
  auto result =
      runSimt(matmulKernel(row, 1), {viewOf(a.fragments, a.element), viewOf(b.fragments, b.element),
                                     viewOf(c.fragments, c.element), viewOf(d, c.element)});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("'sched.matrix' finds different copies of element [0, 0] "
                                        "in threads 0 and 16"),
            std::string::npos)
      << result.error().message;
}

TEST(MatrixInstructions, NeedSubgroupsOfTheirOwnWidth) {
  const MatrixInstruction &row = *findMatrixInstruction("amd.mfma.f32.16x16x16.f16");
  auto result = runSimt(matmulKernel(row, 1), {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("names 'amd.mfma.f32.16x16x16.f16' of 64 lanes in blocks "
                                        "of 64 threads and subgroups of 32"),
            std::string::npos)
      << result.error().message;
}

} // namespace
} // namespace sinter::sched
