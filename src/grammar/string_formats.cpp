// Dates and times by RFC 3339 (each month with 31 days but for February's 29 and the short ones'
// 30), addresses by RFC 4291 and 5321 in their usual forms.
#include "grammar/string_formats.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

#define SINTER_DATE                                                                                \
  "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-" \
  "9]|1[0-9]|2[0-8]))"
#define SINTER_TIME                                                                                \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define SINTER_LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define SINTER_HOST SINTER_LABEL "(\\." SINTER_LABEL "){0,7}"
#define SINTER_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define SINTER_HEX "[0-9A-Fa-f]{1,4}"
#define SINTER_URI_CHARACTER "([A-Za-z0-9._~:/?#@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})"

struct Format {
  std::string_view name, pattern;
};

constexpr Format kFormats[] = {
    {"date", SINTER_DATE},
    {"time", SINTER_TIME},
    {"date-time", SINTER_DATE "T" SINTER_TIME},
    {"duration", "P([0-9]{1,4}W|[0-9]{1,4}D(T([0-9]{1,4}H([0-9]{1,4}M)?([0-9]{1,4}S)?|[0-9]{1,4}M("
                 "[0-9]{1,4}S)?|[0-9]{1,4}S))?|T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}"
                 "M([0-9]{1,4}S)?|[0-9]{1,4}S))"},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
    {"email", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,32}(\\.[A-Za-z0-9!#$%&'*+/"
              "=?^_`{|}~-]{1,15}){0,1}@" SINTER_HOST},
    {"hostname", SINTER_HOST},
    {"ipv4", SINTER_BYTE "(\\." SINTER_BYTE "){3}"},
    {"ipv6", "(" SINTER_HEX ":){7}" SINTER_HEX "|(" SINTER_HEX ":){1,6}:" SINTER_HEX
             "|::" SINTER_HEX "|::"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]{0,15}:" SINTER_URI_CHARACTER "*"},
};

} // namespace

std::optional<std::string_view> formatPattern(std::string_view format) {
  for (const Format &known : kFormats)
    if (known.name == format)
      return known.pattern;
  return std::nullopt;
}

bool isFormatOfDraft(std::string_view format) {
  constexpr std::string_view kOthers[] = {"idn-email",    "idn-hostname",          "uri-reference",
                                          "iri",          "iri-reference",         "uri-template",
                                          "json-pointer", "relative-json-pointer", "regex"};
  return formatPattern(format) || std::ranges::find(kOthers, format) != std::end(kOthers);
}

std::string_view formatNames() {
  return "date, time, date-time, duration, uuid, email, hostname, ipv4, ipv6, uri";
}

} // namespace sinter::grammar
