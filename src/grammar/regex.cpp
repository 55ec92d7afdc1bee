// One pass; groups that are open lie on a stack.
#include "grammar/regex.h"

#include "grammar/group_stack.h"
#include "grammar/scanner.h"

namespace sinter::grammar {
namespace {

CharacterSet digits() {
  return CharacterSet({{'0', '9'}});
}
CharacterSet wordCharacters() {
  return CharacterSet({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}});
}
CharacterSet lineEnds() {
  return CharacterSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}
// ECMAScript's WhiteSpace and LineTerminator.
CharacterSet spaces() {
  return CharacterSet({{9, 13},
                       {' ', ' '},
                       {0xA0, 0xA0},
                       {0x1680, 0x1680},
                       {0x2000, 0x200A},
                       {0x2028, 0x2029},
                       {0x202F, 0x202F},
                       {0x205F, 0x205F},
                       {0x3000, 0x3000},
                       {0xFEFF, 0xFEFF}});
}

CharacterSet one(char32_t code) {
  return CharacterSet({{code, code}});
}

bool isHighSurrogate(char32_t code) {
  return code >= 0xD800 && code <= 0xDBFF;
}

class Parser {
public:
  Parser(Grammar &grammar, std::string_view pattern, RegexUse use, const CharacterWriter &write)
      : grammar_(grammar), in_(pattern, "pattern"), groups_(grammar), use_(use), write_(write) {}

  Result<ExprId> parse() {
    beginAlternative();
    while (!in_.done())
      SINTER_TRY(item());
    if (groups_.depth() > 0)
      return in_.error("a group is not closed");
    endAlternative(boundAtEnd_);
    return groups_.take();
  }

private:
  void beginAlternative() {
    const bool bound = in_.take("^");
    if (use_ == RegexUse::Found && !bound)
      groups_.add(anything());
  }
  // `bound`: by "$".
  void endAlternative(bool bound = false) {
    if (use_ == RegexUse::Found && !bound)
      groups_.add(anything());
  }
  ExprId anything() {
    return grammar_.repeat(write_(grammar_, CharacterSet::all()), 0, kUnbounded);
  }

  Result<void> item() {
    const char c = in_.peek();
    switch (c) {
    case '|':
      return alternative(false);
    case '$':
      return alternative(true);
    case '(':
      return group();
    case ')':
      if (groups_.depth() == 0)
        return in_.error("')' closes no group");
      in_.skip();
      groups_.close();
      return quantifier();
    case '^':
      return in_.error("'^' is supported at the beginning of an outermost alternative only",
                       Code::Unsupported);
    case '*':
    case '+':
    case '?':
      return in_.error("nothing lies before the quantifier");
    default:
      break;
    }
    SINTER_ASSIGN(const CharacterSet set, atom());
    groups_.add(write_(grammar_, set));
    return quantifier();
  }

  Result<void> alternative(bool bound) {
    in_.skip();
    const bool ends = in_.done() || in_.peek() == '|';
    if (bound && (groups_.depth() > 0 || !ends))
      return in_.error("'$' is supported at the end of an outermost alternative only",
                       Code::Unsupported);
    if (groups_.depth() > 0) {
      groups_.nextAlternative();
      return {};
    }
    if (bound && in_.done()) {
      boundAtEnd_ = true;
      return {};
    }
    if (bound)
      in_.skip();
    endAlternative(bound);
    groups_.nextAlternative();
    beginAlternative();
    return {};
  }

  Result<void> group() {
    in_.skip();
    if (in_.take("?")) {
      if (in_.take("=") || in_.take("!") || in_.take("<=") || in_.take("<!"))
        return in_.error("lookaround is not supported", Code::Unsupported);
      if (in_.take("<")) {
        while (!in_.done() && in_.peek() != '>')
          in_.skip();
        if (!in_.take(">"))
          return in_.error("the name of a group is not closed");
      } else if (!in_.take(":")) {
        return in_.error("modifiers of groups are not supported", Code::Unsupported);
      }
    }
    if (!groups_.open())
      return in_.error("groups are nested too deeply");
    return {};
  }

  Result<void> quantifier() {
    if (in_.take("*")) {
      groups_.repeat(0, kUnbounded);
    } else if (in_.take("+")) {
      groups_.repeat(1, kUnbounded);
    } else if (in_.take("?")) {
      groups_.repeat(0, 1);
    } else if (in_.peek() == '{') {
      in_.skip();
      SINTER_ASSIGN(const std::optional<Scanner::Counts> counts, in_.counts());
      if (!counts) { // a brace as it stands
        groups_.add(write_(grammar_, one('{')));
        return quantifier();
      }
      groups_.repeat(counts->least, counts->most);
    } else {
      return {};
    }
    in_.take("?"); // lazy: the same texts
    return {};
  }

  Result<CharacterSet> atom() {
    if (in_.take("."))
      return lineEnds().complement();
    if (in_.take("["))
      return bracketed();
    if (in_.take("\\"))
      return escape();
    SINTER_ASSIGN(const char32_t code, in_.code());
    return one(code);
  }

  // A class by its letter; nothing where it is none.
  static std::optional<CharacterSet> classOf(char letter) {
    switch (letter) {
    case 'd':
      return digits();
    case 'D':
      return digits().complement();
    case 'w':
      return wordCharacters();
    case 'W':
      return wordCharacters().complement();
    case 's':
      return spaces();
    case 'S':
      return spaces().complement();
    default:
      return std::nullopt;
    }
  }

  Result<CharacterSet> escape() {
    const char c = in_.peek();
    if (std::optional<CharacterSet> set = classOf(c)) {
      in_.skip();
      return *std::move(set);
    }
    if (c == 'b' || c == 'B')
      return in_.error("word boundaries are not supported", Code::Unsupported);
    if ((c >= '1' && c <= '9') || c == 'k')
      return in_.error("references to groups are not supported", Code::Unsupported);
    if (c == 'p' || c == 'P')
      return in_.error("Unicode properties are not supported", Code::Unsupported);
    SINTER_ASSIGN(const char32_t code, escapedCode());
    return one(code);
  }

  Result<char32_t> escapedCode() {
    constexpr std::string_view kLetters = "tnvfr0", kMeanings("\t\n\v\f\r\0", 6);
    SINTER_ASSIGN(const char32_t letter, in_.code());
    if (letter == 'x')
      return in_.hex(2);
    if (letter == 'u')
      return unicodeEscape();
    if (letter == 'c') {
      SINTER_ASSIGN(const char32_t control, in_.code());
      return control % 32;
    }
    if (letter < 0x80)
      if (const size_t found = kLetters.find(static_cast<char>(letter));
          found != std::string_view::npos)
        return static_cast<char32_t>(kMeanings[found]);
    return letter;
  }

  Result<char32_t> unicodeEscape() {
    if (in_.take("{")) {
      size_t digits = 0;
      while (digits < 8 && in_.peek(digits) && in_.peek(digits) != '}')
        ++digits;
      SINTER_ASSIGN(const char32_t code, in_.hex(digits));
      if (digits == 0 || !in_.take("}"))
        return in_.error("expected \\u{...}");
      return code;
    }
    SINTER_ASSIGN(const char32_t high, in_.hex(4));
    if (!isHighSurrogate(high) || !in_.take("\\u"))
      return high;
    SINTER_ASSIGN(const char32_t low, in_.hex(4));
    return 0x10000 + ((high - 0xD800) << 10) + ((low - 0xDC00) & 0x3FF);
  }

  // One member of a set: a class, or the first code point of what may be a range.
  Result<CharacterSet> bracketedAtom() {
    if (!in_.take("\\")) {
      SINTER_ASSIGN(const char32_t code, in_.code());
      return one(code);
    }
    if (in_.take("b"))
      return one('\b');
    return escape();
  }

  Result<CharacterSet> bracketed() {
    const bool inverted = in_.take("^");
    CharacterSet set;
    while (!in_.take("]")) {
      if (in_.done())
        return in_.error("a set is not closed");
      SINTER_ASSIGN(CharacterSet part, bracketedAtom());
      if (in_.peek() == '-' && in_.peek(1) != ']' && in_.peek(1)) {
        in_.skip();
        SINTER_ASSIGN(const CharacterSet last, bracketedAtom());
        SINTER_ASSIGN(part, range(part, last));
      }
      set = set.united(part);
    }
    return inverted ? set.complement() : set;
  }

  Result<CharacterSet> range(const CharacterSet &first, const CharacterSet &last) {
    const auto isOne = [](const CharacterSet &set) {
      return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    };
    if (!isOne(first) || !isOne(last)) // a class and a hyphen
      return first.united(last).united(one('-'));
    const CodeRange made{first.ranges()[0].first, last.ranges()[0].first};
    if (made.last < made.first)
      return in_.error("a range goes backwards");
    return CharacterSet({made});
  }

  Grammar &grammar_;
  Scanner in_;
  GroupStack groups_;
  RegexUse use_;
  const CharacterWriter &write_;
  bool boundAtEnd_ = false;
};

} // namespace

ExprId writePlainly(Grammar &grammar, const CharacterSet &set) {
  return grammar.characters(set);
}

Result<ExprId> parseRegex(Grammar &grammar, std::string_view pattern, RegexUse use,
                          const CharacterWriter &write) {
  return Parser(grammar, pattern, use, write).parse();
}

} // namespace sinter::grammar
