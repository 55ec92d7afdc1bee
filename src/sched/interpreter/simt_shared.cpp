// Accesses of shared memory against what other threads, copies and matmuls do to it.
#include "tile/mlir_pch.h"

#include "sched/interpreter/simt_shared.h"

#include <cstring>

using namespace mlir;

namespace sinter::sched {

static Fail fail(const SimtAccess &access, const Twine &message) {
  return access.task.fail(access.op, Code::InvalidArgument, message);
}

static std::string textOf(const ThreadRange &threads) {
  const std::string first = std::to_string(threads.first);
  if (threads.count == 1)
    return "of thread " + first;
  return "of threads " + first + " to " + std::to_string(threads.first + threads.count - 1);
}

static ThreadRange threadsOf(const MatmulRead &product) {
  return {product.firstThread, product.threads};
}

// Texts are made for failures alone: bytes are checked one by one.
static Fail race(const SimtAccess &access, const ThreadRange &who, StringRef verb, uint64_t byte,
                 const Twine &other) {
  return fail(access, textOf(who) + " " + verb + " byte " + Twine(byte) +
                          " of shared memory, which " + other);
}

static std::string placeText(Operation &op) {
  return "'" + op.getName().getStringRef().str() + "' at " + tile::locationText(op.getLoc()) + " ";
}

static const char *const kSameInterval = " in the same barrier interval";

SharedMemory::SharedMemory(uint64_t bytes, bool asynchronous, int64_t firstThread, int64_t threads)
    : bytes_(bytes), firstThread_(firstThread), threads_(threads), log_(bytes),
      pieces_(asynchronous ? llvm::divideCeil(bytes, uint64_t(kPieceBytes)) : 0) {}

void SharedMemory::beginProgram() {
  for (uint64_t number : touched_)
    pieces_[number] = Piece();
  touched_.clear();
  multiplying_.clear();
  oldestMatmul_ = UINT64_MAX;
  copies_.clear();
  stored_.clear();
  copyGroups_ = 0;
}

SharedMemory::Piece *SharedMemory::touch(uint64_t byte) {
  Piece *piece = pieceOf(byte);
  if (piece && !std::exchange(piece->isTouched, true))
    touched_.push_back(byte / kPieceBytes);
  return piece;
}

// ---- who is in the way ----

std::string SharedMemory::writerText(uint64_t byte, int64_t thread) {
  Piece *piece = pieceOf(byte);
  if (piece && piece->copy)
    return placeText(*piece->copy) + textOf({thread, 1});
  return "thread " + std::to_string(thread);
}

std::string SharedMemory::readerText(uint64_t byte, int64_t thread, uint64_t interval) {
  Piece *piece = pieceOf(byte);
  if (piece && piece->product && piece->readIn == interval)
    return placeText(*piece->product) + textOf(threadsOf(piece->read));
  return "thread " + std::to_string(thread);
}

Result<void> SharedMemory::checkLanded(const SimtAccess &access, const ThreadRange &who,
                                       StringRef verb, uint64_t byte) {
  Piece *piece = pieceOf(byte);
  if (!piece || !(piece->copying & maskOf(byte)))
    return {};
  int64_t thread = 0;
  for (const Copy &copy : copies_)
    if (copy.writes(byte))
      thread = copy.thread;
  return race(access, who, verb, byte,
              placeText(*piece->copy) + textOf({thread, 1}) + " is still copying to");
}

Result<void> SharedMemory::checkWrite(const SimtAccess &access, int64_t thread, StringRef verb,
                                      uint64_t byte) {
  SINTER_TRY(checkLanded(access, {thread, 1}, verb, byte));
  if (Piece *piece = pieceOf(byte); piece && piece->multiplying)
    return race(access, {thread, 1}, verb, byte,
                placeText(*piece->product) + textOf(threadsOf(piece->read)) + " still reads");
  AccessLog::Entry writer = log_.writer(byte), reader = log_.reader(byte, thread);
  uint64_t now = access.clock.now;
  if (writer.interval == now && writer.thread != thread)
    return race(access, {thread, 1}, verb, byte,
                writerText(byte, writer.thread) + " writes" + kSameInterval);
  if (reader.interval >= since(access.clock, thread, reader.thread) && reader.thread != thread)
    return race(access, {thread, 1}, verb, byte,
                readerText(byte, reader.thread, now) + " reads" + kSameInterval);
  return {};
}

// ---- threads ----

Result<bool> SharedMemory::load(const SimtAccess &access, int64_t thread, int64_t at,
                                MutableArrayRef<std::byte> out) {
  SINTER_TRY(checkPlace(access, "shared memory", bytes_.size(), thread, at,
                        static_cast<int64_t>(out.size()), out.size()));
  bool written = true;
  for (uint64_t byte = at; byte < at + out.size(); ++byte) {
    SINTER_TRY(checkLanded(access, {thread, 1}, "reads", byte));
    AccessLog::Entry writer = log_.writer(byte);
    written &= writer.interval >= access.clock.program;
    if (writer.interval >= since(access.clock, thread, writer.thread) && writer.thread != thread)
      return race(access, {thread, 1}, "reads", byte,
                  writerText(byte, writer.thread) + " writes" + kSameInterval);
    log_.read(byte, thread, access.clock.now);
  }
  std::memcpy(out.data(), bytes_.data() + at, out.size());
  return written;
}

Result<void> SharedMemory::store(const SimtAccess &access, int64_t thread, int64_t at,
                                 ArrayRef<std::byte> value) {
  SINTER_TRY(checkPlace(access, "shared memory", bytes_.size(), thread, at,
                        static_cast<int64_t>(value.size()), value.size()));
  for (uint64_t byte = at; byte < at + value.size(); ++byte) {
    SINTER_TRY(checkWrite(access, thread, "writes", byte));
    log_.write(byte, thread, access.clock.now);
    Piece *piece = touch(byte);
    if (!piece)
      continue;
    piece->copy = nullptr;
    if (!std::exchange(piece->isStored, true))
      stored_.push_back(byte / kPieceBytes);
  }
  std::memcpy(bytes_.data() + at, value.data(), value.size());
  return {};
}

// ---- copies ----

Result<void> SharedMemory::startCopy(const SimtAccess &access, int64_t thread, int64_t at,
                                     ArrayRef<std::byte> piece) {
  const size_t size = piece.size();
  SINTER_TRY(checkPlace(access, "shared memory", bytes_.size(), thread, at,
                        static_cast<int64_t>(size), size));
  for (uint64_t byte = at; byte < at + size; ++byte)
    SINTER_TRY(checkWrite(access, thread, "writes", byte));
  Copy &copy = copies_.emplace_back(
      Copy{&access.op, thread, static_cast<uint64_t>(at), size, copyGroups_, {}});
  llvm::copy(piece, copy.piece.begin());
  Piece *to = touch(copy.at);
  to->copy = &access.op;
  to->copying |= maskOf(copy.at, size);
  return {};
}

void SharedMemory::waitForCopies(const ThreadClock &clock, uint64_t pending) {
  for (; !copies_.empty() && copies_.front().group + pending < copyGroups_; copies_.pop_front()) {
    const Copy &copy = copies_.front();
    llvm::copy(ArrayRef(copy.piece).take_front(copy.size),
               bytes_.begin() + static_cast<ptrdiff_t>(copy.at));
    for (uint64_t byte = copy.at; byte < copy.at + copy.size; ++byte)
      log_.write(byte, copy.thread, clock.now);
    pieceOf(copy.at)->copying &= static_cast<uint16_t>(~maskOf(copy.at, copy.size));
  }
  for (uint64_t number : stored_) {
    pieces_[number].isStored = false;
    pieces_[number].orderedIn = clock.now;
  }
  stored_.clear();
}

Operation *SharedMemory::copyInFlight() const {
  return copies_.empty() ? nullptr : copies_.front().op;
}

// ---- matmuls ----

Result<bool> SharedMemory::readForMatmul(const SimtAccess &access, const MatmulRead &product,
                                         int64_t at, MutableArrayRef<std::byte> piece) {
  SINTER_TRY(checkPlace(access, "shared memory", bytes_.size(), product.firstThread, at,
                        kPieceBytes, kPieceBytes));
  bool written = true;
  const ThreadRange who = threadsOf(product);
  Piece *from = touch(at);
  for (uint64_t byte = at; byte < static_cast<uint64_t>(at + kPieceBytes); ++byte) {
    SINTER_TRY(checkLanded(access, who, "reads", byte));
    AccessLog::Entry writer = log_.writer(byte);
    written &= writer.interval >= access.clock.program;
    if (writer.interval == access.clock.now)
      return race(access, who, "reads", byte,
                  writerText(byte, writer.thread) + " writes" + kSameInterval);
  }
  if (from->isStored || from->orderedIn == access.clock.now)
    return race(access, who, "reads", at,
                "threads have stored to: expected 'sched.copy_wait' and then a barrier between");
  std::memcpy(piece.data(), bytes_.data() + at, kPieceBytes);
  from->product = &access.op;
  from->read = product;
  oldestMatmul_ = std::min(oldestMatmul_, product.group);
  if (!std::exchange(from->multiplying, true))
    multiplying_.push_back(at / kPieceBytes);
  return written;
}

void SharedMemory::endMatmuls(const ThreadClock &clock, uint64_t ended) {
  if (oldestMatmul_ >= ended)
    return;
  oldestMatmul_ = UINT64_MAX;
  llvm::erase_if(multiplying_, [&](uint64_t number) {
    Piece &piece = pieces_[number];
    if (piece.read.group >= ended) {
      oldestMatmul_ = std::min(oldestMatmul_, piece.read.group);
      return false;
    }
    piece.multiplying = false;
    piece.readIn = clock.now;
    // As two threads of the group, so that each thread finds another one that has read.
    for (uint64_t byte = number * kPieceBytes; byte < (number + 1) * kPieceBytes; ++byte)
      for (int64_t thread : {0, 1})
        log_.read(byte, piece.read.firstThread + thread, clock.now);
    return true;
  });
}

} // namespace sinter::sched
