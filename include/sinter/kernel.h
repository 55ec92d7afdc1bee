// The tile language embedded in C++: kernels written as programs on tiles, compiled by Sinter to
// any target.
//
//   SINTER_KERNELS(module) {
//     module.kernel("scale", [](KernelBuilder &k) {
//       View x = k.in("x", F32, {dyn, dyn}), out = k.out("out", F32, {dyn, dyn});
//       Scalar factor = k.scalar("factor", F32);
//       k.grid(ceilDiv(x.dim(1), 64), ceilDiv(x.dim(0), 8));
//       Scalar row = k.programId(1) * 8, column = k.programId(0) * 64;
//       store(out, {row, column}, load(x, {row, column}, {8, 64}) * factor);
//     });
//   }
//
// Values are handles: cheap to copy, valid while their kernel is being built. A mistake never
// aborts: it is recorded with the source line of the call, its result and all that is made from it
// stays silent, and the kernel is refused.
#pragma once

#include "sinter/kernel_abi.h"

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace sinter::kernel {

using Where = std::source_location;

inline SinterLocation location(const Where &where) {
  return {where.file_name(), where.line(), where.column()};
}

// An extent known only at launch.
inline constexpr int64_t dyn = SINTER_DYNAMIC;

// An element type by its name; names longer than 39 characters are cut and then unknown.
class Element {
public:
  constexpr Element(std::string_view name) { append(name); }
  // The block-scaled format of that name in the block format table, e.g. block("q4_1").
  static constexpr Element block(std::string_view format) {
    Element element("block<");
    element.append(format);
    element.append(">");
    return element;
  }
  constexpr const char *name() const { return name_; }
  constexpr bool isBlock() const { return std::string_view(name_).starts_with("block<"); }
  constexpr bool isFloat() const { return name_[0] == 'f' || std::string_view(name_) == "bf16"; }
  friend constexpr bool operator==(const Element &a, const Element &b) {
    return std::string_view(a.name_) == b.name_;
  }

private:
  constexpr void append(std::string_view text) {
    for (size_t i = 0; i < text.size() && size_ + 1 < sizeof name_; ++i)
      name_[size_++] = text[i];
  }
  char name_[40] = {};
  size_t size_ = 0;
};

inline constexpr Element F64{"f64"}, F32{"f32"}, F16{"f16"}, BF16{"bf16"}, F8E4M3{"f8e4m3"},
    F8E5M2{"f8e5m2"}, I1{"i1"}, I8{"i8"}, I16{"i16"}, I32{"i32"}, I64{"i64"}, Index{"index"};
constexpr Element block(std::string_view format) {
  return Element::block(format);
}

// A handle to a tile, scalar or view. Default-constructed it is empty, which is a mistake to use.
class Value {
public:
  Value() = default;
  Value(SinterKernelSession *session, SinterValue id) : session_(session), id_(id) {}
  SinterKernelSession *session() const { return session_; }
  // The id for a call on `session`: a value of another session is foreign there.
  SinterValue idIn(SinterKernelSession *session) const {
    return !session_ ? SINTER_VALUE_EMPTY : session_ == session ? id_ : SINTER_VALUE_FOREIGN;
  }

private:
  SinterKernelSession *session_ = nullptr;
  SinterValue id_ = SINTER_VALUE_EMPTY;
};

// A scalar of an element type; view extents, program ids and loop counters are scalars of Index.
class Scalar : public Value {
public:
  using Value::Value;
  Scalar(const Value &value) : Value(value) {}
};

// A dense array of static shape, one to six dimensions.
class Tile : public Value {
public:
  using Value::Value;
  Tile(const Value &value) : Value(value) {}
};

// Memory seen as an array; read with load and written with store.
class View : public Value {
public:
  using Value::Value;
  View(const Value &value) : Value(value) {}
  // The extent along `axis`, an Index.
  Scalar dim(uint32_t axis, const Where &where = Where::current()) const {
    SinterLocation at = location(where);
    return {session(), sinterKernelDim(session(), idIn(session()), axis, &at)};
  }
};

template <class T>
concept Handle = std::derived_from<T, Value>;
template <class T>
concept Numeric = std::same_as<T, Tile> || std::same_as<T, Scalar>;
template <class T>
concept Number = std::is_arithmetic_v<T>;

// ---- arguments of calls ----

// A value or a literal, which takes the element type of the values beside it. Implicit conversion
// notes the caller's line, since operators cannot take one more argument.
class Operand {
public:
  Operand(const Value &value, const Where &where = Where::current())
      : value_(value), raw_{SINTER_OPERAND_VALUE, 0, 0, 0}, where_(where) {}
  template <Number T>
  Operand(T number, const Where &where = Where::current())
      : raw_{std::floating_point<T> ? SINTER_OPERAND_REAL : SINTER_OPERAND_INTEGER, 0,
             std::floating_point<T> ? 0 : static_cast<int64_t>(number),
             static_cast<double>(number)},
        where_(where) {}
  static Operand none() {
    Operand operand(0);
    operand.raw_.kind = SINTER_OPERAND_NONE;
    return operand;
  }

  SinterKernelSession *session() const { return value_.session(); }
  const Where &where() const { return where_; }
  SinterOperand in(SinterKernelSession *session) const {
    SinterOperand raw = raw_;
    raw.value = value_.idIn(session);
    return raw;
  }

private:
  Value value_;
  SinterOperand raw_;
  Where where_;
};

// What an operator's side may be; these decide whether its result is a Tile or a Scalar.
struct TileOperand : Operand {
  TileOperand(const Tile &tile, const Where &where = Where::current()) : Operand(tile, where) {}
};
struct ScalarOperand : Operand {
  ScalarOperand(const Scalar &scalar, const Where &where = Where::current())
      : Operand(scalar, where) {}
};
struct NumberOperand : Operand {
  template <Number T>
  NumberOperand(T number, const Where &where = Where::current()) : Operand(number, where) {}
};
struct PlainOperand : Operand {
  PlainOperand(const Scalar &scalar, const Where &where = Where::current())
      : Operand(scalar, where) {}
  template <Number T>
  PlainOperand(T number, const Where &where = Where::current()) : Operand(number, where) {}
};
struct AnyOperand : Operand {
  AnyOperand(const Tile &tile, const Where &where = Where::current()) : Operand(tile, where) {}
  AnyOperand(const Scalar &scalar, const Where &where = Where::current())
      : Operand(scalar, where) {}
  template <Number T>
  AnyOperand(T number, const Where &where = Where::current()) : Operand(number, where) {}
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime" // a List lives as long as its call
#endif
// A list argument: written in braces, or a vector or span. Borrowed for the call.
template <class T> class List {
public:
  List(std::initializer_list<T> items) : data_(items.begin()), size_(items.size()) {}
  List(const std::vector<T> &items) : data_(items.data()), size_(items.size()) {}
  List(std::span<const T> items) : data_(items.data()), size_(items.size()) {}
  const T *data() const { return data_; }
  const T *begin() const { return data_; }
  const T *end() const { return data_ + size_; }
  uint32_t size() const { return static_cast<uint32_t>(size_); }

private:
  const T *data_;
  size_t size_;
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

inline std::vector<SinterOperand> rawOperands(SinterKernelSession *session,
                                              std::span<const Operand> operands) {
  std::vector<SinterOperand> raw;
  for (const Operand &operand : operands)
    raw.push_back(operand.in(session));
  return raw;
}

// ---- elementwise operations ----

// All of them broadcast scalars, literals and extents of 1; element types must agree but for
// literals.
inline Value elementwise(uint32_t op, std::initializer_list<Operand> operands, const Where &where) {
  SinterKernelSession *session = nullptr;
  for (const Operand &operand : operands)
    session = session ? session : operand.session();
  if (!session)
    return {};
  std::vector<SinterOperand> raw = rawOperands(session, {operands.begin(), operands.size()});
  SinterLocation at = location(where);
  return {session,
          sinterKernelElementwise(session, op, raw.data(), static_cast<uint32_t>(raw.size()), &at)};
}

#define SINTER_KERNEL_OPERATOR(symbol, op)                                                         \
  inline Tile operator symbol(const TileOperand &a, const AnyOperand &b) {                         \
    return elementwise(op, {a, b}, a.where());                                                     \
  }                                                                                                \
  inline Tile operator symbol(const PlainOperand &a, const TileOperand &b) {                       \
    return elementwise(op, {a, b}, a.where());                                                     \
  }                                                                                                \
  inline Scalar operator symbol(const ScalarOperand &a, const PlainOperand &b) {                   \
    return elementwise(op, {a, b}, a.where());                                                     \
  }                                                                                                \
  inline Scalar operator symbol(const NumberOperand &a, const ScalarOperand &b) {                  \
    return elementwise(op, {a, b}, a.where());                                                     \
  }
SINTER_KERNEL_OPERATOR(+, SINTER_OP_ADD)
SINTER_KERNEL_OPERATOR(-, SINTER_OP_SUB)
SINTER_KERNEL_OPERATOR(*, SINTER_OP_MUL)
SINTER_KERNEL_OPERATOR(/, SINTER_OP_DIV)
SINTER_KERNEL_OPERATOR(%, SINTER_OP_REM)
SINTER_KERNEL_OPERATOR(==, SINTER_OP_EQ)
SINTER_KERNEL_OPERATOR(!=, SINTER_OP_NE)
SINTER_KERNEL_OPERATOR(<, SINTER_OP_LT)
SINTER_KERNEL_OPERATOR(<=, SINTER_OP_LE)
SINTER_KERNEL_OPERATOR(>, SINTER_OP_GT)
SINTER_KERNEL_OPERATOR(>=, SINTER_OP_GE)
SINTER_KERNEL_OPERATOR(&, SINTER_OP_AND)
SINTER_KERNEL_OPERATOR(|, SINTER_OP_OR)
SINTER_KERNEL_OPERATOR(^, SINTER_OP_XOR)
SINTER_KERNEL_OPERATOR(<<, SINTER_OP_SHL)
SINTER_KERNEL_OPERATOR(>>, SINTER_OP_SHR)
#undef SINTER_KERNEL_OPERATOR

#define SINTER_KERNEL_ASSIGN(symbol, op)                                                           \
  inline Tile &operator symbol(Tile &a, const AnyOperand &b) {                                     \
    return a = elementwise(op, {Operand(a, b.where()), b}, b.where());                             \
  }                                                                                                \
  inline Scalar &operator symbol(Scalar &a, const PlainOperand &b) {                               \
    return a = elementwise(op, {Operand(a, b.where()), b}, b.where());                             \
  }
SINTER_KERNEL_ASSIGN(+=, SINTER_OP_ADD)
SINTER_KERNEL_ASSIGN(-=, SINTER_OP_SUB)
SINTER_KERNEL_ASSIGN(*=, SINTER_OP_MUL)
SINTER_KERNEL_ASSIGN(/=, SINTER_OP_DIV)
#undef SINTER_KERNEL_ASSIGN

inline Tile operator-(const TileOperand &a) {
  return elementwise(SINTER_OP_NEG, {a}, a.where());
}
inline Scalar operator-(const ScalarOperand &a) {
  return elementwise(SINTER_OP_NEG, {a}, a.where());
}
inline Tile operator~(const TileOperand &a) {
  return elementwise(SINTER_OP_NOT, {a}, a.where());
}
inline Scalar operator~(const ScalarOperand &a) {
  return elementwise(SINTER_OP_NOT, {a}, a.where());
}

#define SINTER_KERNEL_UNARY(name, op)                                                              \
  template <Numeric T> T name(const T &a, const Where &where = Where::current()) {                 \
    return elementwise(op, {a}, where);                                                            \
  }
SINTER_KERNEL_UNARY(abs, SINTER_OP_ABS)
SINTER_KERNEL_UNARY(exp, SINTER_OP_EXP)
SINTER_KERNEL_UNARY(exp2, SINTER_OP_EXP2)
SINTER_KERNEL_UNARY(log, SINTER_OP_LOG)
SINTER_KERNEL_UNARY(log2, SINTER_OP_LOG2)
SINTER_KERNEL_UNARY(sqrt, SINTER_OP_SQRT)
SINTER_KERNEL_UNARY(rsqrt, SINTER_OP_RSQRT)
SINTER_KERNEL_UNARY(sin, SINTER_OP_SIN)
SINTER_KERNEL_UNARY(cos, SINTER_OP_COS)
SINTER_KERNEL_UNARY(tanh, SINTER_OP_TANH)
SINTER_KERNEL_UNARY(erf, SINTER_OP_ERF)
SINTER_KERNEL_UNARY(floor, SINTER_OP_FLOOR)
SINTER_KERNEL_UNARY(ceil, SINTER_OP_CEIL)
SINTER_KERNEL_UNARY(roundEven, SINTER_OP_ROUND_EVEN)
SINTER_KERNEL_UNARY(logicalNot, SINTER_OP_LOGICAL_NOT)
#undef SINTER_KERNEL_UNARY

// Tile where any of the arguments is one, else Scalar; at least one must be a handle.
template <class... T>
  requires((Numeric<T> || Number<T>) && ...) && (Numeric<T> || ...)
using ResultOf = std::conditional_t<(std::same_as<T, Tile> || ...), Tile, Scalar>;

#define SINTER_KERNEL_BINARY(name, op)                                                             \
  template <class A, class B>                                                                      \
  ResultOf<A, B> name(const A &a, const B &b, const Where &where = Where::current()) {             \
    return elementwise(op, {a, b}, where);                                                         \
  }
SINTER_KERNEL_BINARY(max, SINTER_OP_MAX) // NaN where either is
SINTER_KERNEL_BINARY(min, SINTER_OP_MIN)
SINTER_KERNEL_BINARY(pow, SINTER_OP_POW)
SINTER_KERNEL_BINARY(ceilDiv, SINTER_OP_CEIL_DIV) // integers, rounded up
SINTER_KERNEL_BINARY(floorDiv, SINTER_OP_FLOOR_DIV)
SINTER_KERNEL_BINARY(logicalAnd, SINTER_OP_LOGICAL_AND)
SINTER_KERNEL_BINARY(logicalOr, SINTER_OP_LOGICAL_OR)
SINTER_KERNEL_BINARY(shiftRightLogical, SINTER_OP_SHR_LOGICAL) // >> keeps the sign
#undef SINTER_KERNEL_BINARY

// a * b + c, rounded once.
template <class A, class B, class C>
ResultOf<A, B, C> fma(const A &a, const B &b, const C &c, const Where &where = Where::current()) {
  return elementwise(SINTER_OP_FMA, {a, b, c}, where);
}

// `a` where the i1 `condition` holds, else `b`; of `a` and `b` at most one is a literal.
template <Numeric C, class A, class B>
ResultOf<C, A, B> select(const C &condition, const A &a, const B &b,
                         const Where &where = Where::current()) {
  return elementwise(SINTER_OP_SELECT, {condition, a, b}, where);
}

enum class Sign : uint32_t { Signed, Unsigned };

// The same values in another element type: floats round to nearest even, float to integer
// truncates, wider integers extend by `sign`, i1 is 0 or 1.
template <Numeric T>
T convert(const T &value, Element to, Sign sign = Sign::Signed,
          const Where &where = Where::current()) {
  SinterLocation at = location(where);
  SinterKernelSession *session = value.session();
  if (!session)
    return value;
  return Value(session, sinterKernelConvert(session, value.idIn(session), to.name(),
                                            sign == Sign::Unsigned, &at));
}

// The same bits as another element type of the same width.
template <Numeric T> T bitcast(const T &value, Element to, const Where &where = Where::current()) {
  SinterLocation at = location(where);
  SinterKernelSession *session = value.session();
  if (!session)
    return value;
  return Value(session, sinterKernelBitcast(session, value.idIn(session), to.name(), &at));
}

} // namespace sinter::kernel

#include "sinter/kernel_builder.h"
