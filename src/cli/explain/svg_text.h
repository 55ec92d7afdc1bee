// Text of a drawing, whose extent is known without the font that a viewer picks: monospace,
// measured on the wide side.
#pragma once

#include <string>
#include <string_view>

namespace sinter::cli {

struct Point {
  double x = 0, y = 0;
};

// Sides of a rectangle; y grows downwards.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  bool overlaps(const Box &other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool holds(const Box &other) const {
    return left <= other.left && other.right <= right && top <= other.top && other.bottom <= bottom;
  }
};

// In em: no usual monospace font has a wider advance (SF Mono 0.618, DejaVu and Menlo 0.602). Other
// characters may come from any font, so svgText() gives text that has some its length.
inline constexpr double kAsciiAdvance = 0.62, kOtherAdvance = 1.25;
// Above and below the baseline.
inline constexpr double kAscent = 0.95, kDescent = 0.25;

double textWidth(std::string_view text, double fontSize);

// `text`, or as much of its beginning and its end as `room` holds, with "..." between them.
std::string fittedText(std::string_view text, double room, double fontSize);

enum class Anchor { Start, Middle, End };

struct SvgText {
  Point at; // on the baseline
  std::string text;
  Anchor anchor = Anchor::Start;
  double fontSize = 12;
  const char *kind = ""; // a class of the style sheet
};

Box boxOf(const SvgText &text);

// A text element of that text, fitted into `room`; what was cut is whole in the element's title.
std::string svgText(SvgText text, double room);
// The same with room for all of it.
std::string svgText(const SvgText &text);

// A number as drawings have them, with one digit after the point.
std::string svgNumber(double value);

} // namespace sinter::cli
