// Files with the plans of a model for one target or several, which are made on one machine and read
// on another.
#pragma once

#include "host/plan_store.h"

namespace sinter::host {

// The plan for `device` in such a file. NotFound, naming the targets that the file has plans for:
// none of them runs on the device. InvalidArgument: it was built for another precision than was
// asked for.
Result<ObtainedPlan> readPlanFile(const std::string &path, hal::Device &device,
                                  const Precision &precision);

// What is compiled into one file.
struct CompileRequest {
  std::vector<std::string> targets;
  Precision precision;
  std::string output;
  bool keepGoing = false; // past targets that cannot be compiled
};
// Builds a plan for each target into the file `output`, which is written whole or not at all. The
// error of a target's compiler names the target. With keepGoing such an error becomes a note, and
// the file has the plans of the other targets, if there are any. Returns how many targets failed.
// Errors as obtainPlan's, and Permission where the file cannot be written.
Result<size_t> compileTo(const ModelFile &model, const CompileRequest &request, Observer &observer);

} // namespace sinter::host
