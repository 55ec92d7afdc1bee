// Logits or embeddings of llama.cpp for the architectures' goldens, as exact as it computes.
//
//   peer_logits MODEL TOKENS FILE [none|mean|cls|last|rank]
//
// With a pooling FILE gets embeddings, of each position for none, and scores for rank.
// TOKENS are numbers with commas between them, run as one batch from an empty cache. FILE gets the
// rows as raw f32, [tokens][vocabulary]. No flash attention, KV cache in F32, one thread.
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

static std::vector<llama_token> parseTokens(const std::string &text) {
  std::vector<llama_token> tokens;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');)
    tokens.push_back(static_cast<llama_token>(std::strtol(part.c_str(), nullptr, 10)));
  return tokens;
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

static llama_context_params exactParams(size_t tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 0; // the model's own, which decides which RoPE factors count
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(tokens);
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  return params;
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
  std::vector<llama_token> tokens = parseTokens(argv[2]);
  llama_context_params params = exactParams(tokens.size());
  if (argc == 5) {
    params.embeddings = true;
    params.pooling_type = parsePooling(argv[4]);
  }
  llama_context *context = llama_init_from_model(model, params);
  if (!context)
    die("cannot make a context");
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch.token[i] = tokens[i];
    batch.pos[i] = static_cast<llama_pos>(i);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  batch.n_tokens = static_cast<int32_t>(tokens.size());
  if (llama_decode(context, batch) != 0)
    die("decode failed");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::ofstream file(argv[3], std::ios::binary);
  if (argc == 5)
    writeEmbeddings(context, model, batch.n_tokens, params.pooling_type, file);
  for (int32_t i = 0; argc == 4 && i < batch.n_tokens; ++i)
    writeRow(file, llama_get_logits_ith(context, i), static_cast<uint32_t>(vocabulary));
  return file.flush() ? 0 : 1;
}
