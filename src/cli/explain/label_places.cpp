// Greedy placement.
#include "cli/explain/label_places.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinter::cli {
namespace {

Box grown(const Box &box, double by) {
  return {box.left - by, box.top - by, box.right + by, box.bottom + by};
}

Box boxAt(Point at, double width, double height) {
  return {at.x - width / 2, at.y - height / 2, at.x + width / 2, at.y + height / 2};
}

} // namespace

size_t LabelPlaces::addPoint(Point at, double radius) {
  points_.push_back(boxAt(at, 2 * radius, 2 * radius));
  return points_.size() - 1;
}

bool LabelPlaces::isFree(const Box &box, std::optional<size_t> point) const {
  const Box wide = grown(box, gap_);
  for (size_t i = 0; i < points_.size(); ++i)
    if (i != point && wide.overlaps(points_[i]))
      return false;
  return area_.holds(box) &&
         std::ranges::none_of(labels_, [&](const Box &label) { return wide.overlaps(label); });
}

std::optional<Box> LabelPlaces::take(std::span<const Box> candidates, std::optional<size_t> point) {
  std::optional<Box> onLine;
  for (const Box &candidate : candidates) {
    const bool offLines = point || std::ranges::none_of(lines_, [&](const Box &line) {
                            return candidate.overlaps(line);
                          });
    if ((onLine && !offLines) || !isFree(candidate, point))
      continue;
    if (offLines) {
      labels_.push_back(candidate);
      return candidate;
    }
    onLine = candidate;
  }
  if (onLine)
    labels_.push_back(*onLine);
  return onLine;
}

std::vector<Box> boxesAround(Point at, double width, double height, double reach) {
  constexpr double kStep = 6, kLeastDirections = 12;
  std::vector<Box> boxes = {boxAt(at, width, height)};
  for (double ring = kStep; ring <= reach; ring += kStep) {
    const double directions = std::max(kLeastDirections, std::floor(ring / 3));
    for (double i = 0; i < directions; ++i) {
      const double angle = 2 * std::numbers::pi * i / directions;
      boxes.push_back(
          boxAt({at.x + ring * std::cos(angle), at.y - ring * std::sin(angle)}, width, height));
    }
  }
  return boxes;
}

} // namespace sinter::cli
