// From simdjson's document to the tree that templates take, without recursion.
#include "serve/api/request_json.h"

#include <algorithm>
#include <optional>
#include <simdjson.h>

namespace sinter::serve {
namespace {

using jinja::Input;
using simdjson::dom::element_type;

// A list or object that is being read.
struct Frame {
  std::optional<simdjson::dom::object> object; // else the list
  simdjson::dom::array list;
  simdjson::dom::object::iterator member;
  simdjson::dom::array::iterator item;
  Input::Object members;
  Input::List items;
};

Frame frameOf(simdjson::dom::element element) {
  Frame frame;
  if (element.type() == element_type::OBJECT) {
    frame.object = element.get_object().value_unsafe();
    frame.member = frame.object->begin();
  } else {
    frame.list = element.get_array().value_unsafe();
    frame.item = frame.list.begin();
  }
  return frame;
}

// Of those with one key the last one, at its place.
void dropRepeated(Input::Object &members) {
  std::vector<size_t> order(members.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    return members[a].first != members[b].first ? members[a].first < members[b].first : a < b;
  });
  std::vector<bool> drops(members.size());
  for (size_t i = 0; i + 1 < order.size(); ++i)
    drops[order[i]] = members[order[i]].first == members[order[i + 1]].first;
  size_t kept = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (drops[i])
      continue;
    if (kept != i)
      members[kept] = std::move(members[i]);
    ++kept;
  }
  members.resize(kept);
}

Input leafOf(simdjson::dom::element element) {
  switch (element.type()) {
  case element_type::INT64:
    return Input(element.get_int64().value_unsafe());
  case element_type::UINT64: // above those of INT64
    return Input(static_cast<double>(element.get_uint64().value_unsafe()));
  case element_type::DOUBLE:
    return Input(element.get_double().value_unsafe());
  case element_type::STRING:
    return Input(std::string(element.get_string().value_unsafe()));
  case element_type::BOOL:
    return Input(element.get_bool().value_unsafe());
  default:
    return Input();
  }
}

bool hasItems(simdjson::dom::element element) {
  return element.type() == element_type::OBJECT || element.type() == element_type::ARRAY;
}

// The next element of a frame, with its key's place made; nothing at its end.
std::optional<simdjson::dom::element> next(Frame &frame) {
  if (!frame.object) {
    if (frame.item == frame.list.end())
      return std::nullopt;
    const simdjson::dom::element element = *frame.item;
    ++frame.item;
    return element;
  }
  if (frame.member == frame.object->end())
    return std::nullopt;
  const auto field = *frame.member;
  frame.members.emplace_back(std::string(field.key), Input());
  ++frame.member;
  return field.value;
}

void add(Frame &frame, Input value) {
  if (frame.object)
    frame.members.back().second = std::move(value);
  else
    frame.items.push_back(std::move(value));
}

Input finished(Frame &frame) {
  if (!frame.object)
    return Input(std::move(frame.items));
  dropRepeated(frame.members);
  return Input(std::move(frame.members));
}

Input treeOf(simdjson::dom::element root) {
  if (!hasItems(root))
    return leafOf(root);
  std::vector<Frame> open;
  open.push_back(frameOf(root));
  for (;;) {
    const auto element = next(open.back());
    if (element && hasItems(*element)) {
      open.push_back(frameOf(*element));
      continue;
    }
    if (element) {
      add(open.back(), leafOf(*element));
      continue;
    }
    Input whole = finished(open.back());
    open.pop_back();
    if (open.empty())
      return whole;
    add(open.back(), std::move(whole));
  }
}

} // namespace

Result<Input> readRequestJson(std::string_view body) {
  constexpr size_t kLeastCapacity = 64;
  simdjson::dom::parser parser;
  // What the parser has room for keeps its depth.
  auto error = parser.allocate(std::max(body.size(), kLeastCapacity), jinja::kMostInputDepth);
  if (error)
    return fail(Code::Exhausted,
                "there is no memory to read a body of " + std::to_string(body.size()) + " bytes");
  simdjson::dom::element root;
  error = parser.parse(body.data(), body.size()).get(root);
  if (error == simdjson::DEPTH_ERROR)
    return fail(Code::InvalidArgument, "the body's JSON is nested too deeply, expected at most " +
                                           std::to_string(jinja::kMostInputDepth) + " levels");
  if (error)
    return fail(Code::InvalidArgument,
                std::string("the body is no JSON: ") + simdjson::error_message(error));
  return treeOf(root);
}

} // namespace sinter::serve
