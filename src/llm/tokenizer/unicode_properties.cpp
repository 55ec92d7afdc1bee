// Unicode's properties and normalization forms.
#include "llm/tokenizer/unicode_properties.h"

#include "base/check.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <tuple>
#include <utf8proc.h>
#include <vector>

namespace sinter {
namespace {

utf8proc_category_t categoryOf(uint32_t codePoint) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(codePoint));
}

bool isIn(uint32_t codePoint, utf8proc_category_t low, utf8proc_category_t high) {
  const utf8proc_category_t category = categoryOf(codePoint);
  return category >= low && category <= high;
}

int combiningClass(utf8proc_int32_t codePoint) {
  return utf8proc_get_property(codePoint)->combining_class;
}

// The decomposition of one character, appended.
void decompose(utf8proc_int32_t codePoint, utf8proc_option_t options,
               std::vector<utf8proc_int32_t> &out) {
  constexpr size_t kMost = 32; // characters of one decomposition; Unicode's longest has 18
  utf8proc_int32_t buffer[kMost];
  int boundary = 0;
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(codePoint, buffer, kMost, options, &boundary);
  SINTER_CHECK(count >= 0 && count <= static_cast<utf8proc_ssize_t>(kMost));
  out.insert(out.end(), buffer, buffer + count);
}

// Sorts each run of combining marks by class. The library's own sort takes quadratic time.
void orderMarks(std::vector<utf8proc_int32_t> &codePoints) {
  std::vector<std::tuple<int, ptrdiff_t, utf8proc_int32_t>> marks; // class, place, mark
  for (auto at = codePoints.begin(); at != codePoints.end();) {
    if (combiningClass(*at) == 0) {
      ++at;
      continue;
    }
    const auto end =
        std::find_if(at, codePoints.end(), [](auto mark) { return combiningClass(mark) == 0; });
    marks.clear();
    for (auto mark = at; mark != end; ++mark)
      marks.push_back({combiningClass(*mark), mark - at, *mark});
    std::ranges::sort(marks);
    for (const auto &[unused, place, mark] : marks)
      *at++ = mark;
  }
}

} // namespace

bool isWhiteSpace(uint32_t codePoint) {
  return (codePoint >= 0x09 && codePoint <= 0x0D) || codePoint == 0x85 ||
         isIn(codePoint, UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool isControlOrOther(uint32_t codePoint) {
  return isIn(codePoint, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool isPunctuation(uint32_t codePoint) {
  return isIn(codePoint, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool isNonspacingMark(uint32_t codePoint) {
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_MN;
}

bool isMark(uint32_t codePoint) {
  return isIn(codePoint, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool isNumber(uint32_t codePoint) {
  return isIn(codePoint, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool isDecimalDigit(uint32_t codePoint) {
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_ND;
}

bool isWordCharacter(uint32_t codePoint) {
  // Letters, marks, digits and letters that are numbers are neighbours in the library's list.
  return isIn(codePoint, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
         categoryOf(codePoint) == UTF8PROC_CATEGORY_PC;
}

bool isCjkIdeograph(uint32_t codePoint) {
  struct Block {
    uint32_t first, last;
  };
  constexpr Block kBlocks[] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                               {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                               {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::ranges::any_of(kBlocks, [codePoint](const Block &block) {
    return codePoint >= block.first && codePoint <= block.last;
  });
}

void appendLowercase(uint32_t codePoint, std::string &out) {
  if (codePoint == 0x130) {
    out += "i\u0307";
    return;
  }
  const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(codePoint));
  appendUtf8(static_cast<uint32_t>(lower), out);
}

std::string normalized(std::string_view text, NormalForm form) {
  const bool compatible = form == NormalForm::Nfkc || form == NormalForm::Nfkd;
  const bool composes = form == NormalForm::Nfc || form == NormalForm::Nfkc;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> codePoints;
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    SINTER_CHECK(step.kind == Utf8Step::Kind::Character);
    decompose(static_cast<utf8proc_int32_t>(step.codePoint), options, codePoints);
    at += step.length;
  }
  orderMarks(codePoints);
  auto length = static_cast<utf8proc_ssize_t>(codePoints.size());
  if (composes && length > 0)
    length = utf8proc_normalize_utf32(
        codePoints.data(), length,
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  SINTER_CHECK(length >= 0);
  std::string out;
  for (utf8proc_ssize_t i = 0; i < length; ++i)
    appendUtf8(static_cast<uint32_t>(codePoints[static_cast<size_t>(i)]), out);
  return out;
}

} // namespace sinter
