// Forms of answers by the fields that ask for them, and their grammars.
#include "serve/api/constraint.h"

#include "grammar/gbnf.h"
#include "grammar/json_schema.h"
#include "grammar/regex.h"

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr size_t kMostChosen = 10'000; // texts of guided_choice

// Fields that hold the form itself.
constexpr std::pair<std::string_view, FormKind> kFields[] = {
    {"format", FormKind::Schema},       {"json_schema", FormKind::Schema},
    {"guided_json", FormKind::Schema},  {"grammar", FormKind::Gbnf},
    {"guided_grammar", FormKind::Gbnf}, {"guided_regex", FormKind::Regex},
    {"guided_choice", FormKind::Choice}};
constexpr std::pair<std::string_view, FormKind> kStructured[] = {{"json", FormKind::Schema},
                                                                 {"grammar", FormKind::Gbnf},
                                                                 {"regex", FormKind::Regex},
                                                                 {"choice", FormKind::Choice}};

Input anyObject() {
  return Input(Input::Object{{"type", Input(std::string("object"))}});
}

// A schema may come as JSON text; "json" is any object, as Ollama has it.
std::optional<Input> schemaOf(const RequestReader &request, std::string_view name,
                              const Input &found) {
  if (found.object() || std::holds_alternative<bool>(found.content()))
    return found;
  if (found.text() && *found.text() == "json")
    return anyObject();
  if (found.text()) {
    if (Result<Input> parsed = jinja::inputFromJson(*found.text()))
      return std::move(*parsed);
  }
  request.wrong(name, "a JSON schema");
  return std::nullopt;
}

std::optional<AnswerForm> formOf(const RequestReader &request, std::string_view name,
                                 FormKind kind) {
  const Input *found = request.find(name);
  if (!found || (found->text() && found->text()->empty()))
    return std::nullopt;
  AnswerForm form{kind, request.pathOf(name), *found};
  if (kind == FormKind::Schema) {
    std::optional<Input> schema = schemaOf(request, name, *found);
    if (!schema)
      return std::nullopt;
    form.value = std::move(*schema);
  } else if (kind == FormKind::Choice) {
    if (const auto texts = request.texts(name, kMostChosen); texts.empty() || !found->list()) {
      request.wrong(name, "a list of texts");
      return std::nullopt;
    }
  } else if (!found->text()) {
    request.wrong(name, "a text");
    return std::nullopt;
  }
  return form;
}

Result<grammar::ExprId> choiceOf(grammar::Grammar &grammar, const Input::List &texts) {
  std::vector<grammar::ExprId> ways;
  for (const Input &text : texts)
    ways.push_back(grammar.text(*text.text()));
  return grammar.choice(ways);
}

Result<grammar::Grammar> grammarOf(const AnswerForm &form) {
  if (form.kind == FormKind::Schema)
    return grammar::parseJsonSchema(form.value);
  if (form.kind == FormKind::Gbnf)
    return grammar::parseGbnf(*form.value.text());
  grammar::Grammar made;
  SINTER_ASSIGN(const grammar::ExprId root,
                form.kind == FormKind::Choice
                    ? choiceOf(made, *form.value.list())
                    : grammar::parseRegex(made, *form.value.text(), grammar::RegexUse::Whole));
  made.setRoot(root);
  return made;
}

} // namespace

ApiResult<grammar::Grammar> AnswerForm::grammar() const {
  Result<grammar::Grammar> made = grammarOf(*this);
  if (!made)
    return tl::unexpected(
        ApiError(made.error().code, "'" + path + "': " + made.error().toString(), path));
  return std::move(*made);
}

std::optional<AnswerForm> readTypedForm(const RequestReader &request, std::string_view name) {
  const auto format = request.object(name);
  if (!format)
    return std::nullopt;
  const auto type = format->choice("type", {"text", "json_object", "json_schema"});
  if (!type || *type == "text")
    return std::nullopt;
  const auto within = format->object("json_schema");
  const RequestReader &holder = within ? *within : *format;
  const Input *schema = holder.find("schema");
  if (*type == "json_schema" && !schema) {
    holder.wrong("schema", "a JSON schema");
    return std::nullopt;
  }
  if (!schema)
    return AnswerForm{FormKind::Schema, request.pathOf(name), anyObject()};
  return formOf(holder, "schema", FormKind::Schema);
}

std::optional<AnswerForm> readForm(const RequestReader &request) {
  std::vector<AnswerForm> forms;
  const auto add = [&](std::optional<AnswerForm> form) {
    if (form)
      forms.push_back(std::move(*form));
  };
  for (const auto &[name, kind] : kFields)
    add(formOf(request, name, kind));
  if (const auto structured = request.object("structured_outputs"))
    for (const auto &[name, kind] : kStructured)
      add(formOf(*structured, name, kind));
  add(readTypedForm(request, "response_format"));
  if (forms.size() > 1)
    request.problem().note(Code::InvalidArgument,
                           "'" + forms[0].path + "' and '" + forms[1].path +
                               "' both ask for a form, expected one",
                           forms[1].path);
  return forms.empty() ? std::nullopt : std::optional(std::move(forms.front()));
}

} // namespace sinter::serve
