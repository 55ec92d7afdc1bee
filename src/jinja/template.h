// Jinja templates, as chat templates are written: parsed once, rendered with bounds and without any
// access to the host. The reference is jinja2 3.1 with trim_blocks, lstrip_blocks, loop controls
// and the additions of Hugging Face's transformers: tojson without HTML escapes, raise_exception,
// strftime_now, {% generation %}; also from_json, and the list methods append and pop. Whole
// numbers have 64 bits. Not there: inheritance, imports, recursive loops, and filters that no chat
// template uses; each is refused by its name.
#pragma once

#include "base/status.h"
#include "jinja/input.h"
#include "jinja/limits.h"
#include "jinja/tree.h"

#include <ctime>
#include <string>
#include <string_view>

namespace sinter::jinja {

// Movable; const use is safe from several threads.
class Template {
public:
  // Checks and parses a template. Corrupt: it is not UTF-8, or breaks Jinja's grammar. Unsupported:
  // it needs something that is not there. Exhausted: too long or nested too deeply. Messages begin
  // with "line 3, column 14: ".
  static Result<Template> parse(std::string_view source, const Limits &limits = {});

  // What the template writes, each byte with its origin. Errors have the place as above.
  // InvalidArgument: an operation on values of a wrong type, or a variable that is not UTF-8.
  // Unsupported: raise_exception with its message, or what is not there. Exhausted: one of the
  // limits, by name. `now` is what strftime_now formats.
  Result<Text> render(const Input::Object &variables, const std::tm &now) const;

  // Whether the template reads a variable of this name anywhere.
  bool mentions(std::string_view name) const;

private:
  Template(std::string source, Tree tree, const Limits &limits)
      : source_(std::move(source)), tree_(std::move(tree)), limits_(limits) {}

  std::string source_; // with plain newlines
  Tree tree_;
  Limits limits_;
};

} // namespace sinter::jinja
