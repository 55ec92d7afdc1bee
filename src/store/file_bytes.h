// Whole files, read and written in order.
#pragma once

#include "base/output_file.h"
#include "store/store.h"

namespace sinter::store {

// Corrupt: it has more than `mostBytes`.
Result<std::string> readWholeFile(const std::string &path, uint64_t mostBytes);
// The file appears when the disk has it.
Result<void> writeWholeFile(const std::string &path, std::string_view bytes);
// The digest of a file's bytes, which go to `copy`, too, where there is one.
Result<FileDigest> copyAndDigest(const std::string &path, OutputFile *copy, const OnBytes &onBytes,
                                 const std::atomic<bool> *cancel);

} // namespace sinter::store
