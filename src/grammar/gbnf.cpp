// One pass; groups that are open lie on a stack.
#include "grammar/gbnf.h"

#include "grammar/group_stack.h"
#include "grammar/scanner.h"

#include <map>

namespace sinter::grammar {
namespace {

bool isName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

void appendUtf8(std::string &text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const unsigned after = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[after] | code >> 6 * after);
  for (unsigned i = after; i-- > 0;)
    text += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
}

class Parser {
public:
  explicit Parser(std::string_view text) : in_(text, "grammar") {}

  Result<Grammar> parse() {
    for (skipSpace(true); !in_.done(); skipSpace(true))
      SINTER_TRY(rule());
    const auto root = rules_.find("root");
    if (root == rules_.end() || !grammar_.isDefined(root->second))
      return in_.error("it has no rule 'root'");
    grammar_.setRoot(grammar_.call(root->second));
    SINTER_TRY(grammar_.check());
    return std::move(grammar_);
  }

private:
  // Spaces and comments; also line ends, where `lines`.
  void skipSpace(bool lines) {
    while (!in_.done()) {
      const char c = in_.peek();
      if (c == '#') {
        while (!in_.done() && in_.peek() != '\n' && in_.peek() != '\r')
          in_.skip();
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        in_.skip();
      } else {
        return;
      }
    }
  }

  Result<std::string> name() {
    std::string text;
    for (; isName(in_.peek()); in_.skip())
      text += in_.peek();
    if (text.empty())
      return in_.error("expected the name of a rule");
    return text;
  }

  RuleId ruleOf(const std::string &name) {
    const auto found = rules_.find(name);
    return found != rules_.end() ? found->second
                                 : rules_.emplace(name, grammar_.declare(name)).first->second;
  }

  Result<void> rule() {
    SINTER_ASSIGN(const std::string called, name());
    skipSpace(false);
    if (!in_.take("::="))
      return in_.error("expected '::=' after '" + called + "'");
    const RuleId rule = ruleOf(called);
    if (grammar_.isDefined(rule))
      return in_.error("rule '" + called + "' is defined twice");
    skipSpace(true);
    GroupStack groups(grammar_);
    SINTER_TRY(body(groups));
    if (groups.depth() > 0)
      return in_.error("a group of rule '" + called + "' is not closed");
    grammar_.define(rule, groups.take());
    return {};
  }

  // Until the rule's line ends; lines go on within groups and after '|'.
  Result<void> body(GroupStack &groups) {
    for (;; skipSpace(groups.depth() > 0)) {
      const char c = in_.peek();
      if (in_.done() || ((c == '\n' || c == '\r') && groups.depth() == 0))
        return {};
      if (in_.take("|")) {
        groups.nextAlternative();
        skipSpace(true);
      } else if (in_.take("(")) {
        if (!groups.open())
          return in_.error("groups are nested too deeply");
      } else if (in_.take(")")) {
        if (groups.depth() == 0)
          return in_.error("')' closes no group");
        groups.close();
      } else {
        SINTER_TRY(part(groups));
      }
    }
  }

  Result<void> part(GroupStack &groups) {
    const char c = in_.peek();
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return repetition(groups);
    if (c == '<')
      return in_.error("tokens in angle brackets are not supported; write their text",
                       Code::Unsupported);
    if (in_.take("\"")) {
      SINTER_ASSIGN(const std::string text, quoted());
      groups.add(grammar_.text(text));
    } else if (in_.take("[")) {
      SINTER_ASSIGN(CharacterSet set, bracketed());
      groups.add(grammar_.characters(std::move(set)));
    } else if (in_.take(".")) {
      groups.add(grammar_.characters(CharacterSet::all()));
    } else {
      SINTER_ASSIGN(const std::string called, name());
      groups.add(grammar_.call(ruleOf(called)));
    }
    return {};
  }

  Result<void> repetition(GroupStack &groups) {
    if (!groups.hasPart())
      return in_.error("nothing lies before the repetition");
    if (in_.take("*"))
      groups.repeat(0, kUnbounded);
    else if (in_.take("+"))
      groups.repeat(1, kUnbounded);
    else if (in_.take("?"))
      groups.repeat(0, 1);
    else {
      in_.skip();
      SINTER_ASSIGN(const std::optional<Scanner::Counts> counts, in_.counts());
      if (!counts)
        return in_.error("expected {n}, {n,} or {n,m}");
      groups.repeat(counts->least, counts->most);
    }
    return {};
  }

  // One character, which may be escaped.
  Result<char32_t> character() {
    if (!in_.take("\\"))
      return in_.code();
    constexpr std::string_view kEscapes = "nrt", kMeanings = "\n\r\t";
    const char c = in_.peek();
    if (const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0) {
      in_.skip();
      return in_.hex(digits);
    }
    if (const size_t found = kEscapes.find(c); c && found != std::string_view::npos) {
      in_.skip();
      return static_cast<char32_t>(kMeanings[found]);
    }
    if (c && std::string_view("\\\"[]-^").find(c) != std::string_view::npos)
      return in_.code();
    return in_.error("no escape begins so");
  }

  Result<std::string> quoted() {
    std::string text;
    while (!in_.take("\"")) {
      if (in_.done())
        return in_.error("a text is not closed");
      SINTER_ASSIGN(const char32_t code, character());
      appendUtf8(text, code);
    }
    return text;
  }

  Result<CharacterSet> bracketed() {
    const bool inverted = in_.take("^");
    std::vector<CodeRange> ranges;
    while (!in_.take("]")) {
      if (in_.done())
        return in_.error("a set is not closed");
      SINTER_ASSIGN(const char32_t first, character());
      char32_t last = first;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.skip();
        SINTER_ASSIGN(last, character());
      }
      if (last < first)
        return in_.error("a range goes backwards");
      ranges.push_back({first, last});
    }
    CharacterSet set(std::move(ranges));
    return inverted ? set.complement() : set;
  }

  Scanner in_;
  Grammar grammar_;
  std::map<std::string, RuleId, std::less<>> rules_;
};

} // namespace

Result<Grammar> parseGbnf(std::string_view text) {
  return Parser(text).parse();
}

} // namespace sinter::grammar
