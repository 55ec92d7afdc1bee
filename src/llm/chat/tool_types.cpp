// Types of schemas, without a word on what is wrong with them.
#include "llm/chat/tool_types.h"

#include "grammar/schema_view.h"

namespace sinter {
namespace {

using jinja::Input;

constexpr int kMostSteps = 64; // of one schema, through references and branches

class TypeReader {
public:
  explicit TypeReader(const Input &root) : document_(root) {}

  uint32_t typesOf(const Input &schema) {
    if (++steps_ > kMostSteps || !schema.object())
      return grammar::kAllTypes;
    uint32_t types = document_.typesAt(schema).value_or(grammar::kAllTypes);
    if (const Input *values = schema.find("enum"); values && values->list())
      types &= unionOf(*values->list(), grammar::typeOf);
    if (const Input *value = schema.find("const"))
      types &= grammar::typeOf(*value);
    for (const char *keyword : {"anyOf", "oneOf"})
      if (const Input *branches = schema.find(keyword); branches && branches->list())
        types &= unionOf(*branches->list(), [this](const Input &each) { return typesOf(each); });
    if (const Input *parts = schema.find("allOf"); parts && parts->list())
      for (const Input &part : *parts->list())
        types &= typesOf(part);
    if (const Input *reference = schema.find("$ref"); reference && reference->text())
      if (const auto target = document_.resolve(schema, *reference->text()))
        types &= typesOf(**target);
    return types;
  }

private:
  template <typename TypesOf> static uint32_t unionOf(const Input::List &list, TypesOf typesOf) {
    uint32_t types = 0;
    for (const Input &item : list)
      types |= typesOf(item);
    return types;
  }

  const grammar::SchemaDocument document_;
  int steps_ = 0;
};

// Of properties and what lies within them.
void addParts(const Input &parameters, ParameterTypes &types) {
  constexpr size_t kMostParts = 4096; // of one tool
  std::vector<std::pair<std::string, const Input *>> open = {{"", &parameters}};
  while (!open.empty() && types.size() < kMostParts) {
    const auto [path, schema] = std::move(open.back());
    open.pop_back();
    if (!path.empty())
      types[path] = schemaTypes(*schema, parameters);
    const std::string before = path.empty() ? "" : path + "/";
    if (const Input *properties = schema->find("properties"); properties && properties->object())
      for (const auto &[key, part] : *properties->object())
        open.emplace_back(before + key, &part);
    if (const Input *items = schema->find("items"); items && items->object())
      open.emplace_back(before + "item", items);
  }
}

} // namespace

uint32_t schemaTypes(const Input &schema, const Input &root) {
  return TypeReader(root).typesOf(schema);
}

ToolTypes toolTypesOf(const Input &tools) {
  ToolTypes types;
  for (size_t i = 0; tools.list() && i < tools.list()->size(); ++i) {
    const Input *function = (*tools.list())[i].find("function");
    const Input *name = function ? function->find("name") : nullptr;
    const Input *parameters = function ? function->find("parameters") : nullptr;
    if (!name || !name->text())
      continue;
    ParameterTypes &ofTool = types[*name->text()];
    if (parameters)
      addParts(*parameters, ofTool);
  }
  return types;
}

} // namespace sinter
