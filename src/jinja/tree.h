// A parsed template: expressions and statements in tables, referring to one another by index.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinter::jinja {

struct Builtin;

enum class ExprId : uint32_t { None = UINT32_MAX };
enum class StmtId : uint32_t { None = UINT32_MAX };
// A name of the template; see Tree::names.
enum class NameId : uint32_t { None = UINT32_MAX };

enum class BinaryOp : uint8_t { Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power };
enum class CompareOp : uint8_t {
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn
};

struct Expr {
  enum class Kind : uint8_t {
    None,
    True,
    False,
    Integer,
    Float,
    Text,
    Name,
    Tuple,
    List,
    Dict,        // list: keys and values in turn
    Conditional, // list: condition, value, other value or None
    Or,
    And,
    Not,
    Negate,
    Plus,
    Binary,    // list: left, right
    Concat,    // list: all terms
    Compare,   // list: the first term, then one for each of `comparisons`
    Attribute, // list: the object; text: the name
    Subscript, // list: the object, the key
    Slice,     // list: start, stop, step, each may be None
    Call,      // list: the function, then as `Arguments` says
    Filter,    // list: the input, or None in a block, then the same; text: its name
    Test,      // as Filter
  };
  // Where the arguments of a Call, Filter or Test are in `list`, after the first.
  struct Keyword {
    std::string name;
    ExprId value;
  };

  Kind kind;
  uint32_t offset; // in the source
  std::vector<ExprId> list = {};
  std::string text = {};
  int64_t integer = 0;
  double real = 0;
  NameId name = NameId::None;
  BinaryOp op = BinaryOp::Add;
  std::vector<CompareOp> comparisons = {};
  std::vector<Keyword> keywords = {};
  ExprId moreArguments = ExprId::None; // *expression
  ExprId moreKeywords = ExprId::None;  // **expression
  bool isConditional = false;          // stands in a condition, or where one leads to
  const Builtin *builtin = nullptr;    // of a Filter or Test; null: there is none of that name
};

using Body = std::vector<StmtId>;

struct Stmt {
  enum class Kind : uint8_t {
    Text,
    Output,      // expressions: what is written
    If,          // expressions: conditions; bodies: one each, and one for `else` if there is one
    For,         // expressions: what is looped over, then the filter or None; bodies: body, else
    Set,         // expressions: the value
    SetBlock,    // expressions: its filters or None; bodies: body
    Macro,       // parameters, bodies: body
    CallBlock,   // parameters of its caller; expressions: the call; bodies: body
    FilterBlock, // expressions: the filters; bodies: body
    With,        // targets and expressions in parallel; bodies: body
    Generation,  // bodies: body
    Break,
    Continue,
  };
  struct Parameter {
    NameId name;
    ExprId initial; // None: there is no default
  };

  Kind kind;
  uint32_t offset;
  std::string text = {}; // of a Text; the name of a Macro
  NameId name = NameId::None;
  std::vector<ExprId> expressions = {};
  std::vector<Body> bodies = {};
  std::vector<ExprId> targets = {}; // a Name, a Tuple of targets, or an Attribute of a Name
  std::vector<Parameter> parameters = {};
  bool usesCaller = false, usesArguments = false, usesKeywords = false; // of a Macro, CallBlock
};

struct Tree {
  std::vector<Expr> expressions;
  std::vector<Stmt> statements;
  std::vector<std::string> names;
  Body body;

  const Expr &at(ExprId id) const { return expressions[static_cast<size_t>(id)]; }
  const Stmt &at(StmtId id) const { return statements[static_cast<size_t>(id)]; }
  const std::string &at(NameId id) const { return names[static_cast<size_t>(id)]; }
};

} // namespace sinter::jinja
