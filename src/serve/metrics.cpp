// Prometheus' text format.
#include "serve/metrics.h"

#include "base/check.h"

#include <algorithm>
#include <charconv>

namespace sinter::serve {
namespace {

std::string numberText(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (c == '"' && quotes))
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

} // namespace

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  SINTER_CHECK(std::ranges::is_sorted(bounds_));
}

void Histogram::observe(double value) {
  const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += "# HELP " + name_ + " " + escaped(help, false) + "\n";
  text_ += "# TYPE " + name_ + " " + std::string(type) + "\n";
}

void MetricsText::sample(const MetricLabels &labels, double value, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  const char *before = "{";
  for (const auto &[name, label] : labels) {
    text_ += before + name + "=\"" + escaped(label, true) + "\"";
    before = ",";
  }
  if (!labels.empty())
    text_ += "}";
  text_ += " " + numberText(value) + "\n";
}

void MetricsText::histogram(const MetricLabels &labels, const Histogram &histogram) {
  uint64_t count = 0;
  MetricLabels withBound = labels;
  withBound.emplace_back("le", "");
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    const bool isLast = i == histogram.bounds().size();
    count += histogram.count(i);
    withBound.back().second = isLast ? "+Inf" : numberText(histogram.bounds()[i]);
    sample(withBound, static_cast<double>(count), "_bucket");
  }
  sample(labels, histogram.sum(), "_sum");
  sample(labels, static_cast<double>(count), "_count");
}

Counter &Metrics::counter(const std::string &name, const std::string &help,
                          const MetricLabels &labels) {
  const std::lock_guard lock(mutex_);
  Family<Counter> &family = counters_.try_emplace(name, Family<Counter>{help, {}}).first->second;
  std::unique_ptr<Counter> &metric = family.metrics[labels];
  if (!metric)
    metric = std::make_unique<Counter>();
  return *metric;
}

Gauge &Metrics::gauge(const std::string &name, const std::string &help,
                      const MetricLabels &labels) {
  const std::lock_guard lock(mutex_);
  Family<Gauge> &family = gauges_.try_emplace(name, Family<Gauge>{help, {}}).first->second;
  std::unique_ptr<Gauge> &metric = family.metrics[labels];
  if (!metric)
    metric = std::make_unique<Gauge>();
  return *metric;
}

Histogram &Metrics::histogram(const std::string &name, const std::string &help,
                              const std::vector<double> &bounds, const MetricLabels &labels) {
  const std::lock_guard lock(mutex_);
  Family<Histogram> &family =
      histograms_.try_emplace(name, Family<Histogram>{help, {}}).first->second;
  std::unique_ptr<Histogram> &metric = family.metrics[labels];
  if (!metric)
    metric = std::make_unique<Histogram>(family.metrics.size() > 1 && family.metrics.begin()->second
                                             ? family.metrics.begin()->second->bounds()
                                             : bounds);
  return *metric;
}

std::string Metrics::text() const {
  MetricsText text;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[name, family] : counters_) {
      text.family(name, "counter", family.help);
      for (const auto &[labels, metric] : family.metrics)
        text.sample(labels, static_cast<double>(metric->value()));
    }
    for (const auto &[name, family] : gauges_) {
      text.family(name, "gauge", family.help);
      for (const auto &[labels, metric] : family.metrics)
        text.sample(labels, static_cast<double>(metric->value()));
    }
    for (const auto &[name, family] : histograms_) {
      text.family(name, "histogram", family.help);
      for (const auto &[labels, metric] : family.metrics)
        text.histogram(labels, *metric);
    }
  }
  for (const auto &write : writers_)
    write(text);
  return text.text();
}

} // namespace sinter::serve
