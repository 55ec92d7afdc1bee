// Roofs from the device, floors from roofs.
#include "cli/explain/roofline.h"

namespace sinter::cli {

const Peak *Roofs::find(Arithmetic arithmetic) const {
  for (const Peak &peak : peaks)
    if (peak.arithmetic == arithmetic)
      return &peak;
  return nullptr;
}

Result<Roofs> measureRoofs(hal::Device &device) {
  Roofs roofs;
  SINTER_ASSIGN(roofs.memory, measureBandwidth(device));
  for (const Arithmetic arithmetic : kArithmetics) {
    auto rate = device.peakRate(arithmetic);
    if (rate)
      roofs.peaks.push_back({arithmetic, std::move(*rate)});
    else if (rate.error().code != Code::Unsupported)
      return Fail(std::move(rate).error());
  }
  return roofs;
}

Floor floorOf(const Roofs &roofs, double bytes, double operations, Arithmetic arithmetic) {
  Floor floor{bytes / roofs.memory.bytesPerSecond, std::nullopt};
  const Peak *peak = roofs.find(arithmetic);
  if (!peak)
    return floor;
  const double seconds = operations / peak->rate.operationsPerSecond;
  return seconds > floor.seconds ? Floor{seconds, arithmetic} : floor;
}

const char *boundName(const Floor &floor) {
  return floor.bound ? arithmeticName(*floor.bound) : "memory";
}

} // namespace sinter::cli
