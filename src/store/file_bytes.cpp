// Reads by descriptor, so that a file that is cut short meanwhile is an error and no fault.
#include "store/file_bytes.h"

#include "base/sha256_stream.h"
#include "base/system_error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::store {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

class OpenFile {
public:
  static Result<OpenFile> open(const std::string &path) {
    OpenFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info;
    if (file.fd_ < 0 || fstat(file.fd_, &info) != 0)
      return systemFailed("cannot open '" + path + "'", errno);
    if (!S_ISREG(info.st_mode))
      return fail(Code::InvalidArgument, "'" + path + "' is no regular file");
    return file;
  }
  OpenFile(OpenFile &&other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  OpenFile &operator=(OpenFile &&) = delete;
  ~OpenFile() {
    if (fd_ >= 0)
      close(fd_);
  }

  // Nothing at the end.
  Result<size_t> read(std::span<uint8_t> into) const {
    while (true) {
      const ssize_t count = ::read(fd_, into.data(), into.size());
      if (count >= 0)
        return static_cast<size_t>(count);
      if (errno != EINTR)
        return systemFailed("cannot read '" + path_ + "'", errno);
    }
  }

private:
  OpenFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_;
};

} // namespace

Result<std::string> readWholeFile(const std::string &path, uint64_t mostBytes) {
  SINTER_ASSIGN(const OpenFile file, OpenFile::open(path));
  std::string text;
  std::vector<uint8_t> chunk(kChunkBytes);
  while (true) {
    SINTER_ASSIGN(const size_t count, file.read(chunk));
    if (count == 0)
      return text;
    text.append(reinterpret_cast<const char *>(chunk.data()), count);
    if (text.size() > mostBytes)
      return fail(Code::Corrupt,
                  "'" + path + "' has more than " + std::to_string(mostBytes) + " bytes");
  }
}

Result<void> writeWholeFile(const std::string &path, std::string_view bytes) {
  SINTER_ASSIGN(OutputFile file, OutputFile::create(path, 0600));
  SINTER_TRY(file.writeAt({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, 0));
  return file.commit();
}

Result<FileDigest> copyAndDigest(const std::string &path, OutputFile *copy, const OnBytes &onBytes,
                                 const std::atomic<bool> *cancel) {
  SINTER_ASSIGN(const OpenFile file, OpenFile::open(path));
  SINTER_ASSIGN(Sha256Stream stream, Sha256Stream::create());
  std::vector<uint8_t> chunk(kChunkBytes);
  FileDigest of;
  while (true) {
    if (cancel && cancel->load())
      return fail(Code::Cancelled, "interrupted while '" + path + "' was read");
    SINTER_ASSIGN(const size_t count, file.read(chunk));
    if (count == 0)
      break;
    const std::span<const uint8_t> bytes(chunk.data(), count);
    SINTER_TRY(stream.add(bytes));
    if (copy)
      SINTER_TRY(copy->writeAt(bytes, of.bytes));
    of.bytes += count;
    if (onBytes)
      onBytes(of.bytes);
  }
  SINTER_ASSIGN(of.digest, stream.finish());
  return of;
}

Result<FileDigest> digestOfFile(const std::string &path, const OnBytes &onBytes,
                                const std::atomic<bool> *cancel) {
  return copyAndDigest(path, nullptr, onBytes, cancel);
}

} // namespace sinter::store
