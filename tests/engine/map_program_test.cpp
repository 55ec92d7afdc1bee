// Elementwise regions: read as data, named, and replayed as a kernel's slot.
#include "engine/graph_text.h"
#include "engine/map_program.h"
#include "kernels/tokens.h"
#include "tile/front/front.h"
#include "tile/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

namespace sinter::engine {
namespace {

std::string mapOf(const std::string &body) {
  return "%x = graph.input \"x\" : !x\n%y = graph.input \"y\" : !x\n"
         "%m = graph.map %x, %y : !x, !x -> !x {\n^bb0(%a: f32, %b: f32):\n" +
         body + "}\ngraph.output \"m\", %m : !x";
}

Result<MapProgram> read(const std::string &body) {
  GraphText graph(mapOf(body));
  return readMap(graph.only<graph::MapOp>());
}

constexpr const char *kSiluMul = R"(
  %one = arith.constant 1.0 : f32
  %n = arith.negf %a : f32
  %e = math.exp %n : f32
  %d = arith.addf %one, %e : f32
  %s = arith.divf %a, %d : f32
  %r = arith.mulf %s, %b : f32
  graph.yield %r : f32
)";

TEST(MapProgram, NumbersOperandsThenNodes) {
  auto program = read(kSiluMul);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->operandCount, 2u);
  ASSERT_EQ(program->nodes.size(), 6u);
  EXPECT_EQ(program->nodes[0].op, MapProgram::kConstant);
  EXPECT_EQ(program->nodes[0].constant, 1.0);
  EXPECT_EQ(program->nodes[4].op, static_cast<uint32_t>(SINTER_OP_DIV));
  EXPECT_EQ(program->nodes[4].operands, (std::vector<uint32_t>{0, 5}));
  EXPECT_EQ(program->result, 7u);
}

TEST(MapProgram, ARegionThatYieldsAnOperandHasNoNodes) {
  auto program = read("graph.yield %b : f32\n");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE(program->nodes.empty());
  EXPECT_EQ(program->text(), "%1");
}

TEST(MapProgram, EqualRegionsHaveEqualText) {
  std::string renamed = kSiluMul;
  for (size_t at; (at = renamed.find("%e")) != std::string::npos;)
    renamed.replace(at, 2, "%power");
  EXPECT_EQ(read(kSiluMul)->text(), read(renamed)->text());
}

TEST(MapProgram, OperandOrderChangesTheText) {
  auto differ = [](const char *first, const char *second) {
    return read(std::string("%r = arith.subf ") + first + " : f32\ngraph.yield %r : f32\n")
               ->text() !=
           read(std::string("%r = arith.subf ") + second + " : f32\ngraph.yield %r : f32\n")
               ->text();
  };
  EXPECT_TRUE(differ("%a, %b", "%b, %a"));
  EXPECT_FALSE(differ("%a, %b", "%a, %b"));
}

TEST(MapProgram, NeighbouringConstantsHaveDifferentText) {
  auto scaled = [](const std::string &bits) {
    return read("%c = arith.constant " + bits +
                " : f32\n%r = arith.mulf %a, %c : f32\ngraph.yield %r : f32\n")
        ->text();
  };
  EXPECT_NE(scaled("0x3DCCCCCD"), scaled("0x3DCCCCCE"));
  EXPECT_NE(scaled("0x00000000"), scaled("0x80000000"));
}

std::string refusalOf(const std::string &body) {
  auto program = read(body);
  EXPECT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::Unsupported);
  return program.error().message;
}

TEST(MapProgram, AnOperationWithoutAFormIsNamed) {
  EXPECT_EQ(refusalOf("%r = math.sin %a : f32\ngraph.yield %r : f32\n"),
            "a map has 'math.sin', which has no form in kernels on f32");
}

TEST(MapProgram, WorkOnOtherElementsIsNamed) {
  EXPECT_EQ(refusalOf("%n = arith.truncf %a : f32 to f16\n%r = arith.extf %n : f16 to f32\n"
                      "graph.yield %r : f32\n"),
            "a map has 'arith.truncf', which has no form in kernels on f32");
}

TEST(MapProgram, AnIntegerConstantIsNamed) {
  EXPECT_EQ(refusalOf("%n = arith.constant 3 : i32\ngraph.yield %a : f32\n"),
            "a map has 'arith.constant', which has no form in kernels on f32");
}

// The program as the prologue of a row kernel, its tile standing for operand `tile`.
tile::KernelModule kernelOf(const MapProgram &program, uint32_t tile) {
  return tile::KernelModule::build([&](kernel::Module &module) {
    module.kernel("map", [&](kernel::KernelBuilder &k) {
      kernels::QuantizeRows p;
      p.out = kernel::F32;
      p.columns = 64;
      p.blockColumns = 32;
      p.prologue = mapSlot(program, tile, 64);
      kernels::quantizeRows(k, p);
    });
  });
}

std::vector<float> ramp(float from, float step) {
  std::vector<float> values(3 * 64);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = from + step * static_cast<float>(i);
  return values;
}

TEST(MapProgram, SlotComputesWhatTheRegionSays) {
  auto program = read("%r = arith.subf %a, %b : f32\ngraph.yield %r : f32\n");
  ASSERT_TRUE(program) << program.error().message;
  for (uint32_t tile : {0u, 1u}) {
    tile::KernelModule module = kernelOf(*program, tile);
    ASSERT_TRUE(module.ok()) << module.diagnosticText();
    auto kernel = *module.module().getOps<tile::KernelOp>().begin();
    auto x = ramp(1, 0.25f), other = ramp(-3, 0.5f);
    std::vector<float> out(x.size());
    auto view = [](std::vector<float> &v) { return tile::HostView::contiguous(v.data(), {3, 64}); };
    auto run = tile::interpretKernel(kernel, {view(x), view(out), view(other)});
    ASSERT_TRUE(run) << run.error().message;
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], tile == 0 ? x[i] - other[i] : other[i] - x[i]) << i;
  }
}

TEST(MapProgram, SlotDeclaresItsOtherOperandsInOrder) {
  MapProgram program;
  program.operandCount = 3;
  program.nodes = {{SINTER_OP_FMA, {0, 1, 2}, 0}};
  program.result = 3;
  tile::KernelModule module = kernelOf(program, 1);
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto kernel = *module.module().getOps<tile::KernelOp>().begin();
  std::vector<std::string> names;
  for (unsigned i = 0; i < kernel.getArgumentTypes().size(); ++i)
    names.push_back(kernel.getArgAttrOfType<mlir::StringAttr>(i, "tile.name").str());
  EXPECT_EQ(names, (std::vector<std::string>{"x", "out", "operand0", "operand2"}));
}

} // namespace
} // namespace sinter::engine
