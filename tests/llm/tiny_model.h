// A llama with random weights of a few hundred kilobytes, and plans from the compiler as a child:
// what the model says has no meaning, but its numbers depend on every weight and every token.
#pragma once

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "format/gguf_writer.h"
#include "plan/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace sinter {

// What a test may want to be otherwise. Extents of matrices are multiples of 32.
struct RandomLlama {
  TensorType matrices = TensorType::Q8_0;
  TensorType embedding = TensorType::Q8_0; // the output matrix too
  uint32_t layers = 2, heads = 3, kvHeads = 1, hidden = 160, vocabulary = 320, context = 512;
  std::string vocabularyFile; // a GGUF file whose tokenizer keys are copied; it sets `vocabulary`
  uint32_t seed = 1;
};

// Writes a RandomLlama, once.
class RandomLlamaWriter {
public:
  explicit RandomLlamaWriter(const RandomLlama &model) : model_(model), random_(model.seed) {}

  std::vector<uint8_t> write() {
    readTokenizer();
    listTensors();
    writeMetadata();
    uint64_t offset = 0;
    for (const Tensor &tensor : tensors_) {
      file_.string(tensor.name).u32(static_cast<uint32_t>(tensor.dims.size()));
      for (const uint64_t dim : tensor.dims)
        file_.u64(dim);
      file_.u32(static_cast<uint32_t>(tensor.type)).u64(offset);
      offset += (rowBytes(tensor) * rowsOf(tensor) + kAlignment - 1) / kAlignment * kAlignment;
    }
    for (const Tensor &tensor : tensors_) {
      file_.pad(kAlignment);
      writeData(tensor);
    }
    return file_.bytes();
  }

private:
  static constexpr uint32_t kHeadDim = 64;
  static constexpr uint64_t kAlignment = 32;

  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims; // the fastest first
    TensorType type;
  };

  static uint64_t rowsOf(const Tensor &tensor) {
    return tensor.dims.size() > 1 ? tensor.dims[1] : 1;
  }
  static const BlockFormat &formatOf(const Tensor &tensor) {
    return *findBlockFormat(static_cast<uint32_t>(tensor.type));
  }
  static uint64_t rowBytes(const Tensor &tensor) {
    return formatOf(tensor).rowBytes(tensor.dims[0]).value_or(0);
  }

  void readTokenizer() {
    if (model_.vocabularyFile.empty())
      return;
    tokenizer_ = std::make_unique<Result<GgufFile>>(GgufFile::open(model_.vocabularyFile));
    ASSERT_TRUE(tokenizer_->has_value()) << tokenizer_->error().toString();
    for (const GgufValue &value : (*tokenizer_)->values())
      if (value.key.starts_with("tokenizer."))
        tokenizerValues_.push_back(value);
    const GgufValue *tokens = (*tokenizer_)->find("tokenizer.ggml.tokens");
    ASSERT_NE(tokens, nullptr);
    model_.vocabulary = static_cast<uint32_t>(tokens->count);
  }

  void listTensors() {
    const uint64_t width = uint64_t{model_.heads} * kHeadDim;
    const auto add = [&](const std::string &name, uint64_t columns, uint64_t rows) {
      tensors_.push_back({name + ".weight", {columns, rows}, model_.matrices});
    };
    const auto norm = [&](const std::string &name) {
      tensors_.push_back({name + ".weight", {width}, TensorType::F32});
    };
    tensors_.push_back({"token_embd.weight", {width, model_.vocabulary}, model_.embedding});
    norm("output_norm");
    for (uint32_t i = 0; i < model_.layers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      norm(layer + "attn_norm");
      add(layer + "attn_q", width, width);
      add(layer + "attn_k", width, uint64_t{model_.kvHeads} * kHeadDim);
      add(layer + "attn_v", width, uint64_t{model_.kvHeads} * kHeadDim);
      add(layer + "attn_output", width, width);
      norm(layer + "ffn_norm");
      add(layer + "ffn_gate", width, model_.hidden);
      add(layer + "ffn_up", width, model_.hidden);
      add(layer + "ffn_down", model_.hidden, width);
    }
  }

  void writeMetadata() {
    constexpr uint64_t kOwnValues = 8;
    file_.header(tensors_.size(), kOwnValues + tokenizerValues_.size());
    file_.text("general.architecture", "llama");
    const auto number = [&](const std::string &name, uint32_t value) {
      file_.value("llama." + name, GgufType::U32, value);
    };
    number("block_count", model_.layers);
    number("embedding_length", model_.heads * kHeadDim);
    number("feed_forward_length", model_.hidden);
    number("attention.head_count", model_.heads);
    number("attention.head_count_kv", model_.kvHeads);
    number("context_length", model_.context);
    file_.value("llama.attention.layer_norm_rms_epsilon", GgufType::F32, 1e-5f);
    for (const GgufValue &value : tokenizerValues_) {
      if (value.isArray())
        file_.array(value.key, value.elementType, value.count);
      else
        file_.key(value.key, value.type);
      file_.raw({reinterpret_cast<const char *>(value.bytes.data()), value.bytes.size()});
    }
  }

  // Within (-1, 1), of the upper bits of a generator that is the same everywhere.
  float uniform() {
    return static_cast<float>(static_cast<int32_t>(random_() >> 8) - (1 << 23)) / (1 << 23);
  }

  void writeData(const Tensor &tensor) {
    const bool norm = tensor.dims.size() == 1;
    const float scale = tensor.name == "token_embd.weight" ? 1.0f : 0.2f;
    std::vector<float> row(tensor.dims[0]);
    std::vector<uint8_t> bytes(rowBytes(tensor));
    for (uint64_t r = 0; r < rowsOf(tensor); ++r) {
      for (float &value : row)
        value = norm ? 1 + uniform() / 4 : uniform() * scale;
      const auto done = quantizeRow(formatOf(tensor), row, bytes);
      EXPECT_TRUE(done.has_value()) << done.error().toString();
      file_.raw({reinterpret_cast<const char *>(bytes.data()), bytes.size()});
    }
  }

  RandomLlama model_;
  GgufWriter file_;
  std::unique_ptr<Result<GgufFile>> tokenizer_;
  std::vector<GgufValue> tokenizerValues_;
  std::vector<Tensor> tensors_;
  std::mt19937 random_;
};

inline std::vector<uint8_t> randomLlama(const RandomLlama &model = {}) {
  return RandomLlamaWriter(model).write();
}

// A folder that is gone with its contents at the end of its scope.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sinter-test-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  std::string file(const std::string &name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

inline std::string compilerPath() {
  return std::string(SINTER_BIN_DIR) + "/sinter-compiler";
}
inline bool haveCompiler() {
  return access(compilerPath().c_str(), X_OK) == 0;
}

// Runs `sinter-compiler plan MODEL -o PLAN` with more arguments; its exit code, or -1.
inline int runCompiler(const std::string &model, const std::string &plan,
                       const std::vector<std::string> &more = {}) {
  std::vector<std::string> words = {compilerPath(), "plan", model, "-o", plan};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failed || waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}

// Plans that the tests' processes share: of this compiler, the model's bytes and the arguments.
inline std::string sharedPlanPath(const std::string &model, const std::vector<std::string> &more) {
  struct stat compiler = {};
  EXPECT_EQ(stat(compilerPath().c_str(), &compiler), 0);
  std::string key = std::to_string(compiler.st_size) + " " +
                    std::to_string(compiler.st_mtim.tv_sec) + " " +
                    std::to_string(compiler.st_mtim.tv_nsec);
  for (const std::string &argument : more)
    key += "\n" + argument;
  std::ifstream file(model, std::ios::binary);
  key += "\n" + std::string(std::istreambuf_iterator<char>(file), {});
  const auto digest = sha256({{reinterpret_cast<const uint8_t *>(key.data()), key.size()}});
  EXPECT_TRUE(digest.has_value());
  const std::string folder = SINTER_BIN_DIR "/../llm_tests_plans";
  std::filesystem::create_directories(folder);
  return folder + "/" + digest->hex();
}

// The plan of the model file at `model`, built by the compiler once for all tests; null, and a
// failed test, where that does not work.
inline std::shared_ptr<const plan::Plan> planByCompiler(const std::string &model,
                                                        const std::vector<std::string> &more = {}) {
  const std::string path = sharedPlanPath(model, more);
  if (access(path.c_str(), R_OK) != 0) {
    const std::string part = path + "." + std::to_string(getpid());
    const int code = runCompiler(model, part, more);
    EXPECT_EQ(code, 0) << compilerPath() << " plan " << model;
    if (code != 0 || rename(part.c_str(), path.c_str()) != 0)
      return nullptr;
  }
  const auto file = MappedFile::open(path);
  EXPECT_TRUE(file.has_value()) << file.error().toString();
  auto plan = plan::parse(file->bytes());
  EXPECT_TRUE(plan.has_value()) << plan.error().toString();
  return plan ? std::make_shared<const plan::Plan>(std::move(*plan)) : nullptr;
}

// The default model, which is not in the repository; nothing where this machine has none.
inline std::string realModelPath() {
  const char *named = std::getenv("SINTER_TEST_MODEL");
  if (named && *named)
    return named;
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  const std::string base = cache && *cache ? cache : home ? std::string(home) + "/.cache" : "";
  const std::string path = base + "/sinter/models/smollm2.gguf";
  return access(path.c_str(), R_OK) == 0 ? path : "";
}

} // namespace sinter
