// Models by path and by name.
#include "host/go_templates.h"
#include "host/host_test.h"
#include "host/model_changes.h"
#include "host/model_store.h"
#include "host/stored_settings.h"

namespace sinter::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ModelStore : public HostTest {
protected:
  std::string failure(const std::string &model) {
    const auto path = modelPath(model);
    return path ? "found" : path.error().message;
  }
  static void put(const std::string &name, const std::string &bytes,
                  const std::vector<std::pair<store::Role, std::string>> &texts = {}) {
    const auto models = modelStore();
    ASSERT_TRUE(models);
    store::Manifest manifest{
        *store::ModelName::parse(name), "a test", {*models->addBytes(store::Role::Model, bytes)}};
    for (const auto &[role, text] : texts)
      manifest.layers.push_back(*models->addBytes(role, text));
    ASSERT_TRUE(models->put(manifest));
  }
  static std::string readFile(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Recorder recorder_;
};

TEST_F(ModelStore, TheKnownModelIsInTheCache) {
  EXPECT_THAT(failure("smollm2"), HasSubstr("run ./demo once"));
  std::filesystem::create_directories(folder_.file("cache/sinter/models"));
  const std::string path = write("cache/sinter/models/smollm2.gguf", "");
  EXPECT_EQ(modelPath("smollm2").value_or(""), path);
}

TEST_F(ModelStore, FilesOfTheStoreHaveNames) {
  EXPECT_THAT(storedModels(), IsEmpty());
  std::filesystem::create_directories(folder_.file("cache/sinter/models"));
  const std::string path = write("cache/sinter/models/tiny.gguf", "");
  write("cache/sinter/models/a.gguf", "");
  write("cache/sinter/models/notes.txt", "");
  EXPECT_THAT(storedModels(), ElementsAre("a", "tiny"));
  EXPECT_EQ(modelPath("tiny").value_or(""), path);
  EXPECT_THAT(failure("timy"), HasSubstr("(did you mean 'tiny'?)"));
  EXPECT_THAT(failure("../models/tiny"), HasSubstr("No such file or directory"));
}

TEST_F(ModelStore, AMistypedPathNamesTheNearestModelFile) {
  write("llama-3.gguf", "");
  write("llama-3.txt", "");
  for (const char *name : {"lama-3.gguf", "llama-3", "LLAMA-3.GGUF", "llama_3.gguf"})
    EXPECT_THAT(failure(folder_.file(name)),
                HasSubstr("(did you mean '" + folder_.file("llama-3.gguf") + "'?)"))
        << name;
  EXPECT_THAT(failure(folder_.file("qwen.gguf")), Not(HasSubstr("did you mean")));
  EXPECT_THAT(failure("smolm2"), HasSubstr("(did you mean 'smollm2'?)"));
  EXPECT_THAT(failure("/nowhere/at/all.gguf"), HasSubstr("No such file or directory"));
}

TEST_F(ModelStore, PulledModelsHaveTheNamesOfTheirManifests) {
  put("llama3.2:1b", "weights");
  EXPECT_THAT(storedModels(), ElementsAre("llama3.2:1b"));
  EXPECT_EQ(storedName("library/llama3.2:1b"), "llama3.2:1b");
  EXPECT_EQ(storedName("llama3.2"), std::nullopt);
  EXPECT_EQ(readFile(modelPath("llama3.2:1b").value_or("")), "weights");
  EXPECT_THAT(failure("llama3.1:1b"), HasSubstr("(did you mean 'llama3.2:1b'?)"));
  EXPECT_THAT(failure("mistral"), HasSubstr("`sinter pull mistral` fetches"));
}

TEST_F(ModelStore, LatestIsTheTagThatNobodyNeedsToSay) {
  put("a", "weights");
  std::filesystem::create_directories(folder_.file("cache/sinter/models"));
  write("cache/sinter/models/tiny.gguf", "");
  EXPECT_EQ(storedName("a"), "a:latest");
  EXPECT_EQ(storedName("tiny:latest"), "tiny");
}

TEST_F(ModelStore, AStoredModelKnowsWhatItHasBesideItsFile) {
  put("a", "weights",
      {{store::Role::System, "be brief"},
       {store::Role::License, "free"},
       {store::Role::License, "as in beer"}});
  const auto extras = modelExtras("a");
  ASSERT_TRUE(extras) << extras.error().message;
  EXPECT_EQ(extras->system, "be brief");
  EXPECT_EQ(extras->license, "free\nas in beer");
  EXPECT_EQ(extras->params, "");
  EXPECT_EQ(modelExtras("absent")->system, "");
}

TEST_F(ModelStore, ACopySharesItsFileAndOutlivesTheOriginal) {
  const std::atomic<bool> never = false;
  std::filesystem::create_directories(folder_.file("cache/sinter/models"));
  std::filesystem::copy(modelFile(), folder_.file("cache/sinter/models/tiny.gguf"));
  const auto copied = copyModel("tiny", "someone/mine:1", never);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_THAT(storedModels(), ElementsAre("someone/mine:1", "tiny"));
  EXPECT_EQ(std::filesystem::hard_link_count(*modelPath("tiny")), 2u);
  EXPECT_GT(removeModel("tiny").value_or(0), 0u);
  EXPECT_THAT(storedModels(), ElementsAre("someone/mine:1"));
  EXPECT_TRUE(openModelFile("someone/mine:1", recorder_));
  EXPECT_GT(removeModel("someone/mine:1").value_or(0), 0u);
  EXPECT_THAT(storedModels(), IsEmpty());
  EXPECT_THAT(removeModel("tiny").error().message, HasSubstr("no stored model 'tiny'"));
}

TEST_F(ModelStore, OnlyAModelsFileIsCopiedIntoTheStore) {
  const std::atomic<bool> never = false;
  EXPECT_FALSE(copyModel(write("notes.gguf", "no model"), "a", never));
  EXPECT_THAT(copyModel(modelFile(), "../a", never).error().message,
              HasSubstr("names no model that can be pulled or stored"));
  EXPECT_TRUE(copyModel(modelFile(), "a", never));
  EXPECT_THAT(storedModels(), ElementsAre("a:latest"));
}

TEST_F(ModelStore, AKnownGoTemplateStandsForOurs) {
  EXPECT_TRUE(builtinForGoTemplate("{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content "
                                   "}}<|im_end|>\n{{ end }}<|im_start|>assistant\n"));
  EXPECT_FALSE(builtinForGoTemplate("{{ .Prompt }}"));
}

TEST(StoredSettings, ComeOverWhatTheFileProposes) {
  SamplerDefaults defaults;
  ASSERT_TRUE(applyStoredSettings(
      R"({"temperature":0.25,"top_k":7,"stop":["x"],"num_ctx":99,"min_p":2})", defaults));
  EXPECT_EQ(defaults.settings.temperature, 0.25);
  EXPECT_EQ(defaults.settings.topK, 7);
  EXPECT_TRUE(defaults.isFromFile("top_k"));
  EXPECT_EQ(defaults.settings.minP, standardSampler().minP);
  EXPECT_THAT(defaults.notes, ElementsAre(HasSubstr("'min_p' goes unused")));
  EXPECT_FALSE(applyStoredSettings("[1]", defaults));
}

TEST(StoredAnswers, HaveStopsContextAndLength) {
  const auto read = storedAnswers(R"({"stop":["a","b"],"num_ctx":99,"num_predict":7})");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->stops, ElementsAre("a", "b"));
  EXPECT_EQ(read->context, 99u);
  EXPECT_EQ(read->tokens, 7u);
  const auto odd = storedAnswers(R"({"stop":[1],"num_ctx":"x","num_predict":-1})");
  ASSERT_TRUE(odd);
  EXPECT_THAT(odd->notes,
              ElementsAre(HasSubstr("'stop' goes unused"), HasSubstr("'num_ctx' goes unused")));
  EXPECT_EQ(odd->tokens, std::nullopt);
  EXPECT_FALSE(storedAnswers("[1]"));
}

TEST(StoredMessages, AreRolesAndTexts) {
  const auto read = storedMessages(R"([{"role":"user","content":"a"}])");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().role + read->front().content, "usera");
  EXPECT_TRUE(storedMessages("")->empty());
  for (const char *bad : {"{", "{}", "[1]", R"([{"role":"user"}])"})
    EXPECT_THAT(storedMessages(bad).error().message, HasSubstr("damaged")) << bad;
}

TEST_F(ModelStore, AModelIsOpenedByItsPath) {
  const auto file = openModelFile(modelFile(), recorder_);
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_THAT(recorder_.notes, IsEmpty());
}

} // namespace
} // namespace sinter::host
