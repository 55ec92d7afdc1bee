// Regular expressions on PCRE2.
#include "llm/tokenizer/regex.h"

#include <algorithm>
#include <array>
#include <limits>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace sinter {
namespace {

// One match walks at most over its text and back, so the limit grows with the text; the constant
// leaves room for the alternatives tried at one place.
constexpr uint64_t kStepsPerByte = 16;
constexpr uint64_t kBaseSteps = 10'000;

// The JIT's backtracking stack; single-character repeats keep two pointers in it, not one a
// character.
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackLimit = 1024 * 1024;

struct Free {
  void operator()(pcre2_code *code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context *context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack *stack) const { pcre2_jit_stack_free(stack); }
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

std::string pcreMessage(int error) {
  std::array<unsigned char, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char *>(buffer.data());
}

} // namespace

struct Regex::Code {
  Owned<pcre2_code> code;
};

struct Regex::Scratch::Parts {
  Owned<pcre2_match_data> match;
  Owned<pcre2_match_context> context;
  Owned<pcre2_jit_stack> stack;
};

Regex::Scratch::Scratch() = default;
Regex::Scratch::Scratch(Scratch &&) noexcept = default;
Regex::Scratch &Regex::Scratch::operator=(Scratch &&) noexcept = default;
Regex::Scratch::~Scratch() = default;

Result<Regex::Scratch> Regex::Scratch::create() {
  Scratch made;
  made.parts_ = std::make_unique<Parts>();
  Parts &parts = *made.parts_;
  parts.match.reset(pcre2_match_data_create(1, nullptr));
  parts.context.reset(pcre2_match_context_create(nullptr));
  parts.stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
  if (!parts.match || !parts.context || !parts.stack)
    return fail(sinter::Code::Exhausted, "no memory to split a prompt into words");
  pcre2_jit_stack_assign(parts.context.get(), nullptr, parts.stack.get());
  return made;
}

Regex::Regex() = default;
Regex::Regex(Regex &&) noexcept = default;
Regex &Regex::operator=(Regex &&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::create(std::string_view expression) {
  const std::string unicode = withUnicodeSpaces(expression);
  int error = 0;
  size_t offset = 0;
  Owned<pcre2_code> code(pcre2_compile(units(unicode), unicode.size(), PCRE2_UTF | PCRE2_UCP,
                                       &error, &offset, nullptr));
  if (!code)
    return fail(sinter::Code::Corrupt, "the regular expression '" +
                                           std::string(expression.substr(0, 128)) +
                                           "' is refused: " + pcreMessage(error));
  // Where the machine allows no executable memory this fails, and matching interprets instead.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  Regex made;
  made.code_ = std::make_unique<Code>(std::move(code));
  return made;
}

Result<std::optional<Regex::Span>> Regex::find(std::string_view text, size_t from,
                                               Scratch &scratch) const {
  Scratch::Parts &parts = *scratch.parts_;
  const uint64_t steps = kBaseSteps + kStepsPerByte * text.size();
  pcre2_set_match_limit(parts.context.get(), static_cast<uint32_t>(std::min<uint64_t>(
                                                 steps, std::numeric_limits<uint32_t>::max())));
  // The UTF check is off because the contract asks for valid UTF-8; on, it would cost a pass over
  // the rest of the text for every word.
  const int found =
      pcre2_match(code_->code.get(), units(text), text.size(), from,
                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, parts.match.get(), parts.context.get());
  if (found == PCRE2_ERROR_NOMATCH)
    return std::nullopt;
  if (found < 0)
    return fail(sinter::Code::Exhausted,
                "a regular expression of the tokenizer gave up: " + pcreMessage(found), from);
  const size_t *span = pcre2_get_ovector_pointer(parts.match.get());
  return Span{span[0], span[1]};
}

} // namespace sinter
