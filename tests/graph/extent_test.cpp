// Formulas of extents: canonical text, checked arithmetic, values.
#include "graph/ir/extent.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::graph {
namespace {

using testing::HasSubstr;

std::string canonical(llvm::StringRef text) {
  auto extent = SymbolicExtent::parse(text);
  return extent ? extent->text() : extent.error().message;
}

TEST(SymbolicExtent, EqualFormulasHaveOneText) {
  EXPECT_EQ(canonical("T"), "T");
  EXPECT_EQ(canonical(" T*4 + 1"), "4*T+1");
  EXPECT_EQ(canonical("S*T + T*S - 3"), "2*S*T-3");
  EXPECT_EQ(canonical("1 - T"), "-T+1");
  EXPECT_EQ(canonical("T - T"), "0");
  EXPECT_EQ(canonical("B + A + A*B"), "A*B+A+B");
  EXPECT_EQ(canonical(canonical("2*N*N - N - 1")), "2*N*N-N-1");
}

TEST(SymbolicExtent, TextThatIsNoFormulaIsRefused) {
  EXPECT_THAT(canonical(""), HasSubstr("expected a name or a number"));
  EXPECT_THAT(canonical("T+"), HasSubstr("expected a name or a number"));
  EXPECT_THAT(canonical("T/2"), HasSubstr("expected +, - or *"));
  EXPECT_THAT(canonical("99999999999999999999"), HasSubstr("64-bit number"));
  EXPECT_THAT(canonical("9223372036854775807*T+T"), HasSubstr("too large"));
  EXPECT_THAT(canonical("A*A*A*A*A*A*A*A*A"), HasSubstr("too large"));
}

TEST(SymbolicExtent, ValuesAreCheckedForOverflowAndSign) {
  auto value = [](llvm::StringRef text, int64_t t) {
    return SymbolicExtent::parse(text)->evaluate(
        [&](llvm::StringRef symbol) { return symbol == "T" ? std::optional(t) : std::nullopt; });
  };
  EXPECT_EQ(*value("4*T+1", 3), 13);
  EXPECT_THAT(value("T*T", int64_t(1) << 40).error().message, HasSubstr("overflows 64 bits"));
  EXPECT_THAT(value("T-4", 3).error().message, HasSubstr("is -1, expected 0 or more"));
  EXPECT_THAT(value("T+U", 3).error().message, HasSubstr("symbol 'U' has no value"));
}

TEST(SymbolicExtent, ProductOfSumsIsTheSumOfProducts) {
  auto a = *SymbolicExtent::parse("S+1"), b = *SymbolicExtent::parse("S-1");
  EXPECT_EQ(a.times(b)->text(), "S*S-1");
  EXPECT_EQ(a.plus(b, -1)->constant(), 2);
  EXPECT_EQ(SymbolicExtent::parse("T")->symbol(), "T");
  EXPECT_EQ(SymbolicExtent::parse("2*T")->symbol(), "");
}

} // namespace
} // namespace sinter::graph
