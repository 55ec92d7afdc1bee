// Dates and times by RFC 3339, addresses by RFC 4291 and 5321 in their usual forms, references by
// RFC 3986, 3987, 6570 and 6901. Labels of IDNA are of letters that need no context; expressions
// have groups up to two deep.
#include "grammar/string_formats.h"

namespace sinter::grammar {
namespace {

#define SINTER_DATE                                                                                \
  "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0["  \
  "1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02" \
  "-29)"
#define SINTER_TIME                                                                                \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define SINTER_NUMBER "[0-9]{1,4}"
#define SINTER_DAYS SINTER_NUMBER "D"
#define SINTER_MONTHS SINTER_NUMBER "M(" SINTER_DAYS ")?"
#define SINTER_YEARS SINTER_NUMBER "Y(" SINTER_MONTHS ")?"
#define SINTER_SECONDS SINTER_NUMBER "S"
#define SINTER_MINUTES SINTER_NUMBER "M(" SINTER_SECONDS ")?"
#define SINTER_HOURS                                                                               \
  "T(" SINTER_NUMBER "H(" SINTER_MINUTES ")?|" SINTER_MINUTES "|" SINTER_SECONDS ")"
#define SINTER_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define SINTER_HOST SINTER_LABEL "(\\." SINTER_LABEL "){0,7}"
#define SINTER_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define SINTER_HEX "[0-9A-Fa-f]{1,4}"
#define SINTER_GROUP "(" SINTER_HEX ":)"
#define SINTER_LAST "(:" SINTER_HEX ")"
#define SINTER_IPV4 SINTER_BYTE "(\\." SINTER_BYTE "){3}"
#define SINTER_IPV6                                                                                \
  "(" SINTER_GROUP "{7}" SINTER_HEX "|" SINTER_GROUP "{1,7}:|" SINTER_GROUP "{1,6}" SINTER_LAST    \
  "|" SINTER_GROUP "{1,5}" SINTER_LAST "{2}|" SINTER_GROUP "{1,4}" SINTER_LAST "{3}|" SINTER_GROUP \
  "{1,3}" SINTER_LAST "{4}|" SINTER_GROUP "{1,2}" SINTER_LAST "{5}|" SINTER_GROUP SINTER_LAST      \
  "{6}|:(:|" SINTER_LAST "{1,7})|(" SINTER_GROUP "{6}|::" SINTER_GROUP "{0,5}|" SINTER_GROUP       \
  ":" SINTER_GROUP "{0,4}|" SINTER_GROUP "{2}:" SINTER_GROUP "{0,3}|" SINTER_GROUP                 \
  "{3}:" SINTER_GROUP "{0,2}|" SINTER_GROUP "{4}:" SINTER_GROUP "?|" SINTER_GROUP                  \
  "{5}:)" SINTER_IPV4 ")"
#define SINTER_ESCAPE "%[0-9A-Fa-f]{2}"
#define SINTER_BEYOND                                                                              \
  "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF" /* of IRIs, in the first plane */
#define SINTER_ONE(more) "([" more "A-Za-z0-9._~!$&'()*+,;=-]|" SINTER_ESCAPE ")"
#define SINTER_PATH(more) "([" more "A-Za-z0-9._~!$&'()*+,;=:@-]|" SINTER_ESCAPE ")"
#define SINTER_REST(more) "([" more "A-Za-z0-9._~!$&'()*+,;=:@/-]|" SINTER_ESCAPE ")*"
#define SINTER_QUERY(more) "([" more "A-Za-z0-9._~!$&'()*+,;=:@/?-]|" SINTER_ESCAPE ")*"
#define SINTER_END(more) "(\\?" SINTER_QUERY(more) ")?(#" SINTER_QUERY(more) ")?"
#define SINTER_AUTHORITY(more)                                                                     \
  "//(([" more "A-Za-z0-9._~!$&'()*+,;=:-]|" SINTER_ESCAPE ")*@)?(\\[" SINTER_IPV6                 \
  "\\]|" SINTER_ONE(more) "*)(:[0-9]{0,5})?(/" SINTER_REST(more) ")?"
#define SINTER_ABSOLUTE(more)                                                                      \
  "[A-Za-z][A-Za-z0-9+.-]{0,15}:(" SINTER_AUTHORITY(more) "|/?(" SINTER_PATH(more)                 \
      SINTER_REST(more) ")?)" SINTER_END(more)
// A colon in the first part of a path would end a scheme.
#define SINTER_RELATIVE(more)                                                                      \
  "(" SINTER_AUTHORITY(more) "|/(" SINTER_PATH(more)                                               \
      SINTER_REST(more) ")?|([" more "A-Za-z0-9._~!$&'()*+,;=@-]|" SINTER_ESCAPE                   \
                        ")+(/" SINTER_REST(more) ")?|)" SINTER_END(more)
#define SINTER_ATOM "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
#define SINTER_LOCAL(more) "[" more SINTER_ATOM "]{1,32}(\\.[" more SINTER_ATOM "]{1,15}){0,1}@"
// Letters that IDNA 2008 has wherever they stand; so few that a label is short in its ASCII form.
#define SINTER_LETTER                                                                              \
  "a-z0-9\\u00E0-\\u00F6\\u00F8-\\u00FF\\u03B1-\\u03C1\\u03C3-\\u03C9\\u0430-\\u044F\\u3041-"      \
  "\\u3096\\u4E00-"                                                                                \
  "\\u9FA5\\uAC00-\\uD7A3"
// No hyphens in the third and fourth place, which tell ASCII forms.
#define SINTER_IDN_ASCII                                                                           \
  "[A-Za-z0-9]([A-Za-z0-9-]?[A-Za-z0-9]|[A-Za-z0-9-]([A-Za-z0-9]{2}|[A-Za-z0-9]-[A-Za-z0-9]|-[A-Z" \
  "a-z0-9])([A-Za-z0-9-]{0,50}[A-Za-z0-9])?)?"
#define SINTER_IDN_LABEL "(" SINTER_IDN_ASCII "|[" SINTER_LETTER "]{1,12})"
#define SINTER_IDN_HOST SINTER_IDN_LABEL "(\\." SINTER_IDN_LABEL "){0,7}"
#define SINTER_POINTER "(/([^/~]|~[01])*)*"
#define SINTER_VARIABLE "([A-Za-z0-9_]|" SINTER_ESCAPE ")+(\\.([A-Za-z0-9_]|" SINTER_ESCAPE ")+)*"
#define SINTER_VARIABLE_USE SINTER_VARIABLE "(:[1-9][0-9]{0,3}|\\*)?"
#define SINTER_COUNT "(([*+?]|\\{[0-9],?\\})[?]?)?"
#define SINTER_SIGN                                                                                \
  "([^\\\\()\\[\\]{}*+?|^$]|\\\\[dDwWsSnrt.*+?()\\[\\]{}|^$/\\\\]|\\[\\^?([A-Za-z0-9 "             \
  "_]|a-z|A-Z|0-9)+\\])"
#define SINTER_SIGNS "(" SINTER_SIGN SINTER_COUNT "|[\\^$])*"
#define SINTER_BRANCHES(part) part "(\\|" part ")*"
#define SINTER_WITHIN(part)                                                                        \
  "(" SINTER_SIGN SINTER_COUNT "|[\\^$]|\\((\\?:)?" part "\\)" SINTER_COUNT ")*"

struct Format {
  std::string_view name, pattern;
};

constexpr Format kFormats[] = {
    {"date", SINTER_DATE},
    {"time", SINTER_TIME},
    {"date-time", SINTER_DATE "T" SINTER_TIME},
    {"duration", "P((" SINTER_YEARS "|" SINTER_MONTHS "|" SINTER_DAYS ")(" SINTER_HOURS
                 ")?|" SINTER_HOURS "|" SINTER_NUMBER "W)"},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
    {"email", SINTER_LOCAL("") SINTER_HOST},
    {"idn-email", SINTER_LOCAL(SINTER_BEYOND) SINTER_IDN_HOST},
    {"hostname", SINTER_HOST},
    {"idn-hostname", SINTER_IDN_HOST},
    {"ipv4", SINTER_IPV4},
    {"ipv6", SINTER_IPV6},
    {"uri", SINTER_ABSOLUTE("")},
    {"uri-reference", SINTER_ABSOLUTE("") "|" SINTER_RELATIVE("")},
    {"iri", SINTER_ABSOLUTE(SINTER_BEYOND)},
    {"iri-reference", SINTER_ABSOLUTE(SINTER_BEYOND) "|" SINTER_RELATIVE(SINTER_BEYOND)},
    {"uri-template", "([" SINTER_BEYOND "#A-Za-z0-9._~:/?@!$&()*+,;=-]|" SINTER_ESCAPE
                     "|\\{[+#./;?&]?" SINTER_VARIABLE_USE "(," SINTER_VARIABLE_USE ")*\\})*"},
    {"json-pointer", SINTER_POINTER},
    {"relative-json-pointer", "(0|[1-9][0-9]{0,8})([+-][1-9][0-9]{0,8})?(#|" SINTER_POINTER ")"},
    {"regex",
     SINTER_BRANCHES(SINTER_WITHIN(SINTER_BRANCHES(SINTER_WITHIN(SINTER_BRANCHES(SINTER_SIGNS)))))},
};

} // namespace

std::optional<std::string_view> formatPattern(std::string_view format) {
  for (const Format &known : kFormats)
    if (known.name == format)
      return known.pattern;
  return std::nullopt;
}

} // namespace sinter::grammar
