// Identifiers are resolved once, when the document is read (RFC 3986, section 5).
#include "grammar/schema_references.h"

#include "grammar/scanner.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

using jinja::Input;

constexpr std::string_view kOneSchema[] = {"additionalProperties",
                                           "additionalItems",
                                           "items",
                                           "contains",
                                           "not",
                                           "if",
                                           "then",
                                           "else",
                                           "propertyNames",
                                           "unevaluatedItems",
                                           "unevaluatedProperties"};
constexpr std::string_view kListOfSchemas[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::string_view kNamedSchemas[] = {"properties",  "patternProperties", "$defs",
                                              "definitions", "dependentSchemas",  "dependencies"};

std::optional<unsigned> hexDigit(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t found = kDigits.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
  return found < 16 ? std::optional(static_cast<unsigned>(found)) : std::nullopt;
}

std::string percentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto high = i + 2 < text.size() ? hexDigit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hexDigit(text[i + 2]) : std::nullopt;
    if (text[i] != '%' || !high || !low) {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(*high << 4 | *low);
    i += 2;
  }
  return decoded;
}

// Up to and with its colon; empty where there is none.
std::string_view schemeOf(std::string_view uri) {
  const size_t end = uri.find_first_of(":/?#");
  return end == std::string_view::npos || uri[end] != ':' ? "" : uri.substr(0, end + 1);
}

std::string withoutDots(std::string_view path) {
  std::vector<std::string_view> kept;
  size_t at = 0;
  while (at <= path.size()) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    const bool isLast = end == path.size();
    if (part == ".." && kept.size() > 1)
      kept.pop_back();
    if (part != "." && part != "..")
      kept.push_back(part);
    else if (isLast)
      kept.emplace_back();
    at = end + 1;
  }
  std::string joined;
  for (size_t i = 0; i < kept.size(); ++i)
    joined += (i ? "/" : "") + std::string(kept[i]);
  return joined;
}

// `reference` has no fragment.
std::string resolved(std::string_view base, std::string_view reference) {
  if (reference.empty())
    return std::string(base);
  if (!schemeOf(reference).empty())
    return std::string(reference);
  const std::string_view scheme = schemeOf(base);
  std::string_view rest = base.substr(scheme.size());
  if (reference.starts_with("//"))
    return std::string(scheme) + std::string(reference);
  const size_t authority =
      rest.starts_with("//") ? std::min(rest.find_first_of("/?", 2), rest.size()) : 0;
  std::string start = std::string(scheme) + std::string(rest.substr(0, authority));
  rest.remove_prefix(authority);
  const std::string_view path = rest.substr(0, rest.find('?'));
  const std::string_view query = reference.substr(std::min(reference.find('?'), reference.size()));
  const std::string_view own = reference.substr(0, reference.size() - query.size());
  if (own.empty())
    return start + std::string(path) + std::string(query);
  std::string merged(own);
  if (!own.starts_with('/')) {
    const size_t slash = path.rfind('/');
    const bool isBare = slash == std::string_view::npos;
    merged = (isBare ? (authority ? "/" : "") : std::string(path.substr(0, slash + 1))) + merged;
  }
  return start + withoutDots(merged) + std::string(query);
}

std::optional<size_t> indexOf(std::string_view text) {
  size_t index = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || index > kMostCount)
      return std::nullopt;
    index = index * 10 + size_t(c - '0');
  }
  return text.empty() ? std::nullopt : std::optional(index);
}

// A part of a JSON pointer, without its slash.
std::string pointerKey(std::string_view part) {
  std::string key;
  for (size_t i = 0; i < part.size(); ++i) {
    const bool isEscape = part[i] == '~' && i + 1 < part.size();
    if (isEscape && part[i + 1] == '1')
      key += '/';
    else
      key += part[i];
    i += isEscape && (part[i + 1] == '0' || part[i + 1] == '1');
  }
  return key;
}

// Null where the pointer leads nowhere.
const Input *pointedTo(const Input *at, std::string_view pointer) {
  while (at && !pointer.empty()) {
    const size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string key = pointerKey(pointer.substr(1, end - 1));
    if (at->object()) {
      at = at->find(key);
    } else {
      const std::optional<size_t> index = at->list() ? indexOf(key) : std::nullopt;
      at = index && *index < at->list()->size() ? &(*at->list())[*index] : nullptr;
    }
    pointer.remove_prefix(end);
  }
  return at;
}

std::string quoted(std::string_view reference) {
  return "'" + std::string(reference) + "'";
}

} // namespace

SchemaReferences::SchemaReferences(const Input &root) : resources_{{&root, ""}} {
  std::vector<Visit> open{{&root, 0}};
  while (!open.empty()) {
    const Visit visit = open.back();
    open.pop_back();
    if (visit.schema->object())
      note(visit, open);
  }
  for (size_t i = resources_.size(); i-- > 0;) // of equals the first
    byUri_[resources_[i].uri] = i;
}

void SchemaReferences::note(Visit visit, std::vector<Visit> &open) {
  const Input &schema = *visit.schema;
  const Input *id = schema.find("$id");
  if (id && id->text() && !id->text()->starts_with('#')) {
    const std::string_view own = std::string_view(*id->text()).substr(0, id->text()->find('#'));
    std::string uri = resolved(resources_[visit.resource].uri, own);
    if (visit.schema == resources_[0].root) {
      resources_[0].uri = std::move(uri);
    } else {
      visit.resource = resources_.size();
      resources_.push_back({&schema, std::move(uri)});
    }
  }
  resourceOf_[&schema] = visit.resource;
  Resource &resource = resources_[visit.resource];
  if (const Input *name = schema.find("$anchor"); name && name->text())
    resource.anchors.emplace(*name->text(), &schema);
  if (const Input *name = schema.find("$dynamicAnchor"); name && name->text()) {
    resource.anchors.emplace(*name->text(), &schema);
    resource.dynamicAnchors.emplace(*name->text(), &schema);
  }
  for (const std::string_view keyword : kOneSchema)
    if (const Input *one = schema.find(keyword))
      open.push_back({one, visit.resource});
  for (const std::string_view keyword : kListOfSchemas)
    if (const Input *list = schema.find(keyword); list && list->list())
      for (const Input &one : *list->list())
        open.push_back({&one, visit.resource});
  for (const std::string_view keyword : kNamedSchemas)
    if (const Input *named = schema.find(keyword); named && named->object())
      for (const auto &[name, one] : *named->object())
        open.push_back({&one, visit.resource});
}

Result<SchemaReferences::Target> SchemaReferences::targetOf(const Input &from,
                                                            std::string_view reference) const {
  const auto own = resourceOf_.find(&from);
  const size_t resource = own == resourceOf_.end() ? 0 : own->second;
  const size_t hash = std::min(reference.find('#'), reference.size());
  const std::string fragment =
      percentDecoded(reference.substr(std::min(hash + 1, reference.size())));
  if (hash == 0)
    return Target{resource, fragment};
  const std::string uri = resolved(resources_[resource].uri, reference.substr(0, hash));
  const auto found = byUri_.find(uri);
  if (found == byUri_.end())
    return fail(Code::Unsupported, quoted(reference) +
                                       " leads out of the schema; expected '#/...', "
                                       "or an '$id' or anchor within it");
  return Target{found->second, fragment};
}

Result<const Input *> SchemaReferences::find(const Target &target,
                                             std::string_view reference) const {
  const Resource &resource = resources_[target.resource];
  if (target.fragment.empty() || target.fragment.starts_with('/')) {
    if (const Input *found = pointedTo(resource.root, target.fragment))
      return found;
    return fail(Code::InvalidArgument, quoted(reference) + " leads nowhere");
  }
  const auto count = resource.anchors.count(target.fragment);
  if (count == 1)
    return resource.anchors.find(target.fragment)->second;
  return fail(Code::InvalidArgument, quoted(reference) + " leads nowhere: " +
                                         std::to_string(count) + " schemas have that anchor");
}

Result<const Input *> SchemaReferences::resolve(const Input &from,
                                                std::string_view reference) const {
  SINTER_ASSIGN(const Target target, targetOf(from, reference));
  return find(target, reference);
}

// The outermost resource on the path of references decides, and that is the document's root.
Result<const Input *> SchemaReferences::resolveDynamic(const Input &from,
                                                       std::string_view reference) const {
  SINTER_ASSIGN(const Target target, targetOf(from, reference));
  SINTER_ASSIGN(const Input *first, find(target, reference));
  const auto own = resources_[target.resource].dynamicAnchors.find(target.fragment);
  if (own == resources_[target.resource].dynamicAnchors.end() || own->second != first)
    return first;
  const auto outermost = resources_[0].dynamicAnchors.find(target.fragment);
  if (outermost != resources_[0].dynamicAnchors.end())
    return outermost->second;
  const auto count = std::ranges::count_if(resources_, [&](const Resource &resource) {
    return resource.dynamicAnchors.contains(target.fragment);
  });
  if (count == 1)
    return first;
  return fail(Code::Unsupported, quoted(reference) + " leads to one of " + std::to_string(count) +
                                     " schemas, by the path of references; expected the "
                                     "'$dynamicAnchor' at the root");
}

} // namespace sinter::grammar
