// Parts are MLIR bytecode: their modules are joined before ids are numbered.
#include "targets/vulkan/binary.h"
#include "base/check.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "tile/mlir_pch.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <set>

using namespace mlir;

namespace sinter::targets::vulkan {

// Attribute of a module: words by kernel. What their strings begin with
// (hal/vulkan/spirv_code.cpp).
static constexpr StringLiteral kConstants = "sinter_constants", kPrefix = "sinter.constants ";

static DictionaryAttr constantsOf(spirv::ModuleOp module) {
  auto constants = module->getAttrOfType<DictionaryAttr>(kConstants);
  return constants ? constants : DictionaryAttr::get(module.getContext());
}

void addConstants(spirv::ModuleOp module, StringRef symbol, ArrayRef<int32_t> words) {
  NamedAttrList all(constantsOf(module));
  all.set(symbol, DenseI32ArrayAttr::get(module.getContext(), words));
  module->setAttr(kConstants, all.getDictionary(module.getContext()));
}

// OpString instructions, which nothing refers to: name and words in hexadecimal digits.
static void appendConstants(spirv::ModuleOp module, SmallVectorImpl<uint32_t> &code) {
  enum : uint32_t { kOpString = 7 };
  constexpr size_t kBound = 3, kHeader = 5;
  const std::set<uint32_t> before{10, 11, 14, 15, 16, 17}; // sections that come first
  size_t at = kHeader;
  while (at < code.size() && before.contains(code[at] & 0xffff))
    at += code[at] >> 16;
  SmallVector<uint32_t> strings;
  for (NamedAttribute constants : constantsOf(module)) {
    std::string text = (kPrefix + constants.getName().strref() + " ").str();
    llvm::raw_string_ostream out(text);
    for (int32_t word : cast<DenseI32ArrayAttr>(constants.getValue()).asArrayRef())
      out << llvm::format_hex_no_prefix(static_cast<uint32_t>(word), 8);
    text.resize(llvm::alignTo(text.size() + 1, sizeof(uint32_t)));
    const size_t count = 2 + text.size() / sizeof(uint32_t);
    SINTER_CHECK(count <= UINT16_MAX);
    strings.push_back(static_cast<uint32_t>(count << 16) | kOpString);
    strings.push_back(code[kBound]++);
    const auto *words = reinterpret_cast<const uint32_t *>(text.data());
    strings.append(words, words + text.size() / sizeof(uint32_t));
  }
  code.insert(code.begin() + at, strings.begin(), strings.end());
}

std::vector<uint8_t> writePart(spirv::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  if (failed(writeBytecodeToFile(module, out)))
    return {};
  return {bytes.begin(), bytes.end()};
}

static OwningOpRef<spirv::ModuleOp> readPart(MLIRContext &context,
                                             const std::vector<uint8_t> &part) {
  StringRef text(reinterpret_cast<const char *>(part.data()), part.size());
  // Bytecode is aligned; the copy that is parsed must be too.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(text, "part");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  return parseSourceFile<spirv::ModuleOp>(sources, ParserConfig(&context, false));
}

// Moves what `from` has into `into`, where variables of the same name are the same.
static Result<void> join(spirv::ModuleOp into, spirv::ModuleOp from) {
  for (NamedAttribute constants : constantsOf(from))
    addConstants(into, constants.getName(),
                 cast<DenseI32ArrayAttr>(constants.getValue()).asArrayRef());
  for (Operation &op : llvm::make_early_inc_range(*from.getBody())) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    Operation *known = symbol ? into.lookupSymbol(symbol.getName()) : nullptr;
    if (known && isa<spirv::FuncOp>(op))
      return fail(Code::Internal, "two parts have a kernel '" + symbol.getName().str() + "'");
    if (known)
      continue;
    if (isa<spirv::GlobalVariableOp>(op))
      op.moveBefore(into.getBody(), into.getBody()->begin());
    else
      op.moveBefore(into.getBody(), into.getBody()->end());
  }
  return {};
}

spirv::VerCapExtAttr tripleOf(const std::set<spirv::Capability> &capabilities,
                              MLIRContext *context) {
  bool cooperative = capabilities.contains(spirv::Capability::CooperativeMatrixKHR);
  SmallVector<spirv::Extension> extensions;
  if (cooperative)
    extensions.push_back(spirv::Extension::SPV_KHR_cooperative_matrix);
  if (capabilities.contains(spirv::Capability::BFloat16TypeKHR))
    extensions.push_back(spirv::Extension::SPV_KHR_bfloat16);
  return spirv::VerCapExtAttr::get(cooperative ? spirv::Version::V_1_6 : spirv::Version::V_1_5,
                                   llvm::to_vector(capabilities), extensions, context);
}

static spirv::VerCapExtAttr joined(spirv::VerCapExtAttr a, spirv::VerCapExtAttr b) {
  std::set<spirv::Capability> all(a.getCapabilities().begin(), a.getCapabilities().end());
  all.insert(b.getCapabilities().begin(), b.getCapabilities().end());
  return tripleOf(all, a.getContext());
}

Result<std::vector<uint8_t>> linkParts(std::span<const std::vector<uint8_t>> parts) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<spirv::SPIRVDialect>();
  OwningOpRef<spirv::ModuleOp> whole;
  for (const std::vector<uint8_t> &part : parts) {
    OwningOpRef<spirv::ModuleOp> module = readPart(context, part);
    if (!module || !module->getVceTriple())
      return fail(Code::Internal, "a part of " + std::to_string(part.size()) +
                                      " bytes is no SPIR-V module of this compiler");
    if (!whole) {
      whole = std::move(module);
      continue;
    }
    SINTER_TRY(join(*whole, *module));
    whole->setVceTripleAttr(joined(*whole->getVceTriple(), *module->getVceTriple()));
  }
  SmallVector<uint32_t> words;
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  if (!whole || failed(spirv::serialize(*whole, words, options)))
    return fail(Code::Internal, "the kernels could not be written as SPIR-V");
  appendConstants(*whole, words);
  const auto *bytes = reinterpret_cast<const uint8_t *>(words.data());
  return std::vector<uint8_t>(bytes, bytes + words.size() * sizeof(uint32_t));
}

} // namespace sinter::targets::vulkan
