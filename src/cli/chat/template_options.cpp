// Reads what options name.
#include "cli/chat/template_options.h"

#include "base/mapped_file.h"
#include "llm/chat/builtin_templates.h"

#include <ctime>

namespace sinter::cli {
namespace {

constexpr size_t kMostFileBytes = size_t{64} << 20;

Fail ofOption(const std::string &option, const Status &error) {
  return fail(error.code, option + ": " + error.message, error.byteOffset);
}

Result<ChatTemplate> parsed(const std::string &option, std::string_view source) {
  auto made = ChatTemplate::parse(source);
  if (!made)
    return ofOption(option, made.error());
  return made;
}

} // namespace

Result<std::string> readFileOf(const std::string &option, const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return ofOption(option, file.error());
  const auto bytes = file->bytes();
  if (bytes.size() > kMostFileBytes)
    return fail(Code::InvalidArgument,
                option + ": '" + path + "' has " + std::to_string(bytes.size()) +
                    " bytes, expected at most " + std::to_string(kMostFileBytes));
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Result<jinja::Input> readJsonOf(const std::string &option, const std::string &path) {
  SINTER_ASSIGN(const std::string text, readFileOf(option, path));
  auto json = jinja::inputFromJson(text);
  if (!json)
    return ofOption(option + ": '" + path + "'", json.error());
  return json;
}

Result<ChatInputs> chatInputs(const ChatArguments &arguments) {
  ChatInputs inputs;
  inputs.think = arguments.think;
  inputs.reasoningEffort = arguments.reasoningEffort;
  if (!arguments.tools.empty()) {
    SINTER_ASSIGN(inputs.tools, readJsonOf("--tools", arguments.tools));
    if (!inputs.tools->list())
      return fail(Code::InvalidArgument, "--tools: '" + arguments.tools +
                                             "' holds no JSON list, expected [{\"type\": "
                                             "\"function\", \"function\": {...}}]");
  }
  for (const auto &[name, json] : arguments.others) {
    auto value = jinja::inputFromJson(json);
    if (!value)
      return ofOption("--template-arg " + name + " (a text needs quotes: '" + name + "=\"text\"')",
                      value.error());
    inputs.others.emplace_back(name, std::move(*value));
  }
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  inputs.now = local;
  return inputs;
}

Result<void> useChatTemplate(ModelFile &file, const ChatArguments &arguments) {
  const std::string &name = arguments.chatTemplate;
  if (name.empty())
    return {};
  const std::string option = "--chat-template " + name;
  if (const Result<ChatTemplate> *own = file.chatTemplates().find(name)) {
    if (!*own)
      return ofOption(option, own->error());
    file.useChatTemplate(**own);
    return {};
  }
  std::string source(builtinTemplate(name));
  if (source.empty()) {
    auto text = readFileOf(option, name);
    if (!text && text.error().code == Code::NotFound)
      return fail(Code::NotFound, option +
                                      ": no such file, no template of the model's of that "
                                      "name, and none of " +
                                      builtinTemplateNames());
    SINTER_TRY(text);
    source = std::move(*text);
  }
  SINTER_ASSIGN(ChatTemplate made, parsed(option, source));
  file.useChatTemplate(std::move(made));
  return {};
}

Result<void> checkCanChat(const ModelFile &file, const ChatInputs &inputs) {
  const auto can = file.canChat(inputs);
  if (can || can.error().code == Code::InvalidArgument)
    return can;
  return fail(can.error().code,
              can.error().message +
                  "; --raw -p TEXT gives the model a prompt as it stands, "
                  "--chat-template NAME takes another template: " +
                  builtinTemplateNames(),
              can.error().byteOffset);
}

} // namespace sinter::cli
