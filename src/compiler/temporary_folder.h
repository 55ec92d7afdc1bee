// A folder of its own for each call of an external tool, removed with all files at the end.
#pragma once

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <string>

namespace sinter::compiler {

class TemporaryFolder {
public:
  explicit TemporaryFolder(llvm::StringRef prefix)
      : error_(llvm::sys::fs::createUniqueDirectory(prefix, path_)) {}
  ~TemporaryFolder() {
    if (!error_)
      llvm::sys::fs::remove_directories(path_);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  // Set where there is no folder.
  std::error_code error() const { return error_; }
  std::string file(llvm::StringRef name) const { return (path_ + "/" + name).str(); }

private:
  llvm::SmallString<128> path_;
  std::error_code error_;
};

} // namespace sinter::compiler
