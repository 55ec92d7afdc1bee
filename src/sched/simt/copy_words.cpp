// The group of copies that a round commits is waited for when the round begins that reads its
// tiles. By then the words of that round have landed, which are in this group or an earlier one.
// Two places go around with the loop: that of its round's words, and the one that was read last,
// which the copies go to.
#include "sched/simt/copy_words.h"
#include "base/check.h"
#include "sched/simt/decisions.h"
#include "sched/simt/layout.h"
#include "sched/simt/loads_ahead.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kWord = 4, kLongest = 16, kByteBits = 8;

// A load, and where its copies lie.
struct Piece {
  ViewLoadOp load;
  int64_t bytes = 0; // whole words
  int64_t copy = 0;  // bytes of one of its copies
  int64_t first = 0; // byte of a place at which the threads' words begin
};

int64_t bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() *
         (vector ? vector.getNumElements() : 1) / kByteBits;
}

class Copier {
public:
  Copier(tile::KernelOp kernel, scf::ForOp loop, int64_t base)
      : kernel_(kernel), loop_(loop), base_(base), b_(loop), loc_(loop.getLoc()) {}
  bool plan(const SimtFacts &facts);
  void run();

private:
  Value i32(int64_t value) { return arith::ConstantIntOp::create(b_, loc_, value, 32); }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  template <class Op> Value fold(Value a, Value b) { return b_.createOrFold<Op>(loc_, a, b); }
  bool findGroups();
  bool addPiece(ViewLoadOp load);
  void placePieces();
  bool hoistPlaces();
  Value inPlace(const Piece &piece, Value place);
  void copyAll(Value at, Value place);
  void read(const Piece &piece, Value place);
  Value behind(Value place);

  int64_t groups() const { return static_cast<int64_t>(before_.size()); }
  int64_t end(int64_t rounds) const { return base_ + (rounds + 1) * bytes_; }

  tile::KernelOp kernel_;
  scf::ForOp loop_;
  int64_t base_;
  int64_t bytes_ = 0;  // of a place
  int64_t rounds_ = 0; // that copies of words run ahead
  OpBuilder b_;
  Location loc_;
  LoadsAhead ahead_;
  SmallVector<Piece> pieces_;
  SmallVector<CopyCommitOp> before_; // of the groups that are under way when the loop begins
  CopyCommitOp commit_;              // of a round's group
  Value thread_;
};

// One wait, which leaves all groups of tiles under way but the round's own, and one group.
bool Copier::findGroups() {
  auto waits = llvm::to_vector(loop_.getBody()->getOps<CopyWaitOp>());
  auto commits = llvm::to_vector(loop_.getBody()->getOps<CopyCommitOp>());
  if (waits.size() != 1 || commits.size() != 1 || !waits[0]->isBeforeInBlock(commits[0]))
    return false;
  commit_ = commits[0];
  for (Operation &op : *loop_->getBlock()) {
    if (&op == loop_.getOperation())
      break;
    if (isa<CopyWaitOp>(op))
      before_.clear();
    if (auto commit = dyn_cast<CopyCommitOp>(op))
      before_.push_back(commit);
  }
  return groups() > 0 && groups() == static_cast<int64_t>(waits[0].getPending()) + 1;
}

// A load of less than a word reads a part of the word around it.
bool Copier::addPiece(ViewLoadOp load) {
  const int64_t bytes = bytesOf(load.getResult().getType());
  const int64_t align = load.getAlign() ? static_cast<int64_t>(*load.getAlign()) : bytes;
  if (!llvm::isPowerOf2_64(bytes) || align < std::min(bytes, kWord) ||
      !(matchPattern(load.getOther(), m_Zero()) || matchPattern(load.getOther(), m_AnyZeroFloat())))
    return false;
  const int64_t whole = std::max(kWord, bytes);
  pieces_.push_back({load, whole, std::min({whole, std::max(kWord, align), kLongest})});
  return true;
}

// Threads' words of one load lie beside one another, the longest first.
void Copier::placePieces() {
  const int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  int64_t longest = 0;
  for (const Piece &piece : pieces_)
    longest = std::max(longest, piece.bytes);
  for (int64_t bytes = longest; bytes >= kWord; bytes /= 2)
    for (Piece &piece : pieces_)
      if (piece.bytes == bytes) {
        piece.first = bytes_;
        bytes_ += bytes * threads;
      }
}

// The first groups' copies need values that are made behind them.
bool Copier::hoistPlaces() {
  SetVector<Value> values;
  values.insert(loop_.getLowerBound());
  values.insert(loop_.getUpperBound());
  values.insert(loop_.getStep());
  auto add = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (loop_.isDefinedOutsideOfLoop(operand))
        values.insert(operand);
  };
  llvm::for_each(ahead_.needed, add);
  for (const Piece &piece : pieces_)
    add(piece.load);
  return makeBefore(values.getArrayRef(), before_.front());
}

bool Copier::plan(const SimtFacts &facts) {
  if (!findGroups())
    return false;
  ahead_ = loadsAhead(loop_);
  if (ahead_.loads.empty() ||
      !llvm::all_of(ahead_.loads, [&](ViewLoadOp load) { return addPiece(load); }))
    return false;
  placePieces();
  rounds_ = std::max(groups(), decisionOf(kernel_, kCopiesWords, 0));
  while (rounds_ > groups() && end(rounds_) > facts.maxShared)
    --rounds_;
  return end(rounds_) <= facts.maxShared && hoistPlaces();
}

// The thread's own words; what is constant stands last, for the instruction.
Value Copier::inPlace(const Piece &piece, Value place) {
  Value own = fold<arith::MulIOp>(thread_, i32(piece.bytes));
  return fold<arith::AddIOp>(fold<arith::AddIOp>(place, own), i32(piece.first));
}

// The words of the round at `at`, if there is one.
void Copier::copyAll(Value at, Value place) {
  IRMapping map;
  map.map(loop_.getInductionVar(), at);
  Value isThere = isBelow(b_, loc_, at, loop_.getUpperBound());
  for (Operation *op : ahead_.needed)
    b_.clone(*op, map);
  for (const Piece &piece : pieces_) {
    ViewLoadOp load = piece.load;
    Value byte = map.lookupOrDefault(load.getByte()), shared = inPlace(piece, place);
    Value when = fold<arith::AndIOp>(map.lookupOrDefault(load.getWhen()), isThere);
    if (bytesOf(load.getResult().getType()) < kWord)
      byte = fold<arith::AndIOp>(byte, index(-kWord));
    for (int64_t part = 0; part < piece.bytes; part += piece.copy)
      CopyAsyncOp::create(b_, loc_, load.getView(), fold<arith::AddIOp>(byte, index(part)), when,
                          fold<arith::AddIOp>(shared, i32(part)), piece.copy);
  }
}

void Copier::read(const Piece &piece, Value place) {
  ViewLoadOp load = piece.load;
  b_.setInsertionPoint(load);
  Value byte = inPlace(piece, place);
  if (bytesOf(load.getResult().getType()) < kWord) {
    Value within = fold<arith::AndIOp>(load.getByte(), index(kWord - 1));
    byte = fold<arith::AddIOp>(byte,
                               b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), within));
  }
  Value word = SharedLoadOp::create(b_, loc_, load.getResult().getType(), byte);
  load.getResult().replaceAllUsesWith(word);
  load.erase();
}

// The place behind `place`; the first one behind the last.
Value Copier::behind(Value place) {
  Value next = fold<arith::AddIOp>(place, i32(bytes_));
  Value isEnd =
      b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, next, i32(end(rounds_)));
  return b_.createOrFold<arith::SelectOp>(loc_, isEnd, i32(base_), next);
}

void Copier::run() {
  b_.setInsertionPoint(before_.front());
  thread_ = ThreadOp::create(b_, loc_, b_.getI32Type());
  for (int64_t round = 0; round < rounds_; ++round) {
    b_.setInsertionPoint(before_[std::max<int64_t>(0, round - (rounds_ - groups()))]);
    Value later = fold<arith::MulIOp>(loop_.getStep(), index(round));
    copyAll(fold<arith::AddIOp>(loop_.getLowerBound(), later), i32(base_ + round * bytes_));
  }
  b_.setInsertionPoint(loop_);
  const SmallVector<Value> first{i32(base_), i32(base_ + rounds_ * bytes_)};
  IRRewriter rewriter(b_);
  auto next = [&](OpBuilder &, Location, ArrayRef<BlockArgument> places) {
    b_.setInsertionPointToStart(loop_.getBody());
    return SmallVector<Value>{behind(places[0]), places[0]};
  };
  FailureOr<LoopLikeOpInterface> made = loop_.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false, next);
  SINTER_CHECK(succeeded(made));
  loop_ = cast<scf::ForOp>(**made);
  auto places = loop_.getRegionIterArgs().take_back(first.size());
  b_.setInsertionPoint(commit_);
  Value later = fold<arith::MulIOp>(loop_.getStep(), index(rounds_));
  copyAll(fold<arith::AddIOp>(loop_.getInductionVar(), later), places[1]);
  for (const Piece &piece : pieces_)
    read(piece, places[0]);
  const int64_t shared = kernel_->getAttrOfType<IntegerAttr>(kSharedName).getInt();
  kernel_->setAttr(kSharedName, b_.getI64IntegerAttr(std::max(shared, end(rounds_))));
}

} // namespace

bool copyWords(tile::KernelOp kernel, scf::ForOp loop, int64_t base, const SimtFacts &facts) {
  Copier copier(kernel, loop, base);
  if (!copier.plan(facts))
    return false;
  copier.run();
  return true;
}

} // namespace sinter::sched
