// The tables of defaults: blocks for programs that are thread blocks, and arguments.
#include "tile/mlir_pch.h"

#include "compiler/kernel_defaults.h"
#include "kernels/fields.h"
#include "tile/tile.h"

namespace sinter::compiler {

namespace {
struct Default {
  std::string_view kernels; // of these names, each between commas; empty: all with the setting
  std::string_view setting;
  int64_t value; // kWholeRow: the columns where they are static and one block can hold them
};
} // namespace

static constexpr int64_t kWholeRow = 0;
// Of a row without static columns: each of 256 threads reads 16 bytes of 16-bit numbers.
static constexpr int64_t kPartOfRow = 2048;

// Programs of threads: a row each, whole where its width is known; products by blocks that some
// hundred threads hold in registers.
static constexpr Default kThreads[] = {
    {",rms_norm,layer_norm,softmax,", "block_rows", 1},
    {",rms_norm,layer_norm,softmax,", "block_columns", kWholeRow},
    {",add,silu_mul,", "block_rows", 1},
    {",add,silu_mul,", "block_columns", 2048},
    {"", "block_m", 128},
    {"", "block_n", 128},
    {"", "block_k", 32},
};

static int64_t wholeRow(const kernels::Settings &settings) {
  auto found = settings.find("columns");
  int64_t columns = 0;
  if (found == settings.end() || llvm::StringRef(found->second).getAsInteger(10, columns) ||
      columns < 1 || columns > kernels::kMaxBlock)
    return kPartOfRow;
  return columns;
}

kernels::Settings withDefaults(const kernels::KernelEntry &entry, targets::TargetKind kind,
                               kernels::Settings given) {
  if (kind == targets::TargetKind::Cpu)
    return given;
  auto has = [&](std::string_view setting) {
    return llvm::any_of(entry.params, [&](const auto &param) { return param.name == setting; });
  };
  for (const Default &row : kThreads)
    if (has(row.setting) &&
        (row.kernels.empty() || row.kernels.find("," + entry.name + ",") != std::string_view::npos))
      given.try_emplace(std::string(row.setting),
                        std::to_string(row.value == kWholeRow ? wholeRow(given) : row.value));
  return given;
}

// ---- arguments ----

namespace {
struct DefaultFill {
  std::string_view kernels; // between commas
  std::string_view argument;
  std::vector<FillTerm> terms; // a column each
};

// One dynamic extent: a number of every so many elements of --size.
struct DefaultExtent {
  std::string_view kernels;
  std::string_view argument;
  unsigned axis;
  int64_t each;
};
} // namespace

// Of the positions of a page, or more; more spans than positions fill would only be skipped.
static constexpr int64_t kPartitionPositions = 64;

static constexpr std::string_view kAttention =
    ",attention,attention_partitions,attention_combine,attention_partitions_ragged,"
    "attention_combine_ragged,";

// One row of q a block; sequence s holds positions 0 to s, and its row of q is the last.
static const DefaultFill kFills[] = {
    {",kv_append,gemm_qkv,qkv_rows,", "slots", {{0, 1}}},
    {kAttention, "blocks", {{0, 1}, {0, 1}, {1}}},
    {kAttention, "partitions", {{0, 1}, {0, 1}, {1}, {0}, {0, 1}, {0, 1}}}, // the first of each
    {kAttention, "kv_lengths", {{1, 1}}},
    {kAttention, "positions", {{0, 1}}},
    {kAttention, "page_table", {{0, 1}}},
};
static constexpr DefaultExtent kExtents[] = {
    {",gemm_norm,", "norm_squares", 1, 16},
    {",attention_partitions,attention_combine,", "acc", 2, kPartitionPositions},
    {",attention_partitions,attention_combine,", "high", 2, kPartitionPositions},
    {",attention_partitions,attention_combine,", "total", 2, kPartitionPositions},
};

static bool isOf(std::string_view kernels, tile::KernelOp kernel) {
  return kernels.find("," + kernel.getSymName().str() + ",") != std::string_view::npos;
}

// The view argument of that name; null where there is none.
static tile::ViewType viewNamed(tile::KernelOp kernel, std::string_view name) {
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto found = kernel.getArgAttrOfType<mlir::StringAttr>(index, "tile.name");
    if (found && found.getValue() == llvm::StringRef(name.data(), name.size()))
      return llvm::dyn_cast<tile::ViewType>(type);
  }
  return {};
}

static bool isIndexView(tile::ViewType view) {
  return view && view.isReadable() && view.getElementType().isInteger(32);
}

static void addFill(const DefaultFill &row, tile::KernelOp kernel, ArgumentRequest &request) {
  if (!isOf(row.kernels, kernel) || !isIndexView(viewNamed(kernel, row.argument)))
    return;
  std::vector<FillTerm> terms = row.terms;
  // A page's number is one of the pool's.
  if (row.argument == "page_table") {
    const auto pool = request.shapes.find("k_cache");
    const bool known = pool != request.shapes.end() && !pool->second.empty();
    terms[0].modulus = std::max<int64_t>(1, known ? pool->second[0] : request.size);
  }
  request.fills.try_emplace(std::string(row.argument), std::move(terms));
}

static void addExtent(const DefaultExtent &row, tile::KernelOp kernel, ArgumentRequest &request) {
  tile::ViewType view = viewNamed(kernel, row.argument);
  if (!isOf(row.kernels, kernel) || !view || row.axis >= view.getShape().size() ||
      mlir::ShapedType::isStatic(view.getShape()[row.axis]))
    return;
  std::vector<int64_t> shape;
  for (int64_t extent : view.getShape())
    shape.push_back(mlir::ShapedType::isDynamic(extent) ? request.size : extent);
  shape[row.axis] = llvm::divideCeil(request.size, row.each);
  request.shapes.try_emplace(std::string(row.argument), std::move(shape));
}

ArgumentRequest withDefaults(tile::KernelOp kernel, ArgumentRequest given) {
  for (const DefaultExtent &row : kExtents)
    addExtent(row, kernel, given);
  for (const DefaultFill &row : kFills)
    addFill(row, kernel, given);
  return given;
}

} // namespace sinter::compiler
