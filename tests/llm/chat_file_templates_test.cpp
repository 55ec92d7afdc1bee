// The templates of a model file: the right one for the inputs, each with its own error.
#include "llm/chat/file_templates.h"

#include "format/gguf_writer.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::HasSubstr;

using Sources = std::vector<std::pair<std::string, std::string>>;

// A file that lives as long as its templates are read.
FileTemplates templatesOf(const Sources &sources) {
  GgufWriter writer;
  writer.header(0, sources.size());
  for (const auto &[key, source] : sources)
    writer.text("tokenizer.chat_template" + key, source);
  const std::vector<uint8_t> bytes = writer.bytes();
  const auto file = GgufFile::parse(bytes);
  EXPECT_TRUE(file.has_value()) << file.error().toString();
  return FileTemplates::read(*file);
}

std::string rendered(const FileTemplates &templates, const ChatInputs &inputs = {}) {
  const Result<ChatTemplate> &chosen = templates.choose(inputs);
  if (!chosen)
    return "error: " + chosen.error().message;
  const auto parts = chosen->render(jinja::Input(jinja::Input::List()), true, inputs, {});
  return parts ? promptText(*parts) : "error: " + parts.error().message;
}
ChatInputs withTools() {
  return {.tools = jinja::Input(jinja::Input::List())};
}
ChatInputs withDocuments() {
  ChatInputs inputs;
  inputs.others.emplace_back("documents", jinja::Input(jinja::Input::List()));
  return inputs;
}

const Sources kThree = {{"", "plain"}, {".tool_use", "tools"}, {".rag", "rag"}};

TEST(FileTemplates, AreChosenByWhatTheyAreGiven) {
  const FileTemplates templates = templatesOf(kThree);
  EXPECT_EQ(rendered(templates), "plain");
  EXPECT_EQ(rendered(templates, withTools()), "tools");
  EXPECT_EQ(rendered(templates, withDocuments()), "rag");
  EXPECT_NE(templates.find("rag"), nullptr);
  EXPECT_EQ(templates.find("other"), nullptr);
}

TEST(FileTemplates, TheFilesOwnServesWhereThereIsNoOther) {
  EXPECT_EQ(rendered(templatesOf({{"", "plain"}}), withTools()), "plain");
}

TEST(FileTemplates, AFileWithoutATemplateSaysSo) {
  EXPECT_EQ(rendered(templatesOf({})), "error: the model file has no chat template");
  EXPECT_EQ(rendered(templatesOf({{"", ""}})), "error: the model file has no chat template");
}

TEST(FileTemplates, ABrokenTemplateKeepsItsErrorUntilItIsChosen) {
  const FileTemplates templates = templatesOf({{"", "plain"}, {".tool_use", "{% nosuch %}"}});
  EXPECT_EQ(rendered(templates), "plain");
  EXPECT_THAT(rendered(templates, withTools()), HasSubstr("a tag 'nosuch'"));
}

TEST(FileTemplates, AnotherTemplateReplacesAllOfThem) {
  FileTemplates templates = templatesOf(kThree);
  templates.replace(*ChatTemplate::parse("mine"));
  EXPECT_EQ(rendered(templates, withTools()), "mine");
  EXPECT_EQ(templates.find("rag"), nullptr);
}

} // namespace
} // namespace sinter
