// Expressions.
#include "jinja/access.h"
#include "jinja/compare.h"
#include "jinja/convert.h"
#include "jinja/evaluation_depth.h"
#include "jinja/interpreter.h"
#include "jinja/operators.h"

namespace sinter::jinja {

using Kind = Expr::Kind;

Result<Value> Interpreter::eval(ExprId id) {
  const Expr &expr = tree_.at(id);
  const EvaluationDepth deeper(depth_);
  Result<Value> value =
      depth_ > limits().depth ? Result<Value>(tooMuchRecursion(limits())) : evalKind(expr);
  if (!value && !value.error().byteOffset)
    value.error().byteOffset = expr.offset;
  return value;
}

Result<Value> Interpreter::evalKind(const Expr &expr) {
  SINTER_TRY(spend());
  switch (expr.kind) {
  case Kind::None:
    return Value::none();
  case Kind::True:
  case Kind::False:
    return Value::boolean(expr.kind == Kind::True);
  case Kind::Integer:
    return Value::integer(expr.integer);
  case Kind::Float:
    return Value::real(expr.real);
  case Kind::Text:
    SINTER_TRY(spendBytes(expr.text.size()));
    return text(expr.text, Origin::Template);
  case Kind::Name:
    return evalName(expr);
  case Kind::Tuple:
  case Kind::List:
    return evalItems(expr);
  case Kind::Dict:
    return evalDict(expr);
  case Kind::Conditional:
    return evalConditional(expr);
  case Kind::Or:
  case Kind::And:
    return evalLogic(expr);
  case Kind::Not:
  case Kind::Negate:
  case Kind::Plus:
    return evalUnary(expr);
  case Kind::Binary:
    return evalBinary(expr);
  case Kind::Concat:
    return evalConcat(expr);
  case Kind::Compare:
    return evalCompare(expr);
  case Kind::Attribute: {
    SINTER_ASSIGN(const Value object, eval(expr.list[0]));
    return attributeOf(*this, object, expr.text);
  }
  case Kind::Subscript:
    return evalSubscript(expr);
  case Kind::Call:
    return evalCall(expr);
  case Kind::Filter:
    return evalFilter(expr);
  case Kind::Test:
    return evalTest(expr);
  case Kind::Slice:
    break; // only as a subscript's key
  }
  return fail(Code::Unsupported, "a slice stands where it has no meaning");
}

Result<Value> Interpreter::evalName(const Expr &expr) {
  if (const Value *found = lookUp(expr.name))
    return *found;
  return undefined("'" + tree_.at(expr.name).substr(0, 64) + "' is undefined");
}

Result<Value> Interpreter::evalItems(const Expr &expr) {
  std::vector<Value> items;
  items.reserve(expr.list.size());
  for (const ExprId id : expr.list) {
    SINTER_ASSIGN(Value item, eval(id));
    items.push_back(std::move(item));
  }
  return expr.kind == Kind::List ? list(std::move(items)) : tuple(std::move(items));
}

Result<Value> Interpreter::evalDict(const Expr &expr) {
  Value made = dict();
  for (size_t i = 0; i < expr.list.size(); i += 2) {
    SINTER_ASSIGN(const Value key, eval(expr.list[i]));
    SINTER_ASSIGN(Value value, eval(expr.list[i + 1]));
    SINTER_TRY(set(made, key, std::move(value)));
  }
  return made;
}

Result<Value> Interpreter::evalConditional(const Expr &expr) {
  SINTER_ASSIGN(const Value condition, eval(expr.list[0]));
  if (truth(condition))
    return eval(expr.list[1]);
  if (expr.list[2] != ExprId::None)
    return eval(expr.list[2]);
  return undefined("the inline if has no else, and its condition is false");
}

Result<Value> Interpreter::evalLogic(const Expr &expr) {
  SINTER_ASSIGN(Value left, eval(expr.list[0]));
  if (truth(left) == (expr.kind == Kind::Or))
    return left;
  return eval(expr.list[1]);
}

Result<Value> Interpreter::evalUnary(const Expr &expr) {
  SINTER_ASSIGN(const Value operand, eval(expr.list[0]));
  if (expr.kind == Kind::Not)
    return Value::boolean(!truth(operand));
  return expr.kind == Kind::Negate ? negated(operand) : unchanged(operand);
}

Result<Value> Interpreter::evalBinary(const Expr &expr) {
  SINTER_ASSIGN(const Value left, eval(expr.list[0]));
  SINTER_ASSIGN(const Value right, eval(expr.list[1]));
  return binary(*this, expr.op, left, right);
}

Result<Value> Interpreter::evalConcat(const Expr &expr) {
  TextBuilder out(*this);
  for (const ExprId id : expr.list) {
    SINTER_ASSIGN(const Value term, eval(id));
    SINTER_ASSIGN(const Text spelled, textOf(*this, term));
    out.add(spelled);
  }
  return out.finish();
}

Result<bool> Interpreter::compareOnce(CompareOp op, const Value &left, const Value &right) {
  switch (op) {
  case CompareOp::Equal:
    return equal(*this, left, right);
  case CompareOp::NotEqual: {
    SINTER_ASSIGN(const bool isSame, equal(*this, left, right));
    return !isSame;
  }
  case CompareOp::Less:
    return isOrdered(*this, left, "<", right);
  case CompareOp::Greater:
    return isOrdered(*this, left, ">", right);
  case CompareOp::LessEqual:
    return isOrdered(*this, left, "<=", right);
  case CompareOp::GreaterEqual:
    return isOrdered(*this, left, ">=", right);
  case CompareOp::In:
    return contains(*this, right, left);
  case CompareOp::NotIn: {
    SINTER_ASSIGN(const bool isThere, contains(*this, right, left));
    return !isThere;
  }
  }
  return false;
}

Result<Value> Interpreter::evalCompare(const Expr &expr) {
  SINTER_ASSIGN(Value left, eval(expr.list[0]));
  for (size_t i = 0; i < expr.comparisons.size(); ++i) {
    SINTER_ASSIGN(Value right, eval(expr.list[i + 1]));
    SINTER_ASSIGN(const bool holds, compareOnce(expr.comparisons[i], left, right));
    if (!holds)
      return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evalSubscript(const Expr &expr) {
  SINTER_ASSIGN(const Value object, eval(expr.list[0]));
  const Expr &key = tree_.at(expr.list[1]);
  if (key.kind != Kind::Slice) {
    SINTER_ASSIGN(const Value value, eval(expr.list[1]));
    return itemOf(*this, object, value);
  }
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i)
    if (key.list[i] != ExprId::None) {
      SINTER_ASSIGN(bounds[i], eval(key.list[i]));
    }
  return sliceOf(*this, object, bounds[0], bounds[1], bounds[2]);
}

Result<CallArguments> Interpreter::evalArguments(const Expr &expr) {
  CallArguments arguments;
  for (size_t i = 1; i < expr.list.size(); ++i) {
    SINTER_ASSIGN(Value value, eval(expr.list[i]));
    arguments.positional.push_back(std::move(value));
  }
  for (const Expr::Keyword &keyword : expr.keywords) {
    SINTER_ASSIGN(Value value, eval(keyword.value));
    arguments.keywords.emplace_back(keyword.name, std::move(value));
  }
  if (expr.moreArguments != ExprId::None) {
    SINTER_ASSIGN(const Value more, eval(expr.moreArguments));
    SINTER_ASSIGN(const std::vector<Value> items, itemsOf(*this, more));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (expr.moreKeywords != ExprId::None) {
    SINTER_ASSIGN(const Value more, eval(expr.moreKeywords));
    if (!more.is(Value::Kind::Dict))
      return wrongType("a dict after '**'", more);
    for (const DictObject::Entry &entry : more.dict().entries) {
      if (!entry.key.isText())
        return wrongType("a text as an argument's name", entry.key);
      arguments.keywords.emplace_back(entry.key.bytes(), entry.value);
    }
  }
  return arguments;
}

Result<Value> Interpreter::evalCall(const Expr &expr) {
  SINTER_ASSIGN(const Value function, eval(expr.list[0]));
  SINTER_ASSIGN(CallArguments arguments, evalArguments(expr));
  return call(function, std::move(arguments));
}

Result<Value> Interpreter::evalFilter(const Expr &expr) {
  SINTER_ASSIGN(const Value input, eval(expr.list[0]));
  return evalFilterOn(expr, input);
}
Result<Value> Interpreter::evalFilterOn(const Expr &expr, const Value &input) {
  SINTER_ASSIGN(CallArguments arguments, evalArguments(expr));
  if (!expr.builtin)
    return unknownBuiltin("filter", expr.text, expr.offset);
  return callBuiltin(*expr.builtin, "filter", input, std::move(arguments));
}

Result<Value> Interpreter::evalTest(const Expr &expr) {
  SINTER_ASSIGN(const Value value, eval(expr.list[0]));
  SINTER_ASSIGN(CallArguments arguments, evalArguments(expr));
  if (!expr.builtin)
    return unknownBuiltin("test", expr.text, expr.offset);
  return callBuiltin(*expr.builtin, "test", value, std::move(arguments));
}

Result<Value> Interpreter::evalFilters(ExprId id, Value input) {
  std::vector<ExprId> chain; // the last filter first
  for (; id != ExprId::None; id = tree_.at(id).list[0])
    chain.push_back(id);
  for (; !chain.empty(); chain.pop_back()) {
    const Expr &filter = tree_.at(chain.back());
    Result<Value> value = evalFilterOn(filter, input);
    if (!value && !value.error().byteOffset)
      value.error().byteOffset = filter.offset;
    SINTER_TRY(value);
    input = std::move(*value);
  }
  return input;
}

} // namespace sinter::jinja
