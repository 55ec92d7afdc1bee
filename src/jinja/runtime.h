// What one render may still spend, and how its values are made.
#pragma once

#include "base/status.h"
#include "jinja/input.h"
#include "jinja/limits.h"
#include "jinja/value.h"

#include <ctime>
#include <span>

namespace sinter::jinja {

// The state that every operation on values shares. For one thread.
class Runtime {
public:
  Runtime(const Limits &limits, const std::tm &now)
      : heap_(limits.valueBytes), limits_(limits), now_(now) {}

  const Limits &limits() const { return limits_; }
  const std::tm &now() const { return now_; }
  Heap &heap() { return heap_; }

  // Exhausted, naming the limit, where there is no more to spend.
  Result<void> spend(uint64_t steps = 1) {
    if (steps <= stepsLeft_ && !heap_.isFull()) {
      stepsLeft_ -= steps;
      return {};
    }
    return exhausted();
  }
  Result<void> spendBytes(size_t bytes) { return spend(1 + bytes / 64); }
  // What looking a key up costs; every key that has it is compared with.
  Result<void> spendLookup(const DictObject &dict, const Value &key);
  // That a value of so many bytes may be made.
  Result<void> checkRoom(size_t bytes) {
    return heap_.hasRoomFor(bytes) ? Result<void>() : outOfBytes();
  }
  Result<void> checkRoomForItems(size_t count) {
    return count < limits_.valueBytes / sizeof(Value) ? checkRoom(count * sizeof(Value))
                                                      : outOfBytes();
  }

  Value text(Text text, bool isSafe = false);
  Value text(std::string bytes, Origin origin) { return text(Text(std::move(bytes), origin)); }
  Value list(std::vector<Value> items) { return items_(Value::Kind::List, std::move(items)); }
  Value tuple(std::vector<Value> items) { return items_(Value::Kind::Tuple, std::move(items)); }
  Value iterator(std::vector<Value> items) {
    return items_(Value::Kind::Iterator, std::move(items));
  }
  Value view(std::string_view spelling, std::vector<Value> items);
  Value range(int64_t start, int64_t stop, int64_t step, std::vector<Value> items);
  Value dict();
  Value undefined(std::string message);
  Value nameSpace(Value attributes);
  Value loop(Value source, int64_t depth0);
  Value method(const Builtin *builtin, Value self);
  Value macro(uint32_t statement, Ref<Object> scope);
  Value from(const Input &input);

  // Sets the value of a key; unhashable keys are refused. Dicts keep their order.
  Result<void> set(const Value &dict, const Value &key, Value value);
  void set(const Value &dict, std::string_view key, Value value);
  void push(const Value &list, Value item);

private:
  Value items_(Value::Kind kind, std::vector<Value> items);
  Value emptyNamed(Value::Kind kind, std::string_view spelling, std::vector<Value> items);
  Fail exhausted() const;
  Fail outOfBytes() const;

  Heap heap_;
  Limits limits_;
  std::tm now_;
  uint64_t stepsLeft_ = limits_.steps;
};

// Text under construction, which stops growing where the heap is full.
class TextBuilder {
public:
  explicit TextBuilder(Runtime &runtime) : runtime_(runtime) {}
  ~TextBuilder() { runtime_.heap().discharge(charged_); }
  TextBuilder(const TextBuilder &) = delete;
  TextBuilder &operator=(const TextBuilder &) = delete;

  void add(std::string_view bytes, Origin origin) {
    if (hasRoom(bytes.size()))
      text_.append(bytes, origin);
  }
  void add(const Text &other) { add(other, 0, other.size()); }
  void add(const Text &other, size_t begin, size_t end) {
    if (hasRoom(end - begin))
      text_.append(other, begin, end);
  }
  const Text &text() const { return text_; }
  size_t size() const { return text_.size(); }
  bool isFull() const { return isFull_; }
  // Exhausted where it did not fit.
  Result<Text> take();
  Result<Value> finish(bool isSafe = false);

private:
  bool hasRoom(size_t bytes);

  Runtime &runtime_;
  Text text_;
  size_t charged_ = 0;
  bool isFull_ = false;
};

// The value of a key of a dict; null where there is none.
const Value *find(const DictObject &dict, const Value &key);
const Value *find(const DictObject &dict, std::string_view key);
bool isHashable(const Value &value);

} // namespace sinter::jinja
