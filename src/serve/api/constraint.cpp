// Refuses forms of answers until grammars are there.
#include "serve/api/constraint.h"

namespace sinter::serve {
namespace {

// Those that hold a grammar or schema itself.
constexpr std::string_view kFields[] = {
    "format",       "grammar",        "json_schema",   "guided_json",
    "guided_regex", "guided_grammar", "guided_choice", "structured_outputs",
};

} // namespace

void refuseConstraint(const RequestReader &request, std::string_view field,
                      const std::string &what) {
  const std::string path = request.pathOf(field);
  request.problem().note(
      Code::Unsupported,
      "'" + path + "' asks for " + what + ", but answers cannot be held to a grammar yet", path);
}

void readConstraint(const RequestReader &request) {
  for (const std::string_view field : kFields) {
    const jinja::Input *found = request.find(field);
    const bool isEmpty = found && found->text() && found->text()->empty();
    if (found && !isEmpty)
      refuseConstraint(request, field, "a form");
  }
  const auto format = request.object("response_format");
  if (!format)
    return;
  const auto type = format->choice("type", {"text", "json_object", "json_schema"});
  if (type && *type != "text")
    refuseConstraint(request, "response_format", "the form '" + *type + "'");
}

} // namespace sinter::serve
