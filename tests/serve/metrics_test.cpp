// Figures in Prometheus' text format.
#include "serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace sinter::serve {
namespace {

TEST(MetricsRegistry, WritesFamiliesWithHelpTypeAndSamples) {
  Metrics metrics;
  metrics.counter("sinter_requests_total", "Requests.", {{"code", "200"}}).add(2);
  metrics.counter("sinter_requests_total", "Requests.", {{"code", "404"}}).add();
  metrics.gauge("sinter_connections", "Connections.").set(-3);
  EXPECT_EQ(metrics.text(), "# HELP sinter_requests_total Requests.\n"
                            "# TYPE sinter_requests_total counter\n"
                            "sinter_requests_total{code=\"200\"} 2\n"
                            "sinter_requests_total{code=\"404\"} 1\n"
                            "# HELP sinter_connections Connections.\n"
                            "# TYPE sinter_connections gauge\n"
                            "sinter_connections -3\n");
}

TEST(MetricsRegistry, WritesHistogramsCumulatively) {
  Metrics metrics;
  Histogram &histogram = metrics.histogram("h", "H.", {0.1, 1}, {{"a", "b"}});
  for (const double value : {0.1, 0.5, 0.5, 2.0})
    histogram.observe(value);
  EXPECT_EQ(metrics.text(), "# HELP h H.\n"
                            "# TYPE h histogram\n"
                            "h_bucket{a=\"b\",le=\"0.1\"} 1\n"
                            "h_bucket{a=\"b\",le=\"1\"} 3\n"
                            "h_bucket{a=\"b\",le=\"+Inf\"} 4\n"
                            "h_sum{a=\"b\"} 3.1\n"
                            "h_count{a=\"b\"} 4\n");
}

TEST(MetricsRegistry, EscapesLabels) {
  Metrics metrics;
  metrics.counter("c", "A\nB\\", {{"x", "a\"b\\c\nd"}}).add();
  EXPECT_EQ(metrics.text(), "# HELP c A\\nB\\\\\n# TYPE c counter\nc{x=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST(MetricsRegistry, AsksForFiguresThatOthersCount) {
  Metrics metrics;
  metrics.onText([](MetricsText &text) {
    text.family("g", "gauge", "G.");
    text.sample({}, 0.5);
  });
  EXPECT_EQ(metrics.text(), "# HELP g G.\n# TYPE g gauge\ng 0.5\n");
}

TEST(MetricsRegistry, CountsEveryUpdateOfManyThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) {
        metrics.counter("c", "C.").add();
        metrics.histogram("h", "H.", {1}).observe(0.5);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(metrics.text(),
              testing::AllOf(testing::HasSubstr("c 4000\n"), testing::HasSubstr("h_sum 2000\n"),
                             testing::HasSubstr("h_count 4000\n")));
}

} // namespace
} // namespace sinter::serve
