// Texts of the command line that need no child: labels of kernels, tables.
#include "cli/kernel_labels.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <gmock/gmock.h>

namespace sinter::cli {
namespace {

using testing::ElementsAre;

plan::KernelParameter number(const char *name, int64_t value) {
  return {name, plan::ParameterKind::Number, value, ""};
}

std::vector<std::string> labels(const std::vector<plan::Kernel> &kernels) {
  std::vector<const plan::Kernel *> pointers;
  for (const plan::Kernel &kernel : kernels)
    pointers.push_back(&kernel);
  return kernelLabels(pointers);
}

TEST(KernelLabels, KeepOnlyTheParametersThatDifferAmongKernelsOfOneSource) {
  EXPECT_THAT(labels({{.source = "gemm", .parameters = {number("k", 8), number("n", 64)}},
                      {.source = "gemm", .parameters = {number("k", 8), number("n", 96)}},
                      {.source = "norm", .parameters = {number("n", 64)}}}),
              ElementsAre("gemm n=64", "gemm n=96", "norm"));
}

TEST(KernelLabels, NameFormatsFlagsAndExtentsOfLaunches) {
  EXPECT_THAT(labels({{.source = "gemm",
                       .parameters = {{"b", plan::ParameterKind::BlockFormat, 0, "q4_1"},
                                      {"n", plan::ParameterKind::Dynamic, 0, ""}}},
                      {.source = "gemm",
                       .parameters = {{"b", plan::ParameterKind::ScalarType, 0, "f16"},
                                      {"c", plan::ParameterKind::Flag, 1, ""}}}}),
              ElementsAre("gemm b=q4_1 n=?", "gemm b=f16 c=true"));
}

TEST(KernelLabels, SayWhatFillsASlotAndNotHow) {
  EXPECT_THAT(labels({{.source = "gemm",
                       .slots = {{"prologue", "norm", ""}, {"epilogue", "map", "1 %2=op0"}}},
                      {.source = "map", .slots = {{"prologue", "map", "%2=46"}}}}),
              ElementsAre("gemm +norm+map", "map"));
}

TEST(KernelLabels, TakeWhatAHostilePlanSays) {
  EXPECT_THAT(labels({{.source = ""}, {.source = "a)b(, =", .parameters = {number("", 1)}}}),
              ElementsAre("", "a)b(, ="));
}

std::string roleWith(std::vector<std::string> tensors) {
  plan::Plan plan;
  plan.buffers = {{.name = "in", .kind = plan::BufferKind::Input},
                  {.name = "w", .kind = plan::BufferKind::Weight, .tensors = std::move(tensors)}};
  plan::Launch launch;
  launch.label = "dot_general";
  launch.buffers = {{plan::BufferId{0}, {}}, {plan::BufferId{1}, {}}};
  return roleOf(plan, launch);
}

TEST(Roles, AreTheWeightsWithoutTheirLayer) {
  EXPECT_EQ(roleWith({"blk.0.attn_q.weight"}), "attn_q");
  EXPECT_EQ(roleWith({"blk.12.attn_q.weight", "blk.12.attn_k.weight"}), "attn_q+k");
  EXPECT_EQ(roleWith({"output_norm.weight"}), "output_norm");
  EXPECT_EQ(roleWith({"a_x.weight", "b_y.weight"}), "a_x+b_y");
}

TEST(Roles, AreTheLabelWithoutWeights) {
  plan::Launch launch;
  launch.label = "rope";
  EXPECT_EQ(roleOf(plan::Plan(), launch), "rope");
}

TEST(Controls, BecomeTextUnlessKept) {
  EXPECT_EQ(withoutControls("a\x1b[31m\n\t\x7f", "\n\t"), "a\\x1b[31m\n\t\\x7f");
  EXPECT_EQ(withoutControls(std::string_view("\0\r", 2)), "\\x00\\x0d");
  EXPECT_EQ(withoutControls("\xc2\x9b!"), "\\x9b!");
}

TEST(Controls, LetTextOfAnyLanguageAlone) {
  const std::string text = "Zoë 漢字 😀 \xc2\xa0\xff\xc2";
  EXPECT_EQ(withoutControls(text), text);
}

TEST(Tables, PutNumbersAtTheRightAndTextAtTheLeft) {
  Table table({"name", "us"});
  table.addRow({"a", "1.5"});
  table.addRow({"long", "100"});
  EXPECT_EQ(table.text(), "name   us\na     1.5\nlong  100\n");
}

} // namespace
} // namespace sinter::cli
