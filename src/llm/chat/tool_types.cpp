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
    const Input *properties = parameters ? parameters->find("properties") : nullptr;
    if (!name || !name->text())
      continue;
    ParameterTypes &ofTool = types[*name->text()];
    for (size_t k = 0; properties && properties->object() && k < properties->object()->size();
         ++k) {
      const auto &[key, schema] = (*properties->object())[k];
      ofTool[key] = schemaTypes(schema, *parameters);
    }
  }
  return types;
}

} // namespace sinter
