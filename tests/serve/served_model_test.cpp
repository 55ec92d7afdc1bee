// A model of a file through a worker: real kernels, a real tokenizer, several jobs at once.
#include "llm/ragged.h"
#include "llm/session.h"
#include "serve/worker_check.h"

namespace sinter::serve {
namespace {

class ServedModel : public testing::Test {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    RandomLlama model;
    model.vocabularyFile = std::string(SINTER_TEST_DIR) + "/data/vocab/smollm2.gguf.vocab";
    const std::vector<uint8_t> bytes = randomLlama(model);
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), std::ssize(bytes));
    plan_ = planByCompiler(path());
    ASSERT_NE(plan_, nullptr);
  }
  std::string path() const { return folder_.file("model.gguf"); }

  host::OpenedModel open() {
    host::OpenedModel opened{openCpu(2), nullptr};
    auto file = ModelFile::open(path());
    EXPECT_TRUE(file.has_value());
    PlanRunnerOptions options;
    options.contextTokens = 256;
    options.sequences = 2; // fewer than the jobs want
    auto model = Model::create(std::move(*file), plan_, *opened.device, options);
    EXPECT_TRUE(model.has_value()) << model.error().toString();
    opened.model = std::move(*model);
    return opened;
  }
  static GenerationJob jobOf(const ModelFile &file, const std::string &text, uint32_t number) {
    GenerationJob job{.prompt = *file.encodeRaw(text), .maxTokens = 40, .ignoreEndTokens = true};
    if (number % 2)
      job.sampler = {.temperature = 0.8, .topP = 0.9, .seed = number};
    job.queue = std::to_string(number % 3);
    return job;
  }
  static std::vector<TokenId> alone(Model &model, const GenerationJob &job) {
    Session session(model.runner(), model.pages(), model.tokenizer());
    auto sampler = Sampler::create(job.sampler, model.tokenizer().size(), &model.tokenizer());
    const auto made = session.generate(
        job.prompt, {.maxTokens = job.maxTokens, .sampler = &*sampler, .ignoreEndTokens = true},
        [](TokenId) -> Result<void> { return {}; });
    EXPECT_TRUE(made.has_value()) << made.error().toString();
    return made ? made->tokens : std::vector<TokenId>();
  }

  const ScratchFolder folder_;
  std::shared_ptr<const plan::Plan> plan_;
};

TEST_F(ServedModel, JobsSideBySideGetTheTokensAndTextThatTheyGetAlone) {
  const host::OpenedModel reference = open();
  auto worker = ModelWorker::create(open());
  ASSERT_TRUE(worker.has_value()) << worker.error().toString();
  std::vector<GenerationJob> jobs;
  std::vector<std::shared_ptr<NotingSink>> sinks;
  std::string text = "Once upon a time";
  for (uint32_t i = 0; i < 6;
       ++i, text += " there was a small, quick engine that ran on two cores") {
    jobs.push_back(jobOf((*worker)->file(), text, i));
    GenerationJob job = jobs.back();
    sinks.push_back(std::make_shared<NotingSink>());
    job.sink = sinks.back();
    const auto id = (*worker)->submit(std::move(job));
    ASSERT_TRUE(id.has_value()) << id.error().toString();
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto &end = sinks[i]->waitForEnd();
    ASSERT_TRUE(end.has_value()) << end.error().toString();
    const std::vector<TokenId> expected = alone(*reference.model, jobs[i]);
    EXPECT_EQ(sinks[i]->tokens(), expected);
    EXPECT_EQ(sinks[i]->text(), *detokenize(reference.model->tokenizer(), expected));
  }
  const WorkerState state = (*worker)->state();
  EXPECT_EQ(state.finished, 6u);
  EXPECT_EQ(state.answerTokens, 240u);
  const auto vectors = (*worker)->submitVectors({.texts = {{1}}, .onEnd = [](auto) {}});
  ASSERT_FALSE(vectors.has_value());
  EXPECT_EQ(vectors.error().code, Code::Unsupported);
}

} // namespace
} // namespace sinter::serve
