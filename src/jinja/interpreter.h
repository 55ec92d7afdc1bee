// Runs a parsed template.
#pragma once

#include "jinja/builtins.h"
#include "jinja/runtime.h"
#include "jinja/tree.h"

#include <utility>

namespace sinter::jinja {

// The arguments of a call as they were given.
struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

// Names and their values, within those of an outer scope.
struct Scope : Object {
  void dropReferences() override {
    std::exchange(names, {});
    outer = Ref<Scope>();
  }
  std::vector<std::pair<NameId, Value>> names;
  Ref<Scope> outer;
};

// One render. Recursion is bounded by Limits::depth. For one thread; the tree must outlive it.
class Interpreter : public Runtime {
public:
  Interpreter(const Tree &tree, const Limits &limits, const std::tm &now)
      : Runtime(limits, now), tree_(tree) {}

  // What the template writes, with these variables. Errors carry the byte of the source.
  Result<Text> run(const Input::Object &variables);

  // Calls a macro, a method or a function.
  Result<Value> call(const Value &function, CallArguments arguments);
  // Calls a filter or test by its name, on a value. Unsupported, with the name: there is none.
  Result<Value> filter(std::string_view name, const Value &input, CallArguments arguments);
  Result<Value> test(std::string_view name, const Value &value, CallArguments arguments);

private:
  enum class Flow : uint8_t { Next, Break, Continue };

  Result<Value> eval(ExprId id);
  Result<Value> evalKind(const Expr &expr);
  Result<Value> evalName(const Expr &expr);
  Result<Value> evalItems(const Expr &expr);
  Result<Value> evalDict(const Expr &expr);
  Result<Value> evalConditional(const Expr &expr);
  Result<Value> evalLogic(const Expr &expr);
  Result<Value> evalUnary(const Expr &expr);
  Result<Value> evalBinary(const Expr &expr);
  Result<Value> evalConcat(const Expr &expr);
  Result<Value> evalCompare(const Expr &expr);
  Result<bool> compareOnce(CompareOp op, const Value &left, const Value &right);
  Result<Value> evalSubscript(const Expr &expr);
  Result<Value> evalCall(const Expr &expr);
  Result<Value> evalFilter(const Expr &expr);
  Result<Value> evalFilterOn(const Expr &expr, const Value &input);
  Result<Value> evalTest(const Expr &expr);
  Result<CallArguments> evalArguments(const Expr &expr);
  // Filters of a block, applied to what it rendered.
  Result<Value> evalFilters(ExprId id, Value input);

  Result<Flow> exec(const Body &body);
  Result<Flow> exec(StmtId id);
  Result<Flow> execKind(const Stmt &stmt, StmtId id);
  Result<void> execOutput(const Stmt &stmt);
  Result<Flow> execIf(const Stmt &stmt);
  Result<Flow> execFor(const Stmt &stmt);
  Result<bool> execLoopBody(const Stmt &stmt, const Value &loop);
  Result<Value> fetchFiltered(const Stmt &stmt, Cursor &cursor);
  Result<Flow> execSet(const Stmt &stmt);
  Result<Flow> execSetBlock(const Stmt &stmt);
  Result<Flow> execCallBlock(const Stmt &stmt, StmtId id);
  Result<Flow> execFilterBlock(const Stmt &stmt);
  Result<Flow> execWith(const Stmt &stmt);
  Result<void> assign(ExprId target, const Value &value);

  Result<Value> callBuiltin(const Builtin &builtin, std::string_view kind, const Value &self,
                            CallArguments arguments);
  Result<Value> callMacro(const FunctionObject &function, CallArguments arguments);
  Result<void> bindParameters(const Stmt &macro, CallArguments &arguments);
  Result<void> bindSpecialNames(const Stmt &macro, CallArguments &arguments);

  // What a body writes, in a scope of its own. A `break` within leaves the flow in `flow`.
  Result<Text> captured(const Body &body, Flow &flow);
  Result<void> write(const Text &text);
  Result<void> write(std::string_view text);

  Ref<Scope> newScope(const Ref<Scope> &outer);
  void define(NameId name, Value value);
  const Value *lookUp(NameId name) const;
  NameId nameId(std::string_view name) const;

  const Tree &tree_;
  Ref<Scope> scope_;
  Text *out_ = nullptr;
  uint32_t depth_ = 0;
};

} // namespace sinter::jinja
