// Statements: scopes, loops, macros, blocks, and the white space around them.
#include "jinja/render.h"

namespace sinter::jinja {
namespace {

using testing::HasSubstr;

TEST(JinjaStatements, WhiteSpaceFollowsTrimAndLstripBlocks) {
  EXPECT_EQ(rendered("a\n  {% if true %}\n  b\n  {% endif %}\nc\n"), "a\n  b\nc");
  EXPECT_EQ(rendered("a  {%- if true -%}  b  {%- endif %}  c"), "ab  c");
  EXPECT_EQ(rendered("  {%+ if true %}x{% endif +%}\ny"), "  x\ny");
  EXPECT_EQ(rendered("  {{ 1 }}\n"), "  1");
  EXPECT_EQ(rendered("a {#- x -#} b\n{# y #}\nc"), "ab\nc");
  EXPECT_EQ(rendered("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(rendered("a\r\n{{ 1 }}\r\n"), "a\n1");
}

TEST(JinjaStatements, LoopsKnowWhereTheyAre) {
  EXPECT_EQ(rendered("{% for i in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}"
                     "{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.cycle(1, 2) }}"
                     "{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}"),
            "103TrueFalse31b 212FalseFalse32ac 321FalseTrue31b ");
  EXPECT_EQ(rendered("{% for i in [1, 1, 2] %}{{ loop.changed(i) }} {% endfor %}"),
            "True False True ");
}

TEST(JinjaStatements, FiltersOfLoopsCountOnlyWhatPasses) {
  EXPECT_EQ(rendered("{% for i in range(6) if i % 2 %}{{ i }}/{{ loop.length }} {% endfor %}"),
            "1/3 3/3 5/3 ");
}

TEST(JinjaStatements, ElseOfALoopRunsWhereNoIterationIsWhole) {
  EXPECT_EQ(rendered("{% for i in [] %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for i in [1] %}{% break %}{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for i in [1, 2] %}{% if i == 2 %}{% break %}{% endif %}x{% else %}none"
                     "{% endfor %}"),
            "x");
}

TEST(JinjaStatements, NamesSetInALoopEndWithTheIterationAndNamespacesStay) {
  EXPECT_EQ(rendered("{% set x = 0 %}{% for i in [1, 2] %}{{ x }}{% set x = i %}{{ x }}{% endfor %}"
                     "{{ x }}"),
            "01020");
  EXPECT_EQ(rendered("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}"
                     "{% endfor %}{{ ns.n }}"),
            "3");
  EXPECT_THAT(refusal("{% set d = {} %}{% set d.x = 1 %}").message,
              HasSubstr("only attributes of a namespace can be set"));
}

TEST(JinjaStatements, TuplesAreUnpackedAndCounted) {
  EXPECT_EQ(
      rendered("{% for k, (a, b) in {'x': (1, 2)}.items() %}{{ k }}{{ a }}{{ b }}{% endfor %}"),
      "x12");
  EXPECT_THAT(refusal("{% set a, b = [1, 2, 3] %}").message,
              HasSubstr("found 3 values to unpack, expected 2"));
}

TEST(JinjaStatements, MacroArgumentsFollowTheirNames) {
  constexpr std::string_view kMacro =
      "{% macro m(a, b=a ~ '!') %}[{{ a }}{{ b }}{{ varargs }}{{ kwargs }}]{% endmacro %}";
  EXPECT_EQ(rendered(std::string(kMacro) + "{{ m(1) }}{{ m(b=2, a=1) }}{{ m(1, 2, 3, z=4) }}"),
            "[11!(){}][12(){}][12(3,){'z': 4}]");
  EXPECT_THAT(refusal("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}").message,
              HasSubstr("the macro 'm' takes at most 1 arguments, found 2"));
  EXPECT_THAT(refusal("{% macro m(a) %}{% endmacro %}{{ m(x=2) }}").message,
              HasSubstr("the macro 'm' takes no argument 'x'"));
}

TEST(JinjaStatements, MacrosSeeTheNamesOfTheirPlace) {
  EXPECT_EQ(rendered("{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}"
                     "{% for x in [2] %}{{ m() }}{% endfor %}"),
            "11");
}

TEST(JinjaStatements, BlocksCaptureWhatTheyWrite) {
  EXPECT_EQ(rendered("{% set x | upper %}a{{ 1 }}{% endset %}{{ x }}"), "A1");
  EXPECT_EQ(rendered("{% filter replace('a', 'b') | upper %}aa{% endfilter %}"), "BB");
  EXPECT_EQ(rendered("{% macro w(t) %}<{{ t }}{{ caller(2) }}>{% endmacro %}"
                     "{% call(n) w('x') %}{{ n }}!{% endcall %}"),
            "<x2!>");
  EXPECT_EQ(rendered("{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}"), "12");
  EXPECT_EQ(rendered("{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}"), "1");
}

TEST(JinjaStatements, IteratorsGiveEachItemOnceAndAreAlwaysTrue) {
  EXPECT_EQ(rendered("{% set x = [1, 2] | select %}{{ x | list }}{{ x | list }}{{ 1 if x }}"),
            "[1, 2][]1");
}

TEST(JinjaStatements, ListsGrowAndShrinkAtTheirEnds) {
  EXPECT_EQ(rendered("{% set q = [] %}{% set _ = q.append('a') %}{% set _ = q.append('b') %}"
                     "{{ q.pop(0) }}{{ q }}"),
            "a['b']");
}

TEST(JinjaStatements, TheTimeIsTheOneGiven) {
  EXPECT_EQ(rendered("{{ strftime_now('%d %b %Y, %A') }}"), "26 Jul 2024, Friday");
  EXPECT_EQ(rendered("[{{ strftime_now('') }}]"), "[]");
}

} // namespace
} // namespace sinter::jinja
