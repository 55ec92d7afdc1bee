// SHA-256 against the examples of FIPS 180-2.
#include "base/sha256_stream.h"

#include <gtest/gtest.h>
#include <string_view>

namespace sinter {
namespace {

std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

TEST(Sha256, MatchesTheStandardsOneBlockExample) {
  auto digest = sha256({bytesOf("abc")});
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(digest->hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, MatchesTheDigestOfNothing) {
  auto digest = sha256({});
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(digest->hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, PartsCountAsOneMessage) {
  auto whole = sha256({bytesOf("abc")});
  auto parts = sha256({bytesOf("a"), bytesOf(""), bytesOf("bc")});
  ASSERT_TRUE(whole && parts);
  EXPECT_EQ(*whole, *parts);
}

TEST(Sha256, AStreamGivesTheDigestOfItsPieces) {
  auto stream = Sha256Stream::create();
  ASSERT_TRUE(stream && stream->add(bytesOf("a")) && stream->add(bytesOf("bc")));
  EXPECT_EQ(stream->finish().value(), sha256({bytesOf("abc")}).value());
}

TEST(Sha256, HexadecimalDigitsGiveTheDigestBack) {
  const auto digest = sha256({bytesOf("abc")});
  ASSERT_TRUE(digest.has_value());
  std::string upper = digest->hex();
  for (char &c : upper)
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(digestFromHex(digest->hex()), *digest);
  EXPECT_EQ(digestFromHex(upper), *digest);
  for (const std::string &bad :
       {std::string(), digest->hex().substr(1), digest->hex() + "0", "g" + digest->hex().substr(1)})
    EXPECT_EQ(digestFromHex(bad), std::nullopt) << bad;
}

} // namespace
} // namespace sinter
