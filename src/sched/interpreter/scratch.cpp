// Scratch memory of the scheduled interpreter: poison, bounds and reads before writes.
#include "tile/mlir_pch.h"

#include "sched/interpreter/scratch.h"

#include <cstring>

using namespace mlir;

namespace sinter::sched {

void Arena::grow(uint64_t size) {
  if (size <= bytes_.size())
    return;
  meter_.live += (size - bytes_.size()) * kCost;
  bytes_.resize(size);
  writers_.resize(size);
}

Buffer::Buffer(BufferType type, tile::Element element, std::shared_ptr<Arena> arena, uint64_t base,
               uint32_t id)
    : shape_(type.getShape()), strides_(type.getStrides()),
      span_(static_cast<uint64_t>(type.getSpan())), element_(element), arena_(std::move(arena)),
      base_(base), id_(id) {
  poison();
}

void Buffer::poison() {
  uint64_t bytes = span_ * element_.bytes;
  std::memset(arena_->at(base_), 0xcd, bytes);
  std::fill_n(arena_->writers(base_), bytes, 0);
  if (element_.isInt())
    return;
  tile::Tile nan(element_, {}, nullptr);
  tile::writeDoubles(nan, 0, std::numeric_limits<double>::quiet_NaN());
  for (uint64_t at = 0; at < bytes; at += element_.bytes)
    std::memcpy(arena_->at(base_ + at), nan.data(), element_.bytes);
}

Result<void> Buffer::checkBounds(const tile::Tile &block, const Access &access) const {
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    int64_t offset = access.offsets[axis], extent = block.shape()[axis];
    if (offset < 0 || extent > shape_[axis] || offset > shape_[axis] - extent)
      return access.task.fail(access.op, Code::InvalidArgument,
                              "touches " + Twine(extent) + " elements from " + Twine(offset) +
                                  " on axis " + Twine(axis) + " of scratch that has " +
                                  Twine(shape_[axis]));
  }
  return {};
}

uint64_t Buffer::place(const tile::Tile &block, const Access &access, int64_t index) const {
  uint64_t at = 0;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    int64_t extent = block.shape()[axis];
    at += static_cast<uint64_t>(access.offsets[axis] + index % extent) *
          static_cast<uint64_t>(strides_[axis]);
    index /= extent;
  }
  return base_ + at * element_.bytes;
}

Result<void> Buffer::read(tile::Tile &block, const Access &access, UnwrittenReads unwritten) {
  SINTER_TRY(checkBounds(block, access));
  for (int64_t index = 0; index < block.count(); ++index) {
    uint64_t at = place(block, access, index);
    uint32_t *writer = arena_->writers(at);
    if (unwritten == UnwrittenReads::Report && std::count(writer, writer + element_.bytes, id_) !=
                                                   static_cast<std::ptrdiff_t>(element_.bytes))
      return access.task.fail(access.op, Code::InvalidArgument,
                              "reads scratch that was " +
                                  Twine(*writer ? "overwritten through another alloc"
                                                : "never written since its alloc") +
                                  ", at element " + Twine(index) + " of its block");
    std::memcpy(block.data() + index * element_.bytes, arena_->at(at), element_.bytes);
  }
  tile::clearUnusedBits(block);
  return {};
}

Result<void> Buffer::write(const tile::Tile &block, const Access &access) {
  SINTER_TRY(checkBounds(block, access));
  for (int64_t index = 0; index < block.count(); ++index) {
    uint64_t at = place(block, access, index);
    std::memcpy(arena_->at(at), block.data() + index * element_.bytes, element_.bytes);
    std::fill_n(arena_->writers(at), element_.bytes, id_);
  }
  return {};
}

} // namespace sinter::sched
