// An entry of LLVM's list of instruction schedulers, chosen by a function's attribute.
#include "tile/mlir_pch.h"

#include "target/cpu/kept_order.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/ScheduleDAGInstrs.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"

namespace sinter::target::cpu {

static constexpr char kScheduler[] = "sinter";

namespace {

class KeptOrder : public llvm::ScheduleDAGInstrs {
public:
  explicit KeptOrder(llvm::MachineSchedContext &context)
      : ScheduleDAGInstrs(*context.MF, context.MLI) {}

  void schedule() override {}
};

} // namespace

static llvm::ScheduleDAGInstrs *createScheduler(llvm::MachineSchedContext *context) {
  if (context->MF->getFunction().hasFnAttribute(kKeepOrder))
    return new KeptOrder(*context); // LLVM owns it
  llvm::ScheduleDAGInstrs *usual = context->TM->createMachineScheduler(context);
  return usual ? usual : llvm::createSchedLive(context);
}

void enableKeptOrder() {
  static llvm::MachineSchedRegistry entry(kScheduler, "the emitted order where a function asks",
                                          createScheduler);
  static const bool chosen = [] {
    llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("misched");
    return option && !option->addOccurrence(0, "misched", kScheduler);
  }();
  (void)chosen;
}

} // namespace sinter::target::cpu
