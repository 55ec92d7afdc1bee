// The Metal target apart from what kernels compute: names, launch facts, joining, refusals.
#include "tile/mlir_pch.h"

#include "targets/metal/metal_target.h"
#include "targets/metal/source.h"
#include "targets/registry.h"

#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "sched/sched.h"
#include "tile/front/front.h"

#include <gmock/gmock.h>

namespace sinter::targets::metal {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t countOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at)
    ++count;
  return count;
}

std::string textOf(const std::vector<uint8_t> &code) {
  return {code.begin(), code.end()};
}

std::string part(std::string_view kernel, const Helpers &helpers = {}) {
  return partText(helpers,
                  "\n[[attribute]]\nkernel void " + std::string(kernel) + "(int a) {\n}\n");
}

Result<std::string> join(const std::vector<std::string> &parts) {
  std::vector<std::string_view> views(parts.begin(), parts.end());
  return joinSource(views);
}

tile::KernelModule added(const char *name) {
  return tile::KernelModule::build([&](kernel::Module &module) {
    module.kernel(name, [](kernel::KernelBuilder &k) { kernels::add(k, kernels::Add()); });
  });
}

// What is said of the one kernel of a lane-form text.
std::string complaintOf(const std::string &text) {
  mlir::DialectRegistry scheduled;
  scheduled.insert<sched::SchedDialect, mlir::vector::VectorDialect>();
  auto module = tile::KernelModule::parse(text, "kernel.tile", &scheduled);
  if (!module || !module->ok())
    return "the text does not parse";
  auto target = findTarget("metal:apple7");
  std::string said;
  mlir::ScopedDiagnosticHandler handler(module->module().getContext(), [&](mlir::Diagnostic &d) {
    said += d.str() + "\n";
    return mlir::success();
  });
  auto code = compileKernels(**target, module->module());
  return code ? "no complaint" : said;
}

std::string simtText(const std::string &name, const std::string &body, int64_t threads = 32,
                     int64_t shared = 0) {
  return "tile.kernel @" + name +
         "(%x: !tile.view<?xf32, in>, %out: !tile.view<?xf32, out>) attributes {sched.threads = " +
         std::to_string(threads) + " : i64, sched.shared = " + std::to_string(shared) +
         " : i64} {\n%one = arith.constant 1 : index\ntile.grid %one, %one, %one\n"
         "%yes = arith.constant true\n%zero = arith.constant 0 : index\n"
         "%f0 = arith.constant 0.0 : f32\n"
         "%l = sched.view_load %x[%zero] when %yes else %f0 : !tile.view<?xf32, in> -> f32\n" +
         body + "\n}\n";
}

TEST(MetalSource, HasOneHeaderEachHelperOnceAndAllKernels) {
  auto joined = join({part("one", {"maximum", "to_bits"}), part("two", {"maximum"})});
  ASSERT_TRUE(joined) << joined.error().toString();
  for (const char *once : {"#include <metal_stdlib>", "using namespace metal", "namespace lanes {",
                           "inline float maximum(", "kernel void one(", "kernel void two("})
    EXPECT_EQ(countOf(*joined, once), 1u) << once << " in\n" << *joined;
  EXPECT_THAT(*joined, Not(HasSubstr("minimum")));
}

TEST(MetalSource, RefusesTwoKernelsOfOneName) {
  auto joined = join({part("one"), part("one")});
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("'one'"));
}

TEST(MetalSource, RefusesWhatIsNoPart) {
  for (const std::string &text : {std::string(), std::string("kernel void f() {}\n")}) {
    auto joined = join({part("one"), text});
    ASSERT_FALSE(joined) << text;
    EXPECT_THAT(joined.error().message, HasSubstr("expected"));
  }
  auto joined = join({part("one", {"explode"})});
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("'explode'"));
}

TEST(MetalSource, LeavesKernelsTheNamesThatMslDoesNotTake) {
  for (const char *good : {"gemm", "rms_norm", "k0", "max"})
    EXPECT_TRUE(isKernelName(good)) << good;
  for (const char *bad : {"", "0k", "a b", "a-b", "half", "kernel", "lanes", "x_arguments", "_k",
                          "a__b", "metal", "main", "float", "k(", "naïve"})
    EXPECT_FALSE(isKernelName(bad)) << bad;
}

TEST(MetalTarget, SaysWhatALaunchNeeds) {
  tile::KernelModule module = tile::KernelModule::build([](kernel::Module &m) {
    m.kernel("rows", [](kernel::KernelBuilder &k) {
      kernels::RmsNorm p;
      p.columns = p.blockColumns = 8192;
      p.blockRows = 1;
      kernels::rmsNorm(k, p);
    });
  });
  auto target = findTarget("metal:apple9");
  ASSERT_TRUE(target);
  auto code = compileKernels(**target, module.module());
  ASSERT_TRUE(code) << code.error().toString();
  ASSERT_EQ(code->kernels.size(), 1u);
  const EmittedKernel &kernel = code->kernels.front();
  EXPECT_EQ(kernel.symbol, "rows");
  EXPECT_EQ(kernel.bufferCount, 3);
  EXPECT_EQ(kernel.scalarCount, 3 * 3 + 1);
  EXPECT_GT(kernel.threads, 32) << "a row's sum crosses simdgroups";
  EXPECT_GT(kernel.sharedBytes, 0) << "a row's sum crosses simdgroups";
  EXPECT_EQ(kernel.sharedBytes % 16, 0);
}

TEST(MetalTarget, LinksPartsThatWereCompiledApart) {
  auto target = findTarget("metal:apple9");
  ASSERT_TRUE(target);
  std::vector<std::vector<uint8_t>> parts;
  for (const char *name : {"one", "two"}) {
    auto part = (*target)->compilePart(added(name).module(), nullptr);
    ASSERT_TRUE(part) << part.error().toString();
    parts.push_back(part->code);
  }
  auto linked = (*target)->link(parts);
  ASSERT_TRUE(linked) << linked.error().toString();
  std::string text = textOf(*linked);
  EXPECT_EQ(countOf(text, "#include <metal_stdlib>"), 1u);
  EXPECT_EQ(countOf(text, "kernel void one(") + countOf(text, "kernel void two("), 2u);
}

TEST(MetalTarget, IsThereForEachFamilyThatTheErrorNames) {
  std::string names = metalTargetNames();
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(names).split(list, ", ");
  ASSERT_GE(list.size(), 2u);
  for (llvm::StringRef name : list) {
    auto target = findTarget(name.str());
    ASSERT_TRUE(target) << name.str();
    EXPECT_EQ((*target)->name(), name.str());
  }
  for (const char *name : {"metal:", "metal:apple", "metal:apple99", "metal:m1"}) {
    auto found = findTarget(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, Code::InvalidArgument);
    EXPECT_THAT(found.error().message, HasSubstr(names));
  }
}

TEST(MetalTarget, TakesWhatAnArgumentIsCalledForANameOnly) {
  tile::KernelModule module = added("k");
  tile::KernelOp op = *module.module().getOps<tile::KernelOp>().begin();
  auto name = [&](unsigned index, const char *text) {
    op.setArgAttr(index, "tile.name", mlir::StringAttr::get(op.getContext(), text));
  };
  name(0, "a;}\n#include \"/etc/passwd\"\n//__x");
  name(1, "float");
  name(2, "float");
  auto target = findTarget("metal:apple9");
  auto code = compileKernels(**target, module.module());
  ASSERT_TRUE(code) << code.error().toString();
  std::string text = textOf(code->code);
  EXPECT_THAT(text, HasSubstr("device const uchar *aincludeetcpasswd_x_data;"));
  EXPECT_THAT(text, HasSubstr("device const uchar *float_data;"));
  EXPECT_THAT(text, HasSubstr("device uchar *float_2_data;"));
  EXPECT_EQ(countOf(text, "#include"), 3u);
}

TEST(MetalTarget, RefusesWhatHasNoFormInOneSentence) {
  const std::pair<std::string, const char *> cases[] = {
      {simtText("half", ""), "has the name 'half'"},
      {simtText("k", "", 2048), "expected a power of two of at most 1024"},
      {simtText("k", "", 48), "expected a power of two"},
      {simtText("k", "", 32, 65536), "65536 bytes of threadgroup memory"},
      {simtText("k", "%t = sched.thread\n%v = sched.shared_load [%t] : f32\n"
                     "sched.view_store %v, %out[%zero] when %yes : f32, !tile.view<?xf32, out>"),
       "of which the kernel declares none"},
      {simtText("k", "sched.view_store %l, %x[%zero] when %yes : f32, !tile.view<?xf32, in>"),
       "expected an out or inout view"},
      {simtText("k", "%v = math.exp %l : f32\n"
                     "sched.view_store %v, %out[%zero] when %yes : f32, !tile.view<?xf32, out>"),
       "expected it expanded"},
      {simtText("k", "%w = arith.extf %l : f32 to f64\n%d = arith.addf %w, %w : f64\n%v = "
                     "arith.truncf %d : f64 to f32\n"
                     "sched.view_store %v, %out[%zero] when %yes : f32, !tile.view<?xf32, out>"),
       "which has no form in MSL"},
      {simtText("k", "%v = arith.constant dense<0.0> : vector<100000000xf32>\n"
                     "%s = arith.addf %v, %v : vector<100000000xf32>\n"
                     "sched.view_store %s, %out[%zero] when %yes : vector<100000000xf32>, "
                     "!tile.view<?xf32, out>"),
       "which has no form in MSL"},
      {simtText("k", "%a = arith.constant dense<0.0> : vector<2xbf16>\n"
                     "%c = arith.constant dense<0.0> : vector<2xf32>\n"
                     "%d = sched.matrix \"metal.simdgroup.8x8x8.f32.bf16\" %a, %a, %c : "
                     "vector<2xbf16>, vector<2xbf16>, vector<2xf32>\n"
                     "sched.view_store %d, %out[%zero] when %yes : vector<2xf32>, "
                     "!tile.view<?xf32, out>"),
       "that apple7 has"},
  };
  for (const auto &[text, complaint] : cases)
    EXPECT_THAT(complaintOf(text), HasSubstr(complaint)) << text;
}

} // namespace
} // namespace sinter::targets::metal
