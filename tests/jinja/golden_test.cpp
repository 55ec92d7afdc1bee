// What jinja2 makes of templates, the engine makes too: committed by
// tests/data/jinja/make_goldens.py.
#include "base/sha256.h"
#include "jinja/render.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sinter::jinja {
namespace {

const std::string kFolder = std::string(SINTER_TEST_DIR) + "/data/jinja/";

Input read(std::string_view json) {
  auto value = inputFromJson(json);
  EXPECT_TRUE(value.has_value()) << json.substr(0, 100);
  return value ? std::move(*value) : Input();
}
std::string contentOf(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string digestOf(std::string_view text) {
  const auto digest =
      sha256({std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size())});
  EXPECT_TRUE(digest.has_value());
  return digest ? digest->hex().substr(0, 8) : "";
}

// "text: ..." or "error: ...".
std::string outcome(std::string_view source, const Input::Object &variables) {
  const auto parsed = Template::parse(source);
  if (!parsed)
    return "error: " + parsed.error().toString();
  const auto text = parsed->render(variables, testTime());
  return text ? "text: " + text->bytes() : "error: " + text.error().toString();
}

// SINTER_JINJA_GOLDENS names another file of make_goldens.py --out, for other seeds.
TEST(JinjaGoldens, RandomTemplatesGiveWhatJinja2Gives) {
  const char *other = std::getenv("SINTER_JINJA_GOLDENS");
  std::ifstream in(other ? other : kFolder + "generated.goldens");
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  const Input variables = read(line);
  size_t texts = 0, errors = 0;
  while (std::getline(in, line)) {
    const Input pair = read(line);
    const std::string &source = *(*pair.list())[0].text();
    const std::string *expected = (*pair.list())[1].text();
    const std::string found = outcome(source, *variables.object());
    if (expected)
      EXPECT_EQ(found, "text: " + *expected) << source;
    else
      EXPECT_TRUE(found.starts_with("error: ")) << source << "\n" << found;
    ++(expected ? texts : errors);
  }
  EXPECT_GE(texts, 1500u);
  EXPECT_GE(errors, 200u);
}

// The digests of one published template's outputs, in the order of make_goldens.py.
std::string digestsOf(const std::string &source, const Input &cases) {
  std::string digests;
  for (const auto &[name, messages] : *cases.find("conversations")->object())
    for (const auto &[option, values] : *cases.find("options")->object()) {
      Input::Object variables = *values.object();
      variables.emplace_back("messages", messages);
      variables.emplace_back("bos_token", Input(std::string("<s>")));
      variables.emplace_back("eos_token", Input(std::string("</s>")));
      const std::string found = outcome(source, variables);
      digests +=
          found.starts_with("text: ") ? " " + digestOf(std::string_view(found).substr(6)) : " -";
    }
  return digests;
}

TEST(JinjaGoldens, PublishedChatTemplatesGiveWhatJinja2Gives) {
  const char *folder = std::getenv("SINTER_CHAT_TEMPLATES");
  if (!folder)
    GTEST_SKIP() << "SINTER_CHAT_TEMPLATES names no folder of published templates";
  const Input cases = read(contentOf(kFolder + "conversations.json"));
  std::istringstream goldens(contentOf(kFolder + "published.goldens"));
  size_t checked = 0;
  for (std::string name, digest, digests;
       goldens >> name >> digest && std::getline(goldens, digests);) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (!std::filesystem::exists(path))
      continue;
    const std::string source = contentOf(path);
    if (digestOf(source) != digest)
      continue; // another version of it
    EXPECT_EQ(digestsOf(source, cases), digests) << name;
    ++checked;
  }
  EXPECT_GE(checked, 1u);
}

} // namespace
} // namespace sinter::jinja
