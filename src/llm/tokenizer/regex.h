// Regular expressions on PCRE2: its Unicode properties, its JIT, and a limit on the steps of one
// match.
#pragma once

#include "base/status.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// One compiled expression. Movable; const use is safe from several threads.
class Regex {
public:
  struct Span {
    size_t begin;
    size_t end;
  };

  // The working memory of matching, for one thread. Reused from match to match.
  class Scratch {
  public:
    static Result<Scratch> create();
    Scratch(Scratch &&) noexcept;
    Scratch &operator=(Scratch &&) noexcept;
    ~Scratch();

  private:
    friend class Regex;
    struct Parts;
    Scratch();
    std::unique_ptr<Parts> parts_;
  };

  // `\s` and `\S` are Unicode's White_Space, which differs from PCRE2's by U+180E. Corrupt where
  // the library refuses the expression.
  static Result<Regex> create(std::string_view expression);

  Regex(Regex &&) noexcept;
  Regex &operator=(Regex &&) noexcept;
  ~Regex();

  // The first match in `text` that starts at `from` or later and is not empty. `text`, which is all
  // that assertions see, must be valid UTF-8. Exhausted where it takes more steps than allowed.
  Result<std::optional<Span>> find(std::string_view text, size_t from, Scratch &scratch) const;

private:
  struct Code;
  Regex();
  std::unique_ptr<Code> code_;
};

} // namespace sinter
