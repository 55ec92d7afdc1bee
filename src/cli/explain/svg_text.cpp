// Widths by character, and the element.
#include "cli/explain/svg_text.h"

#include "base/number_text.h"
#include "cli/explain/xml_text.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace sinter::cli {
namespace {

constexpr std::string_view kCut = "...";
// Of the room, what the beginning of a cut text has.
constexpr double kHeadShare = 0.6;

bool isAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

double advanceOf(const Utf8Step &step) {
  const bool ascii = step.kind == Utf8Step::Kind::Character && step.codePoint < 0x80;
  return ascii ? kAsciiAdvance : kOtherAdvance;
}

// Where the longest beginning ends that is no wider than `room`.
size_t headWithin(std::string_view text, double room, double fontSize) {
  double width = 0;
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = decodeUtf8(text, at);
    width += advanceOf(step) * fontSize;
    if (width > room)
      break;
    at += step.length;
  }
  return at;
}

// Where the longest end begins that is no wider than `room`.
size_t tailWithin(std::string_view text, double room, double fontSize) {
  std::vector<std::pair<size_t, double>> characters; // offsets and advances
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    characters.emplace_back(at, advanceOf(step) * fontSize);
    at += step.length;
  }
  size_t begin = text.size();
  double width = 0;
  for (auto character = characters.rbegin(); character != characters.rend(); ++character) {
    width += character->second;
    if (width > room)
      break;
    begin = character->first;
  }
  return begin;
}

const char *anchorText(Anchor anchor) {
  switch (anchor) {
  case Anchor::Start:
    return "";
  case Anchor::Middle:
    return " text-anchor=\"middle\"";
  case Anchor::End:
    return " text-anchor=\"end\"";
  }
  return "";
}

} // namespace

std::string svgNumber(double value) {
  return fixed(value, 1);
}

double textWidth(std::string_view text, double fontSize) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    width += advanceOf(step) * fontSize;
    at += step.length;
  }
  return width;
}

std::string fittedText(std::string_view text, double room, double fontSize) {
  if (textWidth(text, fontSize) <= room)
    return std::string(text);
  const double rest = room - textWidth(kCut, fontSize);
  if (rest < 0)
    return "";
  const size_t head = headWithin(text, rest * kHeadShare, fontSize);
  const double used = textWidth(text.substr(0, head), fontSize);
  const size_t tail = tailWithin(text, rest - used, fontSize);
  return std::string(text.substr(0, head)) + std::string(kCut) + std::string(text.substr(tail));
}

Box boxOf(const SvgText &text) {
  const double width = textWidth(text.text, text.fontSize);
  const double left = text.at.x - (text.anchor == Anchor::End      ? width
                                   : text.anchor == Anchor::Middle ? width / 2
                                                                   : 0);
  return {left, text.at.y - kAscent * text.fontSize, left + width,
          text.at.y + kDescent * text.fontSize};
}

std::string svgText(SvgText text, double room) {
  const std::string whole = std::move(text.text);
  text.text = fittedText(whole, room, text.fontSize);
  std::string out = "<text x=\"" + svgNumber(text.at.x) + "\" y=\"" + svgNumber(text.at.y) + "\"" +
                    anchorText(text.anchor) + " font-size=\"" + svgNumber(text.fontSize) + "\"";
  if (*text.kind)
    out += std::string(" class=\"") + text.kind + "\"";
  if (!isAscii(text.text))
    out += " textLength=\"" + svgNumber(textWidth(text.text, text.fontSize)) +
           "\" lengthAdjust=\"spacingAndGlyphs\"";
  out += ">";
  if (text.text != whole)
    out += "<title>" + xmlText(whole) + "</title>";
  return out + xmlText(text.text) + "</text>\n";
}

std::string svgText(const SvgText &text) {
  return svgText(text, std::numeric_limits<double>::infinity());
}

} // namespace sinter::cli
