// Greedy decoding with the peer (llama.cpp), for comparing tokens and logits.
//
//   peer_greedy MODEL PROMPTS.jsonl N [--logits FILE] [--threads T] [--chunk C] [--flash on|off]
//               [--score]
//
// Each line of PROMPTS.jsonl is {"tokens":[...]}. One JSON line is printed per
// prompt: {"tokens":[N ids], "top2_gap":[N gaps]}; entry i comes from the same
// logits row i, and row 0 is the last prompt position. Decoding does not stop at
// an end-of-text token; a tie goes to the lowest id. FILE gets the rows as raw
// f32, [prompts][N][n_vocab], no header. Every prompt starts from an empty cache.
// With --score no token is chosen: FILE gets the rows of each prompt's last N positions.
// --chunk and --flash show how far the peer differs from itself: prompts are fed
// C tokens at a time (default: whole), with flash attention on (default) or off.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "llama.h"
#include "nlohmann/json.hpp"

static constexpr int kContext = 1024;

[[noreturn]] static void die(const std::string &what) {
  std::fprintf(stderr, "peer_greedy: %s\n", what.c_str());
  std::exit(1);
}

// Feeds all of `tokens` and returns the logits of the last one.
static const float *decode(llama_context *ctx, std::vector<llama_token> &tokens, size_t chunk) {
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const size_t n = std::min(chunk, tokens.size() - at);
    if (llama_decode(ctx, llama_batch_get_one(tokens.data() + at, (int32_t)n)) != 0)
      die("decode failed");
  }
  const float *row = llama_get_logits_ith(ctx, -1);
  if (!row)
    die("no logits");
  return row;
}

static void log_errors(ggml_log_level level, const char *text, void *) {
  if (level == GGML_LOG_LEVEL_ERROR)
    std::fputs(text, stderr);
}

struct Options {
  const char *model, *prompts, *logits = nullptr;
  int count, threads = 2, chunk = kContext;
  bool flash = true, score = false;
};

static int to_int(const char *text) {
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

static Options parse(int argc, char **argv) {
  if (argc < 4)
    die("usage: peer_greedy MODEL PROMPTS.jsonl N [--logits FILE] [--threads T] [--chunk C]"
        " [--flash on|off] [--score]");
  Options o;
  o.model = argv[1];
  o.prompts = argv[2];
  o.count = to_int(argv[3]);
  if (std::string(argv[argc - 1]) == "--score") {
    o.score = true;
    --argc;
  }
  for (int i = 4; i < argc; i += 2) {
    const std::string opt = argv[i];
    if (i + 1 >= argc)
      die("no value for " + opt);
    if (opt == "--logits")
      o.logits = argv[i + 1];
    else if (opt == "--threads")
      o.threads = to_int(argv[i + 1]);
    else if (opt == "--chunk")
      o.chunk = to_int(argv[i + 1]);
    else if (opt == "--flash")
      o.flash = argv[i + 1] == std::string("on");
    else
      die("unknown option " + opt);
  }
  if (o.score && !o.logits)
    die("--score needs --logits FILE");
  if (o.count < 1 || o.threads < 1 || o.chunk < 1)
    die("N, T and C must be at least 1");
  return o;
}

static llama_context *make_context(llama_model *model, const Options &o) {
  llama_context_params cp = llama_context_default_params();
  cp.n_ctx = kContext;
  cp.n_batch = kContext;
  cp.n_threads = o.threads;
  cp.n_threads_batch = o.threads;
  cp.flash_attn_type = o.flash ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context *ctx = llama_init_from_model(model, cp);
  if (!ctx)
    die("cannot make a context");
  return ctx;
}

// Writes the logits of the last `count` positions of a prompt.
static void score(llama_context *ctx, const std::vector<llama_token> &prompt, const Options &o,
                  int n_vocab, std::FILE *dump) {
  const int n = (int)prompt.size();
  if (n < o.count || n > kContext)
    die("a prompt has fewer tokens than N or more than the context");
  llama_memory_clear(llama_get_memory(ctx), true);
  llama_batch batch = llama_batch_init(n, 0, 1);
  batch.n_tokens = n;
  for (int i = 0; i < n; ++i) {
    batch.token[i] = prompt[i];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i >= n - o.count;
  }
  if (llama_decode(ctx, batch) != 0)
    die("decode failed");
  for (int i = n - o.count; i < n; ++i)
    if (std::fwrite(llama_get_logits_ith(ctx, i), sizeof(float), n_vocab, dump) != (size_t)n_vocab)
      die("short write");
  llama_batch_free(batch);
}

// Continues one prompt and prints its line.
static void run(llama_context *ctx, std::vector<llama_token> feed, const Options &o, int n_vocab,
                std::FILE *dump) {
  if (feed.empty())
    die("empty prompt");
  if (feed.size() + o.count - 1 > kContext)
    die("prompt and N exceed the context");
  llama_memory_clear(llama_get_memory(ctx), true);
  std::vector<llama_token> out;
  std::vector<float> gaps;
  for (int step = 0; step < o.count; ++step) {
    const float *row = decode(ctx, feed, static_cast<size_t>(o.chunk));
    if (dump && std::fwrite(row, sizeof(float), n_vocab, dump) != (size_t)n_vocab)
      die("short write");
    const int best = (int)(std::max_element(row, row + n_vocab) - row);
    float second = -INFINITY;
    for (int i = 0; i < n_vocab; ++i) {
      if (i != best && row[i] > second)
        second = row[i];
    }
    out.push_back(best);
    gaps.push_back(row[best] - second);
    feed.assign(1, best);
  }
  std::printf("%s\n", nlohmann::ordered_json{{"tokens", out}, {"top2_gap", gaps}}.dump().c_str());
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  const Options o = parse(argc, argv);
  llama_log_set(log_errors, nullptr);
  llama_backend_init();
  llama_model *model = llama_model_load_from_file(o.model, llama_model_default_params());
  if (!model)
    die("cannot load the model");
  const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_context *ctx = make_context(model, o);
  std::ifstream in(o.prompts);
  if (!in)
    die("cannot read the prompts");
  std::FILE *dump = o.logits ? std::fopen(o.logits, "wb") : nullptr;
  if (o.logits && !dump)
    die("cannot write the logits file");

  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const auto prompt = nlohmann::json::parse(line).at("tokens").get<std::vector<llama_token>>();
    if (o.score)
      score(ctx, prompt, o, n_vocab, dump);
    else
      run(ctx, prompt, o, n_vocab, dump);
  }
  std::fprintf(stderr, "n_vocab %d\n", n_vocab);
  if (dump && std::fclose(dump) != 0)
    die("cannot finish the logits file");
  llama_free(ctx);
  llama_model_free(model);
  llama_backend_free();
  return 0;
}
