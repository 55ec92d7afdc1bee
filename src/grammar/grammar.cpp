// Building expressions, and the checks before a grammar is run.
#include "grammar/grammar.h"

#include <algorithm>

namespace sinter::grammar {

static constexpr uint32_t kNever = UINT32_MAX; // whatever holds of the parts

ExprId Grammar::add(Expr expr) {
  exprs_.push_back(expr);
  return {static_cast<uint32_t>(exprs_.size() - 1)};
}

ExprId Grammar::text(std::string_view bytes) {
  const auto begin = static_cast<uint32_t>(bytes_.size());
  bytes_ += bytes;
  return add({ExprKind::Text, begin, static_cast<uint32_t>(bytes.size())});
}

ExprId Grammar::characters(CharacterSet set) {
  sets_.push_back(std::move(set));
  return add({ExprKind::Characters, static_cast<uint32_t>(sets_.size() - 1)});
}

ExprId Grammar::addChildren(ExprKind kind, std::span<const ExprId> children) {
  const auto begin = static_cast<uint32_t>(children_.size());
  children_.insert(children_.end(), children.begin(), children.end());
  return add({kind, begin, static_cast<uint32_t>(children.size())});
}

ExprId Grammar::sequence(std::span<const ExprId> parts) {
  return parts.size() == 1 ? parts.front() : addChildren(ExprKind::Sequence, parts);
}

ExprId Grammar::choice(std::span<const ExprId> alternatives) {
  return alternatives.size() == 1 ? alternatives.front()
                                  : addChildren(ExprKind::Choice, alternatives);
}

ExprId Grammar::repeat(ExprId part, uint32_t least, uint32_t most) {
  const ExprId id = addChildren(ExprKind::Repeat, {{part}});
  exprs_.back().least = least;
  exprs_.back().most = most;
  return id;
}

ExprId Grammar::call(RuleId rule) {
  return add({ExprKind::Call, rule.index});
}

ExprId Grammar::both(ExprId a, ExprId b) {
  return addChildren(ExprKind::Both, {{a, b}});
}

ExprId Grammar::except(ExprId a, ExprId b) {
  return addChildren(ExprKind::Except, {{a, b}});
}

RuleId Grammar::declare(std::string name) {
  rules_.push_back({std::move(name)});
  return {static_cast<uint32_t>(rules_.size() - 1)};
}

uint32_t Grammar::neededToBeNullable(const Expr &expr) const {
  switch (expr.kind) {
  case ExprKind::Text:
    return expr.count == 0 ? 0 : kNever;
  case ExprKind::Characters:
    return kNever;
  case ExprKind::Sequence:
    return expr.count;
  case ExprKind::Choice:
  case ExprKind::Call:
    return 1;
  case ExprKind::Repeat:
    return expr.least == 0 ? 0 : 1;
  case ExprKind::Both:
  case ExprKind::Except:
    return 0; // no harm where it is not: more is taken for a beginning
  }
  return kNever;
}

uint32_t Grammar::neededToMatch(const Expr &expr) const {
  switch (expr.kind) {
  case ExprKind::Text:
    return 0;
  case ExprKind::Characters:
    return setOf(expr).empty() ? kNever : 0;
  case ExprKind::Sequence:
  case ExprKind::Both:
    return expr.count;
  case ExprKind::Choice:
  case ExprKind::Call:
  case ExprKind::Except:
    return 1;
  case ExprKind::Repeat:
    return expr.least == 0 ? 0 : 1;
  }
  return kNever;
}

// Those that decide whether it holds: of Except the first one alone.
std::span<const ExprId> Grammar::partsOf(const Expr &expr) const {
  switch (expr.kind) {
  case ExprKind::Text:
  case ExprKind::Characters:
    return {};
  case ExprKind::Call:
    return std::span(&rules_[expr.begin].body, 1);
  case ExprKind::Except:
    return childrenOf(expr).first(1);
  default:
    return childrenOf(expr);
  }
}

// For which expressions it holds that enough of their parts do. Each part is counted once, so that
// long chains of rules take no longer than short ones.
std::vector<bool> Grammar::fixpoint(Needs needs) const {
  std::vector<std::vector<uint32_t>> users(exprs_.size());
  std::vector<uint32_t> missing(exprs_.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < exprs_.size(); ++i) {
    for (const ExprId part : partsOf(exprs_[i]))
      users[part.index].push_back(i);
    missing[i] = excluded_[i] ? kNever : (this->*needs)(exprs_[i]);
    if (missing[i] == 0)
      open.push_back(i);
  }
  std::vector<bool> found(exprs_.size());
  while (!open.empty()) {
    const uint32_t part = open.back();
    open.pop_back();
    found[part] = true;
    for (const uint32_t user : users[part])
      if (missing[user] != 0 && missing[user] != kNever && --missing[user] == 0)
        open.push_back(user);
  }
  return found;
}

void Grammar::exclude(ExprId id) {
  excluded_[id.index] = true;
  matching_ = fixpoint(&Grammar::neededToMatch);
}

// Adds the parts with which a text of `expr` may begin.
void Grammar::addLeading(const Expr &expr, std::vector<ExprId> &leading) const {
  switch (expr.kind) {
  case ExprKind::Text:
  case ExprKind::Characters:
    return;
  case ExprKind::Sequence:
    for (const ExprId part : childrenOf(expr)) {
      leading.push_back(part);
      if (!nullable_[part.index])
        return;
    }
    return;
  case ExprKind::Choice:
  case ExprKind::Repeat:
  case ExprKind::Both:
  case ExprKind::Except:
    for (const ExprId part : childrenOf(expr))
      leading.push_back(part);
    return;
  case ExprKind::Call:
    leading.push_back(bodyOf(expr));
    return;
  }
}

namespace {

// A depth-first walk that remembers which expressions lie on its path.
struct Visit {
  ExprId expr;
  std::vector<ExprId> leading;
  size_t next = 0;
};
enum class Mark : uint8_t { New, OnPath, Done };

} // namespace

Result<void> Grammar::check() {
  if (exprs_.size() > kMostExprs)
    return fail(Code::Unsupported, "a grammar of " + std::to_string(exprs_.size()) +
                                       " expressions, expected at most " +
                                       std::to_string(kMostExprs));
  for (const Rule &rule : rules_)
    if (rule.body == ExprId())
      return fail(Code::InvalidArgument, "rule '" + rule.name + "' is used and not defined");
  excluded_.assign(exprs_.size(), false);
  matching_ = fixpoint(&Grammar::neededToMatch);
  nullable_ = fixpoint(&Grammar::neededToBeNullable);
  return checkLeftRecursion();
}

Result<void> Grammar::checkLeftRecursion() const {
  std::vector<Mark> marks(exprs_.size(), Mark::New);
  for (const Rule &rule : rules_) {
    std::vector<Visit> path;
    const auto enter = [&](ExprId id) {
      marks[id.index] = Mark::OnPath;
      path.push_back({id, {}});
      addLeading(expr(id), path.back().leading);
    };
    if (marks[rule.body.index] == Mark::New)
      enter(rule.body);
    while (!path.empty()) {
      Visit &visit = path.back();
      if (visit.next == visit.leading.size()) {
        marks[visit.expr.index] = Mark::Done;
        path.pop_back();
        continue;
      }
      const ExprId next = visit.leading[visit.next++];
      if (marks[next.index] == Mark::OnPath)
        return fail(Code::Unsupported, "rule '" + rule.name +
                                           "' leads to a rule that begins with itself (left "
                                           "recursion); write it as a repetition");
      if (marks[next.index] == Mark::New)
        enter(next);
    }
  }
  return {};
}

size_t Grammar::bytes() const {
  size_t bytes = bytes_.capacity() + exprs_.capacity() * sizeof(Expr) +
                 children_.capacity() * sizeof(ExprId) + rules_.capacity() * sizeof(Rule);
  for (const CharacterSet &set : sets_)
    bytes += sizeof(set) + set.ranges().size_bytes();
  return bytes;
}

Result<Sha256Digest> Grammar::digest() const {
  std::vector<uint32_t> numbers = {
      root_.index, static_cast<uint32_t>(exprs_.size()), static_cast<uint32_t>(children_.size()),
      static_cast<uint32_t>(rules_.size()), static_cast<uint32_t>(sets_.size())};
  for (const Expr &expr : exprs_)
    numbers.insert(numbers.end(), {static_cast<uint32_t>(expr.kind), expr.begin, expr.count,
                                   expr.least, expr.most});
  for (const ExprId child : children_)
    numbers.push_back(child.index);
  for (const Rule &rule : rules_)
    numbers.push_back(rule.body.index);
  for (size_t i = 0; i < excluded_.size(); ++i)
    if (excluded_[i])
      numbers.push_back(static_cast<uint32_t>(i));
  for (const CharacterSet &set : sets_) {
    numbers.push_back(static_cast<uint32_t>(set.ranges().size()));
    for (const CodeRange range : set.ranges())
      numbers.insert(numbers.end(), {range.first, range.last});
  }
  const auto bytesOf = [](const auto &all) {
    return std::span(reinterpret_cast<const uint8_t *>(all.data()), all.size() * sizeof(all[0]));
  };
  return sha256({bytesOf(numbers), bytesOf(bytes_)});
}

} // namespace sinter::grammar
