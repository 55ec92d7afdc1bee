// Formulas of extents: parsing, canonical text, checked arithmetic.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "graph/graph.h"
#include "graph/ir/extent.h"

namespace sinter::graph {

static constexpr size_t kMostTerms = 16, kMostSymbols = 8;

SymbolicExtent::SymbolicExtent(int64_t constant) {
  if (constant != 0)
    terms_[{}] = constant;
}

bool SymbolicExtent::isSmall() const {
  return terms_.size() <= kMostTerms &&
         llvm::all_of(terms_, [](const auto &term) { return term.first.size() <= kMostSymbols; });
}

bool SymbolicExtent::add(Symbols symbols, int64_t coefficient) {
  int64_t &sum = terms_[symbols];
  if (llvm::AddOverflow(sum, coefficient, sum))
    return false;
  if (sum == 0)
    terms_.erase(symbols);
  return true;
}

std::optional<SymbolicExtent> SymbolicExtent::plus(const SymbolicExtent &other,
                                                   int64_t times) const {
  SymbolicExtent sum = *this;
  for (const auto &[symbols, coefficient] : other.terms_) {
    int64_t product;
    if (llvm::MulOverflow(coefficient, times, product) || !sum.add(symbols, product))
      return std::nullopt;
  }
  return sum.isSmall() ? std::optional(sum) : std::nullopt;
}

std::optional<SymbolicExtent> SymbolicExtent::times(const SymbolicExtent &other) const {
  SymbolicExtent product;
  for (const auto &[left, leftCoefficient] : terms_)
    for (const auto &[right, rightCoefficient] : other.terms_) {
      Symbols symbols = left;
      symbols.insert(symbols.end(), right.begin(), right.end());
      llvm::sort(symbols);
      int64_t coefficient;
      if (llvm::MulOverflow(leftCoefficient, rightCoefficient, coefficient) ||
          !product.add(std::move(symbols), coefficient))
        return std::nullopt;
    }
  return product.isSmall() ? std::optional(product) : std::nullopt;
}

namespace {

// Reads one formula from left to right: a sign, then factors with * between.
class FormulaParser {
public:
  explicit FormulaParser(llvm::StringRef text) : text_(text) {}

  Result<SymbolicExtent> parse() {
    SymbolicExtent sum;
    int64_t sign = take('-') ? -1 : 1;
    do {
      SINTER_ASSIGN(const SymbolicExtent product, term());
      std::optional<SymbolicExtent> next = sum.plus(product, sign);
      if (!next)
        return tooLarge();
      sum = std::move(*next);
      sign = peek() == '-' ? -1 : 1;
    } while (take('+') || take('-'));
    if (at_ != text_.size())
      return wrong("+, - or *");
    return sum;
  }

private:
  Result<SymbolicExtent> term() {
    SINTER_ASSIGN(SymbolicExtent product, factor());
    while (take('*')) {
      SINTER_ASSIGN(const SymbolicExtent next, factor());
      std::optional<SymbolicExtent> more = product.times(next);
      if (!more)
        return tooLarge();
      product = std::move(*more);
    }
    return product;
  }

  Result<SymbolicExtent> factor() {
    skipSpaces();
    auto isName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    const llvm::StringRef word = text_.substr(at_).take_while(isName);
    if (word.empty())
      return wrong("a name or a number");
    if (!llvm::isDigit(word.front())) {
      at_ += word.size();
      return SymbolicExtent::named(word.str());
    }
    int64_t number;
    if (word.getAsInteger(10, number))
      return wrong("a name or a 64-bit number");
    at_ += word.size();
    return SymbolicExtent(number);
  }

  void skipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  char peek() {
    skipSpaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++at_;
    return true;
  }
  Fail wrong(const char *expected) const {
    return fail(Code::InvalidArgument,
                "extent '" + text_.take_front(80).str() + "' is no formula, expected " + expected,
                at_);
  }
  Fail tooLarge() const {
    return fail(Code::InvalidArgument,
                "extent '" + text_.take_front(80).str() +
                    "' is too large a formula, expected at most 16 terms of 8 symbols",
                at_);
  }

  llvm::StringRef text_;
  size_t at_ = 0;
};

} // namespace

SymbolicExtent SymbolicExtent::named(std::string symbol) {
  SymbolicExtent extent;
  extent.terms_[{std::move(symbol)}] = 1;
  return extent;
}

Result<SymbolicExtent> SymbolicExtent::parse(llvm::StringRef text) {
  return FormulaParser(text).parse();
}

SymbolicExtent SymbolicExtent::of(mlir::RankedTensorType type, int64_t axis) {
  const llvm::StringRef symbol = symbolOf(type, axis);
  if (symbol.empty())
    return SymbolicExtent(type.getDimSize(axis));
  Result<SymbolicExtent> extent = parse(symbol);
  SINTER_CHECK(extent); // a graph tensor's symbols are formulas
  return std::move(*extent);
}

std::optional<int64_t> SymbolicExtent::constant() const {
  if (terms_.empty())
    return 0;
  const auto &[symbols, coefficient] = *terms_.begin();
  return terms_.size() == 1 && symbols.empty() ? std::optional(coefficient) : std::nullopt;
}

std::string SymbolicExtent::symbol() const {
  if (terms_.size() != 1)
    return {};
  const auto &[symbols, coefficient] = *terms_.begin();
  return symbols.size() == 1 && coefficient == 1 ? symbols.front() : std::string();
}

std::string SymbolicExtent::text() const {
  if (terms_.empty())
    return "0";
  std::vector<std::pair<Symbols, int64_t>> terms(terms_.begin(), terms_.end());
  llvm::sort(terms, [](const auto &a, const auto &b) {
    return std::tuple(b.first.size(), a.first) < std::tuple(a.first.size(), b.first);
  });
  std::string text;
  for (const auto &[symbols, coefficient] : terms) {
    const std::string number = std::to_string(coefficient);
    text += coefficient < 0 || text.empty() ? "" : "+";
    const bool one = !symbols.empty() && (coefficient == 1 || coefficient == -1);
    text += one ? (coefficient < 0 ? "-" : "") : number + (symbols.empty() ? "" : "*");
    text += llvm::join(symbols, "*");
  }
  return text;
}

Result<int64_t> SymbolicExtent::evaluate(
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> valueOf) const {
  int64_t sum = 0;
  for (const auto &[symbols, coefficient] : terms_) {
    int64_t product = coefficient;
    bool overflows = false;
    for (const std::string &symbol : symbols) {
      const std::optional<int64_t> value = valueOf(symbol);
      if (!value)
        return fail(Code::InvalidArgument, "symbol '" + symbol + "' has no value");
      overflows |= llvm::MulOverflow(product, *value, product);
    }
    if (overflows || llvm::AddOverflow(sum, product, sum))
      return fail(Code::InvalidArgument, "extent '" + text() + "' overflows 64 bits");
  }
  if (sum < 0)
    return fail(Code::InvalidArgument,
                "extent '" + text() + "' is " + std::to_string(sum) + ", expected 0 or more");
  return sum;
}

std::optional<SymbolicExtent> elementCount(mlir::RankedTensorType type) {
  std::optional<SymbolicExtent> count = SymbolicExtent(1);
  for (int64_t axis = 0; axis < type.getRank() && count; ++axis)
    count = count->times(SymbolicExtent::of(type, axis));
  return count;
}

} // namespace sinter::graph
