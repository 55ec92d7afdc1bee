// From the tokens of a template to its tree.
#pragma once

#include "base/status.h"
#include "jinja/limits.h"
#include "jinja/tokens.h"
#include "jinja/tree.h"

#include <map>

namespace sinter::jinja {

// The tree of a template. Corrupt, with the byte: it breaks Jinja's grammar. Unsupported, with name
// and byte: a tag, or a filter or test outside of every condition, that the engine lacks; as in
// Jinja, those inside of a condition fail when they are reached. Exhausted: nested too deeply.
Result<Tree> parse(std::string_view source, const Limits &limits);

// Parses expressions: what statements and expressions share.
class ExpressionParser {
public:
  ExpressionParser(std::vector<Token> tokens, const Limits &limits)
      : tokens_(std::move(tokens)), limits_(limits) {}

protected:
  const Token &now() const { return tokens_[at_]; }
  const Token &next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool isName(std::string_view text) const;
  bool isOperator(std::string_view text) const;
  bool takeName(std::string_view text);
  bool takeOperator(std::string_view text);
  Result<void> expectOperator(std::string_view text);
  Result<std::string> expectName(std::string_view what);
  Fail unexpected(std::string_view expected) const;

  NameId nameId(const std::string &name);
  ExprId add(Expr expr);
  const Expr &at(ExprId id) const { return tree_.at(id); }

  Result<ExprId> expression(bool withCondition = true);
  // Expressions with commas between them become a tuple. `endName` ends it too.
  Result<ExprId> tuple(bool withCondition = true, std::string_view endName = "");
  // Filters with their bars, on `input`; None: on what a block renders.
  Result<ExprId> filters(ExprId input);
  Result<ExprId> filter(ExprId input);
  // What can be assigned to.
  Result<ExprId> target(bool mayBeAttribute, std::string_view endName = "");

  // What was parsed since there were `begin` expressions may never be reached.
  void markConditional(size_t begin);

  // Counts nesting while it lives.
  class Nested {
  public:
    explicit Nested(uint32_t &depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    Nested(const Nested &) = delete;
    Nested &operator=(const Nested &) = delete;

  private:
    uint32_t &depth_;
  };
  Result<void> checkNesting() const;

  std::vector<Token> tokens_;
  Limits limits_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  bool usesCaller_ = false, usesArguments_ = false, usesKeywords_ = false; // the names of macros
  Tree tree_;

private:
  using Rule = Result<ExprId> (ExpressionParser::*)();
  Result<ExprId> conditional();
  Result<ExprId> disjunction();
  Result<ExprId> conjunction();
  Result<ExprId> negation();
  Result<ExprId> comparison();
  Result<ExprId> sum();
  Result<ExprId> concatenation();
  Result<ExprId> product();
  Result<ExprId> power();
  Result<ExprId> unary() { return unary(true); }
  Result<ExprId> unary(bool withFilters);
  Result<ExprId> primary(bool mayBeAttribute = false);
  Result<ExprId> literalOrName(bool mayBeAttribute);
  Result<ExprId> string();
  Result<ExprId> parenthesized();
  Result<ExprId> list();
  Result<ExprId> dict();
  Result<ExprId> postfix(ExprId expr);
  Result<ExprId> filtersAndTests(ExprId expr);
  Result<ExprId> attribute(ExprId object);
  Result<ExprId> subscript(ExprId object);
  Result<ExprId> subscriptPart();
  Result<ExprId> slicePart();
  Result<ExprId> call(ExprId function);
  Result<ExprId> test(ExprId value);
  Result<std::string> dottedName(std::string_view what);
  Result<void> arguments(Expr &call);
  Result<void> argument(Expr &call);
  Result<ExprId> leftAssociative(Expr::Kind kind, std::string_view name, Rule rule);
  bool endsTuple(std::string_view endName) const;
  bool isAssignable(ExprId id) const;

  std::map<std::string, NameId, std::less<>> nameIds_;
};

} // namespace sinter::jinja
