// Runs a kernel over its grid: arguments against their types, the grid from them, then each
// program.
#include "tile/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "numeric/formats/word_packing.h"
#include "tile/interpreter/engine.h"

#include "llvm/ADT/ScopeExit.h"

#include <cstring>

using namespace mlir;

namespace sinter::tile {

HostView HostView::contiguous(void *data, ArrayRef<int64_t> shape) {
  HostView view{static_cast<std::byte *>(data), SmallVector<int64_t>(shape), {}};
  int64_t stride = 1;
  view.strides.resize(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
    view.strides[axis] = stride;
  return view;
}

Argument indexArgument(int64_t value) {
  return llvm::APInt(64, static_cast<uint64_t>(value), /*isSigned=*/true);
}

Argument f32Argument(float value) {
  return llvm::APFloat(value);
}

namespace {

// Binds the arguments of one kernel to its types; messages name the argument.
class ArgumentBinder {
public:
  ArgumentBinder(KernelOp kernel, Task &task) : kernel_(kernel), task_(task) {}

  Result<void> bindAll(ArrayRef<Argument> arguments) {
    ArrayRef<Type> types = kernel_.getArgumentTypes();
    if (arguments.size() != types.size())
      return task_.fail(*kernel_, Code::InvalidArgument,
                        "takes " + Twine(types.size()) + " arguments, found " +
                            Twine(arguments.size()));
    for (at_ = 0; at_ < types.size(); ++at_) {
      SINTER_ASSIGN(RuntimeValue value, convert(types[at_], arguments[at_]));
      task_.bind(kernel_.getBody().getArgument(at_), std::move(value));
    }
    return {};
  }

private:
  Fail wrong(const Twine &found, const Twine &expected, Code code = Code::InvalidArgument) {
    return task_.fail(*kernel_, code,
                      "argument " + Twine(at_) + " " + found + ", expected " + expected);
  }

  Result<RuntimeValue> convert(Type type, const Argument &argument) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    auto view = dyn_cast<ViewType>(type);
    std::optional<Element> element = elementOf(view ? view.getElementType() : type);
    if (!element)
      return wrong("is " + text, "a type that the interpreter holds", Code::Unsupported);
    if (view) {
      auto *host = std::get_if<HostView>(&argument);
      if (!host)
        return wrong("is a scalar", "memory for " + text);
      return convertView(view, *element, *host);
    }
    return convertScalar(text, *element, type, argument);
  }

  Result<RuntimeValue> convertScalar(StringRef text, Element element, Type type,
                                     const Argument &argument) {
    Tile tile(element, {}, nullptr);
    if (auto *integer = std::get_if<llvm::APInt>(&argument)) {
      if (!element.isInt() || integer->getBitWidth() != element.bits)
        return wrong("is an integer of " + Twine(integer->getBitWidth()) + " bits", text);
      writeInts(tile, 0, integer->getZExtValue());
      return tile;
    }
    auto *real = std::get_if<llvm::APFloat>(&argument);
    if (!real)
      return wrong("is memory", text);
    auto floatType = dyn_cast<FloatType>(type);
    if (!floatType || &real->getSemantics() != &floatType.getFloatSemantics())
      return wrong("is a float of another type", text);
    uint64_t bits = real->bitcastToAPInt().getZExtValue();
    std::memcpy(tile.data(), &bits, element.bytes);
    return tile;
  }

  Result<RuntimeValue> convertView(ViewType type, Element element, const HostView &host) {
    size_t rank = type.getShape().size();
    if (host.shape.size() != rank || host.strides.size() != rank)
      return wrong("has " + Twine(host.shape.size()) + " extents and " +
                       Twine(host.strides.size()) + " strides",
                   Twine(rank) + " of each");
    auto view = std::make_shared<View>();
    view->data = host.data;
    view->element = element;
    view->interleave = type.getInterleave();
    if (view->interleave)
      SINTER_TRY(checkInterleave(*view));
    int64_t factor = std::max<int64_t>(view->interleave, 1);
    CheckedSize last(0);
    bool empty = false;
    for (size_t axis = 0; axis < rank; ++axis) {
      SINTER_TRY(checkAxis(type, host, axis));
      SINTER_TRY(checkBlocks(element, host, axis));
      empty |= host.shape[axis] == 0;
      CheckedSize stride = CheckedSize(host.strides[axis]) * CheckedSize(factor);
      last = last + CheckedSize(std::max<int64_t>(host.shape[axis], 1) - 1) * stride;
      if (stride.valid())
        view->axes.push_back({0, host.shape[axis], static_cast<int64_t>(*stride.value())});
    }
    CheckedSize end = (last + CheckedSize(factor)) * CheckedSize(element.bytes);
    if (!end.valid() || *end.value() > INT64_MAX)
      return wrong("ends beyond the address space", "smaller strides");
    if (!host.data && !empty)
      return wrong("has no memory", "some for a view that is not empty");
    if (task_.engine().options.findRaces && type.isWritable() && !empty)
      SINTER_TRY(keepLog(type, *(last + CheckedSize(1)).value(), *view));
    return RuntimeValue(std::shared_ptr<const View>(std::move(view)));
  }

  // `elements` of memory lie behind the view.
  Result<void> keepLog(ViewType type, uint64_t elements, View &view) {
    auto name = kernel_.getArgAttrOfType<StringAttr>(static_cast<unsigned>(at_), "tile.name");
    Engine &engine = task_.engine();
    engine.logs.push_back(std::make_unique<AccessLog>(
        name ? name.str() : "argument " + std::to_string(at_),
        llvm::divideCeil(elements, view.element.length), type.isReadable(), engine.program));
    view.log = engine.logs.back().get();
    if (!view.log->whole())
      return wrong("has " + Twine(elements) + " elements, whose programs cannot be kept in memory",
                   "fewer", Code::Exhausted);
    return {};
  }

  Result<void> checkAxis(ViewType type, const HostView &host, size_t axis) {
    int64_t extent = host.shape[axis], stride = host.strides[axis];
    int64_t typed = type.getShape()[axis];
    if (ShapedType::isStatic(typed) && extent != typed)
      return wrong("has extent " + Twine(extent) + " on axis " + Twine(axis), Twine(typed));
    if (extent < 0)
      return wrong("has extent " + Twine(extent) + " on axis " + Twine(axis), "0 or more");
    if (stride < 0)
      return wrong("has stride " + Twine(stride) + " on axis " + Twine(axis), "0 or more");
    if (axis + 1 == host.shape.size() && !type.getStrided() && stride != 1)
      return wrong("has stride " + Twine(stride) + " on its last axis",
                   "1 for a view that is not strided");
    const auto at = static_cast<int64_t>(axis);
    if (std::optional<int64_t> given = givenStride(kernel_.getBody().getArgument(at_), at)) {
      if (stride != *given)
        return wrong("has stride " + Twine(stride) + " on axis " + Twine(axis), Twine(*given));
      return {};
    }
    std::optional<int64_t> dense = type.denseStride(at);
    if (dense && extent > 1 && stride != *dense)
      return wrong("has stride " + Twine(stride) + " on axis " + Twine(axis),
                   Twine(*dense) + ": blocks of static inner extents have no gaps");
    return {};
  }

  Result<void> checkBlocks(Element element, const HostView &host, size_t axis) {
    bool last = axis + 1 == host.shape.size();
    int64_t found = last ? host.shape[axis] : host.strides[axis];
    if (found % element.length != 0)
      return wrong("has " + Twine(last ? "extent " : "stride ") + Twine(found) + " on axis " +
                       Twine(axis),
                   "whole blocks of " + Twine(element.length) + " elements");
    if (last && element.length > 1 && host.strides[axis] != 1)
      return wrong("has stride " + Twine(host.strides[axis]) + " on its last axis",
                   "1 for a block format");
    return {};
  }

  Result<void> checkInterleave(const View &view) {
    if (!view.element.isBlock())
      return {};
    if ((view.interleave != kInterleavedRows && view.interleave != kWordRows) ||
        !view.element.format)
      return wrong("is interleaved by " + Twine(view.interleave) + " rows",
                   Twine(kInterleavedRows) + " or " + Twine(kWordRows) +
                       " for a block format of weights",
                   Code::Unsupported);
    const auto fields = packedFields(*view.element.format, static_cast<uint32_t>(view.interleave));
    if (!fields)
      return wrong("is interleaved: " + fields.error().message, "a format that has a packing",
                   Code::Unsupported);
    return {};
  }

  KernelOp kernel_;
  Task &task_;
  size_t at_ = 0;
};

} // namespace

// Evaluates what tile.grid depends on; its verifier keeps that to plain operations of the body.
static Result<std::array<int64_t, 3>> evaluateGrid(KernelOp kernel, Task &task) {
  GridOp grid = kernel.getGrid();
  llvm::SetVector<Operation *> needed;
  needed.insert(grid);
  for (size_t at = 0; at < needed.size(); ++at)
    for (mlir::Value operand : needed[at]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        needed.insert(op);
  for (Operation &op : kernel.getBody().front())
    if (&op != grid && needed.contains(&op))
      SINTER_TRY(task.execute(op));
  std::array<int64_t, 3> extents;
  for (int axis = 0; axis < 3; ++axis) {
    extents[axis] = std::get<Tile>(task.lookup(grid->getOperand(axis))).signedAt(0);
    if (extents[axis] < 0)
      return task.fail(*grid, Code::InvalidArgument,
                       "has " + Twine(extents[axis]) + " programs along axis " + Twine(axis) +
                           ", expected 0 or more");
  }
  return extents;
}

static Result<void> runProgram(KernelOp kernel, Engine &engine, const Task &arguments) {
  Task task(engine, &arguments, "");
  task.enter(kernel.getBody().front());
  if (engine.extension)
    engine.extension->beginProgram();
  SINTER_ASSIGN(Task::State state, task.run());
  if (state == Task::State::Waiting)
    return task.fail(*task.waitingAt(), Code::InvalidArgument,
                     "waits, but no other role could end the wait");
  if (engine.extension)
    SINTER_TRY(engine.extension->endProgram());
  ++engine.statistics.programs;
  return {};
}

Result<RunStatistics> interpretKernelWith(KernelOp kernel, ArrayRef<Argument> arguments,
                                          const InterpreterOptions &options, Extension *extension,
                                          ReduceOrder order) {
  SINTER_TRY(collectDiagnostics(kernel.getContext(), [&] { return mlir::verify(kernel); }));
  if (extension)
    SINTER_TRY(extension->checkKernel(kernel));
  Engine engine(options, extension, order);
  auto letGo = llvm::make_scope_exit([&] {
    if (extension)
      extension->endRun();
  });
  Task shared(engine, nullptr, "");
  SINTER_TRY(ArgumentBinder(kernel, shared).bindAll(arguments));
  SINTER_ASSIGN(auto grid, evaluateGrid(kernel, shared));
  if (llvm::is_contained(grid, 0))
    return engine.statistics;
  engine.inGrid = true;
  engine.grid = grid;
  auto &[x, y, z] = engine.programId;
  for (z = 0; z < grid[2]; ++z)
    for (y = 0; y < grid[1]; ++y)
      for (x = 0; x < grid[0]; ++x) {
        SINTER_TRY(engine.charge(*kernel, 0, shared));
        ++engine.program;
        SINTER_TRY(runProgram(kernel, engine, shared));
      }
  return engine.statistics;
}

Result<RunStatistics> interpretKernel(KernelOp kernel, ArrayRef<Argument> arguments,
                                      const InterpreterOptions &options) {
  return interpretKernelWith(kernel, arguments, options, nullptr, ReduceOrder::Ascending);
}

} // namespace sinter::tile
