// Byte-level encoding that the plan's writer and reader share.
#pragma once

#include "base/byte_codec.h"
#include "plan/plan.h"
#include "plan/validate.h"

#include <span>

namespace sinter::plan {

enum class SectionTag : uint32_t {
  Facts = 0x54434146, // "FACT"
  Symbols = 0x424d5953,
  Modules = 0x55444f4d,
  Kernels = 0x4e52454b,
  Buffers = 0x46465542,
  Procedures = 0x434f5250,
};
inline constexpr SectionTag kSectionOrder[] = {SectionTag::Facts,   SectionTag::Symbols,
                                               SectionTag::Modules, SectionTag::Kernels,
                                               SectionTag::Buffers, SectionTag::Procedures};

// The byte before each step of a procedure; If and Loop are followed by their inner steps up to
// End.
enum class StepTag : uint8_t { End, Launch, Copy, Call, If, Loop, Else };

// Values of a plan beside plain ones: expressions.
class Writer : public ByteWriter {
public:
  void expr(const Expr &expr);
};

class Reader : public ByteReader {
public:
  using ByteReader::ByteReader;
  Expr expr();
};

// The steps of all procedures in the file's form (steps_codec.cpp).
void writeSteps(Writer &out, const std::vector<Step> &steps);
// Reads one procedure's steps up to its End and appends each one's offset to `offsets`.
std::vector<Step> readSteps(Reader &in, std::vector<uint64_t> &offsets);

} // namespace sinter::plan
