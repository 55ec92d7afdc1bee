// The kernel table: settings from text, and what it says to wrong ones.
#include "kernels/registry.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>
#include <set>

namespace sinter::kernels {
namespace {

// The complaint about the settings, or the text of the kernel.
std::string define(const std::string &name, const Settings &settings) {
  std::string complaint;
  auto module = tile::KernelModule::build([&](kernel::Module &m) {
    auto entry = findKernel(name);
    if (!entry) {
      complaint = entry.error().message;
      return;
    }
    auto defined = entry->define(m, name, settings);
    if (!defined)
      complaint = defined.error().message;
  });
  return complaint.empty() ? module.diagnosticText() + module.text() : complaint;
}

TEST(KernelRegistry, NamesAreDistinct) {
  std::set<std::string> names;
  auto registry = kernelRegistry();
  for (const KernelEntry &entry : registry)
    names.insert(entry.name);
  EXPECT_EQ(names.size(), registry.size());
}

TEST(KernelRegistry, EveryDefaultIsASettingThatChangesNothing) {
  for (const KernelEntry &entry : kernelRegistry()) {
    SCOPED_TRACE(entry.name);
    Settings settings;
    for (const ParamInfo &param : entry.params)
      settings[param.name] = param.standard;
    EXPECT_EQ(settings.empty(), entry.name == std::string_view("take_guesses")); // has one form
    EXPECT_EQ(define(entry.name, settings), define(entry.name, {}));
  }
}

TEST(KernelRegistry, SettingsReachTheKernel) {
  std::string text = define(
      "gemm", {{"n", "64"}, {"k", "dyn"}, {"b", "q8_0"}, {"block_m", "7"}, {"block_n", "64"}});
  EXPECT_NE(text.find("!tile.view<64x?x!tile.block<\"q8_0\">, in>"), std::string::npos) << text;
  EXPECT_NE(text.find("tensor<7x64xf32>"), std::string::npos) << text;
}

TEST(KernelRegistry, AnUnknownKernelIsAnsweredWithTheKnownOnes) {
  std::string text = define("gem", {});
  EXPECT_TRUE(text.starts_with("no kernel is named 'gem', expected one of: add, ")) << text;
}

TEST(KernelRegistry, AnUnknownParameterIsAnsweredWithTheKnownOnes) {
  EXPECT_EQ(define("kv_append", {{"pages", "3"}}),
            "kernel 'kv_append' has no parameter 'pages', expected one of: in, cache, kv_heads, "
            "head_dim, page_rows, strided");
}

TEST(KernelRegistry, AnIntegerOutOfRangeIsRefused) {
  EXPECT_EQ(define("gemm", {{"block_m", "0"}}),
            "parameter 'block_m' is '0', expected an integer from 1 to 16384");
}

TEST(KernelRegistry, AnIntegerWithATailIsRefused) {
  EXPECT_EQ(define("gemm", {{"block_m", "8x"}}),
            "parameter 'block_m' is '8x', expected an integer from 1 to 16384");
}

TEST(KernelRegistry, ANegativeExtentIsRefused) {
  EXPECT_EQ(define("gemm", {{"n", "-4"}}),
            "parameter 'n' is '-4', expected a positive integer or dyn");
}

TEST(KernelRegistry, AFlagOfAnotherWordIsRefused) {
  EXPECT_EQ(define("gemm", {{"transpose_b", "yes"}}),
            "parameter 'transpose_b' is 'yes', expected true or false");
}

TEST(KernelRegistry, AFormatThatDoesNotExistIsADiagnosticOfTheKernel) {
  std::string text = define("gemm", {{"b", "q9_9"}});
  EXPECT_NE(text.find("block format 'q9_9' is not known"), std::string::npos) << text;
}

TEST(KernelRegistry, EveryKernelRefusesEveryFormatThatItCannotHoldWithoutAborting) {
  for (const KernelEntry &entry : kernelRegistry())
    for (const ParamInfo &param : entry.params)
      if (param.kind == ParamKind::Format)
        for (const char *format : {"i1", "i8", "index", "f8e4m3", "q4_k", "q8a", "", "q4_1>"})
          EXPECT_FALSE(define(entry.name, {{param.name, format}}).empty());
}

} // namespace
} // namespace sinter::kernels
