// Statements.
#include "jinja/characters.h"
#include "jinja/convert.h"
#include "jinja/evaluation_depth.h"
#include "jinja/interpreter.h"
#include "jinja/loop.h"

namespace sinter::jinja {
namespace {

// That every text of a variable is UTF-8, and that it is nested no deeper than JSON may be.
Result<void> check(const Input &input, const std::string &name, uint32_t depth = 0) {
  const auto isText = [](std::string_view text) { return validUtf8Bytes(text) == text.size(); };
  const Input::Object *object = input.object();
  const Input::List *list = input.list();
  bool isValid = depth <= kMostInputDepth && (!input.text() || isText(*input.text()));
  for (size_t i = 0; isValid && object && i < object->size(); ++i)
    isValid = isText((*object)[i].first);
  if (!isValid)
    return fail(Code::InvalidArgument, "the variable '" + name + "' is not UTF-8, or too deep");
  for (size_t i = 0; object && i < object->size(); ++i)
    SINTER_TRY(check((*object)[i].second, name, depth + 1));
  for (size_t i = 0; list && i < list->size(); ++i)
    SINTER_TRY(check((*list)[i], name, depth + 1));
  return {};
}

} // namespace

using Kind = Stmt::Kind;

Result<Text> Interpreter::run(const Input::Object &variables) {
  scope_ = newScope(Ref<Scope>());
  for (const Builtin &function : allFunctions())
    if (const NameId id = nameId(function.name); id != NameId::None)
      define(id, method(&function, Value()));
  for (const auto &[name, value] : variables) {
    SINTER_TRY(check(value, name));
    if (const NameId id = nameId(name); id != NameId::None)
      define(id, from(value));
  }
  SINTER_TRY(spend());
  scope_ = newScope(scope_);
  Text out;
  out_ = &out;
  SINTER_TRY(exec(tree_.body));
  scope_ = Ref<Scope>();
  return out;
}

NameId Interpreter::nameId(std::string_view name) const {
  for (size_t i = 0; i < tree_.names.size(); ++i)
    if (tree_.names[i] == name)
      return static_cast<NameId>(i);
  return NameId::None;
}

Ref<Scope> Interpreter::newScope(const Ref<Scope> &outer) {
  Ref<Scope> made(heap().make<Scope>());
  made->outer = outer;
  return made;
}
void Interpreter::define(NameId name, Value value) {
  for (auto &[known, held] : scope_->names)
    if (known == name) {
      held = std::move(value);
      return;
    }
  heap().charge(scope_.get(), sizeof(scope_->names[0]));
  scope_->names.emplace_back(name, std::move(value));
}
const Value *Interpreter::lookUp(NameId name) const {
  for (const Scope *scope = scope_.get(); scope; scope = scope->outer.get())
    for (const auto &[known, held] : scope->names)
      if (known == name)
        return &held;
  return nullptr;
}

Result<void> Interpreter::write(std::string_view text) {
  return write(Text(std::string(text), Origin::Template));
}
Result<void> Interpreter::write(const Text &text) {
  SINTER_TRY(spendBytes(text.size()));
  if (text.size() > limits().outputBytes || out_->size() > limits().outputBytes - text.size())
    return fail(Code::Exhausted,
                "the template writes more than " + std::to_string(limits().outputBytes) + " bytes");
  SINTER_TRY(checkRoom(text.size()));
  heap().charge(text.size());
  out_->append(text);
  return {};
}

Result<Text> Interpreter::captured(const Body &body, Flow &flow) {
  Text content;
  Text *const outer = std::exchange(out_, &content);
  const Ref<Scope> scope = scope_;
  scope_ = newScope(scope);
  const Result<Flow> result = exec(body);
  scope_ = scope;
  out_ = outer;
  heap().discharge(content.size());
  SINTER_TRY(result);
  flow = *result;
  return content;
}

Result<Interpreter::Flow> Interpreter::exec(const Body &body) {
  for (const StmtId id : body) {
    SINTER_ASSIGN(const Flow flow, exec(id));
    if (flow != Flow::Next)
      return flow;
  }
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::exec(StmtId id) {
  const Stmt &stmt = tree_.at(id);
  const EvaluationDepth deeper(depth_);
  SINTER_TRY(spend());
  Result<Flow> flow =
      depth_ > limits().depth ? Result<Flow>(tooMuchRecursion(limits())) : execKind(stmt, id);
  if (!flow && !flow.error().byteOffset)
    flow.error().byteOffset = stmt.offset;
  return flow;
}

Result<Interpreter::Flow> Interpreter::execKind(const Stmt &stmt, StmtId id) {
  switch (stmt.kind) {
  case Kind::Text:
    SINTER_TRY(write(stmt.text));
    return Flow::Next;
  case Kind::Output:
    SINTER_TRY(execOutput(stmt));
    return Flow::Next;
  case Kind::If:
    return execIf(stmt);
  case Kind::For:
    return execFor(stmt);
  case Kind::Set:
    return execSet(stmt);
  case Kind::SetBlock:
    return execSetBlock(stmt);
  case Kind::Macro:
    define(stmt.name, macro(static_cast<uint32_t>(id), Ref<Object>(scope_.get())));
    return Flow::Next;
  case Kind::CallBlock:
    return execCallBlock(stmt, id);
  case Kind::FilterBlock:
    return execFilterBlock(stmt);
  case Kind::With:
    return execWith(stmt);
  case Kind::Generation: {
    Flow flow = Flow::Next;
    SINTER_ASSIGN(const Text content, captured(stmt.bodies[0], flow));
    SINTER_TRY(write(content));
    return flow;
  }
  case Kind::Break:
    return Flow::Break;
  case Kind::Continue:
    return Flow::Continue;
  }
  return Flow::Next;
}

Result<void> Interpreter::execOutput(const Stmt &stmt) {
  for (const ExprId id : stmt.expressions) {
    SINTER_ASSIGN(const Value value, eval(id));
    SINTER_ASSIGN(const Text spelled, textOf(*this, value));
    SINTER_TRY(write(spelled));
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::execIf(const Stmt &stmt) {
  for (size_t i = 0; i < stmt.expressions.size(); ++i) {
    SINTER_ASSIGN(const Value condition, eval(stmt.expressions[i]));
    if (truth(condition))
      return exec(stmt.bodies[i]);
  }
  return stmt.bodies.size() > stmt.expressions.size() ? exec(stmt.bodies.back()) : Flow::Next;
}

// The next item that passes the filter, which sees the item's names and no loop.
Result<Value> Interpreter::fetchFiltered(const Stmt &stmt, Cursor &cursor) {
  while (true) {
    SINTER_TRY(spend());
    Value item = nextItem(*this, cursor);
    if (item.isMissing() || stmt.expressions[1] == ExprId::None)
      return item;
    const Ref<Scope> scope = scope_;
    scope_ = newScope(scope);
    Result<void> assigned = assign(stmt.targets[0], item);
    const Result<Value> passes =
        assigned ? eval(stmt.expressions[1]) : Result<Value>(Fail(assigned.error()));
    scope_ = scope;
    SINTER_TRY(passes);
    if (truth(*passes))
      return item;
  }
}

Result<Interpreter::Flow> Interpreter::execFor(const Stmt &stmt) {
  SINTER_ASSIGN(const Value source, eval(stmt.expressions[0]));
  SINTER_TRY(checkIterable(source));
  const Value loop = Runtime::loop(source, 0);
  loop.loop().isFiltered = stmt.expressions[1] != ExprId::None;
  loop.loop().fetch = [this, &stmt, cursor = Cursor{source}]() mutable {
    return fetchFiltered(stmt, cursor);
  };
  const Ref<Scope> scope = scope_;
  Result<bool> hasWhole = execLoopBody(stmt, loop);
  scope_ = scope;
  SINTER_TRY(hasWhole);
  if (*hasWhole || stmt.bodies.size() == 1)
    return Flow::Next;
  scope_ = newScope(scope);
  const Result<Flow> flow = exec(stmt.bodies[1]);
  scope_ = scope;
  return flow;
}

// Whether any iteration went through the whole body: where none did, Jinja runs `else`.
Result<bool> Interpreter::execLoopBody(const Stmt &stmt, const Value &loop) {
  static constexpr std::string_view kLoop = "loop";
  const NameId name = nameId(kLoop);
  const Ref<Scope> outer = scope_;
  bool hasWhole = false;
  while (true) {
    scope_ = outer;
    SINTER_ASSIGN(const bool isThere, advance(loop.loop()));
    if (!isThere)
      return hasWhole;
    scope_ = newScope(outer);
    if (name != NameId::None)
      define(name, loop);
    SINTER_TRY(assign(stmt.targets[0], loop.loop().current));
    SINTER_ASSIGN(const Flow flow, exec(stmt.bodies[0]));
    if (flow == Flow::Break)
      return hasWhole;
    hasWhole |= flow == Flow::Next;
  }
}

Result<void> Interpreter::assign(ExprId target, const Value &value) {
  const Expr &expr = tree_.at(target);
  if (expr.kind == Expr::Kind::Name) {
    define(expr.name, value);
    return {};
  }
  if (expr.kind == Expr::Kind::Attribute) {
    const Value *found = lookUp(tree_.at(expr.list[0]).name);
    if (!found || !found->is(Value::Kind::Namespace))
      return fail(Code::InvalidArgument,
                  "only attributes of a namespace can be set, and '" +
                      tree_.at(tree_.at(expr.list[0]).name) + "' is none",
                  expr.offset);
    const Value attributes = found->nameSpace().attributes;
    set(attributes, expr.text, value);
    return {};
  }
  SINTER_ASSIGN(const std::vector<Value> items, itemsOf(*this, value));
  if (items.size() != expr.list.size())
    return fail(Code::InvalidArgument,
                "found " + std::to_string(items.size()) + " values to unpack, expected " +
                    std::to_string(expr.list.size()),
                expr.offset);
  for (size_t i = 0; i < items.size(); ++i)
    SINTER_TRY(assign(expr.list[i], items[i]));
  return {};
}

Result<Interpreter::Flow> Interpreter::execSet(const Stmt &stmt) {
  SINTER_ASSIGN(const Value value, eval(stmt.expressions[0]));
  SINTER_TRY(assign(stmt.targets[0], value));
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::execSetBlock(const Stmt &stmt) {
  Flow flow = Flow::Next;
  SINTER_ASSIGN(Text content, captured(stmt.bodies[0], flow));
  if (flow != Flow::Next)
    return flow;
  SINTER_ASSIGN(const Value value, evalFilters(stmt.expressions[0], text(std::move(content))));
  SINTER_TRY(assign(stmt.targets[0], value));
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::execFilterBlock(const Stmt &stmt) {
  Flow flow = Flow::Next;
  SINTER_ASSIGN(Text content, captured(stmt.bodies[0], flow));
  if (flow != Flow::Next)
    return flow;
  SINTER_ASSIGN(const Value value, evalFilters(stmt.expressions[0], text(std::move(content))));
  SINTER_ASSIGN(const Text spelled, textOf(*this, value));
  SINTER_TRY(write(spelled));
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::execCallBlock(const Stmt &stmt, StmtId id) {
  const Expr &expr = tree_.at(stmt.expressions[0]);
  SINTER_ASSIGN(const Value function, eval(expr.list[0]));
  SINTER_ASSIGN(CallArguments arguments, evalArguments(expr));
  arguments.keywords.emplace_back("caller",
                                  macro(static_cast<uint32_t>(id), Ref<Object>(scope_.get())));
  SINTER_ASSIGN(const Value value, call(function, std::move(arguments)));
  SINTER_ASSIGN(const Text spelled, textOf(*this, value));
  SINTER_TRY(write(spelled));
  return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::execWith(const Stmt &stmt) {
  std::vector<Value> values;
  for (const ExprId id : stmt.expressions) {
    SINTER_ASSIGN(Value value, eval(id));
    values.push_back(std::move(value));
  }
  const Ref<Scope> scope = scope_;
  scope_ = newScope(scope);
  for (size_t i = 0; i < values.size(); ++i)
    define(tree_.at(stmt.targets[i]).name, std::move(values[i]));
  const Result<Flow> flow = exec(stmt.bodies[0]);
  scope_ = scope;
  return flow;
}

} // namespace sinter::jinja
