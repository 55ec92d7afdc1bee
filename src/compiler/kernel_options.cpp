// The options of the kernel command.
#include "tile/mlir_pch.h"

#include "compiler/kernel_options.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace sinter::compiler {

namespace {
struct CommandLine {
  cl::OptionCategory category{"sinter kernel"};
  cl::SubCommand run{"run", "compile a kernel, run it and compare it with the interpreter"};
  cl::SubCommand bench{"bench", "time a compiled kernel"};
  cl::SubCommand emit{"emit", "print stages of a kernel, from the tile form to the target's code"};
  cl::SubCommand pack{"pack",
                      "compile the kernels of a list into a file that sinter kernel run and "
                      "bench take on a machine without a compiler"};
  cl::SubCommand build{"build",
                       "compile a C++ kernel source against include/sinter to the textual form"};
  cl::SubCommand list{"list", "list the registered kernels and their settings"};
  cl::opt<std::string> source{cl::Positional,
                              cl::desc("<name | FILE.tile | FILE.cpp; pack: FILE of lines "
                                       "'run|bench name --set a=b --shape x=AxB'>"),
                              cl::Required,
                              cl::cat(category),
                              cl::sub(run),
                              cl::sub(bench),
                              cl::sub(emit),
                              cl::sub(build),
                              cl::sub(pack)};
  cl::list<std::string> set{"set",
                            cl::desc("a setting of a registered kernel: block_m=32"),
                            cl::cat(category),
                            cl::sub(run),
                            cl::sub(bench),
                            cl::sub(emit)};
  cl::list<std::string> shape{"shape", cl::desc("extents of a view: x=128x512"), cl::cat(category),
                              cl::sub(run), cl::sub(bench)};
  cl::list<std::string> scalar{"scalar", cl::desc("value of a scalar argument: eps=1e-5"),
                               cl::cat(category), cl::sub(run), cl::sub(bench)};
  cl::list<std::string> fill{"fill",
                             cl::desc("whole numbers of an i32 view, by columns of its last axis "
                                      "as start[+step][/each][%modulus] of the row: pages=0+1"),
                             cl::cat(category), cl::sub(run), cl::sub(bench)};
  cl::opt<int64_t> size{"size",        cl::desc("every dynamic extent not given by --shape"),
                        cl::init(256), cl::cat(category),
                        cl::sub(run),  cl::sub(bench)};
  cl::opt<unsigned> threads{"threads",    cl::desc("threads of a cpu device (0: all)"),
                            cl::init(0),  cl::cat(category),
                            cl::sub(run), cl::sub(bench)};
  cl::opt<double> floor{
      "floor", cl::desc("share of the largest magnitude by which any element may differ (2^-16)"),
      cl::init(KernelOptions().floor), cl::cat(category), cl::sub(run)};
  cl::opt<unsigned> seconds{"seconds", cl::desc("how long to measure"), cl::init(1),
                            cl::cat(category), cl::sub(bench)};
  cl::opt<std::string> stage{
      "emit",
      cl::desc("print these stages, comma separated: tile, layout, sched and "
               "what the target has: llvm, asm, ptx, sass, gcn, spirv, msl"),
      cl::cat(category),
      cl::sub(run),
      cl::sub(bench),
      cl::sub(emit)};
  cl::alias stageAlias{"stage", cl::desc("the same as --emit"), cl::aliasopt(stage),
                       cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("host, avx2, avx512vnni, dotprod, cuda:sm_90a and so on; the device's "
               "unless given"),
      cl::cat(category),
      cl::sub(run),
      cl::sub(bench),
      cl::sub(emit),
      cl::sub(pack)};
  cl::alias level{"level", cl::desc("the same as --target"), cl::aliasopt(target),
                  cl::cat(category)};
  cl::opt<std::string> device{"device",
                              cl::desc("what it runs on: cpu or cuda; the target's unless "
                                       "given"),
                              cl::cat(category), cl::sub(run), cl::sub(bench)};
  cl::opt<bool> resources{
      "resources",       cl::desc("print registers, spills and shared memory of each kernel"),
      cl::cat(category), cl::sub(run),
      cl::sub(bench),    cl::sub(emit)};
  cl::opt<std::string> deviceFlags{
      "device-flags",    cl::desc("flags for the device's assembler: ptxas, or the driver's own"),
      cl::cat(category), cl::sub(run),
      cl::sub(bench),    cl::sub(emit)};
  cl::opt<std::string> output{"o", cl::desc("write here instead of standard output"),
                              cl::cat(category), cl::sub(build), cl::sub(pack)};

  KernelOptions read(KernelAction action) const {
    return {.action = action,
            .source = source,
            .set = {set.begin(), set.end()},
            .shape = {shape.begin(), shape.end()},
            .scalar = {scalar.begin(), scalar.end()},
            .fill = {fill.begin(), fill.end()},
            .size = size,
            .floor = floor,
            .threads = threads,
            .seconds = seconds,
            .stages = stage,
            .target = target,
            .device = device,
            .deviceFlags = deviceFlags,
            .resources = resources || !deviceFlags.empty(),
            .output = output};
  }
};
} // namespace

int withKernelOptions(int argc, char **argv, llvm::function_ref<int(const KernelOptions &)> act) {
  CommandLine line;
  const std::pair<cl::SubCommand *, KernelAction> actions[] = {
      {&line.run, KernelAction::Run},     {&line.bench, KernelAction::Bench},
      {&line.emit, KernelAction::Emit},   {&line.pack, KernelAction::Pack},
      {&line.build, KernelAction::Build}, {&line.list, KernelAction::List}};
  cl::HideUnrelatedOptions(line.category);
  for (auto [sub, action] : actions)
    cl::HideUnrelatedOptions(line.category, *sub);
  if (!cl::ParseCommandLineOptions(argc, argv,
                                   "sinter kernel: compile, run, time and print single kernels\n",
                                   &llvm::errs(), nullptr, nullptr, false))
    return 2;
  for (auto [sub, action] : actions)
    if (*sub)
      return act(line.read(action));
  llvm::errs()
      << "sinter kernel: expected run, bench, emit, pack, build or list; see sinter kernel "
         "--help\n";
  return 2;
}

Result<kernels::Settings> parseSettings(const std::vector<std::string> &list) {
  kernels::Settings settings;
  for (StringRef item : list) {
    auto [name, value] = item.split('=');
    if (value.empty())
      return fail(Code::InvalidArgument, "found --set " + item.str() + ", expected name=value");
    settings[name.str()] = value.str();
  }
  return settings;
}

// start[+step | -step][/each][%modulus]
static std::optional<FillTerm> parseTerm(StringRef text) {
  FillTerm term;
  if (text.consumeInteger(10, term.start))
    return std::nullopt;
  for (auto [sign, number] :
       {std::pair('+', &term.step), {'/', &term.each}, {'%', &term.modulus}}) {
    bool down = sign == '+' && text.starts_with("-");
    if (!down && !text.consume_front(StringRef(&sign, 1)))
      continue;
    if (text.consumeInteger(10, *number) || (sign != '+' && *number < 1))
      return std::nullopt;
  }
  return text.empty() ? std::optional(term) : std::nullopt;
}

static Result<void> parseFill(StringRef item, ArgumentRequest &request) {
  auto [name, text] = item.split('=');
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  std::vector<FillTerm> terms;
  for (StringRef part : parts)
    if (std::optional<FillTerm> term = parseTerm(part))
      terms.push_back(*term);
    else
      return fail(Code::InvalidArgument,
                  "found --fill " + item.str() +
                      ", expected name=start[+step][/each][%modulus], one term a column");
  request.fills[name.str()] = std::move(terms);
  return {};
}

Result<ArgumentRequest> parseRequest(const KernelOptions &options) {
  ArgumentRequest request;
  request.size = options.size;
  if (options.size < 0)
    return fail(Code::InvalidArgument,
                "found --size " + std::to_string(options.size) + ", expected 0 or more");
  for (StringRef item : options.shape) {
    auto [name, text] = item.split('=');
    SmallVector<StringRef> parts;
    text.split(parts, 'x');
    std::vector<int64_t> extents;
    for (StringRef part : parts)
      if (int64_t extent; part.getAsInteger(10, extent) || extent < 0)
        return fail(Code::InvalidArgument,
                    "found --shape " + item.str() + ", expected name=AxB with whole numbers");
      else
        extents.push_back(extent);
    request.shapes[name.str()] = extents;
  }
  for (StringRef item : options.fill)
    SINTER_TRY(parseFill(item, request));
  for (StringRef item : options.scalar) {
    auto [name, text] = item.split('=');
    if (double value; text.getAsDouble(value))
      return fail(Code::InvalidArgument, "found --scalar " + item.str() + ", expected name=number");
    else
      request.scalars[name.str()] = value;
  }
  return request;
}

} // namespace sinter::compiler
