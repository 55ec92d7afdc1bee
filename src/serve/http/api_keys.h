// API keys by name. Memory holds digests alone, so that no dump of it has a key.
#pragma once

#include "base/sha256.h"
#include "serve/http/exchange.h"

#include <optional>

namespace sinter::serve {

class ApiKeys {
public:
  // InvalidArgument: the name or the key is empty, has characters that no header has, or was added
  // before.
  Result<void> add(std::string_view name, std::string_view key);
  // Lines NAME:KEY; empty ones and those that begin with # are skipped. Errors name the line.
  Result<void> addFile(const std::string &path);

  bool empty() const { return keys_.empty(); }

  // The name of the key that a request carries as `Authorization: Bearer KEY` or `X-Api-Key: KEY`;
  // none: it has no key of these. Takes the same time whichever key it is.
  std::optional<std::string> nameFor(const HttpRequest &request) const;

private:
  struct Key {
    std::string name;
    Sha256Digest digest;
  };
  std::vector<Key> keys_;
};

} // namespace sinter::serve
