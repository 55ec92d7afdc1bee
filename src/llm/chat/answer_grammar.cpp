// A call is the sequence of its marks and slots, once for each tool.
#include "llm/chat/answer_grammar.h"

#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "llm/chat/mark_grammar.h"
#include "llm/chat/probe_texts.h"
#include "llm/chat/tag_arguments_grammar.h"

#include <algorithm>

namespace sinter {
namespace {

using grammar::CharacterSet;
using grammar::ExprId;
using grammar::kUnbounded;
using jinja::Input;

// Of gpt-oss.
constexpr std::string_view kChannel = "<|channel|>", kMessage = "<|message|>",
                           kNext = "<|end|><|start|>assistant";

// An object whose members are those that the schema names, where it does not say more.
Input objectSchema(const Input &parameters) {
  if (!parameters.object())
    return Input(Input::Object{{"type", Input(std::string("object"))},
                               {"properties", Input(Input::Object())},
                               {"additionalProperties", Input(false)}});
  Input::Object made = *parameters.object();
  const auto has = [&](std::string_view keyword) { return parameters.find(keyword) != nullptr; };
  if (!has("type"))
    made.emplace_back("type", Input(std::string("object")));
  constexpr std::string_view kMore[] = {"additionalProperties",
                                        "patternProperties",
                                        "allOf",
                                        "anyOf",
                                        "oneOf",
                                        "$ref",
                                        "minProperties",
                                        "if",
                                        "dependentSchemas",
                                        "unevaluatedProperties"};
  const bool saysMore = std::ranges::any_of(kMore, has);
  if (has("properties") && !saysMore)
    made.emplace_back("additionalProperties", Input(false));
  return Input(std::move(made));
}

// The same parameters with any values, none of them required.
Input namesAlone(const Input &parameters) {
  Input::Object names;
  if (const Input *properties = parameters.find("properties"); properties && properties->object())
    for (const auto &[name, schema] : *properties->object())
      names.emplace_back(name, Input(Input::Object()));
  return Input(Input::Object{{"type", Input(std::string("object"))},
                             {"properties", Input(std::move(names))},
                             {"additionalProperties", Input(false)}});
}

class AnswerGrammar {
public:
  AnswerGrammar(const AnswerSyntax &syntax, AnswerRules rules, const Tokenizer &tokenizer)
      : syntax_(syntax), calls_(syntax.calls), rules_(std::move(rules)),
        g_(rules_.form ? std::move(*rules_.form) : grammar::Grammar()), marks_(g_, tokenizer) {}

  Result<grammar::Grammar> make() {
    if (syntax_.usesChannels()) {
      SINTER_ASSIGN(const ExprId root, channels());
      g_.setRoot(root);
      return std::move(g_);
    }
    SINTER_ASSIGN(ExprId root, body());
    const ReasoningSyntax &marks = syntax_.reasoning;
    if (!marks.close.empty()) {
      const ExprId rest = g_.sequence({{marks_.spaces(), root}});
      const ExprId thought = marks_.textUpTo(marks.close, rest);
      root = rules_.startsInReasoning ? thought
             : marks.open.empty() || !rules_.mayReason
                 ? root
                 : g_.choice({{g_.sequence({{marks_.mark(marks.open), thought}}), root}});
    }
    g_.setRoot(root);
    return std::move(g_);
  }

private:
  // What comes after thoughts.
  Result<ExprId> body() {
    if (rules_.calls == CallWish::None)
      return said(rules_.form ? g_.root() : marks_.anyText());
    if (calls_.shape == CallShape::None)
      return fail(Code::Unsupported, "the model's chat template does not tell how it writes calls "
                                     "of tools, so none can be enforced");
    if (rules_.calls == CallWish::May && !rules_.form)
      return textOrCalls();
    SINTER_ASSIGN(const ExprId calls, firstSection());
    if (rules_.calls == CallWish::Must)
      return calls;
    return g_.choice({{calls, said(g_.root())}});
  }

  bool endsContent() const { return rules_.startsInContent && !rules_.startsInReasoning; }

  // With the marks of content around it, less those that end the prompt.
  ExprId said(ExprId content) {
    const ContentSyntax &marks = syntax_.content;
    if (!marks.isMarked())
      return content;
    return g_.sequence({{contentOpen(), content, marks_.mark(marks.close)}});
  }

  ExprId contentOpen() {
    std::string_view open = syntax_.content.open;
    if (endsContent())
      open = {};
    else if (rules_.startsInCall)
      open.remove_prefix(std::min(open.size(), calls_.open().size()));
    return marks_.mark(open);
  }

  // Calls at the begin of an answer. Content that the prompt opened is closed first.
  Result<ExprId> firstSection() {
    SINTER_ASSIGN(const ExprId calls, section(rules_.startsInCall ? calls_.open().size() : 0));
    return endsContent() ? g_.sequence({{marks_.mark(syntax_.content.close), calls}}) : calls;
  }

  // As textOrCalls(), where a mark closes the text, or a call's does.
  Result<ExprId> markedTextOrCalls(std::string_view callMark) {
    SINTER_ASSIGN(const ExprId first, firstSection());
    const std::string &close = syntax_.content.close;
    SINTER_ASSIGN(const ExprId rest, section(close.empty() ? callMark.size() : 0));
    const ExprId text = close.empty() ? marks_.textUpTo(callMark, rest, true)
                                      : marks_.textUpTo(close, g_.repeat(rest, 0, 1));
    return g_.choice({{first, g_.sequence({{contentOpen(), text}})}});
  }

  // What the first call begins with and text has not.
  std::string_view callMark() const {
    const std::string_view begin = trimLeft(calls_.begin);
    const std::string_view first = begin.empty() ? trimLeft(calls_.open()) : begin;
    const std::string_view mark = first.substr(0, first.find_first_of(kMarkSpace));
    return calls_.shape == CallShape::Json ? mark.substr(0, mark.find_first_of("{[")) : mark;
  }

  // Where a call begins with a mark, text may come before it.
  Result<ExprId> textOrCalls() {
    const std::string_view mark = callMark();
    if (syntax_.content.isMarked() && !mark.empty())
      return markedTextOrCalls(mark);
    if (!mark.empty()) {
      SINTER_ASSIGN(const ExprId calls, section(mark.size()));
      return marks_.textUpTo(mark, calls, true);
    }
    SINTER_ASSIGN(const ExprId calls, section(0));
    const CharacterSet brackets({{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}, {'[', '['}, {'{', '{'}});
    const ExprId text = g_.sequence({{g_.characters(brackets.complement()), marks_.anyText()}});
    return g_.choice({{g_.empty(), text, calls}});
  }

  // All calls, without the first `skipped` bytes of their marks.
  Result<ExprId> section(size_t skipped) {
    const std::string_view begin = trimLeft(calls_.begin);
    const size_t ofBegin = std::min(skipped, begin.size());
    SINTER_ASSIGN(const ExprId first, oneOf(skipped - ofBegin));
    std::vector<ExprId> parts = {marks_.mark(begin.substr(ofBegin)), first};
    if (calls_.severalCalls && rules_.severalCalls) {
      SINTER_ASSIGN(const ExprId other, oneOf(0));
      parts.push_back(
          g_.repeat(g_.sequence({{marks_.mark(calls_.separator), other}}), 0, kUnbounded));
    }
    parts.push_back(marks_.mark(calls_.end));
    return g_.sequence(parts);
  }

  Result<ExprId> oneOf(size_t skipped) {
    std::vector<ExprId> ways;
    for (const OfferedTool &tool : rules_.tools) {
      SINTER_ASSIGN(const ExprId way, call(tool, skipped));
      ways.push_back(way);
    }
    return g_.choice(ways);
  }

  Result<ExprId> call(const OfferedTool &tool, size_t skipped) {
    std::vector<ExprId> parts;
    for (const CallPart &part : calls_.parts) {
      std::string_view mark = part.before;
      if (parts.empty() && trimLeft(calls_.begin).empty())
        mark = trimLeft(mark).substr(std::min(skipped, trimLeft(mark).size()));
      parts.push_back(marks_.mark(mark));
      SINTER_ASSIGN(const ExprId inside, slot(part.slot, tool));
      parts.push_back(inside);
    }
    parts.push_back(marks_.mark(calls_.close));
    return g_.sequence(parts);
  }

  Result<ExprId> slot(CallSlot slot, const OfferedTool &tool) {
    constexpr uint32_t kShortLetters = 9, kMostLetters = 40, kMostDigits = 3;
    switch (slot) {
    case CallSlot::Number:
      return g_.repeat(g_.characters(CharacterSet({{'0', '9'}})), 1, kMostDigits);
    case CallSlot::Name:
      if (calls_.idHoldsName)
        return g_.sequence(
            {{g_.text("functions." + tool.name + ":"),
              g_.repeat(g_.characters(CharacterSet({{'0', '9'}})), 1, kMostDigits)}});
      return g_.text(calls_.shape == CallShape::Json ? grammar::jsonStringContent(tool.name)
                                                     : tool.name);
    case CallSlot::Id:
      return g_.repeat(g_.characters(CharacterSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})),
                       calls_.shortIds ? kShortLetters : 1,
                       calls_.shortIds ? kShortLetters : kMostLetters);
    case CallSlot::Arguments:
      break;
    }
    return arguments(tool);
  }

  Result<ExprId> arguments(const OfferedTool &tool) {
    Result<ExprId> made = argumentsByForm(tool);
    if (!made)
      return fail(made.error().code, "tool '" + tool.name + "': " + made.error().message);
    return made;
  }

  Result<ExprId> argumentsByForm(const OfferedTool &tool) {
    const bool isHeld = rules_.calls == CallWish::Must || tool.isStrict;
    const Input schema = isHeld ? objectSchema(tool.parameters)
                                : Input(Input::Object{{"type", Input(std::string("object"))}});
    switch (calls_.arguments) {
    case ArgumentForm::Tags:
      if (!isHeld)
        return anyTagArguments(g_, marks_, calls_.tags);
      return tagArguments(g_, marks_, calls_.tags, schema);
    case ArgumentForm::Elements:
      return elementArguments(g_, marks_, calls_.tags,
                              isHeld ? schema : namesAlone(tool.parameters));
    case ArgumentForm::Braces:
      return grammar::addJsonSchema(g_, schema, bracedValues());
    case ArgumentForm::Keywords:
      return grammar::addJsonSchema(g_, schema, keywordValues());
    case ArgumentForm::Json:
      break;
    }
    return grammar::addJsonSchema(g_, schema);
  }

  // Texts have marks around them, keys have none.
  grammar::ValueWriting bracedValues() const {
    const grammar::ObjectWriting object{.quotesKeys = false};
    const std::string quote = marks_.spelling(kBraceQuote);
    return {.textOpen = quote,
            .textClose = quote,
            .escaped = 0,
            .isSpaced = false,
            .root = object,
            .inner = object};
  }

  static grammar::ValueWriting keywordValues() {
    return {.textOpen = "'",
            .textClose = "'",
            .escaped = '\'',
            .root = {.open = "(", .assign = "=", .close = ")", .quotesKeys = false}};
  }

  ExprId messageTo(std::string_view channel) {
    return marks_.mark(std::string(kChannel) + std::string(channel) + std::string(kMessage));
  }

  Result<ExprId> channels() {
    const ExprId thought =
        g_.sequence({{messageTo("analysis"), marks_.anyText(), marks_.mark(kNext)}});
    const ExprId thoughts = g_.repeat(thought, 0, kUnbounded);
    const ExprId content = rules_.form ? g_.root() : marks_.anyText();
    const ExprId final = g_.sequence({{messageTo("final"), content}});
    if (rules_.calls == CallWish::None)
      return g_.sequence({{thoughts, final}});
    std::vector<ExprId> ways;
    for (const OfferedTool &tool : rules_.tools) {
      SINTER_ASSIGN(const ExprId json, arguments(tool));
      const std::string to = "to=functions." + tool.name;
      const ExprId heads = g_.choice({{marks_.mark(" " + to + std::string(kChannel) +
                                                   "commentary json" + std::string(kMessage)),
                                       marks_.mark(std::string(kChannel) + "commentary " + to +
                                                   " <|constrain|>json" + std::string(kMessage))}});
      ways.push_back(g_.sequence({{heads, json}}));
    }
    const ExprId call = g_.choice(ways);
    if (rules_.calls == CallWish::Must)
      return g_.sequence({{thoughts, call}});
    return g_.sequence({{thoughts, g_.choice({{final, call}})}});
  }

  const AnswerSyntax &syntax_;
  const CallSyntax &calls_;
  AnswerRules rules_;
  grammar::Grammar g_;
  MarkGrammar marks_;
};

} // namespace

Result<grammar::Grammar> answerGrammar(const AnswerSyntax &syntax, AnswerRules rules,
                                       const Tokenizer &tokenizer) {
  return AnswerGrammar(syntax, std::move(rules), tokenizer).make();
}

std::string answerGrammarText(const AnswerSyntax *syntax, const AnswerRules &rules) {
  std::string text;
  const auto add = [&](std::string_view part) {
    text += std::to_string(part.size()) + ':' + std::string(part);
  };
  const auto addFlags = [&](std::initializer_list<bool> flags) {
    for (const bool flag : flags)
      text += flag ? '1' : '0';
  };
  if (syntax) {
    const auto &[calls, reasoning, content, offersTools, readsSystem, argumentsAsText] = *syntax;
    const auto &[shape, arguments, begin, parts, close, separator, end, tags, isList, severalCalls,
                 promptOpens, idHoldsName, shortIds, nameKey, argumentsKey] = calls;
    add(std::to_string(static_cast<int>(shape)) + ' ' +
        std::to_string(static_cast<int>(arguments)));
    for (const std::string *part :
         {&begin, &close, &separator, &end, &tags.keyOpen, &tags.textOpen, &tags.otherOpen,
          &tags.close, &nameKey, &argumentsKey, &reasoning.open, &reasoning.close, &content.open,
          &content.close, &content.turnEnd})
      add(*part);
    for (const CallPart &part : parts)
      add(part.before + ' ' + std::to_string(static_cast<int>(part.slot)));
    addFlags({tags.nameTypes, isList, severalCalls, promptOpens, idHoldsName, shortIds, offersTools,
              readsSystem, argumentsAsText});
  }
  text += '|' + std::to_string(static_cast<int>(rules.calls));
  addFlags({rules.severalCalls, rules.startsInReasoning, rules.startsInContent, rules.startsInCall,
            rules.mayReason});
  for (const OfferedTool &tool : rules.tools) {
    add(tool.name);
    add(grammar::jsonLiteral(tool.parameters));
    addFlags({tool.isStrict});
  }
  return text;
}

std::vector<TokenId> markTokens(const AnswerSyntax &syntax, const Tokenizer &tokenizer) {
  const CallSyntax &calls = syntax.calls;
  std::vector<std::string> marks = {
      syntax.reasoning.open, syntax.reasoning.close, calls.begin,
      calls.close,           calls.separator,        calls.end,
      calls.tags.keyOpen,    calls.tags.textOpen,    calls.tags.otherOpen,
      calls.tags.close,      syntax.content.open,    syntax.content.close,
      syntax.content.turnEnd};
  for (const CallPart &part : calls.parts)
    marks.push_back(part.before);
  if (calls.arguments == ArgumentForm::Braces)
    marks.emplace_back(kBraceQuote);
  if (calls.shape == CallShape::Json)
    marks.emplace_back("<|python_tag|>");
  std::vector<TokenId> tokens;
  for (const std::string &mark : marks)
    for (const MarkPiece &piece : markPieces(mark, tokenizer))
      if (piece.control)
        tokens.push_back(*piece.control);
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

} // namespace sinter
