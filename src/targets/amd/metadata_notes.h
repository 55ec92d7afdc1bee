// The notes of an ELF file in which AMD's code objects carry their metadata.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sinter::targets::amd {

/// The contents of all metadata notes, which lie in `bytes`. Corrupt: not an ELF file of AMD's
/// processors, or one whose notes are not whole.
Result<std::vector<std::string_view>> metadataNotes(std::span<const uint8_t> bytes);

/// Names of the symbols that the file defines and that others see. Corrupt: a table is broken, or a
/// symbol is defined nowhere.
Result<std::vector<std::string_view>> definedSymbols(std::span<const uint8_t> bytes);

/// A linked code object in which the notes of several parts follow each other, with one note for
/// all of them: drivers read the first. Corrupt: the parts are for different targets.
Result<std::vector<uint8_t>> joinMetadata(std::vector<uint8_t> linked);

} // namespace sinter::targets::amd
