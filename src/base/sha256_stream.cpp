// libcrypto's EVP digest interface, fed in pieces.
#include "base/sha256_stream.h"

#include <openssl/evp.h>

namespace sinter {
namespace {

Fail refused() {
  return fail(Code::Internal, "libcrypto refused to compute a SHA-256 digest");
}

EVP_MD_CTX *evpOf(void *context) {
  return static_cast<EVP_MD_CTX *>(context);
}

} // namespace

std::optional<Sha256Digest> digestFromHex(std::string_view text) {
  Sha256Digest digest;
  if (text.size() != 2 * digest.bytes.size())
    return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isDigit = text[i] >= '0' && text[i] <= '9';
    const char lower = static_cast<char>(text[i] | 0x20);
    if (!isDigit && (lower < 'a' || lower > 'f'))
      return std::nullopt;
    const int value = isDigit ? text[i] - '0' : lower - 'a' + 10;
    digest.bytes[i / 2] = static_cast<uint8_t>(digest.bytes[i / 2] << 4 | value);
  }
  return digest;
}

void Sha256Stream::Free::operator()(void *context) const {
  EVP_MD_CTX_free(evpOf(context));
}

Result<Sha256Stream> Sha256Stream::create() {
  Sha256Stream stream;
  stream.context_.reset(EVP_MD_CTX_new());
  if (!stream.context_ ||
      EVP_DigestInit_ex(evpOf(stream.context_.get()), EVP_sha256(), nullptr) != 1)
    return refused();
  return stream;
}

Result<void> Sha256Stream::add(std::span<const uint8_t> bytes) {
  if (EVP_DigestUpdate(evpOf(context_.get()), bytes.data(), bytes.size()) != 1)
    return refused();
  return {};
}

Result<Sha256Digest> Sha256Stream::finish() {
  Sha256Digest digest;
  if (EVP_DigestFinal_ex(evpOf(context_.get()), digest.bytes.data(), nullptr) != 1)
    return refused();
  return digest;
}

} // namespace sinter
