// Expressions have Python's values: precedence, numbers, texts, sequences, what is undefined.
#include "jinja/render.h"

namespace sinter::jinja {
namespace {

struct Case {
  const char *expression, *expected;
};

void expectEach(std::initializer_list<Case> cases, std::string_view json = "{}") {
  for (const Case &one : cases)
    EXPECT_EQ(rendered("{{ " + std::string(one.expression) + " }}", json), one.expected)
        << one.expression;
}

TEST(JinjaExpressions, OperatorsBindAsInJinja) {
  expectEach({{"1 + 2 * 3", "7"},
              {"2 ** 3 ** 2", "64"}, // from the left, unlike Python
              {"-2 ** 2", "4"},
              {"'a' + 'b' ~ 1", "ab1"},
              {"'a' ~ 1 + 2 ~ 'b' if false else 5", "5"},
              {"not 1 == 2", "True"},
              {"1 < 2 < 3 and not 3 < 2", "True"},
              {"1 if 0 else 2 if 0 else 3", "3"},
              {"'a' in 'abc' and 'z' not in ['a']", "True"},
              {"-1 | abs", "1"},
              {"(-1) | abs", "1"},
              {"[1, 2][1:] + [3]", "[2, 3]"}});
}

TEST(JinjaExpressions, NumbersAreWrittenAsPythonWritesThem) {
  expectEach({{"7 / 2", "3.5"},
              {"6 / 2", "3.0"},
              {"-7 // 2", "-4"},
              {"-7 % 3", "2"},
              {"7 % -3", "-2"},
              {"7.5 // 2", "3.0"},
              {"1e16", "1e+16"},
              {"1e15", "1000000000000000.0"},
              {"0.1 + 0.2", "0.30000000000000004"},
              {"1e-5", "1e-05"},
              {"1_000", "1000"},
              {"0x1f", "31"},
              {"true + 1", "2"},
              {"2 ** -1", "0.5"},
              {"1 == 1.0 == true", "True"},
              {"'%.2f' % 2.675", "2.67"},
              {"2.5 | round", "2.0"},
              {"0.5 | int", "0"}});
}

TEST(JinjaExpressions, WholeNumbersBeyond64BitsAreRefusedNotWrong) {
  for (const char *source : {"{{ 9223372036854775807 + 1 }}", "{{ 2 ** 63 }}", "{{ 10 ** 30 }}",
                             "{{ '9223372036854775808' | int }}", "{{ 99999999999999999999 }}",
                             "{{ -9223372036854775807 - 2 }}", "{{ 4611686018427387904 * 2 }}"})
    EXPECT_THAT(refusal(source).message, testing::HasSubstr("64 bits")) << source;
}

TEST(JinjaExpressions, TextsAreCharactersAndNotBytes) {
  expectEach({{"'wörld'|length", "5"},
              {"'wörld'[1]", "ö"},
              {"'wörld'[-4:]", "örld"},
              {"'wörld'[::-1]", "dlröw"},
              {"'ß É'.upper()", "SS É"},
              {"'Ä'.lower()", "ä"},
              {"'\\u4f60\\U0001F600\\x41\\101'", "你😀AA"},
              {"'a\\tb' ~ \"it's\"", "a\tbit's"},
              {"'ab' 'cd'", "abcd"}});
}

TEST(JinjaExpressions, ReprsAreThoseOfPython) {
  expectEach(
      {{"[1, 'a', none, true, 1.0, (1,), {'k': []}]", "[1, 'a', None, True, 1.0, (1,), {'k': []}]"},
       {"[\"it's\", 'say \"x\"', '\\n\\\\\\x7f']", "[\"it's\", 'say \"x\"', '\\n\\\\\\x7f']"},
       {"{'a': 1}.items()", "dict_items([('a', 1)])"},
       {"range(3)", "range(0, 3)"},
       {"[undefined_name]", "[Undefined]"}});
}

TEST(JinjaExpressions, WhatIsUndefinedIsEmptyUntilItIsUsed) {
  expectEach({{"nothing", ""},
              {"nothing is defined", "False"},
              {"nothing | default('x')", "x"},
              {"nothing | length", "0"},
              {"'a' in nothing", "False"},
              {"nothing == other", "True"},
              {"{}.key", ""},
              {"[1][5] is defined", "False"},
              {"(1 if false) is defined", "False"}});
  EXPECT_THAT(refusal("{{ nothing.key }}").message, testing::HasSubstr("'nothing' is undefined"));
  EXPECT_THAT(refusal("{{ {}.a.b }}").message, testing::HasSubstr("no attribute 'a'"));
  EXPECT_THAT(refusal("{{ nothing + 1 }}").message, testing::HasSubstr("'nothing' is undefined"));
}

TEST(JinjaExpressions, KeysAndMethodsAreFoundAsThePunctuationSays) {
  expectEach({{"d.items is callable", "True"}, // the method
              {"d['items']", "mine"},          // the key
              {"d.plain", "p"},
              {"d.get('zz', 4)", "4"},
              {"d.keys() | list", "['items', 'plain']"}},
             R"({"d": {"items": "mine", "plain": "p"}})");
}

TEST(JinjaExpressions, AttributesOfTheHostAreOutOfReach) {
  expectEach({{"''.__class__", ""}, {"{}.__init__ is defined", "False"}});
  for (const char *source :
       {"{{ ''.__class__.__mro__ }}", "{{ range.__globals__.x }}", "{{ {}.update({}) }}",
        "{{ [].sort() }}", "{{ ''['__class__']['x'] }}", "{{ '{0.__class__.x}'.format('') }}",
        "{{ ['']|map(attribute='__class__.x')|list }}", "{{ ''|attr('__class__')() }}",
        "{% set ns = namespace() %}{{ ns.__init__.__globals__ }}"})
    EXPECT_NE(refusal(source).code, Code::Internal) << source;
}

TEST(JinjaExpressions, JsonIsWrittenAsPythonWritesIt) {
  constexpr std::string_view kValue = R"({"v": {"b": [1, 2.0, null], "a": "é\"<\n"}})";
  expectEach({{"v | tojson", R"({"b": [1, 2.0, null], "a": "é\"<\n"})"},
              {"v | tojson(sort_keys=true, ensure_ascii=true)",
               R"({"a": "\u00e9\"<\n", "b": [1, 2.0, null]})"},
              {"v.b | tojson(separators=(',', ':'))", "[1,2.0,null]"},
              {"v.b | tojson(indent=2)", "[\n  1,\n  2.0,\n  null\n]"},
              {"'[1, {\"a\": 2}]' | from_json", "[1, {'a': 2}]"}},
             kValue);
}

} // namespace
} // namespace sinter::jinja
