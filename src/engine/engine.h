// The engine builder: a model file in, a plan out.
#pragma once

#include "engine/choice/norm_squares.h"
#include "engine/kernel_set.h"
#include "format/gguf.h"
#include "numeric/precision.h"
#include "plan/plan.h"

namespace sinter::engine {

struct EngineOptions {
  std::string target = "host"; // or another that targets::findTarget knows
  // Positions of a page of the KV cache, a multiple of 16; 0: as suits the target.
  int64_t pageRows = 0;
  std::string kvType = std::string(kDefaultKvType); // of the KV cache (numeric/formats/kv_type.h)
  std::string activations = std::string(kDefaultActivations); // numeric/precision.h
  std::string decodeNorms = std::string(kDefaultDecodeNorms); // choice/norm_squares.h
  std::string output;    // rows of the step (numeric/precision.h); empty: as usual
  int64_t queryTile = 0; // most query rows of one attention block; 0 likewise
  uint32_t threads = 0;  // that compile; 0: as many as the machine runs
  Tuning tuning;         // schedules of `step`
  // For trials: procedures `step.1` and on do the same with these schedules.
  std::vector<Tuning> variants;
};

// The plan of a decoder-only language model or an encoder for one target, which keeps the contract
// (plan/contract.h). Errors are readDecoder's, buildDecoder's and the target's; InvalidArgument for
// options out of range and for schedules with which a kernel cannot be compiled.
Result<plan::Plan> buildPlan(const GgufFile &file, const EngineOptions &options,
                             const Progress &progress);

// The same without code, for who looks at choices alone: the plan has no modules, and its kernels
// do not say how many threads and bytes they need. Errors as of buildPlan, but for those of
// compiling.
Result<plan::Plan> buildOutline(const GgufFile &file, const EngineOptions &options,
                                const Progress &progress);

// What the plan does, as plan/normal_form.h prints it, with kernels by digests of their code: equal
// where a change of the compiler changes no launch and no code. Errors as of buildPlan.
Result<std::string> buildNormalForm(const GgufFile &file, const EngineOptions &options,
                                    const Progress &progress);

} // namespace sinter::engine
