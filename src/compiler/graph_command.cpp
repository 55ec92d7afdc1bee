// Reads a textual graph, makes or reads its inputs, runs it, shows its outputs.
#include "tile/mlir_pch.h"

#include "compiler/graph_command.h"
#include "compiler/graph_execution.h"
#include "compiler/graph_options.h"
#include "compiler/target_option.h"
#include "engine/graph_plan.h"
#include "graph/evaluate/evaluate.h"
#include "graph/evaluate/npy.h"
#include "graph/ir/symbols.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <random>

using namespace mlir;

namespace sinter::compiler {

using graph::Tensor;

namespace {
// A verified graph and the context it lives in.
struct Graph {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};
} // namespace

// ---- reading ----

// Parses and verifies; the error holds every diagnostic, one a line.
static Result<Graph> readGraph(const GraphOptions &options) {
  Graph graph{std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED), {}, {}};
  graph::loadDialects(*graph.context);
  auto buffer = llvm::MemoryBuffer::getFile(options.file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true);
  if (!buffer)
    return fail(Code::NotFound,
                "cannot read '" + options.file + "': " + buffer.getError().message());
  std::string messages;
  ScopedDiagnosticHandler handler(graph.context.get(), [&](Diagnostic &diagnostic) {
    messages += graph::placeOf(diagnostic.getLocation()) + ": " + diagnostic.str() + "\n";
    return success();
  });
  graph.context->printOpOnDiagnostic(false);
  graph.module =
      parseSourceString<ModuleOp>((*buffer)->getBuffer(), graph.context.get(), options.file);
  if (!graph.module)
    return fail(Code::InvalidArgument, StringRef(messages).rtrim().str());
  auto functions = llvm::to_vector(graph.module->getOps<func::FuncOp>());
  if (!options.function.empty())
    llvm::erase_if(functions, [&](func::FuncOp f) { return f.getSymName() != options.function; });
  if (functions.size() != 1)
    return fail(Code::InvalidArgument,
                "'" + options.file + "' has " + std::to_string(functions.size()) + " functions" +
                    (options.function.empty() ? "" : " named '" + options.function + "'") +
                    ", expected one (--function names it)");
  graph.function = functions.front();
  if (failed(graph::verifySymbols(graph.function)))
    return fail(Code::InvalidArgument, StringRef(messages).rtrim().str());
  return graph;
}

static Result<Tensor> readTensor(MLIRContext &context, const std::string &path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(Code::NotFound, "cannot read '" + path + "': " + buffer.getError().message());
  const StringRef bytes = (*buffer)->getBuffer();
  Result<Tensor> tensor = graph::decodeNpy(context, {bytes.bytes_begin(), bytes.size()});
  if (!tensor)
    return fail(tensor.error().code, "'" + path + "': " + tensor.error().message);
  return tensor;
}

// Numbers of the seed and the name alone: floats from -1 to 1, integers from 0 to 7.
static Result<Tensor> randomTensor(Type element, graph::Shape shape, StringRef name,
                                   uint64_t seed) {
  std::mt19937_64 random(seed ^ llvm::xxh3_64bits(name));
  SINTER_ASSIGN(Tensor tensor,
                graph::makeTensor(Float64Type::get(element.getContext()), std::move(shape)));
  for (double &value : tensor.values) {
    const uint64_t bits = random();
    value = element.isInteger(32)  ? static_cast<double>(bits % 8)
            : element.isInteger(1) ? static_cast<double>(bits & 1)
                                   : static_cast<double>(bits >> 11) * 0x1p-52 - 1;
  }
  return tensor;
}

// ---- inputs ----

namespace {
// The tensors that a graph reads: from files where options name them, else random.
class EdgeSource {
public:
  EdgeSource(const GraphOptions &options, Graph &graph) : options_(options), graph_(graph) {}

  Result<graph::Edges> edges() {
    edges_.symbols = options_.sizes;
    SINTER_TRY(readFiles());
    for (auto input : graph_.function.getOps<graph::InputOp>())
      if (!edges_.inputs.contains(input.getName().str()))
        SINTER_TRY(fill(input));
    edges_.weight = [this](const std::string &name, RankedTensorType joined) {
      return weight(name, joined);
    };
    return edges_;
  }

private:
  // Files of named edges; a name that the graph does not have is an error.
  Result<void> readFiles() {
    llvm::StringSet<> inputs, states, weights;
    for (auto input : graph_.function.getOps<graph::InputOp>())
      inputs.insert(input.getName());
    for (auto state : graph_.function.getOps<graph::StateOp>())
      states.insert(state.getName());
    for (auto weight : graph_.function.getOps<graph::WeightOp>())
      for (StringRef name : weight.getTensors().getAsValueRange<StringAttr>())
        weights.insert(name);
    for (const auto &[name, path] : options_.inputs) {
      if (!inputs.contains(name) && !states.contains(name) && !weights.contains(name))
        return fail(Code::InvalidArgument,
                    "the graph has no input, state or weight '" + name + "'");
      SINTER_ASSIGN(Tensor tensor, readTensor(*graph_.context, path));
      if (states.contains(name))
        edges_.states[name] = std::move(tensor);
      else
        (inputs.contains(name) ? edges_.inputs : weights_)[name] = std::move(tensor);
    }
    for (auto input : graph_.function.getOps<graph::InputOp>())
      if (auto found = edges_.inputs.find(input.getName().str()); found != edges_.inputs.end())
        SINTER_TRY(
            binding_.bind(input.getName(), input.getResult().getType(), found->second.shape));
    return {};
  }

  Result<void> fill(graph::InputOp input) {
    RankedTensorType type = input.getResult().getType();
    for (const auto &[symbol, value] : options_.sizes)
      if (!binding_.valueOf(symbol))
        binding_.set(symbol, value);
    Result<graph::Shape> shape = binding_.shapeOf(type);
    if (!shape)
      return fail(shape.error().code, "input '" + input.getName().str() +
                                          "': " + shape.error().message +
                                          "; give --size NAME=N or a file by --input");
    SINTER_ASSIGN(
        edges_.inputs[input.getName().str()],
        randomTensor(type.getElementType(), std::move(*shape), input.getName(), options_.seed));
    return {};
  }

  // Without a file a weight of several tensors has its rows in equal shares.
  Result<Tensor> weight(const std::string &name, RankedTensorType joined) {
    if (auto found = weights_.find(name); found != weights_.end())
      return found->second;
    graph::Shape shape(joined.getShape());
    const int64_t parts = partsOf(name, joined);
    if (!shape.empty() && shape.front() % parts != 0)
      return fail(Code::InvalidArgument,
                  "weight '" + name + "' is one of " + std::to_string(parts) + " that share " +
                      std::to_string(shape.front()) + " rows; give its file by --input");
    if (!shape.empty())
      shape.front() /= parts;
    return randomTensor(joined.getElementType(), std::move(shape), name, options_.seed);
  }

  int64_t partsOf(const std::string &name, RankedTensorType joined) {
    for (auto weight : graph_.function.getOps<graph::WeightOp>())
      if (weight.getResult().getType() == joined &&
          llvm::is_contained(weight.getTensors().getAsValueRange<StringAttr>(), name))
        return static_cast<int64_t>(weight.getTensors().size());
    return 1;
  }

  const GraphOptions &options_;
  Graph &graph_;
  graph::Edges edges_;
  graph::NamedTensors weights_;
  graph::Binding binding_;
};
} // namespace

// ---- outputs ----

static constexpr size_t kMostPrinted = 64; // elements of one output

static void print(const std::string &name, const Tensor &tensor) {
  llvm::raw_ostream &out = llvm::outs();
  out << name << ": ";
  for (int64_t extent : tensor.shape)
    out << extent << "x";
  out << tensor.element << "\n";
  const size_t columns = tensor.shape.empty() ? 1 : std::max<int64_t>(tensor.shape.back(), 1);
  const size_t shown = std::min(tensor.values.size(), kMostPrinted);
  for (size_t i = 0; i < shown; ++i)
    out << llvm::format("%s%.9g", i % columns ? " " : i ? "\n  " : "  ", tensor.values[i]);
  if (shown > 0)
    out << "\n";
  if (shown < tensor.values.size())
    out << "  and " << tensor.values.size() - shown << " more elements (-o FOLDER writes all)\n";
}

static Result<void> write(const std::string &folder, const std::string &name, const Tensor &tensor,
                          graph::Precision precision) {
  if (name.empty() || name == "." || name == ".." || StringRef(name).contains('/'))
    return fail(Code::InvalidArgument, "output '" + name + "' has a name that is no file name");
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name + ".npy");
  const std::vector<uint8_t> bytes = graph::encodeNpy(tensor, precision);
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return fail(Code::Permission, "cannot write '" + path.str().str() + "': " + error.message());
  return {};
}

// ---- runs ----

static Result<void> show(const GraphOptions &options, const graph::NamedTensors &outputs,
                         graph::Precision precision) {
  for (const auto &[name, tensor] : outputs)
    if (options.output.empty())
      print(name, tensor);
    else
      SINTER_TRY(write(options.output, name, tensor, precision));
  return {};
}

// Of outputs or states: fails where one is further from `exact` than the evaluator in f32 explains.
static Result<void> expectClose(StringRef what, const graph::NamedTensors &found,
                                const graph::NamedTensors &exact, double own) {
  for (const auto &[name, wide] : exact)
    if (const double error = largestError(found.at(name), wide);
        !(error <= 2 * own + roundingOf(wide.element)))
      return fail(Code::Internal, (what + " '").str() + name +
                                      "' differs from the f64 evaluation by " +
                                      llvm::formatv("{0:e}", error).str() +
                                      ", which is more than twice what the f32 evaluation does");
  return {};
}

static Result<void> compare(const graph::Outcome &found, func::FuncOp function,
                            const graph::Edges &edges) {
  SINTER_ASSIGN(const graph::Outcome exact,
                graph::evaluate(function, edges, graph::Precision::F64));
  SINTER_ASSIGN(const graph::Outcome narrow,
                graph::evaluate(function, edges, graph::Precision::F32));
  const double own = std::max(largestError(narrow.outputs, exact.outputs),
                              largestError(narrow.states, exact.states));
  llvm::outs() << llvm::format("largest error: %.3g; the evaluator's in f32: %.3g\n",
                               std::max(largestError(found.outputs, exact.outputs),
                                        largestError(found.states, exact.states)),
                               own);
  SINTER_TRY(expectClose("output", found.outputs, exact.outputs, own));
  return expectClose("state", found.states, exact.states, own);
}

static Result<void> execute(const GraphOptions &options, func::FuncOp function,
                            const graph::Edges &edges) {
  engine::GraphPlanOptions planned;
  SINTER_ASSIGN(planned.target, resolveTarget(options.target));
  SINTER_ASSIGN(
      plan::Plan plan,
      engine::buildGraphPlan(function, planned, [](std::string_view, uint32_t, uint32_t) {}));
  SINTER_ASSIGN(const auto device, openDeviceOf(plan));
  SINTER_ASSIGN(const graph::Outcome found,
                executeGraph(*device, std::move(plan), function, edges));
  SINTER_TRY(show(options, found.outputs, graph::Precision::F32));
  return options.compare ? compare(found, function, edges) : Result<void>();
}

static Result<void> run(const GraphOptions &options) {
  const graph::Precision precision =
      options.evaluate == "f64" ? graph::Precision::F64 : graph::Precision::F32;
  SINTER_ASSIGN(Graph graph, readGraph(options));
  EdgeSource source(options, graph);
  SINTER_ASSIGN(const graph::Edges edges, source.edges());
  if (!options.target.empty())
    return execute(options, graph.function, edges);
  SINTER_ASSIGN(const graph::Outcome outcome, graph::evaluate(graph.function, edges, precision));
  return show(options, outcome.outputs, precision);
}

int graphCommand(int argc, char **argv) {
  const auto options = parseGraphOptions(argc, argv);
  if (!options) {
    (options.error().exitCode ? llvm::errs() : llvm::outs()) << options.error().text;
    return options.error().exitCode;
  }
  const Result<void> done = run(*options);
  if (done)
    return 0;
  llvm::errs() << "sinter-compiler graph: " << done.error().toString() << "\n";
  return 1;
}

} // namespace sinter::compiler
