// Figures of a server that runs, as Prometheus reads them. Thread-safe; an update is an atomic
// addition, so that it may stand in any path.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::serve {

// Names and values: {{"route", "/health"}, {"code", "200"}}.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class Counter {
public:
  void add(uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> value_ = 0;
};

class Gauge {
public:
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t change) { value_.fetch_add(change, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<int64_t> value_ = 0;
};

// Counts of values up to each bound, and their sum.
class Histogram {
public:
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);

  const std::vector<double> &bounds() const { return bounds_; }
  // Values up to the bound of that index, and above the one before; the last index: above all.
  uint64_t count(size_t index) const { return counts_[index].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

private:
  const std::vector<double> bounds_; // ascending
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

// Writes the text format, version 0.0.4.
class MetricsText {
public:
  // `type`: "counter", "gauge", "histogram". Samples that follow are of this family.
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(const MetricLabels &labels, double value, std::string_view suffix = "");
  void histogram(const MetricLabels &labels, const Histogram &histogram);

  const std::string &text() const { return text_; }

private:
  std::string name_, text_;
};

// Owns the metrics that others update. A name has one type and one help; each set of labels is a
// metric of its own, made when it is asked for first and kept. References stay valid.
class Metrics {
public:
  Counter &counter(const std::string &name, const std::string &help,
                   const MetricLabels &labels = {});
  Gauge &gauge(const std::string &name, const std::string &help, const MetricLabels &labels = {});
  // All histograms of a name have the bounds of the first.
  Histogram &histogram(const std::string &name, const std::string &help,
                       const std::vector<double> &bounds, const MetricLabels &labels = {});
  // Called for each text, for figures that others count. Before the first text.
  void onText(std::function<void(MetricsText &)> write) { writers_.push_back(std::move(write)); }

  std::string text() const;

private:
  template <typename T> struct Family {
    std::string help;
    std::map<MetricLabels, std::unique_ptr<T>> metrics;
  };
  template <typename T> using Families = std::map<std::string, Family<T>>;

  mutable std::mutex mutex_; // of the maps, not of the metrics
  Families<Counter> counters_;
  Families<Gauge> gauges_;
  Families<Histogram> histograms_;
  std::vector<std::function<void(MetricsText &)>> writers_;
};

} // namespace sinter::serve
