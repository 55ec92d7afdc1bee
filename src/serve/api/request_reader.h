// Reads fields of a request's JSON; what is wrong is said with the field's path, its range and what
// was found.
#pragma once

#include "jinja/input.h"
#include "serve/api/api_error.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::serve {

// The first thing that is wrong with a request. Reading goes on after it, with absent values.
struct RequestProblem {
  std::optional<ApiError> first = {};

  void note(Code code, std::string message, std::string path) {
    if (!first)
      first.emplace(code, std::move(message), std::move(path));
  }
};

// "a text", "a list", "the number 3", for messages; long texts are cut.
std::string foundText(const jinja::Input &value);

// The fields of one object. A field that is null counts as absent; fields that nobody asks for are
// ignored, as the peers do. Borrows the object and the problem.
class RequestReader {
public:
  // Notes a problem where the value is no object; every field is absent then.
  RequestReader(const jinja::Input &value, std::string path, RequestProblem &problem);

  RequestProblem &problem() const { return *problem_; }
  bool isFine() const { return !problem_->first; }
  // "messages[2].role"
  std::string pathOf(std::string_view name) const;

  const jinja::Input *find(std::string_view name) const;

  std::optional<int64_t> whole(std::string_view name, int64_t least, int64_t most) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  std::optional<bool> boolean(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  // Notes a problem where it is absent or empty.
  std::string requiredText(std::string_view name) const;
  // One of the texts.
  std::optional<std::string> choice(std::string_view name,
                                    std::initializer_list<std::string_view> allowed) const;
  // A text, or a list of texts.
  std::vector<std::string> texts(std::string_view name, size_t mostTexts) const;
  // Null where it is absent or something else, which is a problem.
  const jinja::Input::List *list(std::string_view name, size_t mostItems) const;
  // The fields of an object within; nothing where it is absent.
  std::optional<RequestReader> object(std::string_view name) const;

  // Notes that the field asks for what is not there; null, false and what is empty ask for nothing.
  void refuse(std::string_view name, const std::string &why) const;

  void wrong(std::string_view name, const std::string &expected) const;

private:
  const jinja::Input *value_; // null: no object
  std::string path_;
  RequestProblem *problem_;
};

} // namespace sinter::serve
