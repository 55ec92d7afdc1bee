// Greedy decoding with Sinter, for comparing tokens and logits with a peer's:
//
//   text_greedy [--device cpu|cuda|vulkan] MODEL PLAN N LOGITS PROMPT.txt...
//
// One JSON line per prompt file: {"prompt":[ids],"tokens":[N ids]}. LOGITS gets the rows that the
// tokens were chosen from as raw f32, [prompts][N][vocabulary], no header; row 0 of a prompt is its
// last position. Decoding does not stop at end tokens. Every prompt starts from an empty cache.
//
//   text_greedy [--device NAME] --score MODEL PLAN N LOGITS PROMPT.txt...
//
// Chooses no token: LOGITS gets the rows of each prompt's last N positions. A line holds the
// prompt.
//
//   text_greedy [--device NAME] --rows MODEL PLAN
//
// Whether a row's logits have the same bits among 1, 8, 65 and 513 rows of a prompt, and for a
// generated token alone and among 8 to 64 sequences: a JSON line for each, exit status 1 where they
// differ.
#include "base/mapped_file.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/vulkan/vulkan_driver.h"
#include "llm/model.h"
#include "llm/sampler/sampler.h"
#include "plan/file.h"
#include "row_bits.h"

#include <charconv>
#include <cstdio>
#include <cstring>

namespace sinter {
namespace {

constexpr uint32_t kContextTokens = 1024, kThreads = 2;

struct Arguments {
  std::string device = "cpu";
  std::string model, plan, logits;
  uint32_t count = 0;
  bool rows = false, score = false;
  std::vector<std::string> prompts;
};

struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using OutputFile = std::unique_ptr<std::FILE, FileCloser>;

Result<Arguments> parseArguments(std::span<char *> given) {
  Arguments arguments;
  if (given.size() > 3 && std::strcmp(given[1], "--device") == 0) {
    arguments.device = given[2];
    given = given.subspan(2);
  }
  arguments.rows = given.size() == 4 && std::strcmp(given[1], "--rows") == 0;
  if (arguments.rows) {
    arguments.model = given[2];
    arguments.plan = given[3];
    return arguments;
  }
  arguments.score = given.size() > 1 && std::strcmp(given[1], "--score") == 0;
  if (arguments.score)
    given = given.subspan(1);
  if (given.size() < 6)
    return fail(Code::InvalidArgument, "usage: text_greedy [--device NAME] [--score] MODEL PLAN N "
                                       "LOGITS PROMPT.txt..., or --rows MODEL PLAN");
  arguments.model = given[1];
  arguments.plan = given[2];
  arguments.logits = given[4];
  arguments.prompts = {given.begin() + 5, given.end()};
  const char *end = given[3] + std::strlen(given[3]);
  const auto [stop, error] = std::from_chars(given[3], end, arguments.count);
  if (error != std::errc() || stop != end || arguments.count < 1)
    return fail(Code::InvalidArgument, std::string("N is '") + given[3] + "', expected 1 or more");
  return arguments;
}

Result<std::unique_ptr<Model>> openModel(const Arguments &arguments, hal::Device &device) {
  SINTER_ASSIGN(ModelFile file, ModelFile::open(arguments.model));
  SINTER_ASSIGN(const MappedFile bytes, MappedFile::open(arguments.plan));
  SINTER_ASSIGN(plan::Plan plan,
                plan::parseFor(bytes.bytes(), device.info().target, [&](const plan::Plan &one) {
                  return targetOf(one).starts_with(device.info().driver + ":");
                }));
  PlanRunnerOptions options;
  options.contextTokens = kContextTokens;
  if (arguments.rows) {
    options.poolTokens = kComparedSequences * kComparedTokens;
    options.maxStepTokens = kComparedRows;
  }
  return Model::create(std::move(file), std::make_shared<plan::Plan>(std::move(plan)), device,
                       options);
}

// The wanted logits of `tokens`, which follow the `position` tokens that `pages` hold.
Result<std::span<const float>> advance(Model &model, SequencePages &pages, uint32_t position,
                                       std::span<const TokenId> tokens,
                                       Phase phase = Phase::Prefill,
                                       LogitsWanted wanted = LogitsWanted::Last) {
  SINTER_TRY(pages.reserve(position + tokens.size()));
  const BatchPart part{tokens, position, &pages, wanted, phase};
  Batch batch;
  SINTER_TRY(buildBatch({&part, 1}, model.runner().limits().batchShape(), batch));
  return model.runner().step(batch);
}

Result<void> write(std::span<const float> row, std::FILE *logits) {
  if (std::fwrite(row.data(), sizeof(float), row.size(), logits) != row.size())
    return fail(Code::Exhausted, "cannot write the logits");
  return {};
}

// Writes the logits of the last `count` positions.
Result<void> score(Model &model, std::span<const TokenId> prompt, uint32_t count,
                   std::FILE *logits) {
  if (prompt.size() < count)
    return fail(Code::InvalidArgument, "a prompt has " + std::to_string(prompt.size()) +
                                           " tokens, expected at least " + std::to_string(count));
  const size_t first = prompt.size() - count, vocabulary = model.runner().limits().vocabSize;
  SequencePages pages(model.pages());
  for (uint32_t position = 0; position < prompt.size();) {
    const auto part = prompt.subspan(
        position, std::min<size_t>(model.runner().limits().stepTokens, prompt.size() - position));
    SINTER_ASSIGN(const std::span<const float> rows,
                  advance(model, pages, position, part, Phase::Prefill, LogitsWanted::All));
    for (size_t row = 0; row < part.size(); ++row)
      if (position + row >= first)
        SINTER_TRY(write(rows.subspan(row * vocabulary, vocabulary), logits));
    position += static_cast<uint32_t>(part.size());
  }
  return {};
}

Result<std::vector<TokenId>> decode(Model &model, std::span<const TokenId> prompt, uint32_t count,
                                    std::FILE *logits) {
  const uint32_t chunk = model.runner().limits().stepTokens;
  SequencePages pages(model.pages());
  uint32_t position = 0;
  for (; prompt.size() - position > chunk; position += chunk)
    SINTER_TRY(advance(model, pages, position, prompt.subspan(position, chunk)));
  std::vector<TokenId> feed(prompt.begin() + position, prompt.end()), chosen;
  while (chosen.size() < count) {
    SINTER_ASSIGN(
        const std::span<const float> row,
        advance(model, pages, position, feed, chosen.empty() ? Phase::Prefill : Phase::Decode));
    SINTER_TRY(write(row, logits));
    position += static_cast<uint32_t>(feed.size());
    SINTER_ASSIGN(const TokenId token, sampleGreedy(row));
    chosen.push_back(token);
    feed = {token};
  }
  return chosen;
}

void printIds(const char *name, std::span<const TokenId> ids) {
  std::printf("\"%s\":[", name);
  for (size_t i = 0; i < ids.size(); ++i)
    std::printf("%s%d", i ? "," : "", static_cast<int>(ids[i]));
  std::printf("]");
}

Result<void> run(const Arguments &arguments) {
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_TRY(hal::addCudaDriver(registry));
  SINTER_TRY(hal::addVulkanDriver(registry));
  SINTER_ASSIGN(hal::Driver * driver, registry.find(arguments.device));
  SINTER_ASSIGN(const auto device, driver->open(0, {kThreads}));
  SINTER_ASSIGN(const auto model, openModel(arguments, *device));
  if (arguments.rows) {
    SINTER_ASSIGN(const bool equal, rowsAreEqual(*model));
    if (!equal)
      return fail(Code::Internal, "rows differ with their number");
    return {};
  }
  const OutputFile logits(std::fopen(arguments.logits.c_str(), "wb"));
  if (!logits)
    return fail(Code::NotFound, "cannot write '" + arguments.logits + "'");
  for (const std::string &path : arguments.prompts) {
    SINTER_ASSIGN(const MappedFile text, MappedFile::open(path));
    SINTER_ASSIGN(const auto prompt,
                  model->file().encodeRaw(
                      {reinterpret_cast<const char *>(text.bytes().data()), text.bytes().size()}));
    std::printf("{");
    printIds("prompt", prompt);
    if (arguments.score) {
      SINTER_TRY(score(*model, prompt, arguments.count, logits.get()));
    } else {
      SINTER_ASSIGN(const auto chosen, decode(*model, prompt, arguments.count, logits.get()));
      std::printf(",");
      printIds("tokens", chosen);
    }
    std::printf("}\n");
  }
  if (std::fflush(logits.get()) != 0 || std::fflush(stdout) != 0)
    return fail(Code::Exhausted, "cannot finish writing");
  return {};
}

} // namespace
} // namespace sinter

int main(int argc, char **argv) {
  const auto arguments = sinter::parseArguments({argv, static_cast<size_t>(argc)});
  const auto done = arguments ? sinter::run(*arguments) : tl::unexpected(arguments.error());
  if (done)
    return 0;
  std::fprintf(stderr, "text_greedy: %s\n", done.error().toString().c_str());
  return arguments ? 1 : 2;
}
