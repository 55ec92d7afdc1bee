// What the references of a schema's document lead to: places, anchors, embedded resources.
#pragma once

#include "jinja/input.h"

#include <map>
#include <string>
#include <vector>

namespace sinter::grammar {

// Only keywords that hold schemas are looked into for identifiers, as the draft says it. Borrows
// the document. Const use is safe from several threads.
class SchemaReferences {
public:
  explicit SchemaReferences(const jinja::Input &root);

  // InvalidArgument: it leads nowhere. Unsupported: it leads out of the document. Messages are
  // without the place. `from`: the schema that has it; one that is not of the document counts as
  // its root.
  Result<const jinja::Input *> resolve(const jinja::Input &from, std::string_view reference) const;
  // A `$dynamicRef`. Unsupported, too: what it leads to depends on the path of references.
  Result<const jinja::Input *> resolveDynamic(const jinja::Input &from,
                                              std::string_view reference) const;

private:
  // A schema with an identifier, and what lies within it up to others.
  struct Resource {
    const jinja::Input *root;
    std::string uri; // absolute as far as the document says it, without a fragment
    std::multimap<std::string, const jinja::Input *> anchors = {}; // of both kinds
    std::map<std::string, const jinja::Input *> dynamicAnchors = {};
  };
  struct Visit {
    const jinja::Input *schema;
    size_t resource;
  };
  struct Target {
    size_t resource;
    std::string fragment; // decoded
  };
  void note(Visit visit, std::vector<Visit> &open);
  Result<Target> targetOf(const jinja::Input &from, std::string_view reference) const;
  Result<const jinja::Input *> find(const Target &target, std::string_view reference) const;

  std::vector<Resource> resources_; // the document's root is first
  std::map<const jinja::Input *, size_t> resourceOf_;
  std::map<std::string, size_t, std::less<>> byUri_;
};

} // namespace sinter::grammar
