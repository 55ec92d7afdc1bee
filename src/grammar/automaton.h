// A grammar as a machine over bytes. Its states are made when they are first needed: a state is the
// set of ways in which the text so far can go on, each a stack of expressions that are left.
#pragma once

#include "grammar/grammar.h"

#include <array>
#include <map>
#include <memory>
#include <unordered_map>

namespace sinter::grammar {

struct StateId {
  uint32_t index = 0;
  friend auto operator<=>(const StateId &, const StateId &) = default;
};
// No text goes on from here.
inline constexpr StateId kDead{0};

// What follows any character of a set.
struct SetStep {
  uint32_t set = 0;
  StateId after = kDead; // a text that goes on from here goes on after the character, too
  bool isOnly = false;   // and no other text does
};

// For one thread. Unsupported, from any call: the grammar is so ambiguous, or counts so far, that
// it would take more states, frames or work than there may be.
class Automaton {
public:
  static constexpr size_t kMostStates = 32'768;
  static constexpr size_t kMostFrames = size_t{1} << 20;
  // Frames that are looked at, terminals that are read and bytes that pairs are followed by, from
  // the beginning on: about two seconds, since a step of a model waits for its masks.
  static constexpr uint64_t kMostWork = uint64_t{1} << 23;

  // Errors: Grammar::check's too.
  static Result<std::unique_ptr<Automaton>> create(Grammar grammar);

  // From now on calls give up after so much work, with Timeout. The next one goes on from what they
  // made, and needs to be allowed more where it gets no further.
  void allow(uint64_t work) { pauseAt_ = work > kMostWork ? UINT64_MAX : work_ + work; }
  const Grammar &grammar() const { return grammar_; }
  // Of memory, about.
  size_t bytes() const;
  // Whether much of what it may take is taken, so that new texts should have a new one.
  bool isWorn() const { return work_ > kMostWork / 4 || states_.size() > kMostStates / 4; }

  StateId start() const { return start_; }
  using Row = std::array<StateId, 256>; // the state after each byte
  // Valid until the automaton dies.
  Result<const Row *> row(StateId state);
  Result<StateId> next(StateId state, uint8_t byte);
  // From now on states are alike where they read the same texts of so many bytes, as far as their
  // repetitions tell: once, before any call of alike().
  void lookAhead(uint32_t bytes) { horizon_ = bytes; }
  // One of the states that are alike, for all of them the same; the text may end in all of them or
  // in none.
  Result<StateId> alike(StateId state);
  // Dead where the text does not fit.
  Result<StateId> next(StateId state, std::string_view bytes);
  // The largest set, by its number, whose characters may all come next; nothing: there is none.
  std::optional<uint32_t> widestSet(StateId state) const;
  const CharacterSet &setNumber(uint32_t set) const { return grammar_.setNumber(set); }
  Result<SetStep> afterSet(StateId state, uint32_t set);
  // Whether the text may end here.
  bool accepts(StateId state) const { return states_[state.index].accepts; }

private:
  // What is left of a text: `expr` from `position` on, then `next`. Position counts bytes of Text,
  // parts of Sequence and Repeat; of Characters it is what was read of a code point; of Both and
  // Except the number of a Pair, plus 1; 0 is their beginning.
  struct Frame {
    ExprId expr;
    uint32_t position = 0;
    uint32_t next = 0; // a frame; 0: nothing is left
    friend bool operator==(const Frame &, const Frame &) = default;
  };
  struct FrameHash {
    size_t operator()(const Frame &frame) const;
  };
  using FrameNumbers = std::vector<uint32_t>; // sorted
  struct NumbersHash {
    size_t operator()(const FrameNumbers &numbers) const;
  };
  struct State {
    FrameNumbers terminals; // frames that read a byte
    bool accepts = false;
    StateId alike = kDead; // kDead: not known
    std::unique_ptr<Row> row;
  };
  // Where the two sides of Both or Except are.
  struct Pair {
    StateId a, b;
    bool isExcept;
    friend auto operator<=>(const Pair &, const Pair &) = default;
  };

  explicit Automaton(Grammar grammar) : grammar_(std::move(grammar)) {}

  uint32_t frame(ExprId expr, uint32_t position, uint32_t next);
  Result<StateId> stateOf(const FrameNumbers &from);
  Result<StateId> stateOf(State state);
  uint32_t alikePosition(const Frame &frame) const;
  Result<uint32_t> alikeFrame(uint32_t number);
  Result<void> close(FrameNumbers open, State &state);
  Result<void> expand(const Frame &frame, FrameNumbers &open);
  void expandRepeat(const Expr &expr, const Frame &frame, FrameNumbers &open);
  Result<void> expandPair(const Frame &frame, FrameNumbers &open);
  bool readsByte(const Frame &frame) const;
  using ByteFrames = std::array<FrameNumbers, 256>; // what is left after each byte
  Result<void> readBytes(StateId state, ByteFrames &after);
  Result<std::optional<FrameNumbers>> readByte(StateId state, uint8_t byte);
  void readText(const Frame &frame, ByteFrames &after);
  uint32_t textAfter(const Frame &frame);
  void readCharacter(const Frame &frame, ByteFrames &after);
  bool mayRead(const Frame &frame, const CharacterSet &set) const;
  // What a set of characters reads: by byte the number of the PartialCode after it.
  using CharacterSteps = std::array<uint32_t, 256>;
  const CharacterSteps &stepsOf(uint32_t set, uint32_t partial);
  Result<void> readPair(const Frame &frame, ByteFrames &after);

  Result<void> excludeEmptyPairs();
  uint32_t pairNumber(const Pair &pair);
  Result<uint32_t> beginningOf(ExprId expr);
  bool accepts(const Pair &pair) const;
  using PairRow = std::array<uint32_t, 256>; // kNoPair: no text goes on
  Result<PairRow> after(uint32_t pair);
  Result<bool> canEnd(uint32_t pair);

  Result<void> spend(uint64_t work);

  Grammar grammar_;
  uint64_t work_ = 0, pauseAt_ = UINT64_MAX;
  size_t rowCount_ = 0, terminalCount_ = 0;
  uint32_t horizon_ = UINT32_MAX;
  StateId start_;
  std::vector<Frame> frames_{Frame{}};
  std::unordered_map<Frame, uint32_t, FrameHash> numberOf_;
  std::vector<uint32_t> alikeFrames_; // by frame; 0: not known
  std::vector<Pair> pairs_;
  std::map<Pair, uint32_t> pairNumbers_;
  std::unordered_map<uint32_t, bool> canEnd_; // of pairs
  std::vector<State> states_;
  std::unordered_map<FrameNumbers, StateId, NumbersHash> stateNumbers_; // by terminals and accept
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<CharacterSteps>> steps_;
  std::vector<std::unique_ptr<ByteFrames>> spare_; // of row(), kept for their memory
};

} // namespace sinter::grammar
