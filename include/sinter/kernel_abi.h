/* The C side of the kernel front: the functions that sinter/kernel.h calls, exported by the
 * compiler program, so that a kernel source built into a shared object needs no C++ ABI of it.
 *
 * Contracts shared by every function:
 *  - A session belongs to the compiler, is used by one thread and outlives every call.
 *  - A SinterValue names a tile, scalar or view of the session. SINTER_VALUE_EMPTY is "never made",
 *    SINTER_VALUE_POISON the result of a call that was refused: it is accepted everywhere,
 * silently.
 *  - Nothing aborts. A mistake is recorded as a diagnostic at `where` and the result is poison; the
 *    kernel is refused as a whole when it ends.
 *  - Element types are spelled f64 f32 f16 bf16 f8e4m3 f8e5m2 i1 i8 i16 i32 i64 index, and
 *    block<NAME> for a block-scaled format. Strings and arrays are read during the call only.
 *  - Dynamic extents are SINTER_DYNAMIC. */
#ifndef SINTER_KERNEL_ABI_H
#define SINTER_KERNEL_ABI_H

#include <stdint.h>

#define SINTER_KERNEL_ABI_VERSION 2u
#define SINTER_KERNEL_EXPORT __attribute__((visibility("default")))
#define SINTER_VALUE_EMPTY 0u
#define SINTER_VALUE_POISON 0xfffffffeu
#define SINTER_VALUE_FOREIGN 0xffffffffu
#define SINTER_DYNAMIC INT64_MIN

#ifdef __cplusplus
extern "C" {
#endif

typedef struct SinterKernelSession SinterKernelSession;
typedef uint32_t SinterValue;

/* A place in a kernel source. */
typedef struct SinterLocation {
  const char *file;
  uint32_t line;
  uint32_t column;
} SinterLocation;

/* A value, a literal that takes the element type of its fellow operands, or nothing. */
enum { SINTER_OPERAND_VALUE, SINTER_OPERAND_INTEGER, SINTER_OPERAND_REAL, SINTER_OPERAND_NONE };
typedef struct SinterOperand {
  uint32_t kind;
  SinterValue value;
  int64_t integer;
  double real;
} SinterOperand;

enum { SINTER_ACCESS_IN, SINTER_ACCESS_OUT, SINTER_ACCESS_INOUT };
/* MAX_ANY_NAN: MAX but where NaN is among the elements (NaN, or the largest number beside it) or
 * zeros of both signs (either). */
enum { SINTER_REDUCE_SUM, SINTER_REDUCE_MAX, SINTER_REDUCE_MIN, SINTER_REDUCE_MAX_ANY_NAN };

/* Elementwise operations; integers are signed unless the name says otherwise. */
enum {
  SINTER_OP_ADD,
  SINTER_OP_SUB,
  SINTER_OP_MUL,
  SINTER_OP_DIV,
  SINTER_OP_REM,
  SINTER_OP_CEIL_DIV,
  SINTER_OP_FLOOR_DIV,
  SINTER_OP_MAX,
  SINTER_OP_MIN,
  SINTER_OP_POW,
  SINTER_OP_EQ,
  SINTER_OP_NE,
  SINTER_OP_LT,
  SINTER_OP_LE,
  SINTER_OP_GT,
  SINTER_OP_GE,
  SINTER_OP_AND,
  SINTER_OP_OR,
  SINTER_OP_XOR,
  SINTER_OP_SHL,
  SINTER_OP_SHR,
  SINTER_OP_SHR_LOGICAL,
  SINTER_OP_LOGICAL_AND,
  SINTER_OP_LOGICAL_OR,
  SINTER_OP_NEG,
  SINTER_OP_NOT,
  SINTER_OP_LOGICAL_NOT,
  SINTER_OP_ABS,
  SINTER_OP_EXP,
  SINTER_OP_EXP2,
  SINTER_OP_LOG,
  SINTER_OP_LOG2,
  SINTER_OP_SQRT,
  SINTER_OP_RSQRT,
  SINTER_OP_SIN,
  SINTER_OP_COS,
  SINTER_OP_TANH,
  SINTER_OP_ERF,
  SINTER_OP_FLOOR,
  SINTER_OP_CEIL,
  SINTER_OP_ROUND_EVEN,
  SINTER_OP_FMA,    /* a * b + c, rounded once */
  SINTER_OP_SELECT, /* condition, then, else */
  SINTER_OP_COUNT
};

/* ---- kernels ---- */

/* Of a view; others are refused. */
enum { SINTER_VIEW_STRIDED = 1, SINTER_VIEW_CONSTANT = 2 };

SINTER_KERNEL_EXPORT void sinterKernelBegin(SinterKernelSession *, const char *name,
                                            const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelEnd(SinterKernelSession *, const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelView(SinterKernelSession *, const char *name,
                                                  const char *element, uint32_t access,
                                                  const int64_t *shape, uint32_t rank,
                                                  int64_t interleave, uint32_t flags,
                                                  const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelScalar(SinterKernelSession *, const char *name,
                                                    const char *element,
                                                    const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelGrid(SinterKernelSession *, const SinterOperand extents[3],
                                           const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelProgramId(SinterKernelSession *, uint32_t axis,
                                                       const SinterLocation *where);

/* ---- views ---- */

SINTER_KERNEL_EXPORT SinterValue sinterKernelDim(SinterKernelSession *, SinterValue view,
                                                 uint32_t axis, const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelWindow(
    SinterKernelSession *, SinterValue view, const SinterOperand *origins, uint32_t originCount,
    const SinterOperand *extents, uint32_t extentCount, const SinterLocation *where);
/* `byRow`: the index holds row numbers, not page numbers. */
SINTER_KERNEL_EXPORT SinterValue sinterKernelGather(SinterKernelSession *, SinterValue pages,
                                                    SinterValue index, uint32_t byRow,
                                                    const SinterLocation *where);
/* `pad` is a literal, or nothing for zero. */
SINTER_KERNEL_EXPORT SinterValue sinterKernelLoad(SinterKernelSession *, SinterValue view,
                                                  const SinterOperand *offsets,
                                                  uint32_t offsetCount, const int64_t *shape,
                                                  uint32_t rank, const SinterOperand *pad,
                                                  const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelLoadScalar(SinterKernelSession *, SinterValue view,
                                                        const SinterOperand *offsets,
                                                        uint32_t offsetCount,
                                                        const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelStore(SinterKernelSession *, SinterValue view,
                                            const SinterOperand *offsets, uint32_t offsetCount,
                                            SinterValue tile, const SinterLocation *where);

/* ---- tiles and scalars ---- */

/* `value` is a literal of type `element`, or a scalar when `element` is null; rank 0 asks for a
 * scalar. */
SINTER_KERNEL_EXPORT SinterValue sinterKernelFull(SinterKernelSession *, const char *element,
                                                  const SinterOperand *value, const int64_t *shape,
                                                  uint32_t rank, const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelIota(SinterKernelSession *, const char *element,
                                                  const int64_t *shape, uint32_t rank,
                                                  uint32_t axis, const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelElementwise(SinterKernelSession *, uint32_t op,
                                                         const SinterOperand *operands,
                                                         uint32_t count,
                                                         const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelConvert(SinterKernelSession *, SinterValue value,
                                                     const char *element, uint32_t isUnsigned,
                                                     const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelBitcast(SinterKernelSession *, SinterValue value,
                                                     const char *element,
                                                     const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelBroadcast(SinterKernelSession *, SinterValue tile,
                                                       const int64_t *shape, uint32_t rank,
                                                       const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelReshape(SinterKernelSession *, SinterValue tile,
                                                     const int64_t *shape, uint32_t rank,
                                                     const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelPermute(SinterKernelSession *, SinterValue tile,
                                                     const int64_t *order, uint32_t rank,
                                                     const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelSlice(SinterKernelSession *, SinterValue tile,
                                                   const int64_t *offsets, uint32_t offsetCount,
                                                   const int64_t *shape, uint32_t rank,
                                                   const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelConcat(SinterKernelSession *, const SinterValue *tiles,
                                                    uint32_t count, uint32_t axis,
                                                    const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelReduce(SinterKernelSession *, uint32_t kind,
                                                    SinterValue tile, uint32_t axis,
                                                    const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelDot(SinterKernelSession *, SinterValue a,
                                                 SinterValue b, SinterValue acc,
                                                 uint32_t transposeB, const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelQuantize(SinterKernelSession *, SinterValue tile,
                                                      const char *element,
                                                      const SinterLocation *where);
SINTER_KERNEL_EXPORT SinterValue sinterKernelDequantize(SinterKernelSession *, SinterValue tile,
                                                        const SinterLocation *where);

/* ---- control: what is made between Begin and End is the body ---- */

/* `carried` receives `count` values, `induction` one of type index. */
SINTER_KERNEL_EXPORT void sinterKernelForBegin(SinterKernelSession *, const SinterOperand bounds[3],
                                               const SinterValue *inits, uint32_t count,
                                               SinterValue *induction, SinterValue *carried,
                                               const SinterLocation *where);
/* `results` receives as many values as the loop carries, which `capacity` bounds. */
SINTER_KERNEL_EXPORT void sinterKernelForEnd(SinterKernelSession *, const SinterValue *yields,
                                             uint32_t count, SinterValue *results,
                                             uint32_t capacity, const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelWhileBegin(SinterKernelSession *, const SinterValue *inits,
                                                 uint32_t count, SinterValue *carried,
                                                 const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelWhileBody(SinterKernelSession *, SinterValue condition,
                                                SinterValue *carried, uint32_t capacity,
                                                const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelWhileEnd(SinterKernelSession *, const SinterValue *yields,
                                               uint32_t count, SinterValue *results,
                                               uint32_t capacity, const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelIfBegin(SinterKernelSession *, SinterValue condition,
                                              const SinterLocation *where);
SINTER_KERNEL_EXPORT void sinterKernelIfElse(SinterKernelSession *, const SinterValue *yields,
                                             uint32_t count, const SinterLocation *where);
/* `results` receives `count` values. */
SINTER_KERNEL_EXPORT void sinterKernelIfEnd(SinterKernelSession *, const SinterValue *yields,
                                            uint32_t count, SinterValue *results,
                                            const SinterLocation *where);

#ifdef __cplusplus
}
#endif

#endif
