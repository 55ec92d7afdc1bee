// Values that are no texts are JSON; a text is told from them by the types of its schema, as the
// reader of tags tells it.
#include "llm/chat/tag_arguments_grammar.h"

#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/regex.h"
#include "grammar/schema_view.h"
#include "grammar/string_formats.h"
#include "llm/chat/probe_texts.h"
#include "llm/chat/tool_types.h"

#include <algorithm>
#include <array>

namespace sinter {
namespace {

using grammar::CharacterSet;
using grammar::ExprId;
using grammar::kUnbounded;
using jinja::Input;

constexpr std::array<std::string_view, 12> kPlainKeywords = {
    "type",    "properties", "required", "additionalProperties", "description", "title",
    "$schema", "$defs",      "$id",      "definitions",          "examples",    "default"};
constexpr std::array<std::string_view, 4> kTextKeywords = {"pattern", "format", "minLength",
                                                           "maxLength"};

// Names of the types that are no texts, in tags.
constexpr std::pair<uint32_t, std::string_view> kTagTypes[] = {
    {grammar::kInteger | grammar::kFraction, ArgumentTags::kNumberType},
    {grammar::kBoolean, "boolean"},
    {grammar::kNull, "null"},
    {grammar::kArray, "array"},
    {grammar::kObject, "object"}};

class TagArguments {
public:
  TagArguments(grammar::Grammar &grammar, MarkGrammar &marks, const ArgumentTags &tags,
               const Input &root, bool closeHasKey)
      : g_(grammar), marks_(marks), tags_(tags), root_(root), closeHasKey_(closeHasKey),
        document_(root) {}

  Result<ExprId> compile() {
    for (const auto &[keyword, value] : *root_.object())
      if (std::ranges::find(kPlainKeywords, keyword) == kPlainKeywords.end())
        return refuse("'" + keyword + "' of the parameters");
    const Input *properties = root_.find("properties"), *required = root_.find("required");
    std::vector<ExprId> parts;
    for (size_t i = 0; properties && properties->object() && i < properties->object()->size();
         ++i) {
      const auto &[key, schema] = (*properties->object())[i];
      close_ = closeHasKey_ ? tags_.close + key + tags_.textOpen : tags_.close;
      SINTER_ASSIGN(const ExprId one, argument(key, schema));
      parts.push_back(isAmong(required, key) ? one : g_.repeat(one, 0, 1));
    }
    for (size_t i = 0; required && required->list() && i < required->list()->size(); ++i)
      if (const std::string *key = (*required->list())[i].text();
          key && !(properties && properties->find(*key)))
        return refuse("'" + *key + "', which is required and has no schema,");
    return g_.sequence(parts);
  }

private:
  static Fail refuse(const std::string &what) {
    return fail(Code::Unsupported, what + " cannot be enforced where arguments stand between tags");
  }

  static bool isAmong(const Input *list, const std::string &key) {
    return list && list->list() && std::ranges::any_of(*list->list(), [&](const Input &each) {
             return each.text() && *each.text() == key;
           });
  }

  Result<ExprId> argument(const std::string &key, const Input &schema) {
    const uint32_t types = schemaTypes(schema, root_);
    std::vector<ExprId> ways;
    const auto add = [&](const std::string &open, ExprId valueAndClose) {
      ways.push_back(g_.sequence(
          {{marks_.mark(tags_.keyOpen), g_.text(key), marks_.mark(open), valueAndClose}}));
    };
    for (const auto &[ofKind, name] : kTagTypes) {
      const uint32_t kind = tags_.nameTypes ? types & ofKind : types & ~grammar::kString;
      if (kind) {
        SINTER_ASSIGN(const ExprId json, jsonValue(schema, kind));
        add(tags_.openOfType(name), g_.sequence({{json, marks_.mark(close_)}}));
      }
      if (!tags_.nameTypes)
        break;
    }
    if (types & grammar::kString) {
      SINTER_ASSIGN(const ExprId text, textValue(schema, types == grammar::kString));
      add(tags_.textOpen, text);
    }
    return g_.choice(ways);
  }

  // The schema, and that the value is no text.
  Result<ExprId> jsonValue(const Input &schema, uint32_t types) {
    constexpr std::pair<uint32_t, const char *> kNames[] = {
        {grammar::kNull, "null"},       {grammar::kBoolean, "boolean"},
        {grammar::kFraction, "number"}, {grammar::kInteger, "integer"},
        {grammar::kArray, "array"},     {grammar::kObject, "object"}};
    Input::List names;
    for (const auto &[type, name] : kNames)
      if (types & type)
        names.push_back(Input(std::string(name)));
    Input::Object made = {{"allOf", Input(Input::List{schema})}, {"type", Input(std::move(names))}};
    for (const char *keyword : {"$defs", "definitions"})
      if (const Input *found = root_.find(keyword))
        made.emplace_back(keyword, *found);
    return grammar::addJsonSchema(g_, Input(std::move(made)));
  }

  Result<ExprId> textValue(const Input &schema, bool isTextAlone) {
    const ExprId close = marks_.mark(close_);
    if (const Input::List *values = literals(schema)) {
      std::vector<ExprId> ways;
      for (const Input &value : *values)
        if (value.text())
          ways.push_back(g_.text(*value.text()));
      return g_.sequence({{g_.choice(ways), close}});
    }
    SINTER_ASSIGN(std::optional<ExprId> content, restricted(schema, isTextAlone));
    if (!content && isTextAlone)
      return upToClose();
    const ExprId marked = g_.sequence({{marks_.anyText(), marks_.mark(word()), marks_.anyText()}});
    if (content)
      return g_.sequence({{g_.except(*content, marked), close}});
    // What looks like JSON would be read as such.
    const CharacterSet first = CharacterSet({{'\t', '\n'},
                                             {'\r', '\r'},
                                             {' ', ' '},
                                             {'"', '"'},
                                             {'-', '-'},
                                             {'0', '9'},
                                             {'[', '['},
                                             {'{', '{'}});
    std::vector<ExprId> others = {marked};
    for (const char *literal : {"true", "false", "null", "True", "False", "None"})
      others.push_back(g_.sequence({{g_.text(literal), marks_.spaces()}}));
    const ExprId any = g_.sequence({{g_.characters(first.complement()), marks_.anyText()}});
    return g_.sequence({{g_.except(any, g_.choice(others)), close}});
  }

  // White space before the closing tag is the value's, but for one line end.
  ExprId upToClose() {
    const std::string_view close = trimLeft(close_);
    return marks_.textUpTo(word(), marks_.mark(close.substr(word().size())));
  }

  // Where it occurs, readers end a value.
  std::string_view word() const {
    const std::string_view close = trimLeft(close_);
    return close.substr(0, close.find_first_of(kMarkSpace));
  }

  const Input::List *literals(const Input &schema) {
    if (const Input *value = schema.find("const")) {
      one_ = {*value};
      return &one_;
    }
    const Input *values = schema.find("enum");
    return values ? values->list() : nullptr;
  }

  // By pattern, format and length; nothing where all texts will do.
  Result<std::optional<ExprId>> restricted(const Input &schema, bool isTextAlone) {
    SINTER_TRY(checkBranches(schema, 0));
    const bool isFree = std::ranges::none_of(
        kTextKeywords, [&](std::string_view keyword) { return schema.find(keyword); });
    if (isFree)
      return std::nullopt;
    if (!isTextAlone)
      return refuse("a text's form beside other types");
    SINTER_ASSIGN(const std::optional<uint32_t> least, document_.countAt(schema, "minLength"));
    SINTER_ASSIGN(const std::optional<uint32_t> most, document_.countAt(schema, "maxLength"));
    ExprId content =
        g_.repeat(g_.characters(CharacterSet::all()), least.value_or(0), most.value_or(kUnbounded));
    SINTER_ASSIGN(const std::string *pattern, document_.textAt(schema, "pattern"));
    if (pattern) {
      SINTER_ASSIGN(const ExprId match, parseRegex(g_, *pattern, grammar::RegexUse::Found));
      content = g_.both(content, match);
    }
    SINTER_ASSIGN(const std::string *format, document_.textAt(schema, "format"));
    if (!format)
      return content;
    const auto known = grammar::formatPattern(*format);
    if (!known)
      return refuse("the format '" + *format + "'");
    SINTER_ASSIGN(const ExprId match, parseRegex(g_, *known, grammar::RegexUse::Whole));
    return g_.both(content, match);
  }

  // That no branch restricts texts, which stand beside it here.
  Result<void> checkBranches(const Input &schema, int depth) {
    constexpr int kMostDepth = 16;
    for (const char *keyword : {"not", "if"})
      if (schema.find(keyword))
        return refuse(std::string("'") + keyword + "' of a text");
    for (const char *keyword : {"anyOf", "oneOf", "allOf"}) {
      const Input *list = schema.find(keyword);
      for (size_t i = 0; list && list->list() && i < list->list()->size(); ++i)
        SINTER_TRY(checkBranch((*list->list())[i], depth));
    }
    const Input *reference = schema.find("$ref");
    if (!reference || !reference->text())
      return {};
    SINTER_ASSIGN(const Input *target, document_.resolve(schema, *reference->text()));
    return depth < kMostDepth ? checkBranch(*target, depth) : Result<void>();
  }

  Result<void> checkBranch(const Input &branch, int depth) {
    if (!(schemaTypes(branch, root_) & grammar::kString))
      return {};
    for (const std::string_view keyword : kTextKeywords)
      if (branch.find(keyword))
        return refuse("'" + std::string(keyword) + "' of a branch");
    if (literals(branch))
      return refuse("'enum' of a branch");
    return checkBranches(branch, depth + 1);
  }

  grammar::Grammar &g_;
  MarkGrammar &marks_;
  const ArgumentTags &tags_;
  const Input &root_;
  const bool closeHasKey_;
  const grammar::SchemaDocument document_;
  std::string close_; // of the argument at hand
  Input::List one_;
};

} // namespace

Result<ExprId> tagArguments(grammar::Grammar &grammar, MarkGrammar &marks, const ArgumentTags &tags,
                            const Input &schema) {
  return TagArguments(grammar, marks, tags, schema, false).compile();
}

Result<ExprId> elementArguments(grammar::Grammar &grammar, MarkGrammar &marks,
                                const ArgumentTags &tags, const Input &schema) {
  return TagArguments(grammar, marks, tags, schema, true).compile();
}

ExprId anyTagArguments(grammar::Grammar &grammar, MarkGrammar &marks, const ArgumentTags &tags) {
  constexpr uint32_t kMostKeyLength = 64;
  const std::string_view close = trimLeft(tags.close);
  const std::string_view word = close.substr(0, close.find_first_of(kMarkSpace));
  const ExprId key = grammar.repeat(
      grammar.characters(CharacterSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}})), 1,
      kMostKeyLength);
  const ExprId value = marks.textUpTo(word, marks.mark(close.substr(word.size())));
  std::vector<ExprId> opens = {marks.mark(tags.textOpen)};
  for (const auto &[types, name] : kTagTypes)
    if (tags.tellTexts() && (tags.nameTypes || opens.size() == 1))
      opens.push_back(marks.mark(tags.openOfType(name)));
  const ExprId one =
      grammar.sequence({{marks.mark(tags.keyOpen), key, grammar.choice(opens), value}});
  return grammar.repeat(one, 0, kUnbounded);
}

} // namespace sinter
