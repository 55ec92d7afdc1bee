// The roofline as SVG: operations a second over operations a byte, both in powers of ten, under the
// roofs that memory and arithmetic make.
#include "cli/explain_report.h"
#include "cli/terminal.h"
#include "cli/xml_text.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinter::cli {
namespace {

constexpr double kLeft = 70, kTop = 50, kPlotWidth = 620, kPlotHeight = 480;
constexpr double kLegendLeft = kLeft + kPlotWidth + 40, kLegendWidth = 340, kLineHeight = 17;

// Colours that both a white and a black page let one tell apart.
constexpr const char *kStyle = R"(
  svg { background: #ffffff; color: #1c1c1e; font: 12px system-ui, sans-serif }
  text { fill: currentColor }
  .grid { stroke: currentColor; stroke-opacity: 0.15 }
  .lead { stroke: currentColor; stroke-width: 1.5; stroke-linecap: round }
  .roof { stroke: currentColor; stroke-width: 2; fill: none }
  .step0 { fill: #2f6fd0 }
  .step1 { fill: #c4561a }
  .number { fill: #ffffff; font-size: 10px; font-weight: bold; text-anchor: middle }
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

// A range of whole powers of ten.
struct Axis {
  double low = 0, high = 1; // exponents
  double pixels = 0;

  double place(double value) const {
    return std::clamp((std::log10(value) - low) / (high - low), 0.0, 1.0) * pixels;
  }
};

Axis axisOf(double least, double most, double pixels) {
  const double low = std::floor(std::log10(least)), high = std::ceil(std::log10(most));
  return {low, std::max(high, low + 1), pixels};
}

std::string number(double value) {
  return fixed(value, 1);
}

std::string textAt(double x, double y, std::string_view text, std::string_view more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + std::string(more) + ">" +
         xmlText(text) + "</text>\n";
}

std::string line(const char *kind, double x1, double y1, double x2, double y2) {
  return std::string("<line class=\"") + kind + "\" x1=\"" + number(x1) + "\" y1=\"" + number(y1) +
         "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\"/>\n";
}

struct Point {
  double x, y;
};

// The place nearest to `at` with room for a number's circle, in rings around it.
Point freePlace(Point at, const std::vector<Point> &taken) {
  constexpr double kApart = 17, kDirections = 12, kRings = 6;
  const auto isFree = [&](Point place) {
    return std::ranges::all_of(taken, [&](Point other) {
      return std::hypot(place.x - other.x, place.y - other.y) >= kApart;
    });
  };
  for (double ring = 0; ring < kRings; ++ring)
    for (double direction = 0; direction < kDirections; ++direction) {
      const double angle = 2 * std::numbers::pi * direction / kDirections;
      const Point place = {at.x + kApart * ring * std::cos(angle),
                           at.y - kApart * ring * std::sin(angle)};
      if (isFree(place))
        return place;
    }
  return at;
}

class Roofline {
public:
  explicit Roofline(const ExplainReport &report) : report_(report), dots_(dotsOf(report)) {
    const Roofs &roofs = report.roofs;
    double leastX = 1, mostX = 1, leastY = roofs.memory.bytesPerSecond, mostY = leastY;
    const auto include = [&](double intensity, double rate) {
      leastX = std::min(leastX, intensity);
      mostX = std::max(mostX, intensity);
      leastY = std::min(leastY, rate);
      mostY = std::max(mostY, rate);
    };
    for (const Dot &dot : dots_)
      if (dot.rate > 0)
        include(dot.intensity, dot.rate);
    for (const Peak &peak : roofs.peaks)
      include(peak.rate.operationsPerSecond / roofs.memory.bytesPerSecond,
              peak.rate.operationsPerSecond);
    x_ = axisOf(leastX, mostX, kPlotWidth);
    y_ = axisOf(leastY, mostY, kPlotHeight);
  }

  std::string text() const {
    const double legendHeight = kTop + kLineHeight * static_cast<double>(dots_.size() + 8);
    const double width = kLegendLeft + kLegendWidth,
                 height = std::max(kTop + kPlotHeight + 60, legendHeight);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
           number(height) + "\" width=\"" + number(width) + "\" height=\"" + number(height) +
           "\">\n<title>" + xmlText("Roofline of " + report_.model) + "</title>\n<style>" + kStyle +
           "</style>\n" + frame() + roofs() + circles() + legend() + "</svg>\n";
  }

private:
  double left(double intensity) const { return kLeft + x_.place(intensity); }
  double top(double rate) const { return kTop + kPlotHeight - y_.place(rate); }

  std::string frame() const {
    std::string out =
        textAt(kLeft, 22, report_.model + " on " + report_.device.name, " font-size=\"15\"");
    for (double power = x_.low; power <= x_.high; ++power) {
      const double at = left(std::pow(10, power));
      out += line("grid", at, kTop, at, kTop + kPlotHeight);
      out += textAt(at, kTop + kPlotHeight + 18, powerText(power), " text-anchor=\"middle\"");
    }
    for (double power = y_.low; power <= y_.high; ++power) {
      const double at = top(std::pow(10, power));
      out += line("grid", kLeft, at, kLeft + kPlotWidth, at);
      out += textAt(kLeft - 8, at + 4, powerText(power - 9), " text-anchor=\"end\"");
    }
    out += textAt(kLeft + kPlotWidth / 2, kTop + kPlotHeight + 42, "operations a byte moved",
                  " text-anchor=\"middle\"");
    return out + textAt(kLeft - 60, kTop - 12, "GOP/s");
  }

  static std::string powerText(double power) {
    return fixed(std::pow(10, power), power < 0 ? static_cast<int>(-power) : 0);
  }

  // Memory's roof up to the highest arithmetic, and each arithmetic's from where it meets it.
  std::string roofs() const {
    const double bandwidth = report_.roofs.memory.bytesPerSecond;
    const double leastX = std::pow(10, x_.low), mostX = std::pow(10, x_.high);
    double highest = std::pow(10, y_.high);
    if (!report_.roofs.peaks.empty()) {
      highest = 0;
      for (const Peak &peak : report_.roofs.peaks)
        highest = std::max(highest, peak.rate.operationsPerSecond);
    }
    const double begin = std::max(leastX, std::pow(10, y_.low) / bandwidth),
                 end = std::min(mostX, highest / bandwidth), middle = std::sqrt(begin * end);
    std::string out =
        line("roof", left(begin), top(begin * bandwidth), left(end), top(end * bandwidth)) +
        textAt(left(middle) - 12, top(middle * bandwidth) - 6,
               "memory " + fixed(bandwidth / 1e9, 1) + " GB/s", " text-anchor=\"end\"");
    for (const Peak &peak : report_.roofs.peaks) {
      const double rate = peak.rate.operationsPerSecond;
      out += line("roof", left(rate / bandwidth), top(rate), kLeft + kPlotWidth, top(rate)) +
             textAt(kLeft + kPlotWidth - 4, top(rate) - 6,
                    std::string(arithmeticName(peak.arithmetic)) + " " + fixed(rate / 1e9, 0) +
                        " GOP/s",
                    " text-anchor=\"end\"");
    }
    return out;
  }

  // Dots stand where they belong; numbers that would cover others move away along a line.
  std::string circles() const {
    std::string out;
    std::vector<Point> taken;
    for (const Dot &dot : dots_) {
      if (dot.rate <= 0)
        continue;
      const Point at = {left(dot.intensity), top(dot.rate)}, beside = freePlace(at, taken);
      taken.push_back(beside);
      out += line("lead", at.x, at.y, beside.x, beside.y) + circle(dot, beside.x, beside.y);
    }
    return out;
  }

  static std::string circle(const Dot &dot, double x, double y) {
    return "<circle class=\"step" + std::to_string(dot.step) + "\" cx=\"" + number(x) + "\" cy=\"" +
           number(y) + "\" r=\"8\"><title>" +
           xmlText(dot.kernel->role + ", " + dot.kernel->kernel) + "</title></circle>\n" +
           textAt(x, y + 3.5, std::to_string(dot.number), " class=\"number\"");
  }

  static std::string nameOf(const Dot &dot) { return dot.kernel->role + ", " + dot.kernel->kernel; }

  std::string legend() const {
    std::string out;
    double y = kTop;
    for (size_t step = 0; step < report_.steps.size(); ++step) {
      out += textAt(kLegendLeft - 8, y,
                    stepTitle(report_.steps[step]) + ": times the floor, bound by");
      for (const Dot &dot : dots_)
        if (dot.step == step)
          out += entry(dot, y += kLineHeight);
      y += 2 * kLineHeight;
    }
    return out;
  }

  static std::string entry(const Dot &dot, double y) {
    const KernelFigures &kernel = *dot.kernel;
    const std::string reached =
        kernel.floor.seconds > 0 ? fixed(kernel.seconds / kernel.floor.seconds, 1) + "x " : "";
    return circle(dot, kLegendLeft, y - 4) +
           textAt(kLegendLeft + 16, y,
                  nameOf(dot) + ": " + reached + boundName(kernel.floor) +
                      (dot.rate > 0 ? "" : ", computes nothing"));
  }

  const ExplainReport &report_;
  std::vector<Dot> dots_;
  Axis x_, y_;
};

} // namespace

std::string explainSvg(const ExplainReport &report) {
  return Roofline(report).text();
}

} // namespace sinter::cli
