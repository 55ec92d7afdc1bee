// sinter kernel run|bench FILE.bundle: kernels that were compiled elsewhere, run here.
#pragma once

#include "base/status.h"

namespace sinter::cli {

// Whether the command line (argv[1] is "kernel") names a bundle to run or time.
bool namesBundle(char *const *argv);

// Runs each case of its kind and prints a line or more for each; `--device NAME` (else the driver
// of the cases' target), `--seconds N` a timed case, `--only TEXT` for cases whose label holds it.
// The exit status is usage's where an option makes no sense, and a failure's where an output is
// outside its bound.
Result<int> bundleCommand(char *const *argv);

} // namespace sinter::cli
