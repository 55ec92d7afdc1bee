// Calls of macros, methods, functions, filters and tests.
#include "jinja/convert.h"
#include "jinja/evaluation_depth.h"
#include "jinja/interpreter.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

// Takes the next word off a builtin's parameters.
std::string_view nextParameter(std::string_view &rest) {
  const size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

std::optional<Value> takeKeyword(CallArguments &arguments, std::string_view name) {
  const auto found =
      std::ranges::find(arguments.keywords, name, &std::pair<std::string, Value>::first);
  if (found == arguments.keywords.end())
    return std::nullopt;
  Value value = std::move(found->second);
  arguments.keywords.erase(found);
  return value;
}

Result<void> checkNoDoubles(const CallArguments &arguments) {
  for (size_t i = 0; i < arguments.keywords.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (arguments.keywords[i].first == arguments.keywords[j].first)
        return fail(Code::InvalidArgument,
                    "the argument '" + arguments.keywords[i].first + "' is given twice");
  return {};
}

// The values of a builtin's parameters. InvalidArgument, with names: too many, too few, unknown or
// doubled arguments.
class Binder {
public:
  Binder(Runtime &runtime, const Builtin &builtin, std::string_view kind, CallArguments arguments)
      : runtime_(runtime), builtin_(builtin), kind_(kind), arguments_(std::move(arguments)) {}

  Result<std::vector<Value>> run(const Value &self) {
    SINTER_TRY(checkNoDoubles(arguments_));
    std::vector<Value> values;
    std::string_view rest = builtin_.parameters;
    if (kind_ != "function") {
      (void)nextParameter(rest);
      values.push_back(self);
    }
    while (!rest.empty()) {
      SINTER_ASSIGN(Value value, valueOf(nextParameter(rest)));
      values.push_back(std::move(value));
    }
    if (taken_ < arguments_.positional.size())
      return refuse("takes at most " + std::to_string(taken_) + " arguments, found " +
                    std::to_string(arguments_.positional.size()));
    if (!arguments_.keywords.empty())
      return refuse("takes no argument '" + arguments_.keywords[0].first + "'");
    return values;
  }

private:
  Result<Value> valueOf(std::string_view parameter) {
    if (parameter.starts_with("**"))
      return allKeywords();
    if (parameter.starts_with('*')) {
      const auto first = arguments_.positional.begin() + static_cast<ptrdiff_t>(taken_);
      taken_ = arguments_.positional.size();
      return runtime_.tuple(std::vector<Value>(first, arguments_.positional.end()));
    }
    const bool isOptional = parameter.ends_with('?');
    parameter.remove_suffix(isOptional);
    std::optional<Value> named = takeKeyword(arguments_, parameter);
    if (taken_ < arguments_.positional.size()) {
      if (named)
        return refuse("is given the argument '" + std::string(parameter) + "' twice");
      return arguments_.positional[taken_++];
    }
    if (!named && !isOptional)
      return refuse("lacks the argument '" + std::string(parameter) + "'");
    return named ? std::move(*named) : Value();
  }
  Value allKeywords() {
    Value made = runtime_.dict();
    for (auto &[name, value] : arguments_.keywords)
      runtime_.set(made, name, std::move(value));
    arguments_.keywords.clear();
    return made;
  }
  Fail refuse(const std::string &what) const {
    return fail(Code::InvalidArgument,
                "the " + std::string(kind_) + " '" + std::string(builtin_.name) + "' " + what);
  }

  Runtime &runtime_;
  const Builtin &builtin_;
  std::string_view kind_;
  CallArguments arguments_;
  size_t taken_ = 0;
};

} // namespace

Result<Value> Interpreter::callBuiltin(const Builtin &builtin, std::string_view kind,
                                       const Value &self, CallArguments arguments) {
  SINTER_TRY(spend(1 + arguments.positional.size() + arguments.keywords.size()));
  SINTER_ASSIGN(const std::vector<Value> values,
                Binder(*this, builtin, kind, std::move(arguments)).run(self));
  auto result = builtin.run(*this, values);
  if (!result && result.error().code == Code::InvalidArgument && !result.error().byteOffset)
    result.error().message =
        std::string(kind) + " '" + std::string(builtin.name) + "': " + result.error().message;
  return result;
}

Result<Value> Interpreter::call(const Value &function, CallArguments arguments) {
  if (!function.is(Value::Kind::Function))
    return wrongType("a function or macro to call", function);
  const FunctionObject &called = function.function();
  if (!called.builtin)
    return callMacro(called, std::move(arguments));
  const bool isMethod = !called.self.isMissing();
  return callBuiltin(*called.builtin, isMethod ? "method" : "function", called.self,
                     std::move(arguments));
}

Result<Value> Interpreter::filter(std::string_view name, const Value &input,
                                  CallArguments arguments) {
  const Builtin *builtin = findFilter(name);
  if (!builtin)
    return unknownBuiltin("filter", name, std::nullopt);
  const EvaluationDepth deeper(depth_);
  if (depth_ > limits().depth)
    return tooMuchRecursion(limits());
  return callBuiltin(*builtin, "filter", input, std::move(arguments));
}
Result<Value> Interpreter::test(std::string_view name, const Value &value,
                                CallArguments arguments) {
  const Builtin *builtin = findTest(name);
  if (!builtin)
    return unknownBuiltin("test", name, std::nullopt);
  return callBuiltin(*builtin, "test", value, std::move(arguments));
}

Result<Value> Interpreter::callMacro(const FunctionObject &function, CallArguments arguments) {
  const Stmt &macro = tree_.at(static_cast<StmtId>(function.macro));
  SINTER_TRY(checkNoDoubles(arguments));
  const Ref<Scope> scope = scope_;
  Text content;
  Text *const outer = std::exchange(out_, &content);
  scope_ = newScope(Ref<Scope>(static_cast<Scope *>(function.scope.get())));
  Result<void> bound = bindParameters(macro, arguments);
  const Result<Flow> flow = bound ? exec(macro.bodies[0]) : Result<Flow>(Fail(bound.error()));
  scope_ = scope;
  out_ = outer;
  heap().discharge(content.size());
  SINTER_TRY(flow);
  return text(std::move(content));
}

// Positional arguments, then keywords, then defaults, which may use the parameters before them.
Result<void> Interpreter::bindParameters(const Stmt &macro, CallArguments &arguments) {
  const size_t count = macro.parameters.size();
  std::vector<std::optional<Value>> given;
  for (size_t i = 0; i < count; ++i) {
    const std::string &name = tree_.at(macro.parameters[i].name);
    if (i < arguments.positional.size())
      given.emplace_back(arguments.positional[i]);
    else
      given.push_back(takeKeyword(arguments, name));
  }
  SINTER_TRY(bindSpecialNames(macro, arguments));
  for (size_t i = 0; i < count; ++i) {
    const Stmt::Parameter &parameter = macro.parameters[i];
    const std::string &name = tree_.at(parameter.name);
    if (given[i]) {
      define(parameter.name, std::move(*given[i]));
    } else if (parameter.initial != ExprId::None) {
      SINTER_ASSIGN(Value value, eval(parameter.initial));
      define(parameter.name, std::move(value));
    } else {
      define(parameter.name, undefined("parameter '" + name + "' was not provided"));
    }
  }
  return {};
}

Result<void> Interpreter::bindSpecialNames(const Stmt &macro, CallArguments &arguments) {
  const size_t count = macro.parameters.size();
  const auto refuse = [&](const std::string &what) -> Fail {
    return fail(Code::InvalidArgument, "the macro '" + macro.text + "' " + what);
  };
  const bool hasOwnCaller = std::ranges::any_of(macro.parameters, [&](const auto &parameter) {
    return tree_.at(parameter.name) == "caller";
  });
  if (macro.usesCaller && !hasOwnCaller) {
    std::optional<Value> caller = takeKeyword(arguments, "caller");
    const bool isThere = caller && !caller->is(Value::Kind::None);
    define(nameId("caller"), isThere ? std::move(*caller) : undefined("No caller defined"));
  }
  if (macro.usesKeywords) {
    Value keywords = dict();
    for (auto &[name, value] : std::exchange(arguments.keywords, {}))
      set(keywords, name, std::move(value));
    define(nameId("kwargs"), std::move(keywords));
  } else if (!arguments.keywords.empty()) {
    return refuse("takes no argument '" + arguments.keywords[0].first + "'");
  }
  const size_t extra = arguments.positional.size() - std::min(arguments.positional.size(), count);
  if (macro.usesArguments)
    define(nameId("varargs"),
           tuple(std::vector<Value>(arguments.positional.end() - static_cast<ptrdiff_t>(extra),
                                    arguments.positional.end())));
  else if (extra > 0)
    return refuse("takes at most " + std::to_string(count) + " arguments, found " +
                  std::to_string(arguments.positional.size()));
  return {};
}

} // namespace sinter::jinja
