// Three charts side by side: shares of requests by the time to the first token, and of tokens by
// the time between two, for each run; throughput over the runs.
#include "base/number_text.h"
#include "cli/explain/svg_text.h"
#include "cli/explain/xml_text.h"
#include "cli/load/load_report.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {
namespace {

constexpr double kWidth = 330, kHeight = 260, kLeft = 64, kGap = 84, kTop = 64, kMargin = 16;
constexpr double kLegendLine = 18, kTitleSize = 15, kTickSize = 11, kTickLength = 14;
constexpr size_t kColours = 6;

// Colours that both a white and a black page let one tell apart.
constexpr const char *kStyle = R"(
  svg { background: #ffffff; color: #1c1c1e }
  text { fill: currentColor; font-family: Menlo, Consolas, monospace }
  .grid { stroke: currentColor; stroke-opacity: 0.15 }
  .line { fill: none; stroke-width: 2 }
  .dashed { stroke-dasharray: 5 4 }
  .c0 { stroke: #2f6fd0 } .c1 { stroke: #c4561a } .c2 { stroke: #2e8b57 }
  .c3 { stroke: #a04bb8 } .c4 { stroke: #b08a00 } .c5 { stroke: #c2385a }
  @media (prefers-color-scheme: dark) { svg { background: #16171a; color: #ececf0 } }
)";

struct Range {
  double low = 0, high = 1;
};

// One chart's frame and what lies where in it.
class Chart {
public:
  Chart(size_t place, Range x, Range y, bool isLog)
      : left_(kLeft + static_cast<double>(place) * (kWidth + kGap)), x_(x), y_(y), isLog_(isLog) {}

  Point at(double x, double y) const {
    const double across = isLog_ ? std::log(x / x_.low) / std::log(x_.high / x_.low)
                                 : (x - x_.low) / (x_.high - x_.low);
    return {left_ + std::clamp(across, 0.0, 1.0) * kWidth,
            kTop + kHeight - std::clamp((y - y_.low) / (y_.high - y_.low), 0.0, 1.0) * kHeight};
  }
  std::string tickX(double x, const std::string &label) const {
    const double place = at(x, y_.low).x;
    return line({place, kTop}, {place, kTop + kHeight}) +
           svgText({{place, kTop + kHeight + kTickLength + 2}, label, Anchor::Middle, kTickSize});
  }
  std::string tickY(double y, const std::string &label) const {
    const double place = at(x_.low, y).y;
    return line({left_, place}, {left_ + kWidth, place}) +
           svgText({{left_ - 6, place + 4}, label, Anchor::End, kTickSize});
  }
  std::string names(const std::string &title, const std::string &across) const {
    return svgText({{left_, kTop - 12}, title}, kWidth) +
           svgText({{left_ + kWidth / 2, kTop + kHeight + 34}, across, Anchor::Middle}, kWidth);
  }
  static std::string polyline(const std::vector<Point> &points, size_t colour, bool isDashed) {
    std::string out = "<polyline class=\"line c" + std::to_string(colour % kColours) +
                      (isDashed ? " dashed" : "") + "\" points=\"";
    for (const Point &point : points)
      out += svgNumber(point.x) + "," + svgNumber(point.y) + " ";
    return out + "\"/>\n";
  }

private:
  static std::string line(Point from, Point to) {
    return "<line class=\"grid\" x1=\"" + svgNumber(from.x) + "\" y1=\"" + svgNumber(from.y) +
           "\" x2=\"" + svgNumber(to.x) + "\" y2=\"" + svgNumber(to.y) + "\"/>\n";
  }

  double left_;
  Range x_, y_;
  bool isLog_;
};

std::string milliText(double seconds) {
  const double ms = seconds * 1e3;
  return fixed(ms, ms < 0.1 ? 3 : ms < 10 ? 1 : 0);
}

// Of an axis of seconds: 1, 2 and 5 of each power of ten, or the powers alone where there are many.
std::vector<double> timeTicks(Range range) {
  constexpr double kManyTimes = 300; // from the axis' begin to its end
  const bool isLong = range.high > kManyTimes * range.low;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high;
       power *= 10)
    for (const double step : {1.0, 2.0, 5.0})
      if (step * power >= range.low && step * power <= range.high && (step == 1 || !isLong))
        ticks.push_back(step * power);
  return ticks;
}

// From the fastest hundredth on: a few that came together would take half of a logarithmic axis.
Range timesOf(const LoadReport &report, const LatencyMeasure &measure) {
  constexpr double kLeastShare = 0.01, kLeastSeconds = 1e-6;
  Range range{0, 0};
  for (const RunFigures &run : report.runs)
    if (const LatencyHistogram &values = run.*measure.values; values.count() > 0) {
      const double least = std::max(values.quantile(kLeastShare), kLeastSeconds);
      range.low = range.low == 0 ? least : std::min(range.low, least);
      range.high = std::max(range.high, values.most());
    }
  if (range.low == 0)
    return {1e-3, 1};
  return {range.low, std::max(range.high, range.low * 2)};
}

// Shares over a time whose axis is logarithmic.
std::string distribution(const LoadReport &report, size_t place, const LatencyMeasure &measure) {
  const Range x = timesOf(report, measure);
  const Chart chart(place, x, {0, 1}, true);
  std::string out = chart.names(std::string("share by ") + measure.title, "milliseconds");
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    out += chart.tickY(share, fixed(share, 2));
  for (const double tick : timeTicks(x))
    out += chart.tickX(tick, milliText(tick));
  for (size_t number = 0; number < report.runs.size(); ++number) {
    const LatencyHistogram &values = report.runs[number].*measure.values;
    std::vector<Point> points;
    constexpr int kSteps = 200;
    for (int i = 0; i <= kSteps && values.count() > 0; ++i) {
      const double share = static_cast<double>(i) / kSteps;
      points.push_back(chart.at(std::max(values.quantile(share), x.low), share));
    }
    if (!points.empty())
      out += Chart::polyline(points, number, false);
  }
  return out;
}

double offered(const LoadShape &shape) {
  return shape.rate > 0 ? shape.rate : shape.concurrency;
}

// A number that is at least `most`, whose quarters have few digits.
double roundUp(double most) {
  const double power = std::pow(10, std::floor(std::log10(std::max(most, 1e-3))));
  for (const double step : {1.0, 2.0, 4.0, 8.0})
    if (most <= step * power)
      return step * power;
  return 10 * power;
}

std::string tickText(double value) {
  return fixed(value, value < 1 ? 2 : value < 10 ? 1 : 0);
}

// Requests a second over what was offered; dashed: those within the limits.
std::string throughput(const LoadReport &report, size_t place) {
  double mostX = 0, mostY = 0;
  for (const RunFigures &run : report.runs) {
    mostX = std::max(mostX, offered(run.shape));
    mostY = std::max(mostY, run.perSecond(run.answered));
  }
  mostX = roundUp(mostX);
  mostY = roundUp(mostY);
  const bool isOpen = report.arguments.runs.front().rate > 0,
             hasGoodput = report.arguments.goodput.any();
  const Chart chart(place, {0, mostX}, {0, mostY}, false);
  std::string out =
      chart.names(hasGoodput ? "req/s answered; dashed: within limits" : "req/s answered",
                  isOpen ? "requests a second sent" : "clients");
  constexpr int kTicks = 4;
  for (int i = 0; i <= kTicks; ++i) {
    const double share = static_cast<double>(i) / kTicks;
    out += chart.tickX(share * mostX, tickText(share * mostX)) +
           chart.tickY(share * mostY, tickText(share * mostY));
  }
  std::vector<Point> answered, good;
  for (const RunFigures &run : report.runs) {
    answered.push_back(chart.at(offered(run.shape), run.perSecond(run.answered)));
    good.push_back(chart.at(offered(run.shape), run.perSecond(run.good)));
  }
  for (const Point &point : answered)
    out += "<circle class=\"line c0\" cx=\"" + svgNumber(point.x) + "\" cy=\"" +
           svgNumber(point.y) + "\" r=\"3\"/>\n";
  out += Chart::polyline(answered, 0, false);
  return hasGoodput ? out + Chart::polyline(good, 1, true) : out;
}

std::string legend(const LoadReport &report, double top) {
  std::string out;
  for (size_t number = 0; number < report.runs.size(); ++number) {
    const RunFigures &run = report.runs[number];
    const double y = top + kLegendLine * static_cast<double>(number);
    out += Chart::polyline({{kLeft, y - 4}, {kLeft + 24, y - 4}}, number, false) +
           svgText({{kLeft + 32, y},
                    shapeName(run.shape) + ": " + fixed(run.perSecond(run.answerTokens), 1) +
                        " answer tokens/s, first token p99 " +
                        milliText(run.firstToken.quantile(0.99)) + " ms, between tokens p99 " +
                        milliText(run.betweenTokens.quantile(0.99)) + " ms"});
  }
  return out;
}

} // namespace

std::string loadSvg(const LoadReport &report) {
  const double width = kLeft + 3 * kWidth + 2 * kGap + kMargin;
  const double legendTop = kTop + kHeight + 64;
  const double height = legendTop + kLegendLine * static_cast<double>(report.runs.size()) + kMargin;
  const std::string what = report.arguments.model + " at " + report.arguments.target.url();
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svgNumber(width) + " " +
         svgNumber(height) + "\" width=\"" + svgNumber(width) + "\" height=\"" + svgNumber(height) +
         "\">\n<title>" + xmlText("Load test of " + what) + "</title>\n<style>" + kStyle +
         "</style>\n" +
         svgText({{kLeft, 26}, what, Anchor::Start, kTitleSize}, width - kLeft - kMargin) +
         distribution(report, 0, latencyMeasures()[0]) +
         distribution(report, 1, latencyMeasures()[1]) + throughput(report, 2) +
         legend(report, legendTop) + "</svg>\n";
}

} // namespace sinter::cli
