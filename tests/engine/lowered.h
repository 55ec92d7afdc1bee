// Small graphs as plans, for tests of lowering.
#pragma once

#include "engine/choice/fusion.h"
#include "engine/constant_views.h"
#include "engine/graph_text.h"
#include "engine/lowering.h"
#include "engine/profiles.h"
#include "targets/registry.h"

namespace sinter::engine {

// A graph as a plan, with the names that its ids stand for.
class Lowered {
public:
  explicit Lowered(const std::string &body, const LoweringOptions &options = {cpuProfile()},
                   const std::string &symbols = kDecoderSymbols)
      : graph_(body, symbols), kernels_(graph_.context()), result_(lower(options)) {}

  const Result<plan::Plan> &result() const { return result_; }
  const plan::Plan &plan() const { return *result_; }
  const std::vector<plan::Step> &steps() const { return plan().procedures.at(0).steps; }
  template <class T> const T &step(size_t index) const { return std::get<T>(steps().at(index).op); }

  std::vector<std::string> buffers() const {
    std::vector<std::string> names;
    for (const plan::Buffer &buffer : plan().buffers)
      names.push_back(std::string(plan::kindName(buffer.kind)) + " " + buffer.name);
    return names;
  }
  const plan::Buffer &buffer(const std::string &name) const {
    auto id = plan::findBuffer(plan(), name);
    EXPECT_TRUE(id) << name;
    return plan().buffers.at(id ? id->index : 0);
  }
  std::string text(const plan::Expr &expr) const {
    std::vector<std::string> names;
    for (const plan::Symbol &symbol : plan().symbols)
      names.push_back(symbol.name);
    return plan::toString(expr, names);
  }
  // Buffer names of a launch, with "+offset" where there is one.
  std::vector<std::string> arguments(const plan::Launch &launch) const {
    std::vector<std::string> names;
    for (const plan::BufferArg &argument : launch.buffers) {
      std::string offset = text(argument.byteOffset);
      names.push_back(plan().buffers.at(argument.buffer.index).name +
                      (offset == "0" ? "" : "+" + offset));
    }
    return names;
  }
  std::string symbolOf(const plan::Launch &launch) {
    return kernels_.kernel(launch.kernel).getSymName().str();
  }
  // Its code, as if x of the first kernel had been launched with another stride too.
  std::string compiled(const targets::Target &target, bool otherStrides) {
    if (otherStrides)
      tile::setStrides(kernels_.kernel({0}), 0, {mlir::ShapedType::kDynamic, 1});
    plan::Plan compiled = plan();
    auto done = kernels_.compile(target, 1, compiled, [](std::string_view, uint32_t, uint32_t) {});
    EXPECT_TRUE(done) << done.error().message;
    const std::vector<uint8_t> &code = compiled.modules.at(0).code;
    return {code.begin(), code.end()};
  }
  size_t kernelCount() const { return kernels_.size(); }
  std::string kernelText(const plan::Launch &launch) {
    std::string text;
    llvm::raw_string_ostream(text) << kernels_.kernel(launch.kernel);
    return text;
  }

  // Names of the views that nothing writes in such a plan of these kernels.
  std::vector<std::string> constantViews(const plan::Plan &plan, const plan::Launch &launch) {
    markConstantViews(plan, kernels_);
    tile::KernelOp kernel = kernels_.kernel(launch.kernel);
    std::vector<std::string> names;
    for (unsigned argument = 0; argument < kernel.getNumArguments(); ++argument)
      if (tile::isConstant(kernel, argument))
        names.push_back(kernel.getArgAttrOfType<mlir::StringAttr>(argument, "tile.name").str());
    return names;
  }

private:
  Result<plan::Plan> lower(const LoweringOptions &options) {
    graph::fuse(graph_.module(), fuseOptions(options.profile));
    return Lowering(kernels_, options).run(graph_.module());
  }

  GraphText graph_;
  KernelSet kernels_;
  Result<plan::Plan> result_;
};

inline std::vector<float> floatsOf(const plan::Buffer &buffer) {
  std::vector<float> values(buffer.data.size() / sizeof(float));
  std::memcpy(values.data(), buffer.data.data(), buffer.data.size());
  return values;
}

} // namespace sinter::engine
