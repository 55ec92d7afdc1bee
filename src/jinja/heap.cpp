// Destruction works through a list, since values may be nested deeper than the stack.
#include "jinja/heap.h"

namespace sinter::jinja {

Heap::~Heap() {
  // What is left refers to itself in a cycle, or is still held by a caller that goes too.
  for (Object *object = first_; object; object = object->next)
    retain(object);
  for (Object *object = first_; object; object = object->next)
    object->dropReferences();
  while (first_)
    destroy(first_);
}

void Heap::adopt(Object *object, size_t bytes) {
  object->heap = this;
  object->next = first_;
  if (first_)
    first_->previous = object;
  first_ = object;
  charge(object, bytes);
}

void Heap::destroy(Object *object) {
  (object->previous ? object->previous->next : first_) = object->next;
  if (object->next)
    object->next->previous = object->previous;
  usedBytes_ -= object->chargedBytes;
  delete object;
}

void Heap::release(Object *object) {
  unreferenced_.push_back(object);
  if (isDestroying_)
    return;
  isDestroying_ = true;
  while (!unreferenced_.empty()) {
    Object *next = unreferenced_.back();
    unreferenced_.pop_back();
    destroy(next);
  }
  isDestroying_ = false;
}

} // namespace sinter::jinja
