// Compiling and binding, as the kernel command does it.
#include "generated.h"

#include "compiler/kernel_launch.h"
#include "targets/registry.h"
#include "tile/front/front.h"

#include <cstring>

namespace sinter::bench {
namespace {

class IntegerSetter : public kernels::FieldVisitor {
public:
  explicit IntegerSetter(const std::map<std::string, int64_t> &settings) : left_(settings) {}
  void integer(std::string_view name, int64_t &value, int64_t low, int64_t high,
               std::string_view) override {
    auto found = left_.find(std::string(name));
    if (found == left_.end())
      return;
    if (found->second < low || found->second > high)
      return;
    value = found->second;
    left_.erase(found);
  }
  void extent(std::string_view, int64_t &, std::string_view) override {}
  void format(std::string_view, kernel::Element &, std::string_view) override {}
  void flag(std::string_view name, bool &value, std::string_view) override {
    if (auto found = left_.find(std::string(name)); found != left_.end()) {
      value = found->second != 0;
      left_.erase(found);
    }
  }
  const std::map<std::string, int64_t> &left() const { return left_; }

private:
  std::map<std::string, int64_t> left_;
};

// What the caller gave, repeated over the bytes of the view.
Result<void> fillView(hal::BoundCase &bound, size_t view, uint64_t wanted,
                      std::span<const uint8_t> bytes) {
  if (bytes.empty() || wanted % bytes.size())
    return fail(Code::InvalidArgument, "view " + std::to_string(view) + " has " +
                                           std::to_string(wanted) + " bytes, found operands of " +
                                           std::to_string(bytes.size()));
  std::vector<uint8_t> all(wanted);
  for (size_t at = 0; at < wanted; at += bytes.size())
    std::memcpy(all.data() + at, bytes.data(), bytes.size());
  return bound.write(view, all);
}

} // namespace

Result<void> applySettings(kernels::Gemm &gemm, const std::map<std::string, int64_t> &settings) {
  IntegerSetter setter(settings);
  kernels::visitFields(gemm, setter);
  for (const auto &[name, value] : setter.left())
    return fail(Code::InvalidArgument, "gemm has no setting " + name + "=" + std::to_string(value));
  return {};
}

std::string blockText(const kernels::Gemm &gemm) {
  return "block_m=" + std::to_string(gemm.blockM) + " block_n=" + std::to_string(gemm.blockN) +
         " block_k=" + std::to_string(gemm.blockK);
}

Result<GeneratedGemm> GeneratedGemm::create(hal::Device &device, const kernels::Gemm &gemm,
                                            int64_t m, int64_t n, int64_t k,
                                            std::span<const uint8_t> a,
                                            std::span<const uint8_t> b) {
  tile::KernelModule source = tile::KernelModule::build([&](kernel::Module &module) {
    module.kernel("gemm", [&](kernel::KernelBuilder &builder) { kernels::gemm(builder, gemm); });
  });
  if (!source.ok())
    return fail(Code::InvalidArgument, source.diagnosticText());
  SINTER_ASSIGN(const std::unique_ptr<targets::Target> target, targets::findTarget("host"));
  SINTER_ASSIGN(const targets::CompiledModule code,
                targets::compileKernels(*target, source.module()));
  tile::KernelOp kernel = *source.module().getOps<tile::KernelOp>().begin();
  compiler::ArgumentRequest request;
  request.shapes["a"] = {m, k};
  request.shapes["b"] = gemm.transposeB ? std::vector{n, k} : std::vector{k, n};
  request.shapes["out"] = {m, n};
  SINTER_ASSIGN(const auto arguments, compiler::makeArguments(kernel, request));
  SINTER_ASSIGN(const hal::Grid grid, compiler::evaluateGrid(kernel, arguments));
  SINTER_ASSIGN(hal::KernelCase made,
                compiler::makeCase(code, target->name(), 0, grid, request.seed, arguments));
  auto kept = std::make_unique<hal::KernelCase>(std::move(made));
  SINTER_ASSIGN(hal::BoundCase bound, hal::BoundCase::create(device, *kept));
  SINTER_TRY(fillView(bound, 0, kept->views[0].bytes, a));
  SINTER_TRY(fillView(bound, 1, kept->views[1].bytes, b));
  return GeneratedGemm(std::move(kept), std::move(bound));
}

Result<void> GeneratedGemm::run() {
  SINTER_TRY(bound_.launch());
  return bound_.stream().synchronize();
}

Result<std::vector<float>> GeneratedGemm::output() {
  SINTER_ASSIGN(const std::vector<uint8_t> bytes, bound_.read(2));
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

} // namespace sinter::bench
