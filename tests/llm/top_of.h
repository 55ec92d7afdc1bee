// The largest logits of rows, by sorting: what a device gives beside all logits.
#pragma once

#include "llm/sampler/known_logits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sinter {

struct TopOfRows {
  std::vector<float> logits;
  std::vector<TokenId> tokens;

  // The `count` largest of each row of `length`.
  void set(std::span<const float> rows, size_t length, size_t count) {
    logits.clear();
    tokens.clear();
    std::vector<TokenId> order(length);
    for (; !rows.empty(); rows = rows.subspan(length)) {
      std::iota(order.begin(), order.end(), 0);
      const auto isBefore = [](float x, float y) { return std::isnan(x) ? !std::isnan(y) : x > y; };
      std::ranges::sort(order, [&](TokenId a, TokenId b) {
        const float x = rows[static_cast<size_t>(a)], y = rows[static_cast<size_t>(b)];
        return isBefore(x, y) || (!isBefore(y, x) && a < b);
      });
      for (const TokenId token : std::span(order).first(count)) {
        tokens.push_back(token);
        logits.push_back(rows[static_cast<size_t>(token)]);
      }
    }
  }
};

} // namespace sinter
