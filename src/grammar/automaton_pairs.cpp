// Texts that two expressions share, or that one has and the other has not: both run side by side.
#include "grammar/automaton.h"

#include <algorithm>

namespace sinter::grammar {

static constexpr uint32_t kNoPair = UINT32_MAX;

uint32_t Automaton::pairNumber(const Pair &pair) {
  const auto [found, isNew] = pairNumbers_.try_emplace(pair, static_cast<uint32_t>(pairs_.size()));
  if (isNew)
    pairs_.push_back(pair);
  return found->second;
}

Result<uint32_t> Automaton::beginningOf(ExprId id) {
  const Expr expr = grammar_.expr(id);
  StateId sides[2];
  for (size_t i = 0; i < 2; ++i) {
    const ExprId side = grammar_.childrenOf(expr)[i];
    if (!grammar_.canMatch(side))
      continue;
    SINTER_ASSIGN(sides[i], stateOf({frame(side, 0, 0)}));
  }
  return pairNumber({sides[0], sides[1], expr.kind == ExprKind::Except});
}

bool Automaton::accepts(const Pair &pair) const {
  return accepts(pair.a) && accepts(pair.b) != pair.isExcept;
}

Result<Automaton::PairRow> Automaton::after(uint32_t number) {
  SINTER_TRY(spend(256));
  const Pair pair = pairs_[number];
  SINTER_ASSIGN(const Row *a, row(pair.a));
  SINTER_ASSIGN(const Row *b, row(pair.b));
  PairRow next;
  for (size_t byte = 0; byte < next.size(); ++byte) {
    const Pair made{(*a)[byte], (*b)[byte], pair.isExcept};
    const bool goesOn = made.a != kDead && (made.isExcept || made.b != kDead);
    next[byte] = goesOn ? pairNumber(made) : kNoPair;
  }
  if (pairs_.size() > kMostStates)
    return fail(Code::Unsupported,
                "two patterns at once need more than " + std::to_string(kMostStates) + " states");
  return next;
}

// A search for a pair that accepts. Where there is none, none of those that were met has one.
Result<bool> Automaton::canEnd(uint32_t number) {
  if (const auto known = canEnd_.find(number); known != canEnd_.end())
    return known->second;
  std::vector<uint32_t> met{number};
  std::unordered_map<uint32_t, bool> isMet{{number, true}};
  for (size_t at = 0; at < met.size(); ++at) {
    if (accepts(pairs_[met[at]]))
      return canEnd_[number] = true;
    SINTER_ASSIGN(const PairRow next, after(met[at]));
    for (const uint32_t one : next)
      if (one != kNoPair && isMet.try_emplace(one, true).second)
        met.push_back(one);
  }
  for (const uint32_t one : met)
    canEnd_[one] = false;
  return false;
}

Result<void> Automaton::readPair(const Frame &at, ByteFrames &read) {
  SINTER_ASSIGN(const PairRow next, after(at.position - 1));
  for (size_t byte = 0; byte < next.size(); ++byte) {
    if (next[byte] == kNoPair)
      continue;
    SINTER_ASSIGN(const bool ends, canEnd(next[byte]));
    if (ends)
      read[byte].push_back(frame(at.expr, next[byte] + 1, at.next));
  }
  return {};
}

// Parts come before what they are parts of, so each pair knows of those within it.
Result<void> Automaton::excludeEmptyPairs() {
  for (uint32_t i = 0; i < grammar_.exprCount(); ++i) {
    const ExprKind kind = grammar_.expr({i}).kind;
    if ((kind != ExprKind::Both && kind != ExprKind::Except) || !grammar_.canMatch({i}))
      continue;
    SINTER_ASSIGN(const uint32_t pair, beginningOf({i}));
    SINTER_ASSIGN(const bool ends, canEnd(pair));
    if (!ends)
      grammar_.exclude({i});
  }
  return {};
}

} // namespace sinter::grammar
