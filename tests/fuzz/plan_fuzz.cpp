// libFuzzer target: any bytes under a right length and checksum parse to a plan that is valid and
// is written back as it was, or give an error.
#include "base/check.h"
#include "plan/file.h"
#include "plan/lifetime.h"
#include "plan/validate.h"

using namespace sinter::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= kPlanHeaderBytes + kPlanChecksumBytes) {
    for (int i = 0; i < 8; ++i)
      bytes[16 + i] = static_cast<uint8_t>(size >> (8 * i));
    sealPlan(bytes);
  }
  auto plan = parse(bytes);
  if (!plan)
    return 0;
  SINTER_CHECK(validate(*plan).has_value());
  auto written = serialize(*plan);
  SINTER_CHECK(written.has_value() && parse(*written).value() == *plan);
  for (uint32_t i = 0; i < plan->procedures.size() && i < 8; ++i)
    (void)computeLifetimes(*plan, ProcedureId{i});
  return 0;
}
