// JSON Schema: which values a schema's grammar has, and which schemas are refused by name.
#include "grammar/json_schema.h"
#include "grammar/json_text.h"
#include "grammar/matching.h"

namespace sinter::grammar {
namespace {

using testing::HasSubstr;

jinja::Input json(std::string_view text) {
  Result<jinja::Input> value = jinja::inputFromJson(text);
  EXPECT_TRUE(value) << text;
  return std::move(*value);
}

struct Case {
  const char *schema;
  std::vector<const char *> in, out;
};

void expectValues(std::span<const Case> cases) {
  for (const Case &c : cases) {
    Result<Grammar> grammar = parseJsonSchema(json(c.schema));
    const bool isNone = !grammar && grammar.error().message.ends_with("no value satisfies it");
    if (isNone && c.in.empty())
      continue;
    ASSERT_TRUE(grammar) << c.schema << ": " << grammar.error().toString();
    const auto automaton = automatonOf(std::move(*grammar));
    for (const char *text : c.in)
      EXPECT_TRUE(matches(*automaton, text)) << c.schema << " / " << text;
    for (const char *text : c.out)
      EXPECT_FALSE(matches(*automaton, text)) << c.schema << " / " << text;
  }
}

TEST(JsonSchema, AnyValueIsJson) {
  const Case cases[] = {
      {"{}",
       {"null", "true", "-1.5e3", "\"a\\n\xC3\xA9\"", "[]", "[1, {\"a\":[]}]", "{ \"a\" : \"\" }"},
       {"", "01", "1.", "\"\n\"", "[1,]", "{a:1}", "nul", "{\"a\":1}}"}},
      {"true", {"1"}, {"x"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, TypesAndNamedValues) {
  const Case cases[] = {
      {R"({"type":"integer"})", {"0", "-7", "120"}, {"1.5", "\"1\"", "1e3", "007"}},
      {R"({"type":["string","null"]})", {"null", "\"\""}, {"1", "[]"}},
      {R"({"enum":["a",1,null,[1,2],{"b":false}]})",
       {"\"a\"", "1", "null", "[1,2]", "{\"b\":false}"},
       {"\"b\"", "2", "[1]"}},
      {R"({"const":1.0,"type":"integer"})", {"1"}, {"1.0", "2"}},
      {R"({"enum":["a","bcd",5],"minLength":2})", {"\"bcd\"", "5"}, {"\"a\""}},
      {R"({"const":1,"enum":[1,2]})", {"1"}, {"2"}},
      {R"({"const":1,"enum":[2]})", {}, {"1", "2"}},
      {R"({"const":{"a":1,"b":2},"properties":{"b":{},"a":{}}})", {R"({"a":1,"b":2})"}, {"{}"}},
      {R"({"type":"string","not":{"enum":["no","none"]}})",
       {"\"n\"", "\"non\"", "\"nones\""},
       {"\"no\"", "\"none\""}},
      {R"({"not":{"type":["object","array"]}})", {"1", "\"\""}, {"[]", "{}"}},
      {R"({"type":"boolean","not":{"const":true}})", {"false"}, {"true"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Numbers) {
  const Case cases[] = {
      {R"({"type":"integer","minimum":-12,"maximum":105})",
       {"-12", "-9", "0", "9", "99", "105"},
       {"-13", "-20", "106", "110", "200", "1000"}},
      {R"({"type":"integer","exclusiveMinimum":9,"exclusiveMaximum":11.5})",
       {"10", "11"},
       {"9", "12"}},
      {R"({"type":"number","minimum":0.25,"maximum":1.5})",
       {"0.25", "0.3", "1", "1.0", "1.49", "1.5", "1.50"},
       {"0", "0.2", "0.249", "1.51", "2", "-1"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"0.1", "0.001", "5"}, {"0", "0.0", "-1"}},
      {R"({"type":"number","maximum":-1.5})", {"-1.5", "-2", "-1.51"}, {"-1.4", "0", "1.5", "-1"}},
      {R"({"multipleOf":7})", {"0", "7", "-14", "49", "700"}, {"1", "15", "7.0"}},
      {R"({"type":"integer","multipleOf":5,"minimum":12,"maximum":21})",
       {"15", "20"},
       {"10", "12", "25"}},
      {R"({"multipleOf":0.01})", {"1", "1.5", "1.25"}, {"1.255"}},
      {R"({"type":"number"})", {"1e99", "-2.5E-07"}, {"1e100", "1e"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Strings) {
  const Case cases[] = {
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {"\"ab\"", "\"\xC3\xA9\\n\xF0\x9F\x98\x80\""},
       {"\"a\"", "\"abcd\""}},
      {R"({"type":"string","pattern":"^[a-z]+\"$"})", {"\"ab\\\"\""}, {"\"\\\"\"", "\"ab\""}},
      {R"({"type":"string","pattern":"b","maxLength":2})",
       {"\"ab\"", "\"b\""},
       {"\"a\"", "\"aab\""}},
      {R"({"type":"string","format":"date"})",
       {"\"2026-02-28\""},
       {"\"2026-02-30\"", "\"2026-2-1\""}},
      {R"({"type":"string","format":"uuid"})",
       {"\"2eb8aa08-aa98-11ea-b4aa-73b441d16380\""},
       {"\"2eb8aa08\""}},
      {R"({"type":"string","format":"ipv4"})", {"\"127.0.0.1\""}, {"\"127.0.0.256\""}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Arrays) {
  const Case cases[] = {
      {R"({"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2})",
       {"[1]", "[1,2]", "[ 1, 2 ]"},
       {"[]", "[1,2,3]", "[\"a\"]"}},
      {R"({"type":"array","prefixItems":[{"const":1},{"type":"string"}],"items":false})",
       {"[]", "[1]", "[1,\"a\"]"},
       {"[2]", "[1,\"a\",3]"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"items":{"$ref":"#"},"type":"array"})", {"[]", "[[],[[]]]"}, {"[1]"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Objects) {
  const Case cases[] = {
      {R"({"properties":{"a":{"type":"integer"},"b":{}},"required":["a"],"additionalProperties":false,
           "type":"object"})",
       {"{\"a\":1}", "{ \"a\": 1, \"b\": [] }"},
       {"{}", "{\"b\":1}", "{\"a\":\"x\"}", "{\"a\":1,\"c\":2}", "{\"a\":1,\"a\":1}"}},
      {R"({"type":"object","properties":{"ab":{"type":"null"}},"additionalProperties":{"type":"boolean"}})",
       {"{}", "{\"ab\":null,\"a\":true,\"abc\":false}"},
       {"{\"ab\":true}", "{\"a\":null}"}},
      {R"({"type":"object","patternProperties":{"^n":{"type":"null"},"o$":{"type":["null","boolean"]}},
           "additionalProperties":false})",
       {"{\"n\":null}", "{\"o\":true}", "{\"no\":null}"},
       {"{\"no\":true}", "{\"x\":null}"}},
      {R"({"type":"object","propertyNames":{"pattern":"^[a-c]+$","maxLength":2},"maxProperties":2})",
       {"{}", "{\"ab\":1,\"c\":2}"},
       {"{\"abc\":1}", "{\"d\":1}", "{\"a\":1,\"b\":1,\"c\":1}"}},
      {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,
           "minProperties":2,"maxProperties":2})",
       {"{\"a\":1,\"b\":1}", "{\"b\":1,\"c\":1}", "{\"a\":1,\"c\":1}"},
       {"{\"a\":1}", "{\"a\":1,\"b\":1,\"c\":1}", "{}"}},
      {R"({"type":"object","properties":{"q\"\n":{"const":1}},"additionalProperties":false})",
       {"{\"q\\\"\\n\":1}"},
       {"{\"q\":1}"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, CombinationsAndReferences) {
  const Case cases[] = {
      {R"({"allOf":[{"type":"integer","minimum":3},{"maximum":5}]})", {"3", "5"}, {"2", "6"}},
      {R"({"anyOf":[{"type":"string"},{"type":"integer"}],"maxLength":1})",
       {"\"a\"", "12"},
       {"\"ab\"", "null"}},
      {R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"},"x":{"type":"null"}},
                     "required":["k"],"additionalProperties":false},
                    {"type":"object","properties":{"k":{"const":"b"}},"required":["k"],
                     "additionalProperties":false}]})",
       {"{\"k\":\"a\",\"x\":null}", "{\"k\":\"b\"}"},
       {"{\"k\":\"b\",\"x\":null}", "{}"}},
      {R"({"$defs":{"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"}},
           "additionalProperties":false}},"$ref":"#/$defs/tree"})",
       {"{}", "{\"left\":{\"left\":{}}}"},
       {"{\"right\":{}}", "{\"left\":1}"}},
      {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"allOf":[{"anyOf":[{"const":1},{"const":2}]},{"anyOf":[{"const":2},{"const":3}]}]})",
       {"2"},
       {"1", "3"}},
      {R"({"title":"a note","x-vendor":5,"type":"null"})", {"null"}, {"1"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Conditions) {
  const Case cases[] = {
      {R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"x":{"type":"integer"}},
           "required":["kind"],"additionalProperties":false,
           "if":{"properties":{"kind":{"const":"a","description":"the one"}}},
           "then":{"required":["x"]},"else":{"properties":{"x":false}}})",
       {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
       {R"({"kind":"a"})", R"({"kind":"b","x":1})", R"({"x":1})"}},
      {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,
           "if":{"required":["a","b"]},"then":{"required":["c"]}})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1,"c":1})", "{}"},
       {R"({"a":1,"b":1})"}},
      {R"({"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"integer"}})",
       {R"("a")", "12"},
       {R"("ab")", "null"}},
      {R"({"if":{"not":{"const":"a"}},"then":{"type":"null"}})",
       {"null", R"("a")"},
       {R"("b")", "1"}},
      {R"({"if":true,"then":{"const":1},"else":{"const":2}})", {"1"}, {"2"}},
      {R"({"if":false,"then":{"const":1},"else":{"const":2}})", {"2"}, {"1"}},
      {R"({"then":{"const":1}})", {"1", "2"}, {"x"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
           "dependentRequired":{"a":["b"]}})",
       {"{}", R"({"b":1})", R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {R"({"type":"object","properties":{"a":{},"b":{"type":"integer"}},"additionalProperties":false,
           "dependentSchemas":{"a":{"properties":{"b":{"minimum":5}}}}})",
       {R"({"b":1})", R"({"a":1,"b":5})", R"({"a":1})"},
       {R"({"a":1,"b":4})"}},
      {R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"additionalProperties":false,
           "dependencies":{"a":["b"],"b":{"required":["c"]}}})",
       {"{}", R"({"c":1})", R"({"a":1,"b":1,"c":1})"},
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, AnchorsAreLedTo) {
  const Case cases[] = {
      {R"({"$ref":"#n","$defs":{"x":{"$anchor":"n","type":"null"}}})", {"null"}, {"1"}},
      {R"({"$dynamicAnchor":"t","type":"object","properties":{"t":{"$dynamicRef":"#t"}},
           "additionalProperties":false})",
       {"{}", R"({"t":{"t":{}}})"},
       {R"({"t":1})"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, UniqueItemsOfAnEnum) {
  const Case cases[] = {
      {R"({"type":"array","items":{"enum":["a",1,null]},"uniqueItems":true,"minItems":1,"maxItems":2})",
       {R"(["a"])", R"([1, "a"])", "[null,1]"},
       {"[]", "[1,1]", R"([1,"a",null])", "[2]"}},
      {R"({"type":"array","prefixItems":[{"type":"boolean"},{"type":"boolean"}],"items":false,
           "uniqueItems":true})",
       {"[true,false]", "[false]", "[]"},
       {"[true,true]", "[true,false,true]"}},
      {R"({"type":"array","items":{"anyOf":[{"const":1},{"const":2}]},"uniqueItems":true})",
       {"[1,2]", "[2]"},
       {"[1,1]"}},
      {R"({"type":"array","items":{"type":"integer","minimum":1},"uniqueItems":true,"maxItems":0})",
       {"[]"},
       {"[1]"}},
      {R"({"type":"array","uniqueItems":true,"maxItems":1})", {"[]", "[5]"}, {"[5,6]"}},
      {R"({"type":"array","items":{"const":1},"uniqueItems":true})", {"[]", "[1]"}, {"[1,1]"}},
  };
  expectValues(cases);
}

// What no reader of doubles takes for the bound.
TEST(JsonSchema, NumbersBesideAnExclusiveBoundDoNotReadAsIt) {
  const Case cases[] = {
      {R"({"type":"number","exclusiveMaximum":1,"exclusiveMinimum":0})",
       {"0.99999999999999", "0.00000000000001"},
       {"0.99999999999999999999", "1", "0.0"}},
      {R"({"type":"number","exclusiveMinimum":1000})", {"1000.5"}, {"1000.0000000000000001"}},
  };
  expectValues(cases);
}

// Those that the draft does not know are notes, as OpenAPI's hints are.
TEST(JsonSchema, FormatsThatAreNoneSayNothing) {
  const Case cases[] = {
      {R"({"type":"string","format":"password"})", {R"("x")"}, {"1"}},
      {R"({"type":"integer","format":"int32"})", {"1"}, {"1.5"}},
  };
  expectValues(cases);
}

// No text leads to where none can follow: what is empty is left out beforehand.
TEST(JsonSchema, NothingIsBegunThatCannotEnd) {
  const Case cases[] = {
      {R"({"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]{5}$","maxLength":3},
           "b":{"type":"null"}},"additionalProperties":false})",
       {"{\"b\":null}"},
       {}},
      {R"({"type":"array","items":{"type":"string","enum":[]}})", {"[]"}, {"[\""}},
  };
  expectValues(cases);
  Result<Grammar> grammar = parseJsonSchema(json(cases[0].schema));
  const auto automaton = automatonOf(std::move(*grammar));
  EXPECT_EQ(*automaton->next(automaton->start(), "{\"a"), kDead);
}

TEST(JsonSchema, Contraries) {
  const Case cases[] = {
      {R"({"not":{"type":"integer"}})", {"1.5", R"("a")", "[]"}, {"1", "1.0", "-0"}},
      {R"({"not":{"minimum":3}})", {"2", "2.9"}, {"3", "4", R"("a")"}},
      {R"({"not":{"pattern":"^a"}})", {R"("b")"}, {R"("a")", "1"}},
      {R"({"type":"number","not":{"const":5}})", {"4", "5.5", "50"}, {"5", "5.0"}},
      {R"({"type":"integer","not":{"multipleOf":3}})", {"1", "-10"}, {"0", "9"}},
      {R"({"type":"number","not":{"multipleOf":0.5}})", {"0.25", "1.1"}, {"1", "1.5", "2.50"}},
      {R"({"type":"string","not":{"pattern":"^a"}})", {R"("")", R"("ba")"}, {R"("a")"}},
      {R"({"type":"string","not":{"format":"ipv4"}})", {R"("1.2.3")"}, {R"("1.2.3.4")"}},
      {R"({"type":"string","not":{"minLength":2,"maxLength":3}})",
       {R"("a")", R"("abcd")"},
       {R"("ab")", R"("abc")"}},
      {R"({"not":{"not":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"not":{}})", {}, {"1", "null"}},
      {R"({"type":["array","null"],"not":{"const":[1,"a"]}})",
       {"null", "[]", "[1]", R"([1,"b"])", R"([1,"a",2])"},
       {R"([1,"a"])"}},
      {R"({"type":"object","not":{"enum":[{"a":1}]}})",
       {"{}", R"({"a":2})", R"({"a":1,"b":1})"},
       {R"({"a":1})"}},
      {R"({"type":"object","not":{"required":["a","b"]}})",
       {"{}", R"({"a":1})", R"({"b":1,"c":1})"},
       {R"({"a":1,"b":1})"}},
      {R"({"type":"array","not":{"items":{"type":"null"}}})",
       {"[1]", "[null,1]"},
       {"[]", "[null]", "[null,null]"}},
      {R"({"type":"array","not":{"prefixItems":[{"type":"null"}],"items":{"type":"string"}}})",
       {"[1]", "[null,1]", R"([null,"a",1])"},
       {"[]", "[null]", R"([null,"a"])"}},
      {R"({"type":"array","not":{"contains":{"const":1}}})", {"[]", "[2]"}, {"[1]", "[2,1]"}},
      {R"({"type":"object","not":{"properties":{"a":{"type":"null"}},"additionalProperties":false}})",
       {R"({"a":1})", R"({"b":1})", R"({"a":null,"b":1})"},
       {"{}", R"({"a":null})"}},
      {R"({"type":"object","properties":{"ab":{},"b":{}},
           "not":{"patternProperties":{"^a":{"type":"null"}}}})",
       {R"({"ab":1})", R"({"b":1,"ax":1})"},
       {"{}", R"({"ab":null})", R"({"b":1,"ax":null})", R"({"ax":1,"ax":null})"}},
      {R"({"type":"object","not":{"propertyNames":{"maxLength":1}}})",
       {R"({"ab":1})", R"({"a":1,"ab":1})"},
       {"{}", R"({"a":1})"}},
      {R"({"not":{"anyOf":[{"type":"null"},{"type":"object","required":["a"]}]}})",
       {"1", "{}"},
       {"null", R"({"a":1})"}},
      {R"({"not":{"oneOf":[{"type":"integer"},{"minimum":2}]},"type":"number"})",
       {"1.5", "3"},
       {"1", "2.5"}},
      {R"({"type":"object","not":{"dependentRequired":{"a":["b"]}}})",
       {R"({"a":1})"},
       {"{}", R"({"a":1,"b":1})", R"({"b":1})"}},
      {R"({"type":"integer","not":{"if":{"minimum":5},"then":{"multipleOf":2},"else":{"const":1}}})",
       {"7", "2"},
       {"6", "1"}},
      {R"({"$defs":{"n":{"type":"null"}},"not":{"$ref":"#/$defs/n"}})", {"1"}, {"null"}},
      {R"({"if":{"exclusiveMaximum":0},"then":{"minimum":-10},"else":{"multipleOf":2},
           "type":"integer"})",
       {"-1", "-10", "0", "4"},
       {"-11", "3"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, OneOfBranchesThatOverlap) {
  const Case cases[] = {
      {R"({"oneOf":[{"type":"integer"},{"minimum":2}],"type":"number"})",
       {"1", "2.5"},
       {"3", "1.5"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
           "oneOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})"},
       {"{}", R"({"a":1,"b":1})"}},
      {R"({"oneOf":[{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],
                     "additionalProperties":false},
                    {"type":"object","properties":{"b":{"type":"null"}},"required":["b"],
                     "additionalProperties":false}]})",
       {R"({"a":null})", R"({"b":null})"},
       {"{}", R"({"a":null,"b":null})"}},
      {R"({"oneOf":[true,true]})", {}, {"1"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, Contains) {
  const Case cases[] = {
      {R"({"type":"array","contains":{"type":"null"}})", {"[null]", "[1, null, 2]"}, {"[]", "[1]"}},
      {R"({"type":"array","items":{"type":["null","integer"]},"contains":{"type":"null"},
           "minContains":2,"maxItems":3})",
       {"[null,null]", "[1,null,null]", "[null,null,null]"},
       {"[null]", "[1,null]", "[null,1,1,null]"}},
      {R"({"type":"array","contains":{"const":1},"maxContains":1})",
       {"[1]", "[2,1]"},
       {"[]", "[2]", "[1,1]"}},
      {R"({"type":"array","contains":{"const":1},"minContains":0,"maxContains":1})",
       {"[]", "[2]", "[1]"},
       {"[1,2,1]"}},
      {R"({"type":"array","contains":{"const":1},"minContains":0})", {"[]", "[2]"}, {"x"}},
      {R"({"type":"array","allOf":[{"contains":{"multipleOf":2}},{"contains":{"multipleOf":3}}],
           "items":{"type":"integer"}})",
       {"[6]", "[2,3]", "[3,1,4]"},
       {"[2]", "[5,3]"}},
      {R"({"type":"array","minContains":2})", {"[]"}, {"1"}},
      {R"({"type":"array","contains":{},"minContains":2,"maxContains":1})", {}, {"[1]", "[1,2]"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, UnevaluatedProperties) {
  const Case cases[] = {
      {R"({"type":"object","allOf":[{"properties":{"a":{"type":"null"}}}],
           "properties":{"b":{"type":"null"}},"unevaluatedProperties":false})",
       {"{}", R"({"b":null,"a":null})"},
       {R"({"c":1})", R"({"a":1})"}},
      {R"({"type":"object","anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},
                                    {"properties":{"b":{"const":1}},"required":["b"]}],
           "unevaluatedProperties":false})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":1})"},
       {"{}", R"({"a":1,"b":2})", R"({"a":1,"c":1})"}},
      {R"({"type":"object","if":{"properties":{"k":{"const":1}},"required":["k"]},
           "then":{"properties":{"x":{}}},"else":{"properties":{"y":{}}},
           "unevaluatedProperties":false})",
       {R"({"k":1,"x":2})", R"({"y":1})", "{}"},
       {R"({"k":1,"y":2})", R"({"x":1})", R"({"k":2})"}},
      {R"({"type":"object","not":{"properties":{"a":{"const":1}}},"unevaluatedProperties":false})",
       {},
       {"{}", R"({"a":2})"}},
      {R"({"type":"object","patternProperties":{"^p":{}},"unevaluatedProperties":{"type":"null"}})",
       {R"({"p":1,"x":null})"},
       {R"({"x":1})"}},
      {R"({"type":"object","allOf":[{"properties":{"a":{}}},{"unevaluatedProperties":false}]})",
       {"{}"},
       {R"({"a":1})"}},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"unevaluatedProperties":{"$ref":"#"}})",
       {R"({"a":{},"b":{"c":{}}})"},
       {R"({"b":1})"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, UnevaluatedItems) {
  const Case cases[] = {
      {R"({"type":"array","prefixItems":[{"type":"null"}],"unevaluatedItems":false})",
       {"[]", "[null]"},
       {"[null,1]", "[1]"}},
      {R"({"type":"array","allOf":[{"prefixItems":[{},{}]}],"unevaluatedItems":{"type":"null"}})",
       {"[1,2]", "[1,2,null]"},
       {"[1,2,3]"}},
      {R"({"type":"array","contains":{"type":"string"},"unevaluatedItems":{"type":"null"}})",
       {R"(["a"])", R"([null,"a"])"},
       {"[null]", R"(["a",1])"}},
      {R"({"type":"array","items":{"type":"integer"},"unevaluatedItems":false})",
       {"[1,2]"},
       {"[[]]"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, ResourcesWithinTheDocument) {
  const Case cases[] = {
      {R"({"$id":"http://e.org/root","$ref":"item","$defs":{"x":{"$id":"item","type":"null"}}})",
       {"null"},
       {"1"}},
      {R"({"$id":"http://e.org/a/b/root","$ref":"../c#n",
           "$defs":{"x":{"$id":"/a/c","$defs":{"y":{"$anchor":"n","type":"null"}}}}})",
       {"null"},
       {"1"}},
      {R"({"$id":"urn:example:root","properties":{"a":{"$ref":"urn:example:root#/$defs/n"}},
           "type":"object","additionalProperties":false,"$defs":{"n":{"type":"null"}}})",
       {R"({"a":null})"},
       {R"({"a":1})"}},
      {R"({"$ref":"#/$defs/a%22b","$defs":{"a\"b":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"$id":"http://e.org/strict","$dynamicAnchor":"node","$ref":"tree",
           "unevaluatedProperties":false,
           "$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","type":"object",
                         "properties":{"v":{"type":"null"},"n":{"$dynamicRef":"#node"}}}}})",
       {"{}", R"({"v":null,"n":{"v":null}})"},
       {R"({"w":1})", R"({"n":{"w":1}})"}},
      {R"({"$ref":"#n","const":5,"$defs":{"e":{"enum":[{"$anchor":"n"}]},"x":{"$anchor":"n"}}})",
       {"5"},
       {"1"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, FormatsOfTheDraft) {
  struct Format {
    const char *name;
    std::vector<const char *> in, out;
  };
  const Format formats[] = {
      {"date", {"2024-02-29", "2000-02-29"}, {"2023-02-29", "1900-02-29", "2024-04-31"}},
      {"time", {"23:59:59Z", "00:00:00.5+01:30"}, {"24:00:00Z", "10:00"}},
      {"date-time", {"2024-02-29T01:02:03Z"}, {"2024-02-29"}},
      {"duration", {"P4DT12H", "PT1M", "P2W", "P4Y", "P1M2D"}, {"P", "PT", "4D"}},
      {"email", {"a.b@c.de"}, {"a", "@b"}},
      {"idn-email", {"\u00e9@b.de", "a@\u4e2d.cn"}, {"\u00e9"}},
      {"hostname", {"a.b-c"}, {"-a", "a_b"}},
      {"idn-hostname", {"\uc2e4\ub840.test", "abc"}, {"a b", "-\u00e9", "xn--X", "a\u00e9--b"}},
      {"ipv4", {"127.0.0.1"}, {"127.0.0.256", "01.1.1.1"}},
      {"ipv6",
       {"::", "::1", "1::", "fe80::1:2", "1::d6:192.168.0.1", "1:2::1.2.3.4", "1:2:3:4:5:6:7:8",
        "::ffff:1.2.3.4"},
       {":", "1:2:3", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8"}},
      {"uri",
       {"http://a.b:80/c?d#e", "urn:x:y", "mailto:a@b"},
       {"//a", "a b:c", "http://a:b:c", "/a"}},
      {"uri-reference", {"/a/b", "a?b", "#c", "//h/p", "http://a", ""}, {"\\\\a", ":a"}},
      {"iri", {"http://\u00e9.fr/\u4e2d"}, {"\u00e9", "/a"}},
      {"iri-reference", {"/\u00e9", "a"}, {"\\\\a"}},
      {"uri-template", {"/a/{b}{?c,d*}", "x{+y:3}"}, {"{", "{a", "a}", "{a:0}"}},
      {"json-pointer", {"", "/a/0/~1~0", "/"}, {"a", "/~2", "/~"}},
      {"relative-json-pointer", {"0", "1/a", "2#", "0+1/a"}, {"/a", "-1", "01", "1a"}},
      {"uuid", {"2eb8aa08-aa98-11ea-b4aa-73b441d16380"}, {"2eb8aa08"}},
      {"regex", {"^a(b|c)*$", "[a-z]+?", "a{2,}", "((a)b)"}, {"(", "a)", "*a", "a**", "^*", "[a"}},
  };
  for (const Format &format : formats) {
    Result<Grammar> grammar =
        parseJsonSchema(json(R"({"type":"string","format":")" + std::string(format.name) + "\"}"));
    ASSERT_TRUE(grammar) << format.name << ": " << grammar.error().toString();
    const auto automaton = automatonOf(std::move(*grammar));
    const auto has = [&](const char *text) {
      return matches(*automaton, jsonLiteral(json("\"" + std::string(text) + "\"")));
    };
    for (const char *text : format.in)
      EXPECT_TRUE(has(text)) << format.name << " / " << text;
    for (const char *text : format.out)
      EXPECT_FALSE(has(text)) << format.name << " / " << text;
  }
}

TEST(JsonSchema, NamesAndCountsOfProperties) {
  const Case cases[] = {
      {R"({"type":"object","minProperties":1})", {R"({"a":1})", R"({"a":1,"b":2})"}, {"{}"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"required":["a"],"minProperties":2,
           "maxProperties":2})",
       {R"({"a":1,"b":1})", R"({"a":1,"c":1})"},
       {R"({"a":1})", R"({"a":1,"b":1,"c":1})", R"({"b":1,"c":1})"}},
      {R"({"type":"object","propertyNames":{"anyOf":[{"const":"a"},{"pattern":"^b"}]}})",
       {R"({"a":1,"bc":1})"},
       {R"({"c":1})"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"propertyNames":{"enum":["a","c"]}})",
       {R"({"a":1,"c":1})"},
       {R"({"b":1})", R"({"d":1})"}},
      {R"({"type":"object","propertyNames":false})", {"{}"}, {R"({"a":1})"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, MultiplesOfDecimals) {
  const Case cases[] = {
      {R"({"multipleOf":1.5})", {"0", "4.5", "-3", "1.50", "3.0"}, {"1", "4.2", "4.55", "1e1"}},
      {R"({"multipleOf":0.25,"minimum":0.3,"maximum":1})", {"0.5", "0.75", "1"}, {"0.25", "0.6"}},
      {R"({"multipleOf":2.5,"type":"integer"})", {"5", "10"}, {"2", "2.5"}},
  };
  expectValues(cases);
}

TEST(JsonSchema, WhatIsNotSupportedIsNamedWithItsPlace) {
  const std::pair<const char *, const char *> cases[] = {
      {R"({"$recursiveRef":"#"})", "'$recursiveRef' of #: this keyword is not supported"},
      {R"({"properties":{"a":{"$recursiveRef":"#"}}})", "'$recursiveRef' of #/properties/a"},
      {R"({"not":{"uniqueItems":true}})", "'uniqueItems' of #/not: it is not supported where"},
      {R"({"not":{"unevaluatedItems":false}})", "'unevaluatedItems' of #/not"},
      {R"({"not":{"anyOf":[{"additionalProperties":false},{"propertyNames":{"maxLength":1}}]}})",
       "it and others must all fail"},
      {R"({"type":"array","uniqueItems":true})", "'uniqueItems' of #: it is supported for items"},
      {R"({"type":"array","items":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13]},"uniqueItems":true})",
       "more than 4096 combinations"},
      {R"({"contains":{"type":"null"},"minContains":4096})", "8194 states, expected at most 4096"},
      {R"({"unevaluatedProperties":false,"anyOf":[{},{},{},{},{},{},{}]})", "7 branches beside"},
      {R"x({"type":"string","pattern":"(?=a)"})x", "'pattern' of #: pattern: lookaround"},
      {R"({"multipleOf":0.12345})", "'multipleOf'"},
      {R"({"multipleOf":1001})", "'multipleOf'"},
      {R"({"$ref":"other.json"})", "leads out of the schema"},
      {R"({"type":"object","minProperties":2})", "'minProperties'"},
      {R"({"minimum":1e300})", "'minimum'"},
  };
  for (const auto &[schema, message] : cases) {
    const Result<Grammar> grammar = parseJsonSchema(json(schema));
    ASSERT_FALSE(grammar) << schema;
    EXPECT_EQ(grammar.error().code, Code::Unsupported) << schema;
    EXPECT_THAT(grammar.error().message, HasSubstr(message)) << schema;
  }
}

TEST(JsonSchema, WhatIsWrongIsNamedWithItsPlace) {
  const std::pair<const char *, const char *> cases[] = {
      {"5", "# is no schema"},
      {R"({"type":"text"})", "'type' of #: expected null, boolean"},
      {R"({"properties":[]})", "'properties' of #: expected an object"},
      {R"({"properties":{"a":3}})", "#/properties/a is no schema"},
      {R"({"required":"a"})", "'required' of #: expected a list"},
      {R"({"required":[1]})", "expected a list of names"},
      {R"({"minLength":-1})", "'minLength' of #: expected a whole number"},
      {R"({"minLength":"2"})", "expected a number"},
      {R"({"allOf":{}})", "'allOf' of #: expected a list"},
      {R"({"$ref":"#/$defs/none"})", "leads nowhere"},
      {R"({"type":"string","pattern":"("})", "a group is not closed"},
      {"false", "no value satisfies it"},
      {R"({"type":"string","enum":[1]})", "no value satisfies it"},
      {R"({"multipleOf":0})", "above 0"},
      {R"({"$ref":"#none"})", "leads nowhere: 0 schemas have that anchor"},
      {R"({"dependentRequired":{"a":"b"}})", "expected lists of names"},
      {R"({"dependentRequired":{"a":[1]}})", "expected lists of names"},
      {R"({"if":{"required":[1]},"then":{}})", "'required' of #/if: expected a list of names"},
  };
  for (const auto &[schema, message] : cases) {
    const Result<Grammar> grammar = parseJsonSchema(json(schema));
    ASSERT_FALSE(grammar) << schema;
    EXPECT_EQ(grammar.error().code, Code::InvalidArgument) << schema;
    EXPECT_THAT(grammar.error().message, HasSubstr(message)) << schema;
  }
}

TEST(JsonSchema, AnEnumOfTooManyValuesIsRefused) {
  std::string values = "0";
  for (int i = 1; i <= 10'000; ++i)
    values += "," + std::to_string(i);
  const Result<Grammar> grammar = parseJsonSchema(json(R"({"enum":[)" + values + "]}"));
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().code, Code::Unsupported);
  EXPECT_THAT(grammar.error().message, HasSubstr("10001 values"));
}

TEST(JsonSchema, AnotherWritingChangesMarksAlone) {
  const jinja::Input schema = json(
      R"({"type":"object","properties":{"a":{"enum":["x","y"]},"b c":{"type":"string","maxLength":3},
          "o":{"type":"object","properties":{"t":{"type":"boolean"}},"additionalProperties":false}},
          "required":["a"],"additionalProperties":false})");
  const auto with = [&](const ValueWriting &writing) {
    Grammar grammar;
    const Result<ExprId> root = addJsonSchema(grammar, schema, writing);
    EXPECT_TRUE(root);
    grammar.setRoot(*root);
    return automatonOf(std::move(grammar));
  };
  const ObjectWriting bare{.quotesKeys = false};
  const auto marked = with({.textOpen = "<q>",
                            .textClose = "</q>",
                            .escaped = 0,
                            .isSpaced = false,
                            .root = bare,
                            .inner = bare});
  EXPECT_TRUE(matches(*marked, R"({a:<q>x</q>,<q>b c</q>:<q>"\n</q>,o:{t:true}})"));
  for (const char *other :
       {R"({"a":<q>x</q>})", R"({a:<q>z</q>})", R"({a:<q>x</q>,<q>b c</q>:<q>abcd</q>})", "{}"})
    EXPECT_FALSE(matches(*marked, other)) << other;
  const auto called =
      with({.textOpen = "'", .textClose = "'", .escaped = '\'', .root = {"(", "=", ")", false}});
  EXPECT_TRUE(matches(*called, R"((a='y', 'b c'='it\'', o={'t': false}))"));
  EXPECT_FALSE(matches(*called, R"({a='y'})"));
  EXPECT_FALSE(matches(*called, R"((a="y"))"));
}

// References that lead to themselves say nothing; branches that multiply end with an error.
TEST(JsonSchema, LoopsAndMultiplyingBranchesEnd) {
  expectValues(std::vector<Case>{{R"({"$ref":"#"})", {"1"}, {"x"}}});
  std::string wide = R"({"allOf":[)";
  for (int i = 0; i < 24; ++i)
    wide += std::string(i ? "," : "") + R"({"anyOf":[{"minimum":)" + std::to_string(i) +
            R"(},{"maxLength":)" + std::to_string(i) + "}]}";
  const Result<Grammar> grammar = parseJsonSchema(json(wide + "]}"));
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().code, Code::Unsupported);
}

} // namespace
} // namespace sinter::grammar
