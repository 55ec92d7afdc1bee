// The models that requests may name: those of the store and those that the operator gave. No
// request names a path of the host.
#pragma once

#include "serve/worker/model_pool.h"

#include <map>

namespace sinter::serve {

// A pool over another, which outlives it. Thread-safe as the other is.
class NamedPool final : public ModelPool {
public:
  // Paths by the names that requests give them. `inner` finds its names() by name, the others by
  // path.
  NamedPool(ModelPool &inner, std::map<std::string, std::string> paths)
      : inner_(inner), paths_(std::move(paths)) {}

  void get(const std::string &name, const LoadWishes &wishes, OnModel then) override;
  std::vector<std::string> names() const override;
  std::vector<LoadedModel> loaded() const override;
  bool unload(const std::string &name) override;
  void forget(const std::string &name) override { inner_.forget(name); }

  // What the inner pool takes for it: a path, or the same name. NotFound, with the nearest name.
  Result<std::string> innerName(const std::string &name) const;

private:
  ModelPool &inner_;
  const std::map<std::string, std::string> paths_;
};

} // namespace sinter::serve
