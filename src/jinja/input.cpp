// JSON through nlohmann's parser, which calls back for each value and does not recurse.
#include "jinja/input.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace sinter::jinja {
namespace {

using Json = nlohmann::ordered_json;

// Builds the tree; the first error ends it.
class Builder : public nlohmann::json_sax<Json> {
public:
  bool null() override { return add(Input()); }
  bool boolean(bool value) override { return add(Input(value)); }
  bool number_integer(number_integer_t value) override { return add(Input(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(INT64_MAX))
      return refuse("a whole number beyond 64 bits: " + std::to_string(value));
    return add(Input(static_cast<int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t &spelled) override {
    if (spelled.find_first_of(".eE") == std::string::npos)
      return refuse("a whole number beyond 64 bits: " + spelled.substr(0, 32));
    return add(Input(value));
  }
  bool string(string_t &value) override { return add(Input(std::move(value))); }
  bool binary(binary_t &) override { return false; }
  bool start_object(std::size_t) override { return open(Input(Input::Object())); }
  bool key(string_t &value) override {
    keys_.back() = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Input(Input::List())); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    error_ = Status{Code::Corrupt, "the text is no JSON", position ? position - 1 : 0};
    return false;
  }

  Result<Input> finish(bool isWhole) {
    if (error_)
      return Fail(std::move(*error_));
    if (!isWhole)
      return fail(Code::Corrupt, "the text is no JSON");
    return std::move(root_);
  }

private:
  bool refuse(std::string what) {
    error_ = Status{Code::Unsupported, "JSON holds " + std::move(what)};
    return false;
  }
  bool add(Input value) {
    place(std::move(value));
    return true;
  }
  Input *place(Input value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Input::Content &content = open_.back()->content();
    if (auto *list = std::get_if<Input::List>(&content))
      return &list->emplace_back(std::move(value));
    auto &object = std::get<Input::Object>(content);
    const auto [place, isNew] = places_.back().try_emplace(keys_.back(), object.size());
    if (isNew)
      object.emplace_back(keys_.back(), Input());
    Input &same = object[place->second].second;
    same = std::move(value);
    return &same;
  }
  bool open(Input value) {
    if (open_.size() == kMostInputDepth)
      return refuse("lists and objects nested deeper than " + std::to_string(kMostInputDepth));
    open_.push_back(place(std::move(value)));
    keys_.emplace_back();
    places_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    places_.pop_back();
    return true;
  }

  Input root_;
  std::vector<Input *> open_; // a parent grows only while its last child is closed
  std::vector<std::string> keys_;
  std::vector<std::map<std::string, size_t>> places_; // of each open object's keys
  std::optional<Status> error_;
};

} // namespace

const Input *Input::find(std::string_view key) const {
  const Object *entries = object();
  if (!entries)
    return nullptr;
  const auto found = std::ranges::find(*entries, key, &Object::value_type::first);
  return found == entries->end() ? nullptr : &found->second;
}

Result<Input> inputFromJson(std::string_view json) {
  Builder builder;
  const bool isWhole = Json::sax_parse(json, &builder);
  return builder.finish(isWhole);
}

} // namespace sinter::jinja
