// The entry points of kernel_abi.h: each turns plain C arguments into those of FrontSession. In one
// file, so that a program which builds any kernel exports all of them.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::StringRef;

using Session = SinterKernelSession;
using Where = const SinterLocation *;

// A null session is what a default-made handle has; its calls answer an empty value.
#define SINTER_FRONT(call) (session ? session->call : SINTER_VALUE_EMPTY)
#define SINTER_FRONT_VOID(call)                                                                    \
  if (session)                                                                                     \
  session->call

void sinterKernelBegin(Session *session, const char *name, Where where) {
  SINTER_FRONT_VOID(beginKernel(name, *where));
}

void sinterKernelEnd(Session *session, Where where) {
  SINTER_FRONT_VOID(endKernel(*where));
}

SinterValue sinterKernelView(Session *session, const char *name, const char *element,
                             uint32_t access, const int64_t *shape, uint32_t rank,
                             int64_t interleave, uint32_t flags, Where where) {
  return SINTER_FRONT(
      view(name, element, access, ArrayRef(shape, rank), interleave, flags, *where));
}

SinterValue sinterKernelScalar(Session *session, const char *name, const char *element,
                               Where where) {
  return SINTER_FRONT(scalarArgument(name, element, *where));
}

void sinterKernelGrid(Session *session, const SinterOperand extents[3], Where where) {
  SINTER_FRONT_VOID(grid(ArrayRef(extents, 3), *where));
}

SinterValue sinterKernelProgramId(Session *session, uint32_t axis, Where where) {
  return SINTER_FRONT(programId(axis, *where));
}

SinterValue sinterKernelDim(Session *session, SinterValue view, uint32_t axis, Where where) {
  return SINTER_FRONT(dim(view, axis, *where));
}

SinterValue sinterKernelWindow(Session *session, SinterValue view, const SinterOperand *origins,
                               uint32_t originCount, const SinterOperand *extents,
                               uint32_t extentCount, Where where) {
  return SINTER_FRONT(
      window(view, ArrayRef(origins, originCount), ArrayRef(extents, extentCount), *where));
}

SinterValue sinterKernelGather(Session *session, SinterValue pages, SinterValue index,
                               uint32_t byRow, Where where) {
  return SINTER_FRONT(gather(pages, index, byRow != 0, *where));
}

SinterValue sinterKernelLoad(Session *session, SinterValue view, const SinterOperand *offsets,
                             uint32_t offsetCount, const int64_t *shape, uint32_t rank,
                             const SinterOperand *pad, Where where) {
  return SINTER_FRONT(
      load(view, ArrayRef(offsets, offsetCount), ArrayRef(shape, rank), *pad, *where));
}

SinterValue sinterKernelLoadScalar(Session *session, SinterValue view, const SinterOperand *offsets,
                                   uint32_t offsetCount, Where where) {
  return SINTER_FRONT(loadScalar(view, ArrayRef(offsets, offsetCount), *where));
}

void sinterKernelStore(Session *session, SinterValue view, const SinterOperand *offsets,
                       uint32_t offsetCount, SinterValue tile, Where where) {
  SINTER_FRONT_VOID(store(view, ArrayRef(offsets, offsetCount), tile, *where));
}

SinterValue sinterKernelFull(Session *session, const char *element, const SinterOperand *value,
                             const int64_t *shape, uint32_t rank, Where where) {
  return SINTER_FRONT(full(element, *value, ArrayRef(shape, rank), *where));
}

SinterValue sinterKernelIota(Session *session, const char *element, const int64_t *shape,
                             uint32_t rank, uint32_t axis, Where where) {
  return SINTER_FRONT(iota(element, ArrayRef(shape, rank), axis, *where));
}

SinterValue sinterKernelElementwise(Session *session, uint32_t op, const SinterOperand *operands,
                                    uint32_t count, Where where) {
  return SINTER_FRONT(elementwise(op, ArrayRef(operands, count), *where));
}

SinterValue sinterKernelConvert(Session *session, SinterValue value, const char *element,
                                uint32_t isUnsigned, Where where) {
  return SINTER_FRONT(convert(value, element, isUnsigned != 0, *where));
}

SinterValue sinterKernelBitcast(Session *session, SinterValue value, const char *element,
                                Where where) {
  return SINTER_FRONT(bitcast(value, element, *where));
}

SinterValue sinterKernelBroadcast(Session *session, SinterValue tile, const int64_t *shape,
                                  uint32_t rank, Where where) {
  return SINTER_FRONT(broadcast(tile, ArrayRef(shape, rank), *where));
}

SinterValue sinterKernelReshape(Session *session, SinterValue tile, const int64_t *shape,
                                uint32_t rank, Where where) {
  return SINTER_FRONT(reshape(tile, ArrayRef(shape, rank), *where));
}

SinterValue sinterKernelPermute(Session *session, SinterValue tile, const int64_t *order,
                                uint32_t rank, Where where) {
  return SINTER_FRONT(permute(tile, ArrayRef(order, rank), *where));
}

SinterValue sinterKernelSlice(Session *session, SinterValue tile, const int64_t *offsets,
                              uint32_t offsetCount, const int64_t *shape, uint32_t rank,
                              Where where) {
  return SINTER_FRONT(slice(tile, ArrayRef(offsets, offsetCount), ArrayRef(shape, rank), *where));
}

SinterValue sinterKernelConcat(Session *session, const SinterValue *tiles, uint32_t count,
                               uint32_t axis, Where where) {
  return SINTER_FRONT(concat(ArrayRef(tiles, count), axis, *where));
}

SinterValue sinterKernelReduce(Session *session, uint32_t kind, SinterValue tile, uint32_t axis,
                               Where where) {
  return SINTER_FRONT(reduce(kind, tile, axis, *where));
}

SinterValue sinterKernelDot(Session *session, SinterValue a, SinterValue b, SinterValue acc,
                            uint32_t transposeB, Where where) {
  return SINTER_FRONT(dot(a, b, acc, transposeB != 0, *where));
}

SinterValue sinterKernelQuantize(Session *session, SinterValue tile, const char *element,
                                 Where where) {
  return SINTER_FRONT(quantize(tile, element, *where));
}

SinterValue sinterKernelDequantize(Session *session, SinterValue tile, Where where) {
  return SINTER_FRONT(dequantize(tile, *where));
}

void sinterKernelForBegin(Session *session, const SinterOperand bounds[3], const SinterValue *inits,
                          uint32_t count, SinterValue *induction, SinterValue *carried,
                          Where where) {
  MutableArrayRef answers(carried, count);
  llvm::fill(answers, SINTER_VALUE_POISON);
  *induction = SINTER_FRONT(beginFor(ArrayRef(bounds, 3), ArrayRef(inits, count), answers, *where));
}

void sinterKernelForEnd(Session *session, const SinterValue *yields, uint32_t count,
                        SinterValue *results, uint32_t capacity, Where where) {
  SINTER_FRONT_VOID(endFor(ArrayRef(yields, count), MutableArrayRef(results, capacity), *where));
}

void sinterKernelWhileBegin(Session *session, const SinterValue *inits, uint32_t count,
                            SinterValue *carried, Where where) {
  MutableArrayRef answers(carried, count);
  llvm::fill(answers, SINTER_VALUE_POISON);
  SINTER_FRONT_VOID(beginWhile(ArrayRef(inits, count), answers, *where));
}

void sinterKernelWhileBody(Session *session, SinterValue condition, SinterValue *carried,
                           uint32_t capacity, Where where) {
  SINTER_FRONT_VOID(whileBody(condition, MutableArrayRef(carried, capacity), *where));
}

void sinterKernelWhileEnd(Session *session, const SinterValue *yields, uint32_t count,
                          SinterValue *results, uint32_t capacity, Where where) {
  SINTER_FRONT_VOID(endWhile(ArrayRef(yields, count), MutableArrayRef(results, capacity), *where));
}

void sinterKernelIfBegin(Session *session, SinterValue condition, Where where) {
  SINTER_FRONT_VOID(beginIf(condition, *where));
}

void sinterKernelIfElse(Session *session, const SinterValue *yields, uint32_t count, Where where) {
  SINTER_FRONT_VOID(ifElse(ArrayRef(yields, count), *where));
}

void sinterKernelIfEnd(Session *session, const SinterValue *yields, uint32_t count,
                       SinterValue *results, Where where) {
  SINTER_FRONT_VOID(endIf(ArrayRef(yields, count), MutableArrayRef(results, count), *where));
}
