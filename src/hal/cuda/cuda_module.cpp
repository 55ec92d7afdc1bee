// Assembling PTX, and checking that what a plan says of a kernel fits the kernel and the device.
#include "hal/cuda/cuda_module.h"

#include <charconv>
#include <vector>

namespace sinter::hal::cuda {
namespace {

constexpr std::size_t kLogBytes = 8192;
constexpr uint64_t kPlainSharedBytes = 48 << 10; // what a kernel gets without opting in

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

void *asOption(uintptr_t value) {
  return reinterpret_cast<void *>(value);
}

// One line of the assembler's log, which is a C string of several.
std::string oneLine(const char *log) {
  std::string text;
  for (const char *c = log; *c; ++c)
    text += *c == '\n' ? "; " : std::string(1, *c);
  while (!text.empty() && (text.back() == ' ' || text.back() == ';'))
    text.pop_back();
  return text;
}

std::string nameOf(const KernelSpec &spec) {
  return "kernel " + quoted(spec.symbol);
}

Result<uint64_t> attribute(Context &context, FunctionHandle function, FunctionAttribute attribute) {
  int32_t value = 0;
  SINTER_TRY(context.check(context.api().funcGetAttribute(&value, attribute, function),
                           "cuFuncGetAttribute"));
  return static_cast<uint64_t>(std::max(value, 0));
}

Result<CudaKernelResources> resourcesOf(Context &context, FunctionHandle function) {
  CudaKernelResources resources;
  SINTER_ASSIGN(const uint64_t registers, attribute(context, function, kFunctionRegisters));
  SINTER_ASSIGN(resources.staticSharedBytes,
                attribute(context, function, kFunctionStaticSharedBytes));
  SINTER_ASSIGN(resources.localBytesPerThread, attribute(context, function, kFunctionLocalBytes));
  SINTER_ASSIGN(const uint64_t threads, attribute(context, function, kFunctionMaxThreads));
  int32_t blocks = 0; // older drivers have no clusters
  if (context.api().funcGetAttribute(&blocks, kFunctionClusterWidth, function) == kSuccess)
    resources.programBlocks = static_cast<uint32_t>(std::max(blocks, 1));
  resources.registersPerThread = static_cast<uint32_t>(registers);
  resources.maxThreads = static_cast<uint32_t>(threads);
  return resources;
}

Result<void> checkCounts(const Context &context, const KernelSpec &spec) {
  if (spec.bufferCount > kMaxBindings)
    return fail(Code::InvalidArgument, nameOf(spec) + " takes " + std::to_string(spec.bufferCount) +
                                           " buffers, expected at most " +
                                           std::to_string(kMaxBindings));
  constexpr uint64_t kMost = kMaxParameterBytes / sizeof(uint64_t);
  if (uint64_t(spec.bufferCount) + spec.scalarCount > kMost)
    return fail(Code::InvalidArgument, nameOf(spec) + " takes " + std::to_string(spec.bufferCount) +
                                           " buffers and " + std::to_string(spec.scalarCount) +
                                           " scalars, expected at most " + std::to_string(kMost) +
                                           " of both");
  if (spec.scratchBytes)
    return unsupported(context.info(), Feature::Scratch);
  return {};
}

// That the code's own parameters are the spec's; older drivers cannot tell.
Result<void> checkParameters(Context &context, FunctionHandle function, const KernelSpec &spec) {
  if (!context.api().funcGetParamInfo)
    return {};
  const std::size_t count = spec.bufferCount + spec.scalarCount;
  std::size_t found = 0, offset = 0, bytes = 0;
  for (; found <= count; ++found) {
    if (context.api().funcGetParamInfo(function, found, &offset, &bytes) != kSuccess)
      break;
    if (offset != 8 * found || bytes != 8)
      return fail(Code::InvalidArgument,
                  nameOf(spec) + " has parameter " + std::to_string(found) + " of " +
                      std::to_string(bytes) + " bytes at byte " + std::to_string(offset) +
                      ", expected 8 bytes at byte " + std::to_string(8 * found));
  }
  if (found == count)
    return {};
  return fail(Code::InvalidArgument,
              nameOf(spec) + " has " + (found > count ? "more" : "fewer") +
                  " parameters than the " + std::to_string(spec.bufferCount) + " buffers and " +
                  std::to_string(spec.scalarCount) + " scalars that it is said to take");
}

Result<void> checkThreads(const Context &context, const KernelSpec &spec,
                          const CudaKernelResources &resources) {
  const uint32_t most = context.limits().maxThreads;
  if (spec.threads == 0)
    return fail(Code::InvalidArgument,
                nameOf(spec) + " has no threads, expected 1 to " + std::to_string(most));
  if (spec.threads > most)
    return fail(Code::Exhausted, nameOf(spec) + " has " + std::to_string(spec.threads) +
                                     " threads, device " + quoted(context.info().name) +
                                     " runs at most " + std::to_string(most) + " in a block");
  if (spec.threads > resources.maxThreads)
    return fail(Code::Exhausted,
                nameOf(spec) + " has " + std::to_string(spec.threads) + " threads, but with " +
                    std::to_string(resources.registersPerThread) +
                    " registers a thread and its own limits device " + quoted(context.info().name) +
                    " runs at most " + std::to_string(resources.maxThreads) + " in a block");
  return {};
}

// Kernels of one function share its limit, so it only grows.
Result<void> reserveShared(Context &context, FunctionHandle function, const KernelSpec &spec,
                           const CudaKernelResources &resources) {
  const uint64_t most = context.limits().maxSharedBytes;
  if (spec.sharedBytes > most || resources.staticSharedBytes > most - spec.sharedBytes)
    return fail(Code::Exhausted, nameOf(spec) + " shares " + std::to_string(spec.sharedBytes) +
                                     " and " + std::to_string(resources.staticSharedBytes) +
                                     " bytes in a block, device " + quoted(context.info().name) +
                                     " has " + std::to_string(most));
  if (spec.sharedBytes + resources.staticSharedBytes <= kPlainSharedBytes)
    return {};
  SINTER_ASSIGN(const uint64_t reserved,
                attribute(context, function, kFunctionMaxDynamicSharedBytes));
  if (spec.sharedBytes <= reserved)
    return {};
  return context.check(context.api().funcSetAttribute(function, kFunctionMaxDynamicSharedBytes,
                                                      static_cast<int32_t>(spec.sharedBytes)),
                       "cuFuncSetAttribute");
}

// Names and values side by side, as the library takes them.
struct JitList {
  std::vector<JitOption> names;
  std::vector<void *> values;

  void add(JitOption name, void *value) {
    names.push_back(name);
    values.push_back(value);
  }
};

void addOptions(const CudaAssembly &options, JitList &list) {
  list.add(kJitOptimisationLevel, asOption(options.optimisation));
  if (options.maxRegisters)
    list.add(kJitMaxRegisters, asOption(options.maxRegisters));
  if (options.lineInfo)
    list.add(kJitLineInfo, asOption(1));
  if (options.debugInfo)
    list.add(kJitDebugInfo, asOption(1));
}

struct Architecture {
  uint32_t capability; // 10 * major + minor
  char variant;        // 'a', 'f' or 0
};

std::optional<Architecture> parseTarget(std::string_view target) {
  constexpr std::string_view kPrefix = "cuda:sm_";
  if (!target.starts_with(kPrefix))
    return std::nullopt;
  target.remove_prefix(kPrefix.size());
  Architecture architecture = {0, 0};
  const char *end = target.data() + target.size();
  const auto [rest, error] = std::from_chars(target.data(), end, architecture.capability);
  if (error != std::errc() || end - rest > 1)
    return std::nullopt;
  if (rest != end)
    architecture.variant = *rest;
  const bool known = rest == end || *rest == 'a' || *rest == 'f';
  return known ? std::optional(architecture) : std::nullopt;
}

bool runsOn(const Architecture &made, uint32_t capability) {
  if (made.variant == 'a')
    return capability == made.capability;
  if (made.variant == 'f' && capability / 10 != made.capability / 10)
    return false;
  return capability >= made.capability;
}

} // namespace

Result<void> checkTarget(std::string_view target, const DeviceInfo &info, uint32_t capability) {
  const auto made = parseTarget(target);
  if (made && runsOn(*made, capability))
    return {};
  const bool exact = made && made->variant == 'a';
  return fail(Code::Unsupported, "code is for " + quoted(target) +
                                     (exact ? ", which no other device runs" : "") + ", device " +
                                     quoted(info.name) + " is " + quoted(info.target));
}

Result<std::shared_ptr<Assembly>> Assembly::load(Context &context, std::span<const uint8_t> ptx,
                                                 const CudaAssembly &options) {
  std::string text(ptx.begin(), ptx.end());
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  if (text.find('\0') != std::string::npos || text.find(".version") == std::string::npos)
    return fail(Code::Corrupt, "code of " + std::to_string(ptx.size()) +
                                   " bytes is not PTX, expected text with a .version");
  SINTER_TRY(context.enter());
  const OutsideOfCaptures outside(context.api());
  std::vector<char> log(kLogBytes);
  JitList list;
  list.add(kJitErrorLog, log.data());
  list.add(kJitErrorLogBytes, asOption(log.size() - 1));
  addOptions(options, list);
  if (context.api().splitsCompiles && !options.debugInfo)
    list.add(kJitSplitCompile, asOption(0));
  std::shared_ptr<Assembly> assembly(new Assembly(context));
  auto loaded =
      context.check(context.api().moduleLoadDataEx(&assembly->handle_, text.c_str(),
                                                   static_cast<uint32_t>(list.names.size()),
                                                   list.names.data(), list.values.data()),
                    "cuModuleLoadDataEx");
  if (loaded)
    return assembly;
  assembly->handle_ = nullptr;
  const std::string words = oneLine(log.data());
  return fail(loaded.error().code, loaded.error().message + (words.empty() ? "" : ": " + words));
}

Assembly::~Assembly() {
  if (!handle_ || !context_.enterToRelease())
    return;
  const OutsideOfCaptures outside(context_.api());
  (void)context_.check(context_.api().moduleUnload(handle_), "cuModuleUnload");
}

Result<FunctionHandle> Assembly::find(const std::string &symbol) const {
  FunctionHandle function = nullptr;
  const ApiResult error = context_.api().moduleGetFunction(&function, handle_, symbol.c_str());
  if (error == kNotFound)
    return fail(Code::NotFound, "code has no kernel " + quoted(symbol));
  SINTER_TRY(context_.check(error, "cuModuleGetFunction"));
  return function;
}

Result<std::unique_ptr<Kernel>> CudaModule::kernel(const KernelSpec &spec) {
  Context &context = code_->context();
  SINTER_TRY(checkCounts(context, spec));
  SINTER_TRY(context.enter());
  const OutsideOfCaptures outside(context.api());
  SINTER_ASSIGN(const FunctionHandle function, code_->find(spec.symbol));
  SINTER_TRY(checkParameters(context, function, spec));
  SINTER_ASSIGN(const CudaKernelResources resources, resourcesOf(context, function));
  SINTER_TRY(checkThreads(context, spec, resources));
  SINTER_TRY(reserveShared(context, function, spec, resources));
  return std::make_unique<CudaKernel>(spec, code_, function, resources);
}

} // namespace sinter::hal::cuda

namespace sinter::hal {

CudaKernelResources cudaKernelResources(const Kernel &kernel) {
  return static_cast<const cuda::CudaKernel &>(kernel).resources();
}

} // namespace sinter::hal
