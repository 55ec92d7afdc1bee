// The roofline as SVG: operations a second over operations a byte, both in powers of ten, under the
// roofs that memory and arithmetic make; numbered points, and a legend that names them.
#include "base/number_text.h"
#include "cli/explain/label_places.h"
#include "cli/explain/report.h"
#include "cli/explain/svg_text.h"
#include "cli/explain/xml_text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sinter::cli {
namespace {

constexpr double kLeft = 70, kTop = 50, kPlotWidth = 620, kPlotHeight = 480, kMargin = 16;
constexpr double kRight = kLeft + kPlotWidth, kBottom = kTop + kPlotHeight;
constexpr double kLegendLeft = kRight + 40, kLineHeight = 17;
constexpr double kFontSize = 12, kNumberSize = 10, kTitleSize = 15;
// Of a legend's line, after its number; names get at most so much.
constexpr double kIndent = 18, kColumnGap = 12, kMostNameWidth = 560;
constexpr double kPointRadius = 3, kNumberHeight = 16;
// How far from its point a number may stand, and how many numbers look for a place: what the plot
// has room for. Other points are named by their titles.
constexpr double kReach = 480;
constexpr size_t kMostNumbers = 300;

// Colours that both a white and a black page let one tell apart.
constexpr const char *kStyle = R"(
  svg { background: #ffffff; color: #1c1c1e }
  text { fill: currentColor; font-family: Menlo, Consolas, monospace }
  .grid { stroke: currentColor; stroke-opacity: 0.15 }
  .lead { stroke: currentColor; stroke-opacity: 0.6 }
  .roof { stroke: currentColor; stroke-width: 2; fill: none }
  .step0 { fill: #2f6fd0 }
  .step1 { fill: #c4561a }
  .number { fill: #ffffff; font-weight: bold }
  @media (prefers-color-scheme: dark) { svg { background: #16171a; color: #ececf0 } }
)";

// A kernel's place in the drawing.
struct Dot {
  const KernelFigures *kernel;
  size_t step, number;
  double intensity, rate; // operations a byte, a second; 0: it computes nothing
};

std::vector<Dot> dotsOf(const ExplainReport &report) {
  std::vector<Dot> dots;
  for (size_t step = 0; step < report.steps.size(); ++step)
    for (const KernelFigures &kernel : report.steps[step].kernels) {
      const bool computes = kernel.operations > 0 && kernel.bytes > 0 && kernel.seconds > 0;
      dots.push_back({&kernel, step, dots.size() + 1,
                      computes ? kernel.operations / kernel.bytes : 0,
                      computes ? kernel.operations / kernel.seconds : 0});
    }
  return dots;
}

std::string nameOf(const Dot &dot) {
  return dot.kernel->role + ", " + dot.kernel->kernel;
}

// A range of whole powers of ten.
struct Axis {
  double low = 0, high = 1; // exponents
  double pixels = 0;

  double place(double value) const {
    return std::clamp((std::log10(value) - low) / (high - low), 0.0, 1.0) * pixels;
  }
  // Powers between labels that are `least` pixels apart.
  double labelStep(double least) const { return std::ceil(least * (high - low) / pixels); }
};

Axis axisOf(double least, double most, double pixels) {
  const double low = std::floor(std::log10(least)), high = std::ceil(std::log10(most));
  return {low, std::max(high, low + 1), pixels};
}

std::string powerText(double power) {
  constexpr double kLeastFixed = -4, kMostFixed = 6;
  if (power < kLeastFixed || power > kMostFixed)
    return "1e" + fixed(power, 0);
  return fixed(std::pow(10, power), power < 0 ? static_cast<int>(-power) : 0);
}

std::string line(const char *kind, Point from, Point to) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + svgNumber(from.x) + "\" y1=\"" +
         svgNumber(from.y) + "\" x2=\"" + svgNumber(to.x) + "\" y2=\"" + svgNumber(to.y) + "\"/>\n";
}

std::string titled(const char *element, const std::string &attributes, const Dot &dot) {
  return std::string("<") + element + " class=\"step" + std::to_string(dot.step) + "\" " +
         attributes + "><title>" + xmlText(nameOf(dot)) + "</title></" + element + ">\n";
}

double numberWidth(const Dot &dot) {
  return std::max(kNumberHeight, textWidth(std::to_string(dot.number), kNumberSize) + 3);
}

// A kernel's number on its colour.
std::string numberIn(const Box &box, const Dot &dot) {
  const std::string frame = "x=\"" + svgNumber(box.left) + "\" y=\"" + svgNumber(box.top) +
                            "\" width=\"" + svgNumber(box.right - box.left) + "\" height=\"" +
                            svgNumber(box.bottom - box.top) + "\" rx=\"8\"";
  return titled("rect", frame, dot) +
         svgText({{(box.left + box.right) / 2, (box.top + box.bottom) / 2 + 3.5},
                  std::to_string(dot.number),
                  Anchor::Middle,
                  kNumberSize,
                  "number"});
}

struct LegendLine {
  const Dot *dot = nullptr; // none: a heading, which is `name`
  std::string figures, name;
};

// "1.4x memory", and what there is to a kernel's name.
LegendLine legendLine(const Dot &dot) {
  const KernelFigures &kernel = *dot.kernel;
  const std::string reached =
      kernel.floor.seconds > 0 ? fixed(kernel.seconds / kernel.floor.seconds, 1) + "x " : "";
  return {&dot, reached + boundName(kernel.floor),
          nameOf(dot) + (dot.rate > 0 ? "" : ", computes nothing")};
}

class Roofline {
public:
  explicit Roofline(const ExplainReport &report);
  std::string text();

private:
  Point at(double intensity, double rate) const {
    return {kLeft + x_.place(intensity), kBottom - y_.place(rate)};
  }
  double bandwidth() const { return report_.roofs.memory.bytesPerSecond; }
  double highestRate() const;

  std::string title(double width) const;
  std::string frame() const;
  std::string roofLabel(std::string label, std::span<const SvgText> places);
  std::string memoryRoof();
  std::string arithmeticRoof(const Peak &peak);
  std::string points();
  void layOutLegend();
  std::string legend() const;

  const ExplainReport &report_;
  std::vector<Dot> dots_;
  Axis x_, y_;
  LabelPlaces places_{{kLeft, kTop, kRight, kBottom}, 1};
  std::vector<size_t> pointIds_;      // of dots_, in places_
  std::vector<std::string> unplaced_; // labels of roofs
  std::vector<LegendLine> legend_;
  double figuresWidth_ = 0, legendWidth_ = 0;
};

Roofline::Roofline(const ExplainReport &report) : report_(report), dots_(dotsOf(report)) {
  double leastX = 1, mostX = 1, leastY = bandwidth(), mostY = leastY;
  const auto include = [&](double intensity, double rate) {
    leastX = std::min(leastX, intensity);
    mostX = std::max(mostX, intensity);
    leastY = std::min(leastY, rate);
    mostY = std::max(mostY, rate);
  };
  for (const Dot &dot : dots_)
    if (dot.rate > 0)
      include(dot.intensity, dot.rate);
  for (const Peak &peak : report.roofs.peaks)
    include(peak.rate.operationsPerSecond / bandwidth(), peak.rate.operationsPerSecond);
  x_ = axisOf(leastX, mostX, kPlotWidth);
  y_ = axisOf(leastY, mostY, kPlotHeight);
  for (const Dot &dot : dots_)
    pointIds_.push_back(dot.rate > 0 ? places_.addPoint(at(dot.intensity, dot.rate), kPointRadius)
                                     : 0);
}

double Roofline::highestRate() const {
  if (report_.roofs.peaks.empty())
    return std::pow(10, y_.high);
  double highest = 0;
  for (const Peak &peak : report_.roofs.peaks)
    highest = std::max(highest, peak.rate.operationsPerSecond);
  return highest;
}

std::string Roofline::title(double width) const {
  return svgText(
      {{kLeft, 22}, report_.model + " on " + report_.device.name, Anchor::Start, kTitleSize},
      width - kLeft - kMargin);
}

std::string Roofline::frame() const {
  std::string out;
  double widest = 0;
  for (double power = x_.low; power <= x_.high; ++power)
    widest = std::max(widest, textWidth(powerText(power), kFontSize));
  const double stepX = x_.labelStep(widest + kColumnGap), stepY = y_.labelStep(kLineHeight);
  for (double power = x_.low; power <= x_.high; ++power) {
    const double x = at(std::pow(10, power), 1).x;
    out += line("grid", {x, kTop}, {x, kBottom});
    if (std::fmod(power - x_.low, stepX) == 0)
      out += svgText({{x, kBottom + 20}, powerText(power), Anchor::Middle});
  }
  for (double power = y_.low; power <= y_.high; ++power) {
    const double y = at(1, std::pow(10, power)).y;
    out += line("grid", {kLeft, y}, {kRight, y});
    if (std::fmod(power - y_.low, stepY) == 0)
      out += svgText({{kLeft - 8, y + 4}, powerText(power - 9), Anchor::End});
  }
  return out + svgText({{kLeft - 60, kTop - 14}, "GOP/s"}) +
         svgText({{(kLeft + kRight) / 2, kBottom + 42}, "operations a byte moved", Anchor::Middle});
}

// The label at the first of the places that is free; where none is, the legend has it.
std::string Roofline::roofLabel(std::string label, std::span<const SvgText> places) {
  std::vector<Box> boxes;
  for (SvgText place : places) {
    place.text = label;
    boxes.push_back(boxOf(place));
  }
  const auto taken = places_.take(boxes);
  if (!taken) {
    unplaced_.push_back(std::move(label));
    return "";
  }
  return svgText({{taken->left, taken->bottom - kDescent * kFontSize}, std::move(label)});
}

// From where the plot begins up to the highest arithmetic.
std::string Roofline::memoryRoof() {
  const double begin = std::max(std::pow(10, x_.low), std::pow(10, y_.low) / bandwidth()),
               end = std::min(std::pow(10, x_.high), highestRate() / bandwidth());
  std::vector<SvgText> places;
  for (const double share : {0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2, 0.9, 0.1, 1.0, 0.0}) {
    const double intensity = begin * std::pow(end / begin, share);
    const Point on = at(intensity, intensity * bandwidth());
    places.push_back({{on.x - 12, on.y - 6}, "", Anchor::End});
    places.push_back({{on.x + 12, on.y + 16}, ""});
  }
  return line("roof", at(begin, begin * bandwidth()), at(end, end * bandwidth())) +
         roofLabel("memory " + fixed(bandwidth() / 1e9, 1) + " GB/s", places);
}

// From where it meets memory's. Its label stands on or under it, at the right if possible.
std::string Roofline::arithmeticRoof(const Peak &peak) {
  const double rate = peak.rate.operationsPerSecond;
  const Point from = at(rate / bandwidth(), rate), to = {kRight, from.y};
  const std::string label =
      std::string(arithmeticName(peak.arithmetic)) + " " + fixed(rate / 1e9, 0) + " GOP/s";
  const double leastX = std::min(from.x + textWidth(label, kFontSize), to.x - 4);
  std::vector<SvgText> places;
  for (const double below : {-6.0, 16.0})
    for (double x = to.x - 4; x >= leastX; x -= 4 * kAsciiAdvance * kFontSize)
      places.push_back({{x, from.y + below}, "", Anchor::End});
  return line("roof", from, to) + roofLabel(label, places);
}

// Points stand where they belong. A number stands on its point where it covers no other, else
// beside it at the end of a line.
std::string Roofline::points() {
  std::string leads, dots, numbers;
  size_t count = 0;
  for (size_t i = 0; i < dots_.size(); ++i) {
    const Dot &dot = dots_[i];
    if (dot.rate <= 0)
      continue;
    const Point on = at(dot.intensity, dot.rate);
    dots += titled("circle",
                   "cx=\"" + svgNumber(on.x) + "\" cy=\"" + svgNumber(on.y) + "\" r=\"" +
                       svgNumber(kPointRadius) + "\"",
                   dot);
    if (++count > kMostNumbers)
      continue;
    const auto box =
        places_.take(boxesAround(on, numberWidth(dot), kNumberHeight, kReach), pointIds_[i]);
    if (!box)
      continue;
    leads += line("lead", on, {(box->left + box->right) / 2, (box->top + box->bottom) / 2});
    numbers += numberIn(*box, dot);
  }
  return leads + dots + numbers;
}

void Roofline::layOutLegend() {
  for (size_t step = 0; step < report_.steps.size(); ++step) {
    legend_.push_back(
        {nullptr, "", stepTitle(report_.steps[step]) + ": times the floor, bound by"});
    for (const Dot &dot : dots_)
      if (dot.step == step)
        legend_.push_back(legendLine(dot));
    legend_.push_back({});
  }
  for (const std::string &label : unplaced_)
    legend_.push_back({nullptr, "", "roof of " + label});
  double names = 0, headings = 0;
  for (const LegendLine &line : legend_) {
    const double width = textWidth(line.name, kFontSize);
    figuresWidth_ = std::max(figuresWidth_, textWidth(line.figures, kFontSize));
    (line.dot ? names : headings) = std::max(line.dot ? names : headings, width);
  }
  legendWidth_ =
      std::max(headings, kIndent + figuresWidth_ + kColumnGap + std::min(names, kMostNameWidth));
}

std::string Roofline::legend() const {
  std::string out;
  double y = kTop;
  for (const LegendLine &line : legend_) {
    if (line.dot) {
      const double width = numberWidth(*line.dot), middle = y - 4;
      out += numberIn({kLegendLeft - width / 2, middle - kNumberHeight / 2, kLegendLeft + width / 2,
                       middle + kNumberHeight / 2},
                      *line.dot) +
             svgText({{kLegendLeft + kIndent, y}, line.figures}) +
             svgText({{kLegendLeft + kIndent + figuresWidth_ + kColumnGap, y}, line.name},
                     kMostNameWidth);
    } else if (!line.name.empty()) {
      out += svgText({{kLegendLeft - 8, y}, line.name});
    }
    y += kLineHeight;
  }
  return out;
}

std::string Roofline::text() {
  for (const Peak &peak : report_.roofs.peaks) {
    const double rate = peak.rate.operationsPerSecond, y = at(1, rate).y;
    places_.addLine({at(rate / bandwidth(), rate).x, y - 1, kRight, y + 1});
  }
  std::string roofs = memoryRoof();
  for (const Peak &peak : report_.roofs.peaks)
    roofs += arithmeticRoof(peak);
  const std::string numbered = points();
  layOutLegend();
  const double width = kLegendLeft + legendWidth_ + kMargin,
               legendHeight = kTop + kLineHeight * static_cast<double>(legend_.size()),
               height = std::max(kBottom + 60, legendHeight + kMargin);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svgNumber(width) + " " +
         svgNumber(height) + "\" width=\"" + svgNumber(width) + "\" height=\"" + svgNumber(height) +
         "\">\n<title>" + xmlText("Roofline of " + report_.model) + "</title>\n<style>" + kStyle +
         "</style>\n" + title(width) + frame() + roofs + numbered + legend() + "</svg>\n";
}

} // namespace

std::string explainSvg(const ExplainReport &report) {
  return Roofline(report).text();
}

} // namespace sinter::cli
