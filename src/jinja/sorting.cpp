// A merge sort from the bottom up: the standard library's sorts take no comparison that can fail.
#include "jinja/sorting.h"

#include "jinja/text_operations.h"

#include <numeric>

namespace sinter::jinja {
namespace {

class MergeSort {
public:
  MergeSort(Runtime &runtime, const std::vector<Value> &keys, bool isReversed)
      : runtime_(runtime), keys_(keys), isReversed_(isReversed), order_(keys.size()),
        merged_(keys.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  Result<std::vector<size_t>> run() {
    for (size_t width = 1; width < order_.size(); width *= 2) {
      for (size_t begin = 0; begin < order_.size(); begin += 2 * width)
        SINTER_TRY(merge(begin, std::min(begin + width, order_.size()),
                         std::min(begin + 2 * width, order_.size())));
      std::swap(order_, merged_);
    }
    return std::move(order_);
  }

private:
  Result<void> merge(size_t begin, size_t middle, size_t end) {
    size_t left = begin, right = middle;
    for (size_t out = begin; out < end; ++out) {
      bool takesRight = left == middle;
      if (left < middle && right < end) {
        SINTER_ASSIGN(takesRight, comesFirst(order_[right], order_[left]));
      }
      merged_[out] = takesRight ? order_[right++] : order_[left++];
    }
    return {};
  }
  Result<bool> comesFirst(size_t a, size_t b) {
    return isReversed_ ? isOrdered(runtime_, keys_[b], "<", keys_[a])
                       : isOrdered(runtime_, keys_[a], "<", keys_[b]);
  }

  Runtime &runtime_;
  const std::vector<Value> &keys_;
  bool isReversed_;
  std::vector<size_t> order_, merged_;
};

} // namespace

Result<std::vector<size_t>> sortedOrder(Runtime &runtime, const std::vector<Value> &keys,
                                        bool isReversed) {
  return MergeSort(runtime, keys, isReversed).run();
}

Result<Value> withoutCase(Runtime &runtime, const Value &value) {
  if (!value.isText())
    return value;
  SINTER_ASSIGN(Text lower, withCase(runtime, value.text(), Case::Lower));
  return runtime.text(std::move(lower));
}

} // namespace sinter::jinja
