// The marks around known calls in a rendered answer.
#pragma once

#include "llm/chat/answer_syntax.h"
#include "llm/chat/probe_texts.h"

#include <span>

namespace sinter {

// A call as probes make it: {kProbeKey: value, kProbeNumberKey: number}.
struct ProbeCall {
  std::string_view name, value;
  int64_t number;
  std::string_view id;
};
inline constexpr std::string_view kProbeKey = "probekey", kProbeNumberKey = "probenum";

struct ProbedAnswer {
  std::string_view text;           // with the first call
  size_t begin = 0;                // of the answer in both texts
  std::string_view textOfTwo = {}; // with both calls; empty: the template takes one
  std::string_view turnEnd = {};   // what `text` ends with after the answer
};

// Of shape None where the calls cannot be told from the text around them.
CallSyntax callSyntaxOf(const ProbedAnswer &answer, std::span<const ProbeCall, 2> calls);

} // namespace sinter
