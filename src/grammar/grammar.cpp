// Building expressions, and the checks before a grammar is run.
#include "grammar/grammar.h"

#include <algorithm>

namespace sinter::grammar {

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

// By what is known of the children so far.
bool Grammar::nullableNow(const Expr &expr, const std::vector<bool> &nullable) const {
  const auto is = [&](ExprId id) { return nullable[id.index]; };
  switch (expr.kind) {
  case ExprKind::Text:
    return expr.count == 0;
  case ExprKind::Characters:
    return false;
  case ExprKind::Sequence:
    return std::ranges::all_of(childrenOf(expr), is);
  case ExprKind::Choice:
    return std::ranges::any_of(childrenOf(expr), is);
  case ExprKind::Repeat:
    return expr.least == 0 || is(childrenOf(expr).front());
  case ExprKind::Call:
    return is(bodyOf(expr));
  case ExprKind::Both:
  case ExprKind::Except:
    return true; // no harm where it is not: more is taken for a beginning
  }
  return false;
}

// By what is known of the children so far.
bool Grammar::matchesNow(const Expr &expr, const std::vector<bool> &matching) const {
  const auto is = [&](ExprId id) { return matching[id.index]; };
  switch (expr.kind) {
  case ExprKind::Text:
    return true;
  case ExprKind::Characters:
    return !setOf(expr).empty();
  case ExprKind::Sequence:
  case ExprKind::Both:
    return std::ranges::all_of(childrenOf(expr), is);
  case ExprKind::Choice:
    return std::ranges::any_of(childrenOf(expr), is);
  case ExprKind::Repeat:
    return expr.least == 0 || is(childrenOf(expr).front());
  case ExprKind::Call:
    return is(bodyOf(expr));
  case ExprKind::Except:
    return is(childrenOf(expr).front());
  }
  return false;
}

// For which expressions `holds`, where it holds for one by what holds for others.
std::vector<bool> Grammar::fixpoint(Holds holds) const {
  std::vector<bool> found(exprs_.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < exprs_.size(); ++i)
      if (!found[i] && !excluded_[i] && (this->*holds)(exprs_[i], found))
        found[i] = changed = true;
  }
  return found;
}

void Grammar::exclude(ExprId id) {
  excluded_[id.index] = true;
  matching_ = fixpoint(&Grammar::matchesNow);
}

// Adds the parts with which a text of `expr` may begin.
void Grammar::addLeading(const Expr &expr, const std::vector<bool> &nullable,
                         std::vector<ExprId> &leading) const {
  switch (expr.kind) {
  case ExprKind::Text:
  case ExprKind::Characters:
    return;
  case ExprKind::Sequence:
    for (const ExprId part : childrenOf(expr)) {
      leading.push_back(part);
      if (!nullable[part.index])
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
    return fail(Code::Exhausted, "a grammar of " + std::to_string(exprs_.size()) +
                                     " expressions, expected at most " +
                                     std::to_string(kMostExprs));
  for (const Rule &rule : rules_)
    if (rule.body == ExprId())
      return fail(Code::InvalidArgument, "rule '" + rule.name + "' is used and not defined");
  excluded_.assign(exprs_.size(), false);
  matching_ = fixpoint(&Grammar::matchesNow);
  return checkLeftRecursion();
}

Result<void> Grammar::checkLeftRecursion() const {
  const std::vector<bool> nullable = fixpoint(&Grammar::nullableNow);
  std::vector<Mark> marks(exprs_.size(), Mark::New);
  for (const Rule &rule : rules_) {
    std::vector<Visit> path;
    const auto enter = [&](ExprId id) {
      marks[id.index] = Mark::OnPath;
      path.push_back({id, {}});
      addLeading(expr(id), nullable, path.back().leading);
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

} // namespace sinter::grammar
