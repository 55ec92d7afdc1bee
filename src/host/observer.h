// What a caller of this layer hears while it waits, and how it ends the waiting. The layer itself
// writes to no stream.
#pragma once

#include "host/compiler_process.h"

#include <atomic>
#include <string>

namespace sinter::host {

// Called on the thread that called the layer.
class Observer {
public:
  virtual ~Observer() = default;

  // One line on what was not as expected and what happens instead: a damaged cache entry that is
  // built again, a plan that cannot be kept, metadata that nobody knows.
  virtual void note(const std::string &line) = 0;

  // The compiler builds a plan between these two; showBuild() tells how far it is.
  virtual void beginBuild() {}
  virtual void showBuild(const CompilerProgress &progress) {}
  virtual void endBuild() {}

  // Once true, a build ends with Code::Cancelled, and so does waiting for another process's build.
  virtual const std::atomic<bool> &cancel() const = 0;
};

// Keeps a build announced for a scope.
class BuildScope {
public:
  explicit BuildScope(Observer &observer) : observer_(observer) { observer_.beginBuild(); }
  ~BuildScope() { observer_.endBuild(); }
  BuildScope(const BuildScope &) = delete;
  BuildScope &operator=(const BuildScope &) = delete;

private:
  Observer &observer_;
};

} // namespace sinter::host
