// Loading of shared objects through an anonymous file.
#include "hal/cpu/cpu_module.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::hal {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

// The system's loader trusts what it loads; a file that is no object of this machine is told apart
// here.
Result<void> checkElf(std::span<const uint8_t> code) {
  Elf64_Ehdr header;
  if (code.size() < sizeof header)
    return fail(Code::Corrupt, "code has " + std::to_string(code.size()) +
                                   " bytes, expected an ELF shared object");
  std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return fail(Code::Corrupt, "code does not begin as an ELF file does", 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return fail(Code::Corrupt, "code is an ELF file of class " +
                                   std::to_string(header.e_ident[EI_CLASS]) + " and type " +
                                   std::to_string(header.e_type) +
                                   ", expected a 64-bit shared object");
  if (header.e_machine != kMachine)
    return fail(Code::Unsupported, "code is for ELF machine " + std::to_string(header.e_machine) +
                                       ", expected " + std::to_string(kMachine));
  const uint64_t tableBytes = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > code.size() ||
      tableBytes > code.size() - header.e_phoff)
    return fail(Code::Corrupt, "code's program headers lie outside of its bytes");
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, code.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset > code.size() || segment.p_filesz > code.size() - segment.p_offset)
      return fail(Code::Corrupt,
                  "code's segment " + std::to_string(i) + " lies outside of its bytes");
  }
  return {};
}

Fail systemFailed(const char *what) {
  return fail(Code::Exhausted,
              std::string("cannot hold code in memory: ") + what + ": " + std::strerror(errno));
}

int createFile() {
  // Systems that forbid executable anonymous files by default want to be asked for one; older ones
  // do not know how.
  constexpr unsigned kExecutable = 0x10; // MFD_EXEC
  const int fd = memfd_create("sinter-kernels", MFD_CLOEXEC | kExecutable);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("sinter-kernels", MFD_CLOEXEC);
}

} // namespace

Result<std::shared_ptr<SharedObject>> SharedObject::load(std::span<const uint8_t> code) {
  SINTER_TRY(checkElf(code));
  std::shared_ptr<SharedObject> object(new SharedObject());
  object->fd_ = createFile();
  if (object->fd_ < 0)
    return systemFailed("memfd_create");
  for (std::size_t written = 0; written < code.size();) {
    const ssize_t step = write(object->fd_, code.data() + written, code.size() - written);
    if (step < 0 && errno != EINTR)
      return systemFailed("write");
    written += step > 0 ? static_cast<std::size_t>(step) : 0;
  }
  const std::string path = "/proc/self/fd/" + std::to_string(object->fd_);
  object->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object->handle_) {
    const char *why = dlerror();
    return fail(Code::Corrupt, std::string("cannot load code: ") + (why ? why : "no reason given"));
  }
  return object;
}

SharedObject::~SharedObject() {
  if (handle_)
    dlclose(handle_);
  if (fd_ >= 0)
    close(fd_);
}

void *SharedObject::find(const std::string &symbol) const {
  return dlsym(handle_, symbol.c_str());
}

Result<std::unique_ptr<Kernel>> CpuModule::kernel(const KernelSpec &spec) {
  if (spec.bufferCount > kMaxBindings)
    return fail(Code::InvalidArgument,
                "kernel '" + spec.symbol + "' takes " + std::to_string(spec.bufferCount) +
                    " buffers, expected at most " + std::to_string(kMaxBindings));
  void *function = code_->find(spec.symbol);
  if (!function)
    return fail(Code::NotFound, "code has no kernel '" + spec.symbol + "'");
  SINTER_TRY(scratch_.reserve(spec.scratchBytes));
  return std::make_unique<CpuKernel>(spec, code_, reinterpret_cast<CpuKernelFunction>(function));
}

} // namespace sinter::hal
