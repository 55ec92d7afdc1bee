// Building tile kernels from C++ sources that use sinter/kernel.h: in process, or from a shared
// object.
#pragma once

#include "base/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "sinter/kernel.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sinter::tile {

// One mistake in a kernel source. Messages start lower-case and name what was found and expected.
struct FrontDiagnostic {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string message;

  // "file:line:column: message"
  std::string toString() const;
};

// What defines kernels: called once, on the caller's thread.
using KernelSource = std::function<void(kernel::Module &)>;

// The kernels without a mistake, verified, and the mistakes of the others.
struct BuiltKernels {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<FrontDiagnostic> diagnostics;
};

// Loads the dialects that kernels use.
void loadKernelDialects(mlir::MLIRContext &context);

// Builds into `context`, which must outlive the result.
BuiltKernels buildKernels(mlir::MLIRContext &context, const KernelSource &source);

// A context and the kernels built in it. Move-only.
class KernelModule {
public:
  static KernelModule build(const KernelSource &source);
  // Runs the SINTER_KERNELS of the shared object at `path`, which is code and trusted as such;
  // `name` stands for it in messages, else `path`. NotFound: it cannot be opened; InvalidArgument:
  // it is no kernel source, or one for another ABI version.
  static Result<KernelModule> load(const std::string &path, std::string name = {});
  // Parses and verifies the textual form; `name` stands for it in messages. InvalidArgument, with
  // "name:line:column:" before each message, one a line. `more` holds dialects that the text may
  // use beside those of kernel sources.
  static Result<KernelModule> parse(const std::string &text, const std::string &name,
                                    const mlir::DialectRegistry *more = nullptr);

  bool ok() const { return kernels_.diagnostics.empty(); }
  const std::vector<FrontDiagnostic> &diagnostics() const { return kernels_.diagnostics; }
  // All diagnostics, one a line.
  std::string diagnosticText() const;
  mlir::ModuleOp module() { return *kernels_.module; }
  mlir::MLIRContext &context() { return *context_; }
  // The textual form; KernelModule::parse reads it back.
  std::string text();
  // The same with the place in its source of every operation.
  std::string textWithPlaces();

private:
  explicit KernelModule(std::unique_ptr<mlir::MLIRContext> context);

  std::unique_ptr<mlir::MLIRContext> context_;
  BuiltKernels kernels_;
};

} // namespace sinter::tile
