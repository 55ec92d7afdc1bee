// One writing of each value, so that what the grammar has is what a reader gets.
#include "grammar/json_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

namespace sinter::grammar {
namespace {

constexpr uint32_t kMostSpaces = 20;

std::string escaped(char32_t code) {
  constexpr std::string_view kShort = "\"'\\\b\f\n\r\t", kLetters = "\"'\\bfnrt";
  if (const size_t found = kShort.find(static_cast<char>(code)); found != std::string_view::npos)
    return std::string("\\") + kLetters[found];
  constexpr std::string_view kHex = "0123456789abcdef";
  return std::string("\\u00") + kHex[code >> 4 & 15] + kHex[code & 15];
}

// Those that no string holds as they stand.
CharacterSet escapedSet(const ValueWriting &writing) {
  if (writing.escaped == 0)
    return {};
  const auto quote = static_cast<char32_t>(writing.escaped);
  return CharacterSet({{0, 0x1F}, {quote, quote}, {'\\', '\\'}});
}

std::string escapedText(std::string_view text, char quote) {
  std::string content;
  for (const char byte : text)
    content += static_cast<uint8_t>(byte) < 0x20 || byte == quote || byte == '\\'
                   ? escaped(static_cast<uint8_t>(byte))
                   : std::string(1, byte);
  return content;
}

bool isWordCharacter(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '-' ||
         byte == '.';
}

bool isWord(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, isWordCharacter);
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

JsonText::JsonText(Grammar &grammar, ValueWriting writing)
    : grammar_(grammar), writing_(std::move(writing)), space_(grammar.empty()) {
  any_ = character(CharacterSet::all());
  if (!writing_.isSpaced)
    return;
  const ExprId blank = grammar.characters(CharacterSet({{' ', ' '}}));
  const ExprId line =
      grammar.sequence({{grammar.text("\n"), grammar.repeat(blank, 0, kMostSpaces)}});
  space_ = grammar.choice({{grammar.empty(), blank, line}});
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

ExprId JsonText::character(const CharacterSet &set) {
  const CharacterSet escaped = escapedSet(writing_);
  std::vector<ExprId> ways;
  if (const CharacterSet plain = set.without(escaped); !plain.empty())
    ways.push_back(grammar_.characters(plain));
  if (const CharacterSet others = set.without(set.without(escaped)); !others.empty())
    ways.push_back(escapes(grammar_, others));
  return grammar_.choice(ways);
}

CharacterWriter JsonText::characters() {
  return [this](Grammar &, const CharacterSet &set) { return character(set); };
}

ExprId JsonText::anyCharacters(uint32_t least, uint32_t most) {
  return grammar_.repeat(any_, least, most);
}

ExprId JsonText::quoted(ExprId content) {
  const std::string &close = writing_.textClose;
  // No text has the bytes of a control token, but those of other marks.
  if (writing_.escaped == 0 && static_cast<uint8_t>(close.front()) < 0x80) {
    const ExprId any = grammar_.repeat(grammar_.characters(CharacterSet::all()), 0, kUnbounded);
    content = grammar_.except(content, grammar_.sequence({{any, grammar_.text(close), any}}));
  }
  return grammar_.sequence({{grammar_.text(writing_.textOpen), content, grammar_.text(close)}});
}

ExprId JsonText::key(std::string_view name, const ObjectWriting &object) {
  const bool isBare = !object.quotesKeys && isWord(name);
  return isBare ? grammar_.text(name) : quoted(content(name));
}

ExprId JsonText::anyKey(ExprId content, const ObjectWriting &object) {
  if (object.quotesKeys)
    return quoted(content);
  constexpr uint32_t kMostLetters = 64;
  const CharacterSet letters(
      {{'-', '.'}, {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); // isWordCharacter's
  return grammar_.both(content, grammar_.repeat(grammar_.characters(letters), 1, kMostLetters));
}

ExprId JsonText::content(std::string_view text) {
  return grammar_.text(contentText(text));
}

std::string JsonText::contentText(std::string_view text) const {
  return writing_.escaped ? escapedText(text, writing_.escaped) : std::string(text);
}

ExprId JsonText::spaced(ExprId first, ExprId second) {
  return grammar_.sequence({{first, space_, second}});
}

std::string jsonStringContent(std::string_view text) {
  return escapedText(text, '"');
}

std::string jsonLiteral(const jinja::Input &value) {
  Grammar unused;
  return JsonText(unused, {}).literalText(value);
}

std::string JsonText::literalText(const jinja::Input &value) const {
  const auto quote = [&](std::string_view text) {
    return writing_.textOpen + contentText(text) + writing_.textClose;
  };
  if (const std::string *text = value.text())
    return quote(*text);
  if (const auto *truth = std::get_if<bool>(&value.content()))
    return writing_.constants[*truth ? 0 : 1];
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return std::to_string(*whole);
  if (const auto *real = std::get_if<double>(&value.content()))
    return numberText(*real);
  std::string out;
  if (const jinja::Input::List *list = value.list()) { // as deep as the reader lets it be
    for (const jinja::Input &item : *list)
      out += (out.empty() ? "" : ",") + literalText(item);
    return '[' + out + ']';
  }
  if (const jinja::Input::Object *object = value.object()) {
    const ObjectWriting &inner = writing_.inner;
    for (const auto &[key, item] : *object)
      out += (out.empty() ? "" : ",") + (inner.quotesKeys || !isWord(key) ? quote(key) : key) +
             inner.assign + literalText(item);
    return inner.open + out + inner.close;
  }
  return writing_.constants[2];
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
