// Metadata read through LLVM's own verifier, then held against the kernels.
#include "tile/mlir_pch.h"

#include "targets/amd/code_object.h"
#include "targets/amd/metadata_notes.h"
#include "llvm/BinaryFormat/AMDGPUMetadataVerifier.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/BinaryFormat/MsgPackReader.h"

namespace sinter::targets::amd {

using llvm::msgpack::MapDocNode;

static constexpr int64_t kWordBytes = 8;
static constexpr size_t kMaxLevels = 16; // twice what metadata nest
static constexpr std::string_view kTriple = "amdgcn-amd-amdhsa--";

static Fail corrupt(const std::string &message) {
  return fail(Code::Corrupt, "code object: " + message);
}

// Names in maps are strings, and all values of kinds that metadata have: LLVM's document takes
// other names for granted.
static bool isPlain(llvm::StringRef text) {
  using llvm::msgpack::Type;
  struct Level {
    uint64_t left; // objects
    bool map;
  };
  llvm::msgpack::Reader reader(text);
  llvm::SmallVector<Level> levels{{1, false}};
  while (true) {
    while (levels.back().left == 0) {
      levels.pop_back();
      if (levels.empty())
        return true;
    }
    bool name = levels.back().map && levels.back().left % 2 == 0;
    llvm::msgpack::Object object;
    llvm::Expected<bool> read = reader.read(object);
    if (!read || !*read)
      return llvm::consumeError(read.takeError()), false;
    --levels.back().left;
    bool nests = object.Kind == Type::Map || object.Kind == Type::Array;
    if ((name && object.Kind != Type::String) || (nests && levels.size() == kMaxLevels))
      return false;
    if (nests)
      levels.push_back({object.Kind == Type::Map ? uint64_t(object.Length) * 2 : object.Length,
                        object.Kind == Type::Map});
    else if (!llvm::is_contained({Type::String, Type::Int, Type::UInt, Type::Boolean}, object.Kind))
      return false;
  }
}

// Zero where it is absent; the verifier has seen to what must be there, and to its kind.
static int64_t number(MapDocNode map, llvm::StringRef key) {
  auto found = map.find(key);
  if (found == map.end())
    return 0;
  if (found->second.getKind() == llvm::msgpack::Type::Int)
    return found->second.getInt();
  return static_cast<int64_t>(std::min<uint64_t>(found->second.getUInt(), INT64_MAX));
}

// All arguments are words in a row.
static Result<int64_t> countWords(MapDocNode kernel, const std::string &name) {
  int64_t count = 0;
  if (auto args = kernel.find(".args"); args != kernel.end())
    for (llvm::msgpack::DocNode arg : args->second.getArray()) {
      int64_t offset = number(arg.getMap(), ".offset"), size = number(arg.getMap(), ".size");
      if (offset != count * kWordBytes || size != kWordBytes)
        return corrupt("argument " + std::to_string(count) + " of kernel '" + name + "' has " +
                       std::to_string(size) + " bytes at " + std::to_string(offset) +
                       ", expected 8 at " + std::to_string(count * kWordBytes));
      ++count;
    }
  int64_t bytes = number(kernel, ".kernarg_segment_size");
  if (bytes != count * kWordBytes)
    return corrupt("kernel '" + name + "' has " + std::to_string(bytes) +
                   " bytes of arguments, expected " + std::to_string(count * kWordBytes));
  return count;
}

static Result<KernelMetadata> readKernel(MapDocNode map,
                                         const std::vector<std::string_view> &symbols) {
  KernelMetadata kernel;
  kernel.name = map[".name"].getString().str();
  llvm::StringRef symbol = map[".symbol"].getString();
  if (!llvm::is_contained(symbols, std::string_view(symbol.data(), symbol.size())))
    return corrupt("kernel '" + kernel.name + "' has no descriptor '" + symbol.str() + "'");
  SINTER_ASSIGN(kernel.words, countWords(map, kernel.name));
  kernel.threads = number(map, ".max_flat_workgroup_size");
  kernel.subgroup = number(map, ".wavefront_size");
  kernel.sharedBytes = number(map, ".group_segment_fixed_size");
  kernel.scratchBytes = number(map, ".private_segment_fixed_size");
  kernel.vectorRegisters = number(map, ".vgpr_count");
  kernel.accumulators = number(map, ".agpr_count");
  kernel.scalarRegisters = number(map, ".sgpr_count");
  kernel.vectorSpills = number(map, ".vgpr_spill_count");
  kernel.scalarSpills = number(map, ".sgpr_spill_count");
  return kernel;
}

Result<CodeObject> readCodeObject(std::span<const uint8_t> bytes) {
  SINTER_ASSIGN(std::vector<std::string_view> notes, metadataNotes(bytes));
  if (notes.size() != 1)
    return corrupt("found " + std::to_string(notes.size()) + " notes of metadata, expected 1");
  SINTER_ASSIGN(std::vector<std::string_view> symbols, definedSymbols(bytes));
  llvm::StringRef text(notes[0].data(), notes[0].size());
  llvm::msgpack::Document document;
  if (!isPlain(text) || !document.readFromBlob(text, /*Multi=*/false))
    return corrupt("its metadata are no plain MessagePack");
  if (!llvm::AMDGPU::HSAMD::V3::MetadataVerifier(/*Strict=*/true).verify(document.getRoot()))
    return corrupt("its metadata lack what they must have");
  MapDocNode root = document.getRoot().getMap();
  CodeObject object;
  if (auto target = root.find("amdhsa.target"); target != root.end() && target->second.isString())
    object.target = target->second.getString().str();
  for (llvm::msgpack::DocNode kernel : root["amdhsa.kernels"].getArray()) {
    SINTER_ASSIGN(KernelMetadata read, readKernel(kernel.getMap(), symbols));
    object.kernels.push_back(std::move(read));
  }
  return object;
}

// ---- held against the kernels ----

static Result<void> checkKernel(const KernelMetadata &found, const EmittedKernel &emitted,
                                const AmdFacts &facts) {
  auto differs = [&](const char *what, int64_t is, int64_t expected) {
    return fail(Code::Internal, "kernel '" + found.name + "' has " + std::to_string(is) + " " +
                                    what + " in its code object, expected " +
                                    std::to_string(expected));
  };
  int64_t words = emitted.bufferCount + emitted.scalarCount;
  if (found.words != words)
    return differs("arguments", found.words, words);
  if (found.threads != emitted.threads)
    return differs("threads", found.threads, emitted.threads);
  if (found.subgroup != facts.subgroup)
    return differs("threads in a subgroup", found.subgroup, facts.subgroup);
  if (found.sharedBytes != 0 && found.sharedBytes != emitted.sharedBytes)
    return differs("bytes of shared memory", found.sharedBytes, emitted.sharedBytes);
  if (found.sharedBytes > facts.sharedBytes)
    return fail(Code::Unsupported, "kernel '" + found.name + "' needs " +
                                       std::to_string(found.sharedBytes) +
                                       " bytes of shared memory, expected at most " +
                                       std::to_string(facts.sharedBytes));
  return {};
}

Result<void> checkCodeObject(const CodeObject &object, std::span<const EmittedKernel> kernels,
                             const AmdFacts &facts) {
  std::string target = std::string(kTriple) + std::string(facts.processor);
  if (object.target != target)
    return fail(Code::Internal,
                "found a code object for '" + object.target + "', expected '" + target + "'");
  if (object.kernels.size() != kernels.size())
    return fail(Code::Internal, "found " + std::to_string(object.kernels.size()) +
                                    " kernels in a code object, expected " +
                                    std::to_string(kernels.size()));
  for (const EmittedKernel &emitted : kernels) {
    auto found = llvm::find_if(
        object.kernels, [&](const KernelMetadata &one) { return one.name == emitted.symbol; });
    if (found == object.kernels.end())
      return fail(Code::Internal, "a code object lacks kernel '" + emitted.symbol + "'");
    SINTER_TRY(checkKernel(*found, emitted, facts));
  }
  return {};
}

// ---- resources ----

std::string spillText(const KernelMetadata &kernel, const AmdFacts &facts) {
  if (kernel.scratchBytes == 0) // spilled registers lie in others then, of matrix instructions
    return "";
  return "kernel '" + kernel.name + "' keeps " + std::to_string(kernel.scratchBytes) +
         " bytes of each thread in memory, " + std::to_string(kernel.vectorSpills) +
         " spilled registers among them, expected its values to fit the " +
         std::to_string(facts.registers) + " registers of a thread: smaller tiles take fewer";
}

int64_t subgroupsPerSimd(const KernelMetadata &kernel, const AmdFacts &facts) {
  int64_t registers =
      llvm::alignTo(std::max<int64_t>(kernel.vectorRegisters, 1), facts.registerGranule);
  int64_t most = std::min(facts.subgroupsPerSimd, facts.registerFile / registers);
  int64_t ofBlock = llvm::divideCeil(std::max<int64_t>(kernel.threads, 1), facts.subgroup);
  int64_t blocks = most * facts.simds / ofBlock;
  if (kernel.sharedBytes > 0)
    blocks = std::min(blocks, facts.sharedBytes / kernel.sharedBytes);
  return std::min<int64_t>(most, llvm::divideCeil(blocks * ofBlock, facts.simds));
}

std::string resourcesText(const CodeObject &object, const AmdFacts &facts) {
  std::string text;
  for (const KernelMetadata &k : object.kernels) {
    text += k.name + ": " + std::to_string(k.threads) + " threads, " +
            std::to_string(k.vectorRegisters) + " vector registers (" +
            std::to_string(k.accumulators) + " accumulators) and " +
            std::to_string(k.vectorSpills) + " spilled each, " + std::to_string(k.scalarRegisters) +
            " scalar registers and " + std::to_string(k.scalarSpills) + " spilled, " +
            std::to_string(k.sharedBytes) + " bytes of shared memory, " +
            std::to_string(subgroupsPerSimd(k, facts)) + " of " +
            std::to_string(facts.subgroupsPerSimd) + " subgroups a SIMD unit\n";
  }
  return text;
}

} // namespace sinter::targets::amd
