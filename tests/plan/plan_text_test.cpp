// Parts of a plan as people read them.
#include "plan/plan_text.h"

#include "plan/sample_plan.h"

#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

TEST(PlanText, OfAKernelSaysWithWhatItsSourceWasFilled) {
  EXPECT_EQ(kernelText(samplePlan().kernels[0]),
            "norm(in=f32, out=q8a, columns=?, block_rows=4, scaled=true) prologue map %0, "
            "epilogue heads");
  EXPECT_EQ(kernelText(samplePlan().kernels[1]), "end()");
}

TEST(PlanText, ListsBoundAndComputedSymbolsAndKernels) {
  EXPECT_EQ(listing(samplePlan()),
            "symbols\n"
            "tokens: 1 to 512\n"
            "layer: 0 to 7\n"
            "routed: 0 to 64, read from 'cache' at byte 1020\n"
            "\n"
            "kernels\n"
            "norm(in=f32, out=q8a, columns=?, block_rows=4, scaled=true) prologue map %0, "
            "epilogue heads\n"
            "end()\n");
}

} // namespace
} // namespace sinter::plan
