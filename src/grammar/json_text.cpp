// One writing of each value, so that what the grammar has is what a reader gets.
#include "grammar/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

namespace sinter::grammar {
namespace {

constexpr uint32_t kMostSpaces = 20;

std::string escaped(char32_t code) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  if (const size_t found = kShort.find(static_cast<char>(code)); found != std::string_view::npos)
    return std::string("\\") + kLetters[found];
  constexpr std::string_view kHex = "0123456789abcdef";
  return std::string("\\u00") + kHex[code >> 4 & 15] + kHex[code & 15];
}

// Those that no string of JSON holds as they stand.
const CharacterSet &escapedSet() {
  static const CharacterSet set({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
  return set;
}

std::string numberText(double value) {
  char text[64];
  const bool isWhole = std::trunc(value) == value && std::fabs(value) < 1e15;
  const auto end = isWhole ? std::to_chars(text, std::end(text), static_cast<int64_t>(value)).ptr
                           : std::to_chars(text, std::end(text), value).ptr;
  return std::string(text, end);
}

std::optional<double> numberOf(const jinja::Input &value) {
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*whole);
  if (const auto *real = std::get_if<double>(&value.content()))
    return *real;
  return std::nullopt;
}

} // namespace

JsonText::JsonText(Grammar &grammar) : grammar_(grammar) {
  const ExprId blank = grammar.characters(CharacterSet({{' ', ' '}}));
  const ExprId line =
      grammar.sequence({{grammar.text("\n"), grammar.repeat(blank, 0, kMostSpaces)}});
  space_ = grammar.choice({{grammar.empty(), blank, line}});
  any_ = character(grammar, CharacterSet::all());
  quote_ = grammar.text("\"");
}

// Escapes share their beginnings, so that few ways are open within a string.
static ExprId escapes(Grammar &grammar, const CharacterSet &set) {
  std::vector<CodeRange> letters, last[2]; // of short escapes; of \u000x and \u001x
  for (const CodeRange &range : set.ranges())
    for (char32_t code = range.first; code <= range.last; ++code) {
      const std::string text = escaped(code);
      const auto end = static_cast<char32_t>(text.back());
      (text.size() == 2 ? letters : last[code >> 4]).push_back({end, end});
    }
  std::vector<ExprId> ways;
  if (!letters.empty())
    ways.push_back(grammar.characters(CharacterSet(std::move(letters))));
  for (const size_t digit : {0, 1})
    if (!last[digit].empty())
      ways.push_back(
          grammar.sequence({{grammar.text(digit ? "u001" : "u000"),
                             grammar.characters(CharacterSet(std::move(last[digit])))}}));
  return grammar.sequence({{grammar.text("\\"), grammar.choice(ways)}});
}

ExprId JsonText::character(Grammar &grammar, const CharacterSet &set) {
  std::vector<ExprId> ways;
  if (const CharacterSet plain = set.without(escapedSet()); !plain.empty())
    ways.push_back(grammar.characters(plain));
  if (const CharacterSet others = set.without(set.without(escapedSet())); !others.empty())
    ways.push_back(escapes(grammar, others));
  return grammar.choice(ways);
}

ExprId JsonText::anyCharacters(uint32_t least, uint32_t most) {
  return grammar_.repeat(any_, least, most);
}

ExprId JsonText::quoted(ExprId content) {
  return grammar_.sequence({{quote_, content, quote_}});
}

ExprId JsonText::content(std::string_view text) {
  return grammar_.text(jsonStringContent(text));
}

ExprId JsonText::spaced(ExprId first, ExprId second) {
  return grammar_.sequence({{first, space_, second}});
}

std::string jsonStringContent(std::string_view text) {
  std::string content;
  for (const char byte : text)
    content += static_cast<uint8_t>(byte) < 0x20 || byte == '"' || byte == '\\'
                   ? escaped(static_cast<uint8_t>(byte))
                   : std::string(1, byte);
  return content;
}

std::string jsonLiteral(const jinja::Input &value) {
  if (const std::string *text = value.text())
    return '"' + jsonStringContent(*text) + '"';
  if (const auto *truth = std::get_if<bool>(&value.content()))
    return *truth ? "true" : "false";
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return std::to_string(*whole);
  if (const auto *real = std::get_if<double>(&value.content()))
    return numberText(*real);
  std::string out;
  if (const jinja::Input::List *list = value.list()) { // as deep as the reader lets it be
    for (const jinja::Input &item : *list)
      out += (out.empty() ? "" : ",") + jsonLiteral(item);
    return '[' + out + ']';
  }
  if (const jinja::Input::Object *object = value.object()) {
    for (const auto &[key, item] : *object)
      out += (out.empty() ? "\"" : ",\"") + jsonStringContent(key) + "\":" + jsonLiteral(item);
    return '{' + out + '}';
  }
  return "null";
}

static bool equalLists(const jinja::Input::List &a, const jinja::Input::List &b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (!jsonEqual(a[i], b[i]))
      return false;
  return a.size() == b.size();
}

static bool equalObjects(const jinja::Input::Object &a, const jinja::Input &b) {
  for (const auto &[key, item] : a)
    if (const jinja::Input *other = b.find(key); !other || !jsonEqual(item, *other))
      return false;
  return a.size() == b.object()->size();
}

bool jsonEqual(const jinja::Input &a, const jinja::Input &b) {
  if (const auto left = numberOf(a), right = numberOf(b); left || right)
    return left == right;
  if (a.content().index() != b.content().index())
    return false;
  if (a.list())
    return equalLists(*a.list(), *b.list());
  if (a.object())
    return equalObjects(*a.object(), b);
  if (a.text())
    return *a.text() == *b.text();
  const auto *left = std::get_if<bool>(&a.content());
  return !left || *left == std::get<bool>(b.content());
}

std::string jsonKey(const jinja::Input &value) {
  std::string out;
  if (const std::optional<double> number = numberOf(value)) {
    char text[64];
    return std::string(text, std::to_chars(text, std::end(text), *number + 0.0).ptr);
  }
  if (const jinja::Input::List *list = value.list()) {
    for (const jinja::Input &item : *list)
      out += jsonKey(item) + ',';
    return '[' + out + ']';
  }
  if (const jinja::Input::Object *object = value.object()) {
    std::map<std::string, std::string> members;
    for (const auto &[key, item] : *object)
      members[jsonStringContent(key)] = jsonKey(item);
    for (const auto &[key, item] : members)
      out += '"' + key + "\":" + item + ',';
    return '{' + out + '}';
  }
  return jsonLiteral(value);
}

// A tree of the sorted texts, from the last one back: `open` are the nodes that lead to the text at
// hand, each with what was found below it.
ExprId textsExpr(Grammar &grammar, std::vector<std::string> texts) {
  struct Node {
    size_t depth; // bytes up to it
    std::vector<ExprId> ways;
  };
  std::ranges::sort(texts);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const auto shared = [&](size_t i) { // with the text before
    const auto &[a, b] = std::tie(texts[i - 1], texts[i]);
    return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  };
  std::vector<Node> open{{0, {}}};
  for (size_t i = texts.size(); i-- > 0;) {
    const std::string_view text = texts[i];
    const size_t after = i + 1 < texts.size() ? shared(i + 1) : 0, before = i > 0 ? shared(i) : 0;
    // A node where this text leaves the one after it is there already.
    size_t depth = std::max(after, before);
    if (open.back().depth < depth)
      open.push_back({depth, {}});
    open.back().ways.push_back(grammar.text(text.substr(depth)));
    while (open.size() > 1 && open.back().depth > before) {
      const Node node = std::move(open.back());
      open.pop_back();
      if (open.back().depth < before)
        open.push_back({before, {}});
      const size_t parent = open.back().depth;
      open.back().ways.push_back(grammar.sequence(
          {{grammar.text(text.substr(parent, node.depth - parent)), grammar.choice(node.ways)}}));
    }
  }
  return grammar.choice(open.front().ways);
}

} // namespace sinter::grammar
