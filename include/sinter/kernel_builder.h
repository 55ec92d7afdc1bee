// The second half of sinter/kernel.h: memory, tile operations, control and the kernel itself.
// Include sinter/kernel.h.
#pragma once

#include "sinter/kernel.h"

namespace sinter::kernel {

// ---- memory ----

// The tile of `shape` at element `offsets` of `view`. Elements outside the view are `pad`, a
// literal (zero if none).
inline Tile load(const View &view, List<Operand> offsets, List<int64_t> shape,
                 const Operand &pad = Operand::none(), const Where &where = Where::current()) {
  SinterKernelSession *session = view.session();
  if (!session)
    return {};
  std::vector<SinterOperand> raw = rawOperands(session, {offsets.begin(), offsets.size()});
  SinterOperand padding = pad.in(session);
  SinterLocation at = location(where);
  return Value(session, sinterKernelLoad(session, view.idIn(session), raw.data(), offsets.size(),
                                         shape.data(), shape.size(), &padding, &at));
}

// One element; outside the view, zero.
inline Scalar loadScalar(const View &view, List<Operand> offsets,
                         const Where &where = Where::current()) {
  SinterKernelSession *session = view.session();
  if (!session)
    return {};
  std::vector<SinterOperand> raw = rawOperands(session, {offsets.begin(), offsets.size()});
  SinterLocation at = location(where);
  return Value(session, sinterKernelLoadScalar(session, view.idIn(session), raw.data(),
                                               offsets.size(), &at));
}

// Writes `tile` at element `offsets`; elements outside the view are dropped.
inline void store(const View &view, List<Operand> offsets, const Tile &tile,
                  const Where &where = Where::current()) {
  SinterKernelSession *session = view.session() ? view.session() : tile.session();
  if (!session)
    return;
  std::vector<SinterOperand> raw = rawOperands(session, {offsets.begin(), offsets.size()});
  SinterLocation at = location(where);
  sinterKernelStore(session, view.idIn(session), raw.data(), offsets.size(), tile.idIn(session),
                    &at);
}

// The rectangle of `extents` at `origins`, clipped to the view: what is outside it is padding.
inline View window(const View &view, List<Operand> origins, List<Operand> extents,
                   const Where &where = Where::current()) {
  SinterKernelSession *session = view.session();
  if (!session)
    return {};
  std::vector<SinterOperand> from = rawOperands(session, {origins.begin(), origins.size()});
  std::vector<SinterOperand> size = rawOperands(session, {extents.begin(), extents.size()});
  SinterLocation at = location(where);
  return Value(session, sinterKernelWindow(session, view.idIn(session), from.data(), origins.size(),
                                           size.data(), extents.size(), &at));
}

inline View gather(const View &pages, const View &index, bool byRow, const Where &where) {
  SinterKernelSession *session = pages.session();
  if (!session)
    return {};
  SinterLocation at = location(where);
  return Value(session,
               sinterKernelGather(session, pages.idIn(session), index.idIn(session), byRow, &at));
}

// Rows page by page: `pages` is [P, R, ...] with R static, `index` holds page numbers (one
// dimension of I32). Row r of the result [n * R, ...] is row r mod R of page index[r / R]; a page
// outside reads as padding and drops stores.
inline View gather(const View &pages, const View &index, const Where &where = Where::current()) {
  return gather(pages, index, false, where);
}

// Rows one by one: `index` holds row numbers. Row r of the result [n, ...] is row index[r] mod R of
// page index[r] / R.
inline View gatherRows(const View &pages, const View &index,
                       const Where &where = Where::current()) {
  return gather(pages, index, true, where);
}

// ---- tiles ----

// A tile of copies of one scalar.
inline Tile splat(const Scalar &value, List<int64_t> shape, const Where &where = Where::current()) {
  SinterKernelSession *session = value.session();
  if (!session)
    return {};
  SinterLocation at = location(where);
  SinterOperand raw = Operand(value).in(session);
  return Value(session, sinterKernelFull(session, nullptr, &raw, shape.data(), shape.size(), &at));
}

#define SINTER_KERNEL_TILE_CALL(call, ...)                                                         \
  SinterKernelSession *session = tile.session();                                                   \
  if (!session)                                                                                    \
    return {};                                                                                     \
  SinterLocation at = location(where);                                                             \
  return Value(session, call(session, tile.idIn(session) __VA_OPT__(, ) __VA_ARGS__, &at))

// Repeats extents of 1 up to `shape`.
inline Tile broadcast(const Tile &tile, List<int64_t> shape,
                      const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelBroadcast, shape.data(), shape.size());
}

// The same elements in row-major order under another shape.
inline Tile reshape(const Tile &tile, List<int64_t> shape, const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelReshape, shape.data(), shape.size());
}

// Axis i of the result is axis order[i] of the tile.
inline Tile permute(const Tile &tile, List<int64_t> order, const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelPermute, order.data(), order.size());
}

// The rectangle of `shape` at static `offsets`.
inline Tile slice(const Tile &tile, List<int64_t> offsets, List<int64_t> shape,
                  const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelSlice, offsets.data(), offsets.size(), shape.data(),
                          shape.size());
}

// Rounds an f32 tile to a block format, group by group along its last axis.
inline Tile quantize(const Tile &tile, Element format, const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelQuantize, format.name());
}

// The f32 values of a block-format tile.
inline Tile dequantize(const Tile &tile, const Where &where = Where::current()) {
  SINTER_KERNEL_TILE_CALL(sinterKernelDequantize);
}
#undef SINTER_KERNEL_TILE_CALL

// Tiles one after another along `axis`.
inline Tile concat(List<Tile> tiles, uint32_t axis, const Where &where = Where::current()) {
  SinterKernelSession *session = nullptr;
  for (const Tile &tile : tiles)
    session = session ? session : tile.session();
  if (!session)
    return {};
  std::vector<SinterValue> raw;
  for (const Tile &tile : tiles)
    raw.push_back(tile.idIn(session));
  SinterLocation at = location(where);
  return Value(session, sinterKernelConcat(session, raw.data(), tiles.size(), axis, &at));
}

inline Tile reduce(uint32_t kind, const Tile &tile, uint32_t axis, const Where &where) {
  SinterKernelSession *session = tile.session();
  if (!session)
    return {};
  SinterLocation at = location(where);
  return Value(session, sinterKernelReduce(session, kind, tile.idIn(session), axis, &at));
}

// Combine the elements along `axis`, which stays with extent 1.
inline Tile reduceSum(const Tile &tile, uint32_t axis, const Where &where = Where::current()) {
  return reduce(SINTER_REDUCE_SUM, tile, axis, where);
}
inline Tile reduceMax(const Tile &tile, uint32_t axis, const Where &where = Where::current()) {
  return reduce(SINTER_REDUCE_MAX, tile, axis, where);
}
// The largest number where it does not matter whether NaN, which may be left out, was among the
// elements, nor which zero is larger: less work on some processors. A softmax asks for no more,
// since its exponentials keep NaN.
inline Tile reduceMaxAnyNan(const Tile &tile, uint32_t axis,
                            const Where &where = Where::current()) {
  return reduce(SINTER_REDUCE_MAX_ANY_NAN, tile, axis, where);
}
inline Tile reduceMin(const Tile &tile, uint32_t axis, const Where &where = Where::current()) {
  return reduce(SINTER_REDUCE_MIN, tile, axis, where);
}

// acc + a . b for a [M, K], b [K, N] ([N, K] with `transposeB`), acc [M, N] of F32 (I32 for I8
// operands).
inline Tile dot(const Tile &a, const Tile &b, const Tile &acc, bool transposeB = false,
                const Where &where = Where::current()) {
  SinterKernelSession *session = a.session();
  if (!session)
    return {};
  SinterLocation at = location(where);
  return Value(session, sinterKernelDot(session, a.idIn(session), b.idIn(session),
                                        acc.idIn(session), transposeB, &at));
}

// ---- kernels ----

struct ViewOptions {
  int64_t interleave = 0; // rows packed side by side; 0 is plain row order
  bool strided = false;   // the innermost stride is not 1 but given at launch
  bool constant = false;  // an in-view whose contents no launch changes, such as weights
};

// What a kernel's function builds with. All of it must happen inside the function it is given to.
class KernelBuilder {
public:
  explicit KernelBuilder(SinterKernelSession *session) : session_(session) {}

  // Arguments, in the order of these calls. In-views never alias out-views; an element of an inout
  // view belongs to one program.
  View in(std::string_view name, Element element, List<int64_t> shape, ViewOptions options = {},
          const Where &where = Where::current()) {
    return view(name, element, SINTER_ACCESS_IN, shape, options, where);
  }
  View out(std::string_view name, Element element, List<int64_t> shape, ViewOptions options = {},
           const Where &where = Where::current()) {
    return view(name, element, SINTER_ACCESS_OUT, shape, options, where);
  }
  View inout(std::string_view name, Element element, List<int64_t> shape, ViewOptions options = {},
             const Where &where = Where::current()) {
    return view(name, element, SINTER_ACCESS_INOUT, shape, options, where);
  }
  Scalar scalar(std::string_view name, Element element, const Where &where = Where::current()) {
    SinterLocation at = location(where);
    return wrap(sinterKernelScalar(session_, std::string(name).c_str(), element.name(), &at));
  }

  // The number of programs, once per kernel, from literals, extents of arguments and scalar
  // arguments.
  void grid(const Operand &x, const Operand &y = 1, const Operand &z = 1,
            const Where &where = Where::current()) {
    SinterOperand extents[3] = {x.in(session_), y.in(session_), z.in(session_)};
    SinterLocation at = location(where);
    sinterKernelGrid(session_, extents, &at);
  }
  // This program's place along axis 0, 1 or 2 of the grid.
  Scalar programId(uint32_t axis, const Where &where = Where::current()) {
    SinterLocation at = location(where);
    return wrap(sinterKernelProgramId(session_, axis, &at));
  }

  Scalar constant(Element element, const NumberOperand &number,
                  const Where &where = Where::current()) {
    return fill(element, number, {}, where);
  }
  Tile full(Element element, List<int64_t> shape, const NumberOperand &number,
            const Where &where = Where::current()) {
    return fill(element, number, shape, where);
  }
  Tile zeros(Element element, List<int64_t> shape, const Where &where = Where::current()) {
    return fill(element, NumberOperand(0), shape, where);
  }
  // Each element is its index along `axis`.
  Tile iota(List<int64_t> shape, uint32_t axis, Element element = I32,
            const Where &where = Where::current()) {
    SinterLocation at = location(where);
    return wrap(sinterKernelIota(session_, element.name(), shape.data(), shape.size(), axis, &at));
  }

  // for (i = low; i < high; i += step): body(i, carried) returns the values carried into the next
  // round.
  template <std::invocable<Scalar, std::span<Value>> Body>
  std::vector<Value> forLoop(const Operand &low, const Operand &high, const Operand &step,
                             List<Value> carried, Body body,
                             const Where &where = Where::current()) {
    std::vector<SinterValue> ids = raw(carried);
    std::vector<Value> inner = beginFor(low, high, step, ids, where);
    std::vector<Value> yields = body(Scalar(inner.back()), std::span(inner).first(ids.size()));
    return endFor(yields, ids.size(), where);
  }
  // The same with the carried values' own types: body(i, T...) returns a tuple of them.
  template <class... T, std::invocable<Scalar, T...> Body>
  std::tuple<T...> forLoop(const Operand &low, const Operand &high, const Operand &step,
                           std::tuple<T...> carried, Body body,
                           const Where &where = Where::current()) {
    std::vector<SinterValue> ids = raw(pack(carried));
    std::vector<Value> inner = beginFor(low, high, step, ids, where);
    std::tuple<T...> yields = callTyped<std::tuple<T...>, T...>(
        [&](const T &...value) { return body(Scalar(inner.back()), value...); }, inner);
    return unpack<T...>(endFor(pack(yields), ids.size(), where));
  }
  // The same with one carried value.
  template <Handle T, std::invocable<Scalar, T> Body>
  T forLoop(const Operand &low, const Operand &high, const Operand &step, const T &carried,
            Body body, const Where &where = Where::current()) {
    std::vector<SinterValue> ids = {carried.idIn(session_)};
    std::vector<Value> inner = beginFor(low, high, step, ids, where);
    T yield = body(Scalar(inner[1]), T(inner[0]));
    return T(endFor({yield}, 1, where)[0]);
  }
  // The same with nothing carried.
  template <std::invocable<Scalar> Body>
  void forLoop(const Operand &low, const Operand &high, const Operand &step, Body body,
               const Where &where = Where::current()) {
    std::vector<Value> inner = beginFor(low, high, step, {}, where);
    body(Scalar(inner[0]));
    endFor({}, 0, where);
  }

  // while (condition(carried...)) carried = body(carried...): `condition` returns an I1 scalar.
  template <class... T, std::invocable<T...> Condition, std::invocable<T...> Body>
  std::tuple<T...> whileLoop(std::tuple<T...> carried, Condition condition, Body body,
                             const Where &where = Where::current()) {
    SinterLocation at = location(where);
    std::vector<SinterValue> ids = raw(pack(carried)), inner(ids.size());
    uint32_t count = static_cast<uint32_t>(ids.size());
    sinterKernelWhileBegin(session_, ids.data(), count, inner.data(), &at);
    Scalar holds = callTyped<Scalar, T...>(condition, wrap(inner));
    sinterKernelWhileBody(session_, holds.idIn(session_), inner.data(), count, &at);
    std::vector<SinterValue> yields =
        raw(pack(callTyped<std::tuple<T...>, T...>(body, wrap(inner))));
    sinterKernelWhileEnd(session_, yields.data(), count, inner.data(), count, &at);
    return unpack<T...>(wrap(inner));
  }

  // Both sides return void, a handle or a tuple of handles, of the same types. `condition` is an I1
  // scalar.
  template <std::invocable<> Then, std::invocable<> Else>
  auto ifElse(const Scalar &condition, Then thenBody, Else elseBody,
              const Where &where = Where::current()) {
    using R = std::invoke_result_t<Then>;
    SinterLocation at = location(where);
    sinterKernelIfBegin(session_, condition.idIn(session_), &at);
    std::vector<SinterValue> yields = raw(packResult(thenBody));
    sinterKernelIfElse(session_, yields.data(), static_cast<uint32_t>(yields.size()), &at);
    yields = raw(packResult(elseBody));
    std::vector<SinterValue> results(yields.size());
    sinterKernelIfEnd(session_, yields.data(), static_cast<uint32_t>(yields.size()), results.data(),
                      &at);
    return unpackResult(static_cast<R *>(nullptr), wrap(results));
  }
  template <std::invocable<> Then>
  void ifThen(const Scalar &condition, Then thenBody, const Where &where = Where::current()) {
    ifElse(condition, thenBody, [] {}, where);
  }

  SinterKernelSession *session() const { return session_; }

private:
  Value wrap(SinterValue id) const { return {session_, id}; }
  std::vector<Value> wrap(const std::vector<SinterValue> &ids) const {
    std::vector<Value> values;
    for (SinterValue id : ids)
      values.push_back(wrap(id));
    return values;
  }
  std::vector<SinterValue> raw(List<Value> values) const {
    std::vector<SinterValue> ids;
    for (const Value &value : values)
      ids.push_back(value.idIn(session_));
    return ids;
  }
  template <class... T> static std::vector<Value> pack(const std::tuple<T...> &values) {
    return std::apply([](const T &...value) { return std::vector<Value>{value...}; }, values);
  }
  template <class... T> static std::tuple<T...> unpack(const std::vector<Value> &values) {
    size_t next = 0;
    return std::tuple<T...>{T(values[next++])...};
  }
  template <class R, class... T, class F>
  static R callTyped(F f, const std::vector<Value> &values) {
    return [&]<size_t... I>(std::index_sequence<I...>) -> R {
      return f(T(values[I])...);
    }(std::index_sequence_for<T...>{});
  }
  template <class F> static std::vector<Value> packResult(F f) {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      f();
      return {};
    } else if constexpr (Handle<std::invoke_result_t<F>>) {
      return {f()};
    } else {
      return pack(f());
    }
  }
  static void unpackResult(void *, const std::vector<Value> &) {}
  template <Handle T> static T unpackResult(T *, const std::vector<Value> &values) {
    return values.empty() ? T() : T(values[0]);
  }
  template <class... T>
  static std::tuple<T...> unpackResult(std::tuple<T...> *, std::vector<Value> values) {
    values.resize(sizeof...(T));
    return unpack<T...>(values);
  }

  View view(std::string_view name, Element element, uint32_t access, List<int64_t> shape,
            ViewOptions options, const Where &where) {
    SinterLocation at = location(where);
    return wrap(sinterKernelView(session_, std::string(name).c_str(), element.name(), access,
                                 shape.data(), shape.size(), options.interleave,
                                 (options.strided ? SINTER_VIEW_STRIDED : 0u) |
                                     (options.constant ? SINTER_VIEW_CONSTANT : 0u),
                                 &at));
  }
  Value fill(Element element, const NumberOperand &number, List<int64_t> shape,
             const Where &where) {
    SinterLocation at = location(where);
    SinterOperand literal = number.in(session_);
    return wrap(
        sinterKernelFull(session_, element.name(), &literal, shape.data(), shape.size(), &at));
  }
  // The carried values of the body, then the counter.
  std::vector<Value> beginFor(const Operand &low, const Operand &high, const Operand &step,
                              const std::vector<SinterValue> &carried, const Where &where) {
    SinterOperand bounds[3] = {low.in(session_), high.in(session_), step.in(session_)};
    SinterLocation at = location(where);
    std::vector<SinterValue> inner(carried.size() + 1);
    sinterKernelForBegin(session_, bounds, carried.data(), static_cast<uint32_t>(carried.size()),
                         &inner.back(), inner.data(), &at);
    return wrap(inner);
  }
  std::vector<Value> endFor(const std::vector<Value> &yields, size_t count, const Where &where) {
    SinterLocation at = location(where);
    std::vector<SinterValue> ids = raw(yields), results(count);
    sinterKernelForEnd(session_, ids.data(), static_cast<uint32_t>(ids.size()), results.data(),
                       static_cast<uint32_t>(count), &at);
    return wrap(results);
  }

  SinterKernelSession *session_;
};

// Where kernels are defined; handed to a kernel source by the compiler.
class Module {
public:
  explicit Module(SinterKernelSession *session) : session_(session) {}

  // Defines one kernel: `build` runs once, now.
  template <std::invocable<KernelBuilder &> Build>
  void kernel(std::string_view name, Build build, const Where &where = Where::current()) {
    SinterLocation at = location(where);
    sinterKernelBegin(session_, std::string(name).c_str(), &at);
    KernelBuilder builder(session_);
    build(builder);
    sinterKernelEnd(session_, &at);
  }

  SinterKernelSession *session() const { return session_; }

private:
  SinterKernelSession *session_;
};

} // namespace sinter::kernel

// Opens a kernel source that is built into a shared object: SINTER_KERNELS(module) {
// module.kernel(...); ... }
#define SINTER_KERNELS(module)                                                                     \
  static void sinterDefineKernels(::sinter::kernel::Module &module);                               \
  extern "C" SINTER_KERNEL_EXPORT uint32_t sinterKernelsAbiVersion() {                             \
    return SINTER_KERNEL_ABI_VERSION;                                                              \
  }                                                                                                \
  extern "C" SINTER_KERNEL_EXPORT void sinterKernels(SinterKernelSession *session) {               \
    ::sinter::kernel::Module sinterModule(session);                                                \
    sinterDefineKernels(sinterModule);                                                             \
  }                                                                                                \
  static void sinterDefineKernels(::sinter::kernel::Module &module)
