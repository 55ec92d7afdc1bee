// Models by path and by name.
#include "host/host_test.h"
#include "host/model_store.h"

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

TEST_F(ModelStore, AModelIsOpenedByItsPath) {
  const auto file = openModelFile(modelFile(), recorder_);
  ASSERT_TRUE(file) << file.error().toString();
  EXPECT_THAT(recorder_.notes, IsEmpty());
}

} // namespace
} // namespace sinter::host
