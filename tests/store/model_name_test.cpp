// Names that may stand in addresses and files, and those that may not.
#include "store/model_name.h"

#include <gmock/gmock.h>

namespace sinter::store {
namespace {

using testing::HasSubstr;

std::string textOf(const std::string &text) {
  const auto name = ModelName::parse(text);
  return name ? name->text() : name.error().message;
}

TEST(ModelName, IsShownInItsShortestForm) {
  EXPECT_EQ(textOf("llama3.2"), "llama3.2:latest");
  EXPECT_EQ(textOf("llama3.2:1b"), "llama3.2:1b");
  EXPECT_EQ(textOf("library/llama3.2:1b"), "llama3.2:1b");
  EXPECT_EQ(textOf("someone/model"), "someone/model:latest");
  EXPECT_EQ(textOf("registry.ollama.ai/library/llama3.2:1b"), "llama3.2:1b");
  EXPECT_EQ(textOf("hf.co/Owner/Repo-GGUF:Q4_K_M"), "hf.co/Owner/Repo-GGUF:Q4_K_M");
  EXPECT_EQ(textOf("https://huggingface.co/Owner/Repo-GGUF"), "hf.co/Owner/Repo-GGUF:latest");
}

TEST(ModelName, ItsTextGivesItBack) {
  for (const char *text : {"a", "a/b:c", "hf.co/a/b:c", "library/a:b"}) {
    const auto name = ModelName::parse(text);
    ASSERT_TRUE(name) << text;
    EXPECT_TRUE(ModelName::parse(name->text()).value_or(ModelName()) == *name);
  }
}

TEST(ModelName, NoPartIsAPath) {
  for (const char *text :
       {"",        ":",           "a:",           "/",    "../a",   "a/..", "..",
        "a/../b",  "hf.co/../b",  "hf.co/a/..:x", "a:..", "a:../b", ".a",   "-a",
        "a/-b",    "a..b",        "a b",          "a\nb", "a%2fb",  "a\\b", "a//b",
        "a/b/c/d", "/etc/passwd", "a?b",          "a#b",  "ä"})
    EXPECT_THAT(textOf(text), HasSubstr("names no model that can be pulled or stored")) << text;
  EXPECT_THAT(textOf(std::string("a\0b", 3)), HasSubstr("names no model"));
  EXPECT_THAT(textOf(std::string(97, 'a')), HasSubstr("too long"));
}

TEST(ModelName, AnUnknownHostIsNamed) {
  EXPECT_THAT(textOf("evil.example/a/b"), HasSubstr("its host 'evil.example' is not known"));
}

} // namespace
} // namespace sinter::store
