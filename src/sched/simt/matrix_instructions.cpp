// The table of matrix instructions and its layouts.
#include "sched/simt/matrix_instructions.h"
#include "base/check.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::sched {

namespace {

using enum MatrixElement;

// NVIDIA: PTX ISA 8.7, "Matrix Fragments for mma": lane = 4 * groupID + threadID_in_group. c and d
// of every m16n8: row groupID, 8 more for c2 c3; column 2 * threadID + (i & 1).
constexpr FragmentBits kMmaC = {"n0 m3", "n1 n2 m0 m1 m2"};
// mma.m16n8k16 with floating point types: a's row is groupID, 8 more for a2 a3 a6 a7; its column
// 2 * threadID + (i & 1), 8 more from a4 on.
constexpr Fragments kMma16 = {{"k0 m3 k3", "k1 k2 m0 m1 m2"}, {"k0 k3", "k1 k2 n0 n1 n2"}, kMmaC};
// mma.m16n8k8 with .tf32: a's row is 8 more for a1 a3, its column threadID, 4 more from a2 on.
constexpr Fragments kMmaTf32 = {{"m3 k2", "k0 k1 m0 m1 m2"}, {"k2", "k0 k1 n0 n1 n2"}, kMmaC};
// mma.m16n8k32 with integer types: a's row is 8 more for a4 to a7 and a12 to a15; its column
// 4 * threadID + (i & 3), 16 more from a8 on.
constexpr Fragments kMma8 = {
    {"k0 k1 m3 k4", "k2 k3 m0 m1 m2"}, {"k0 k1 k4", "k2 k3 n0 n1 n2"}, kMmaC};

// wgmma.m64nNk16, four subgroups together: rows as in mma within 16 of each subgroup, columns in
// groups of 8 by the register's upper bits. Operands lie in shared memory.
constexpr const char *kWgmmaLanes = "n1 n2 m0 m1 m2 m4 m5";
constexpr Fragments kWgmma256 = {{"", ""}, {"", ""}, {"n0 m3 n3 n4 n5 n6 n7", kWgmmaLanes}};
constexpr Fragments kWgmma128 = {{"", ""}, {"", ""}, {"n0 m3 n3 n4 n5 n6", kWgmmaLanes}};
constexpr Fragments kWgmma64 = {{"", ""}, {"", ""}, {"n0 m3 n3 n4 n5", kWgmmaLanes}};
constexpr Fragments kWgmma32 = {{"", ""}, {"", ""}, {"n0 m3 n3 n4", kWgmmaLanes}};
constexpr Fragments kWgmma16 = {{"", ""}, {"", ""}, {"n0 m3 n3", kWgmmaLanes}};
// The same with a in registers, where c has its first 16 columns.
constexpr FragmentBits kWgmmaA = {"k0 m3 k3", "k1 k2 m0 m1 m2 m4 m5"};
constexpr Fragments kWgmmaA256 = {kWgmmaA, {"", ""}, kWgmma256.c};
constexpr Fragments kWgmmaA128 = {kWgmmaA, {"", ""}, kWgmma128.c};
constexpr Fragments kWgmmaA64 = {kWgmmaA, {"", ""}, kWgmma64.c};
constexpr Fragments kWgmmaA32 = {kWgmmaA, {"", ""}, kWgmma32.c};

// AMD: the mappings from registers to elements that the AMD Matrix Instruction Calculator prints
// for CDNA3, RDNA3 and RDNA4 (their instruction set documents have the same figures). b mirrors a.
// v_mfma_f32_32x32x8: i = lane % 32, k = 4 * (lane / 32) + element; c's i is
// 8 * (register / 4) + 4 * (lane / 32) + register % 4.
constexpr Fragments kMfma32 = {{"k0 k1", "m0 m1 m2 m3 m4 k2"},
                               {"k0 k1", "n0 n1 n2 n3 n4 k2"},
                               {"m0 m1 m3 m4", "n0 n1 n2 n3 n4 m2"}};
// v_mfma_f32_16x16x16: i = lane % 16, k = 4 * (lane / 16) + element; c's i is 4 * (lane / 16) +
// register. v_mfma_i32_16x16x32_i8: the same with k = 8 * (lane / 16) + element.
// v_mfma_f32_32x32x2_f32: i = lane % 32, k = lane / 32; c as above.
constexpr Fragments kMfma32F32 = {{"", "m0 m1 m2 m3 m4 k0"}, {"", "n0 n1 n2 n3 n4 k0"}, kMfma32.c};
constexpr FragmentBits kMfma16C = {"m0 m1", "n0 n1 n2 n3 m2 m3"};
constexpr Fragments kMfma16 = {
    {"k0 k1", "m0 m1 m2 m3 k2 k3"}, {"k0 k1", "n0 n1 n2 n3 k2 k3"}, kMfma16C};
constexpr Fragments kMfma8 = {
    {"k0 k1 k2", "m0 m1 m2 m3 k3 k4"}, {"k0 k1 k2", "n0 n1 n2 n3 k3 k4"}, kMfma16C};
// RDNA3 v_wmma in wave32: k = element, lanes i and i + 16 hold the same; c's i is
// 2 * register + lane / 16.
constexpr Fragments kWmma11 = {{"k0 k1 k2 k3", "m0 m1 m2 m3 *"},
                               {"k0 k1 k2 k3", "n0 n1 n2 n3 *"},
                               {"m1 m2 m3", "n0 n1 n2 n3 m0"}};
// RDNA4 v_wmma in wave32: k = 8 * (element / 4) + 4 * (lane / 16) + element % 4; c's i is
// 8 * (lane / 16) + register.
constexpr Fragments kWmma12 = {
    {"k0 k1 k3", "m0 m1 m2 m3 k2"}, {"k0 k1 k3", "n0 n1 n2 n3 k2"}, {"m0 m1 m2", "n0 n1 n2 n3 m3"}};

// Apple: how the open Metal FlashAttention and MLX read thread_elements() (after US patent
// 11,256,518 B2): row = 4 * (lane / 16) + lane / 2 % 4, column = 4 * (lane / 8 % 2) + 2 * (lane %
// 2)
// + element, for all three operands.
constexpr Fragments kSimdgroup = {
    {"k0", "k1 m0 m1 k2 m2"}, {"n0", "n1 k0 k1 n2 k2"}, {"n0", "n1 m0 m1 n2 m2"}};

// SPV_KHR_cooperative_matrix leaves where elements lie to the device. Accumulators are taken row by
// row of shared memory: eight columns for each lane.
constexpr Fragments kCooperative = {{"", ""}, {"", ""}, {"n0 n1 n2", "n3 m0 m1 m2 m3"}};

constexpr MatrixInstruction kInstructions[] = {
    {"nvidia.wgmma.m64n256k16.f32.f16", 64, 256, 16, 128, F16, F16, F32, kWgmma256, true},
    {"nvidia.wgmma.m64n128k16.f32.f16", 64, 128, 16, 128, F16, F16, F32, kWgmma128, true},
    {"nvidia.wgmma.m64n64k16.f32.f16", 64, 64, 16, 128, F16, F16, F32, kWgmma64, true},
    {"nvidia.wgmma.m64n32k16.f32.f16", 64, 32, 16, 128, F16, F16, F32, kWgmma32, true},
    {"nvidia.wgmma.m64n16k16.f32.f16", 64, 16, 16, 128, F16, F16, F32, kWgmma16, true},
    {"nvidia.wgmma.m64n256k16.f32.bf16", 64, 256, 16, 128, BF16, BF16, F32, kWgmma256, true},
    {"nvidia.wgmma.m64n128k16.f32.bf16", 64, 128, 16, 128, BF16, BF16, F32, kWgmma128, true},
    {"nvidia.wgmma.m64n64k16.f32.bf16", 64, 64, 16, 128, BF16, BF16, F32, kWgmma64, true},
    {"nvidia.wgmma.m64n32k16.f32.bf16", 64, 32, 16, 128, BF16, BF16, F32, kWgmma32, true},
    {"nvidia.wgmma.m64n16k16.f32.bf16", 64, 16, 16, 128, BF16, BF16, F32, kWgmma16, true},
    {"nvidia.wgmma.ra.m64n256k16.f32.f16", 64, 256, 16, 128, F16, F16, F32, kWgmmaA256, false,
     true},
    {"nvidia.wgmma.ra.m64n128k16.f32.f16", 64, 128, 16, 128, F16, F16, F32, kWgmmaA128, false,
     true},
    {"nvidia.wgmma.ra.m64n64k16.f32.f16", 64, 64, 16, 128, F16, F16, F32, kWgmmaA64, false, true},
    {"nvidia.wgmma.ra.m64n32k16.f32.f16", 64, 32, 16, 128, F16, F16, F32, kWgmmaA32, false, true},
    {"nvidia.wgmma.ra.m64n256k16.f32.bf16", 64, 256, 16, 128, BF16, BF16, F32, kWgmmaA256, false,
     true},
    {"nvidia.wgmma.ra.m64n128k16.f32.bf16", 64, 128, 16, 128, BF16, BF16, F32, kWgmmaA128, false,
     true},
    {"nvidia.wgmma.ra.m64n64k16.f32.bf16", 64, 64, 16, 128, BF16, BF16, F32, kWgmmaA64, false,
     true},
    {"nvidia.wgmma.ra.m64n32k16.f32.bf16", 64, 32, 16, 128, BF16, BF16, F32, kWgmmaA32, false,
     true},
    {"nvidia.mma.m16n8k16.f32.f16", 16, 8, 16, 32, F16, F16, F32, kMma16},
    {"nvidia.mma.m16n8k16.f32.bf16", 16, 8, 16, 32, BF16, BF16, F32, kMma16},
    {"nvidia.mma.m16n8k8.f32.tf32", 16, 8, 8, 32, TF32, TF32, F32, kMmaTf32},
    {"nvidia.mma.m16n8k32.s32.s8", 16, 8, 32, 32, S8, S8, S32, kMma8},
    {"nvidia.mma.m16n8k32.s32.u8.s8", 16, 8, 32, 32, U8, S8, S32, kMma8},
    {"amd.mfma.f32.32x32x8.f16", 32, 32, 8, 64, F16, F16, F32, kMfma32},
    {"amd.mfma.f32.32x32x8.bf16", 32, 32, 8, 64, BF16, BF16, F32, kMfma32},
    {"amd.mfma.f32.16x16x16.f16", 16, 16, 16, 64, F16, F16, F32, kMfma16},
    {"amd.mfma.f32.16x16x16.bf16", 16, 16, 16, 64, BF16, BF16, F32, kMfma16},
    {"amd.mfma.f32.32x32x2.f32", 32, 32, 2, 64, F32, F32, F32, kMfma32F32},
    {"amd.mfma.i32.32x32x8.i8", 32, 32, 8, 64, S8, S8, S32, kMfma32},
    {"amd.mfma.i32.16x16x32.i8", 16, 16, 32, 64, S8, S8, S32, kMfma8},
    {"amd.wmma.gfx11.f32.16x16x16.f16", 16, 16, 16, 32, F16, F16, F32, kWmma11},
    {"amd.wmma.gfx11.f32.16x16x16.bf16", 16, 16, 16, 32, BF16, BF16, F32, kWmma11},
    {"amd.wmma.gfx11.i32.16x16x16.iu8", 16, 16, 16, 32, S8, S8, S32, kWmma11},
    {"amd.wmma.gfx12.f32.16x16x16.f16", 16, 16, 16, 32, F16, F16, F32, kWmma12},
    {"amd.wmma.gfx12.f32.16x16x16.bf16", 16, 16, 16, 32, BF16, BF16, F32, kWmma12},
    {"amd.wmma.gfx12.i32.16x16x16.iu8", 16, 16, 16, 32, S8, S8, S32, kWmma12},
    {"metal.simdgroup.8x8x8.f32.f16", 8, 8, 8, 32, F16, F16, F32, kSimdgroup},
    {"metal.simdgroup.8x8x8.f32.bf16", 8, 8, 8, 32, BF16, BF16, F32, kSimdgroup},
    {"metal.simdgroup.8x8x8.f32.f32", 8, 8, 8, 32, F32, F32, F32, kSimdgroup},
    {"vulkan.cooperative.16x16x16.f32.f16", 16, 16, 16, 32, F16, F16, F32, kCooperative, false,
     false, true},
    {"vulkan.cooperative.16x16x16.f32.bf16", 16, 16, 16, 32, BF16, BF16, F32, kCooperative, false,
     false, true},
};

// `axes` names the rows' axis and the columns'.
SmallVector<LayoutBit> parseBits(StringRef text, StringRef axes) {
  SmallVector<LayoutBit> bits;
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (word == "*") {
      bits.emplace_back();
      continue;
    }
    size_t axis = axes.find(word[0]);
    SINTER_CHECK(word.size() == 2 && axis != StringRef::npos);
    bits.push_back({static_cast<int>(axis), word[1] - '0'});
  }
  return bits;
}

SimtLayout makeLayout(int64_t rows, int64_t columns, FragmentBits bits, StringRef axes) {
  return SimtLayout({rows, columns}, parseBits(bits.registers, axes), parseBits(bits.lanes, axes));
}

Type storageType(MLIRContext *context, MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
    return Float16Type::get(context);
  case MatrixElement::BF16:
    return BFloat16Type::get(context);
  case MatrixElement::TF32:
  case MatrixElement::F32:
    return Float32Type::get(context);
  case MatrixElement::S8:
  case MatrixElement::U8:
    return IntegerType::get(context, 8);
  case MatrixElement::S32:
    return IntegerType::get(context, 32);
  }
}

Type fragmentType(MLIRContext *context, MatrixElement element, const SimtLayout &layout) {
  Type number = storageType(context, element);
  return layout.registers() == 1 ? number : VectorType::get({layout.registers()}, number);
}

} // namespace

SimtLayout MatrixInstruction::layoutA() const {
  return makeLayout(m, k, fragments.a, "mk");
}

SimtLayout MatrixInstruction::layoutB() const {
  return makeLayout(k, n, fragments.b, "kn");
}

SimtLayout MatrixInstruction::layoutC() const {
  return makeLayout(m, n, fragments.c, "mn");
}

Type MatrixInstruction::typeA(MLIRContext *context) const {
  return fragmentType(context, aElement, layoutA());
}

Type MatrixInstruction::typeB(MLIRContext *context) const {
  return fragmentType(context, bElement, layoutB());
}

Type MatrixInstruction::typeC(MLIRContext *context) const {
  return fragmentType(context, cElement, layoutC());
}

ArrayRef<MatrixInstruction> matrixInstructions() {
  return kInstructions;
}

const MatrixInstruction *findMatrixInstruction(StringRef name) {
  const auto *found =
      llvm::find_if(kInstructions, [&](const MatrixInstruction &row) { return name == row.name; });
  return found == std::end(kInstructions) ? nullptr : found;
}

} // namespace sinter::sched
