// Logits or embeddings of llama.cpp for the architectures' goldens, as exact as it computes.
//
//   peer_logits MODEL TOKENS FILE [none|mean|cls|last|rank]
//
// With a pooling FILE gets embeddings, of each position for none, and scores for rank.
// TOKENS are numbers with commas between them, run as one batch from an empty cache. Semicolons part
// sequences that run together; tokens after a bar are decoded, one of each sequence a step. FILE
// gets the rows as raw f32, [tokens][vocabulary], sequence by sequence. No flash attention, KV cache
// in F32, one thread.
#include "llama.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

[[noreturn]] static void die(const std::string &what) {
  std::fprintf(stderr, "peer_logits: %s\n", what.c_str());
  std::exit(1);
}

static void logErrors(ggml_log_level level, const char *text, void *) {
  if (level == GGML_LOG_LEVEL_ERROR)
    std::fputs(text, stderr);
}

struct Sequence {
  std::vector<llama_token> tokens;
  size_t prefill = 0; // tokens of the first batch
};

static void addTokens(const std::string &text, std::vector<llama_token> &tokens) {
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    tokens.push_back(static_cast<llama_token>(std::strtol(part.c_str(), nullptr, 10)));
}

static std::vector<Sequence> parseSequences(const std::string &text) {
  std::vector<Sequence> sequences;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ';');) {
    Sequence &sequence = sequences.emplace_back();
    const size_t bar = part.find('|');
    addTokens(part.substr(0, bar), sequence.tokens);
    sequence.prefill = sequence.tokens.size();
    if (bar != std::string::npos)
      addTokens(part.substr(bar + 1), sequence.tokens);
  }
  return sequences;
}

static enum llama_pooling_type parsePooling(const std::string &name) {
  for (const auto &[each, type] : {std::pair("none", LLAMA_POOLING_TYPE_NONE),
                                   {"mean", LLAMA_POOLING_TYPE_MEAN},
                                   {"cls", LLAMA_POOLING_TYPE_CLS},
                                   {"last", LLAMA_POOLING_TYPE_LAST},
                                   {"rank", LLAMA_POOLING_TYPE_RANK}})
    if (name == each)
      return type;
  die("no pooling '" + name + "'");
}

static void writeRow(std::ofstream &file, const float *row, uint32_t count) {
  if (!row)
    die("no embeddings");
  file.write(reinterpret_cast<const char *>(row),
             static_cast<std::streamsize>(sizeof(float)) * count);
}

static void writeEmbeddings(llama_context *context, const llama_model *model, int32_t tokens,
                            enum llama_pooling_type pooling, std::ofstream &file) {
  const auto width = static_cast<uint32_t>(llama_model_n_embd(model));
  if (pooling == LLAMA_POOLING_TYPE_NONE)
    for (int32_t i = 0; i < tokens; ++i)
      writeRow(file, llama_get_embeddings_ith(context, i), width);
  else
    writeRow(file, llama_get_embeddings_seq(context, 0),
             pooling == LLAMA_POOLING_TYPE_RANK ? llama_model_n_cls_out(model) : width);
}

static llama_context_params exactParams(const std::vector<Sequence> &sequences) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 0; // the model's own, which decides which RoPE factors count
  params.n_batch = 0;
  for (const Sequence &sequence : sequences)
    params.n_batch += static_cast<uint32_t>(sequence.prefill);
  params.n_ubatch = params.n_batch;
  params.n_seq_max = static_cast<uint32_t>(sequences.size());
  params.kv_unified = true; // each sequence may have the whole context
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  return params;
}

// Runs the next tokens of each sequence as one batch: the first time those to prefill, then one.
// The logits follow those of their sequence so far; false where no token is left.
static bool runStep(llama_context *context, const std::vector<Sequence> &sequences,
                    std::vector<size_t> &done, uint32_t vocabulary,
                    std::vector<std::vector<float>> &logits) {
  llama_batch batch = llama_batch_init(static_cast<int32_t>(llama_n_batch(context)), 0, 1);
  for (size_t id = 0; id < sequences.size(); ++id) {
    const Sequence &sequence = sequences[id];
    const size_t end = done[id] == 0 ? sequence.prefill : done[id] + 1;
    for (; done[id] < end && done[id] < sequence.tokens.size(); ++done[id], ++batch.n_tokens) {
      batch.token[batch.n_tokens] = sequence.tokens[done[id]];
      batch.pos[batch.n_tokens] = static_cast<llama_pos>(done[id]);
      batch.n_seq_id[batch.n_tokens] = 1;
      batch.seq_id[batch.n_tokens][0] = static_cast<llama_seq_id>(id);
      batch.logits[batch.n_tokens] = 1;
    }
  }
  if (batch.n_tokens > 0 && llama_decode(context, batch) != 0)
    die("decode failed");
  for (int32_t i = 0; vocabulary > 0 && i < batch.n_tokens; ++i) {
    const float *row = llama_get_logits_ith(context, i);
    std::vector<float> &rows = logits[static_cast<size_t>(batch.seq_id[i][0])];
    rows.insert(rows.end(), row, row + vocabulary);
  }
  const bool ran = batch.n_tokens > 0;
  llama_batch_free(batch);
  return ran;
}

static void writeLogits(llama_context *context, const std::vector<Sequence> &sequences,
                        uint32_t vocabulary, std::ofstream &file) {
  std::vector<size_t> done(sequences.size(), 0);
  std::vector<std::vector<float>> logits(sequences.size());
  while (runStep(context, sequences, done, vocabulary, logits)) {
  }
  for (const std::vector<float> &rows : logits)
    writeRow(file, rows.data(), static_cast<uint32_t>(rows.size()));
}

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    die("usage: peer_logits MODEL TOKENS FILE [POOLING]");
  llama_log_set(logErrors, nullptr);
  llama_backend_init();
  llama_model_params modelParams = llama_model_default_params();
  llama_model *model = llama_model_load_from_file(argv[1], modelParams);
  if (!model)
    die(std::string("cannot load ") + argv[1]);
  const std::vector<Sequence> sequences = parseSequences(argv[2]);
  llama_context_params params = exactParams(sequences);
  if (argc == 5) {
    if (sequences.size() != 1 || sequences[0].prefill != sequences[0].tokens.size())
      die("embeddings are of one sequence at once");
    params.embeddings = true;
    params.pooling_type = parsePooling(argv[4]);
  }
  llama_context *context = llama_init_from_model(model, params);
  if (!context)
    die("cannot make a context");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::ofstream file(argv[3], std::ios::binary);
  if (argc == 4) {
    writeLogits(context, sequences, static_cast<uint32_t>(vocabulary), file);
  } else {
    std::vector<size_t> done(1, 0);
    std::vector<std::vector<float>> none(1);
    runStep(context, sequences, done, 0, none);
    writeEmbeddings(context, model, static_cast<int32_t>(done[0]), params.pooling_type, file);
  }
  return file.flush() ? 0 : 1;
}
