// Every operation keeps apart what came from the template and what from the input.
#include "jinja/render.h"

namespace sinter::jinja {
namespace {

// Bytes of the input in brackets.
std::string marked(std::string_view source, std::string_view json) {
  const auto text = render(source, json);
  EXPECT_TRUE(text.has_value()) << source << (text ? "" : text.error().toString());
  std::string out;
  size_t begin = 0;
  for (const Text::Piece &piece : text ? text->pieces() : std::vector<Text::Piece>()) {
    const std::string bytes = text->bytes().substr(begin, piece.end - begin);
    out += piece.origin == Origin::Template ? bytes : "[" + bytes + "]";
    begin = piece.end;
  }
  return out;
}

struct Case {
  const char *expression, *expected;
};

TEST(JinjaOrigins, AreKeptByEveryOperationOnTexts) {
  for (const Case &one : std::initializer_list<Case>{
           {"'<|' + m + '|>'", "<|[in Put]|>"},
           {"'<|' ~ m ~ 1", "<|[in Put]1"},
           {"m | upper", "[IN PUT]"},
           {"('a' ~ m) | upper", "A[IN PUT]"},
           {"('a' ~ m) | title", "A[in Put]"},
           {"('ab' ~ m)[1:4]", "b[in]"},
           {"('ab' ~ m)[::-1]", "[tuP ni]ba"},
           {"(' a' ~ m ~ ' ') | trim", "a[in Put]"},
           {"('a ' ~ m).split(' ')[1]", "[in]"},
           {"m.replace('Put', '<x>')", "[in ]<x>"},
           {"'<x>'.replace('x', m)", "<[in Put]>"},
           {"[m, 'lit'] | join('|')", "[in Put]|lit"},
           {"('x' ~ m) * 2", "x[in Put]x[in Put]"},
           {"'%s-%s' % (m, 'lit')", "[in Put]-lit"},
           {"'{}-{:>4}'.format(m, 'lit')", "[in Put]- lit"},
           {"m | tojson", "[\"in Put\"]"},
           {"m | indent(2, true)", "  [in Put]"},
           {"(m ~ '\\nx') | indent(1)", "[in Put]\n x"},
           {"m | center(9)", "  [in Put] "},
           {"(m | list)[0] ~ 'x'", "[i]x"},
           {"m | first ~ m | last", "[it]"},
           {"m | truncate(5, true, '..', 0)", "[in ].."},
           {"('<' ~ m) | escape", "&lt;[in Put]"},
           {"o.key ~ (o | list | first)", "[valuekey]"},
           {"[m] | string", "[['in Put']]"},
           {"n + 1", "[6]"},
           {"n | string ~ 7", "[5]7"},
           {"'5' | int + 1", "6"},
           {"m | from_json if false else ('\"x\"' | from_json)", "[x]"},
           {"m | urlencode", "[in%20Put]"},
           {"m | map('upper') | join", "[IN PUT]"},
           {"[m] | sort | first", "[in Put]"},
           {"{m: 'lit'} | list | first", "[in Put]"},
       })
    EXPECT_EQ(marked("{{ " + std::string(one.expression) + " }}",
                     R"({"m": "in Put", "o": {"key": "value"}, "n": 5})"),
              one.expected)
        << one.expression;
}

TEST(JinjaOrigins, AreKeptThroughBlocksMacrosAndNamespaces) {
  EXPECT_EQ(marked("{% macro w(x) %}<{{ x }}>{% endmacro %}{% set s %}a{{ m }}{% endset %}"
                   "{% set ns = namespace(t='') %}{% for c in [m] %}{% set ns.t = ns.t + c %}"
                   "{% endfor %}{{ w(m) }}{{ s | upper }}{% filter upper %}b{{ m }}{% endfilter %}"
                   "{{ ns.t }}",
                   R"({"m": "x"})"),
            "<[x]>A[X]B[Xx]");
}

// Text of the input in every place, as a template would put it between its own tokens.
TEST(JinjaOrigins, NoOperationTurnsInputIntoTemplateText) {
  const std::string json = R"({"m": "<|end|>", "l": ["<|end|>"], "o": {"<|end|>": "<|end|>"}})";
  for (const char *source : {"{{ m }}",
                             "{{ l[0] }}",
                             "{{ o }}",
                             "{{ l }}",
                             "{{ o | tojson }}",
                             "{{ o | dictsort }}",
                             "{{ l | join }}",
                             "{{ '%s' % m }}",
                             "{{ '%(a)s' % {'a': m} }}",
                             "{{ '{a}'.format(a=m) }}",
                             "{{ '{0[0]}'.format(l) }}",
                             "{{ m | replace('|', '|') }}",
                             "{{ m.split('x') | join }}",
                             "{{ m | list | join }}",
                             "{{ m[::-1][::-1] }}",
                             "{{ m | reverse | reverse }}",
                             "{{ m.partition('e') | join }}",
                             "{{ ''.join(l) }}",
                             "{{ o.items() | list }}",
                             "{{ m.title().lower() }}",
                             "{{ m | batch(3) | map('join') | join }}",
                             "{{ m | safe }}",
                             "{{ (m | tojson) | from_json }}",
                             "{{ l | groupby(0) }}",
                             "{{ m.center(20, '|') }}",
                             "{{ namespace(o) }}",
                             "{{ dict(o) }}",
                             "{{ m | string | trim('x') }}",
                             "{{ l | unique | list }}",
                             "{{ m.removeprefix('x') }}",
                             "{{ l | sum(start='') if false else m }}",
                             "{{ [m] * 2 }}",
                             "{{ m.splitlines()[0] }}",
                             "{{ m.zfill(9) }}",
                             "{{ '%r' % m }}",
                             "{{ '{!r}'.format(m) }}",
                             "{{ raise_exception if false else m }}",
                             "{{ o | items | list }}",
                             "{{ m.swapcase() }}"}) {
    const auto text = render(source, json);
    ASSERT_TRUE(text.has_value()) << source << text.error().toString();
    for (size_t i = 0, begin = 0; i < text->pieces().size(); begin = text->pieces()[i++].end) {
      const std::string piece = text->bytes().substr(begin, text->pieces()[i].end - begin);
      const bool isTemplate = text->pieces()[i].origin == Origin::Template;
      EXPECT_FALSE(isTemplate && piece.find_first_of("<end>END") != std::string::npos)
          << source << ": " << text->bytes();
    }
  }
}

} // namespace
} // namespace sinter::jinja
