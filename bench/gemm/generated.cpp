// Compiling and binding, as the kernel command does it.
#include "generated.h"

#include "target/cpu/codegen.h"

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

// What the caller gave, repeated over the bytes of the argument.
Result<void> fillArgument(compiler::KernelArgument &argument, std::span<const uint8_t> bytes) {
  if (bytes.empty() || argument.bytes.size() % bytes.size())
    return fail(Code::InvalidArgument,
                "argument '" + argument.name + "' has " + std::to_string(argument.bytes.size()) +
                    " bytes, found operands of " + std::to_string(bytes.size()));
  for (size_t at = 0; at < argument.bytes.size(); at += bytes.size())
    std::memcpy(argument.bytes.data() + at, bytes.data(), bytes.size());
  return {};
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

Result<GeneratedProduct> GeneratedProduct::create(hal::Device &device, const kernels::Gemm &gemm,
                                                  int64_t m, int64_t n, int64_t k,
                                                  std::span<const uint8_t> a,
                                                  std::span<const uint8_t> b) {
  tile::KernelModule source = tile::KernelModule::build([&](kernel::Module &module) {
    module.kernel("gemm", [&](kernel::KernelBuilder &builder) { kernels::gemm(builder, gemm); });
  });
  if (!source.ok())
    return fail(Code::InvalidArgument, source.diagnosticText());
  SINTER_ASSIGN(const target::cpu::CpuFacts facts, target::cpu::hostFacts());
  SINTER_ASSIGN(const target::cpu::CompiledModule code,
                target::cpu::compileKernels(source.module(), facts));
  tile::KernelOp kernel = *source.module().getOps<tile::KernelOp>().begin();
  compiler::ArgumentRequest request;
  request.shapes["a"] = {m, k};
  request.shapes["b"] = gemm.transposeB ? std::vector{n, k} : std::vector{k, n};
  request.shapes["out"] = {m, n};
  SINTER_ASSIGN(auto arguments, compiler::makeArguments(kernel, request));
  SINTER_TRY(fillArgument(arguments[0], a));
  SINTER_TRY(fillArgument(arguments[1], b));
  SINTER_ASSIGN(const hal::Grid grid, compiler::evaluateGrid(kernel, arguments));
  auto bound = compiler::BoundKernel::create(device, code, facts.targetName(), 0, grid, arguments);
  if (!bound)
    return tl::unexpected(bound.error());
  const uint64_t weightBytes = arguments[1].bytes.size();
  arguments[0].bytes = {};
  arguments[1].bytes = {};
  return GeneratedProduct(std::move(source), std::move(*bound), std::move(arguments), weightBytes);
}

Result<std::vector<float>> GeneratedProduct::output() {
  SINTER_TRY(bound_.readBack(arguments_));
  std::vector<float> out(arguments_[2].bytes.size() / sizeof(float));
  std::memcpy(out.data(), arguments_[2].bytes.data(), out.size() * sizeof(float));
  return out;
}

} // namespace sinter::bench
