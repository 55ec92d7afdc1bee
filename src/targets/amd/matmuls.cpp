// The table from matrix instructions to intrinsics, and how operands lie in registers for them.
#include "targets/amd/matmuls.h"
#include "sched/simt/matrix_instructions.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::amd {

using simt::Site;

namespace {
enum class Operands : uint8_t {
  Same,   // the fragment's own vector
  Shorts, // 16-bit integers
  Scalar, // all bits as one number
  Words,  // 32-bit integers
};

// What follows the operands, or lies among them.
enum class Form : uint8_t {
  Mfma,       // a, b, c, no broadcasts
  Wmma,       // a, b, c
  SignedWmma, // signed a, signed b, c, no clamping
};

struct Matmul {
  const char *instruction, *intrinsic;
  Operands operands;
  Form form;
};
} // namespace

static constexpr Matmul kMatmuls[] = {
    {"amd.mfma.f32.32x32x8.f16", "llvm.amdgcn.mfma.f32.32x32x8f16", Operands::Same, Form::Mfma},
    {"amd.mfma.f32.32x32x8.bf16", "llvm.amdgcn.mfma.f32.32x32x8bf16.1k", Operands::Shorts,
     Form::Mfma},
    {"amd.mfma.f32.16x16x16.f16", "llvm.amdgcn.mfma.f32.16x16x16f16", Operands::Same, Form::Mfma},
    {"amd.mfma.f32.16x16x16.bf16", "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", Operands::Shorts,
     Form::Mfma},
    {"amd.mfma.f32.32x32x2.f32", "llvm.amdgcn.mfma.f32.32x32x2f32", Operands::Scalar, Form::Mfma},
    {"amd.mfma.i32.32x32x8.i8", "llvm.amdgcn.mfma.i32.32x32x8i8", Operands::Scalar, Form::Mfma},
    {"amd.mfma.i32.16x16x32.i8", "llvm.amdgcn.mfma.i32.16x16x32.i8", Operands::Scalar, Form::Mfma},
    {"amd.wmma.gfx11.f32.16x16x16.f16", "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16",
     Operands::Same, Form::Wmma},
    {"amd.wmma.gfx11.f32.16x16x16.bf16", "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16",
     Operands::Shorts, Form::Wmma},
    {"amd.wmma.gfx11.i32.16x16x16.iu8", "llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32",
     Operands::Words, Form::SignedWmma},
    {"amd.wmma.gfx12.f32.16x16x16.f16", "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16",
     Operands::Same, Form::Wmma},
    {"amd.wmma.gfx12.f32.16x16x16.bf16", "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16",
     Operands::Shorts, Form::Wmma},
    {"amd.wmma.gfx12.i32.16x16x16.iu8", "llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v2i32",
     Operands::Words, Form::SignedWmma},
};

static Value laidOut(Site s, Value fragment, Operands operands) {
  auto type = dyn_cast<VectorType>(fragment.getType());
  if (!type)
    return fragment;
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  switch (operands) {
  case Operands::Same:
    return fragment;
  case Operands::Shorts:
    return arith::BitcastOp::create(s.b, s.loc, type.clone(s.b.getI16Type()), fragment);
  case Operands::Words:
    return vector::BitCastOp::create(s.b, s.loc, VectorType::get({bits / 32}, s.b.getI32Type()),
                                     fragment);
  case Operands::Scalar:
    break;
  }
  Type whole = s.b.getIntegerType(static_cast<unsigned>(bits));
  fragment = vector::BitCastOp::create(s.b, s.loc, VectorType::get({1}, whole), fragment);
  return vector::ExtractOp::create(s.b, s.loc, fragment, 0);
}

static LogicalResult checkFragments(sched::MatrixOp op) {
  const sched::MatrixInstruction *info = sched::findMatrixInstruction(op.getInstruction());
  MLIRContext *context = op.getContext();
  if (info && op.getA().getType() == info->typeA(context) &&
      op.getB().getType() == info->typeB(context) && op.getAcc().getType() == info->typeC(context))
    return success();
  InFlightDiagnostic message = op.emitOpError()
                               << "has fragments " << op.getA().getType() << ", "
                               << op.getB().getType() << ", " << op.getAcc().getType();
  if (info)
    message << ", expected " << info->typeA(context) << ", " << info->typeB(context) << ", "
            << info->typeC(context);
  return failure();
}

static SmallVector<Value> argumentsOf(Site s, sched::MatrixOp op, const Matmul &product) {
  auto flag = [&](bool value) -> Value {
    return arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(value));
  };
  Value a = laidOut(s, op.getA(), product.operands), b = laidOut(s, op.getB(), product.operands);
  switch (product.form) {
  case Form::Mfma: {
    Value zero = arith::ConstantOp::create(s.b, s.loc, s.b.getI32IntegerAttr(0));
    return {a, b, op.getAcc(), zero, zero, zero};
  }
  case Form::Wmma:
    return {a, b, op.getAcc()};
  case Form::SignedWmma:
    return {flag(true), a, flag(true), b, op.getAcc(), flag(false)};
  }
  return {};
}

FailureOr<Value> emitMatmul(Site s, sched::MatrixOp op, const AmdFacts &facts) {
  StringRef name = op.getInstruction();
  const auto *product =
      llvm::find_if(kMatmuls, [&](const Matmul &row) { return name == row.instruction; });
  if (product == std::end(kMatmuls) ||
      !llvm::is_contained(facts.instructions, std::string_view(name)))
    return op.emitOpError() << "names '" << name << "', expected a matrix instruction of "
                            << StringRef(facts.processor) << ": "
                            << llvm::join(facts.instructions, ", ");
  if (failed(checkFragments(op)))
    return failure();
  return LLVM::CallIntrinsicOp::create(s.b, s.loc, op.getType(),
                                       s.b.getStringAttr(product->intrinsic),
                                       argumentsOf(s, op, *product))
      .getResult(0);
}

} // namespace sinter::targets::amd
