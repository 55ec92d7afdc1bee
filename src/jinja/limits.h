// What one template may cost at most.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::jinja {

// A template is hostile input: it ends within these, or with one error that names the limit.
struct Limits {
  size_t templateBytes = size_t{1} << 20;
  uint32_t nesting = 150;    // of expressions and statements in the source
  uint32_t depth = 1200;     // evaluations within evaluations, of macros too; each takes up
                             // to 2 KiB of stack
  uint32_t valueDepth = 200; // lists within lists, where a value is written or compared
  uint64_t steps = uint64_t{1} << 27; // evaluated nodes; 64 bytes of text count as one
  size_t outputBytes = size_t{1} << 28;
  size_t valueBytes = size_t{1} << 29; // of all values that are alive
};

} // namespace sinter::jinja
