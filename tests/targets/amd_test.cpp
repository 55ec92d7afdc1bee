// The AMD target apart from the kernels: code objects read, refused and joined, resources, names.
#include "targets/amd/amd_target.h"
#include "targets/amd/code_object.h"
#include "targets/amd/metadata_notes.h"
#include "targets/machine_code.h"
#include "targets/registry.h"

#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "mlir/Parser/Parser.h"
#include "sched/sched.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include "llvm/Support/Endian.h"

#include <gmock/gmock.h>

namespace sinter::targets::amd {
namespace {

using testing::HasSubstr;

void addKernel(kernel::KernelBuilder &k) {
  kernels::add(k, kernels::Add());
}

void rowsKernel(kernel::KernelBuilder &k) {
  kernels::RmsNorm p;
  p.columns = p.blockColumns = 1024;
  p.blockRows = 1;
  kernels::rmsNorm(k, p);
}

/// A relocatable object with one kernel.
CompiledModule part(const char *target, const char *name,
                    void (*define)(kernel::KernelBuilder &) = addKernel) {
  tile::KernelModule module = tile::KernelModule::build(
      [&](kernel::Module &m) { m.kernel(name, [&](kernel::KernelBuilder &k) { define(k); }); });
  auto found = findTarget(target);
  EXPECT_TRUE(found) << target;
  auto compiled = (*found)->compilePart(module.module(), nullptr);
  EXPECT_TRUE(compiled) << compiled.error().toString();
  return compiled ? *compiled : CompiledModule();
}

TEST(AmdTarget, SaysWhatALaunchNeedsAsTheCodeObjectDoes) {
  CompiledModule code = part("amd:gfx942", "rows", rowsKernel);
  ASSERT_EQ(code.kernels.size(), 1u);
  const EmittedKernel &kernel = code.kernels.front();
  EXPECT_EQ(kernel.symbol, "rows");
  EXPECT_EQ(kernel.bufferCount, 3);
  EXPECT_EQ(kernel.scalarCount, 3 * 3 + 1);
  auto object = readCodeObject(code.code);
  ASSERT_TRUE(object) << object.error().toString();
  ASSERT_EQ(object->kernels.size(), 1u);
  const KernelMetadata &found = object->kernels.front();
  EXPECT_EQ(found.name, "rows");
  EXPECT_EQ(found.words, kernel.bufferCount + kernel.scalarCount);
  EXPECT_EQ(found.threads, kernel.threads);
  EXPECT_EQ(found.subgroup, 64);
  EXPECT_EQ(found.scratchBytes, 0);
  EXPECT_GT(found.vectorRegisters, 0);
  EXPECT_GT(found.scalarRegisters, 0);
}

TEST(AmdTarget, GivesEachKernelOfAModuleItsOwnSharedMemory) {
  constexpr const char *kText = R"(
tile.kernel @small(%x: !tile.view<?xi32, out>)
  attributes {sched.threads = 64 : i64, sched.shared = 512 : i64} { BODY }
tile.kernel @large(%x: !tile.view<?xi32, out>)
  attributes {sched.threads = 64 : i64, sched.shared = 40000 : i64} { BODY }
)";
  constexpr std::string_view kBody = R"(
  %one = arith.constant 1 : index
  tile.grid %one, %one, %one
  %yes = arith.constant true
  %zero = arith.constant 0 : index
  %other = arith.constant 252 : i32
  %c4 = arith.constant 4 : i32
  %thread = sched.thread
  %byte = arith.muli %thread, %c4 : i32
  %mirror = arith.subi %other, %byte : i32
  sched.shared_store %thread, [%byte] when %yes : i32
  sched.barrier
  %found = sched.shared_load [%mirror] : i32
  sched.view_store %found, %x[%zero] when %yes : i32, !tile.view<?xi32, out>
)";
  std::string text = kText;
  for (size_t at; (at = text.find("BODY")) != std::string::npos;)
    text.replace(at, 4, kBody);
  mlir::MLIRContext context;
  context.loadDialect<sched::SchedDialect, tile::TileDialect, mlir::arith::ArithDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto target = findTarget("amd:gfx90a");
  ASSERT_TRUE(target);
  auto code = compileKernels(**target, *module);
  ASSERT_TRUE(code) << code.error().toString();
  auto object = readCodeObject(code->code);
  ASSERT_TRUE(object) << object.error().toString();
  ASSERT_EQ(object->kernels.size(), 2u);
  EXPECT_EQ(object->kernels[0].sharedBytes, 512);
  EXPECT_EQ(object->kernels[1].sharedBytes, 40000);
}

TEST(AmdTarget, LinksPartsThatWereCompiledApartUnderOneNote) {
  auto target = findTarget("amd:gfx1100");
  ASSERT_TRUE(target);
  std::vector<std::vector<uint8_t>> parts;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) { // more than a short list of MessagePack holds
    names.push_back("kernel" + std::to_string(i));
    parts.push_back(part("amd:gfx1100", names.back().c_str()).code);
  }
  auto linked = (*target)->link(parts);
  ASSERT_TRUE(linked) << linked.error().toString();
  auto object = readCodeObject(*linked);
  ASSERT_TRUE(object) << object.error().toString();
  EXPECT_EQ(object->target, "amdgcn-amd-amdhsa--gfx1100");
  std::vector<std::string> found;
  for (const KernelMetadata &kernel : object->kernels)
    found.push_back(kernel.name);
  EXPECT_EQ(found, names);
}

/// Bytes of the file's segment of notes, and of the first note in it.
std::pair<uint64_t, uint64_t> noteSizes(const std::vector<uint8_t> &file) {
  using llvm::support::endian::read32le, llvm::support::endian::read64le;
  constexpr uint32_t kNoteSegment = 4;
  const uint8_t *segments = file.data() + read64le(file.data() + 32);
  for (size_t i = 0; i < llvm::support::endian::read16le(file.data() + 56); ++i) {
    const uint8_t *segment = segments + i * 56;
    const uint8_t *note = file.data() + read64le(segment + 8);
    if (read32le(segment) == kNoteSegment)
      return {read64le(segment + 32),
              12 + llvm::alignTo(read32le(note), 4) + llvm::alignTo(read32le(note + 4), 4)};
  }
  return {};
}

TEST(AmdTarget, LeavesNothingBesideTheOneNoteInItsSegment) {
  auto target = findTarget("amd:gfx942");
  ASSERT_TRUE(target);
  std::vector<std::vector<uint8_t>> parts;
  for (const char *name : {"one", "two", "three"}) {
    parts.push_back(part("amd:gfx942", name).code);
    auto linked = (*target)->link(parts);
    ASSERT_TRUE(linked) << linked.error().toString();
    auto [segment, note] = noteSizes(*linked);
    EXPECT_GT(note, 100u) << name;
    EXPECT_EQ(segment, note) << name;
  }
}

TEST(AmdTarget, LinksNoPartsForDifferentProcessors) {
  auto target = findTarget("amd:gfx1100");
  ASSERT_TRUE(target);
  auto linked = (*target)->link(
      std::vector{part("amd:gfx1100", "one").code, part("amd:gfx1201", "two").code});
  ASSERT_FALSE(linked);
}

TEST(AmdTarget, LinksNoTwoKernelsOfOneName) {
  auto target = findTarget("amd:gfx942");
  ASSERT_TRUE(target);
  std::vector<uint8_t> code = part("amd:gfx942", "same").code;
  auto linked = (*target)->link(std::vector{code, code});
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("same"));
}

TEST(AmdTarget, IsThereForEachProcessorThatTheErrorNames) {
  std::string names = amdTargetNames();
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(names).split(list, ", ");
  ASSERT_EQ(list.size(), 4u);
  for (llvm::StringRef name : list) {
    auto object = readCodeObject(part(name.str().c_str(), "add").code);
    ASSERT_TRUE(object) << name.str() << ": " << object.error().toString();
    EXPECT_EQ(object->target, "amdgcn-amd-amdhsa--" + name.substr(4).str());
  }
  auto unknown = findTarget("amd:gfx900");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("'amd:gfx900', expected one of " + names));
}

// ---- code objects that are none ----

TEST(ReadCodeObject, RefusesEveryShorterFileThanTheWhole) {
  std::vector<uint8_t> whole = part("amd:gfx942", "add").code;
  ASSERT_TRUE(readCodeObject(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(readCodeObject(std::span(whole).first(size))) << size;
}

TEST(ReadCodeObject, ReadsOrRefusesAFileWithAnyByteOfItsNotesSpoilt) {
  std::vector<uint8_t> whole = part("amd:gfx942", "add").code;
  auto notes = metadataNotes(whole);
  ASSERT_TRUE(notes) << notes.error().toString();
  ASSERT_EQ(notes->size(), 1u);
  size_t first = reinterpret_cast<const uint8_t *>(notes->front().data()) - whole.data();
  size_t refused = 0;
  for (size_t at = first; at < first + notes->front().size(); ++at)
    for (uint8_t spoilt : {0x00, 0x7f, 0xc1, 0xff}) {
      std::vector<uint8_t> copy = whole;
      copy[at] = spoilt;
      refused += readCodeObject(copy) ? 0 : 1;
    }
  EXPECT_GT(refused, notes->front().size());
}

TEST(ReadCodeObject, RefusesWhatIsForAnotherProcessor) {
  std::vector<uint8_t> code = part("amd:gfx942", "add").code;
  code[18] = 62; // e_machine: x86-64
  auto object = readCodeObject(code);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message, HasSubstr("machine 62, expected AMDGPU"));
}

TEST(ReadCodeObject, RefusesAFileWithTwoNotes) {
  auto linked =
      linkShared(std::vector{part("amd:gfx942", "one").code, part("amd:gfx942", "two").code});
  ASSERT_TRUE(linked) << linked.error().toString();
  auto object = readCodeObject(*linked);
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message, HasSubstr("found 2 notes of metadata, expected 1"));
}

// ---- code objects that are not what was emitted ----

const AmdFacts &gfx942() {
  return *findFacts("gfx942");
}

KernelMetadata someKernel() {
  return {.name = "k",
          .words = 5,
          .threads = 256,
          .subgroup = 64,
          .sharedBytes = 1024,
          .vectorRegisters = 64,
          .scalarRegisters = 32};
}

/// The message of checkCodeObject for a kernel that `change` makes differ from what was emitted.
std::string refusal(void (*change)(KernelMetadata &)) {
  EmittedKernel emitted{
      .symbol = "k", .bufferCount = 2, .scalarCount = 3, .threads = 256, .sharedBytes = 1024};
  CodeObject object{"amdgcn-amd-amdhsa--gfx942", {someKernel()}};
  EXPECT_TRUE(checkCodeObject(object, {&emitted, 1}, gfx942()));
  change(object.kernels.front());
  auto checked = checkCodeObject(object, {&emitted, 1}, gfx942());
  return checked ? "" : checked.error().message;
}

TEST(CheckCodeObject, NamesWhatDiffers) {
  EXPECT_THAT(refusal([](KernelMetadata &k) { k.words = 6; }),
              HasSubstr("'k' has 6 arguments in its code object, expected 5"));
  EXPECT_THAT(refusal([](KernelMetadata &k) { k.threads = 128; }),
              HasSubstr("128 threads in its code object, expected 256"));
  EXPECT_THAT(refusal([](KernelMetadata &k) { k.subgroup = 32; }), HasSubstr("expected 64"));
  EXPECT_THAT(refusal([](KernelMetadata &k) { k.sharedBytes = 2048; }),
              HasSubstr("2048 bytes of shared memory in its code object, expected 1024"));
  EXPECT_THAT(refusal([](KernelMetadata &k) { k.name = "other"; }), HasSubstr("lacks kernel 'k'"));
}

// ---- resources ----

TEST(SpillText, NamesWhatLiesInMemoryAndIsEmptyWhereNothingDoes) {
  KernelMetadata kernel = someKernel();
  EXPECT_EQ(spillText(kernel, gfx942()), "");
  kernel.vectorSpills = 7;
  EXPECT_EQ(spillText(kernel, gfx942()), "") << "in registers of another kind";
  kernel.scratchBytes = 32;
  EXPECT_THAT(spillText(kernel, gfx942()),
              HasSubstr("'k' keeps 32 bytes of each thread in memory, 7 spilled registers"));
}

TEST(SubgroupsPerSimd, IsLimitedByRegistersSharedMemoryAndTheUnit) {
  const AmdFacts &cdna = gfx942(), &rdna = *findFacts("gfx1100");
  KernelMetadata kernel = someKernel();
  kernel.sharedBytes = 0;
  EXPECT_EQ(subgroupsPerSimd(kernel, cdna), 8) << "512 / 64";
  kernel.vectorRegisters = 65;
  EXPECT_EQ(subgroupsPerSimd(kernel, cdna), 7) << "512 / 72";
  kernel.vectorRegisters = 300;
  EXPECT_EQ(subgroupsPerSimd(kernel, cdna), 1) << "512 / 304";
  kernel.vectorRegisters = 16, kernel.sharedBytes = 30000;
  EXPECT_EQ(subgroupsPerSimd(kernel, cdna), 2) << "two blocks of four subgroups on four units";
  kernel.subgroup = 32, kernel.sharedBytes = 0, kernel.vectorRegisters = 96;
  EXPECT_EQ(subgroupsPerSimd(kernel, rdna), 16) << "1536 / 96";
  kernel.vectorRegisters = 181;
  EXPECT_EQ(subgroupsPerSimd(kernel, rdna), 8) << "1536 / 192";
}

TEST(ResourcesText, GivesALineToEachKernel) {
  CodeObject object{"", {someKernel(), someKernel()}};
  object.kernels[1].name = "other";
  std::string text = resourcesText(object, gfx942());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("k: 256 threads, 64 vector registers"));
  EXPECT_THAT(text, HasSubstr("other: 256 threads"));
  EXPECT_THAT(text, HasSubstr("1024 bytes of shared memory, 8 of 8 subgroups a SIMD unit"));
}

} // namespace
} // namespace sinter::targets::amd
