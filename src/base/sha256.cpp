// The wrapper around libcrypto's EVP digest interface.
#include "base/sha256.h"

#include <memory>
#include <openssl/evp.h>

namespace sinter {

std::string Sha256Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<Sha256Digest> sha256(std::initializer_list<std::span<const uint8_t>> parts) {
  return sha256(std::span(parts.begin(), parts.size()));
}

Result<Sha256Digest> sha256(std::span<const std::span<const uint8_t>> parts) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free);
  bool ok = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (auto part : parts)
    ok = ok && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  Sha256Digest digest;
  ok = ok && EVP_DigestFinal_ex(context.get(), digest.bytes.data(), nullptr) == 1;
  if (!ok)
    return fail(Code::Internal, "libcrypto refused to compute a SHA-256 digest");
  return digest;
}

} // namespace sinter
