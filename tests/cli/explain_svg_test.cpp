// The drawing's layout, read back from its text: nothing is clipped and nothing covers another,
// however long names are and wherever points lie. Extents are those of a monospace font whose
// characters are 0.62 em wide; text with others must say its length.
#include "cli/explain/label_places.h"
#include "cli/explain/report.h"

#include <gmock/gmock.h>

#include <charconv>
#include <cmath>

namespace sinter::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

// ---- the drawing, read back ----

struct Element {
  std::string kind, title, text; // title: of the <title> in it
  std::map<std::string, std::string> attributes;

  double number(const std::string &name) const {
    const auto found = attributes.find(name);
    double value = NAN;
    if (found != attributes.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    return value;
  }
};

std::map<std::string, std::string> attributesOf(std::string_view tag) {
  std::map<std::string, std::string> attributes;
  for (size_t at = tag.find("=\""); at != std::string_view::npos; at = tag.find("=\"", at)) {
    const size_t name = tag.find_last_of(" \n", at) + 1, end = tag.find('"', at + 2);
    attributes[std::string(tag.substr(name, at - name))] = tag.substr(at + 2, end - at - 2);
    at = end;
  }
  return attributes;
}

std::string unescaped(std::string text) {
  for (const auto &[entity, character] : std::map<std::string, std::string>{
           {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
    for (size_t at; (at = text.find(entity)) != std::string::npos;)
      text.replace(at, entity.size(), character);
  return text;
}

// All elements of that kind; they hold nothing but a title and text.
std::vector<Element> elementsOf(const std::string &svg, const std::string &kind) {
  std::vector<Element> elements;
  for (size_t at = 0; (at = svg.find("<" + kind + " ", at)) != std::string::npos;) {
    const size_t open = svg.find('>', at), close = svg.find("</" + kind + ">", open);
    Element element{kind, "", svg.substr(open + 1, close - open - 1),
                    attributesOf(std::string_view(svg).substr(at, open - at))};
    constexpr std::string_view kTitle = "<title>", kEnd = "</title>";
    if (element.text.starts_with(kTitle)) {
      const size_t end = element.text.find(kEnd);
      element.title = unescaped(element.text.substr(kTitle.size(), end - kTitle.size()));
      element.text.erase(0, end + kEnd.size());
    }
    element.text = unescaped(element.text);
    elements.push_back(std::move(element));
    at = close;
  }
  return elements;
}

Box textBox(const Element &text) {
  const double size = text.number("font-size"), x = text.number("x"), y = text.number("y");
  double width = 0.62 * size * static_cast<double>(text.text.size());
  if (std::ranges::any_of(text.text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    width = text.number("textLength");
  const auto anchor = text.attributes.find("text-anchor");
  const double left = anchor == text.attributes.end() ? x
                      : anchor->second == "end"       ? x - width
                                                      : x - width / 2;
  return {left, y - 0.95 * size, left + width, y + 0.25 * size};
}

std::string place(const Box &box) {
  return "[" + std::to_string(box.left) + ", " + std::to_string(box.top) + "; " +
         std::to_string(box.right) + ", " + std::to_string(box.bottom) + "]";
}

// What a reader sees: boxes are a tenth of a pixel smaller, as numbers are rounded.
struct Drawing {
  explicit Drawing(const std::string &svg) : texts(elementsOf(svg, "text")) {
    const std::string box = attributesOf(svg.substr(0, svg.find('>'))).at("viewBox");
    std::istringstream numbers(box);
    numbers >> view.left >> view.top >> view.right >> view.bottom;
    for (const Element &text : texts)
      boxes.push_back(shrunk(textBox(text)));
    for (const Element &circle : elementsOf(svg, "circle")) {
      const double x = circle.number("cx"), y = circle.number("cy"), r = circle.number("r");
      points.push_back(shrunk({x - r, y - r, x + r, y + r}));
    }
    for (const Element &rect : elementsOf(svg, "rect")) {
      const double x = rect.number("x"), y = rect.number("y");
      if (x < 700) // others are the legend's
        numbers_.push_back(shrunk({x, y, x + rect.number("width"), y + rect.number("height")}));
    }
    for (size_t i = 0; i < texts.size(); ++i)
      if (kPlot.holds(boxes[i]) && texts[i].attributes["class"] != "number")
        labels.push_back(boxes[i]);
  }
  static Box shrunk(const Box &box) {
    return {box.left + 0.1, box.top + 0.1, box.right - 0.1, box.bottom - 0.1};
  }

  static constexpr Box kPlot = {70, 50, 690, 530};
  Box view;
  std::vector<Element> texts;
  std::vector<Box> boxes;    // of texts
  std::vector<Box> points;   // of kernels
  std::vector<Box> numbers_; // of kernels, in the plot, in the order of points
  std::vector<Box> labels;   // other texts in the plot
};

void expectNothingIsClippedOrCovered(const std::string &svg) {
  const Drawing drawing(svg);
  for (size_t i = 0; i < drawing.texts.size(); ++i) {
    EXPECT_TRUE(drawing.view.holds(drawing.boxes[i]))
        << drawing.texts[i].text << " at " << place(drawing.boxes[i]);
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(drawing.boxes[i].overlaps(drawing.boxes[j]))
          << drawing.texts[i].text << " on " << drawing.texts[j].text;
  }
  ASSERT_EQ(drawing.numbers_.size(), drawing.points.size());
  for (size_t i = 0; i < drawing.points.size(); ++i) {
    EXPECT_TRUE(Drawing::kPlot.holds(drawing.numbers_[i])) << place(drawing.numbers_[i]);
    for (size_t j = 0; j < drawing.points.size(); ++j) {
      EXPECT_FALSE(i != j && drawing.numbers_[i].overlaps(drawing.points[j])) << i << " on " << j;
      EXPECT_FALSE(i < j && drawing.numbers_[i].overlaps(drawing.numbers_[j])) << i << ", " << j;
    }
    for (const Box &label : drawing.labels)
      EXPECT_FALSE(label.overlaps(drawing.points[i]) || label.overlaps(drawing.numbers_[i]))
          << place(label) << " at point " << i;
  }
}

// ---- made-up reports ----

// Where the i-th of `count` kernels lies: operations a byte and a second.
using Spread = std::function<std::pair<double, double>(size_t i, size_t count)>;

ExplainReport reportOf(size_t kernels, const Spread &spread) {
  ExplainReport report;
  report.model = "/models/" + std::string(300, 'm') + "/a<b>&\xe6\xa8\xa1\xe5\x9e\x8b.gguf";
  report.device.name = "a processor of many words " + std::string(80, 'w');
  report.roofs = {{2e10, "as given"},
                  {{Arithmetic::F32, {8e10, ""}},
                   {Arithmetic::Bf16, {8.1e10, ""}},
                   {Arithmetic::I8, {3e11, ""}}}};
  for (const uint32_t tokens : {512u, 1u}) {
    StepFigures step{.tokens = tokens, .depth = tokens == 1 ? 512u : 0, .kernels = {}, .all = {}};
    for (size_t i = 0; i < kernels / 2; ++i) {
      const size_t index = report.steps.size() * (kernels / 2) + i;
      const auto [intensity, rate] = spread(index, kernels);
      KernelFigures kernel;
      kernel.role = "attn_q+k+v of " + std::string(i % 7 * 20, 'r');
      kernel.kernel = "gemm block_m=" + std::to_string(index) + " +" + std::string(i * 5, 'e') +
                      (i % 5 == 0 ? "\xc3\xa9<&>" : "");
      kernel.bytes = 1e6;
      kernel.operations = intensity * kernel.bytes;
      kernel.seconds = kernel.operations / rate;
      kernel.floor = {kernel.seconds / 1234, Arithmetic::Bf16};
      step.kernels.push_back(std::move(kernel));
    }
    report.steps.push_back(std::move(step));
  }
  return report;
}

struct Case {
  const char *name;
  size_t kernels;
  Spread spread;
};

class Layout : public testing::TestWithParam<Case> {};

TEST_P(Layout, NoTextIsClippedAndNoLabelCoversAPointOrAnother) {
  expectNothingIsClippedOrCovered(explainSvg(reportOf(GetParam().kernels, GetParam().spread)));
}

INSTANTIATE_TEST_SUITE_P(
    Explain, Layout,
    testing::Values(Case{"Spread", 60,
                         [](size_t i, size_t n) {
                           const double x =
                               static_cast<double>(i * 37 % n) / static_cast<double>(n);
                           return std::pair(std::pow(10, 3 * x - 1), std::pow(10, 8 + 3 * x * x));
                         }},
                    Case{"OnePlace", 60, [](size_t, size_t) { return std::pair(2.0, 3e10); }},
                    Case{"InACorner", 60, [](size_t, size_t) { return std::pair(1e3, 1e12); }},
                    Case{"NarrowRange", 60,
                         [](size_t i, size_t) {
                           const double by = 1 + 1e-3 * static_cast<double>(i);
                           return std::pair(1.5 * by, 2e10 * by);
                         }},
                    Case{"UnderTheRoofs", 60,
                         [](size_t i, size_t n) {
                           const double x =
                               0.1 * std::pow(1e3, static_cast<double>(i) / static_cast<double>(n));
                           return std::pair(x, std::min(2e10 * x, 8.05e10));
                         }},
                    Case{"HugeRange", 60,
                         [](size_t i, size_t) {
                           const auto power = static_cast<double>(i) - 30;
                           return std::pair(std::pow(10, power), std::pow(10, 10 + power));
                         }},
                    Case{"HundredsOfKernels", 240,
                         [](size_t i, size_t) {
                           return std::pair(0.5 + static_cast<double>(i % 15),
                                            1e9 * static_cast<double>(i + 1));
                         }}),
    [](const auto &info) { return std::string(info.param.name); });

TEST(ExplainSvg, WhatIsCutIsWholeInATitleAndKeepsBothEnds) {
  ExplainReport report = reportOf(2, [](size_t, size_t) { return std::pair(2.0, 3e10); });
  report.steps[0].kernels[0].kernel = "begin" + std::string(500, '<') + "end";
  const std::string whole =
      report.steps[0].kernels[0].role + ", " + report.steps[0].kernels[0].kernel;
  const std::string svg = explainSvg(report);
  const auto texts = elementsOf(svg, "text");
  const auto cut = std::ranges::find(texts, whole, &Element::title);
  ASSERT_NE(cut, texts.end());
  EXPECT_THAT(cut->text,
              testing::AllOf(HasSubstr("begin<<"), HasSubstr("..."), HasSubstr("<<end")));
  EXPECT_LT(cut->text.size(), whole.size());
}

TEST(ExplainSvg, TheFiguresOfALineStandBeforeItsName) {
  const std::string svg =
      explainSvg(reportOf(60, [](size_t, size_t) { return std::pair(2.0, 3e10); }));
  size_t figures = 0;
  for (const Element &text : elementsOf(svg, "text"))
    figures += text.text == "1234.0x bf16";
  EXPECT_EQ(figures, 60u);
}

TEST(ExplainSvg, ARoofWithoutRoomForItsNameIsNamedInTheLegend) {
  ExplainReport report = reportOf(2, [](size_t, size_t) { return std::pair(2.0, 3e10); });
  for (int i = 0; i < 200; ++i)
    report.roofs.peaks.push_back({Arithmetic::F16, {8e10 + i * 1e7, ""}});
  const std::string svg = explainSvg(report);
  EXPECT_THAT(svg, HasSubstr(">roof of f16 8"));
  expectNothingIsClippedOrCovered(svg);
}

TEST(LabelPlaces, ALabelMayCoverItsOwnPointAlone) {
  LabelPlaces places({0, 0, 100, 100}, 1);
  const size_t own = places.addPoint({50, 50}, 3);
  const Box candidates[] = {{40, 40, 60, 60}};
  EXPECT_FALSE(places.take(candidates));
  EXPECT_TRUE(places.take(candidates, own));
  EXPECT_FALSE(places.take(candidates, own)) << "taken already";
}

TEST(LabelPlaces, LinesAreAvoidedWhereAnotherPlaceIsFree) {
  LabelPlaces places({0, 0, 100, 100}, 1);
  places.addLine({0, 9, 100, 11});
  const Box candidates[] = {{10, 5, 20, 15}, {10, 20, 20, 30}};
  EXPECT_EQ(places.take(candidates)->top, 20);
  EXPECT_EQ(places.take(candidates)->top, 5);
  EXPECT_FALSE(places.take(candidates));
}

} // namespace
} // namespace sinter::cli
