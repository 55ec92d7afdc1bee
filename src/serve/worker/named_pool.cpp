// Names before paths.
#include "serve/worker/named_pool.h"

#include "base/nearest.h"

#include <algorithm>

namespace sinter::serve {

Result<std::string> NamedPool::innerName(const std::string &name) const {
  if (const auto given = paths_.find(name); given != paths_.end())
    return given->second;
  const std::vector<std::string> known = names();
  if (std::ranges::find(known, name) != known.end())
    return name;
  return fail(Code::NotFound, "there is no model '" + name + "'" + nearestHint(name, known));
}

void NamedPool::get(const std::string &name, const LoadWishes &wishes, OnModel then) {
  const Result<std::string> inner = innerName(name);
  if (!inner)
    return then(Fail(inner.error()));
  inner_.get(*inner, wishes, std::move(then));
}

std::vector<std::string> NamedPool::names() const {
  std::vector<std::string> all = inner_.names();
  for (const auto &[name, path] : paths_)
    if (std::ranges::find(all, name) == all.end())
      all.push_back(name);
  std::ranges::sort(all);
  return all;
}

std::vector<LoadedModel> NamedPool::loaded() const {
  std::vector<LoadedModel> all = inner_.loaded();
  for (LoadedModel &model : all)
    for (const auto &[name, path] : paths_)
      if (model.name == path)
        model.name = name;
  return all;
}

bool NamedPool::unload(const std::string &name) {
  const Result<std::string> inner = innerName(name);
  return inner && inner_.unload(*inner);
}

} // namespace sinter::serve
