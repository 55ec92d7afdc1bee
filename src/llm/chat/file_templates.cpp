// Templates by their keys.
#include "llm/chat/file_templates.h"

#include <algorithm>

namespace sinter {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template";

bool isEmpty(const GgufFile &file, std::string_view key) {
  const auto source = file.getString(key);
  return source && source->empty();
}
Result<ChatTemplate> templateAt(const GgufFile &file, std::string_view key) {
  SINTER_ASSIGN(const std::string_view source, file.getString(key));
  return ChatTemplate::parse(source);
}

} // namespace

FileTemplates FileTemplates::read(const GgufFile &file) {
  FileTemplates templates;
  const std::string prefix = std::string(kKey) + ".";
  for (const GgufValue &value : file.values()) {
    const std::string_view key = value.key;
    if (key == kKey && !isEmpty(file, key))
      templates.plain_ = templateAt(file, key);
    else if (key.starts_with(prefix))
      templates.named_.insert_or_assign(std::string(key.substr(prefix.size())),
                                        templateAt(file, key));
  }
  return templates;
}

const Result<ChatTemplate> *FileTemplates::find(std::string_view name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : &found->second;
}

const Result<ChatTemplate> &FileTemplates::choose(const ChatInputs &inputs) const {
  const bool hasDocuments = std::ranges::any_of(
      inputs.others, [](const auto &other) { return other.first == "documents"; });
  const Result<ChatTemplate> *found = inputs.tools ? find("tool_use") : nullptr;
  if (!found && hasDocuments)
    found = find("rag");
  return found ? *found : plain_;
}

void FileTemplates::replace(ChatTemplate other) {
  named_.clear();
  plain_ = std::move(other);
}

} // namespace sinter
