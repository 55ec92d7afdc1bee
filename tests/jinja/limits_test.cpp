// Hostile templates end in one error, in bounded time and memory.
#include "jinja/render.h"

namespace sinter::jinja {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

Limits small() {
  Limits limits;
  limits.steps = 200'000;
  limits.valueBytes = size_t{4} << 20;
  limits.outputBytes = size_t{1} << 20;
  return limits;
}

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

TEST(JinjaLimits, TemplatesThatLoopGrowOrRecurseAreStopped) {
  for (const char *source :
       {"{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(c) %}{% call m(caller) %}{% endcall %}{{ caller }}{% endmacro %}{{ m(1) }}",
        "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
        "endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
        "endfor %}",
        "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% set s = 'ab' * 9999 %}{% set d = {s: 1} %}{% for i in range(9999) %}{% set q = d[s] "
        "%}{% endfor %}",
        "{{ 'x' * 99999999999 }}",
        "{{ [1] * 99999999999 }}",
        "{{ 'x' | center(99999999999) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'a\\nb' | indent(99999999999) }}",
        "{{ [1] | batch(99999999999, 0) | list }}",
        "{{ [1] | slice(99999999999) | list }}",
        "{{ range(99999999) | list }}",
        "{{ [1] | tojson(indent=99999999999) }}",
        "{{ ('a' * 2000) | replace('', 'b' * 9999) }}",
        "{{ 'x'.zfill(99999999999) }}",
        "{{ ('ab' * 2000) | list | join('x' * 9999) }}",
        "{{ strftime_now('%99999999d') }}",
        "{% set l = [] %}{% for i in l %}{% endfor %}{% for i in range(99999) %}{% set _ = "
        "l.append(l) %}"
        "{% endfor %}{{ l }}",
        "{% set l = [1] %}{% for i in l %}{% set _ = l.append(1) %}{% endfor %}"})
    EXPECT_THAT(refusal(source, "{}", small()).code, AnyOf(Code::Exhausted, Code::InvalidArgument))
        << source;
}

TEST(JinjaLimits, EachLimitNamesItself) {
  EXPECT_THAT(refusal("{% for i in range(9999) %}{{ i * i }}{% endfor %}", "{}",
                      [] {
                        Limits few;
                        few.steps = 1000;
                        return few;
                      }())
                  .message,
              HasSubstr("takes more than 1000 steps"));
  EXPECT_THAT(refusal("{% for i in range(9) %}xxxxxxxxx{% endfor %}", "{}",
                      [] {
                        Limits few;
                        few.outputBytes = 50;
                        return few;
                      }())
                  .message,
              HasSubstr("writes more than 50 bytes"));
  EXPECT_THAT(refusal("{{ 'x' * 100000 }}", "{}",
                      [] {
                        Limits few;
                        few.valueBytes = 10'000;
                        return few;
                      }())
                  .message,
              HasSubstr("values take more than 10000 bytes"));
  EXPECT_THAT(refusal("{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}").message,
              HasSubstr("nests deeper than 1200 levels"));
  EXPECT_THAT(Template::parse(repeated("x", 2000),
                              [] {
                                Limits few;
                                few.templateBytes = 1000;
                                return few;
                              }())
                  .error()
                  .message,
              HasSubstr("has 2000 bytes, expected at most 1000"));
}

TEST(JinjaLimits, DeepNestingInTheSourceIsRefused) {
  constexpr size_t kDeep = 100'000;
  for (const std::string &source :
       {"{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}",
        "{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}",
        "{{ " + repeated("-", kDeep) + "1 }}",
        "{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}",
        repeated("{% if 1 %}", kDeep), repeated("{% for a in b %}", kDeep),
        "{{ a" + repeated("[a", kDeep) + repeated("]", kDeep) + " }}",
        "{{ a" + repeated("(a", kDeep) + repeated(")", kDeep) + " }}",
        "{{ a" + repeated(" if a else a", kDeep) + " }}",
        "{% set " + repeated("(", kDeep) + "a" + repeated(")", kDeep) + " = 1 %}",
        "{{ " + repeated("a if (", kDeep) + "a" + repeated(")", kDeep) + " }}",
        "{{ a" + repeated(" is in (a", kDeep) + repeated(")", kDeep) + " }}"})
    EXPECT_EQ(refusal(source).code, Code::Exhausted) << source.substr(0, 40);
}

// Chains that the parser takes in a loop are as deep when they are evaluated.
TEST(JinjaLimits, LongChainsAreStoppedWhenTheyRun) {
  constexpr size_t kLong = 50'000;
  for (const std::string &source :
       {"{{ 1" + repeated(" + 1", kLong) + " }}", "{{ 1" + repeated(" or 1", kLong) + " }}",
        "{{ 'a'" + repeated("|upper", kLong) + " }}",
        "{{ 'a'" + repeated(".upper()", kLong) + " }}",
        "{% set x" + repeated("|upper", kLong) + " %}{% endset %}{{ [1]" + repeated("[0:]", kLong) +
            " }}"})
    EXPECT_EQ(refusal(source).code, Code::Exhausted) << source.substr(0, 40);
  EXPECT_EQ(rendered("{% filter upper" + repeated("|upper", kLong) + " %}x{% endfilter %}"), "X");
  EXPECT_EQ(rendered("{{ not" + repeated(" not", kLong) + " 1 }}"), "False");
  EXPECT_EQ(rendered("{{ ''" + repeated(" ~ 'x'", kLong) + " }}").size(), kLong);
}

TEST(JinjaLimits, DeepAndCyclicValuesDoNoHarm) {
  constexpr std::string_view kChain = "{% set ns = namespace(v=[]) %}{% for i in range(20000) %}{% "
                                      "set ns.v = [ns.v] %}{% endfor %}";
  EXPECT_EQ(rendered(std::string(kChain) + "{{ ns.v | length }}"), "1");
  EXPECT_THAT(refusal(std::string(kChain) + "{{ ns.v }}").message, HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(std::string(kChain) + "{{ ns.v | tojson }}").message,
              HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(std::string(kChain) + "{% set a = ns.v %}{{ a == [a] }}").message,
              HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}").message,
              HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("{% set l = [] %}{% set _ = l.append(l) %}{{ l }}").message,
              HasSubstr("nested deeper"));
  EXPECT_EQ(rendered("{% set l = [] %}{% set _ = l.append({'l': l}) %}{{ l | length }}"), "1");
}

TEST(JinjaLimits, DeepJsonIsRefusedAndWideJsonIsRead) {
  const std::string deep = repeated("[", 100'000) + repeated("]", 100'000);
  EXPECT_EQ(inputFromJson(deep).error().code, Code::Unsupported);
  EXPECT_EQ(refusal("{{ ('[' * 99999) | from_json }}").code, Code::Unsupported);
  std::string wide = "{\"m\": {";
  for (int i = 0; i < 50'000; ++i)
    wide += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":" + std::to_string(i);
  EXPECT_EQ(rendered("{{ m.k49999 }}{{ m | length }}", wide + "}}"), "4999950000");
}

} // namespace
} // namespace sinter::jinja
