// Goldens of architectures (tests/data/architectures and tests/data/encoders, written by the
// scripts in tests/archs): a model as metadata and tensors, whose weights a hash draws, tokens, and
// llama.cpp's logits.
#pragma once

#include "format/gguf_writer.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace sinter {

struct GoldenModel {
  struct Key {
    std::string name, type;
    std::vector<std::string> words; // the value, of arrays after the element type
  };
  struct Tensor {
    std::string name;
    double center = 0;
    int spread = 0;                // a power of two
    std::vector<uint64_t> extents; // the fastest first
  };
  using Row = std::map<int32_t, double>; // by token; of large vocabularies the largest logits

  struct Sequence {
    std::vector<int32_t> tokens;
    std::map<size_t, Row> logits; // by position
  };
  static constexpr size_t kDecoded =
      24; // tokens at the end of each sequence that runs beside others

  std::string name;
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  std::vector<int32_t> tokens;
  std::map<size_t, Row> logits;       // by position; of encoders rows of the last layer
  std::map<size_t, Row> transformers; // as `logits`, by another reference
  std::vector<double> transformersRank;
  std::vector<Sequence> beside;                      // that run in the same steps
  std::map<std::string, std::vector<double>> pooled; // of encoders, by pooling; "rank": scores

  static GoldenModel read(const std::filesystem::path &path) {
    GoldenModel model;
    model.name = path.stem().string();
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      model.add(line);
    return model;
  }

  // As tests/archs/gguf_files.py draws them.
  static std::vector<float> weights(const Tensor &tensor) {
    uint64_t count = 1, seed = 0xCBF29CE484222325;
    for (const uint64_t extent : tensor.extents)
      count *= extent;
    for (const char byte : tensor.name)
      seed = (seed ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
    const double scale = std::ldexp(1.0, tensor.spread);
    std::vector<float> values;
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      const double u = std::ldexp(static_cast<double>(mix(seed + i) >> 40), -23) - 1.0;
      values.push_back(static_cast<float>(tensor.center + scale * u));
    }
    return values;
  }

  // The model file, with matrices of another type as zeros.
  std::vector<uint8_t> bytesOfZeros(TensorType matrices) const {
    GgufWriter writer;
    writer.header(tensors.size(), keys.size());
    for (const Key &key : keys)
      writeKey(writer, key);
    uint64_t offset = 0;
    for (const Tensor &tensor : tensors) {
      const bool isMatrix = tensor.extents.size() > 1 && tensor.extents[0] % 256 == 0;
      const TensorType type = isMatrix ? matrices : TensorType::F32;
      writer.string(tensor.name).u32(static_cast<uint32_t>(tensor.extents.size()));
      uint64_t rows = 1;
      for (const uint64_t extent : tensor.extents)
        writer.u64(extent);
      for (size_t axis = 1; axis < tensor.extents.size(); ++axis)
        rows *= tensor.extents[axis];
      writer.u32(static_cast<uint32_t>(type)).u64(offset);
      const uint64_t bytes = rows * blockFormat(type).rowBytes(tensor.extents[0]).value_or(0);
      offset += (bytes + 31) / 32 * 32;
    }
    return writer.pad().zeros(offset).bytes();
  }

  // The model file.
  std::vector<uint8_t> bytes() const {
    GgufWriter writer;
    writer.header(tensors.size(), keys.size());
    for (const Key &key : keys)
      writeKey(writer, key);
    uint64_t offset = 0;
    for (const Tensor &tensor : tensors) {
      writer.string(tensor.name).u32(static_cast<uint32_t>(tensor.extents.size()));
      uint64_t count = 1;
      for (const uint64_t extent : tensor.extents) {
        writer.u64(extent);
        count *= extent;
      }
      writer.u32(static_cast<uint32_t>(TensorType::F32)).u64(offset);
      offset += (count * sizeof(float) + 31) / 32 * 32;
    }
    for (const Tensor &tensor : tensors) {
      writer.pad();
      const std::vector<float> values = weights(tensor);
      writer.raw({reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)});
    }
    return writer.pad().bytes();
  }

  // KL divergence of found logits from the golden's, over the tokens that it has.
  template <class LogitOf> static double divergence(const Row &expected, const LogitOf &found) {
    double expectedSum = 0, foundSum = 0, kl = 0;
    for (const auto &[token, logit] : expected) {
      expectedSum += std::exp(logit);
      foundSum += std::exp(static_cast<double>(found(token)));
    }
    const double shift = std::log(foundSum) - std::log(expectedSum);
    for (const auto &[token, logit] : expected)
      kl += std::exp(logit) / expectedSum * (logit - static_cast<double>(found(token)) + shift);
    return kl;
  }

  // The length of found - expected, as a part of that of `expected`.
  template <class Expected, class Found>
  static double distance(const Expected &expected, const Found &found) {
    double difference = 0, length = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(found[i] - expected[i], 2);
      length += std::pow(expected[i], 2);
    }
    return std::sqrt(difference / length);
  }

private:
  static uint64_t mix(uint64_t state) {
    state += 0x9E3779B97F4A7C15;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB;
    return state ^ (state >> 31);
  }

  void add(const std::string &line) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "key") {
      Key key;
      words >> key.name >> key.type;
      for (std::string word; words >> word;)
        key.words.push_back(word);
      keys.push_back(std::move(key));
    } else if (kind == "tensor") {
      Tensor tensor;
      words >> tensor.name >> tensor.center >> tensor.spread;
      for (uint64_t extent; words >> extent;)
        tensor.extents.push_back(extent);
      tensors.push_back(std::move(tensor));
    } else if (kind == "tokens") {
      for (int32_t token; words >> token;)
        tokens.push_back(token);
    } else if (kind == "logits") {
      addLogits(words, logits);
    } else if (kind == "transformers") {
      addLogits(words, transformers);
    } else if (kind == "transformers_rank") {
      for (double value; words >> value;)
        transformersRank.push_back(value);
    } else if (kind == "beside") {
      Sequence &sequence = beside.emplace_back();
      for (int32_t token; words >> token;)
        sequence.tokens.push_back(token);
    } else if (kind == "beside_logits") {
      addLogits(words, beside.back().logits);
    } else if (kind == "pooled") {
      words >> kind;
      for (double value; words >> value;)
        pooled[kind].push_back(value);
    }
  }

  // "POSITION LOGIT ...", or TOKEN:LOGIT each.
  static void addLogits(std::istringstream &words, std::map<size_t, Row> &rows) {
    size_t position = 0;
    words >> position;
    Row &row = rows[position];
    int32_t token = 0;
    for (std::string word; words >> word; ++token) {
      const size_t colon = word.find(':');
      if (colon != std::string::npos)
        token = static_cast<int32_t>(std::strtol(word.c_str(), nullptr, 10));
      row[token] = numberOf(colon == std::string::npos ? word : word.substr(colon + 1));
    }
  }

  static double numberOf(const std::string &word) { return std::strtod(word.c_str(), nullptr); }
  static void writeScalar(GgufWriter &writer, const std::string &type, const std::string &word) {
    if (type == "u32")
      writer.put(static_cast<uint32_t>(numberOf(word)));
    else if (type == "i32")
      writer.put(static_cast<int32_t>(numberOf(word)));
    else if (type == "f32")
      writer.put(static_cast<float>(numberOf(word)));
    else if (type == "bool")
      writer.put(static_cast<uint8_t>(word == "1"));
    else
      writer.string(word);
  }
  static GgufType typeOf(const std::string &type) {
    static const std::map<std::string, GgufType> kTypes = {
        {"u32", GgufType::U32},   {"i32", GgufType::I32},    {"f32", GgufType::F32},
        {"bool", GgufType::Bool}, {"str", GgufType::String}, {"arr", GgufType::Array}};
    return kTypes.at(type);
  }
  static void writeKey(GgufWriter &writer, const Key &key) {
    if (key.type != "arr") {
      writer.key(key.name, typeOf(key.type));
      writeScalar(writer, key.type, key.words.empty() ? "" : key.words[0]);
      return;
    }
    writer.array(key.name, typeOf(key.words[0]), key.words.size() - 1);
    for (size_t i = 1; i < key.words.size(); ++i)
      writeScalar(writer, key.words[0], key.words[i]);
  }
};

// All goldens of decoders, or those of another folder, by name.
inline std::vector<std::filesystem::path> goldenModels(const std::filesystem::path &data,
                                                       const char *folder = "architectures") {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(data / folder))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

} // namespace sinter
