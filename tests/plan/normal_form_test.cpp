// The normal form of hand-made plans: what it tells apart, and what it does not.
#include "plan/normal_form.h"

#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

BufferArg at(uint32_t buffer, Expr offset = Expr(0)) {
  return {{buffer}, std::move(offset)};
}

Buffer temp(std::string name, Expr bytes) {
  return {std::move(name), BufferKind::Temp, std::move(bytes), {}, {}, {}};
}

// Two launches in a row over two buffers.
Plan twoLaunches() {
  Plan plan;
  plan.symbols = {{"T", 1, 8}, {"S", 1, 4}};
  plan.buffers = {temp("a", symbol({0})), temp("b", symbol({1}))};
  Launch first, second;
  first.kernel = {0};
  first.grid[0] = symbol({0});
  first.buffers = {at(0), at(1, Expr(16))};
  second.kernel = {1};
  second.buffers = {at(1)};
  second.scalars = {symbol({1})};
  plan.procedures = {{"step", {{first}, {second}}}};
  return plan;
}

const std::vector<std::string> kKernels = {"k0", "k1"};

TEST(NormalForm, PrintsStepsThenBuffersAndSymbolsByFirstUse) {
  EXPECT_EQ(normalForm(twoLaunches(), kKernels), "procedure 0\n"
                                                 "  launch k0 grid (s0) (1) (1), b0 + 0, b1 + 16\n"
                                                 "  launch k1 grid (1) (1) (1), b1 + 0, s1\n"
                                                 "b0 temp s0\n"
                                                 "b1 temp s1\n"
                                                 "symbol s0 1 8\n"
                                                 "symbol s1 1 4\n");
}

TEST(NormalForm, NamesLabelsAndOrderOfDeclarationMakeNoDifference) {
  Plan plan = twoLaunches(), other = plan;
  std::swap(other.symbols[0], other.symbols[1]);
  other.symbols[0].name = "x";
  other.buffers = {temp("c", symbol({0})), temp("d", symbol({1}))};
  auto &first = std::get<Launch>(other.procedures[0].steps[0].op);
  auto &second = std::get<Launch>(other.procedures[0].steps[1].op);
  first.grid[0] = symbol({1});
  first.buffers = {at(1), at(0, Expr(16))};
  first.label = "another";
  first.bytesMoved = Expr(7);
  second.buffers = {at(0)};
  second.scalars = {symbol({0})};
  other.texts["x"] = "y";
  EXPECT_EQ(normalForm(plan, kKernels), normalForm(other, kKernels));
}

TEST(NormalForm, EachChangeOfWhatIsDoneShows) {
  const std::string before = normalForm(twoLaunches(), kKernels);
  auto changed = [&](auto change) {
    Plan plan = twoLaunches();
    auto &steps = plan.procedures[0].steps;
    change(plan, std::get<Launch>(steps[0].op), std::get<Launch>(steps[1].op));
    return normalForm(plan, kKernels) != before;
  };
  EXPECT_TRUE(changed([](Plan &, Launch &l, Launch &) { l.kernel = {1}; }));
  EXPECT_TRUE(changed([](Plan &, Launch &l, Launch &) { l.grid[2] = Expr(2); }));
  EXPECT_TRUE(changed([](Plan &, Launch &l, Launch &) { l.buffers[0] = l.buffers[1]; }));
  EXPECT_TRUE(changed([](Plan &, Launch &, Launch &l) { l.scalars[0] = Expr(3); }));
  EXPECT_TRUE(changed([](Plan &p, Launch &, Launch &) { p.symbols[0].max = 9; }));
  EXPECT_TRUE(changed([](Plan &p, Launch &, Launch &) { p.buffers[1].bytes = Expr(4); }));
  EXPECT_TRUE(changed([](Plan &p, Launch &, Launch &) { p.buffers[0].kind = BufferKind::State; }));
  EXPECT_TRUE(changed([](Plan &p, Launch &, Launch &) { p.properties["x"] = 1; }));
  EXPECT_TRUE(changed([](Plan &p, Launch &, Launch &) {
    Step copy{Copy{{0}, Expr(0), {1}, Expr(0), Expr(4)}};
    p.procedures[0].steps.push_back({If{symbol({0}), {copy}, {}}});
  }));
}

TEST(NormalForm, PackingAndConstantsShow) {
  Plan plan;
  plan.buffers = {{"w", BufferKind::Weight, Expr(64), {"t"}, {}, {}},
                  {"c", BufferKind::Constant, Expr(2), {}, {}, {1, 2}}};
  const std::string before = normalForm(plan, {});
  EXPECT_NE(before.find("b0 weight 64 't' direct"), std::string::npos) << before;
  plan.buffers[1].data[1] = 3;
  EXPECT_NE(normalForm(plan, {}), before);
  plan.buffers[1].data[1] = 2;
  plan.buffers[0].pack.mode = PackMode::Interleave;
  EXPECT_NE(normalForm(plan, {}), before);
}

} // namespace
} // namespace sinter::plan
