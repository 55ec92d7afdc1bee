// An instruction scheduler in the place of LLVM's own, which leaves functions as they are where
// their attribute says so.
#include "targets/cpu/emission/kept_order.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineScheduler.h"
#include "llvm/CodeGen/ScheduleDAGInstrs.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"

namespace sinter::targets::cpu {

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

// The type of LLVM's option, which is declared in a source of its own.
using SchedulerOption = llvm::cl::opt<llvm::MachineSchedRegistry::ScheduleDAGCtor, false,
                                      llvm::RegisterPassParser<llvm::MachineSchedRegistry>>;

// The option's default, not its value: each link resets the options of the whole process.
void enableKeptOrder() {
  static const bool chosen = [] {
    llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("misched");
    if (option)
      static_cast<SchedulerOption *>(option)->setInitialValue(createScheduler);
    return option != nullptr;
  }();
  (void)chosen;
}

} // namespace sinter::targets::cpu
