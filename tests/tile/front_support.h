// Tables of kernels that the front must refuse, each with the one diagnostic and the line it
// belongs to.
#pragma once

#include "tile/front/front.h"

#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>

namespace sinter::tile {

// What a case builds with: a kernel with a grid and a few arguments.
struct Probe {
  explicit Probe(kernel::KernelBuilder &builder) : k(builder) { k.grid(1); }

  // Called on the line of the mistake.
  void here(const kernel::Where &where = kernel::Where::current()) { line = where.line(); }

  kernel::KernelBuilder &k;
  kernel::View x = k.in("x", kernel::F32, {kernel::dyn, kernel::dyn});
  kernel::View out = k.out("out", kernel::F32, {kernel::dyn, kernel::dyn});
  kernel::View ids = k.in("ids", kernel::I32, {kernel::dyn});
  kernel::View blocks = k.in("blocks", kernel::block("q4_1"), {kernel::dyn, 64});
  kernel::Tile floats = k.zeros(kernel::F32, {4, 8});
  kernel::Tile ints = k.zeros(kernel::I32, {4, 8});
  kernel::Tile coded = quantize(k.zeros(kernel::F32, {4, 32}), kernel::block("q8a"));
  kernel::Scalar number = k.constant(kernel::F32, 1.5);
  kernel::Scalar id = k.programId(0);
  uint32_t line = 0;
};

struct Refusal {
  const char *name;
  void (*body)(Probe &p);
  const char *message;
};

inline void PrintTo(const Refusal &refusal, std::ostream *stream) {
  *stream << refusal.name;
}

inline std::string refusalName(const testing::TestParamInfo<Refusal> &info) {
  return info.param.name;
}

// Builds the case's kernel: it must be refused with that diagnostic at that line of that file, and
// with no other.
inline void expectRefusal(const Refusal &refusal, const std::string &file) {
  uint32_t line = 0;
  KernelModule module = KernelModule::build([&](kernel::Module &m) {
    m.kernel("probe", [&](kernel::KernelBuilder &k) {
      Probe probe(k);
      refusal.body(probe);
      line = probe.line;
    });
  });
  ASSERT_EQ(module.diagnostics().size(), 1u) << module.diagnosticText();
  const FrontDiagnostic &found = module.diagnostics().front();
  EXPECT_EQ(found.message, refusal.message);
  EXPECT_EQ(found.line, line);
  EXPECT_TRUE(found.file.ends_with(file)) << found.file;
  EXPECT_TRUE(module.module().getBody()->empty()) << module.text();
}

} // namespace sinter::tile
