// Context-free grammars over bytes of UTF-8: expressions in one arena, rules that name them.
#pragma once

#include "base/sha256.h"
#include "base/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::grammar {

// Code points from `first` to `last`, both included.
struct CodeRange {
  char32_t first, last;
  friend bool operator==(const CodeRange &, const CodeRange &) = default;
};

// Sorted, without overlaps and without surrogates. What lies beyond U+10FFFF is left out.
class CharacterSet {
public:
  CharacterSet() = default;
  explicit CharacterSet(std::vector<CodeRange> ranges);
  static CharacterSet all() { return CharacterSet({{0, 0x10FFFF}}); }

  std::span<const CodeRange> ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  bool contains(char32_t code) const { return meets(code, code); }
  size_t size() const; // code points
  // Whether any code point from `first` to `last` is in it.
  bool meets(char32_t first, char32_t last) const;
  // Whether all of them are.
  bool covers(char32_t first, char32_t last) const;
  CharacterSet complement() const;
  CharacterSet united(const CharacterSet &other) const;
  CharacterSet without(const CharacterSet &other) const;

private:
  std::vector<CodeRange> ranges_;
};

struct ExprId {
  uint32_t index = UINT32_MAX;
  friend bool operator==(const ExprId &, const ExprId &) = default;
};
struct RuleId {
  uint32_t index = UINT32_MAX;
};

inline constexpr uint32_t kUnbounded = UINT32_MAX;

// What an expression is; `Expr` says what its numbers mean.
enum class ExprKind : uint8_t { Text, Characters, Sequence, Choice, Repeat, Call, Both, Except };

struct Expr {
  ExprKind kind;
  uint32_t begin = 0, count = 0; // of bytes, of children; of a set or a rule: its number
  uint32_t least = 0, most = 0;  // of Repeat
};

// Expressions and rules are only added; ids stay valid. check() refuses more than kMostExprs.
class Grammar {
public:
  static constexpr size_t kMostExprs = size_t{1} << 20;

  ExprId text(std::string_view bytes);
  ExprId empty() { return text(""); }
  ExprId characters(CharacterSet set); // one code point
  ExprId sequence(std::span<const ExprId> parts);
  ExprId choice(std::span<const ExprId> alternatives); // of none: matches nothing
  ExprId repeat(ExprId part, uint32_t least, uint32_t most);
  ExprId call(RuleId rule);
  // Texts of `a` that are also of `b`, or are not. Both are regular: they call no rule that calls
  // itself.
  ExprId both(ExprId a, ExprId b);
  ExprId except(ExprId a, ExprId b);

  // A rule by its name, which messages use; defined once, before check().
  RuleId declare(std::string name);
  void define(RuleId rule, ExprId body) { rules_[rule.index].body = body; }
  bool isDefined(RuleId rule) const { return rules_[rule.index].body != ExprId(); }
  std::string_view nameOf(RuleId rule) const { return rules_[rule.index].name; }

  void setRoot(ExprId root) { root_ = root; }
  ExprId root() const { return root_; }

  // That texts can be matched from left to right. InvalidArgument: a rule has no definition.
  // Unsupported: a rule begins with itself, or there are too many expressions.
  Result<void> check();

  const Expr &expr(ExprId id) const { return exprs_[id.index]; }
  std::string_view textOf(const Expr &expr) const {
    return std::string_view(bytes_).substr(expr.begin, expr.count);
  }
  const CharacterSet &setOf(const Expr &expr) const { return sets_[expr.begin]; }
  const CharacterSet &setNumber(uint32_t number) const { return sets_[number]; }
  std::span<const ExprId> childrenOf(const Expr &expr) const {
    return std::span(children_).subspan(expr.begin, expr.count);
  }
  ExprId bodyOf(const Expr &call) const { return rules_[call.begin].body; }
  size_t exprCount() const { return exprs_.size(); }
  // Of memory, about.
  size_t bytes() const;
  // Of all that it has, so that grammars made in the same way have the same.
  Result<Sha256Digest> digest() const;
  // That no text matches, which check() cannot know of Both and Except.
  void exclude(ExprId id);
  // Whether any text matches; known after check().
  bool canMatch(ExprId id) const { return matching_[id.index]; }
  // False only where all its texts have a byte; known after check().
  bool mayBeEmpty(ExprId id) const { return nullable_[id.index]; }

private:
  struct Rule {
    std::string name;
    ExprId body = {};
  };
  ExprId add(Expr expr);
  ExprId addChildren(ExprKind kind, std::span<const ExprId> children);
  // How many of an expression's parts must hold, so that it does.
  using Needs = uint32_t (Grammar::*)(const Expr &) const;
  std::vector<bool> fixpoint(Needs needs) const;
  std::span<const ExprId> partsOf(const Expr &expr) const;
  Result<void> checkLeftRecursion() const;
  uint32_t neededToMatch(const Expr &expr) const;
  uint32_t neededToBeNullable(const Expr &expr) const;
  void addLeading(const Expr &expr, std::vector<ExprId> &leading) const;

  std::vector<Expr> exprs_;
  std::string bytes_;
  std::vector<CharacterSet> sets_;
  std::vector<ExprId> children_;
  std::vector<Rule> rules_;
  std::vector<bool> excluded_, matching_, nullable_; // by expression
  ExprId root_;
};

} // namespace sinter::grammar
