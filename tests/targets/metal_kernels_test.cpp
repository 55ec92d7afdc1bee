// Conformance of registered kernels on Metal in an emulation: the printed MSL, compiled against a
// shim of Apple's headers, gives results near the tile interpreter's, whatever the order of
// threads.
#include "tile/mlir_pch.h"

#include "targets/conformance_cases.h"
#include "targets/metal_object.h"
#include "targets/registry.h"

using namespace mlir;

namespace sinter::targets::metal {
namespace {

using namespace cpu;

// Kernels that have no form for threads yet. The list only shrinks: a case of it that compiles is a
// failure.
const std::set<std::string> &unsupported() {
  static const std::set<std::string> labels = {};
  return labels;
}

class MetalConformance : public testing::TestWithParam<std::tuple<size_t, std::string>> {};

void checkExtents(const KernelCase &c, const Extents &extents, const EmittedKernel &emitted,
                  tile::KernelOp kernel, const MetalObject &object, Random &random) {
  SCOPED_TRACE(extentsText(extents));
  LaunchArguments arguments = caseArguments(c, kernel, extents, false, random);
  std::array<int64_t, 3> grid = gridOf(kernel, arguments);
  ASSERT_GE(grid[0], 0) << "the grid does not fold";
  LaunchArguments found = object.launch(arguments, emitted, grid, GuardedEnd::Back, false);
  LaunchArguments again = object.launch(arguments, emitted, grid, GuardedEnd::Front, true);
  EXPECT_EQ(firstDifference(again, found), "") << "the other order of threads";
  EXPECT_EQ(firstBeyond(found, interpreted(arguments, kernel, false), boundOnThreads(c)), "");
}

// NaN, infinities and subnormal numbers go the way that the scheduled kernel sends them, bit for
// bit.
void checkSpecials(const KernelCase &c, const Extents &extents, const EmittedKernel &emitted,
                   const std::string &scheduled, const MetalObject &object, Random &random) {
  SCOPED_TRACE(extentsText(extents) + " with special values");
  DialectRegistry dialects;
  dialects.insert<sched::SchedDialect, vector::VectorDialect>();
  auto module = tile::KernelModule::parse(scheduled, "scheduled.tile", &dialects);
  ASSERT_TRUE(module && module->ok());
  tile::KernelOp lanes = *module->module().getOps<tile::KernelOp>().begin();
  LaunchArguments arguments = caseArguments(c, lanes, extents, true, random);
  std::array<int64_t, 3> grid = gridOf(lanes, arguments);
  LaunchArguments found = object.launch(arguments, emitted, grid, GuardedEnd::Front, false);
  EXPECT_EQ(firstDifference(found, interpreted(arguments, lanes, true)), "");
}

TEST_P(MetalConformance, Holds) {
  const auto &[index, family] = GetParam();
  const KernelCase &c = conformanceCases()[index];
  tile::KernelModule module = buildCase(c);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto target = findTarget("metal:" + family);
  ASSERT_TRUE(target) << target.error().toString();
  targets::Stages stages;
  auto code = compileKernels(**target, module.module(), &stages);
  ASSERT_EQ(code.has_value(), !unsupported().contains(c.label))
      << (code ? "an unexpected pass" : code.error().toString());
  if (!code)
    return;
  std::string_view source(reinterpret_cast<const char *>(code->code.data()), code->code.size());
  auto object = MetalObject::compile(source, code->kernels);
  ASSERT_TRUE(object) << object.error().toString();
  tile::KernelOp kernel = *module.module().getOps<tile::KernelOp>().begin();
  Random random(index);
  std::vector<Extents> list = mixExtents(c.extents, 1, random);
  for (Extents &extents : list) {
    if (c.derive)
      c.derive(extents);
    checkExtents(c, extents, code->kernels.front(), kernel, *object, random);
    if (HasFailure())
      return;
  }
  checkSpecials(c, list.back(), code->kernels.front(), *stages.find("sched"), *object, random);
}

// Families differ in bf16 only.
std::vector<std::tuple<size_t, std::string>> casesOfFamilies() {
  std::vector<std::tuple<size_t, std::string>> list;
  for (size_t index = 0; index < conformanceCases().size(); ++index) {
    list.emplace_back(index, "apple9");
    if (conformanceCases()[index].label.find("bf16") != std::string::npos)
      list.emplace_back(index, "apple7");
  }
  return sampled(list, [](const auto &one) {
    return propertiesOf(conformanceCases()[std::get<0>(one)], std::get<1>(one));
  });
}

INSTANTIATE_TEST_SUITE_P(Kernels, MetalConformance, testing::ValuesIn(casesOfFamilies()),
                         [](const auto &info) {
                           return conformanceCases()[std::get<0>(info.param)].label + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
} // namespace sinter::targets::metal
