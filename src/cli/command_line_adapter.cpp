// CLI11 behind one function: it throws, so its exceptions end here.
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cctype>

namespace sinter::cli {
namespace {

constexpr const char *kFooter = R"(
MODEL is the path of a .gguf file, or smollm2: the model that ./demo fetches to
${XDG_CACHE_HOME:-~/.cache}/sinter/models/smollm2.gguf.

Examples:
  sinter run smollm2                              a chat in the terminal
  sinter run smollm2 -p "Why is the sky blue?"    one answer, to a pipe too
  sinter bench smollm2 --prompt 512 --gen 128 --threads 2 --json
  sinter kernel --help                            single kernels: run, bench, emit

Only answers and results go to stdout; progress, statistics and errors go to stderr.
A model is compiled once, by the program sinter-compiler beside this one, in a child
process; its plan is kept in ${XDG_CACHE_HOME:-~/.cache}/sinter.

Exit codes:
  0    done
  1    the input or the environment is at fault: a missing or damaged file, no memory,
       a compiler that failed
  2    the command line makes no sense
  130  interrupted by Ctrl-C

Environment:
  SINTER_COMPILER  the compiler to start instead of the one beside this program
  XDG_CACHE_HOME   where models and plans are kept, instead of ~/.cache)";

void addModel(CLI::App &command, CommandLine &line) {
  command.add_option("MODEL", line.model, "a .gguf file, or smollm2")->required();
  command
      .add_option("--threads", line.threads, "threads to use (default: all this process may use)")
      ->type_name("N");
}

void addContext(CLI::App &command, CommandLine &line) {
  command
      .add_option("--context", line.context,
                  "tokens that prompt and answer may have together (default: the model's own, at "
                  "most 8192)")
      ->type_name("N");
}

void addRun(CLI::App &app, CommandLine &line) {
  CLI::App *run = app.add_subcommand("run", "answer a prompt, or chat");
  run->description("Answers one prompt, or opens a chat when standard input is a terminal and no "
                   "prompt is given.\nWithout -p and without a terminal the prompt is read from "
                   "standard input.");
  addModel(*run, line);
  addContext(*run, line);
  run->add_option("-p,--prompt", line.prompt, "the prompt")->type_name("TEXT");
  run->add_option("-n,--tokens", line.tokens,
                  "at most so many tokens an answer (default: no limit)")
      ->type_name("N");
  run->add_option("--temp", line.temperature,
                  "temperature; only 0 exists so far: the likeliest token each time")
      ->type_name("0");
  run->add_flag("--raw", line.raw,
                "give the prompt to the model as it stands, without its template");
}

void addBench(CLI::App &app, CommandLine &line) {
  CLI::App *bench = app.add_subcommand("bench", "measure speed and memory");
  bench->description(
      "Measures, in this process, the time from its start to the first token of a 16-token\n"
      "prompt, then prefill and decode as medians of --repeat runs each. Decoding starts after\n"
      "the prompt, so at a depth of --prompt tokens.");
  addModel(*bench, line);
  addContext(*bench, line);
  bench->add_option("--prompt", line.prompt, "tokens of the prompt (default: 512)")->type_name("N");
  bench->add_option("--gen", line.generate, "tokens to generate (default: 128)")->type_name("N");
  bench->add_option("--repeat", line.repeat, "runs to take the median of (default: 3)")
      ->type_name("N");
  bench->add_flag("--json", line.json, "print one JSON object instead of a table");
}

void addOthers(CLI::App &app, CommandLine &line) {
  CLI::App *explain = app.add_subcommand("explain", "show a model's kernels and their times");
  explain->description("Shows each kernel of a step of --prompt tokens and of a step of one token: "
                       "launches, bytes,\noperations, the time that memory alone would take, and "
                       "the measured time.");
  addModel(*explain, line);
  explain->add_option("--prompt", line.prompt, "tokens of the first step (default: 512)")
      ->type_name("N");
  CLI::App *perplexity = app.add_subcommand("perplexity", "score a text");
  perplexity->description(
      "Cuts the text into windows and scores the second half of each, as llama-perplexity does.");
  addModel(*perplexity, line);
  perplexity->add_option("FILE", line.file, "the text")->required();
  perplexity->add_option("--window", line.window, "tokens of a window (default: 512)")
      ->type_name("N");
  app.add_subcommand("devices", "list the devices of this machine");
  // Handled before the command line is split: sinter-compiler has its own options.
  app.add_subcommand("kernel", "work on one kernel (sinter kernel --help)");
}

std::string lowered(std::string text) {
  if (text.size() > 1 && !std::isupper(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

// The subcommand in use, or the program itself.
const CLI::App &deepest(const CLI::App &app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

Message usageError(const CLI::App &app, const std::string &what) {
  const CLI::App &command = deepest(app);
  const std::string name =
      &command == &app ? std::string("sinter") : "sinter " + command.get_name();
  return {kExitUsage, "sinter: " + lowered(what) + "; see " + name + " --help\n"};
}

} // namespace

tl::expected<CommandLine, Message> splitCommandLine(std::span<const char *const> argv) {
  CommandLine line;
  CLI::App app("Sinter runs AI models by compiling them for the processor at hand.", "sinter");
  app.footer(kFooter);
  app.set_version_flag("--version", "sinter " SINTER_VERSION);
  app.require_subcommand(1);
  addRun(app, line);
  addBench(app, line);
  addOthers(app, line);
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::CallForHelp &) {
    const CLI::App &command = deepest(app);
    return tl::unexpected(
        Message{kExitOk, command.help(&command == &app ? "" : "sinter " + command.get_name())});
  } catch (const CLI::CallForVersion &) {
    return tl::unexpected(Message{kExitOk, "sinter " SINTER_VERSION "\n"});
  } catch (const CLI::ParseError &error) {
    return tl::unexpected(usageError(app, error.what()));
  }
  line.command = deepest(app).get_name();
  return line;
}

} // namespace sinter::cli
