// Pre-tokenizers on PCRE2: its Unicode properties, its JIT, and a limit on the steps of one match.
#include "llm/tokenizer/pretokenizer.h"

#include "base/check.h"
#include "llm/tokenizer/pretokenizer_table.h"

#include <algorithm>
#include <array>
#include <limits>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sinter {
namespace {

// One match walks at most over its piece and back, so the limit grows with the piece; the constant
// leaves room for the alternatives tried at one place.
constexpr uint64_t kStepsPerByte = 16;
constexpr uint64_t kBaseSteps = 10'000;

// The JIT's backtracking stack; single-character repeats keep two pointers in it, not one a
// character.
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackLimit = 1024 * 1024;

struct Free {
  void operator()(pcre2_code *p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data *p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context *p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_jit_stack *p) const { pcre2_jit_stack_free(p); }
};
template <typename T> using Owned = std::unique_ptr<T, Free>;

const unsigned char *units(std::string_view text) {
  return reinterpret_cast<const unsigned char *>(text.data());
}

// PCRE2's \s holds U+180E, which lost White_Space in Unicode 6.3; the published tokenizers' does
// not.
std::string withUnicodeSpaces(std::string_view expression) {
  std::string out;
  for (size_t i = 0; i < expression.size(); ++i) {
    bool escape = expression[i] == '\\' && i + 1 < expression.size();
    if (escape && expression[i + 1] == 's')
      out += "\\p{White_Space}";
    else if (escape && expression[i + 1] == 'S')
      out += "\\P{White_Space}";
    else
      out.append(expression.substr(i, escape ? 2 : 1));
    i += escape;
  }
  return out;
}

const PretokenizerFamily *familyNamed(std::string_view name) {
  for (const PretokenizerFamily &family : pretokenizerFamilies())
    if (std::ranges::find(family.names, name) != family.names.end())
      return &family;
  return nullptr;
}

std::string pcreMessage(int error) {
  std::array<unsigned char, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char *>(buffer.data());
}

} // namespace

struct Pretokenizer::Regex {
  Owned<pcre2_code> code;
};

Pretokenizer::Pretokenizer() = default;
Pretokenizer::Pretokenizer(Pretokenizer &&) = default;
Pretokenizer &Pretokenizer::operator=(Pretokenizer &&) = default;
Pretokenizer::~Pretokenizer() = default;

Result<Pretokenizer> Pretokenizer::create(std::string_view name) {
  const PretokenizerFamily *family = familyNamed(name);
  if (!family)
    return fail(Code::Unsupported, "pre-tokenizer '" + std::string(name.substr(0, 64)) +
                                       "' is not known to this version, expected one such as "
                                       "'smollm', 'gpt-2', 'llama-bpe' or 'qwen2'");
  Pretokenizer made;
  made.name_ = name;
  made.ignoresMerges_ = family->ignoresMerges;
  made.addsBosByDefault_ = family->addsBosByDefault;
  for (std::string_view published : family->expressions) {
    std::string expression = withUnicodeSpaces(published);
    int error = 0;
    size_t offset = 0;
    Owned<pcre2_code> code(pcre2_compile(units(expression), expression.size(),
                                         PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
    if (!code)
      return fail(Code::Internal, "pre-tokenizer '" + made.name_ +
                                      "': the regular expression library refused the expression: " +
                                      pcreMessage(error));
    // Where the machine allows no executable memory this fails, and matching interprets instead.
    (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
    made.stages_.push_back({std::move(code)});
  }
  return made;
}

Result<std::vector<uint32_t>> Pretokenizer::split(std::string_view text) const {
  SINTER_CHECK(text.size() < std::numeric_limits<uint32_t>::max());
  std::vector<uint32_t> ends;
  if (!text.empty())
    ends.push_back(static_cast<uint32_t>(text.size()));
  for (const Regex &stage : stages_) {
    SINTER_ASSIGN(ends, refine(stage, text, ends));
  }
  return ends;
}

Result<std::vector<uint32_t>> Pretokenizer::refine(const Regex &regex, std::string_view text,
                                                   const std::vector<uint32_t> &ends) const {
  Owned<pcre2_match_data> match(pcre2_match_data_create(1, nullptr));
  Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
  Owned<pcre2_jit_stack> stack(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
  if (!match || !context || !stack)
    return fail(Code::Exhausted, "no memory to split a prompt into words");
  pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
  std::vector<uint32_t> refined;
  refined.reserve(ends.size());
  uint32_t begin = 0;
  for (uint32_t end : ends) {
    // A look-ahead must not see past its piece, so the piece is the whole subject.
    std::string_view piece = text.substr(begin, end - begin);
    uint64_t steps = kBaseSteps + kStepsPerByte * piece.size();
    pcre2_set_match_limit(context.get(), static_cast<uint32_t>(std::min<uint64_t>(
                                             steps, std::numeric_limits<uint32_t>::max())));
    for (size_t at = 0; at < piece.size();) {
      // The UTF check is off because the contract asks for valid UTF-8; on, it would cost a pass
      // over the rest of the piece for every word.
      int found = pcre2_match(regex.code.get(), units(piece), piece.size(), at,
                              PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), context.get());
      if (found == PCRE2_ERROR_NOMATCH) {
        refined.push_back(end);
        break;
      }
      if (found < 0)
        return fail(Code::Exhausted,
                    "pre-tokenizer '" + name_ + "' gave up on the prompt: " + pcreMessage(found),
                    begin + at);
      const size_t *span = pcre2_get_ovector_pointer(match.get());
      if (span[0] > at)
        refined.push_back(begin + static_cast<uint32_t>(span[0]));
      refined.push_back(begin + static_cast<uint32_t>(span[1]));
      at = span[1];
    }
    begin = end;
  }
  return refined;
}

} // namespace sinter
