// CLI11 behind one function: it throws, so its exceptions end here.
#include "base/nearest.h"
#include "cli/command_line.h"
#include "llm/pooling.h"
#include "numeric/precision.h"

#include <CLI/CLI.hpp>
#include <cctype>

namespace sinter::cli {
namespace {

constexpr const char *kFooter = R"(
MODEL is the path of a .gguf file, or the name of a model that `sinter list` shows: one that
`sinter pull` fetched, or smollm2, which ./demo fetches. They are kept in
${XDG_CACHE_HOME:-~/.cache}/sinter/models.

Examples:
  sinter run smollm2                              a chat in the terminal
  sinter run smollm2 -p "Why is the sky blue?"    one answer, to a pipe too
  sinter bench smollm2 --prompt 512 --gen 128 --threads 2 --json
  sinter run smollm2 --device cuda                on a GPU
  sinter doctor                                   what this machine lacks, and how to mend it
  sinter compile smollm2 --target cuda:sm_90a,cpu -o smollm2.plan
  sinter tune smollm2 --budget 60                 its fastest schedules on this machine
  sinter quantize MODEL --type Q4_K_M -o SMALL.gguf
  sinter pull hf.co/OWNER/REPOSITORY:Q4_K_M       fetches a model
  sinter serve smollm2 --port 8080                answers OpenAI's and Ollama's clients
  sinter bench serve --url http://127.0.0.1:8080 --rate 1,2,4     how fast it answers
  sinter tokenize smollm2 -p "Why?"               its tokens
  sinter kernel --help                            single kernels: run, bench, emit

Only answers and results go to standard output; progress, figures and errors go to standard
error. What controls a terminal is not sent to one.
A model is compiled once, by the program sinter-compiler beside this one, in a child
process; its plan is kept in ${XDG_CACHE_HOME:-~/.cache}/sinter, and so are, for CPUs, its
weights as kernels read them: at most 16 GiB of all models, and a tenth of the disk.

Exit codes:
  0    done
  1    the input or the environment is at fault: a missing or damaged file, no memory,
       a compiler that failed
  2    the command line makes no sense
  3    with --keep-going: some targets could not be compiled, the others' plans are written
  130  interrupted by Ctrl-C; 128 + N in general when signal N ended it, 141 where nobody
       reads the output any more, as in `sinter run MODEL -p Hi | head -1`

Environment:
  SINTER_COMPILER         the compiler to start instead of the one beside this program
  SINTER_COMPILE_SECONDS  how long the compiler may take (default: 600)
  XDG_CACHE_HOME          where models and plans are kept, instead of ~/.cache
  XDG_STATE_HOME          where the lines of chats are kept, instead of ~/.local/state
)";

constexpr const char *kChatFooter = R"(
In a chat, /help lists the commands, /set changes the options for choosing tokens, Ctrl-C stops
an answer, Ctrl-D leaves. Its lines are kept in ${XDG_STATE_HOME:-~/.local/state}/sinter/history.
)";

// As given, an empty text too; the types of CLI11 that know "not given" take "" and "{}" for it.
CLI::Option *addText(CLI::App &command, const char *name, std::optional<std::string> &value,
                     const std::string &description, const char *type = "N") {
  return command
      .add_option_function<std::string>(
          name, [&value](const std::string &text) { value = text; }, description)
      ->type_name(type);
}

void addModelName(CLI::App &command, CommandLine &line) {
  command.add_option("MODEL", line.model, "a .gguf file, or a model's name")
      ->required()
      ->type_name("");
}

void addPrecision(CLI::App &command, CommandLine &line) {
  addText(command, "--kv-type", line.kvType,
          "KV cache type, one of " + kvTypeNames() + " (default: " + std::string(kDefaultKvType) +
              ", or the plan's own)",
          "TYPE");
  addText(command, "--activations", line.activations,
          "activation precision of matmuls, one of " + activationsNames() +
              " (default: " + std::string(kDefaultActivations) + ", or the plan's own)",
          "NAME");
}

void addOverlap(CLI::App &command, CommandLine &line) {
  addText(
      command, "--overlap", line.overlap,
      "begin decode steps from the device's guesses (default: on where the plan has such steps)",
      "on|off");
}

void addModel(CLI::App &command, CommandLine &line) {
  addModelName(command, line);
  addText(command, "--device", line.device,
          "auto, cpu, cuda, vulkan, cuda:1 for the second (default: a hardware GPU, "
          "else cpu)",
          "NAME");
  addText(command, "--plan", line.plan,
          "a plan made by `sinter compile`; it holds code, so trust it like a program", "FILE");
  addText(command, "--threads", line.threads,
          "threads to use (default: all that this process may use)");
  command.add_flag("--no-weight-cache", line.noWeightCache,
                   "pack weights into memory again instead of keeping them, packed, beside the "
                   "plans");
  addPrecision(command, line);
}

void addContext(CLI::App &command, CommandLine &line) {
  addText(command, "--context", line.context,
          "tokens that prompt and answer may have together (default: the model's own, at most "
          "8192)");
}

// CLI11 calls back for each time that an option is given, in their order.
void addSampling(CLI::App &command, SamplingTexts &texts) {
  for (const SamplingOption &option : samplingOptions()) {
    const std::string name = option.name;
    command
        .add_option_function<std::string>(
            "--" + name,
            [&texts, name, list = option.isList](const std::string &text) {
              if (list)
                texts.lists[name].push_back(text);
              else
                texts.values[name] = text;
            },
            option.help)
        ->type_name(option.type)
        ->group(option.group)
        ->trigger_on_parse(option.isList);
  }
}

void addChat(CLI::App &command, CommandLine &line) {
  constexpr const char *kGroup = "Chat template";
  const auto add = [&](const char *name, std::optional<std::string> &value, const char *type,
                       const std::string &help) {
    addText(command, name, value, help, type)->group(kGroup);
  };
  add("--think", line.think, "on|off", "whether the model thinks before it answers");
  add("--reasoning-effort", line.reasoningEffort, "low|medium|high", "how much it thinks");
  add("--tools", line.tools, "FILE", "tools to offer: a JSON list of functions");
  add("--chat-template", line.chatTemplate, "NAME",
      "a file, one of the model's by name, or built in: chatml, llama3, mistral, gemma, ...");
  command
      .add_option("--template-arg", line.templateArguments,
                  "a variable of the template; may be repeated")
      ->type_name("KEY=JSON")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
}

void addRun(CLI::App &app, CommandLine &line) {
  CLI::App *run = app.add_subcommand("run", "answer a prompt, or chat");
  run->description("Answers one prompt, or opens a chat when standard input is a terminal and no "
                   "prompt is given.\nWithout -p and without a terminal the prompt is read from "
                   "standard input;\na newline at its end is dropped unless --raw is given.");
  addModel(*run, line);
  addContext(*run, line);
  addText(*run, "-p,--prompt", line.prompt, "the prompt", "TEXT");
  addOverlap(*run, line);
  addText(*run, "--system", line.system, "a system message before the conversation", "TEXT");
  addText(*run, "-n,--tokens", line.tokens,
          "at most so many tokens an answer (default: 512; in a chat as many as fit)");
  run->add_flag("--raw", line.raw,
                "give the prompt to the model as it stands, without its template");
  addChat(*run, line);
  addSampling(*run, line.sampling);
  run->footer(kChatFooter);
}

void addChatTemplate(CLI::App &app, CommandLine &line) {
  CLI::App *command = app.add_subcommand("chat-template", "print a conversation as a prompt");
  command->description("Prints the prompt that the model's chat template makes of messages: JSON\n"
                       "such as [{\"role\": \"user\", \"content\": \"Hi\"}].");
  addModelName(*command, line);
  addText(*command, "--messages", line.messages, "the messages (default: standard input)", "FILE");
  command->add_flag("--no-generation-prompt", line.noGenerationPrompt,
                    "end after the last message instead of asking for an answer");
  addChat(*command, line);
}

// As given, flags as an empty text.
void addLoadOption(CLI::App &command, LoadTexts &texts, const LoadOption &option) {
  const std::string key = option.key();
  if (*option.type == 0) {
    command.add_flag_callback(
               option.names, [&texts, key] { texts[key] = {""}; }, option.help)
        ->group(option.group);
    return;
  }
  if (key == "goodput") {
    const auto take = [&texts, key](const std::vector<std::string> &given) { texts[key] = given; };
    command.add_option_function<std::vector<std::string>>(option.names, take, option.help)
        ->type_name(option.type)
        ->group(option.group);
    return;
  }
  const auto take = [&texts, key](const std::string &text) { texts[key] = {text}; };
  command.add_option_function<std::string>(option.names, take, option.help)
      ->type_name(option.type)
      ->group(option.group);
}

void addBenchServe(CLI::App &bench, CommandLine &line) {
  CLI::App *serve = bench.add_subcommand("serve", "measure a server of OpenAI's API");
  serve->description(
      "Sends streamed completions to a server, this one's or another's, and measures the time\n"
      "to the first token, between tokens and of whole answers, and throughput. With --rate,\n"
      "requests come whether or not earlier ones are answered, and latencies count from when a\n"
      "request was due. Several rates or concurrencies are runs one after another.");
  for (const LoadOption &option : loadOptions())
    addLoadOption(*serve, line.load, option);
}

void addBench(CLI::App &app, CommandLine &line) {
  CLI::App *bench = app.add_subcommand("bench", "measure speed and memory");
  bench->description(
      "Measures, in this process, the time from its start to the first token of a 16-token\n"
      "prompt, then prefill and decode as medians of --repeat runs each. Decoding starts after\n"
      "the prompt, so at a depth of --prompt tokens. With --parallel, that many sequences of\n"
      "other tokens run together, and the figures are totals over them.");
  addModel(*bench, line);
  bench->get_option("MODEL")->required(false); // it would be taken for "serve"; checked below
  addContext(*bench, line);
  addText(*bench, "--prompt", line.prompt, "tokens of the prompt (default: 512)");
  addText(*bench, "--gen", line.generate, "tokens to generate (default: 128)");
  addText(*bench, "--parallel", line.parallel, "sequences to run together (default: 1)");
  addOverlap(*bench, line);
  addText(*bench, "--repeat", line.repeat, "runs to take the median of (default: 3)");
  bench->add_flag("--json", line.json, "print one JSON object instead of a table");
  addBenchServe(*bench, line);
}

void addExplain(CLI::App &app, CommandLine &line) {
  CLI::App *explain = app.add_subcommand("explain", "show a model's kernels, their times, and why");
  explain->description(
      "Shows each kernel of a step of --prompt tokens and of a step of decode: launches, bytes,\n"
      "operations, the least time that memory or arithmetic allows, measured on this machine or\n"
      "told by its driver, and the median of its times in real steps; then which of the five\n"
      "levers acted on it: fusion and scheduling, tiling and layout, precision and quantisation,\n"
      "graph capture, autotuning.");
  addModel(*explain, line);
  addText(*explain, "--prompt", line.prompt, "tokens of the first step (default: 512)");
  addText(*explain, "--depth", line.depth,
          "tokens that the KV cache holds before the first step (default: 0)");
  addText(*explain, "--parallel", line.parallel,
          "sequences that decode a token each in the second step (default: 1)");
  explain->add_flag("--verbose", line.verbose,
                    "the plan's symbols and each kernel's whole list of parameters too");
  explain->add_flag("--json", line.json,
                    "print one JSON object: model, device, plan, memory, roofs, levers, steps");
  addText(*explain, "--svg", line.svg, "draw the kernels under this machine's roofline too",
          "FILE");
}

void addTune(CLI::App &app, CommandLine &line) {
  CLI::App *tune = app.add_subcommand("tune", "find a model's fastest schedules on this machine");
  tune->description(
      "Times schedules of the model's kernels (block sizes, register tiles) in real\n"
      "steps on the device, against the rules' own, and keeps the fastest in a database beside "
      "the\n"
      "plans: every later command uses them. Results have the same bits under all of them. What\n"
      "was tried before is not tried again; Ctrl-C keeps what was found. At least one round of "
      "trials\n"
      "and its final are made, whatever the budget.");
  addModelName(*tune, line);
  addText(*tune, "--device", line.device, "as for run; schedules of cpu devices can be tuned",
          "NAME");
  addText(*tune, "--threads", line.threads,
          "threads to tune for (default: all that this process may use)");
  addPrecision(*tune, line);
  addText(*tune, "--budget", line.budget, "seconds to spend on trials (default: 60)");
}

void addLogits(CLI::App &app, CommandLine &line) {
  CLI::App *logits = app.add_subcommand("logits", "show what a model expects after each token");
  logits->description(
      "Runs a text or token numbers as they stand and prints, for each position, the tokens of\n"
      "the largest logits. With --tokens the file needs no tokenizer.");
  addModel(*logits, line);
  addContext(*logits, line);
  addText(*logits, "--tokens", line.tokens, "token numbers with commas between them", "LIST");
  addText(*logits, "-p,--prompt", line.prompt, "a text, given to the model as it stands", "TEXT");
  addText(*logits, "--top", line.top, "tokens of each position (default: 10)");
  addText(*logits, "--decode", line.decode,
          "run the last so many tokens one a step, as they are generated (default: 0)");
  logits->add_flag("--json", line.json,
                   "print one JSON object: positions, each with its token and the top");
}

void addEmbed(CLI::App &app, CommandLine &line) {
  CLI::App *embed = app.add_subcommand("embed", "print the vectors of texts");
  embed->description(
      "Prints a vector for each text, a line each. Texts come from -p, from the lines of a file "
      "or\n"
      "from standard input, which is one text. A vector does not depend on the texts beside it.\n"
      "Encoders and decoders both work.");
  addModel(*embed, line);
  addContext(*embed, line);
  addText(*embed, "-p,--prompt", line.prompt, "the text", "TEXT");
  addText(*embed, "--lines", line.lines, "a file with a text a line", "FILE");
  addText(*embed, "--tokens", line.tokens, "token numbers with commas between them, as one text",
          "LIST");
  addText(*embed, "--pooling", line.pooling,
          "how tokens' rows become one, one of " + poolingNames() + " (default: the file's)",
          "NAME");
  addText(*embed, "--normalize", line.normalize, "on or off: to a length of 1 (default: on)",
          "NAME");
  embed->add_flag("--json", line.json, "print one JSON object instead of lines");
}

void addRerank(CLI::App &app, CommandLine &line) {
  CLI::App *rerank = app.add_subcommand("rerank", "order documents by a query");
  rerank->description("Prints each document with its score for the query, the best first. The "
                      "model must have a\nhead that ranks.");
  addModel(*rerank, line);
  addContext(*rerank, line);
  addText(*rerank, "--query", line.query, "the query", "TEXT");
  addText(*rerank, "--documents", line.documents, "a file with a document a line", "FILE");
  rerank->add_flag("--json", line.json, "print one JSON object: results, each index and score");
}

void addShow(CLI::App &app, CommandLine &line) {
  CLI::App *show = app.add_subcommand("show", "show what a model is and what memory it takes");
  show->description("Prints what the file says of the model, then which of its tensors are used "
                    "on the device, and\nwhat weights, KV cache and a step take there.");
  addModel(*show, line);
  addContext(*show, line);
  show->add_flag("--json", line.json, "print one JSON object instead of lines");
}

void addPull(CLI::App &app, CommandLine &line) {
  CLI::App *pull = app.add_subcommand("pull", "fetch a model");
  pull->description(
      "Fetches a model into the folder of models: from Ollama's registry (llama3.2,\n"
      "NAMESPACE/MODEL:TAG), or a GGUF file of a repository of Hugging Face\n"
      "(hf.co/OWNER/REPOSITORY:Q4_K_M; a file's name is a tag, too). What was interrupted goes on\n"
      "from where it ended, and every file is checked against its digest.\n"
      "Variables: SINTER_REGISTRY and HF_ENDPOINT name other servers, HF_TOKEN is sent to the\n"
      "latter; https_proxy and SSL_CERT_FILE count as elsewhere.");
  pull->add_option("NAME", line.model, "the model")->required()->type_name("");
}

void addStored(CLI::App &app, CommandLine &line) {
  CLI::App *list = app.add_subcommand("list", "list the models that are here");
  list->add_flag("--json", line.json, "print one JSON object instead of lines");
  CLI::App *remove = app.add_subcommand("rm", "remove models");
  remove->description("Removes models by name. A file that two of them share goes with the last.");
  remove->add_option("NAME", line.models, "a model that `sinter list` shows; several")
      ->required()
      ->type_name("");
  CLI::App *copy = app.add_subcommand("cp", "give a model another name, too");
  copy->description("Gives a model a second name without a second copy of its file. A GGUF file's "
                    "path as\nFROM copies the file into the folder of models.");
  copy->add_option("FROM", line.model, "a model's name, or a .gguf file")
      ->required()
      ->type_name("");
  copy->add_option("TO", line.output, "the new name")->required()->type_name("");
}

void addOthers(CLI::App &app, CommandLine &line) {
  CLI::App *perplexity = app.add_subcommand("perplexity", "score a text");
  perplexity->description(
      "Cuts the text into windows and scores the second half of each, as llama-perplexity does.");
  addModel(*perplexity, line);
  perplexity->add_option("FILE", line.file, "the text")->required()->type_name("");
  addText(*perplexity, "--window", line.window, "tokens of a window (default: 512)");
  perplexity->add_flag("--kl", line.divergence,
                       "compare with unrounded activations too (loads the model twice)");
  perplexity->add_flag("--decode", line.decodes,
                       "run the scored tokens one a step, as they are generated");
  CLI::App *compile = app.add_subcommand("compile", "build a model's plan for other machines");
  compile->description("Builds one file with a plan for each target, none of which this machine "
                       "need have.\n`sinter run MODEL --plan FILE` runs it where there is no "
                       "compiler.");
  addModelName(*compile, line);
  compile
      ->add_option("--target", line.targets,
                   "targets with commas between them: cpu, cuda:sm_90a, ... as `sinter "
                   "devices` prints them; cuda, vulkan, amd or metal alone: this machine's device, "
                   "else one that most devices run, which is said")
      ->required()
      ->type_name("LIST");
  addPrecision(*compile, line);
  compile->add_option("-o,--output", line.output, "the file to write")
      ->required()
      ->type_name("FILE");
  compile->add_flag("--keep-going", line.keepGoing,
                    "write the plans of the other targets where one cannot be compiled, and end "
                    "with 3");
  app.add_subcommand("devices", "list the devices of this machine");
  CLI::App *doctor = app.add_subcommand("doctor", "check that this machine has what models need");
  doctor->description(
      "Checks processor, drivers, compiler, caches, memory, disk and terminal. Each "
      "line is ok, a\nwarning or a problem, with what to do. Ends with 1 where a "
      "problem keeps models from running.");
  doctor->add_flag("--json", line.json, "print one JSON object instead of lines");
  // Handled before the command line is split: sinter-compiler has its own options.
  app.add_subcommand("kernel", "work on one kernel (sinter kernel --help)");
}

void addQuantize(CLI::App &app, CommandLine &line) {
  CLI::App *quantize = app.add_subcommand("quantize", "write a model with weights of another type");
  quantize->description(
      "Writes MODEL with its matrices as another type, searching the scales of least squared\n"
      "error. Vectors and norms stay as they are. A type's name means that type for every\n"
      "matrix; Q4_K_S, Q4_K_M, Q5_K_S and Q5_K_M give more bits to some, as llama.cpp's do.");
  addModelName(*quantize, line);
  quantize->add_option("--type", line.type, "Q4_0, Q8_0, Q4_K, Q4_K_M, IQ4_XS, MXFP4, F16, ...")
      ->required()
      ->type_name("TYPE");
  quantize->add_option("-o,--output", line.output, "the file to write")
      ->required()
      ->type_name("FILE");
  addText(*quantize, "--output-type", line.outputType,
          "type of the output matrix, or of the embedding that is that too", "TYPE");
  addText(*quantize, "--embedding-type", line.embeddingType, "type of the token embedding", "TYPE");
  addText(*quantize, "--threads", line.threads,
          "threads to use (default: all that this process may use)");
}

CLI::Option *addTexts(CLI::App &command, const char *name, std::vector<std::string> &values,
                      const std::string &description, const char *type) {
  return command.add_option(name, values, description)
      ->type_name(type)
      ->take_all()
      ->allow_extra_args(false);
}

void addServeAddress(CLI::App &serve, CommandLine &line) {
  constexpr const char *kGroup = "Address";
  addText(serve, "--host", line.host, "address or name to listen on (default: 127.0.0.1)", "NAME")
      ->group(kGroup);
  addText(serve, "--port", line.port, "port, 0 for any that is free (default: 11434)")
      ->group(kGroup);
  addText(serve, "--unix", line.unixPath,
          "a Unix socket to listen on, for this user; without --host and --port instead of TCP",
          "PATH")
      ->group(kGroup);
  addText(serve, "--tls-cert,--ssl-cert-file,--ssl-certfile", line.tlsCertificate,
          "the certificate's chain, PEM: HTTPS instead of HTTP", "FILE")
      ->group(kGroup);
  addText(serve, "--tls-key,--ssl-key-file,--ssl-keyfile", line.tlsKey, "its key, PEM", "FILE")
      ->group(kGroup);
}

void addServeAccess(CLI::App &serve, CommandLine &line) {
  constexpr const char *kGroup = "Access";
  addTexts(serve, "--api-key", line.keys,
           "a key that requests must have; may be repeated. Other users of this machine can read "
           "it: --api-key-file is safer",
           "KEY")
      ->group(kGroup);
  addText(serve, "--api-key-file", line.keyFile, "keys, a line NAME:KEY each", "FILE")
      ->group(kGroup);
  addText(serve, "--rate", line.rate, "requests a minute, by key (default: no limit)")
      ->group(kGroup);
  addText(serve, "--tokens-rate", line.tokensRate,
          "tokens a minute of prompts and answers, by key (default: no limit)")
      ->group(kGroup);
  addTexts(serve, "--allow-host", line.hosts,
           "a name that requests may give as their Host, * for any (default: names of this machine "
           "alone); may be repeated",
           "HOST")
      ->group(kGroup);
  addTexts(serve, "--cors-origin", line.origins,
           "an origin whose pages may send requests, https://chat.example, * for any (default: "
           "pages of this machine, if only it is listened on); may be repeated",
           "ORIGIN")
      ->group(kGroup);
}

void addServeModels(CLI::App &serve, CommandLine &line) {
  serve.add_option("MODEL", line.models, "a .gguf file, or a name of the store; several")
      ->type_name("");
  addText(serve, "--device", line.device, "as for run", "NAME");
  addText(serve, "--threads", line.threads,
          "threads to use (default: all that this process may use)");
  addText(serve, "--context,--ctx-size", line.context,
          "tokens that prompt and answer may have together (default: the model's own, at most "
          "8192)");
  addText(serve, "--parallel", line.parallel,
          "whole contexts that a model has memory for (default: 8)");
  addText(
      serve, "--max-running", line.maxRunning,
      "sequences of a model that run at once (default: 16 or --parallel, and more while they make "
      "decode faster)");
  addText(serve, "--max-waiting", line.maxWaiting,
          "requests that wait for a model at most; others are answered 503 (default: 1024)");
  addText(serve, "--max-wait", line.maxWait,
          "seconds that a request may have to wait for its turn, by estimate; others are answered "
          "503 with Retry-After; 0 for any (default: 2)");
  addText(serve, "--memory", line.memory,
          "MiB that all loaded models may take (default: most of the device's)");
  addText(serve, "--unload-after", line.unloadAfter,
          "seconds after which a model without requests is given up, 0 for never (default: 300); "
          "MODELs stay");
  addText(serve, "--chat-template", line.chatTemplate,
          "a file, or built in: chatml, llama3, mistral, gemma, ...; in place of every model's own",
          "NAME");
  addText(serve, "--pooling", line.pooling,
          "how tokens' rows become one vector, one of " + poolingNames() +
              " (default: each file's)",
          "NAME");
  addText(serve, "--defaults", line.defaults,
          "fields that requests may leave out: a sampler's settings, seed, max_tokens, as in "
          "'{\"temperature\": 0.2}' (default: each model's own)",
          "JSON");
  serve.add_flag("--fixed-models", line.fixedModels,
                 "requests fetch, make and remove no models (default: they may, where only this "
                 "machine can send them or they have a key)");
  serve.add_flag("--no-weight-cache", line.noWeightCache, "as for run");
  serve.add_flag("--no-prefix-cache", line.noPrefixCache,
                 "compute every prompt whole, also where it begins as an earlier one did");
  addOverlap(serve, line);
  addPrecision(serve, line);
}

void addServeLimits(CLI::App &serve, CommandLine &line) {
  constexpr const char *kGroup = "Limits";
  const auto add = [&](const char *name, std::optional<std::string> &value,
                       const std::string &help) {
    addText(serve, name, value, help)->group(kGroup);
  };
  add("--max-body", line.maxBody, "MiB of a request's body (default: 32)");
  add("--max-connections", line.connections, "connections together (default: 4096)");
  add("--timeout", line.timeout,
      "seconds that a client may take to send a body or to read more of an answer (default: 60)");
  add("--keep-alive-timeout", line.keepAlive,
      "seconds that a connection is kept without a request (default: 75)");
  add("--drain", line.drain,
      "seconds that answers have to become whole when the server is told to end (default: 30)");
  add("--threads-http", line.httpThreads,
      "threads that read requests and send answers (default: 2)");
}

void addServe(CLI::App &app, CommandLine &line) {
  CLI::App *serve = app.add_subcommand("serve", "answer requests of OpenAI's and Ollama's clients");
  serve->description(
      "Loads each MODEL, then answers requests for it and for the models of the store, which are\n"
      "loaded when they are asked for. Speaks the APIs of OpenAI, Ollama and llama-server.\n"
      "Listens for HTTP/1.1 until it is told to end (SIGTERM, Ctrl-C): then it accepts nothing "
      "more\nand answers what runs for at most --drain seconds. A second signal ends it at once.");
  addServeModels(*serve, line);
  addServeAddress(*serve, line);
  addServeAccess(*serve, line);
  addServeLimits(*serve, line);
  addText(*serve, "--access-log", line.accessLog,
          "where each request is logged, a JSON object a line: a file, - for standard output, off "
          "(default: standard error)",
          "FILE");
}

void addTokenize(CLI::App &app, CommandLine &line) {
  CLI::App *tokenize = app.add_subcommand("tokenize", "show a text's tokens");
  tokenize->description(
      "Prints the tokens of a text, one a line with its number and its text. The tokenizer comes\n"
      "from a model or from a file of its own. Without -p, --lines and --ids the text is read "
      "from\n"
      "standard input.");
  tokenize
      ->add_option("FILE", line.model, "a .gguf file, a tokenizer.json, a tekken.json, or smollm2")
      ->required()
      ->type_name("");
  addText(*tokenize, "-p,--prompt", line.prompt, "the text", "TEXT");
  addText(*tokenize, "--lines", line.lines,
          "a file of texts, {\"text\": \"...\"} a line; prints {\"tokens\": [...]} for each",
          "FILE");
  addText(*tokenize, "--ids", line.ids, "print the text of these tokens, such as 1,5,9", "LIST");
  tokenize->add_flag("--special", line.special,
                     "read control tokens such as <|im_start|> in the text, and show them");
  tokenize->add_flag("--bare", line.bare, "without the tokens that begin and end a prompt");
  tokenize->add_flag("--json", line.json, "print one JSON object instead of lines");
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
  const CLI::App *at = &app;
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands())
    at = chosen.front();
  return *at;
}

// "bench serve"; empty for the program itself.
std::string commandName(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  if (!parent)
    return "";
  const std::string before = commandName(*parent);
  return before.empty() ? command.get_name() : before + " " + command.get_name();
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
Message usageError(const CLI::App &app, const std::string &what) {
  const CLI::App &command = deepest(app);
  const bool top = &command == &app;
  const std::vector<std::string> strangers = app.remaining(true);
  std::string reason = top ? "expected a command" : lowered(what);
  if (!strangers.empty() && top && !strangers.front().starts_with('-'))
    reason = "no command '" + strangers.front() + "'";
  else if (!strangers.empty())
    reason = "'" + strangers.front() + "' was not expected";
  if (!strangers.empty())
    reason += hintFor(command, strangers.front());
  return {kExitUsage,
          reason + "; see sinter " + (top ? "" : commandName(command) + " ") + "--help"};
}

} // namespace

const char *const kFirstSteps =
    R"(Sinter runs AI models by compiling them for the processor at hand. To begin:
  sinter run smollm2    chat with the model that ./demo fetches; a .gguf file's path does as well
  sinter doctor         check that this machine has what models need
  sinter --help         list all commands
)";

tl::expected<CommandLine, Message> splitCommandLine(std::span<const char *const> argv) {
  CommandLine line;
  CLI::App app("Sinter runs AI models by compiling them for the processor at hand.", "sinter");
  app.set_version_flag("--version", "sinter " SINTER_VERSION);
  app.require_subcommand(1);
  addRun(app, line);
  addBench(app, line);
  addExplain(app, line);
  addTune(app, line);
  addShow(app, line);
  addLogits(app, line);
  addEmbed(app, line);
  addRerank(app, line);
  addPull(app, line);
  addStored(app, line);
  addOthers(app, line);
  addQuantize(app, line);
  addServe(app, line);
  addTokenize(app, line);
  addChatTemplate(app, line);
  app.footer(kFooter); // last, since commands take it over when they are made
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::CallForHelp &) {
    const CLI::App &command = deepest(app);
    const std::string parent = command.get_parent() ? commandName(*command.get_parent()) : "";
    const std::string before = parent.empty() ? "sinter" : "sinter " + parent;
    return tl::unexpected(Message{kExitOk, command.help(&command == &app ? "" : before)});
  } catch (const CLI::CallForVersion &) {
    return tl::unexpected(Message{kExitOk, "sinter " SINTER_VERSION "\n"});
  } catch (const CLI::ParseError &error) {
    return tl::unexpected(usageError(app, error.what()));
  }
  line.command = commandName(deepest(app));
  if (line.command == "bench" && app.get_subcommand("bench")->count("MODEL") == 0)
    return tl::unexpected(usageError(app, "MODEL is required"));
  return line;
}

} // namespace sinter::cli
