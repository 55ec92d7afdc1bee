// Nested alternatives while a text is parsed: what lies open, from the outside in.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

class GroupStack {
public:
  static constexpr size_t kMostDepth = 256;

  explicit GroupStack(Grammar &grammar) : grammar_(grammar), levels_(1) {}

  size_t depth() const { return levels_.size() - 1; }
  void add(ExprId part) { levels_.back().parts.push_back(part); }
  // Whether the alternative at hand has a part that a repetition could follow.
  bool hasPart() const { return !levels_.back().parts.empty(); }
  // Repeats the last part.
  void repeat(uint32_t least, uint32_t most) {
    ExprId &part = levels_.back().parts.back();
    part = grammar_.repeat(part, least, most);
  }
  void nextAlternative() {
    Level &level = levels_.back();
    level.alternatives.push_back(grammar_.sequence(level.parts));
    level.parts.clear();
  }
  // False: too deep.
  bool open() {
    levels_.emplace_back();
    return levels_.size() <= kMostDepth;
  }
  // The innermost group becomes a part of the one around it.
  void close() {
    const ExprId group = take();
    levels_.pop_back();
    add(group);
  }
  // The whole of the innermost group, which is empty then.
  ExprId take() {
    nextAlternative();
    const ExprId whole = grammar_.choice(levels_.back().alternatives);
    levels_.back() = {};
    return whole;
  }

private:
  struct Level {
    std::vector<ExprId> alternatives, parts;
  };
  Grammar &grammar_;
  std::vector<Level> levels_;
};

} // namespace sinter::grammar
