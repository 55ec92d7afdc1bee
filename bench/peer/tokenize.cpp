// Tokenizing with the peer (llama.cpp), for comparing token ids.
//
//   peer_tokenize MODEL TEXTS.jsonl [--special]
//
// Each line of TEXTS.jsonl is {"text":"..."}; prints {"tokens":[...]} for each.
// No BOS or EOS is added. With --special, special tokens written out in the text
// (such as an end-of-turn mark) become their ids; else they are plain text.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "llama.h"
#include "nlohmann/json.hpp"

[[noreturn]] static void die(const std::string &what) {
  std::fprintf(stderr, "peer_tokenize: %s\n", what.c_str());
  std::exit(1);
}

static void log_errors(ggml_log_level level, const char *text, void *) {
  if (level == GGML_LOG_LEVEL_ERROR)
    std::fputs(text, stderr);
}

int main(int argc, char **argv) {
  const bool special = argc == 4 && std::string(argv[3]) == "--special";
  if (argc != 3 && !special)
    die("usage: peer_tokenize MODEL TEXTS.jsonl [--special]");

  llama_log_set(log_errors, nullptr);
  llama_backend_init();
  llama_model_params mp = llama_model_default_params();
  mp.vocab_only = true;
  llama_model *model = llama_model_load_from_file(argv[1], mp);
  if (!model)
    die("cannot load the vocabulary");
  const llama_vocab *vocab = llama_model_get_vocab(model);

  std::ifstream in(argv[2]);
  if (!in)
    die("cannot read the texts");
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const std::string text = nlohmann::json::parse(line).at("text").get<std::string>();
    std::vector<llama_token> ids(text.size() + 8);
    const int n =
        llama_tokenize(vocab, text.data(), (int32_t)text.size(), ids.data(), (int32_t)ids.size(),
                       /*add_special=*/false, /*parse_special=*/special);
    if (n < 0)
      die("more tokens than bytes");
    ids.resize(n);
    std::printf("%s\n", nlohmann::json{{"tokens", ids}}.dump().c_str());
  }
  llama_model_free(model);
  llama_backend_free();
  return 0;
}
