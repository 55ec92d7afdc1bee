// What is wrong is named, with its line and column.
#include "jinja/render.h"

namespace sinter::jinja {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Case {
  const char *source, *message;
  Code code;
};

TEST(JinjaErrors, NameThePlaceAndWhatWasFound) {
  for (const Case &one : std::initializer_list<Case>{
           {"a\n{{ x | uper }}",
            "line 2, column 8: the filter 'uper' is not known (did you mean 'upper'?)",
            Code::Unsupported},
           {"{{ x is strin }}",
            "line 1, column 6: the test 'strin' is not known (did you mean 'string'?)",
            Code::Unsupported},
           {"\n{% include 'x' %}",
            "line 2, column 4: the template has a tag 'include', which is not supported",
            Code::Unsupported},
           {"{% for a in b recursive %}", "line 1, column 15: the template has a recursive loop",
            Code::Unsupported},
           {"{{ 1 + }}", "line 1, column 8: found '}}', expected an expression", Code::Corrupt},
           {"{% if x %}", "expected '{% endif %}'", Code::Corrupt},
           {"{% endif %}", "a tag 'endif'", Code::Unsupported},
           {"{{ 'abc }}", "line 1, column 4: a string does not end", Code::Corrupt},
           {"ä{{ x", "line 1, column 2: a tag does not end, expected '}}'", Code::Corrupt},
           {"{# x", "a comment does not end", Code::Corrupt},
           {"{% raw %}x", "a raw block does not end", Code::Corrupt},
           {"{{ (1] }}", "']' has no partner, expected ')'", Code::Corrupt},
           {"{{ 1 ? 2 }}", "'?' begins no token", Code::Corrupt},
           {"{% set 1 = 2 %}", "assigns to something that is no name", Code::Corrupt},
           {"{% break %}", "'break' stands outside of a loop", Code::Corrupt},
           {"{{ f(a=1, a=2) }}", "the argument 'a' is given twice", Code::Corrupt},
           {"{{ f(a=1, 2) }}", "the arguments of a call are out of order", Code::Corrupt},
           {"{{ raise_exception('no system') }}", "the template refuses this: no system",
            Code::Unsupported},
           {"{{ foo() }}", "'foo' is undefined", Code::InvalidArgument},
           {"{{ 1 + 'a' }}", "'+' between 'int' and 'str' is not defined", Code::InvalidArgument},
           {"{{ 1 < 'a' }}", "'<' between 'int' and 'str' is not defined", Code::InvalidArgument},
           {"{{ 1 / 0 }}", "division by zero", Code::InvalidArgument},
           {"{% for a in 5 %}{% endfor %}",
            "expected something to loop over, found a value of type 'int'", Code::InvalidArgument},
           {"{{ 'a' | replace }}", "the filter 'replace' lacks the argument 'old'",
            Code::InvalidArgument},
           {"{{ 'a' | upper(1) }}", "the filter 'upper' takes at most 0 arguments, found 1",
            Code::InvalidArgument},
           {"{{ {[1]: 2} }}", "a value of type 'list' cannot be a key", Code::InvalidArgument},
           {"{{ x | tojson }}", "'x' is undefined", Code::InvalidArgument},
           {"{{ range | tojson }}", "a value of type 'function' cannot be written as JSON",
            Code::InvalidArgument},
       }) {
    const Status status = refusal(one.source);
    EXPECT_EQ(status.code, one.code) << one.source << ": " << status.message;
    EXPECT_THAT(status.message, HasSubstr(one.message)) << one.source;
    EXPECT_THAT(status.message, StartsWith("line ")) << one.source;
  }
}

TEST(JinjaErrors, UnknownNamesInConditionsFailWhenTheyAreReached) {
  EXPECT_EQ(rendered("{% if 'nosuch' is filter %}{{ 1 | nosuch }}{% endif %}x"), "x");
  EXPECT_THAT(refusal("{% if true %}{{ 1 | nosuch }}{% endif %}").message,
              HasSubstr("the filter 'nosuch' is not known"));
}

TEST(JinjaErrors, TemplatesAndInputsThatAreNotUtf8AreRefused) {
  EXPECT_THAT(refusal("ab\xff").message, HasSubstr("line 1, column 3: the template is not UTF-8"));
  const auto parsed = Template::parse("{{ x | list }}");
  ASSERT_TRUE(parsed.has_value());
  for (const char *bad : {"\xf0", "\xe2\x82", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    Input::Object variables;
    variables.emplace_back("x", Input(std::string(bad)));
    EXPECT_EQ(parsed->render(variables, testTime()).error().code, Code::InvalidArgument);
  }
}

TEST(JinjaErrors, TextsThatAreNoJsonAreRefusedWithTheByte) {
  for (const char *json : {"", "{", "[1,]", "nul", "\"\xff\"", "1 2", "{\"a\" 1}", "\"\\ud800\""})
    EXPECT_EQ(inputFromJson(json).error().code, Code::Corrupt) << json;
  EXPECT_EQ(inputFromJson("[1, x]").error().byteOffset, 4u);
  EXPECT_EQ(inputFromJson("18446744073709551616").error().code, Code::Unsupported);
}

TEST(JinjaErrors, EveryPrefixOfATemplateGivesTextOrAnError) {
  constexpr std::string_view kWhole =
      "{%- macro m(a, b=1) -%}{{ a ~ 'x' | upper }}{%- endmacro -%}\n{% for k, v in d.items() if v "
      "is not none %}{{ m(k, b=v[1:]) }}{% else %}{# c #}{% raw %}{{{% endraw %}{% endfor %}";
  for (size_t size = 0; size <= kWhole.size(); ++size)
    (void)render(kWhole.substr(0, size), R"({"d": {"a": "bc"}})");
}

} // namespace
} // namespace sinter::jinja
