// Texts of the command line that need no child: names of kernels, tables, progress lines.
#include "cli/compiler_process.h"
#include "cli/kernel_names.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <gmock/gmock.h>

namespace sinter::cli {
namespace {

using testing::ElementsAre;

std::vector<std::string> shortened(std::vector<std::string> names) {
  return shortKernelNames(names);
}

TEST(KernelNames, KeepOnlyTheParametersThatDifferAmongKernelsOfOneSource) {
  EXPECT_THAT(shortened({"gemm(a=f32, n=64)", "gemm(a=f32, n=96)", "norm(in=f32)"}),
              ElementsAre("gemm n=64", "gemm n=96", "norm"));
}

TEST(KernelNames, NameBlockFormatsPlainly) {
  EXPECT_THAT(shortened({"gemm(b=block<q4_1>)", "gemm(b=block<q8_0>)"}),
              ElementsAre("gemm b=q4_1", "gemm b=q8_0"));
}

TEST(KernelNames, SayWhichSlotIsFilledAndNotWithWhat) {
  EXPECT_THAT(shortened({"gemm(n=1) epilogue 1 %2=op0 %0 %1;%2", "map(n=2) %2=46;%2"}),
              ElementsAre("gemm +epilogue", "map"));
}

TEST(KernelNames, OfAnotherFormStayAsTheyAre) {
  EXPECT_THAT(shortened({"", "plain", "a)b(", "f(", "f()"}),
              ElementsAre("", "plain", "a)b(", "f(", "f"));
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

TEST(Bytes, AreSaidInTheLargestUnitThatFits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText(1e30).substr(bytesText(1e30).size() - 3), "TiB");
}

TEST(Progress, LinesAreReadWithTheirText) {
  const auto progress = parseProgress("progress 3 10 compiling kernels");
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->done, 3u);
  EXPECT_EQ(progress->total, 10u);
  EXPECT_EQ(progress->text, "compiling kernels");
}

TEST(Progress, OtherLinesAreNone) {
  for (const char *line :
       {"", "progress", "progress ", "progress 1", "progress x 2", "progress 3 2", "progress -1 2",
        "progress 1 99999999999999999999", "note 1 2 x"})
    EXPECT_FALSE(parseProgress(line).has_value()) << line;
}

} // namespace
} // namespace sinter::cli
