// Strict UTF-8 and the byte alphabet.
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

std::string repaired(std::string_view text) {
  std::string out;
  appendRepairedUtf8(text, out);
  return out;
}

TEST(Unicode, EveryScalarValueDecodesFromItsEncoding) {
  for (uint32_t codePoint = 0; codePoint <= 0x10FFFF; ++codePoint) {
    if (codePoint == 0xD800)
      codePoint = 0xE000;
    std::string text;
    appendUtf8(codePoint, text);
    Utf8Step step = decodeUtf8(text, 0);
    ASSERT_EQ(step.kind, Utf8Step::Kind::Character);
    ASSERT_EQ(step.codePoint, codePoint);
    ASSERT_EQ(step.length, text.size());
  }
}

TEST(Unicode, OverlongFormsSurrogatesAndTooLargeValuesAreInvalid) {
  for (std::string_view bad :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF"})
    EXPECT_EQ(decodeUtf8(bad, 0).kind, Utf8Step::Kind::Invalid) << bad;
}

TEST(Unicode, EveryProperStartOfACharacterIsIncomplete) {
  for (std::string_view whole :
       {"é", "中", "\xE0\xA0\x80", "\xED\x9F\xBF", "😀", "\xF4\x8F\xBF\xBF"})
    for (size_t length = 1; length < whole.size(); ++length) {
      Utf8Step step = decodeUtf8(whole.substr(0, length), 0);
      EXPECT_EQ(step.kind, Utf8Step::Kind::Incomplete) << whole;
      EXPECT_EQ(step.length, length);
    }
}

TEST(Unicode, RepairReplacesEachByteThatBelongsToNoCharacter) {
  EXPECT_EQ(repaired("a\xFF"
                     "b"),
            "a\uFFFDb");
  EXPECT_EQ(repaired("\xE4\xBD"), "\uFFFD\uFFFD");
  EXPECT_EQ(repaired("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(repaired("\xE4\xBD中"), "\uFFFD\uFFFD中");
}

TEST(Unicode, RepairLeavesValidTextAlone) {
  EXPECT_EQ(repaired("aé中😀"), "aé中😀");
  EXPECT_EQ(repaired(""), "");
}

TEST(ByteAlphabet, EveryByteHasItsOwnSpellingAndComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  EXPECT_EQ(bytesFromAlphabet(alphabetFromBytes(all)), all);
}

TEST(ByteAlphabet, SpellsSpaceAndNewlineAsGpt2Does) {
  EXPECT_EQ(alphabetFromBytes(" \n!"), "ĠĊ!");
}

TEST(ByteAlphabet, RefusesCharactersOutsideIt) {
  for (std::string_view text : {" ", "\n", "中", "\xFF", "\u0144", "\u00AD"})
    EXPECT_EQ(bytesFromAlphabet(text), std::nullopt) << text;
}

} // namespace
} // namespace sinter
