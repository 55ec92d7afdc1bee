// From a model file and a device to a model that runs.
#pragma once

#include "host/observer.h"
#include "llm/model.h"
#include "numeric/precision.h"

#include <functional>

namespace sinter::host {

struct ModelRequest {
  uint32_t context = 0;                       // tokens; 0: as ModelFile::contextTokens() says
  uint32_t sequences = 1;                     // whole contexts that there is KV memory for
  std::string plan;                           // a plan file; empty: found in the cache, or built
  Precision precision;                        // empty: the default, or what the plan file has
  bool keepsWeights = true;                   // packed, in a file beside the plans
  bool embeddings = false;                    // instead of logits
  std::optional<bool> overlap = std::nullopt; // as PlanRunnerOptions'; ignored with embeddings
  // Called once the plan is known, before any of the model takes memory: may change the sizes; an
  // error ends the opening. Null: the sizes above.
  std::function<Result<void>(const plan::Plan &, PlanRunnerOptions &)> chooseSizes = nullptr;
};

struct OpenedModel {
  std::unique_ptr<hal::Device> device;
  std::unique_ptr<Model> model; // borrows the device
  double buildSeconds = 0;      // of its plan; 0 when that was in the cache
};

// What needs no plan is checked first, so that what is wrong with a file is said at once. The
// observer must live as long as the call, not longer. Errors: obtainPlan's or readPlanFile's,
// Model::create's, and Unsupported: logits are asked for and the model gives none.
Result<OpenedModel> openModel(ModelFile file, std::unique_ptr<hal::Device> device,
                              const ModelRequest &request, Observer &observer);

} // namespace sinter::host
