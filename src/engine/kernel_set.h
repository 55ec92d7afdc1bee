// The kernels of a plan: equal instances are one, and all are compiled together on several threads.
#pragma once

#include "engine/choice/schedule_space.h"
#include "engine/elements.h"
#include "engine/launch.h"
#include "plan/plan.h"
#include "tile/front/front.h"
#include "tile/tile.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace sinter::engine {

// Called as work proceeds: what is being done, and how far it is. From the caller's thread only.
using Progress = std::function<void(std::string_view stage, uint32_t done, uint32_t total)>;

// A kernel's parameters as a plan states them.
template <class P> std::vector<plan::KernelParameter> kernelParameters(P params);

class KernelSet {
public:
  using Build = std::function<void(kernel::KernelBuilder &)>;

  // `context` and `target`, whose decisions are offered to tuning, must outlive this object.
  explicit KernelSet(mlir::MLIRContext &context, const targets::Target *target = nullptr)
      : context_(context), target_(target) {}

  // Schedules of kernels that are added from now on; of others the rules'.
  void useTuning(Tuning tuning) { tuning_ = std::move(tuning); }

  // The instance of `build` with these parameters, or those that tuning has for it, built now in
  // tile form if it is new. `slots` say what the parameters do not; kernels of equal parameters and
  // slots are equal. Internal: they make no kernel. InvalidArgument: tuning has what is none of its
  // schedules.
  template <class P>
  Result<plan::KernelId>
  add(std::string_view name, const P &params, void (*build)(kernel::KernelBuilder &, const P &),
      const std::vector<plan::KernelSlot> &slots = {}, const Freedom &freedom = {}) {
    return add(name, blockSpace(params, freedom), [&](const ScheduleChoice &choice) {
      P p = params;
      ChoiceWriter writer(choice);
      visitFields(p, writer);
      return Form{kernelParameters(p), slots, rulesOf(p, freedom),
                  [p, build](kernel::KernelBuilder &k) { build(k, p); }, freedom.decided};
    });
  }

  size_t size() const { return instances_.size(); }
  tile::KernelOp kernel(plan::KernelId id) const;

  // Of every launch of a kernel, before compile(): the strides that all of them give alike are
  // constants in its code (tile::kStridesName).
  void addLaunch(plan::KernelId id, const std::vector<BoundArgument> &arguments);

  // Native code of all kernels, as modules and kernels of `plan` under their ids. Unsupported: a
  // kernel has no form on the target; the message has the target's own words. InvalidArgument: it
  // has none with the schedule that tuning has for it.
  Result<void> compile(const targets::Target &target, uint32_t threads, plan::Plan &plan,
                       const Progress &progress) const;

  // The kernels alone, as kernels of `plan` without code and needs.
  void outline(plan::Plan &plan) const;

  // A digest of each kernel's code and needs on the target, whatever its name and number in the
  // plan. Errors as of compile().
  Result<std::vector<std::string>> digests(const targets::Target &target, uint32_t threads,
                                           const Progress &progress) const;

private:
  // A kernel with some parameters.
  struct Form {
    std::vector<plan::KernelParameter> parameters;
    std::vector<plan::KernelSlot> slots;
    ScheduleChoice blocks; // those of its parameters that may be chosen
    Build build;
    Freedom::Decisions decided; // by the launch
  };
  // A kernel as the rules make it.
  struct Source {
    std::string content;
    ScheduleSpace space;
  };
  struct Instance {
    std::string key, name, symbol;
    Form form;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    ScheduleChoice schedule;
    const Source *source;
  };
  using MakeForm = llvm::function_ref<Form(const ScheduleChoice &)>;

  template <class P> static ScheduleChoice rulesOf(P &p, const Freedom &freedom) {
    BlockSpace space = blockSpace(p, freedom);
    RulesReader reader(space);
    visitFields(p, reader);
    return reader.rules;
  }
  Result<plan::KernelId> add(std::string_view name, BlockSpace blocks, MakeForm form);
  static std::string textOf(std::string_view name, const Form &form);
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build(const std::string &symbol, const Form &form);
  Result<const Source *> sourceOf(std::string_view name, BlockSpace blocks, const Form &rules);
  Result<ScheduleChoice> scheduleOf(std::string_view name, const Source &source) const;
  // The symbol of kernels that are compiled to be compared; empty: each has its own.
  using CommonSymbol = std::string_view;
  Result<targets::CompiledModule> compileOne(plan::KernelId id, const targets::Target &target,
                                             CommonSymbol common, std::mutex &building) const;
  Result<std::vector<targets::CompiledModule>> compileAll(const targets::Target &target,
                                                          CommonSymbol common, uint32_t threads,
                                                          const Progress &progress) const;
  plan::Kernel planned(plan::KernelId id, const targets::EmittedKernel &emitted) const;

  mlir::MLIRContext &context_;
  const targets::Target *target_;
  Tuning tuning_;
  std::vector<Instance> instances_;
  std::map<std::string, plan::KernelId> ids_; // by key
  std::map<std::string, Source> sources_;     // by key under the rules
};

// Reads the fields of a parameter struct.
class ParameterReader : public kernels::FieldVisitor {
public:
  void integer(std::string_view name, int64_t &value, int64_t, int64_t, std::string_view) override {
    parameters.push_back({std::string(name), plan::ParameterKind::Number, value, ""});
  }
  void option(std::string_view name, int64_t &value, int64_t standard, int64_t low, int64_t high,
              std::string_view help) override {
    if (value != standard)
      integer(name, value, low, high, help);
  }
  void extent(std::string_view name, int64_t &value, std::string_view) override {
    const bool dynamic = value == kernel::dyn;
    parameters.push_back({std::string(name),
                          dynamic ? plan::ParameterKind::Dynamic : plan::ParameterKind::Number,
                          dynamic ? 0 : value, ""});
  }
  void format(std::string_view name, kernel::Element &value, std::string_view) override {
    parameters.push_back(
        {std::string(name),
         value.isBlock() ? plan::ParameterKind::BlockFormat : plan::ParameterKind::ScalarType, 0,
         plainName(value)});
  }
  void flag(std::string_view name, bool &value, std::string_view) override {
    parameters.push_back({std::string(name), plan::ParameterKind::Flag, value, ""});
  }

  std::vector<plan::KernelParameter> parameters;
};

template <class P> std::vector<plan::KernelParameter> kernelParameters(P params) {
  ParameterReader reader;
  visitFields(params, reader);
  return std::move(reader.parameters);
}

} // namespace sinter::engine
