// A model's facts as text and as JSON.
#include "base/number_text.h"
#include "cli/show/model_facts.h"
#include "cli/terminal.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Object = nlohmann::ordered_json;

std::string bytesOf(uint64_t bytes) {
  return bytesText(static_cast<double>(bytes));
}

// "what                value"
std::string line(const std::string &what, const std::string &value) {
  constexpr size_t kColumn = 20;
  return what + std::string(kColumn - std::min(what.size(), kColumn - 1), ' ') +
         withoutControls(value) + "\n";
}

// Of texts that may be long: licenses, templates.
std::string firstLine(const std::string &text) {
  constexpr size_t kMost = 200;
  const size_t end = std::min(text.find('\n'), kMost);
  return text.substr(0, end) + (end < text.size() ? " ..." : "");
}

std::string countText(uint64_t count) {
  const double value = static_cast<double>(count);
  if (count >= 1'000'000'000)
    return fixed(value / 1e9, 2) + " billion";
  return count >= 1'000'000 ? fixed(value / 1e6, 1) + " million" : std::to_string(count);
}

std::string typesText(const FileFacts &file) {
  std::string text;
  for (const TypeFacts &type : file.types)
    text += (text.empty() ? "" : ", ") + type.type + " " + bytesOf(type.bytes) + " in " +
            std::to_string(type.tensors);
  return text;
}

std::string fileText(const FileFacts &file) {
  std::string text = line("model", file.name.empty() ? "without a name" : file.name);
  const std::string parts =
      file.paths.size() > 1 ? " and " + std::to_string(file.paths.size() - 1) + " more parts" : "";
  text += line("file", file.paths.front() + parts + ", " + bytesOf(file.bytes));
  text += line("architecture", file.architecture.empty() ? "not said" : file.architecture);
  text += line("parameters", countText(file.parameters));
  for (const auto &[what, value] : file.shapes)
    text += line(what, value);
  text += line("tokenizer", file.tokenizer.empty() ? "none" : file.tokenizer);
  text += line("chat template", file.hasTemplate ? "in the file" : "none");
  text += line("tensors", typesText(file));
  for (const auto &[what, value] : file.stored)
    text += line(what, firstLine(value));
  return text;
}

// Many tensors by the first ones.
std::string unusedText(const UnusedFacts &unused) {
  if (unused.tensors.empty())
    return "nothing: every tensor is used";
  constexpr size_t kMostNames = 3;
  std::string names;
  for (size_t i = 0; i < std::min(unused.tensors.size(), kMostNames); ++i)
    names += (i ? ", " : "") + unused.tensors[i];
  if (unused.tensors.size() > kMostNames)
    names += ", ...";
  return std::to_string(unused.tensors.size()) + " tensors, " + bytesOf(unused.bytes) + ": " +
         names;
}

uint64_t tokensOf(const RunnerLimits &limits, size_t group) {
  return uint64_t{limits.kvGroups[group].pages} * limits.pageRows;
}

// A ring's tokens are the last ones of a sequence.
std::string kvCacheText(const DeviceFacts &facts) {
  const auto countOf = [&](size_t group) {
    const bool ring = facts.limits.kvGroups[group].isRing();
    return std::string(ring ? "the last " : "") + std::to_string(tokensOf(facts.limits, group)) +
           " tokens";
  };
  const uint64_t cache = facts.cacheBytes();
  const std::string all = bytesOf(cache) + " in " + facts.kvType;
  if (facts.kvGroupBytes.size() > 1)
    return all + ": " + bytesOf(facts.kvGroupBytes[0]) + " for " + countOf(0) + ", " +
           bytesOf(facts.kvGroupBytes[1]) + " for " + countOf(1) + " in layers with a window";
  return all + " for " + countOf(0) + ", " +
         bytesOf(cache / std::max<uint64_t>(tokensOf(facts.limits, 0), 1)) + " each";
}

std::string deviceText(const DeviceFacts &facts) {
  const runtime::MemoryNeed &memory = facts.memory;
  const RunnerLimits &limits = facts.limits;
  std::string text = "\n" + line("runs on", facts.device.driver + ", " + facts.device.name);
  text += line("target", facts.target);
  text += line("not used", unusedText(facts.unused));
  text += line("weights", bytesOf(memory.weights + memory.constants));
  text += line("KV cache", kvCacheText(facts));
  if (facts.stateBytes > 0)
    text += line("states", bytesOf(facts.stateBytes) + " of a sequence, " +
                               std::to_string(limits.stateSlots) + " of them beside the KV cache");
  text +=
      line("a step", bytesOf(memory.temporary + memory.inputsAndOutputs) + " beside these, for " +
                         std::to_string(std::min(limits.stepTokens, limits.contextTokens)) +
                         " tokens of a prompt");
  const uint64_t all = memory.all();
  const bool fits = all <= facts.device.memoryBytes;
  return text +
         line("in all", bytesOf(all) + " of the device's " + bytesOf(facts.device.memoryBytes) +
                            (fits ? "" : ": too much; a smaller --context takes less"));
}

Object fileObject(const FileFacts &file) {
  Object shapes = Object::object(), types = Object::array(), stored = Object::object();
  for (const auto &[what, value] : file.stored)
    stored[what] = value;
  for (const auto &[what, value] : file.shapes)
    shapes[what] = value;
  for (const TypeFacts &type : file.types)
    types.push_back({{"type", type.type},
                     {"tensors", type.tensors},
                     {"elements", type.elements},
                     {"bytes", type.bytes}});
  return {{"name", file.name},
          {"files", file.paths},
          {"bytes", file.bytes},
          {"architecture", file.architecture},
          {"parameters", file.parameters},
          {"shape", std::move(shapes)},
          {"tokenizer", file.tokenizer},
          {"chat_template", file.hasTemplate},
          {"tensor_types", std::move(types)},
          {"stored", std::move(stored)}};
}

Object deviceObject(const DeviceFacts &facts) {
  Object groups = Object::array();
  for (size_t group = 0; group < facts.kvGroupBytes.size(); ++group)
    groups.push_back(
        {{"tokens", tokensOf(facts.limits, group)}, {"bytes", facts.kvGroupBytes[group]}});
  return {{"driver", facts.device.driver},
          {"name", facts.device.name},
          {"target", facts.target},
          {"memory_bytes", facts.device.memoryBytes},
          {"context_tokens", facts.limits.contextTokens},
          {"kv_type", facts.kvType},
          {"weight_bytes", facts.memory.weights + facts.memory.constants},
          {"kv_cache_groups", std::move(groups)},
          {"kv_cache_bytes", facts.cacheBytes()},
          {"state_bytes", facts.stateBytes},
          {"state_slots", facts.limits.stateSlots},
          {"step_bytes", facts.memory.temporary + facts.memory.inputsAndOutputs},
          {"unused_tensors", facts.unused.tensors},
          {"unused_bytes", facts.unused.bytes}};
}

} // namespace

std::string showText(const FileFacts &file, const std::optional<DeviceFacts> &device,
                     const std::string &reason) {
  return fileText(file) + (device ? deviceText(*device) : "\n" + line("does not run", reason));
}

// Bytes of strings that are no UTF-8 are replaced.
std::string showJson(const FileFacts &file, const std::optional<DeviceFacts> &device,
                     const std::string &reason) {
  Object object = fileObject(file);
  object["runs"] = device.has_value();
  if (device)
    object["device"] = deviceObject(*device);
  else
    object["reason"] = reason;
  return object.dump(1, ' ', false, Object::error_handler_t::replace) + "\n";
}

} // namespace sinter::cli
