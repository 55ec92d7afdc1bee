// Maps regular files read-only with mmap and remembers what they looked like.
#include "base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {
namespace {

Code codeOfErrno(int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return Code::NotFound;
  case EACCES:
  case EPERM:
    return Code::Permission;
  case EMFILE:
  case ENFILE:
  case ENOMEM:
    return Code::Exhausted;
  case ENAMETOOLONG:
  case ELOOP:
  case EISDIR:
  case ENXIO:
    return Code::InvalidArgument;
  default:
    return Code::Internal;
  }
}

Fail systemFailure(const char *action, const std::string &path, int error) {
  return fail(codeOfErrno(error),
              std::string("cannot ") + action + " '" + path + "': " + std::strerror(error));
}

} // namespace

Result<MappedFile> MappedFile::open(const std::string &path) {
  if (path.find('\0') != std::string::npos)
    return fail(Code::InvalidArgument, "file name contains a zero byte, expected none");
  MappedFile file;
  file.path_ = path;
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0)
    return systemFailure("open", path, errno);
  SINTER_ASSIGN(file.identity_, identify(file.fd_, path));
  if (file.identity_.size == 0)
    return fail(Code::Truncated, "file '" + path + "' is empty");
  if (file.identity_.size > std::numeric_limits<size_t>::max())
    return fail(Code::Exhausted, "file '" + path + "' is larger than the address space");
  size_t size = static_cast<size_t>(file.identity_.size);
  void *data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd_, 0);
  if (data == MAP_FAILED)
    return systemFailure("map", path, errno);
  file.data_ = static_cast<const uint8_t *>(data);
  file.size_ = size;
  return file;
}

Result<MappedFile::Identity> MappedFile::identify(int fd, const std::string &path) {
  struct stat info;
  if (::fstat(fd, &info) != 0)
    return systemFailure("examine", path, errno);
  if (S_ISDIR(info.st_mode))
    return fail(Code::InvalidArgument, "'" + path + "' is a directory, expected a file");
  if (!S_ISREG(info.st_mode))
    return fail(Code::InvalidArgument,
                "'" + path + "' is a pipe, socket or device, expected a regular file");
  return Identity{static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
                  static_cast<uint64_t>(info.st_size), info.st_mtim};
}

bool MappedFile::stillIntact() const {
  auto now = identify(fd_, path_);
  return now && now->device == identity_.device && now->inode == identity_.inode &&
         now->size == identity_.size && now->modified.tv_sec == identity_.modified.tv_sec &&
         now->modified.tv_nsec == identity_.modified.tv_nsec;
}

std::string MappedFile::settledIdentity() const {
  struct stat info;
  timespec now;
  if (!stillIntact() || ::fstat(fd_, &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0 ||
      info.st_ctim.tv_sec + 1 >= now.tv_sec)
    return {};
  std::string text;
  for (const uint64_t part :
       {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
        static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_mtim.tv_sec),
        static_cast<uint64_t>(info.st_mtim.tv_nsec), static_cast<uint64_t>(info.st_ctim.tv_sec),
        static_cast<uint64_t>(info.st_ctim.tv_nsec)})
    text += std::to_string(part) + ".";
  return text;
}

void MappedFile::preferHugePages() const {
  (void)::madvise(const_cast<uint8_t *>(data_), size_, MADV_HUGEPAGE);
}

MappedFile::MappedFile(MappedFile &&other) noexcept {
  *this = std::move(other);
}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  if (this == &other)
    return *this;
  release();
  path_ = std::move(other.path_);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  fd_ = std::exchange(other.fd_, -1);
  identity_ = other.identity_;
  return *this;
}

MappedFile::~MappedFile() {
  release();
}

void MappedFile::release() {
  if (data_)
    ::munmap(const_cast<uint8_t *>(data_), size_);
  if (fd_ >= 0)
    ::close(fd_);
  data_ = nullptr;
  size_ = 0;
  fd_ = -1;
}

} // namespace sinter
