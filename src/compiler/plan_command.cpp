// The plan command: reads its arguments, builds, writes.
#include "tile/mlir_pch.h"

#include "compiler/plan_command.h"
#include "compiler/target_option.h"
#include "engine/engine.h"
#include "numeric/precision.h"
#include "plan/file.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

namespace cl = llvm::cl;

namespace sinter::compiler {

namespace {
struct Options {
  cl::OptionCategory category{"sinter-compiler plan"};
  cl::SubCommand plan{"plan", "builds the plan of a model"};
  cl::opt<std::string> model{cl::Positional, cl::desc("<MODEL.gguf>"), cl::Required,
                             cl::cat(category), cl::sub(plan)};
  cl::opt<std::string> output{"o", cl::desc("the file to write"), cl::Required, cl::cat(category),
                              cl::sub(plan)};
  cl::opt<bool> normalForm{
      "normal-form",
      cl::desc("write what the plan does as text without names, kernels by digests of their code"),
      cl::cat(category), cl::sub(plan)};
  cl::opt<std::string> target{
      "target", cl::desc("targets, with commas between: host, cpu:avx2, cuda, cuda:sm_90a, ..."),
      cl::init("host"), cl::cat(category), cl::sub(plan)};
  cl::opt<int64_t> pageRows{"page-rows", cl::desc("positions of a page of the KV cache"),
                            cl::init(engine::EngineOptions().pageRows), cl::cat(category),
                            cl::sub(plan)};
  std::string kvTypes = "element type of the KV cache, one of " + kvTypeNames();
  cl::opt<std::string> kvType{"kv-type", cl::desc(kvTypes),
                              cl::init(engine::EngineOptions().kvType), cl::cat(category),
                              cl::sub(plan)};
  std::string activationsDoc = "activation precision of matmuls, one of " + activationsNames();
  cl::opt<std::string> activations{"activations", cl::desc(activationsDoc),
                                   cl::init(engine::EngineOptions().activations), cl::cat(category),
                                   cl::sub(plan)};
  std::string decodeNormsDoc = "how norms of decode are made, one of " + engine::decodeNormsNames();
  cl::opt<std::string> decodeNorms{"decode-norms", cl::desc(decodeNormsDoc),
                                   cl::init(engine::EngineOptions().decodeNorms), cl::cat(category),
                                   cl::sub(plan)};
  cl::opt<std::string> rows{
      "output", cl::desc("rows of a step: embeddings; empty: logits of models that give any"),
      cl::cat(category), cl::sub(plan)};
  cl::opt<int64_t> queryTile{"query-block", cl::desc("most query rows of a query tile"),
                             cl::init(engine::EngineOptions().queryTile), cl::cat(category),
                             cl::sub(plan)};
  cl::opt<int> endWith{"end-with", cl::desc("end when this parent process does"), cl::init(0),
                       cl::cat(category), cl::sub(plan)};
  cl::list<std::string> schedules{
      "schedule",
      cl::desc("a kernel's schedule, N:CONTENT=DECISIONS; N is 0, or a variant of the step to add"),
      cl::cat(category), cl::sub(plan)};
  cl::opt<unsigned> threads{"threads", cl::desc("threads that compile (0: all)"), cl::init(0),
                            cl::cat(category), cl::sub(plan)};
};
} // namespace

static constexpr unsigned kMostVariants = 64;

static Result<void> writeFile(const std::string &path, const std::vector<uint8_t> &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return fail(Code::Internal, "cannot write '" + path + "': " + error.message());
  return {};
}

static void printProgress(std::string_view stage, uint32_t done, uint32_t total) {
  llvm::outs() << "progress " << done << " " << total << " " << llvm::StringRef(stage) << "\n";
  llvm::outs().flush();
}

// The user of a caller that was killed waits for nothing; a parent that is gone already sends no
// signal.
static void endWith(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (kill(parent, 0) != 0)
    _exit(1);
}

// "2:0123abcd=block_m=120,vectors=2" into the tunings of the step and its variants.
static Result<void> addSchedule(llvm::StringRef text, engine::EngineOptions &engine) {
  auto [number, rest] = text.split(':');
  auto [content, decisions] = rest.split('=');
  unsigned variant = 0;
  if (number.getAsInteger(10, variant) || variant > kMostVariants || content.empty() ||
      !rest.contains('='))
    return fail(Code::InvalidArgument, "found schedule '" + text.str() +
                                           "', expected N:CONTENT=DECISIONS with N up to " +
                                           std::to_string(kMostVariants));
  SINTER_ASSIGN(plan::ScheduleChoice choice,
                plan::ScheduleChoice::parse(std::string_view(decisions)));
  if (engine.variants.size() < variant)
    engine.variants.resize(variant);
  engine::Tuning &tuning = variant ? engine.variants[variant - 1] : engine.tuning;
  tuning[content.str()] = std::move(choice);
  return {};
}

static Result<std::vector<uint8_t>> build(const GgufFile &file, const engine::EngineOptions &engine,
                                          bool normalForm) {
  if (normalForm) {
    SINTER_ASSIGN(const std::string text, engine::buildNormalForm(file, engine, printProgress));
    return std::vector<uint8_t>(text.begin(), text.end());
  }
  SINTER_ASSIGN(const plan::Plan plan, engine::buildPlan(file, engine, printProgress));
  return plan::serialize(plan);
}

static Result<void> run(const Options &options) {
  if (options.endWith > 0)
    endWith(options.endWith);
  const std::string output = options.output; // linking in process resets all options
  const bool normalForm = options.normalForm;
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(options.model));
  engine::EngineOptions engine;
  engine.pageRows = options.pageRows;
  engine.kvType = options.kvType;
  engine.activations = options.activations;
  engine.decodeNorms = options.decodeNorms;
  engine.output = options.rows;
  engine.queryTile = options.queryTile;
  engine.threads = options.threads;
  for (const std::string &schedule : options.schedules)
    SINTER_TRY(addSchedule(schedule, engine));
  llvm::SmallVector<llvm::StringRef> targets;
  const std::string named = options.target;
  llvm::StringRef(named).split(targets, ',');
  std::vector<uint8_t> bytes; // the file of each target's plan, one after another
  for (llvm::StringRef target : targets) {
    SINTER_ASSIGN(engine.target, resolveTarget(target.str()));
    const Result<std::vector<uint8_t>> part = build(file, engine, normalForm);
    if (!part && targets.size() > 1)
      return fail(part.error().code, "target '" + engine.target + "': " + part.error().message +
                                         "; nothing was written");
    if (!part)
      return Fail(part.error());
    bytes.insert(bytes.end(), part->begin(), part->end());
  }
  return writeFile(output, bytes);
}

int planCommand(int argc, char **argv) {
  Options options;
  cl::HideUnrelatedOptions(options.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "", &llvm::errs()))
    return 2;
  const Result<void> done = run(options);
  if (done)
    return 0;
  llvm::errs() << "sinter-compiler: " << done.error().toString() << "\n";
  return done.error().code == Code::InvalidArgument ? 2 : 1;
}

} // namespace sinter::compiler
