// Model files with random weights, for measuring speed where the real file cannot be carried:
//
//   random_weights shape MODEL.gguf TYPE OUT.gguf   the model's metadata and tensors with every
//                                                   matrix of TYPE (F16, Q8_0, ...), all zeros (the
//                                                   file is sparse); prints the bytes before the
//                                                   first tensor, which are all that must be
//                                                   carried
//   random_weights fill OUT.gguf                    random weights, the same everywhere
#include "format/gguf_header.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace {

using namespace sinter;

Result<GgufHeader> headerOf(const GgufFile &model, const BlockFormat &matrices) {
  GgufContents contents;
  contents.values = model.values();
  contents.alignment = model.alignment();
  for (const GgufTensor &tensor : model.tensors())
    contents.tensors.push_back(
        {tensor.name, tensor.dims, tensor.rank, tensor.rank > 1 ? &matrices : tensor.format});
  return makeGgufHeader(contents);
}

Result<void> writeAt(int fd, std::span<const uint8_t> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written <= 0)
      return fail(Code::Internal, std::string("cannot write: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

Result<void> makeShape(const std::string &model, const std::string &type, const std::string &out) {
  SINTER_ASSIGN(const GgufFile file, GgufFile::open(model));
  const BlockFormat *format = findBlockFormat(type);
  if (!format)
    return fail(Code::InvalidArgument, "'" + type + "' is no tensor type, expected F16, Q8_0, ...");
  SINTER_ASSIGN(const GgufHeader header, headerOf(file, *format));
  const int fd = open(out.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(header.fileBytes)) != 0)
    return fail(Code::Internal, "cannot make '" + out + "': " + std::strerror(errno));
  Result<void> written = writeAt(fd, header.bytes, 0);
  close(fd);
  std::printf("%zu of %llu bytes\n", header.bytes.size(),
              static_cast<unsigned long long>(header.fileBytes));
  return written;
}

// Within (-1, 1).
float uniform(uint64_t &state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
}

Result<void> fillTensor(int fd, const GgufTensor &tensor, uint64_t &state) {
  const bool norm = tensor.rank == 1;
  std::vector<float> row(tensor.dims[0]);
  std::vector<uint8_t> bytes(tensor.rowBytes());
  for (uint64_t r = 0; r < tensor.rows(); ++r) {
    for (float &value : row)
      value = norm ? 1 + uniform(state) / 4 : uniform(state) / 16;
    SINTER_TRY(quantizeRow(*tensor.format, row, bytes));
    SINTER_TRY(writeAt(fd, bytes, tensor.byteOffset + r * bytes.size()));
  }
  return {};
}

Result<void> fill(const std::string &path) {
  SINTER_ASSIGN(const GgufFile file, GgufFile::open(path));
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return fail(Code::Permission, "cannot write '" + path + "': " + std::strerror(errno));
  uint64_t state = 1;
  Result<void> done;
  for (const GgufTensor &tensor : file.tensors())
    if (done)
      done = fillTensor(fd, tensor, state);
  close(fd);
  return done;
}

} // namespace

int main(int argc, char **argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  Result<void> done = fail(Code::InvalidArgument, "expected: shape MODEL TYPE OUT, or fill FILE");
  if (verb == "shape" && argc == 5)
    done = makeShape(argv[2], argv[3], argv[4]);
  else if (verb == "fill" && argc == 3)
    done = fill(argv[2]);
  if (done)
    return 0;
  std::fprintf(stderr, "random_weights: %s\n", done.error().toString().c_str());
  return 1;
}
