// Arguments, grids and cases of single kernels.
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "compiler/kernel_defaults.h"
#include "compiler/kernel_launch.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"
#include <bit>
#include <numeric>
#include <random>

using namespace mlir;

namespace sinter::compiler {

static std::string argumentName(tile::KernelOp kernel, unsigned index) {
  if (auto name = kernel.getArgAttrOfType<StringAttr>(index, "tile.name"))
    return name.str();
  return "arg" + std::to_string(index);
}

// How many elements of a view's last axis lie in how many bytes.
namespace {
struct Unit {
  uint32_t elements, bytes;
};
} // namespace

static Result<Unit> unitOf(tile::ViewType type, const std::vector<int64_t> &shape) {
  auto block = dyn_cast<tile::BlockType>(type.getElementType());
  if (!block) {
    Type element = type.getElementType();
    const unsigned bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    return Unit{1, static_cast<uint32_t>(llvm::divideCeil(bits, 8))};
  }
  const auto *activation = findActivationFormat(block.getFormat().upper());
  const BlockFormat *format = findBlockFormat(block.getFormat().upper());
  const uint32_t length = activation ? activation->scaleLength : format ? format->blockLength : 0;
  if (!length || shape.back() % length)
    return fail(Code::InvalidArgument, "a view of " + block.getFormat().str() + " has rows of " +
                                           std::to_string(shape.back()) +
                                           " elements, expected whole blocks of " +
                                           std::to_string(length));
  return activation ? Unit{kActivationLength, static_cast<uint32_t>(activation->bytes())}
                    : Unit{format->blockLength, format->blockBytes};
}

static Result<uint64_t> viewBytes(tile::ViewType type, const std::vector<int64_t> &shape) {
  CheckedSize checked = 1;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    CheckedSize along = static_cast<uint64_t>(extent);
    if (axis == 0 && type.getInterleave()) // rows come in whole groups
      along = alignUp(along, static_cast<uint64_t>(type.getInterleave()));
    checked = checked * along;
    if (extent < 0 || checked.value().value_or(UINT64_MAX) > (1ull << 36))
      return fail(Code::InvalidArgument, "a view is too large: more than 2^36 elements");
  }
  SINTER_ASSIGN(const Unit unit, unitOf(type, shape));
  return *checked.value() / unit.elements * unit.bytes;
}

static hal::ElementKind kindOf(Type element) {
  if (element.isF32())
    return hal::ElementKind::F32;
  if (element.isF16())
    return hal::ElementKind::F16;
  if (element.isBF16())
    return hal::ElementKind::BF16;
  return element.isInteger(32) ? hal::ElementKind::I32 : hal::ElementKind::Byte;
}

static Result<void> fillTerms(ArrayRef<FillTerm> terms, tile::ViewType view,
                              KernelArgument &argument) {
  if (!view.isReadable() || !view.getElementType().isInteger(32))
    return fail(Code::InvalidArgument, "argument '" + argument.name + "' is no i32 view to fill");
  auto count = static_cast<int64_t>(argument.bytes.size() / sizeof(int32_t));
  for (int64_t at = 0; at < count; ++at) {
    const FillTerm &term = terms[at % terms.size()];
    int64_t row = at / static_cast<int64_t>(terms.size()) % term.modulus / term.each;
    auto value = static_cast<int32_t>(term.start + term.step * row);
    std::memcpy(argument.bytes.data() + at * sizeof value, &value, sizeof value);
  }
  argument.filled = true;
  return {};
}

// The numbers from 0 on, in an order of their own: an index that no two programs share.
static void fillDistinct(KernelArgument &argument, std::mt19937_64 random) {
  std::vector<int32_t> numbers(argument.bytes.size() / sizeof(int32_t));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t left = numbers.size(); left > 1; --left)
    std::swap(numbers[left - 1], numbers[random() % left]);
  std::memcpy(argument.bytes.data(), numbers.data(), argument.bytes.size());
  argument.filled = true;
}

// Blocks of activations hold sums of their codes, which random bytes would contradict. What is
// `filled` takes no numbers from `random`: a case fills its other views from the same seed.
static void fillRandom(tile::ViewType view, KernelArgument &argument, std::mt19937_64 &random) {
  if (view.getElementType().isInteger(32) && view.getShape().size() == 1)
    return fillDistinct(argument, random);
  const ActivationFormat *format = tile::activationFormatOf(view.getElementType());
  if (!format)
    return hal::fillRandom(kindOf(view.getElementType()), argument.bytes, random);
  std::mt19937_64 own = random;
  std::vector<float> values(format->scaleLength);
  const size_t bytes = format->scaleLength / kActivationLength * format->bytes();
  for (std::span<uint8_t> rest(argument.bytes); !rest.empty(); rest = rest.subspan(bytes)) {
    hal::fillRandom(hal::ElementKind::F32,
                    {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(float)},
                    own);
    quantizeActivation(*format, values, rest.first(bytes));
  }
  argument.filled = true;
}

// Code holds the strides that a kernel says every launch gives: others would reach beyond memory.
static Result<void> checkStrides(tile::KernelOp kernel, unsigned index,
                                 const KernelArgument &argument) {
  BlockArgument view = kernel.getBody().getArgument(index);
  for (auto [axis, stride] : llvm::enumerate(argument.strides))
    if (auto given = tile::givenStride(view, static_cast<int64_t>(axis)); given && *given != stride)
      return fail(Code::InvalidArgument, "argument '" + argument.name + "' has stride " +
                                             std::to_string(stride) + " on axis " +
                                             std::to_string(axis) + ", and the kernel is for " +
                                             std::to_string(*given));
  return {};
}

Result<std::vector<KernelArgument>> makeArguments(tile::KernelOp kernel,
                                                  const ArgumentRequest &given) {
  const ArgumentRequest request = withDefaults(kernel, given);
  std::mt19937_64 random(request.seed);
  std::vector<KernelArgument> arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    KernelArgument argument;
    argument.name = argumentName(kernel, index);
    argument.type = type;
    auto view = dyn_cast<tile::ViewType>(type);
    if (!view) {
      auto it = request.scalars.find(argument.name);
      argument.scalar =
          it == request.scalars.end() ? (isa<FloatType>(type) ? 1e-5 : 1) : it->second;
      arguments.push_back(std::move(argument));
      continue;
    }
    argument.written = view.isWritable();
    for (int64_t extent : view.getShape())
      argument.shape.push_back(ShapedType::isDynamic(extent) ? request.size : extent);
    if (auto it = request.shapes.find(argument.name); it != request.shapes.end()) {
      if (it->second.size() != argument.shape.size())
        return fail(Code::InvalidArgument, "argument '" + argument.name + "' has " +
                                               std::to_string(argument.shape.size()) +
                                               " dimensions, but its shape names " +
                                               std::to_string(it->second.size()));
      argument.shape = it->second;
    }
    argument.strides.assign(argument.shape.size(), 1);
    for (size_t axis = argument.shape.size() - 1; axis > 0; --axis)
      argument.strides[axis - 1] = argument.strides[axis] * argument.shape[axis];
    SINTER_TRY(checkStrides(kernel, index, argument));
    SINTER_ASSIGN(uint64_t bytes, viewBytes(view, argument.shape));
    argument.bytes.assign(bytes, 0xff);
    if (auto it = request.fills.find(argument.name); it != request.fills.end())
      SINTER_TRY(fillTerms(it->second, view, argument));
    else if (view.isReadable())
      fillRandom(view, argument, random);
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

// ---- grid ----

namespace {
/// Evaluates index arithmetic over dimensions, scalar arguments and constants.
class IndexEvaluator {
public:
  IndexEvaluator(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments)
      : kernel_(kernel), arguments_(arguments) {}

  std::optional<int64_t> operator()(Value value) {
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      if (arg.getOwner() != &kernel_.getBody().front())
        return std::nullopt;
      return static_cast<int64_t>(arguments_[arg.getArgNumber()].scalar);
    }
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
      return constant.value();
    if (auto dim = dyn_cast<tile::DimOp>(op))
      if (auto arg = dyn_cast<BlockArgument>(dim.getView()))
        return arguments_[arg.getArgNumber()].shape[dim.getAxis()];
    if (op->getNumOperands() != 2)
      return std::nullopt;
    std::optional<int64_t> a = (*this)(op->getOperand(0)), b = (*this)(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
        .Case([&](arith::AddIOp) { return *a + *b; })
        .Case([&](arith::SubIOp) { return *a - *b; })
        .Case([&](arith::MulIOp) { return *a * *b; })
        .Case([&](arith::MinSIOp) { return std::min(*a, *b); })
        .Case([&](arith::MaxSIOp) { return std::max(*a, *b); })
        .Case([&](arith::CeilDivSIOp) -> std::optional<int64_t> {
          if (*b <= 0)
            return std::nullopt;
          return llvm::divideCeilSigned(*a, *b);
        })
        .Default([](Operation *) { return std::nullopt; });
  }

private:
  tile::KernelOp kernel_;
  const std::vector<KernelArgument> &arguments_;
};
} // namespace

Result<hal::Grid> evaluateGrid(tile::KernelOp kernel,
                               const std::vector<KernelArgument> &arguments) {
  IndexEvaluator evaluate(kernel, arguments);
  hal::Grid grid{};
  tile::GridOp op = kernel.getGrid();
  Value axes[] = {op.getX(), op.getY(), op.getZ()};
  for (int i = 0; i < 3; ++i) {
    std::optional<int64_t> extent = evaluate(axes[i]);
    if (!extent || *extent < 0)
      return fail(Code::InvalidArgument, "the grid's axis " + std::to_string(i) +
                                             " cannot be evaluated from the arguments");
    grid[i] = *extent;
  }
  return grid;
}

double dotOperations(tile::KernelOp kernel, const std::vector<KernelArgument> &arguments,
                     hal::Grid grid) {
  IndexEvaluator evaluate(kernel, arguments);
  double total = 0;
  kernel.walk([&](tile::DotOp dot) {
    auto acc = cast<RankedTensorType>(dot.getAcc().getType());
    double work =
        2.0 * acc.getNumElements() * cast<RankedTensorType>(dot.getA().getType()).getDimSize(1);
    for (auto loop = dot->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>()) {
      std::optional<int64_t> low = evaluate(loop.getLowerBound()),
                             high = evaluate(loop.getUpperBound()), step = evaluate(loop.getStep());
      work *= low && high && step && *step > 0 ? double(llvm::divideCeilSigned(*high - *low, *step))
                                               : 0;
    }
    total += work;
  });
  return total * grid[0] * grid[1] * grid[2];
}

// ---- launching ----

static void appendScalars(const KernelArgument &argument, std::vector<int64_t> &scalars) {
  if (auto view = dyn_cast<tile::ViewType>(argument.type)) {
    llvm::append_range(scalars, argument.shape);
    size_t strides = view.getStrided() ? argument.strides.size() : argument.strides.size() - 1;
    llvm::append_range(scalars, ArrayRef(argument.strides).take_front(strides));
    return;
  }
  if (argument.type.isF32())
    scalars.push_back(std::bit_cast<int32_t>(static_cast<float>(argument.scalar)));
  else if (argument.type.isF64())
    scalars.push_back(std::bit_cast<int64_t>(argument.scalar));
  else
    scalars.push_back(static_cast<int64_t>(argument.scalar));
}

// Where the view's extents begin among the scalars that appendScalars() makes.
static Result<hal::ViewPlace> placeOf(tile::ViewType view, const KernelArgument &argument,
                                      size_t firstScalar) {
  SINTER_ASSIGN(const Unit unit, unitOf(view, argument.shape));
  return hal::ViewPlace{static_cast<uint32_t>(firstScalar),
                        static_cast<uint32_t>(argument.shape.size()),
                        view.getStrided(),
                        static_cast<uint32_t>(view.getInterleave()),
                        unit.elements,
                        unit.bytes};
}

hal::KernelSpec specOf(const targets::EmittedKernel &kernel) {
  return {kernel.symbol,
          static_cast<uint32_t>(kernel.bufferCount),
          static_cast<uint32_t>(kernel.scalarCount),
          static_cast<uint64_t>(kernel.scratchBytes),
          static_cast<uint32_t>(kernel.threads),
          static_cast<uint64_t>(kernel.sharedBytes),
          kernel.overlaps};
}

Result<hal::KernelCase> makeCase(const targets::CompiledModule &code, const std::string &target,
                                 size_t index, hal::Grid grid, uint64_t seed,
                                 const std::vector<KernelArgument> &arguments) {
  const targets::EmittedKernel &facts = code.kernels[index];
  hal::KernelCase kernel;
  kernel.label = facts.symbol;
  kernel.target = target;
  kernel.code = code.code;
  kernel.spec = specOf(facts);
  kernel.grid = grid;
  kernel.seed = seed;
  for (const KernelArgument &argument : arguments) {
    const size_t firstScalar = kernel.scalars.size();
    appendScalars(argument, kernel.scalars);
    auto view = dyn_cast<tile::ViewType>(argument.type);
    if (!view)
      continue;
    SINTER_ASSIGN(hal::ViewPlace place, placeOf(view, argument, firstScalar));
    kernel.views.push_back({argument.name,
                            kindOf(view.getElementType()),
                            argument.bytes.size(),
                            view.isReadable(),
                            argument.written,
                            {},
                            argument.filled ? argument.bytes : std::vector<uint8_t>(),
                            place});
  }
  return kernel;
}

Result<tile::RunStatistics> interpret(tile::KernelOp kernel,
                                      std::vector<KernelArgument> &arguments) {
  std::vector<tile::Argument> list;
  for (KernelArgument &argument : arguments) {
    if (isa<tile::ViewType>(argument.type)) {
      tile::HostView view;
      view.data = reinterpret_cast<std::byte *>(argument.bytes.data());
      view.shape.assign(argument.shape.begin(), argument.shape.end());
      view.strides.assign(argument.strides.begin(), argument.strides.end());
      list.push_back(view);
    } else if (argument.type.isF32()) {
      list.push_back(tile::f32Argument(static_cast<float>(argument.scalar)));
    } else if (argument.type.isIndex()) {
      list.push_back(tile::indexArgument(static_cast<int64_t>(argument.scalar)));
    } else if (auto integer = dyn_cast<IntegerType>(argument.type)) {
      list.push_back(llvm::APInt(integer.getWidth(), static_cast<int64_t>(argument.scalar), true));
    } else {
      return fail(Code::Unsupported,
                  "argument '" + argument.name + "' has a scalar type that runs cannot pass");
    }
  }
  return tile::interpretKernel(kernel, list, {.findRaces = true});
}

} // namespace sinter::compiler
