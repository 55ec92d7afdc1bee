// What explain makes of samples: medians, floors, words from the plan, and the drawing.
#include "cli/explain/lever_words.h"
#include "cli/explain/report.h"
#include "cli/explain/xml_text.h"
#include "cli/quantiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

plan::KernelParameter number(const char *name, int64_t value) {
  return {name, plan::ParameterKind::Number, value, ""};
}
plan::KernelParameter blocks(const char *name, const char *format) {
  return {name, plan::ParameterKind::BlockFormat, 0, format};
}
plan::KernelParameter scalars(const char *name, const char *type) {
  return {name, plan::ParameterKind::ScalarType, 0, type};
}

// Two layers of a product after a norm, with packed weights.
plan::Plan samplePlan() {
  plan::Plan plan;
  plan.texts = {{"activations", "q8a"}};
  plan.properties = {{"graph_operations", 9}};
  plan.modules = {{"cpu:x86_64", {}}};
  plan.kernels = {{"rms_norm", {0}, "n"},
                  {"gemm", {0}, "g", 0, 0, 2048, 1, 0, false, Arithmetic::I8}};
  plan.kernels[0].parameters = {scalars("in", "f32"), blocks("out", "q8a"),
                                number("block_rows", 1)};
  plan.kernels[1].parameters = {blocks("a", "q8a"),    blocks("b", "q4_0"),
                                scalars("out", "f32"), number("block_m", 36),
                                number("block_n", 64), number("block_k", 576)};
  plan.buffers = {{"w", plan::BufferKind::Weight, plan::Expr(64), {"blk.0.attn_q.weight"}, {}, {}}};
  plan.buffers[0].pack = {plan::PackMode::Interleave, 16, 18, 1, {}, {{0, {{2, 1}}}}};
  plan::Launch norm{{0}}, product{{1}};
  norm.covers = {"norm", "quantize to q8a"};
  norm.quantizedTo = "q8a";
  norm.label = "norm";
  product.buffers = {{{0}, plan::Expr(0)}};
  product.covers = {"dot_general"};
  plan.procedures = {{"step", {{norm}, {product}, {norm}, {product}}}};
  return plan;
}

SampledStep sampleStep(const plan::Plan &plan) {
  SampledStep step{.tokens = 7, .wholeSeconds = {1e-3, 1.1e-3, 9e-3}};
  for (const plan::Step &planned : plan.procedures[0].steps)
    step.launches.push_back({&std::get<plan::Launch>(planned.op),
                             {3, 1, 1},
                             1000,
                             500,
                             {1e-4, 1.1e-4, 1.2e-4, 38e-3, 1.1e-4}});
  return step;
}

Roofs sampleRoofs() {
  return {{1e9, "as given"}, {{Arithmetic::F32, {1e9, "as given"}}, {Arithmetic::I8, {1e8, "so"}}}};
}

ExplainReport sampleReport(const plan::Plan &plan) {
  ExplainReport report;
  report.model = "a<b>&\"c\"\x01\xff.gguf";
  report.device = {"cpu", "two cores", "cpu:x86_64", 1 << 20, 2};
  report.plan = &plan;
  report.roofs = sampleRoofs();
  for (const uint32_t tokens : {7u, 1u}) {
    SampledStep step = sampleStep(plan);
    step.tokens = tokens;
    step.depth = tokens == 1 ? 7 : 0;
    report.steps.push_back(figuresOf(plan, report.device, report.roofs, step));
  }
  return report;
}

TEST(Explain, QuantilesLieBetweenTheirNeighbours) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(quantile({0, 10, 20, 30, 40}, 0.25), 10);
  EXPECT_EQ(quantile({0, 10}, 0.75), 7.5);
  EXPECT_EQ(quantile({1, 2, 3}, 1), 3);
}

TEST(Explain, ADisturbedSampleDoesNotShow) {
  const plan::Plan plan = samplePlan();
  const StepFigures step = sampleReport(plan).steps[0];
  ASSERT_EQ(step.kernels.size(), 2u);
  for (const KernelFigures &kernel : step.kernels) {
    EXPECT_EQ(kernel.launches, 2u);
    EXPECT_DOUBLE_EQ(kernel.seconds, 2 * 1.1e-4);
  }
  EXPECT_DOUBLE_EQ(step.wholeSeconds, 1.1e-3);
  EXPECT_DOUBLE_EQ(step.gapSeconds(), (1.1e-3 - 4 * 1.1e-4) / 4);
}

TEST(Explain, TheFloorIsTheHigherOfMemoryAndArithmeticAndSaysWhich) {
  const Roofs roofs = sampleRoofs();
  const Floor memory = floorOf(roofs, 1000, 500, Arithmetic::F32);
  EXPECT_DOUBLE_EQ(memory.seconds, 1e-6);
  EXPECT_STREQ(boundName(memory), "memory");
  const Floor arithmetic = floorOf(roofs, 1000, 500, Arithmetic::I8);
  EXPECT_DOUBLE_EQ(arithmetic.seconds, 5e-6);
  EXPECT_STREQ(boundName(arithmetic), "i8");
  EXPECT_STREQ(boundName(floorOf(roofs, 1, 1e12, Arithmetic::Bf16)), "memory") << "rate unknown";
}

TEST(Explain, WordsOfAKernelAreThoseOfItsPlan) {
  const plan::Plan plan = samplePlan();
  const StepFigures step = sampleReport(plan).steps[0];
  const LeverWords &norm = step.kernels[0].words, &product = step.kernels[1].words;
  EXPECT_THAT(norm.fusion, HasSubstr("norm and quantize to q8a in one launch"));
  EXPECT_THAT(norm.precision, HasSubstr("quantized to q8a"));
  EXPECT_EQ(product.fusion, "dot_general alone");
  EXPECT_THAT(product.tiling, AllOf(HasSubstr("3 programs of block_m 36, block_n 64, block_k 576"),
                                    HasSubstr("for 2 threads"), HasSubstr("2.0 KiB of scratch"),
                                    HasSubstr("weights attn_q are row-interleaved by 16, in "
                                              "an order")));
  EXPECT_THAT(product.precision, HasSubstr("q4_0 weights times q8a activations as 8-bit integers"));
}

TEST(Explain, WordsChangeWithThePlan) {
  plan::Plan plan = samplePlan();
  plan.kernels[1].arithmetic = Arithmetic::F32;
  plan.kernels[1].overlaps = true;
  plan.buffers[0].pack = {};
  const LeverWords words = wordsOf(plan, {"cpu", "", "", 0, 8}, sampleStep(plan).launches[1]);
  EXPECT_THAT(words.precision,
              AllOf(HasSubstr("dequantized inside the kernel"), Not(HasSubstr("8-bit"))));
  EXPECT_THAT(words.fusion, HasSubstr("may begin while the launch before it ends"));
  EXPECT_THAT(words.tiling, AllOf(HasSubstr("lie as in the file"),
                                  HasSubstr("5 of which stay idle"), Not(HasSubstr("packed"))));
}

TEST(Explain, GraphCaptureAndTuningAreToldAsTheyAre) {
  plan::Plan plan = samplePlan();
  ExplainReport report = sampleReport(plan);
  EXPECT_THAT(wordsOf(report).capture, HasSubstr("driver cpu records no graphs"));
  EXPECT_THAT(wordsOf(report).tuning, HasSubstr("0 of 2 kernels"));
  plan.kernels[1].schedule = {{{"block_m", 120}}};
  EXPECT_THAT(wordsOf(report).tuning, HasSubstr("1 of 2 kernels"));
  report.recordsGraphs = true;
  EXPECT_THAT(wordsOf(report).capture, HasSubstr("no step was submitted as a recorded graph"));
  report.steps[1].asGraph = true;
  EXPECT_THAT(wordsOf(report).capture, HasSubstr("submission of one graph"));
}

TEST(Explain, UnsteadyTimesAreSaid) {
  const plan::Plan plan = samplePlan();
  ExplainReport report = sampleReport(plan);
  EXPECT_THAT(explainText(report), Not(HasSubstr("unsteady")));
  report.steps[0].all.highSeconds = 2 * report.steps[0].all.lowSeconds;
  EXPECT_THAT(explainText(report), HasSubstr("unsteady"));
}

// ---- the drawing ----

TEST(Explain, XmlTextEscapesMarkupAndReplacesWhatXmlHasNot) {
  EXPECT_EQ(xmlText("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
  EXPECT_EQ(xmlText(std::string("x\0\x01\xff\xef\xbf\xbf", 7)),
            "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(xmlText("\xc3\xa4\n\t"), "\xc3\xa4\n\t");
}

// Whether every tag is closed in turn and no markup stands in text or attributes.
bool isWellFormed(std::string_view xml) {
  std::vector<std::string> open;
  for (size_t at = 0; (at = xml.find('<', at)) != std::string_view::npos;) {
    const size_t end = xml.find('>', at);
    if (end == std::string_view::npos)
      return false;
    const std::string_view tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != std::string_view::npos || std::ranges::count(tag, '"') % 2 != 0)
      return false;
    const std::string name(tag.substr(0, tag.find_first_of(" /\n", 1)));
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag)
        return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
  return open.empty();
}

TEST(Explain, TheDrawingIsWellFormedAndRefersToNothingOutside) {
  const plan::Plan plan = samplePlan();
  const std::string svg = explainSvg(sampleReport(plan));
  EXPECT_TRUE(isWellFormed(svg)) << svg;
  EXPECT_THAT(svg,
              AllOf(HasSubstr("a&lt;b&gt;&amp;"), Not(HasSubstr("a<b>")), Not(HasSubstr("<script")),
                    Not(HasSubstr("href")), Not(HasSubstr("url("))));
  EXPECT_EQ(svg.find("http", svg.find("xmlns") + 20), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(Explain, TheDrawingHasEveryKernelOfBothStepsAndEveryRoof) {
  const plan::Plan plan = samplePlan();
  const std::string svg = explainSvg(sampleReport(plan));
  for (const char *label : {">1</text>", ">2</text>", ">3</text>", ">4</text>", "step of 7 tokens",
                            "step of 1 token after 7", "attn_q, gemm", "memory 1.0 GB/s",
                            "f32 1 GOP/s", "i8 0 GOP/s", "prefers-color-scheme: dark"})
    EXPECT_THAT(svg, HasSubstr(label));
  EXPECT_THAT(svg, Not(testing::AnyOf(HasSubstr("nan"), HasSubstr("inf"))));
}

TEST(Explain, AKernelThatComputesNothingIsNamedBesideTheDrawing) {
  plan::Plan plan = samplePlan();
  ExplainReport report = sampleReport(plan);
  report.steps[0].kernels[0].operations = 0;
  const std::string svg = explainSvg(report);
  EXPECT_TRUE(isWellFormed(svg));
  EXPECT_THAT(svg,
              AllOf(HasSubstr("computes nothing"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

} // namespace
} // namespace sinter::cli
