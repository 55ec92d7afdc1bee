// The command line as CLI11 splits it, before any value is looked at.
#pragma once

#include "cli/arguments.h"
#include "cli/sampling_options.h"

namespace sinter::cli {

// Options that were not given are empty; those that were may be empty too.
struct CommandLine {
  std::string command; // "run", "bench", "bench serve", ...
  std::string model;
  std::string file, targets, output, type;
  std::optional<std::string> prompt, system, tokens, threads, context, generate, repeat, parallel,
      window, budget, device, plan, kvType, activations, depth, svg, outputType, embeddingType,
      decode, top, lines, ids, think, reasoningEffort, tools, chatTemplate, defaults, messages,
      pooling, normalize, query, documents, host, port, unixPath, tlsCertificate, tlsKey, keyFile,
      rate, tokensRate, memory, unloadAfter, maxBody, timeout, keepAlive, drain, connections,
      httpThreads, accessLog, maxRunning, maxWaiting, maxWait, overlap;
  std::vector<std::string> models, keys, hosts, origins; // each may be repeated
  std::vector<std::string> templateArguments;            // KEY=JSON
  bool raw = false;
  bool json = false;
  bool verbose = false;
  bool noWeightCache = false;
  bool noPrefixCache = false;
  bool fixedModels = false;
  bool keepGoing = false;
  bool divergence = false;
  bool decodes = false;
  bool special = false;
  bool bare = false;
  bool noGenerationPrompt = false;
  SamplingTexts sampling;
  LoadTexts load;
};

// What to try first, for `sinter` alone: a few lines.
extern const char *const kFirstSteps;

// Splits; help, version and unknown options end in a Message.
tl::expected<CommandLine, Message> splitCommandLine(std::span<const char *const> argv);

} // namespace sinter::cli
