// CLI11 behind one function: it throws, so its exceptions end here.
#include "base/nearest.h"
#include "compiler/kernel_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace sinter::compiler {
namespace {

constexpr int kExitUsage = 2;

constexpr const char *kFooter = R"(
Exit codes: 0, done; 1, the source or the environment is at fault, or an output is beyond its
bound; 2, the command line makes no sense.

SINTER_COMPILE_SECONDS bounds how long a C++ source may take to compile, and to define its
kernels (default: 120 each).
)";

// Each time that the option is given adds one text.
void addTexts(CLI::App &command, const char *name, std::vector<std::string> &texts,
              const char *description, const char *type) {
  command
      .add_option_function<std::string>(
          name, [&texts](const std::string &text) { texts.push_back(text); }, description)
      ->type_name(type)
      ->trigger_on_parse();
}

void addText(CLI::App &command, const char *name, std::string &text, const char *description,
             const char *type) {
  command.add_option(name, text, description)->type_name(type);
}

void addSource(CLI::App &command, KernelOptions &options, const char *description) {
  command.add_option("SOURCE", options.source, description)->required()->type_name("");
}

constexpr const char *kSource = "a registered kernel's name, a .tile file or a .cpp source";

void addTarget(CLI::App &command, KernelOptions &options) {
  addText(
      command, "--target,--level", options.target,
      "host, avx2, avx512vnni, dotprod, cuda:sm_90a and so on; cuda, vulkan, amd or metal alone: "
      "this machine's device, else one that most devices run (default: the device's; pack needs "
      "one)",
      "NAME");
}

void addKernel(CLI::App &command, KernelOptions &options) {
  addSource(command, options, kSource);
  addText(command, "--kernel", options.kernel, "which kernel of a source that has several", "NAME");
  addTexts(command, "--set", options.set, "a setting of a registered kernel: block_m=32", "S=V");
  addText(command, "--emit,--stage", options.stages,
          "print these stages, with commas between: tile, layout, sched and what the target has: "
          "llvm, asm, ptx, sass, gcn, spirv, msl",
          "LIST");
  addTarget(command, options);
  command.add_flag("--resources", options.resources,
                   "print registers, spills and shared memory of each kernel");
  addText(command, "--device-flags", options.deviceFlags,
          "flags for the device's assembler: ptxas, or the driver's own", "FLAGS");
}

void addLaunch(CLI::App &command, KernelOptions &options) {
  addKernel(command, options);
  addTexts(command, "--shape", options.shape, "extents of a view: x=128x512", "X=AxB");
  addTexts(command, "--scalar", options.scalar, "value of a scalar argument: eps=1e-5", "S=V");
  addTexts(command, "--fill", options.fill,
           "whole numbers of an i32 view, by columns of its last axis as "
           "start[+step][/each][%modulus] of the row: pages=0+1",
           "X=TERMS");
  command
      .add_option("--size", options.size,
                  "every dynamic extent not given by --shape (default: 256)")
      ->type_name("N");
  command.add_option("--threads", options.threads, "threads of a cpu device (default: all)")
      ->type_name("N");
  addText(command, "--device", options.device,
          "what it runs on: cpu or cuda (default: the target's)", "NAME");
}

void addCommands(CLI::App &app, KernelOptions &options) {
  CLI::App *run =
      app.add_subcommand("run", "compile a kernel, run it and compare it with the interpreter");
  addLaunch(*run, options);
  run->add_option("--floor", options.floor,
                  "share of the largest magnitude by which any element may differ (default: "
                  "2^-16)")
      ->type_name("SHARE");
  CLI::App *bench = app.add_subcommand("bench", "time a compiled kernel");
  addLaunch(*bench, options);
  bench->add_option("--seconds", options.seconds, "how long to measure (default: 1)")
      ->type_name("N");
  addKernel(*app.add_subcommand(
                "emit", "print stages of a kernel, from the tile form to the target's code"),
            options);
  CLI::App *pack = app.add_subcommand(
      "pack", "compile the kernels of a list into a file that `sinter kernel run` and `bench` take "
              "where there is no compiler");
  addSource(*pack, options, "a file of lines `run|bench NAME --set a=b --shape x=AxB`");
  addTarget(*pack, options);
  addText(*pack, "-o", options.output, "the file to write", "FILE");
  CLI::App *build = app.add_subcommand(
      "build", "compile a C++ kernel source against include/sinter to the textual form");
  addSource(*build, options, "a .cpp source");
  addText(*build, "-o", options.output, "write here instead of to standard output", "FILE");
  app.add_subcommand("list", "list the registered kernels and their settings");
}

std::string lowered(std::string text) {
  if (text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text.substr(0, text.find('\n'));
}

const CLI::App *chosen(const CLI::App &app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? nullptr : commands.front();
}

// The option or command that `stranger` is nearest to, as a hint.
std::string hintFor(const CLI::App &command, const std::string &stranger) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  for (const CLI::App *each : command.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(each->get_name());
  return nearestHint(stranger.substr(0, stranger.find('=')), names);
}

// What nobody asked for is the better reason than what is missing, which CLI11 looks at first.
KernelUsage usageError(const CLI::App &app, const std::string &what) {
  const CLI::App *command = chosen(app);
  const std::vector<std::string> strangers = app.remaining(true);
  std::string reason = command ? lowered(what) : "expected run, bench, emit, pack, build or list";
  if (!strangers.empty())
    reason = "'" + strangers.front() + "' was not expected" +
             hintFor(command ? *command : app, strangers.front());
  return {kExitUsage, "sinter kernel: " + reason + "; see sinter kernel " +
                          (command ? command->get_name() + " " : "") + "--help\n"};
}

KernelAction actionOf(const std::string &name) {
  constexpr std::pair<std::string_view, KernelAction> kActions[] = {
      {"run", KernelAction::Run},   {"bench", KernelAction::Bench}, {"emit", KernelAction::Emit},
      {"pack", KernelAction::Pack}, {"build", KernelAction::Build}, {"list", KernelAction::List}};
  return std::ranges::find(kActions, name, &std::pair<std::string_view, KernelAction>::first)
      ->second;
}

} // namespace

tl::expected<KernelOptions, KernelUsage> splitKernelOptions(int argc, const char *const *argv) {
  KernelOptions options;
  CLI::App app("Compiles, runs, times and prints single kernels.", "sinter kernel");
  app.require_subcommand(1);
  addCommands(app, options);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    const CLI::App *command = chosen(app);
    return tl::unexpected(KernelUsage{0, command ? command->help("sinter kernel") : app.help()});
  } catch (const CLI::ParseError &error) {
    return tl::unexpected(usageError(app, error.what()));
  }
  options.action = actionOf(chosen(app)->get_name());
  options.resources |= !options.deviceFlags.empty();
  return options;
}

} // namespace sinter::compiler
