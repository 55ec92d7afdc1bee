// Notes found by LLVM's ELF reader, and several joined into one in place.
#include "tile/mlir_pch.h"

#include "targets/amd/metadata_notes.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

namespace sinter::targets::amd {

using Elf = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<Elf>;

static constexpr llvm::StringLiteral kNoteOwner = "AMDGPU";

static Fail corrupt(const std::string &message) {
  return fail(Code::Corrupt, "code object: " + message);
}

static Fail corrupt(llvm::Error error) {
  return corrupt(llvm::toString(std::move(error)));
}

static Result<ElfFile> openElf(std::span<const uint8_t> bytes) {
  auto file =
      ElfFile::create(llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  if (!file)
    return corrupt(file.takeError());
  const Elf::Ehdr &header = file->getHeader();
  if (!header.checkMagic() || header.getFileClass() != llvm::ELF::ELFCLASS64 ||
      header.getDataEncoding() != llvm::ELF::ELFDATA2LSB ||
      header.e_machine != llvm::ELF::EM_AMDGPU)
    return corrupt("found an ELF file of machine " + std::to_string(header.e_machine) +
                   ", expected AMDGPU, 64 bits, little endian");
  return *file;
}

static Result<void> notesOf(const ElfFile &file, const Elf::Shdr &section,
                            std::vector<std::string_view> &found) {
  llvm::Error error = llvm::Error::success();
  for (const Elf::Note &note : file.notes(section, error)) {
    llvm::StringRef text = note.getDescAsStringRef(section.sh_addralign);
    if (note.getName() == kNoteOwner && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
      found.emplace_back(text.data(), text.size());
  }
  if (error)
    return corrupt(std::move(error));
  return {};
}

Result<std::vector<std::string_view>> metadataNotes(std::span<const uint8_t> bytes) {
  SINTER_ASSIGN(ElfFile file, openElf(bytes));
  auto sections = file.sections();
  if (!sections)
    return corrupt(sections.takeError());
  std::vector<std::string_view> found;
  for (const Elf::Shdr &section : *sections)
    if (section.sh_type == llvm::ELF::SHT_NOTE)
      SINTER_TRY(notesOf(file, section, found));
  return found;
}

Result<std::vector<std::string_view>> definedSymbols(std::span<const uint8_t> bytes) {
  SINTER_ASSIGN(ElfFile file, openElf(bytes));
  auto sections = file.sections();
  if (!sections)
    return corrupt(sections.takeError());
  std::vector<std::string_view> found;
  for (const Elf::Shdr &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = file.symbols(&section);
    auto names = file.getStringTableForSymtab(section);
    if (!symbols || !names)
      return corrupt(llvm::joinErrors(symbols.takeError(), names.takeError()));
    for (const Elf::Sym &symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name)
        return corrupt(name.takeError());
      if (symbol.getBinding() == llvm::ELF::STB_LOCAL)
        continue;
      if (symbol.st_shndx == llvm::ELF::SHN_UNDEF)
        return corrupt("symbol '" + name->str() + "' is defined nowhere");
      found.emplace_back(name->data(), name->size());
    }
  }
  return found;
}

// ---- joining ----

// The kernels of all notes in one list; everything else must be the same.
static Result<std::string> joined(const std::vector<std::string_view> &notes) {
  llvm::msgpack::Document document;
  auto merge = [](llvm::msgpack::DocNode *into, llvm::msgpack::DocNode from,
                  llvm::msgpack::DocNode key) -> int {
    if (into->getKind() != from.getKind())
      return -1;
    if (into->isMap())
      return 0;
    if (!into->isArray())
      return *into == from ? 0 : -1;
    bool kernels = key.isString() && key.getString() == "amdhsa.kernels";
    return kernels ? static_cast<int>(into->getArray().size()) : 0;
  };
  for (std::string_view note : notes)
    if (!document.readFromBlob(llvm::StringRef(note.data(), note.size()), /*Multi=*/false, merge))
      return corrupt("its parts' metadata differ in more than their kernels");
  std::string text;
  document.writeToBlob(text);
  return text;
}

static std::string noteOf(const std::string &contents) {
  std::string note;
  llvm::raw_string_ostream out(note);
  auto word = [&](size_t value) {
    char bytes[4];
    llvm::support::endian::write32le(bytes, static_cast<uint32_t>(value));
    out.write(bytes, sizeof bytes);
  };
  word(kNoteOwner.size() + 1);
  word(contents.size());
  word(llvm::ELF::NT_AMDGPU_METADATA);
  out << kNoteOwner;
  out.write_zeros(llvm::alignTo<4>(kNoteOwner.size() + 1) - kNoteOwner.size());
  out << contents;
  out.write_zeros(llvm::alignTo<4>(contents.size()) - contents.size());
  return note;
}

// What the file says of the notes' size: their section and their segment.
static void setNoteSize(const ElfFile &file, const Elf::Shdr &notes, uint64_t size,
                        std::vector<uint8_t> &bytes) {
  auto set = [&](const auto &field) {
    const auto *at = reinterpret_cast<const uint8_t *>(&field);
    llvm::support::endian::write64le(bytes.data() + (at - file.base()), size);
  };
  auto segments = file.program_headers();
  if (!segments)
    llvm::consumeError(segments.takeError());
  else
    for (const Elf::Phdr &segment : *segments)
      if (segment.p_type == llvm::ELF::PT_NOTE && segment.p_offset == notes.sh_offset) {
        set(segment.p_filesz);
        set(segment.p_memsz);
      }
  set(notes.sh_size);
}

Result<std::vector<uint8_t>> joinMetadata(std::vector<uint8_t> linked) {
  SINTER_ASSIGN(std::vector<std::string_view> notes, metadataNotes(linked));
  if (notes.size() < 2)
    return linked;
  SINTER_ASSIGN(std::string contents, joined(notes));
  std::string note = noteOf(contents);
  SINTER_ASSIGN(ElfFile file, openElf(linked));
  for (const Elf::Shdr &section : llvm::cantFail(file.sections())) {
    if (section.sh_type != llvm::ELF::SHT_NOTE)
      continue;
    if (note.size() > section.sh_size)
      return corrupt("its joined metadata take " + std::to_string(note.size()) +
                     " bytes, expected at most the " + std::to_string(section.sh_size) +
                     " of its parts");
    uint8_t *at = linked.data() + section.sh_offset;
    std::fill(std::copy(note.begin(), note.end(), at), at + section.sh_size, uint8_t(0));
    setNoteSize(file, section, note.size(), linked);
    return linked;
  }
  return corrupt("it has no section of notes");
}

} // namespace sinter::targets::amd
