// The grammar of statements of Jinja 3.1, with loop controls and the tag `generation`.
#include "jinja/builtins.h"
#include "jinja/parser.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

using Kind = Token::Kind;

class Parser : public ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;

  Result<Tree> run() {
    SINTER_ASSIGN(tree_.body, body({}));
    for (const Expr &expr : tree_.expressions) {
      const bool isFilter = expr.kind == Expr::Kind::Filter;
      if (!expr.builtin && !expr.isConditional && (isFilter || expr.kind == Expr::Kind::Test))
        return unknownBuiltin(isFilter ? "filter" : "test", expr.text, expr.offset);
    }
    return std::move(tree_);
  }

private:
  using Rule = Result<StmtId> (Parser::*)();
  struct Tag {
    std::string_view name;
    Rule rule;
  };
  static const Tag kTags[];

  StmtId add(Stmt stmt) {
    tree_.statements.push_back(std::move(stmt));
    return static_cast<StmtId>(tree_.statements.size() - 1);
  }
  using ExpressionParser::add;

  // Statements up to the tag of one of the names, which is not taken, or up to the template's end.
  Result<Body> body(std::initializer_list<std::string_view> ends) {
    const Nested nested(depth_);
    SINTER_TRY(checkNesting());
    Body statements;
    while (now().kind != Kind::End) {
      if (now().kind == Kind::BlockBegin && next().kind == Kind::Name &&
          std::ranges::find(ends, next().text) != ends.end()) {
        take();
        return statements;
      }
      SINTER_ASSIGN(const StmtId id, statement());
      statements.push_back(id);
    }
    if (ends.size() == 0)
      return statements;
    return unexpected("'{% " + std::string(*(ends.end() - 1)) + " %}'");
  }
  // The rest of a tag, a body and the tag that ends it.
  Result<Body> bodyUntil(std::string_view end) {
    SINTER_TRY(endTag());
    SINTER_ASSIGN(Body statements, body({end}));
    take();
    return statements;
  }
  // The '%}' before a body; a colon before it is allowed, as in Python.
  Result<void> endTag() {
    takeOperator(":");
    return closeTag();
  }
  Result<void> closeTag() {
    if (now().kind != Kind::BlockEnd)
      return unexpected("'%}'");
    take();
    return {};
  }

  Result<StmtId> statement() {
    const uint32_t offset = now().offset;
    if (now().kind == Kind::Data)
      return add({Stmt::Kind::Text, offset, take().text});
    if (now().kind == Kind::OutputBegin) {
      take();
      Stmt output{Stmt::Kind::Output, offset};
      SINTER_ASSIGN(const ExprId value, tuple());
      output.expressions = {value};
      if (now().kind != Kind::OutputEnd)
        return unexpected("'}}'");
      take();
      return add(std::move(output));
    }
    take();
    SINTER_ASSIGN(const StmtId id, tag());
    SINTER_TRY(closeTag());
    return id;
  }

  Result<StmtId> tag();

  Result<StmtId> set() {
    Stmt set{Stmt::Kind::Set, take().offset};
    SINTER_ASSIGN(const ExprId name, target(true));
    set.targets = {name};
    if (takeOperator("=")) {
      SINTER_ASSIGN(const ExprId value, tuple());
      set.expressions = {value};
      return add(std::move(set));
    }
    set.kind = Stmt::Kind::SetBlock;
    SINTER_ASSIGN(const ExprId last, filters(ExprId::None));
    set.expressions = {last};
    SINTER_ASSIGN(Body content, bodyUntil("endset"));
    set.bodies.push_back(std::move(content));
    return add(std::move(set));
  }

  Result<StmtId> forLoop() {
    Stmt loop{Stmt::Kind::For, take().offset};
    SINTER_ASSIGN(const ExprId item, target(false, "in"));
    loop.targets = {item};
    if (!takeName("in"))
      return unexpected("'in'");
    SINTER_ASSIGN(const ExprId items, tuple(false, "recursive"));
    loop.expressions = {items, ExprId::None};
    if (takeName("if")) {
      SINTER_ASSIGN(loop.expressions[1], expression());
    }
    if (isName("recursive"))
      return unsupportedTag("recursive loop", now().offset);
    SINTER_TRY(endTag());
    ++loops_;
    SINTER_ASSIGN(Body content, body({"else", "endfor"}));
    --loops_;
    loop.bodies.push_back(std::move(content));
    if (takeName("else")) {
      SINTER_ASSIGN(Body other, bodyUntil("endfor"));
      loop.bodies.push_back(std::move(other));
    } else {
      take();
    }
    return add(std::move(loop));
  }

  Result<StmtId> branch() {
    const size_t begin = tree_.expressions.size();
    Stmt branch{Stmt::Kind::If, now().offset};
    do {
      take(); // if or elif
      SINTER_ASSIGN(const ExprId condition, tuple(false));
      branch.expressions.push_back(condition);
      SINTER_TRY(endTag());
      SINTER_ASSIGN(Body content, body({"elif", "else", "endif"}));
      branch.bodies.push_back(std::move(content));
    } while (isName("elif"));
    if (take().text == "else") {
      SINTER_ASSIGN(Body content, bodyUntil("endif"));
      branch.bodies.push_back(std::move(content));
    }
    markConditional(begin);
    return add(std::move(branch));
  }

  Result<void> parameters(Stmt &stmt) {
    SINTER_TRY(expectOperator("("));
    while (!isOperator(")")) {
      const uint32_t offset = now().offset;
      SINTER_ASSIGN(const std::string name, expectName("a parameter's name"));
      ExprId initial = ExprId::None;
      if (takeOperator("=")) {
        SINTER_ASSIGN(initial, expression());
      } else if (!stmt.parameters.empty() && stmt.parameters.back().initial != ExprId::None) {
        return fail(Code::Corrupt,
                    "the parameter '" + name +
                        "' without a default follows one "
                        "with a default",
                    offset);
      }
      stmt.parameters.push_back({nameId(name), initial});
      if (!isOperator(")"))
        SINTER_TRY(expectOperator(","));
    }
    return expectOperator(")");
  }

  // A body that runs as a macro's: which of the special names it uses is found on the way.
  Result<void> macroBody(Stmt &stmt, std::string_view end) {
    const bool caller = std::exchange(usesCaller_, false);
    const bool arguments = std::exchange(usesArguments_, false);
    const bool keywords = std::exchange(usesKeywords_, false);
    const uint32_t loops = std::exchange(loops_, 0);
    SINTER_ASSIGN(Body content, bodyUntil(end));
    stmt.bodies.push_back(std::move(content));
    loops_ = loops;
    stmt.usesCaller = usesCaller_;
    stmt.usesArguments = usesArguments_;
    stmt.usesKeywords = usesKeywords_;
    usesCaller_ |= caller;
    usesArguments_ |= arguments;
    usesKeywords_ |= keywords;
    return {};
  }

  Result<StmtId> macro() {
    Stmt macro{Stmt::Kind::Macro, take().offset};
    SINTER_ASSIGN(macro.text, expectName("a macro's name"));
    macro.name = nameId(macro.text);
    SINTER_TRY(parameters(macro));
    SINTER_TRY(macroBody(macro, "endmacro"));
    return add(std::move(macro));
  }

  Result<StmtId> callBlock() {
    Stmt block{Stmt::Kind::CallBlock, take().offset};
    block.text = "caller";
    if (isOperator("("))
      SINTER_TRY(parameters(block));
    SINTER_ASSIGN(const ExprId call, expression());
    if (at(call).kind != Expr::Kind::Call)
      return fail(Code::Corrupt, "a call block calls nothing, expected MACRO(...)", block.offset);
    block.expressions = {call};
    SINTER_TRY(macroBody(block, "endcall"));
    return add(std::move(block));
  }

  Result<StmtId> filterBlock() {
    Stmt block{Stmt::Kind::FilterBlock, take().offset};
    SINTER_ASSIGN(const ExprId first, filter(ExprId::None));
    SINTER_ASSIGN(const ExprId last, filters(first));
    block.expressions = {last};
    SINTER_ASSIGN(Body content, bodyUntil("endfilter"));
    block.bodies.push_back(std::move(content));
    return add(std::move(block));
  }

  Result<StmtId> with() {
    Stmt with{Stmt::Kind::With, take().offset};
    while (now().kind != Kind::BlockEnd && !isOperator(":")) {
      if (!with.targets.empty())
        SINTER_TRY(expectOperator(","));
      // Not a tuple: the comma leads to the next name.
      SINTER_ASSIGN(const std::string name, expectName("a name"));
      Expr one{Expr::Kind::Name, now().offset};
      one.name = nameId(name);
      with.targets.push_back(add(std::move(one)));
      SINTER_TRY(expectOperator("="));
      SINTER_ASSIGN(const ExprId value, expression());
      with.expressions.push_back(value);
    }
    SINTER_ASSIGN(Body content, bodyUntil("endwith"));
    with.bodies.push_back(std::move(content));
    return add(std::move(with));
  }

  Result<StmtId> generation() {
    Stmt block{Stmt::Kind::Generation, take().offset};
    SINTER_TRY(macroBody(block, "endgeneration"));
    return add(std::move(block));
  }

  Result<StmtId> print() {
    Stmt output{Stmt::Kind::Output, take().offset};
    while (now().kind != Kind::BlockEnd) {
      if (!output.expressions.empty())
        SINTER_TRY(expectOperator(","));
      SINTER_ASSIGN(const ExprId value, expression());
      output.expressions.push_back(value);
    }
    return add(std::move(output));
  }

  Result<StmtId> loopControl() {
    const Token token = take();
    if (loops_ == 0)
      return fail(Code::Corrupt, "'" + token.text + "' stands outside of a loop", token.offset);
    return add({token.text == "break" ? Stmt::Kind::Break : Stmt::Kind::Continue, token.offset});
  }

  static Fail unsupportedTag(std::string_view what, uint32_t offset) {
    return fail(Code::Unsupported,
                "the template has a " + std::string(what) + ", which is not supported", offset);
  }

  uint32_t loops_ = 0; // around what is parsed, within one macro
};

const Parser::Tag Parser::kTags[] = {
    {"break", &Parser::loopControl},
    {"call", &Parser::callBlock},
    {"continue", &Parser::loopControl},
    {"filter", &Parser::filterBlock},
    {"for", &Parser::forLoop},
    {"generation", &Parser::generation},
    {"if", &Parser::branch},
    {"macro", &Parser::macro},
    {"print", &Parser::print},
    {"set", &Parser::set},
    {"with", &Parser::with},
};

Result<StmtId> Parser::tag() {
  if (now().kind != Kind::Name)
    return unexpected("a tag's name");
  for (const Tag &known : kTags)
    if (known.name == now().text)
      return (this->*known.rule)();
  return unsupportedTag("tag '" + now().text + "'", now().offset);
}

} // namespace

Result<Tree> parse(std::string_view source, const Limits &limits) {
  SINTER_ASSIGN(std::vector<Token> tokens, tokensOf(source));
  return Parser(std::move(tokens), limits).run();
}

} // namespace sinter::jinja
