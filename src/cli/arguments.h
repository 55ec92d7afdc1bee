// The command line as checked values.
#pragma once

#include "base/status.h"
#include "cli/exit_codes.h"
#include "cli/load/load_options.h"
#include "cli/sampling_options.h"
#include "host/device_choice.h"
#include "host/quantize/scheme.h"
#include "llm/pooling.h"
#include "numeric/precision.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sinter::cli {

// What every command that opens a model takes. Zero: the default.
struct ModelArguments {
  std::string model;
  uint32_t threads = 0;
  uint32_t context = 0; // tokens
  std::optional<host::DeviceName> device;
  std::string plan;            // a file; empty: found in the cache, or built
  Precision precision;         // empty: the default, or what the plan file has
  bool keepsWeights = true;    // packed, in a file beside the plans
  std::optional<bool> overlap; // of steps with the choice of tokens; none: where it is possible
};

// What the chat template is given, and which one. Empty: nothing, or the file's own.
struct ChatArguments {
  std::optional<bool> think;
  std::string reasoningEffort;
  std::string tools;                                       // a JSON file
  std::string chatTemplate;                                // a name, or a file
  std::vector<std::pair<std::string, std::string>> others; // names of variables, and their JSON

  // The first of its options that was given; empty where none was.
  std::string firstOption() const;
};

struct RunArguments {
  ModelArguments model;
  ChatArguments chat;
  std::optional<std::string> prompt;
  std::optional<uint64_t> tokens; // of an answer at most
  bool raw = false;
  std::string system;     // the system message; empty: the stored model's, or none
  SamplingTexts sampling; // each value in its range; what they mean depends on the model's file
};

struct ChatTemplateArguments {
  std::string model;
  ChatArguments chat;
  std::string messages; // a JSON file; empty: standard input
  bool addGenerationPrompt = true;
};

struct BenchArguments {
  ModelArguments model;
  uint32_t prompt = 512;
  uint32_t generate = 128;
  uint32_t repeat = 3;
  uint32_t parallel = 1; // sequences
  bool json = false;
};

struct ExplainArguments {
  ModelArguments model;
  uint32_t prompt = 512;
  uint32_t depth = 0;    // tokens before it
  uint32_t parallel = 1; // sequences that decode together
  bool verbose = false;
  bool json = false;
  std::string svg; // a file to draw to; empty: none
};

struct TuneArguments {
  ModelArguments model;
  uint32_t budgetSeconds = 60;
};

struct PerplexityArguments {
  ModelArguments model;
  std::string file;
  uint32_t window = 512;
  bool divergence = false; // from the model without rounded activations
  bool decodes = false;    // scored tokens, one a step
};

struct ShowArguments {
  ModelArguments model;
  bool json = false;
};

struct LogitsArguments {
  ModelArguments model;
  std::optional<std::string> prompt;          // either this
  std::optional<std::vector<int32_t>> tokens; // or these
  uint32_t decode = 0;                        // of the tokens, the last so many; clipped to all
  uint32_t top = 10;                          // of each position; clipped to the vocabulary
  bool json = false;
};

struct EmbedArguments {
  ModelArguments model;
  std::optional<std::string> text;            // neither this nor the next two: standard input
  std::string lines;                          // a file with a text a line
  std::optional<std::vector<int32_t>> tokens; // of one text
  std::optional<Pooling> pooling;             // none: the file's
  bool normalize = true;
  bool json = false;
};

struct RerankArguments {
  ModelArguments model;
  std::string query;
  std::string documents; // a file with a text a line
  bool json = false;
};

struct CompileArguments {
  std::string model;
  std::vector<std::string> targets;
  std::string output;
  Precision precision;
  bool keepGoing = false; // past targets that cannot be compiled
};

struct QuantizeArguments {
  std::string model;
  std::string output; // a file
  host::QuantizeTypes types;
  uint32_t threads = 0; // 0: all that this process may use
};

struct ServeArguments {
  std::vector<std::string> models;    // loaded at once; requests that name none mean the first
  ModelArguments model;               // how each is loaded
  uint32_t parallel = 8;              // whole contexts of each
  std::string chatTemplate;           // a built-in name or a file; empty: each model's own
  std::optional<Pooling> pooling;     // of vectors; none: each file's
  std::string defaults;               // JSON of fields that requests leave out; empty: none
  bool prefixCache = true;            // prompts reuse what others computed
  uint32_t running = UINT32_MAX;      // sequences of each at once; UINT32_MAX: as pays
  uint32_t waiting = 1024;            // requests of each that wait at most
  uint32_t waitSeconds = 2;           // that one may have to wait, about; 0: any
  uint32_t unloadSeconds = 300;       // without a request; 0: never
  uint32_t memoryMib = 0;             // of all models; 0: most of the device's
  bool fixedModels = false;           // requests fetch and remove none
  std::string host = "127.0.0.1";     // empty: no TCP
  uint16_t port = 11434;              // 0: the system chooses
  std::string unixPath;               // a socket; empty: none
  std::string tlsCertificate, tlsKey; // files; both, or neither
  std::vector<std::string> keys;      // as given
  std::string keyFile;                // lines NAME:KEY; empty: none
  std::vector<std::string> hosts, origins;
  uint32_t requestsPerMinute = 0, tokensPerMinute = 0; // by key; 0: no limit
  uint32_t mostBodyMib = 32;
  uint32_t timeoutSeconds = 60, keepAliveSeconds = 75, drainSeconds = 30;
  uint32_t connections = 4096;
  uint32_t threads = 2;  // that read requests and send answers
  std::string accessLog; // a file, "-" for stdout, "off"; empty: stderr
};

struct TokenizeArguments {
  std::string model;                       // a model, or a tokenizer's own file
  std::optional<std::string> text;         // neither this nor the next two: standard input
  std::string lines;                       // a file with a JSON object a line
  std::optional<std::vector<int32_t>> ids; // to be shown as text
  bool special = false;                    // control tokens are read, and shown
  bool bare = false;                       // without the tokens around a prompt
  bool json = false;
};

struct PullArguments {
  std::string model;
};

struct ListArguments {
  bool json = false;
};

struct RemoveArguments {
  std::vector<std::string> models;
};

struct CopyArguments {
  std::string from, to;
};

struct DevicesArguments {};

struct DoctorArguments {
  bool json = false;
};

using Arguments =
    std::variant<RunArguments, BenchArguments, LoadArguments, ExplainArguments, TuneArguments,
                 PerplexityArguments, LogitsArguments, EmbedArguments, RerankArguments,
                 ShowArguments, CompileArguments, QuantizeArguments, ServeArguments,
                 TokenizeArguments, ChatTemplateArguments, PullArguments, ListArguments,
                 RemoveArguments, CopyArguments, DoctorArguments, DevicesArguments>;

// Checks a whole command line, argv[0] included.
tl::expected<Arguments, Message> parseArguments(std::span<const char *const> argv);

} // namespace sinter::cli
