// Where the labels of a drawing go: one after another, each to the first place that is free.
#pragma once

#include "cli/explain/svg_text.h"

#include <optional>
#include <span>
#include <vector>

namespace sinter::cli {

class LabelPlaces {
public:
  // Labels stay within `area`, so many pixels from points and from one another.
  LabelPlaces(Box area, double gap) : area_(area), gap_(gap) {}

  // A point that no label covers but its own; its number, for take().
  size_t addPoint(Point at, double radius);
  // A line that labels keep off where another place is free.
  void addLine(Box line) { lines_.push_back(line); }

  // The first of `candidates` that is free, which it is no longer; nothing where none is. Off all
  // lines if possible, unless the label belongs to `point`, which it may cover.
  std::optional<Box> take(std::span<const Box> candidates, std::optional<size_t> point = {});

private:
  bool isFree(const Box &box, std::optional<size_t> point) const;

  Box area_;
  double gap_;
  std::vector<Box> points_, labels_, lines_;
};

// Boxes of that size with their middle at `at` or up to `reach` from it, the nearest first.
std::vector<Box> boxesAround(Point at, double width, double height, double reach);

} // namespace sinter::cli
