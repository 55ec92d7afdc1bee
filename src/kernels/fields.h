// How a kernel's parameter struct shows its fields, so that the command line, tests and the tuner
// set them by name.
#pragma once

#include "sinter/kernel.h"

#include <string_view>

namespace sinter::kernels {

// Visits the fields of a parameter struct in a fixed order. Integers lie in [low, high]; an extent
// may also be dyn.
class FieldVisitor {
public:
  virtual ~FieldVisitor() = default;
  virtual void integer(std::string_view name, int64_t &value, int64_t low, int64_t high,
                       std::string_view help) = 0;
  virtual void extent(std::string_view name, int64_t &value, std::string_view help) = 0;
  virtual void format(std::string_view name, kernel::Element &value, std::string_view help) = 0;
  virtual void flag(std::string_view name, bool &value, std::string_view help) = 0;
  // An integer that a plan states only where it is not `standard`.
  virtual void option(std::string_view name, int64_t &value, int64_t /*standard*/, int64_t low,
                      int64_t high, std::string_view help) {
    integer(name, value, low, high, help);
  }
};

// The largest extent of a tile that a parameter may ask for.
inline constexpr int64_t kMaxBlock = 16384;

} // namespace sinter::kernels
