// Kernels of the front: opening and closing them, their arguments, and the rules of which value may
// be used where.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::tile {

FrontSession::FrontSession(MLIRContext &context)
    : builder_(&context), module_(ModuleOp::create(UnknownLoc::get(&context))) {}

// ---- diagnostics ----

SinterValue FrontSession::error(At at, const Twine &message) {
  diagnostics_.push_back({at.file ? at.file : "", at.line, at.column, message.str()});
  return SINTER_VALUE_POISON;
}

Location FrontSession::loc(At at) const {
  return FileLineColLoc::get(builder_.getContext(), at.file ? at.file : "", at.line, at.column);
}

// "'tile.store' op writes" becomes "store writes": the author wrote no tile.store.
static std::string plainWords(StringRef message) {
  if (message.consume_front("'")) {
    auto [name, rest] = message.split("' op ");
    return (name.substr(name.find('.') + 1) + " " + rest).str();
  }
  return message.str();
}

void FrontSession::capturing(At at, function_ref<void()> f) {
  ScopedDiagnosticHandler capture(builder_.getContext(), [&](Diagnostic &diagnostic) {
    auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation());
    if (place)
      diagnostics_.push_back({place.getFilename().str(), place.getLine(), place.getColumn(),
                              plainWords(diagnostic.str())});
    else
      error(at, plainWords(diagnostic.str()));
    return success();
  });
  f();
}

bool FrontSession::holds(Operation *op, At at) {
  bool good = false;
  capturing(at, [&] { good = succeeded(mlir::verify(op, /*verifyRecursively=*/false)); });
  if (!good)
    op->erase();
  return good;
}

// ---- values ----

SinterValue FrontSession::add(Value value) {
  if (!value)
    return SINTER_VALUE_POISON;
  values_.push_back({value, kernelNames_.size()});
  return static_cast<SinterValue>(values_.size());
}

bool FrontSession::inKernel(At at) {
  if (!kernel_)
    error(at, "used outside a kernel, expected inside the function that builds one");
  return static_cast<bool>(kernel_);
}

Value FrontSession::use(SinterValue id, At at) {
  if (id == SINTER_VALUE_POISON || !inKernel(at))
    return {};
  const std::string &name = kernelNames_.back();
  if (id == SINTER_VALUE_EMPTY) {
    error(at, "value is empty, expected one made in kernel '" + name + "'");
    return {};
  }
  if (id > values_.size()) {
    error(at, "value belongs to another module, expected one of kernel '" + name + "'");
    return {};
  }
  Entry entry = values_[id - 1];
  if (entry.kernel != kernelNames_.size()) {
    error(at, "value belongs to kernel '" + kernelNames_[entry.kernel - 1] +
                  "', expected one of kernel '" + name + "'");
    return {};
  }
  Region *here = builder_.getInsertionBlock()->getParent();
  if (!entry.value.getParentRegion()->isAncestor(here)) {
    error(at, "value belongs to a loop or branch that has ended, expected one that is returned "
              "from it");
    return {};
  }
  return entry.value;
}

Value FrontSession::constant(TypedAttr value, At at) {
  Value &known = constants_[value.getAsOpaquePointer()];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder_);
  if (lastConstant_)
    builder_.setInsertionPointAfter(lastConstant_);
  else
    builder_.setInsertionPointToStart(&kernel_.getBody().front());
  auto op = arith::ConstantOp::create(builder_, loc(at), value);
  lastConstant_ = op;
  return known = op;
}

Value FrontSession::indexConstant(int64_t value, At at) {
  return constant(builder_.getIndexAttr(value), at);
}

// ---- kernels ----

static bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

void FrontSession::beginKernel(StringRef name, At at) {
  if (kernel_) {
    error(at, "kernel '" + name + "' opens inside kernel '" + kernelNames_.back() +
                  "', expected after it");
    endKernel(at);
  }
  errorsBefore_ = diagnostics_.size();
  if (!isIdentifier(name))
    error(at, "kernel is named '" + name + "', expected letters, digits and _");
  if (llvm::is_contained(kernelNames_, name.str()))
    error(at, "kernel '" + name + "' is defined twice");
  kernelNames_.push_back(name.str());
  builder_.setInsertionPointToEnd(module_->getBody());
  kernel_ =
      KernelOp::create(builder_, loc(at), builder_.getStringAttr(name),
                       TypeAttr::get(builder_.getFunctionType({}, {})), ArrayAttr(), ArrayAttr());
  builder_.setInsertionPointToStart(&kernel_.getBody().emplaceBlock());
}

void FrontSession::endKernel(At at) {
  if (!inKernel(at))
    return;
  if (!frames_.empty())
    error(at, "kernel '" + kernelNames_.back() + "' ends inside a loop or branch");
  if (diagnostics_.size() == errorsBefore_)
    finishKernel(at);
  if (diagnostics_.size() != errorsBefore_)
    kernel_->erase();
  kernel_ = {};
  frames_.clear();
  constants_.clear();
  argumentNames_.clear();
  lastConstant_ = nullptr;
  hasGrid_ = false;
}

void FrontSession::finishKernel(At at) {
  if (!hasGrid_) {
    error(at,
          "kernel '" + kernelNames_.back() + "' has no grid, expected one call of grid(x, y, z)");
    return;
  }
  auto types = kernel_.getBody().getArgumentTypes();
  kernel_.setFunctionType(builder_.getFunctionType(types, {}));
  if (!argumentNames_.empty())
    kernel_.setArgAttrsAttr(builder_.getArrayAttr(argumentNames_));
  capturing(at, [&] { (void)mlir::verify(kernel_); });
}

// ---- arguments ----

bool FrontSession::argumentsAllowed(StringRef name, At at) {
  if (!inKernel(at))
    return false;
  if (!isIdentifier(name)) {
    error(at, "argument is named '" + name + "', expected letters, digits and _");
    return false;
  }
  for (Attribute other : argumentNames_)
    if (cast<StringAttr>(cast<DictionaryAttr>(other).get("tile.name")).getValue() == name) {
      error(at, "argument '" + name + "' is declared twice");
      return false;
    }
  return true;
}

SinterValue FrontSession::addArgument(Type type, StringRef name, At at, bool constant) {
  SmallVector<NamedAttribute> attributes = {
      {builder_.getStringAttr("tile.name"), builder_.getStringAttr(name)}};
  if (constant)
    attributes.push_back({builder_.getStringAttr(kConstantName), builder_.getUnitAttr()});
  argumentNames_.push_back(builder_.getDictionaryAttr(attributes));
  return add(kernel_.getBody().addArgument(type, loc(at)));
}

SinterValue FrontSession::view(StringRef name, StringRef element, uint32_t access,
                               ArrayRef<int64_t> shape, int64_t interleave, uint32_t flags, At at) {
  if (!argumentsAllowed(name, at))
    return SINTER_VALUE_POISON;
  if (flags & ~uint32_t(SINTER_VIEW_STRIDED | SINTER_VIEW_CONSTANT))
    return error(at, "view '" + name + "' has flags " + Twine(flags) +
                         ", expected strided and constant at most");
  Type type = elementType(element, at);
  auto kind = symbolizeAccess(access);
  if (!kind)
    error(at, "view '" + name + "' has access " + Twine(access) + ", expected in, out or inout");
  if (!type || !kind)
    return SINTER_VALUE_POISON;
  static_assert(SINTER_DYNAMIC == ShapedType::kDynamic);
  ViewType view;
  capturing(at, [&] {
    view = ViewType::getChecked([&] { return mlir::emitError(loc(at)); }, builder_.getContext(),
                                shape, type, *kind, interleave, (flags & SINTER_VIEW_STRIDED) != 0);
  });
  bool constant = flags & SINTER_VIEW_CONSTANT;
  if (view && constant && view.isWritable())
    return error(at, "view '" + name + "' is constant and written, expected access in");
  return view ? addArgument(view, name, at, constant) : SINTER_VALUE_POISON;
}

SinterValue FrontSession::scalarArgument(StringRef name, StringRef element, At at) {
  if (!argumentsAllowed(name, at))
    return SINTER_VALUE_POISON;
  Type type = elementType(element, at);
  if (!type)
    return SINTER_VALUE_POISON;
  if (isa<BlockType>(type))
    return error(at, "scalar '" + name + "' is " + describe(type) +
                         ", expected an integer, float or index");
  return addArgument(type, name, at);
}

void FrontSession::grid(ArrayRef<SinterOperand> extents, At at) {
  if (!inKernel(at))
    return;
  if (!frames_.empty() || hasGrid_) {
    error(at, frames_.empty() ? "grid is given twice, expected once per kernel"
                              : "grid is given inside a loop or branch, expected outside");
    return;
  }
  hasGrid_ = true;
  SmallVector<Value> values;
  for (const SinterOperand &extent : extents) {
    if (extent.kind == SINTER_OPERAND_INTEGER && extent.integer <= 0)
      error(at, "grid has extent " + Twine(extent.integer) + ", expected a positive one");
    values.push_back(useIndex(extent, "grid extent", at));
  }
  if (llvm::is_contained(values, Value()))
    return;
  holds(GridOp::create(builder_, loc(at), values[0], values[1], values[2]), at);
}

SinterValue FrontSession::programId(uint32_t axis, At at) {
  if (!inKernel(at))
    return SINTER_VALUE_POISON;
  if (axis > 2)
    return error(at, "program id of axis " + Twine(axis) + ", expected 0, 1 or 2");
  return make<ProgramIdOp>(at, axis);
}

} // namespace sinter::tile
