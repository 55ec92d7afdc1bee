// Where the runtime finds a model's tensors by name.
#pragma once

#include "base/status.h"

#include <span>
#include <string_view>

namespace sinter::runtime {

// Implemented over a model file by whoever opened it. Used from one thread.
class WeightSource {
public:
  virtual ~WeightSource() = default;

  // The tensor's bytes as the file holds them, valid as long as this object. NotFound: no such
  // tensor.
  virtual Result<std::span<const uint8_t>> tensor(std::string_view name) = 0;

  // A text that a source of other bytes would not have; empty: there is none.
  virtual std::string identity() const { return {}; }

  // These bytes of a tensor were packed and are not likely to be read again. A source over a mapped
  // file gives their memory back (dropMappedPages); for any other source there is nothing to do.
  virtual void release(std::span<const uint8_t> bytes) {}
};

// Lets the system drop the whole pages inside of `bytes`, which must lie in a mapping of a file:
// they are read again from the file when touched.
void dropMappedPages(std::span<const uint8_t> bytes);

} // namespace sinter::runtime
