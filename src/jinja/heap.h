// Where a render's values live: counted references, counted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sinter::jinja {

class Heap;

// What values refer to. Made by Heap::make alone.
struct Object {
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
  // Lets go of all that it refers to.
  virtual void dropReferences() {}

  Heap *heap = nullptr;
  uint32_t references = 0;
  size_t chargedBytes = 0;
  Object *previous = nullptr, *next = nullptr; // of all objects of the heap
};

// Objects go when nothing refers to them, without recursion however they are nested; cycles go with
// the heap. For one thread.
class Heap {
public:
  explicit Heap(size_t mostBytes) : mostBytes_(mostBytes) {}
  ~Heap();
  Heap(const Heap &) = delete;
  Heap &operator=(const Heap &) = delete;

  template <typename T, typename... Args> T *make(Args &&...args) {
    T *object = new T(std::forward<Args>(args)...);
    adopt(object, sizeof(T));
    return object;
  }
  void release(Object *object);

  // Bytes that belong to an object besides its own; they go with it.
  void charge(Object *object, size_t bytes) {
    object->chargedBytes += bytes;
    usedBytes_ += bytes;
  }
  // Bytes that belong to none.
  void charge(size_t bytes) { usedBytes_ += bytes; }
  void discharge(size_t bytes) { usedBytes_ -= bytes; }

  bool isFull() const { return usedBytes_ > mostBytes_; }
  bool hasRoomFor(size_t bytes) const { return !isFull() && bytes <= mostBytes_ - usedBytes_; }

private:
  void adopt(Object *object, size_t bytes);
  void destroy(Object *object);

  size_t mostBytes_, usedBytes_ = 0;
  Object *first_ = nullptr;
  std::vector<Object *> unreferenced_; // to be destroyed
  bool isDestroying_ = false;
};

inline void retain(Object *object) {
  ++object->references;
}
inline void release(Object *object) {
  if (--object->references == 0)
    object->heap->release(object);
}

// A counted reference.
template <typename T> class Ref {
public:
  Ref() = default;
  explicit Ref(T *object) : object_(object) {
    if (object_)
      retain(object_);
  }
  Ref(const Ref &other) : Ref(other.object_) {}
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_)
      release(object_);
  }
  T *get() const { return object_; }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

private:
  T *object_ = nullptr;
};

} // namespace sinter::jinja
