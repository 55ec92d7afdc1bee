// Counts evaluations within evaluations.
#pragma once

#include "base/status.h"
#include "jinja/limits.h"

namespace sinter::jinja {

// One level deeper while it lives.
class EvaluationDepth {
public:
  explicit EvaluationDepth(uint32_t &depth) : depth_(depth) { ++depth_; }
  ~EvaluationDepth() { --depth_; }
  EvaluationDepth(const EvaluationDepth &) = delete;
  EvaluationDepth &operator=(const EvaluationDepth &) = delete;

private:
  uint32_t &depth_;
};

inline Fail tooMuchRecursion(const Limits &limits) {
  return fail(Code::Exhausted, "the template calls and nests deeper than " +
                                   std::to_string(limits.depth) + " levels");
}

} // namespace sinter::jinja
