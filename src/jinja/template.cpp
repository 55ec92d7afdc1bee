// Puts parser and interpreter together, and turns bytes into lines and columns.
#include "jinja/template.h"

#include "jinja/characters.h"
#include "jinja/interpreter.h"
#include "jinja/parser.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

Fail withPlace(std::string_view source, const Status &error) {
  if (!error.byteOffset)
    return Fail(error);
  const std::string_view before =
      source.substr(0, std::min<size_t>(*error.byteOffset, source.size()));
  const size_t line = static_cast<size_t>(std::ranges::count(before, '\n')) + 1;
  const size_t begin = before.rfind('\n') + 1; // 0 where there is none
  const size_t column = countCharacters(before.substr(begin)) + 1;
  return fail(error.code, "line " + std::to_string(line) + ", column " + std::to_string(column) +
                              ": " + error.message);
}

} // namespace

Result<Template> Template::parse(std::string_view source, const Limits &limits) {
  if (source.size() > limits.templateBytes)
    return fail(Code::Exhausted, "the template has " + std::to_string(source.size()) +
                                     " bytes, expected at most " +
                                     std::to_string(limits.templateBytes));
  if (const size_t valid = validUtf8Bytes(source); valid < source.size())
    return withPlace(source, Status{Code::Corrupt, "the template is not UTF-8", valid});
  std::string plain = withPlainNewlines(source);
  auto tree = jinja::parse(plain, limits);
  if (!tree)
    return withPlace(plain, tree.error());
  return Template(std::move(plain), std::move(*tree), limits);
}

Result<Text> Template::render(const Input::Object &variables, const std::tm &now) const {
  Interpreter interpreter(tree_, limits_, now);
  auto text = interpreter.run(variables);
  if (!text)
    return withPlace(source_, text.error());
  return std::move(*text);
}

bool Template::mentions(std::string_view name) const {
  return std::ranges::find(tree_.names, name) != tree_.names.end();
}

} // namespace sinter::jinja
