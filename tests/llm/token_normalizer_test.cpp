// Normalizers, compiled normalization rules and splits that no table of names reaches.
#include "llm/tokenizer/charsmap.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/pretokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string littleEndian(const std::vector<uint32_t> &words) {
  std::string bytes;
  for (const uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(word >> shift & 0xFF);
  return bytes;
}

// Rules that make "yy" of "x" and "z" of "xx".
std::string smallCharsmap() {
  std::vector<uint32_t> units(1024, 0xFF);
  units[0] = 256u << 10;
  constexpr uint32_t kFirst = 256 ^ 'x', kSecond = kFirst ^ 512 ^ 'x';
  units[kFirst] = 'x' | 0x100 | 512u << 10;
  units[kFirst ^ 512] = 0x80000000 | 0;
  units[kSecond] = 'x' | 0x100 | 1u << 10;
  units[kSecond ^ 1] = 0x80000000 | 3;
  return littleEndian({4096}) + littleEndian(units) + std::string("yy\0z\0", 5);
}

std::string applied(const std::vector<NormalizerStep> &steps, std::string text) {
  auto made = Normalizer::create(steps);
  EXPECT_TRUE(made.has_value()) << made.error().toString();
  auto out = made->apply(std::move(text));
  EXPECT_TRUE(out.has_value()) << out.error().toString();
  return out ? *out : "";
}

TEST(Charsmap, ReplacesTheLongestMatch) {
  auto charsmap = Charsmap::create(smallCharsmap());
  ASSERT_TRUE(charsmap.has_value()) << charsmap.error().toString();
  EXPECT_EQ(charsmap->apply("axbxxc", 100), "ayybzc");
}

TEST(Charsmap, CutAnywhereIsCorrupt) {
  const std::string whole = smallCharsmap();
  for (size_t size = 1; size < whole.size(); ++size) {
    auto charsmap = Charsmap::create(whole.substr(0, size));
    if (size == whole.size() - 2)
      continue; // ends with a whole replacement; the other one's offset then lies outside
    ASSERT_FALSE(charsmap.has_value()) << size;
    EXPECT_EQ(charsmap.error().code, Code::Corrupt);
    EXPECT_THAT(charsmap.error().message, HasSubstr("precompiled_charsmap"));
  }
}

TEST(Charsmap, WithACycleTakesTimeInProportion) {
  std::vector<uint32_t> units(512, 0xFF);
  units[0] = 256u << 10;
  // The child of 'x' is its own child.
  units[256 ^ 'x'] = 'x' | static_cast<uint32_t>('x') << 10;
  auto charsmap =
      Charsmap::create(littleEndian({2048}) + littleEndian(units) + std::string(1, '\0'));
  ASSERT_TRUE(charsmap.has_value()) << charsmap.error().toString();
  const std::string text(1 << 18, 'x');
  EXPECT_EQ(charsmap->apply(text, text.size()), text);
}

TEST(Charsmap, ThatGrowsATextBeyondTheLimitIsExhausted) {
  auto charsmap = Charsmap::create(smallCharsmap());
  EXPECT_EQ(charsmap->apply("xaxaxa", 7).error().code, Code::Exhausted);
}

TEST(Normalizer, NormalFormsAreUnicodes) {
  EXPECT_EQ(applied({{.kind = NormalizerKind::Nfc}}, "e\u0301"), "é");
  EXPECT_EQ(applied({{.kind = NormalizerKind::Nfd}}, "é한"), "e\u0301\u1112\u1161\u11ab");
  EXPECT_EQ(applied({{.kind = NormalizerKind::Nfkc}}, "ﬁ①"), "fi1");
  EXPECT_EQ(applied({{.kind = NormalizerKind::Nfkd}}, "ﬁé"), "fie\u0301");
}

TEST(Normalizer, OrdersALongRunOfMarksQuickly) {
  std::string marks = "a";
  for (int i = 0; i < 100'000; ++i)
    marks += i % 2 ? "\u0301" : "\u0323"; // above, below
  const std::string out = applied({{.kind = NormalizerKind::Nfd}}, marks);
  EXPECT_EQ(out.substr(0, 5), "a\u0323\u0323");
  EXPECT_EQ(out.size(), marks.size());
}

TEST(Normalizer, StepsFollowOneAnother) {
  EXPECT_EQ(applied({{.kind = NormalizerKind::Strip, .left = true, .right = true},
                     {.kind = NormalizerKind::Replace, .pattern = " ", .content = "▁"},
                     {.kind = NormalizerKind::ReplaceRegex, .pattern = "[0-9]+", .content = "#"},
                     {.kind = NormalizerKind::Lowercase},
                     {.kind = NormalizerKind::Prepend, .content = "▁"}},
                    " \u3000İA 12 "),
            "▁i\u0307a▁#");
}

TEST(Normalizer, ADamagedExpressionIsCorrupt) {
  const NormalizerStep step{.kind = NormalizerKind::ReplaceRegex, .pattern = "(", .content = ""};
  auto made = Normalizer::create(std::span(&step, 1));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, Code::Corrupt);
  EXPECT_THAT(made.error().message, HasSubstr("'('"));
}

std::vector<std::string> piecesOf(const SplitStep &step, std::string text, bool isFirst = true) {
  auto made = Pretokenizer::create(std::span(&step, 1));
  EXPECT_TRUE(made.has_value()) << made.error().toString();
  auto words = made->split(std::move(text), isFirst);
  EXPECT_TRUE(words.has_value()) << words.error().toString();
  std::vector<std::string> pieces;
  for (size_t i = 0; words && i < words->spans.size(); ++i)
    pieces.emplace_back(words->at(i));
  return pieces;
}

TEST(Splits, EachBehaviorTreatsMatchesAsNamed) {
  auto with = [](SplitBehavior behavior, bool invert = false) {
    return piecesOf({.expression = "-", .behavior = behavior, .invert = invert}, "a--b-c");
  };
  EXPECT_THAT(with(SplitBehavior::Isolated), ElementsAre("a", "-", "-", "b", "-", "c"));
  EXPECT_THAT(with(SplitBehavior::Removed), ElementsAre("a", "b", "c"));
  EXPECT_THAT(with(SplitBehavior::MergedWithPrevious), ElementsAre("a-", "-", "b-", "c"));
  EXPECT_THAT(with(SplitBehavior::MergedWithNext), ElementsAre("a", "-", "-b", "-c"));
  EXPECT_THAT(with(SplitBehavior::Contiguous), ElementsAre("a", "--", "b", "-", "c"));
  EXPECT_THAT(with(SplitBehavior::Removed, true), ElementsAre("-", "-", "-"));
}

TEST(Splits, NumbersGoInThreesFromTheRight) {
  const SplitStep all{.kind = SplitKind::DigitsByThrees};
  EXPECT_THAT(piecesOf(all, "a1234567b"), ElementsAre("a", "1", "234", "567", "b"));
  const SplitStep border{.kind = SplitKind::DigitsByThreesAtWordBorder};
  EXPECT_THAT(piecesOf(border, "1234 1234b"), ElementsAre("1", "234", " 1234b"));
}

TEST(Splits, MetaspacesBeginWords) {
  SplitStep step{.kind = SplitKind::Metaspace, .prepend = PrependScheme::First};
  EXPECT_THAT(piecesOf(step, "a  b"), ElementsAre("▁a", "▁", "▁b"));
  EXPECT_THAT(piecesOf(step, "a b", false), ElementsAre("a", "▁b"));
  step.prepend = PrependScheme::Always;
  EXPECT_THAT(piecesOf(step, "a", false), ElementsAre("▁a"));
}

} // namespace
} // namespace sinter
