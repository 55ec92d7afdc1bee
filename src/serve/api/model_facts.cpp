// Reads facts of a model file, without a word on what is wrong with it.
#include "serve/api/model_facts.h"

#include "llm/chat/file_templates.h"
#include "llm/chat/syntax_probe.h"
#include "llm/chat/tool_prompt.h"
#include "llm/pooling.h"

#include <ctime>
#include <filesystem>
#include <map>

namespace sinter::serve {
namespace {

std::string textOf(const GgufFile &file, std::string_view key) {
  const auto text = file.getString(key);
  return text ? std::string(*text) : "";
}

uint64_t parametersOf(const GgufFile &file) {
  uint64_t count = 0;
  for (const GgufTensor &tensor : file.tensors())
    count += tensor.elements();
  return count;
}

// "134.52M", "1.2B"
std::string sizeText(uint64_t parameters) {
  const bool isLarge = parameters >= 1'000'000'000;
  char text[32];
  std::snprintf(text, sizeof text, isLarge ? "%.1fB" : "%.2fM",
                static_cast<double>(parameters) / (isLarge ? 1e9 : 1e6));
  return text;
}

// The type of most of the weights.
std::string quantizationOf(const GgufFile &file) {
  std::map<std::string, uint64_t, std::less<>> bytes;
  for (const GgufTensor &tensor : file.tensors())
    bytes[std::string(tensor.format->name)] += tensor.bytes.size();
  std::string most;
  for (const auto &[name, size] : bytes)
    if (most.empty() || size > bytes[most])
      most = name;
  return most;
}

template <typename T> Json orNull(const Result<T> &value) {
  return value ? Json(*value) : Json();
}

Json scalarOf(const GgufFile &file, const GgufValue &value) {
  switch (value.type) {
  case GgufType::String:
    return orNull(file.getString(value.key));
  case GgufType::Bool:
    return orNull(file.getBool(value.key));
  case GgufType::F32:
  case GgufType::F64: {
    const auto number = file.getF32(value.key);
    return number ? Json(shortest(*number)) : Json();
  }
  case GgufType::U64:
    return orNull(file.getU64(value.key));
  default:
    return orNull(file.getI64(value.key));
  }
}

Json listOf(const GgufFile &file, const GgufValue &value) {
  switch (value.elementType) {
  case GgufType::String:
    return orNull(file.getStrings(value.key));
  case GgufType::Bool:
    return orNull(file.getBools(value.key));
  case GgufType::F32:
  case GgufType::F64:
    return orNull(file.getF32s(value.key));
  case GgufType::U64:
    return orNull(file.getU64s(value.key));
  default:
    return orNull(file.getI64s(value.key));
  }
}

// As the template for such inputs tells.
AnswerSyntax syntaxOf(const GgufFile &file, const std::string &chatTemplate,
                      const ChatInputs &inputs) {
  const jinja::Input begin(std::string("<s>")), end(std::string("</s>"));
  FileTemplates templates = FileTemplates::read(file);
  if (!chatTemplate.empty())
    if (auto other = ChatTemplate::parse(chatTemplate))
      templates.replace(std::move(*other));
  const Result<ChatTemplate> &chosen = templates.choose(inputs);
  return chosen ? probeAnswerSyntax(*chosen, {{"bos_token", begin}, {"eos_token", end}})
                : AnswerSyntax();
}

// Whether the vocabulary has tokens around the parts of a text. Those that are known by their texts
// are not looked for: lists of all tokens are long.
bool fillsIn(const GgufFile &file) {
  return file.find("tokenizer.ggml.fim_pre_token_id") &&
         file.find("tokenizer.ggml.fim_suf_token_id") &&
         file.find("tokenizer.ggml.fim_mid_token_id");
}

} // namespace

Json modelDetails(const GgufFile &file) {
  const std::string family = textOf(file, "general.architecture");
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", family},
          {"families", Json::array({family})},
          {"parameter_size", sizeText(parametersOf(file))},
          {"quantization_level", quantizationOf(file)}};
}

Json modelInfo(const GgufFile &file, bool withLists) {
  Json info = Json::object();
  for (const GgufValue &value : file.values()) {
    if (value.key.starts_with("tokenizer.chat_template"))
      continue;
    const std::string key(value.key);
    if (!value.isArray())
      info[key] = scalarOf(file, value);
    else
      info[key] = withLists ? listOf(file, value) : Json();
  }
  info["general.parameter_count"] = parametersOf(file);
  return info;
}

Json modelCapabilities(const GgufFile &file, const std::string &chatTemplate) {
  if (seesBothWays(file))
    return Json::array({"embedding"});
  const AnswerSyntax plain = syntaxOf(file, chatTemplate, {}),
                     withTools = syntaxOf(file, chatTemplate,
                                          {.tools = jinja::Input(jinja::Input::List())});
  Json all = Json::array({"completion"});
  if (takesTools(withTools))
    all.push_back("tools");
  if (plain.thinks())
    all.push_back("thinking");
  if (fillsIn(file))
    all.push_back("insert");
  return all;
}

Json templateCapabilities(const GgufFile &file, const std::string &chatTemplate) {
  const AnswerSyntax syntax =
      syntaxOf(file, chatTemplate, {.tools = jinja::Input(jinja::Input::List())});
  const bool readsCalls = syntax.calls.shape != CallShape::None;
  return {{"supports_tools", takesTools(syntax)},
          {"supports_tool_calls", readsCalls},
          {"supports_parallel_tool_calls",
           readsCalls && !syntax.usesChannels() && syntax.calls.severalCalls},
          {"supports_system_role", syntax.readsSystem},
          {"supports_preserve_reasoning", syntax.thinks()}};
}

std::string modelDigest(const GgufFile &file) {
  const auto digest = file.digest();
  return digest ? digest->hex() : "";
}

std::string timeText(std::chrono::system_clock::time_point time) {
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[48];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + size, sizeof text - size, ".%06dZ", static_cast<int>(micros % 1'000'000));
  return text;
}

std::string modifiedText(const std::string &path) {
  std::error_code failed;
  const auto time = std::filesystem::last_write_time(path, failed);
  if (failed)
    return timeText({});
  const auto since = time - std::filesystem::file_time_type::clock::now();
  return timeText(std::chrono::system_clock::now() +
                  std::chrono::duration_cast<std::chrono::system_clock::duration>(since));
}

} // namespace sinter::serve
