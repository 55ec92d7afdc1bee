// Typed access to a tree of JSON.
#include "serve/api/request_reader.h"

#include "llm/sampler/settings.h"

#include <algorithm>
#include <cmath>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr size_t kMostShownBytes = 40;

// A double that is a whole number within 64 bits counts as one, as clients write 5.0.
std::optional<int64_t> wholeOf(const Input &value) {
  if (const auto *integer = std::get_if<int64_t>(&value.content()))
    return *integer;
  const auto *real = std::get_if<double>(&value.content());
  if (real && *real == std::trunc(*real) && std::fabs(*real) < 0x1p53)
    return static_cast<int64_t>(*real);
  return std::nullopt;
}

std::optional<double> numberOf(const Input &value) {
  if (const auto *integer = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*integer);
  if (const auto *real = std::get_if<double>(&value.content()))
    return *real;
  return std::nullopt;
}

bool asksForNothing(const Input &value) {
  if (const auto *boolean = std::get_if<bool>(&value.content()))
    return !*boolean;
  return (value.text() && value.text()->empty()) || (value.list() && value.list()->empty()) ||
         (value.object() && value.object()->empty());
}

std::string shownText(const std::string &text) {
  size_t end = std::min(text.size(), kMostShownBytes);
  while (end < text.size() && end > 0 && (text[end] & 0xc0) == 0x80)
    --end;
  return "'" + text.substr(0, end) + (end < text.size() ? "...'" : "'");
}

} // namespace

std::string foundText(const Input &value) {
  if (value.text())
    return "the text " + shownText(*value.text());
  if (value.list())
    return "a list";
  if (value.object())
    return "an object";
  if (const auto *boolean = std::get_if<bool>(&value.content()))
    return *boolean ? "true" : "false";
  if (const auto number = numberOf(value))
    return "the number " + numberText(*number);
  return "null";
}

RequestReader::RequestReader(const Input &value, std::string path, RequestProblem &problem)
    : value_(value.object() ? &value : nullptr), path_(std::move(path)), problem_(&problem) {
  if (!value_)
    problem_->note(Code::InvalidArgument,
                   (path_.empty() ? "the body" : "'" + path_ + "'") + " is " + foundText(value) +
                       ", expected an object",
                   path_);
}

std::string RequestReader::pathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const Input *RequestReader::find(std::string_view name) const {
  const Input *found = value_ ? value_->find(name) : nullptr;
  return found && !std::holds_alternative<std::monostate>(found->content()) ? found : nullptr;
}

void RequestReader::wrong(std::string_view name, const std::string &expected) const {
  const Input *found = find(name);
  problem_->note(Code::InvalidArgument,
                 "'" + pathOf(name) + "' is " + (found ? foundText(*found) : "absent") +
                     ", expected " + expected,
                 pathOf(name));
}

std::optional<int64_t> RequestReader::whole(std::string_view name, int64_t least,
                                            int64_t most) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  const auto value = wholeOf(*found);
  if (value && *value >= least && *value <= most)
    return value;
  wrong(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<double> RequestReader::number(std::string_view name, double least,
                                            double most) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  const auto value = numberOf(*found);
  if (value && *value >= least && *value <= most)
    return value;
  wrong(name, "a number from " + numberText(least) + " to " + numberText(most));
  return std::nullopt;
}

std::optional<bool> RequestReader::boolean(std::string_view name) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  if (const auto *value = std::get_if<bool>(&found->content()))
    return *value;
  wrong(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> RequestReader::text(std::string_view name) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  if (found->text())
    return *found->text();
  wrong(name, "a text");
  return std::nullopt;
}

std::string RequestReader::requiredText(std::string_view name) const {
  const Input *found = find(name);
  if (found && found->text() && !found->text()->empty())
    return *found->text();
  wrong(name, "a text that is not empty");
  return "";
}

std::optional<std::string>
RequestReader::choice(std::string_view name,
                      std::initializer_list<std::string_view> allowed) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  if (found->text() && std::ranges::find(allowed, *found->text()) != allowed.end())
    return *found->text();
  std::string expected;
  for (const std::string_view each : allowed)
    expected += (expected.empty() ? "'" : ", '") + std::string(each) + "'";
  wrong(name, (allowed.size() > 1 ? "one of " : "") + expected);
  return std::nullopt;
}

std::vector<std::string> RequestReader::texts(std::string_view name, size_t mostTexts) const {
  const Input *found = find(name);
  if (!found)
    return {};
  if (found->text())
    return {*found->text()};
  std::vector<std::string> all;
  const Input::List *list = found->list();
  const bool isFine = list && list->size() <= mostTexts &&
                      std::ranges::all_of(*list, [](const Input &item) { return item.text(); });
  if (!isFine) {
    wrong(name, "a text or a list of at most " + std::to_string(mostTexts) + " texts");
    return {};
  }
  for (const Input &item : *list)
    all.push_back(*item.text());
  return all;
}

const Input::List *RequestReader::list(std::string_view name, size_t mostItems) const {
  const Input *found = find(name);
  if (!found)
    return nullptr;
  if (found->list() && found->list()->size() <= mostItems)
    return found->list();
  if (found->list())
    problem_->note(Code::InvalidArgument,
                   "'" + pathOf(name) + "' has " + std::to_string(found->list()->size()) +
                       " items, expected at most " + std::to_string(mostItems),
                   pathOf(name));
  else
    wrong(name, "a list");
  return nullptr;
}

std::optional<RequestReader> RequestReader::object(std::string_view name) const {
  const Input *found = find(name);
  if (!found)
    return std::nullopt;
  return RequestReader(*found, pathOf(name), *problem_);
}

void RequestReader::refuse(std::string_view name, const std::string &why) const {
  const Input *found = find(name);
  if (found && !asksForNothing(*found))
    problem_->note(Code::Unsupported, "'" + pathOf(name) + "' is not supported: " + why,
                   pathOf(name));
}

} // namespace sinter::serve
