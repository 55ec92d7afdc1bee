// Keys are compared as digests of one length, all of them, without a branch on their bytes.
#include "serve/http/api_keys.h"

#include "base/mapped_file.h"
#include "serve/http/ascii.h"

#include <openssl/crypto.h>

namespace sinter::serve {
namespace {

Result<Sha256Digest> digestOf(std::string_view key) {
  return sha256({std::span(reinterpret_cast<const uint8_t *>(key.data()), key.size())});
}

bool isVisible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string_view presentedKey(const HttpRequest &request) {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view value = request.header("authorization");
  if (value.empty())
    return request.header("x-api-key");
  if (!equalsIgnoringCase(value.substr(0, kScheme.size()), kScheme))
    return {};
  value.remove_prefix(kScheme.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

} // namespace

Result<void> ApiKeys::add(std::string_view name, std::string_view key) {
  if (!isVisible(name))
    return fail(Code::InvalidArgument, "a key's name is empty or has a character beyond ASCII's "
                                       "letters, digits and signs");
  if (!isVisible(key))
    return fail(Code::InvalidArgument, "the key '" + std::string(name) +
                                           "' is empty or has a character beyond ASCII's letters, "
                                           "digits and signs");
  SINTER_ASSIGN(const Sha256Digest digest, digestOf(key));
  for (const Key &other : keys_) {
    if (other.name == name)
      return fail(Code::InvalidArgument, "two keys are named '" + std::string(name) + "'");
    if (other.digest == digest)
      return fail(Code::InvalidArgument,
                  "the keys '" + other.name + "' and '" + std::string(name) + "' are the same");
  }
  keys_.push_back({std::string(name), digest});
  return {};
}

Result<void> ApiKeys::addFile(const std::string &path) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  std::string_view rest(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  size_t added = 0;
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (line.empty() || line.starts_with('#'))
      continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return fail(Code::InvalidArgument, where + "found no colon, expected NAME:KEY");
    if (auto bad = add(line.substr(0, colon), line.substr(colon + 1)); !bad)
      return fail(bad.error().code, where + bad.error().message);
    ++added;
  }
  if (added == 0)
    return fail(Code::InvalidArgument, "'" + path + "' has no key, expected lines NAME:KEY");
  return {};
}

std::optional<std::string> ApiKeys::nameFor(const HttpRequest &request) const {
  const auto digest = digestOf(presentedKey(request));
  const Key *found = nullptr;
  for (const Key &key : keys_)
    if (digest &&
        CRYPTO_memcmp(key.digest.bytes.data(), digest->bytes.data(), key.digest.bytes.size()) == 0)
      found = &key;
  return found ? std::optional(found->name) : std::nullopt;
}

} // namespace sinter::serve
