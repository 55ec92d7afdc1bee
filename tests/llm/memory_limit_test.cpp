// Models on devices with memory of their own: what does not fit is refused before it is loaded, and
// what fits is taken at once.
#include "llm/ragged.h"

namespace sinter {
namespace {

// A device of cores that tells how much memory is free, and which wraps none of the host's.
class SmallDevice : public hal::Device {
public:
  SmallDevice(std::unique_ptr<hal::Device> inner, uint64_t freeBytes)
      : inner_(std::move(inner)), freeBytes_(freeBytes) {}

  const hal::DeviceInfo &info() const override { return inner_->info(); }
  std::optional<uint64_t> freeBytes() override { return freeBytes_ - allocated; }
  bool supports(hal::Feature feature) const override {
    return feature != hal::Feature::WrapMemory && inner_->supports(feature);
  }
  Result<std::unique_ptr<hal::Buffer>> allocate(uint64_t bytes) override {
    allocated += bytes;
    return inner_->allocate(bytes);
  }
  Result<std::unique_ptr<hal::Buffer>> wrap(std::span<uint8_t> memory) override {
    return inner_->wrap(memory);
  }
  Result<std::unique_ptr<hal::Buffer>> wrapReadOnly(std::span<const uint8_t> memory) override {
    return inner_->wrapReadOnly(memory);
  }
  Result<std::unique_ptr<hal::Module>> loadModule(std::string_view target,
                                                  std::span<const uint8_t> code) override {
    return inner_->loadModule(target, code);
  }
  Result<std::unique_ptr<hal::Stream>> createStream() override { return inner_->createStream(); }
  Result<std::unique_ptr<hal::Event>> createEvent() override { return inner_->createEvent(); }
  void parallelFor(int64_t count, HostTask task, void *context) override {
    inner_->parallelFor(count, task, context);
  }

  uint64_t allocated = 0;

private:
  std::unique_ptr<hal::Device> inner_;
  uint64_t freeBytes_;
};

class MemoryLimitTest : public testing::Test {
protected:
  static constexpr uint32_t kContext = 8192, kSequences = 16;
  static constexpr uint64_t kPlenty = uint64_t{1} << 32;

  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    const std::vector<uint8_t> bytes = randomLlama({.vocabulary = 320, .context = kContext});
    std::ofstream(folder_.file("model.gguf"), std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    model_ = LoadedModel::open(folder_.file("model.gguf"), {"--target", "host"});
    ASSERT_TRUE(static_cast<bool>(model_));
  }
  Result<std::unique_ptr<PlanRunner>> runnerWith(uint64_t freeBytes) {
    device_ = std::make_unique<SmallDevice>(openFirst("cpu", 1).value(), freeBytes);
    return PlanRunner::create(*device_, *model_.file, model_.plan,
                              {.contextTokens = kContext, .sequences = kSequences});
  }

  const ScratchFolder folder_;
  LoadedModel model_;
  std::unique_ptr<SmallDevice> device_;
};

void stepOnce(PlanRunner &runner) {
  PagePool pool =
      PagePool::create(runner.limits().kvGroups[0].pages, runner.limits().pageRows).value();
  SequencePages pages(pool);
  ASSERT_TRUE(pages.reserve(1).has_value());
  const std::vector<TokenId> tokens = {1};
  Batch batch;
  ASSERT_TRUE(
      buildBatch(std::vector<BatchPart>{{tokens, 0, &pages}}, runner.limits().batchShape(), batch)
          .has_value());
  const auto rows = runner.step(batch);
  ASSERT_TRUE(rows.has_value()) << rows.error().toString();
}

TEST_F(MemoryLimitTest, TheWholePoolIsTakenByTheFirstStep) {
  auto runner = runnerWith(kPlenty);
  ASSERT_TRUE(runner.has_value()) << runner.error().toString();
  const runtime::MemoryNeed need = memoryNeedOf(*model_.plan, (*runner)->limits()).value();
  stepOnce(**runner);
  EXPECT_GE(device_->allocated, need.state);
}

TEST_F(MemoryLimitTest, WhatIsFreeDecidesAndNothingIsLoadedWhereItIsTooLittle) {
  const uint64_t state = [&] {
    auto runner = runnerWith(kPlenty);
    return memoryNeedOf(*model_.plan, (*runner)->limits()).value().state;
  }();
  auto refused = runnerWith(state);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::Exhausted);
  EXPECT_THAT(refused.error().message,
              testing::HasSubstr("bytes of which " + std::to_string(state) + " are free"));
  EXPECT_EQ(device_->allocated, 0u);
}

} // namespace
} // namespace sinter
