// Answers that must have a form: the one place where requests for them are read.
#pragma once

#include "grammar/grammar.h"
#include "serve/api/request_reader.h"

#include <optional>

namespace sinter::serve {

enum class FormKind : uint8_t { Schema, Gbnf, Regex, Choice };

// What an answer must be, as the request says it.
struct AnswerForm {
  FormKind kind;
  std::string path;   // of the field that asks for it
  jinja::Input value; // a schema, a text, or a list of texts

  // Errors: the parsers' of src/grammar, with the field.
  ApiResult<grammar::Grammar> grammar() const;
};

// Fields of every family that ask for a form: response_format, format, grammar, json_schema and the
// guided_* of peers. Nothing where any text will do. Notes a problem where there are two.
std::optional<AnswerForm> readForm(const RequestReader &request);
// A form {"type": "text" | "json_object" | "json_schema", ...} as the field `name` has it; the
// schema lies within "json_schema", or beside the type.
std::optional<AnswerForm> readTypedForm(const RequestReader &request, std::string_view name);

} // namespace sinter::serve
