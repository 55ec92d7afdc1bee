// Extents as formulas: polynomials of symbols with whole coefficients, "4*S*T+S-1".
#pragma once

#include "base/status.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinter::graph {

/// A polynomial in canonical form: equal formulas have equal terms and equal texts.
class SymbolicExtent {
public:
  /// The symbols of a term in ascending order, one as often as its power.
  using Symbols = std::vector<std::string>;
  using Terms = std::map<Symbols, int64_t>;

  SymbolicExtent() = default; // 0
  SymbolicExtent(int64_t constant);
  static SymbolicExtent named(std::string symbol);

  /// Sums and differences of products of names and numbers. InvalidArgument, with the byte offset,
  /// where the text is no such formula or is too large (16 terms of 8 symbols).
  static Result<SymbolicExtent> parse(llvm::StringRef text);
  /// The extent of an axis of a graph tensor.
  static SymbolicExtent of(mlir::RankedTensorType type, int64_t axis);

  const Terms &terms() const { return terms_; }
  /// The number, where no symbol is in it.
  std::optional<int64_t> constant() const;
  /// The symbol, where the formula is one symbol alone; empty otherwise.
  std::string symbol() const;
  /// In canonical form: terms of more symbols first, then in the order of their names.
  std::string text() const;

  /// None where a coefficient overflows or the formula becomes too large.
  std::optional<SymbolicExtent> plus(const SymbolicExtent &other, int64_t times = 1) const;
  std::optional<SymbolicExtent> times(const SymbolicExtent &other) const;

  /// The value where `valueOf` gives each symbol's. InvalidArgument where a symbol has none, and
  /// where the value overflows or is negative.
  Result<int64_t>
  evaluate(llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> valueOf) const;

  friend bool operator==(const SymbolicExtent &, const SymbolicExtent &) = default;

private:
  bool add(Symbols symbols, int64_t coefficient);
  bool isSmall() const;

  Terms terms_; // no coefficient is 0
};

/// The product of all extents; none as for SymbolicExtent::times.
std::optional<SymbolicExtent> elementCount(mlir::RankedTensorType type);

} // namespace sinter::graph
