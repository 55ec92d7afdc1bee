// The chat templates of a model file.
#pragma once

#include "format/gguf.h"
#include "llm/chat/template.h"

#include <map>

namespace sinter {

// What a file offers: tokenizer.chat_template, and tokenizer.chat_template.NAME for some purposes.
class FileTemplates {
public:
  // Reads and parses them. A template that cannot be used keeps its error until it is chosen.
  static FileTemplates read(const GgufFile &file);

  // The file's template for such inputs: tool_use where there are tools, rag where there are
  // documents, else its own. Unsupported where the file has none; errors of ChatTemplate::parse.
  const Result<ChatTemplate> &choose(const ChatInputs &inputs) const;
  // Null where there is no NAME.
  const Result<ChatTemplate> *find(std::string_view name) const;
  // Takes another in place of all of the file's.
  void replace(ChatTemplate other);

private:
  FileTemplates() = default;

  Result<ChatTemplate> plain_ = fail(Code::Unsupported, "the model file has no chat template");
  std::map<std::string, Result<ChatTemplate>, std::less<>> named_;
};

} // namespace sinter
