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

uint32_t Automaton::setNumber(MemberSet set) {
  const auto [found, isNew] = setNumbers_.try_emplace(set, static_cast<uint32_t>(sets_.size()));
  if (isNew)
    sets_.push_back(std::move(set));
  return found->second;
}

// A count goes no further than what makes a difference.
void Automaton::expandRepeat(const Expr &expr, const Frame &at) {
  if (at.position >= expr.least)
    open_.push_back(at.next);
  if (expr.most != kUnbounded && at.position >= expr.most)
    return;
  const uint32_t cap = expr.most == kUnbounded ? expr.least : expr.most;
  const uint32_t rest = frame(at.expr, std::min(at.position + 1, cap), at.next);
  open_.push_back(frame(grammar_.childrenOf(expr).front(), 0, rest));
}

void Automaton::expandList(const UnorderedList &list, const Frame &at) {
  MemberSet set =
      at.position == 0 ? MemberSet{std::vector<bool>(list.members.size())} : sets_[at.position - 1];
  bool whole = set.items >= list.least;
  for (size_t i = 0; i < list.members.size(); ++i)
    whole &= set.met[i] || !list.members[i].required;
  if (whole)
    open_.push_back(at.next);
  if (list.most != kUnbounded && set.items >= list.most)
    return;
  // Beyond this, the number of items makes no difference, but for the first one's separator.
  const uint32_t cap = list.most == kUnbounded ? std::max(list.least, 1u) : list.most;
  const bool isFirst = set.items == 0;
  const auto follow = [&](ExprId item, MemberSet after) {
    after.items = std::min(after.items + 1, cap);
    const uint32_t rest = frame(at.expr, setNumber(std::move(after)) + 1, at.next);
    const uint32_t read = frame(item, 0, rest);
    open_.push_back(isFirst ? read : frame(list.separator, 0, read));
  };
  for (size_t i = 0; i < list.members.size(); ++i) {
    if (set.met[i])
      continue;
    MemberSet after = set;
    after.met[i] = true;
    follow(list.members[i].expr, std::move(after));
  }
  if (list.others)
    follow(*list.others, set);
}

void Automaton::expand(const Frame &at) {
  const Expr &expr = grammar_.expr(at.expr);
  switch (expr.kind) {
  case ExprKind::Text:
    open_.push_back(at.next); // an empty one
    return;
  case ExprKind::Characters:
    return;
  case ExprKind::Sequence: {
    const std::span<const ExprId> parts = grammar_.childrenOf(expr);
    if (at.position == parts.size())
      return open_.push_back(at.next);
    // The last part needs no way back, so that a rule may end with itself without bound.
    const bool isLast = at.position + 1 == parts.size();
    const uint32_t rest = isLast ? at.next : frame(at.expr, at.position + 1, at.next);
    return open_.push_back(frame(parts[at.position], 0, rest));
  }
  case ExprKind::Choice:
    for (const ExprId part : grammar_.childrenOf(expr))
      open_.push_back(frame(part, 0, at.next));
    return;
  case ExprKind::Repeat:
    return expandRepeat(expr, at);
  case ExprKind::Call:
    return open_.push_back(frame(grammar_.bodyOf(expr), 0, at.next));
  case ExprKind::Unordered:
    return expandList(grammar_.listOf(expr), at);
  }
}

Result<void> Automaton::close(const FrameNumbers &from, State &state) {
  open_ = from;
  ++round_;
  while (!open_.empty()) {
    const uint32_t number = open_.back();
    open_.pop_back();
    if (frames_.size() > kMostFrames)
      return fail(Code::Exhausted, "the grammar leaves too many ways to go on");
    met_.resize(frames_.size());
    if (std::exchange(met_[number], round_) == round_)
      continue;
    if (number == 0) {
      state.accepts = true;
      continue;
    }
    const Frame at = frames_[number]; // the vector may grow
    const Expr &expr = grammar_.expr(at.expr);
    const bool reads = expr.kind == ExprKind::Characters ||
                       (expr.kind == ExprKind::Text && at.position < expr.count);
    if (reads)
      state.terminals.push_back(number);
    else
      expand(at);
  }
  std::sort(state.terminals.begin(), state.terminals.end());
  return {};
}

Result<StateId> Automaton::stateOf(const FrameNumbers &from) {
  if (from.empty())
    return kDead;
  State state;
  SINTER_TRY(close(from, state));
  FrameNumbers key = state.terminals;
  if (state.accepts)
    key.push_back(0);
  const StateId number{static_cast<uint32_t>(states_.size())};
  const auto [found, isNew] = stateNumbers_.try_emplace(std::move(key), number);
  if (!isNew)
    return found->second;
  if (states_.size() >= kMostStates) {
    stateNumbers_.erase(found);
    return fail(Code::Exhausted, "the grammar needs more than " + std::to_string(kMostStates) +
                                     " states: it is too ambiguous, or counts too far");
  }
  states_.push_back(std::move(state));
  return number;
}

void Automaton::readText(const Frame &at) {
  const Expr &expr = grammar_.expr(at.expr);
  const auto byte = static_cast<uint8_t>(grammar_.textOf(expr)[at.position]);
  const bool isLast = at.position + 1 == expr.count;
  afterByte_[byte].push_back(isLast ? at.next : frame(at.expr, at.position + 1, at.next));
}

void Automaton::readCharacter(const Frame &at) {
  const CharacterSet &set = grammar_.setOf(grammar_.expr(at.expr));
  const PartialCode partial(at.position);
  for (unsigned byte = 0; byte < 256; ++byte)
    if (const auto read = partial.read(static_cast<uint8_t>(byte), set))
      afterByte_[byte].push_back(
          read->isWhole() ? at.next : frame(at.expr, read->generalized(set).number(), at.next));
}

Result<const Automaton::Row *> Automaton::row(StateId state) {
  if (const auto &made = states_[state.index].row)
    return made.get();
  for (FrameNumbers &frames : afterByte_)
    frames.clear();
  const FrameNumbers terminals = states_[state.index].terminals;
  for (const uint32_t number : terminals) {
    const Frame at = frames_[number];
    grammar_.expr(at.expr).kind == ExprKind::Text ? readText(at) : readCharacter(at);
  }
  auto made = std::make_unique<Row>();
  std::map<FrameNumbers, StateId> known; // most bytes lead to one of few states
  for (size_t byte = 0; byte < 256; ++byte) {
    const FrameNumbers &frames = afterByte_[byte];
    if (byte > 0 && frames == afterByte_[byte - 1]) {
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
  states_[state.index].row = std::move(made);
  return states_[state.index].row.get();
}

Result<StateId> Automaton::next(StateId state, uint8_t byte) {
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
