// CLI11 behind one function: it throws, so its exceptions end here.
#include "compiler/graph_options.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace sinter::compiler {
namespace {

constexpr int kExitUsage = 2;

constexpr const char *kFooter = R"(
A graph is a function of graph operations (graph.input, graph.dot_general, graph.output, ...).
Inputs and weights that no --input names are random numbers of the seed; states are zero.

Exit codes: 0, done; 1, the graph or the environment is at fault; 2, the command line makes no sense.
)";

// "NAME=TEXT" into `texts`; CLI11 shows the message.
void addPair(const std::string &pair, std::map<std::string, std::string> &texts) {
  const size_t equals = pair.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw CLI::ValidationError("found '" + pair + "', expected NAME=VALUE");
  texts[pair.substr(0, equals)] = pair.substr(equals + 1);
}

int64_t extentOf(const std::string &name, const std::string &text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw CLI::ValidationError("size of '" + name + "' is '" + text + "', expected 0 or more");
  return value;
}

void addRun(CLI::App &app, GraphOptions &options, std::map<std::string, std::string> &sizes) {
  CLI::App *run = app.add_subcommand("run", "run a textual graph");
  run->add_option("FILE", options.file, "the graph, in MLIR's textual form")
      ->required()
      ->type_name("");
  run->add_option("--function", options.function, "which function of a file that has several")
      ->type_name("NAME");
  auto *evaluate = run->add_option("--evaluate", options.evaluate,
                                   "precision of the reference evaluator (default: f32)");
  evaluate->type_name("f32|f64")->check(CLI::IsMember({"f32", "f64"}));
  auto *target = run->add_option("--target", options.target,
                                 "compile for this target and execute on this machine's device");
  target->type_name("TARGET")->excludes(evaluate);
  run->add_flag("--compare", options.compare,
                "print the largest error of outputs and states beside the evaluator's in f32; fail "
                "where one is more than twice that")
      ->needs(target);
  run->add_option_function<std::string>(
         "--input", [&](const std::string &pair) { addPair(pair, options.inputs); },
         "a .npy file of an input, state or weight")
      ->type_name("NAME=FILE")
      ->trigger_on_parse();
  run->add_option_function<std::string>(
         "--size", [&](const std::string &pair) { addPair(pair, sizes); },
         "value of a symbol that no file binds: T=3")
      ->type_name("NAME=N")
      ->trigger_on_parse();
  run->add_option("--seed", options.seed, "of random inputs and weights (default: 1)")
      ->type_name("N");
  run->add_option("-o", options.output, "write outputs here as NAME.npy instead of printing them")
      ->type_name("FOLDER");
}

} // namespace

tl::expected<GraphOptions, GraphUsage> parseGraphOptions(int argc, const char *const *argv) {
  GraphOptions options;
  std::map<std::string, std::string> sizes;
  CLI::App app("Runs textual graphs.", "sinter-compiler graph");
  app.require_subcommand(1);
  addRun(app, options, sizes);
  app.footer(kFooter);
  try {
    app.parse(argc, argv);
    for (const auto &[name, text] : sizes)
      options.sizes[name] = extentOf(name, text);
  } catch (const CLI::CallForHelp &) {
    return tl::unexpected(GraphUsage{0, app.help("", CLI::AppFormatMode::All)});
  } catch (const CLI::Error &error) {
    return tl::unexpected(
        GraphUsage{kExitUsage, "sinter-compiler graph: " + std::string(error.what()) +
                                   "; see sinter-compiler graph --help\n"});
  }
  return options;
}

} // namespace sinter::compiler
