// The grammar of expressions of Jinja 3.1, by recursive descent.
#include "jinja/builtins.h"
#include "jinja/parser.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

using Kind = Token::Kind;

std::string described(const Token &token) {
  switch (token.kind) {
  case Kind::Data:
    return "text";
  case Kind::OutputBegin:
    return "'{{'";
  case Kind::OutputEnd:
    return "'}}'";
  case Kind::BlockBegin:
    return "'{%'";
  case Kind::BlockEnd:
    return "'%}'";
  case Kind::End:
    return "the end of the template";
  default:
    return "'" + token.text.substr(0, 40) + "'";
  }
}

struct ComparisonName {
  std::string_view text;
  CompareOp op;
};
constexpr ComparisonName kComparisons[] = {
    {"==", CompareOp::Equal},     {"!=", CompareOp::NotEqual}, {"<", CompareOp::Less},
    {"<=", CompareOp::LessEqual}, {">", CompareOp::Greater},   {">=", CompareOp::GreaterEqual},
};

} // namespace

bool ExpressionParser::isName(std::string_view text) const {
  return now().kind == Kind::Name && now().text == text;
}
bool ExpressionParser::isOperator(std::string_view text) const {
  return now().kind == Kind::Operator && now().text == text;
}
bool ExpressionParser::takeName(std::string_view text) {
  return isName(text) && (take(), true);
}
bool ExpressionParser::takeOperator(std::string_view text) {
  return isOperator(text) && (take(), true);
}
Fail ExpressionParser::unexpected(std::string_view expected) const {
  return fail(Code::Corrupt, "found " + described(now()) + ", expected " + std::string(expected),
              now().offset);
}
Result<void> ExpressionParser::expectOperator(std::string_view text) {
  if (takeOperator(text))
    return {};
  return unexpected("'" + std::string(text) + "'");
}
Result<std::string> ExpressionParser::expectName(std::string_view what) {
  if (now().kind != Kind::Name)
    return unexpected(what);
  return take().text;
}

NameId ExpressionParser::nameId(const std::string &name) {
  const auto [found, isNew] = nameIds_.try_emplace(name, static_cast<NameId>(tree_.names.size()));
  if (isNew)
    tree_.names.push_back(name);
  return found->second;
}

ExprId ExpressionParser::add(Expr expr) {
  tree_.expressions.push_back(std::move(expr));
  return static_cast<ExprId>(tree_.expressions.size() - 1);
}

Result<void> ExpressionParser::checkNesting() const {
  if (depth_ <= limits_.nesting)
    return {};
  return fail(Code::Exhausted,
              "the template is nested deeper than " + std::to_string(limits_.nesting),
              now().offset);
}

Result<ExprId> ExpressionParser::expression(bool withCondition) {
  const Nested nested(depth_);
  SINTER_TRY(checkNesting());
  return withCondition ? conditional() : disjunction();
}

Result<ExprId> ExpressionParser::conditional() {
  const uint32_t offset = now().offset;
  const size_t begin = tree_.expressions.size();
  SINTER_ASSIGN(ExprId value, disjunction());
  const bool isConditional = isName("if");
  while (takeName("if")) {
    SINTER_ASSIGN(const ExprId condition, disjunction());
    ExprId other = ExprId::None;
    if (takeName("else")) {
      SINTER_ASSIGN(other, expression());
    }
    value = add({Expr::Kind::Conditional, offset, {condition, value, other}});
  }
  if (isConditional)
    markConditional(begin);
  return value;
}

void ExpressionParser::markConditional(size_t begin) {
  for (size_t i = begin; i < tree_.expressions.size(); ++i)
    tree_.expressions[i].isConditional = true;
}

Result<ExprId> ExpressionParser::leftAssociative(Expr::Kind kind, std::string_view name,
                                                 Rule rule) {
  const uint32_t offset = now().offset;
  SINTER_ASSIGN(ExprId left, (this->*rule)());
  while (takeName(name)) {
    SINTER_ASSIGN(const ExprId right, (this->*rule)());
    left = add({kind, offset, {left, right}});
  }
  return left;
}
Result<ExprId> ExpressionParser::disjunction() {
  return leftAssociative(Expr::Kind::Or, "or", &ExpressionParser::conjunction);
}
Result<ExprId> ExpressionParser::conjunction() {
  return leftAssociative(Expr::Kind::And, "and", &ExpressionParser::negation);
}
Result<ExprId> ExpressionParser::negation() {
  const uint32_t offset = now().offset;
  bool isNegated = false, isAny = false;
  for (; takeName("not"); isAny = true)
    isNegated = !isNegated;
  SINTER_ASSIGN(ExprId value, comparison());
  if (isAny)
    value = add({Expr::Kind::Not, offset, {value}});
  return isAny && !isNegated ? add({Expr::Kind::Not, offset, {value}}) : value;
}

Result<ExprId> ExpressionParser::comparison() {
  Expr compare{Expr::Kind::Compare, now().offset};
  SINTER_ASSIGN(const ExprId first, sum());
  compare.list.push_back(first);
  while (true) {
    const auto *known = std::ranges::find_if(
        kComparisons, [&](const ComparisonName &one) { return isOperator(one.text); });
    if (known != std::end(kComparisons)) {
      take();
      compare.comparisons.push_back(known->op);
    } else if (takeName("in")) {
      compare.comparisons.push_back(CompareOp::In);
    } else if (isName("not") && next().kind == Kind::Name && next().text == "in") {
      take();
      take();
      compare.comparisons.push_back(CompareOp::NotIn);
    } else {
      break;
    }
    SINTER_ASSIGN(const ExprId term, sum());
    compare.list.push_back(term);
  }
  return compare.comparisons.empty() ? first : add(std::move(compare));
}

Result<ExprId> ExpressionParser::sum() {
  const uint32_t offset = now().offset;
  SINTER_ASSIGN(ExprId left, concatenation());
  while (isOperator("+") || isOperator("-")) {
    Expr binary{Expr::Kind::Binary, offset};
    binary.op = take().text == "+" ? BinaryOp::Add : BinaryOp::Subtract;
    SINTER_ASSIGN(const ExprId right, concatenation());
    binary.list = {left, right};
    left = add(std::move(binary));
  }
  return left;
}

Result<ExprId> ExpressionParser::concatenation() {
  Expr concat{Expr::Kind::Concat, now().offset};
  SINTER_ASSIGN(const ExprId first, product());
  concat.list.push_back(first);
  while (takeOperator("~")) {
    SINTER_ASSIGN(const ExprId term, product());
    concat.list.push_back(term);
  }
  return concat.list.size() == 1 ? first : add(std::move(concat));
}

Result<ExprId> ExpressionParser::product() {
  const uint32_t offset = now().offset;
  SINTER_ASSIGN(ExprId left, power());
  while (isOperator("*") || isOperator("/") || isOperator("//") || isOperator("%")) {
    Expr binary{Expr::Kind::Binary, offset};
    const std::string op = take().text;
    binary.op = op == "*"    ? BinaryOp::Multiply
                : op == "/"  ? BinaryOp::Divide
                : op == "//" ? BinaryOp::FloorDivide
                             : BinaryOp::Modulo;
    SINTER_ASSIGN(const ExprId right, power());
    binary.list = {left, right};
    left = add(std::move(binary));
  }
  return left;
}

Result<ExprId> ExpressionParser::power() {
  const uint32_t offset = now().offset;
  SINTER_ASSIGN(ExprId left, unary());
  while (takeOperator("**")) {
    Expr binary{Expr::Kind::Binary, offset};
    binary.op = BinaryOp::Power;
    SINTER_ASSIGN(const ExprId right, unary());
    binary.list = {left, right};
    left = add(std::move(binary));
  }
  return left;
}

Result<ExprId> ExpressionParser::unary(bool withFilters) {
  const Nested nested(depth_);
  SINTER_TRY(checkNesting());
  const uint32_t offset = now().offset;
  ExprId value = ExprId::None;
  if (isOperator("-") || isOperator("+")) {
    const bool isMinus = take().text == "-";
    SINTER_ASSIGN(const ExprId operand, unary(false));
    value = add({isMinus ? Expr::Kind::Negate : Expr::Kind::Plus, offset, {operand}});
  } else {
    SINTER_ASSIGN(value, primary());
  }
  SINTER_ASSIGN(value, postfix(value));
  if (withFilters)
    return filtersAndTests(value);
  return value;
}

Result<ExprId> ExpressionParser::primary(bool mayBeAttribute) {
  switch (now().kind) {
  case Kind::Name:
    return literalOrName(mayBeAttribute);
  case Kind::String:
    return string();
  case Kind::Integer:
  case Kind::Float: {
    const bool isWhole = now().kind == Kind::Integer;
    Expr number{isWhole ? Expr::Kind::Integer : Expr::Kind::Float, now().offset};
    number.integer = now().integer;
    number.real = now().real;
    take();
    return add(std::move(number));
  }
  default:
    break;
  }
  if (isOperator("("))
    return parenthesized();
  if (isOperator("["))
    return list();
  if (isOperator("{"))
    return dict();
  return unexpected("an expression");
}

Result<ExprId> ExpressionParser::literalOrName(bool mayBeAttribute) {
  const Token token = take();
  const std::string &text = token.text;
  if (text == "true" || text == "True")
    return add({Expr::Kind::True, token.offset});
  if (text == "false" || text == "False")
    return add({Expr::Kind::False, token.offset});
  if (text == "none" || text == "None")
    return add({Expr::Kind::None, token.offset});
  usesCaller_ |= text == "caller";
  usesArguments_ |= text == "varargs";
  usesKeywords_ |= text == "kwargs";
  Expr name{Expr::Kind::Name, token.offset};
  name.name = nameId(text);
  const ExprId id = add(std::move(name));
  if (!mayBeAttribute || !takeOperator("."))
    return id;
  Expr attribute{Expr::Kind::Attribute, token.offset, {id}};
  SINTER_ASSIGN(attribute.text, expectName("an attribute's name"));
  return add(std::move(attribute));
}

Result<ExprId> ExpressionParser::string() {
  Expr text{Expr::Kind::Text, now().offset};
  while (now().kind == Kind::String)
    text.text += take().text;
  return add(std::move(text));
}

Result<ExprId> ExpressionParser::parenthesized() {
  const uint32_t offset = take().offset;
  if (takeOperator(")"))
    return add({Expr::Kind::Tuple, offset});
  SINTER_ASSIGN(const ExprId value, tuple());
  SINTER_TRY(expectOperator(")"));
  return value;
}

bool ExpressionParser::endsTuple(std::string_view endName) const {
  return now().kind == Kind::OutputEnd || now().kind == Kind::BlockEnd || isOperator(")") ||
         (!endName.empty() && isName(endName));
}

Result<ExprId> ExpressionParser::tuple(bool withCondition, std::string_view endName) {
  Expr tuple{Expr::Kind::Tuple, now().offset};
  bool isTuple = false;
  while (!endsTuple(endName)) {
    SINTER_ASSIGN(const ExprId item, expression(withCondition));
    tuple.list.push_back(item);
    if (!takeOperator(","))
      break;
    isTuple = true;
  }
  if (isTuple)
    return add(std::move(tuple));
  if (tuple.list.empty())
    return unexpected("an expression");
  return tuple.list[0];
}

Result<ExprId> ExpressionParser::list() {
  Expr list{Expr::Kind::List, take().offset};
  while (!isOperator("]")) {
    SINTER_ASSIGN(const ExprId item, expression());
    list.list.push_back(item);
    if (!takeOperator(","))
      break;
  }
  SINTER_TRY(expectOperator("]"));
  return add(std::move(list));
}

Result<ExprId> ExpressionParser::dict() {
  Expr dict{Expr::Kind::Dict, take().offset};
  while (!isOperator("}")) {
    SINTER_ASSIGN(const ExprId key, expression());
    SINTER_TRY(expectOperator(":"));
    SINTER_ASSIGN(const ExprId value, expression());
    dict.list.insert(dict.list.end(), {key, value});
    if (!takeOperator(","))
      break;
  }
  SINTER_TRY(expectOperator("}"));
  return add(std::move(dict));
}

Result<ExprId> ExpressionParser::postfix(ExprId expr) {
  while (true) {
    if (isOperator(".")) {
      SINTER_ASSIGN(expr, attribute(expr));
    } else if (isOperator("[")) {
      SINTER_ASSIGN(expr, subscript(expr));
    } else if (isOperator("(")) {
      SINTER_ASSIGN(expr, call(expr));
    } else {
      return expr;
    }
  }
}

Result<ExprId> ExpressionParser::filtersAndTests(ExprId expr) {
  while (true) {
    if (isOperator("|")) {
      SINTER_ASSIGN(expr, filters(expr));
    } else if (isName("is")) {
      SINTER_ASSIGN(expr, test(expr));
    } else if (isOperator("(")) {
      SINTER_ASSIGN(expr, call(expr));
    } else {
      return expr;
    }
  }
}

Result<ExprId> ExpressionParser::attribute(ExprId object) {
  const uint32_t offset = take().offset;
  if (now().kind == Kind::Integer) {
    Expr index{Expr::Kind::Integer, now().offset};
    index.integer = take().integer;
    const ExprId key = add(std::move(index));
    return add({Expr::Kind::Subscript, offset, {object, key}});
  }
  Expr attribute{Expr::Kind::Attribute, offset, {object}};
  SINTER_ASSIGN(attribute.text, expectName("an attribute's name or a number"));
  return add(std::move(attribute));
}

Result<ExprId> ExpressionParser::subscript(ExprId object) {
  const uint32_t offset = take().offset;
  Expr keys{Expr::Kind::Tuple, offset};
  while (!isOperator("]")) {
    SINTER_ASSIGN(const ExprId key, subscriptPart());
    keys.list.push_back(key);
    if (!takeOperator(","))
      break;
  }
  SINTER_TRY(expectOperator("]"));
  const ExprId key = keys.list.size() == 1 ? keys.list[0] : add(std::move(keys));
  return add({Expr::Kind::Subscript, offset, {object, key}});
}

Result<ExprId> ExpressionParser::slicePart() {
  if (isOperator(":") || isOperator("]") || isOperator(","))
    return ExprId::None;
  return expression();
}

Result<ExprId> ExpressionParser::subscriptPart() {
  Expr slice{Expr::Kind::Slice, now().offset};
  SINTER_ASSIGN(const ExprId start, slicePart());
  if (!isOperator(":"))
    return start == ExprId::None ? unexpected("an expression") : Result<ExprId>(start);
  take();
  SINTER_ASSIGN(const ExprId stop, slicePart());
  ExprId step = ExprId::None;
  if (takeOperator(":")) {
    SINTER_ASSIGN(step, slicePart());
  }
  slice.list = {start, stop, step};
  return add(std::move(slice));
}

Result<void> ExpressionParser::arguments(Expr &call) {
  SINTER_TRY(expectOperator("("));
  while (!isOperator(")")) {
    SINTER_TRY(argument(call));
    if (!takeOperator(","))
      break;
  }
  return expectOperator(")");
}

Result<void> ExpressionParser::argument(Expr &call) {
  const auto refuse = [&]() -> Fail {
    return fail(Code::Corrupt, "the arguments of a call are out of order", now().offset);
  };
  const bool hasMore = call.moreArguments != ExprId::None;
  if (call.moreKeywords != ExprId::None)
    return refuse();
  if (takeOperator("*")) {
    if (hasMore)
      return refuse();
    SINTER_ASSIGN(call.moreArguments, expression());
    return {};
  }
  if (takeOperator("**")) {
    SINTER_ASSIGN(call.moreKeywords, expression());
    return {};
  }
  const bool isKeyword =
      now().kind == Kind::Name && next().kind == Kind::Operator && next().text == "=";
  if (!isKeyword) {
    if (hasMore || !call.keywords.empty())
      return refuse();
    SINTER_ASSIGN(const ExprId value, expression());
    call.list.push_back(value);
    return {};
  }
  const Token name = take();
  take();
  for (const Expr::Keyword &other : call.keywords)
    if (other.name == name.text)
      return fail(Code::Corrupt, "the argument '" + name.text + "' is given twice", name.offset);
  SINTER_ASSIGN(const ExprId value, expression());
  call.keywords.push_back({name.text, value});
  return {};
}

Result<ExprId> ExpressionParser::call(ExprId function) {
  Expr call{Expr::Kind::Call, now().offset, {function}};
  SINTER_TRY(arguments(call));
  return add(std::move(call));
}

Result<std::string> ExpressionParser::dottedName(std::string_view what) {
  SINTER_ASSIGN(std::string name, expectName(what));
  while (takeOperator(".")) {
    SINTER_ASSIGN(const std::string part, expectName(what));
    name += "." + part;
  }
  return name;
}

Result<ExprId> ExpressionParser::filter(ExprId input) {
  Expr filter{Expr::Kind::Filter, now().offset, {input}};
  SINTER_ASSIGN(filter.text, dottedName("a filter's name"));
  filter.builtin = findFilter(filter.text);
  if (isOperator("("))
    SINTER_TRY(arguments(filter));
  return add(std::move(filter));
}

Result<ExprId> ExpressionParser::filters(ExprId input) {
  while (takeOperator("|")) {
    SINTER_ASSIGN(input, filter(input));
  }
  return input;
}

Result<ExprId> ExpressionParser::test(ExprId value) {
  Expr test{Expr::Kind::Test, take().offset, {value}};
  const bool isNegated = takeName("not");
  SINTER_ASSIGN(test.text, dottedName("a test's name"));
  test.builtin = findTest(test.text);
  const bool startsValue = now().kind == Kind::Name || now().kind == Kind::String ||
                           now().kind == Kind::Integer || now().kind == Kind::Float ||
                           isOperator("[") || isOperator("{");
  const bool endsTest = isName("else") || isName("or") || isName("and");
  if (isOperator("(")) {
    SINTER_TRY(arguments(test));
  } else if (startsValue && !endsTest) {
    if (isName("is"))
      return fail(Code::Corrupt, "tests by 'is' cannot follow one another", now().offset);
    SINTER_ASSIGN(const ExprId operand, primary());
    SINTER_ASSIGN(const ExprId argument, postfix(operand));
    test.list.push_back(argument);
  }
  const uint32_t offset = test.offset;
  const ExprId id = add(std::move(test));
  return isNegated ? add({Expr::Kind::Not, offset, {id}}) : id;
}

bool ExpressionParser::isAssignable(ExprId id) const {
  const Expr &expr = at(id);
  if (expr.kind != Expr::Kind::Tuple)
    return expr.kind == Expr::Kind::Name || expr.kind == Expr::Kind::Attribute;
  return std::ranges::all_of(expr.list, [this](ExprId item) { return isAssignable(item); });
}

Result<ExprId> ExpressionParser::target(bool mayBeAttribute, std::string_view endName) {
  Expr tuple{Expr::Kind::Tuple, now().offset};
  bool isTuple = false;
  while (!endsTuple(endName)) {
    SINTER_ASSIGN(const ExprId item, primary(mayBeAttribute));
    if (!isAssignable(item))
      return fail(Code::Corrupt, "the template assigns to something that is no name",
                  at(item).offset);
    tuple.list.push_back(item);
    if (!takeOperator(","))
      break;
    isTuple = true;
  }
  if (tuple.list.empty())
    return unexpected("a name");
  return isTuple ? add(std::move(tuple)) : Result<ExprId>(tuple.list[0]);
}

} // namespace sinter::jinja
