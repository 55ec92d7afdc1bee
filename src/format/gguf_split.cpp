// Models in several files: NAME-00001-of-00004.gguf and the parts beside it.
#include "format/byte_cursor.h"
#include "format/gguf.h"
#include "format/ollama_dialect.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace sinter {
namespace {

constexpr uint64_t kMostParts = 9999; // in names of five digits; models have a few hundred at most

// "-00002-of-00004.gguf"
std::string suffixOf(uint64_t number, uint64_t count) {
  char text[40];
  std::snprintf(text, sizeof text, "-%05u-of-%05u.gguf", static_cast<unsigned>(number),
                static_cast<unsigned>(count));
  return text;
}

// What comes before the suffix in the name of the first part.
Result<std::string> stemOf(const std::string &path, uint64_t count) {
  const std::string suffix = suffixOf(1, count);
  if (path.size() > suffix.size() && path.ends_with(suffix))
    return path.substr(0, path.size() - suffix.size());
  return fail(Code::InvalidArgument, "'" + path + "' is the first of " + std::to_string(count) +
                                         " parts of a model, expected a name that ends with '" +
                                         suffix + "' so that the others can be found");
}

Fail isNotFirst(const std::string &path, uint64_t number, uint64_t count) {
  const std::string own = suffixOf(number + 1, count);
  const bool named = path.ends_with(own);
  const std::string first =
      named ? path.substr(0, path.size() - own.size()) + suffixOf(1, count) : "";
  return fail(Code::InvalidArgument, "'" + path + "' is part " + std::to_string(number + 1) +
                                         " of " + std::to_string(count) +
                                         " of a model, expected the first part" +
                                         (named ? ": give '" + first + "'" : ""));
}

} // namespace

// Metadata stand in the first part, so another part that names an architecture is of another model.
Result<void> GgufFile::checkPart(const GgufFile &part, uint64_t number, uint64_t count) const {
  SINTER_ASSIGN(const uint64_t found, part.getU64("split.no"));
  SINTER_ASSIGN(const uint64_t of, part.getU64("split.count"));
  if (found != number || of != count)
    return fail(Code::Corrupt, "the file says that it is part " + std::to_string(found + 1) +
                                   " of " + std::to_string(of) + ", expected part " +
                                   std::to_string(number + 1) + " of " + std::to_string(count));
  SINTER_ASSIGN(const std::string_view own, getStringOr("general.architecture", ""));
  SINTER_ASSIGN(const std::string_view other, part.getStringOr("general.architecture", own));
  if (own != other)
    return fail(Code::Corrupt, "the part's architecture is " + quoted(other) +
                                   ", the first part's is " + quoted(own) +
                                   ": they are parts of different models");
  return {};
}

Result<void> GgufFile::take(GgufFile part) {
  for (const GgufTensor &tensor : part.tensors_)
    if (findTensor(tensor.name))
      return fail(Code::Corrupt,
                  "tensor " + quoted(tensor.name) + " is in an earlier part of the model too");
  tensors_.insert(tensors_.end(), part.tensors_.begin(), part.tensors_.end());
  tensorsByName_.resize(tensors_.size());
  std::iota(tensorsByName_.begin(), tensorsByName_.end(), 0u);
  std::ranges::sort(tensorsByName_, {}, [&](uint32_t i) { return tensors_[i].name; });
  parts_.push_back(std::move(part));
  return {};
}

Result<void> GgufFile::openParts(const std::string &path, uint64_t count) {
  if (count > kMostParts)
    return fail(Code::Unsupported, "'" + path + "' is one of " + std::to_string(count) +
                                       " parts of a model, expected at most " +
                                       std::to_string(kMostParts));
  SINTER_ASSIGN(const uint64_t first, getU64Or("split.no", 0));
  if (first != 0)
    return isNotFirst(path, first, count);
  SINTER_ASSIGN(const std::string stem, stemOf(path, count));
  for (uint64_t number = 1; number < count; ++number) {
    const std::string name = stem + suffixOf(number + 1, count);
    auto part = open(name);
    if (!part && part.error().code == Code::NotFound)
      return fail(Code::NotFound, "part " + std::to_string(number + 1) + " of " +
                                      std::to_string(count) + " of the model is missing: '" + name +
                                      "'");
    if (!part)
      return Fail(part.error());
    Result<void> taken = checkPart(*part, number, count);
    if (taken)
      taken = take(std::move(*part));
    if (!taken)
      return fail(taken.error().code, "'" + name + "': " + taken.error().message,
                  taken.error().byteOffset);
  }
  SINTER_ASSIGN(const uint64_t tensors, getU64Or("split.tensors.count", tensors_.size()));
  if (tensors != tensors_.size())
    return fail(Code::Corrupt, "the parts of '" + path + "' have " +
                                   std::to_string(tensors_.size()) + " tensors, expected " +
                                   std::to_string(tensors) + " as the first says");
  return {};
}

Result<GgufFile> GgufFile::openModel(const std::string &path) {
  SINTER_ASSIGN(GgufFile file, open(path));
  auto count = file.getU64Or("split.count", 1);
  if (!count)
    return fail(count.error().code, "'" + path + "': " + count.error().message,
                count.error().byteOffset);
  if (*count == 0)
    return fail(Code::Corrupt, "'" + path + "': 'split.count' is 0, expected at least 1");
  if (*count > 1)
    SINTER_TRY(file.openParts(path, *count));
  if (auto read = readDialect(file); !read)
    return fail(read.error().code, "'" + path + "': " + read.error().message,
                read.error().byteOffset);
  return file;
}

} // namespace sinter
