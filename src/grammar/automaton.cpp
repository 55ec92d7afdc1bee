// States by closure: what can be read next, whatever calls, choices and repetitions lie before it.
#include "grammar/automaton.h"

#include "grammar/utf8_reader.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

// Mixes numbers into a hash as boost::hash_combine's 64-bit form does.
void mix(size_t &hash, uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ull + (hash << 12) + (hash >> 4);
}

} // namespace

size_t Automaton::FrameHash::operator()(const Frame &frame) const {
  size_t hash = frame.expr.index;
  mix(hash, frame.position);
  mix(hash, frame.next);
  return hash;
}

size_t Automaton::NumbersHash::operator()(const FrameNumbers &numbers) const {
  size_t hash = numbers.size();
  for (const uint32_t number : numbers)
    mix(hash, number);
  return hash;
}

Result<std::unique_ptr<Automaton>> Automaton::create(Grammar grammar) {
  SINTER_TRY(grammar.check());
  std::unique_ptr<Automaton> made(new Automaton(std::move(grammar)));
  made->states_.emplace_back(); // kDead
  made->stateNumbers_[{}] = kDead;
  SINTER_TRY(made->excludeEmptyPairs());
  if (!made->grammar_.canMatch(made->grammar_.root()))
    return fail(Code::InvalidArgument, "no text can match the grammar");
  const uint32_t root = made->frame(made->grammar_.root(), 0, 0);
  SINTER_ASSIGN(made->start_, made->stateOf({root}));
  return made;
}

uint32_t Automaton::frame(ExprId expr, uint32_t position, uint32_t next) {
  const Frame made{expr, position, next};
  const auto [found, isNew] = numberOf_.try_emplace(made, static_cast<uint32_t>(frames_.size()));
  if (isNew)
    frames_.push_back(made);
  return found->second;
}

// A count goes no further than what makes a difference.
void Automaton::expandRepeat(const Expr &expr, const Frame &at, FrameNumbers &open) {
  const ExprId part = grammar_.childrenOf(expr).front();
  if (at.position >= expr.least)
    open.push_back(at.next);
  if (!grammar_.canMatch(part))
    return;
  if (expr.most != kUnbounded && at.position >= expr.most)
    return;
  const uint32_t cap = expr.most == kUnbounded ? expr.least : expr.most;
  const uint32_t rest = frame(at.expr, std::min(at.position + 1, cap), at.next);
  open.push_back(frame(part, 0, rest));
}

// A pair that no text ends is left out, so that no text runs into it.
Result<void> Automaton::expandPair(const Frame &at, FrameNumbers &open) {
  if (at.position > 0) {
    if (accepts(pairs_[at.position - 1]))
      open.push_back(at.next);
    return {};
  }
  SINTER_ASSIGN(const uint32_t pair, beginningOf(at.expr));
  SINTER_ASSIGN(const bool ends, canEnd(pair));
  if (ends)
    open.push_back(frame(at.expr, pair + 1, at.next));
  return {};
}

Result<void> Automaton::expand(const Frame &at, FrameNumbers &open) {
  const Expr &expr = grammar_.expr(at.expr);
  switch (expr.kind) {
  case ExprKind::Text:
    if (at.position == expr.count) // an empty one
      open.push_back(at.next);
    break;
  case ExprKind::Characters:
    break;
  case ExprKind::Sequence: {
    const std::span<const ExprId> parts = grammar_.childrenOf(expr);
    if (at.position == parts.size()) {
      open.push_back(at.next);
      break;
    }
    // The last part needs no way back, so that a rule may end with itself without bound.
    const bool isLast = at.position + 1 == parts.size();
    const uint32_t rest = isLast ? at.next : frame(at.expr, at.position + 1, at.next);
    open.push_back(frame(parts[at.position], 0, rest));
    break;
  }
  case ExprKind::Choice:
    for (const ExprId part : grammar_.childrenOf(expr))
      if (grammar_.canMatch(part))
        open.push_back(frame(part, 0, at.next));
    break;
  case ExprKind::Repeat:
    expandRepeat(expr, at, open);
    break;
  case ExprKind::Call:
    open.push_back(frame(grammar_.bodyOf(expr), 0, at.next));
    break;
  case ExprKind::Both:
  case ExprKind::Except:
    return expandPair(at, open);
  }
  return {};
}

bool Automaton::readsByte(const Frame &at) const {
  const Expr &expr = grammar_.expr(at.expr);
  const bool isPair = expr.kind == ExprKind::Both || expr.kind == ExprKind::Except;
  return expr.kind == ExprKind::Characters || (isPair && at.position > 0) ||
         (expr.kind == ExprKind::Text && at.position < expr.count);
}

Result<void> Automaton::close(FrameNumbers open, State &state) {
  constexpr size_t kFramesForOne = 1024; // that can be cleared while one is looked at
  SINTER_TRY(spend(frames_.size() / kFramesForOne));
  std::vector<bool> met(frames_.size());
  while (!open.empty()) {
    const uint32_t number = open.back();
    open.pop_back();
    SINTER_TRY(spend(1));
    if (met.size() < frames_.size())
      met.resize(frames_.size());
    if (met[number])
      continue;
    met[number] = true;
    if (number == 0) {
      state.accepts = true;
      continue;
    }
    const Frame at = frames_[number]; // the vector may grow
    if (readsByte(at))
      state.terminals.push_back(number);
    SINTER_TRY(expand(at, open));
  }
  std::sort(state.terminals.begin(), state.terminals.end());
  return {};
}

Result<void> Automaton::spend(uint64_t work) {
  work_ += work;
  if (work_ <= kMostWork && frames_.size() <= kMostFrames)
    return work_ <= pauseAt_ ? Result<void>()
                             : fail(Code::Timeout, "the grammar needs more work than was allowed");
  return fail(Code::Unsupported,
              "the grammar leaves too many ways to go on: it is too ambiguous, or "
              "counts too far");
}

size_t Automaton::bytes() const {
  constexpr size_t kFrame = 4 * sizeof(Frame), kState = 2 * sizeof(State) + 64; // with their maps
  return frames_.size() * kFrame + alikeFrames_.size() * sizeof(uint32_t) +
         states_.size() * kState + terminalCount_ * 2 * sizeof(uint32_t) + rowCount_ * sizeof(Row) +
         steps_.size() * (sizeof(CharacterSteps) + 64) + spare_.size() * sizeof(ByteFrames) +
         pairs_.size() * 4 * sizeof(Pair) + grammar_.bytes();
}

Result<StateId> Automaton::stateOf(const FrameNumbers &from) {
  if (from.empty())
    return kDead;
  State state;
  SINTER_TRY(close(from, state));
  return stateOf(std::move(state));
}

Result<StateId> Automaton::stateOf(State state) {
  FrameNumbers key = state.terminals;
  if (state.accepts)
    key.push_back(0);
  const StateId number{static_cast<uint32_t>(states_.size())};
  const auto [found, isNew] = stateNumbers_.try_emplace(std::move(key), number);
  if (!isNew)
    return found->second;
  if (states_.size() >= kMostStates) {
    stateNumbers_.erase(found);
    return fail(Code::Unsupported, "the grammar needs more than " + std::to_string(kMostStates) +
                                       " states: it is too ambiguous, or counts too far");
  }
  terminalCount_ += state.terminals.size();
  states_.push_back(std::move(state));
  return number;
}

// Each repetition reads a byte at least, so what lies further than the horizon makes no difference.
uint32_t Automaton::alikePosition(const Frame &at) const {
  const Expr &expr = grammar_.expr(at.expr);
  if (expr.kind != ExprKind::Repeat || grammar_.mayBeEmpty(grammar_.childrenOf(expr).front()))
    return at.position;
  const uint32_t ahead = expr.most == kUnbounded ? UINT32_MAX : expr.most - at.position;
  if (ahead <= horizon_)
    return at.position;
  if (at.position >= expr.least)
    return expr.least;
  return expr.least - std::min(expr.least - at.position, std::min(horizon_, expr.least));
}

Result<uint32_t> Automaton::alikeFrame(uint32_t number) {
  FrameNumbers open; // from the frame on, those that are not known
  const auto known = [&](uint32_t at) {
    return at == 0 || (at < alikeFrames_.size() && alikeFrames_[at] != 0);
  };
  for (; !known(number); number = frames_[number].next)
    open.push_back(number);
  SINTER_TRY(spend(open.size()));
  uint32_t made = number == 0 ? 0 : alikeFrames_[number];
  for (; !open.empty(); open.pop_back()) {
    const Frame at = frames_[open.back()];
    made = frame(at.expr, alikePosition(at), made);
    if (alikeFrames_.size() < frames_.size())
      alikeFrames_.resize(frames_.size());
    alikeFrames_[open.back()] = alikeFrames_[made] = made;
  }
  return made;
}

// Pairs are alike to themselves alone: how far a text of both can go on depends on all that
// follows.
Result<StateId> Automaton::alike(StateId state) {
  if (states_[state.index].alike != kDead || state == kDead)
    return states_[state.index].alike;
  State made;
  made.accepts = states_[state.index].accepts;
  const FrameNumbers terminals = states_[state.index].terminals;
  for (const uint32_t number : terminals) {
    SINTER_ASSIGN(const uint32_t one, alikeFrame(number));
    made.terminals.push_back(one);
  }
  std::ranges::sort(made.terminals);
  made.terminals.erase(std::unique(made.terminals.begin(), made.terminals.end()),
                       made.terminals.end());
  SINTER_ASSIGN(const StateId one, stateOf(std::move(made)));
  states_[one.index].alike = one;
  states_[state.index].alike = one;
  return one;
}

void Automaton::readText(const Frame &at, ByteFrames &after) {
  const Expr &expr = grammar_.expr(at.expr);
  after[static_cast<uint8_t>(grammar_.textOf(expr)[at.position])].push_back(textAfter(at));
}

uint32_t Automaton::textAfter(const Frame &at) {
  const bool isLast = at.position + 1 == grammar_.expr(at.expr).count;
  return isLast ? at.next : frame(at.expr, at.position + 1, at.next);
}

constexpr uint32_t kNoCode = UINT32_MAX;

const Automaton::CharacterSteps &Automaton::stepsOf(uint32_t number, uint32_t partial) {
  std::unique_ptr<CharacterSteps> &steps = steps_[{number, partial}];
  if (steps)
    return *steps;
  steps = std::make_unique<CharacterSteps>();
  const CharacterSet &set = grammar_.setNumber(number);
  for (unsigned byte = 0; byte < steps->size(); ++byte) {
    const auto read = PartialCode(partial).read(static_cast<uint8_t>(byte), set);
    (*steps)[byte] = !read ? kNoCode : read->isWhole() ? 0 : read->generalized(set).number();
  }
  return *steps;
}

void Automaton::readCharacter(const Frame &at, ByteFrames &after) {
  const CharacterSteps &steps = stepsOf(grammar_.expr(at.expr).begin, at.position);
  uint32_t last = kNoCode, left = 0;
  for (unsigned byte = 0; byte < steps.size(); ++byte) {
    if (steps[byte] == kNoCode)
      continue;
    if (steps[byte] != last)
      left = steps[byte] == 0 ? at.next : frame(at.expr, steps[byte], at.next);
    last = steps[byte];
    after[byte].push_back(left);
  }
}

std::optional<uint32_t> Automaton::widestSet(StateId state) const {
  std::optional<uint32_t> widest;
  size_t most = 0;
  for (const uint32_t number : states_[state.index].terminals) {
    const Frame &at = frames_[number];
    const Expr &expr = grammar_.expr(at.expr);
    if (expr.kind != ExprKind::Characters || at.position > 0)
      continue;
    if (const size_t size = grammar_.setOf(expr).size(); size > most) {
      most = size;
      widest = expr.begin;
    }
  }
  return widest;
}

// Whether a terminal may begin to read a character of the set.
bool Automaton::mayRead(const Frame &at, const CharacterSet &set) const {
  const Expr &expr = grammar_.expr(at.expr);
  if (expr.kind == ExprKind::Characters)
    return at.position == 0 &&
           std::ranges::any_of(grammar_.setOf(expr).ranges(), [&](const CodeRange &range) {
             return set.meets(range.first, range.last);
           });
  if (expr.kind != ExprKind::Text)
    return true;
  const auto byte = static_cast<uint8_t>(grammar_.textOf(expr)[at.position]);
  return byte < 0x80 ? set.contains(byte) : byte >= 0xC0; // others begin no character
}

Result<SetStep> Automaton::afterSet(StateId state, uint32_t set) {
  FrameNumbers left;
  SetStep step{set, kDead, true};
  for (const uint32_t number : states_[state.index].terminals) {
    const Frame &at = frames_[number];
    const Expr &expr = grammar_.expr(at.expr);
    if (expr.kind == ExprKind::Characters && at.position == 0 && expr.begin == set)
      left.push_back(at.next);
    else if (mayRead(at, grammar_.setNumber(set)))
      step.isOnly = false;
  }
  SINTER_ASSIGN(step.after, stateOf(left));
  return step;
}

Result<void> Automaton::readBytes(StateId state, ByteFrames &after) {
  for (FrameNumbers &frames : after)
    frames.clear();
  constexpr uint64_t kOfTerminal = 64; // a terminal may go on by each byte
  SINTER_TRY(spend(kOfTerminal * states_[state.index].terminals.size()));
  const FrameNumbers terminals = states_[state.index].terminals; // states move while pairs are read
  for (const uint32_t number : terminals) {
    const Frame at = frames_[number];
    const ExprKind kind = grammar_.expr(at.expr).kind;
    if (kind == ExprKind::Text)
      readText(at, after);
    else if (kind == ExprKind::Characters)
      readCharacter(at, after);
    else
      SINTER_TRY(readPair(at, after));
  }
  return {};
}

// Rows are made within rows where a pair of expressions needs those of its sides.
Result<const Automaton::Row *> Automaton::row(StateId state) {
  if (const auto &made = states_[state.index].row)
    return made.get();
  if (spare_.empty())
    spare_.push_back(std::make_unique<ByteFrames>());
  std::unique_ptr<ByteFrames> after = std::move(spare_.back());
  spare_.pop_back();
  SINTER_TRY(readBytes(state, *after));
  auto made = std::make_unique<Row>();
  std::map<FrameNumbers, StateId> known; // most bytes lead to one of few states
  for (size_t byte = 0; byte < made->size(); ++byte) {
    const FrameNumbers &frames = (*after)[byte];
    if (byte > 0 && frames == (*after)[byte - 1]) {
      (*made)[byte] = (*made)[byte - 1];
      continue;
    }
    auto found = known.find(frames);
    if (found == known.end()) {
      SINTER_ASSIGN(const StateId next, stateOf(frames));
      found = known.emplace(frames, next).first;
    }
    (*made)[byte] = found->second;
  }
  spare_.push_back(std::move(after));
  states_[state.index].row = std::move(made);
  ++rowCount_;
  return states_[state.index].row.get();
}

// What is left after one byte; nothing where a pair needs the whole row.
Result<std::optional<Automaton::FrameNumbers>> Automaton::readByte(StateId state, uint8_t byte) {
  FrameNumbers after;
  SINTER_TRY(spend(states_[state.index].terminals.size()));
  for (const uint32_t number : states_[state.index].terminals) {
    const Frame at = frames_[number];
    const Expr &expr = grammar_.expr(at.expr);
    if (expr.kind == ExprKind::Text) {
      if (static_cast<uint8_t>(grammar_.textOf(expr)[at.position]) == byte)
        after.push_back(textAfter(at));
    } else if (expr.kind == ExprKind::Characters) {
      if (const uint32_t step = stepsOf(expr.begin, at.position)[byte]; step != kNoCode)
        after.push_back(step == 0 ? at.next : frame(at.expr, step, at.next));
    } else {
      return std::nullopt;
    }
  }
  return after;
}

// Rows are for states that many texts come to; those of a long text are of a byte each.
Result<StateId> Automaton::next(StateId state, uint8_t byte) {
  if (const auto &made = states_[state.index].row)
    return (*made)[byte];
  SINTER_ASSIGN(const std::optional<FrameNumbers> after, readByte(state, byte));
  if (after)
    return stateOf(*after);
  SINTER_ASSIGN(const Row *all, row(state));
  return (*all)[byte];
}

Result<StateId> Automaton::next(StateId state, std::string_view bytes) {
  for (const char byte : bytes) {
    SINTER_ASSIGN(state, next(state, static_cast<uint8_t>(byte)));
    if (state == kDead)
      break;
  }
  return state;
}

} // namespace sinter::grammar
