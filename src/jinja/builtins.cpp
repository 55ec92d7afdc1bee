// Finds builtins by name.
#include "jinja/builtins.h"

#include "base/nearest.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

const Builtin *findIn(std::span<const Builtin> table, std::string_view name) {
  const auto found = std::ranges::lower_bound(table, name, {}, &Builtin::name);
  return found != table.end() && found->name == name ? &*found : nullptr;
}

constexpr std::string_view kRefusedOfLists[] = {"clear",  "extend",  "insert",
                                                "remove", "reverse", "sort"};
constexpr std::string_view kRefusedOfDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};

std::array<std::span<const Builtin>, 4> filterTables() {
  return {textFilters(), sequenceFilters(), selectionFilters(), valueFilters()};
}

} // namespace

const Builtin *findFilter(std::string_view name) {
  for (const std::span<const Builtin> table : filterTables())
    if (const Builtin *found = findIn(table, name))
      return found;
  return nullptr;
}
const Builtin *findTest(std::string_view name) {
  return findIn(allTests(), name);
}
const Builtin *findFunction(std::string_view name) {
  return findIn(allFunctions(), name);
}
const Builtin *findMethod(Kind kind, std::string_view name) {
  if (kind != Kind::Text)
    return findIn(containerMethods(kind), name);
  const Builtin *found = findIn(textMethods(), name);
  return found ? found : findIn(textSearchMethods(), name);
}

bool isRefusedMethod(Kind kind, std::string_view name) {
  if (kind == Kind::List)
    return std::ranges::find(kRefusedOfLists, name) != std::end(kRefusedOfLists);
  return kind == Kind::Dict &&
         std::ranges::find(kRefusedOfDicts, name) != std::end(kRefusedOfDicts);
}

Fail unknownBuiltin(std::string_view kind, std::string_view name, std::optional<uint64_t> offset) {
  std::vector<std::string> names;
  const auto add = [&](std::span<const Builtin> table) {
    for (const Builtin &builtin : table)
      names.emplace_back(builtin.name);
  };
  if (kind == "test")
    add(allTests());
  else
    for (const std::span<const Builtin> table : filterTables())
      add(table);
  const std::string shown(name.substr(0, 64));
  return fail(Code::Unsupported,
              "the " + std::string(kind) + " '" + shown + "' is not known" +
                  nearestHint(shown, names),
              offset);
}

} // namespace sinter::jinja
