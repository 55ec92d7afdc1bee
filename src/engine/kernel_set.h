// The kernels of a plan: equal instances are one, and all are compiled together on several threads.
#pragma once

#include "kernels/fields.h"
#include "plan/plan.h"
#include "target/target.h"
#include "tile/front.h"
#include "tile/tile.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sinter::engine {

// Called as work proceeds: what is being done, and how far it is. From the caller's thread only.
using Progress = std::function<void(std::string_view stage, uint32_t done, uint32_t total)>;

// A kernel's parameters as text, "rms_norm(in=f32, out=q8a, ...)": equal text means equal kernels.
template <class P> std::string kernelKey(std::string_view name, P params);

class KernelSet {
public:
  using Build = std::function<void(kernel::KernelBuilder &)>;

  // `context` must outlive this object.
  explicit KernelSet(mlir::MLIRContext &context) : context_(context) {}

  // The instance of `build` with these parameters, built now in tile form if it is new. `variant`
  // names what slots add, which parameters do not say. Internal: the parameters make no kernel.
  template <class P>
  Result<plan::KernelId> add(std::string_view name, const P &params,
                             void (*build)(kernel::KernelBuilder &, const P &),
                             std::string_view variant = {}) {
    std::string key = kernelKey(name, params) + std::string(variant);
    return add(name, std::move(key),
               [params, build](kernel::KernelBuilder &k) { build(k, params); });
  }

  size_t size() const { return instances_.size(); }
  tile::KernelOp kernel(plan::KernelId id) const;

  // Native code of all kernels, as modules and kernels of `plan` under their ids. Unsupported: a
  // kernel has no form on the target; the message has the target's own words.
  Result<void> compile(const target::Target &target, uint32_t threads, plan::Plan &plan,
                       const Progress &progress) const;

private:
  struct Instance {
    std::string key, symbol;
    Build build;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  Result<plan::KernelId> add(std::string_view name, std::string key, Build build);

  mlir::MLIRContext &context_;
  std::vector<Instance> instances_;
  std::map<std::string, plan::KernelId> ids_; // by key
};

// Writes the fields of a parameter struct as name=value pairs.
class KeyWriter : public kernels::FieldVisitor {
public:
  void integer(std::string_view name, int64_t &value, int64_t, int64_t, std::string_view) override {
    pair(name, std::to_string(value));
  }
  void extent(std::string_view name, int64_t &value, std::string_view) override {
    pair(name, value == kernel::dyn ? "?" : std::to_string(value));
  }
  void format(std::string_view name, kernel::Element &value, std::string_view) override {
    pair(name, value.name());
  }
  void flag(std::string_view name, bool &value, std::string_view) override {
    pair(name, value ? "true" : "false");
  }
  const std::string &text() const { return text_; }

private:
  void pair(std::string_view name, const std::string &value) {
    text_ += (text_.empty() ? "" : ", ") + std::string(name) + "=" + value;
  }
  std::string text_;
};

template <class P> std::string kernelKey(std::string_view name, P params) {
  KeyWriter writer;
  visitFields(params, writer);
  return std::string(name) + "(" + writer.text() + ")";
}

} // namespace sinter::engine
