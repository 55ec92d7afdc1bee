// Kernel cases, one by one or a list of them.
#include "tile/mlir_pch.h"

#include "compiler/kernel_pack.h"
#include "compiler/kernel_source.h"
#include "targets/registry.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace sinter::compiler {

Result<PreparedCase> prepareCase(const KernelOptions &options, const targets::Target &target,
                                 tile::KernelModule &source, CaseKind kind) {
  SINTER_TRY(keepKernel(source, options.source, options.kernel));
  tile::KernelOp kernel = *source.module().getOps<tile::KernelOp>().begin();
  SINTER_ASSIGN(std::vector<KernelArgument> arguments, makeArguments(kernel, options.request));
  SINTER_ASSIGN(hal::Grid grid, evaluateGrid(kernel, arguments));
  SINTER_ASSIGN(targets::CompiledModule code, targets::compileKernels(target, source.module()));
  SINTER_ASSIGN(hal::KernelCase launch,
                makeCase(code, target.name(), 0, grid, options.request.seed, arguments));
  PreparedCase prepared{std::move(launch), 0};
  prepared.launch.floor = options.floor;
  prepared.launch.operations = dotOperations(kernel, arguments, grid);
  if (kind == CaseKind::Time)
    return prepared;
  SINTER_ASSIGN(tile::RunStatistics statistics, interpret(kernel, arguments));
  prepared.programs = statistics.programs;
  size_t next = 0;
  for (KernelArgument &argument : arguments)
    if (isa<tile::ViewType>(argument.type))
      if (hal::CaseView &view = prepared.launch.views[next++]; view.written)
        view.expected = std::move(argument.bytes);
  return prepared;
}

// ---- lists ----

static Result<KernelOptions> parseLine(StringRef line) {
  SmallVector<StringRef> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  KernelOptions options{.action = KernelAction::Run, .source = ""};
  if (words.size() < 2 || (words[0] != "run" && words[0] != "bench"))
    return fail(Code::InvalidArgument, "found '" + line.str() +
                                           "', expected run or bench and a "
                                           "kernel");
  options.action = words[0] == "run" ? KernelAction::Run : KernelAction::Bench;
  options.source = words[1].str();
  for (size_t at = 2; at < words.size(); at += 2) {
    if (at + 1 == words.size())
      return fail(Code::InvalidArgument, "found " + words[at].str() + " without a value");
    std::string value = words[at + 1].str();
    if (words[at] == "--set")
      options.set.push_back(value);
    else if (words[at] == "--shape")
      options.shape.push_back(value);
    else if (words[at] == "--scalar")
      options.scalar.push_back(value);
    else if (words[at] == "--fill")
      options.fill.push_back(value);
    else if (words[at] == "--kernel")
      options.kernel = value;
    else if (!(words[at] == "--size" && !words[at + 1].getAsInteger(10, options.size)) &&
             !(words[at] == "--floor" && !words[at + 1].getAsDouble(options.floor)))
      return fail(Code::InvalidArgument, "found " + words[at].str() + " " + value +
                                             ", expected --set, --shape, --scalar, --fill, "
                                             "--kernel, or --size or --floor with a number");
  }
  return options;
}

static Result<hal::KernelCase> caseOf(StringRef line, const targets::Target &target) {
  SINTER_ASSIGN(KernelOptions options, parseLine(line));
  SINTER_TRY(readValues(options));
  SINTER_ASSIGN(tile::KernelModule source,
                loadKernels(options.source, options.settings, target.profile().kind));
  CaseKind kind = options.action == KernelAction::Run ? CaseKind::Check : CaseKind::Time;
  SINTER_ASSIGN(PreparedCase prepared, prepareCase(options, target, source, kind));
  prepared.launch.label = line.str();
  return std::move(prepared.launch);
}

static Result<void> writeFile(const std::string &path, ArrayRef<uint8_t> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error)
    return fail(Code::Permission, "cannot write '" + path + "': " + error.message());
  return {};
}

Result<void> packKernels(const KernelOptions &options) {
  SINTER_ASSIGN(std::unique_ptr<targets::Target> target, targets::findTarget(options.target));
  SINTER_ASSIGN(const std::string text, readSource(options.source));
  std::vector<hal::KernelCase> cases;
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  for (auto [number, raw] : llvm::enumerate(lines)) {
    StringRef line = raw.take_until([](char c) { return c == '#'; }).trim();
    if (line.empty())
      continue;
    Result<hal::KernelCase> one = caseOf(line, *target);
    if (!one)
      return fail(one.error().code,
                  options.source + ":" + std::to_string(number + 1) + ": " + one.error().message);
    cases.push_back(std::move(*one));
  }
  const std::vector<uint8_t> bundle = hal::writeBundle(cases);
  SINTER_TRY(hal::readBundle(bundle)); // none is written that would be refused
  llvm::errs() << cases.size() << " cases for " << target->name() << "\n";
  return writeFile(options.output, bundle);
}

} // namespace sinter::compiler
