// Two launches around a call of the step.
#include "tile/mlir_pch.h"

#include "engine/ahead_step.h"

#include "base/check.h"
#include "kernels/guesses.h"
#include "plan/contract.h"

namespace sinter::engine {

using plan::BufferKind;
using plan::Expr;

static_assert(contract::kGuessColumns == kernels::kGuessColumns);

namespace {

class AheadStep {
public:
  AheadStep(KernelSet &kernels, plan::Plan &plan) : kernels_(kernels), plan_(plan) {}

  Result<void> add() {
    const int64_t choices = plan_.properties.at(contract::kTopCount.name);
    const Expr tokens = symbolOf(contract::Symbol::Tokens);
    const Expr rows = symbolOf(contract::Symbol::LogitRows);
    const BoundView sources = addBuffer(contract::kTokenSources, BufferKind::Input, tokens, 1);
    const BoundView rules =
        addBuffer(contract::kGuessRules, BufferKind::Input, rows, contract::kGuessColumns);
    const BoundView guesses =
        addBuffer(contract::kGuesses, BufferKind::State, contract::kMaxStepTokens, 1);
    const BoundView ownGuesses = firstRows(guesses, rows);
    const BoundView logits = named(contract::kTopLogits, rows, choices);
    const BoundView candidates = named(contract::kTopTokens, rows, choices);
    const BoundView ids = named(contract::rowOf(contract::Input::TokenIds), tokens, 1);
    plan::Procedure ahead{contract::kAheadProcedure, {}};
    SINTER_ASSIGN(const plan::KernelId take,
                  kernels_.add("take_guesses", kernels::TakeGuesses{}, kernels::takeGuesses));
    SINTER_ASSIGN(
        const plan::KernelId guess,
        kernels_.add("guess_tokens", kernels::GuessTokens{choices}, kernels::guessTokens));
    addLaunch(ahead, take, {sources, guesses, ids}, "take_guesses");
    ahead.steps.push_back({plan::Call{*plan::findProcedure(plan_, contract::kStepProcedure)}});
    addLaunch(ahead, guess, {logits, candidates, rules, ownGuesses}, "guess_tokens");
    plan_.procedures.push_back(std::move(ahead));
    return {};
  }

private:
  Expr symbolOf(contract::Symbol symbol) const {
    const auto id = plan::findSymbol(plan_, contract::nameOf(symbol));
    SINTER_CHECK(id.has_value()); // tokens and rows of logits are extents of every step
    return plan::symbol(*id);
  }
  static BoundView viewOf(plan::BufferId buffer, const Expr &rows, int64_t columns) {
    return {buffer, Expr(0), {rows, Expr(columns)}, {Expr(columns), Expr(1)}};
  }
  static BoundView firstRows(BoundView view, const Expr &rows) {
    view.extents[0] = rows;
    return view;
  }
  BoundView named(const contract::TensorRow &row, const Expr &rows, int64_t columns) const {
    const auto id = plan::findBuffer(plan_, row.name);
    SINTER_CHECK(id.has_value());
    return viewOf(*id, rows, columns);
  }
  BoundView addBuffer(const contract::TensorRow &row, BufferKind kind, const Expr &rows,
                      int64_t columns) {
    const plan::BufferId id{static_cast<uint32_t>(plan_.buffers.size())};
    plan_.buffers.push_back({row.name, kind, bytesOf(rows, columns), {}, {}, {}});
    return viewOf(id, rows, columns);
  }
  // All elements have four bytes.
  static Expr bytesOf(const Expr &rows, int64_t columns) {
    return plan::mul(rows, Expr(columns * int64_t(sizeof(int32_t))));
  }
  void addLaunch(plan::Procedure &to, plan::KernelId kernel,
                 const std::vector<BoundArgument> &arguments, const char *label) {
    plan::Launch launch = makeLaunch(kernels_.kernel(kernel), kernel, arguments, label);
    kernels_.addLaunch(kernel, arguments);
    launch.bytesMoved = Expr(0);
    for (const BoundArgument &argument : arguments) {
      const auto &extents = std::get<BoundView>(argument).extents;
      launch.bytesMoved = plan::add(launch.bytesMoved, bytesOf(extents[0], *extents[1].constant()));
    }
    launch.covers = {"guesses of tokens"};
    to.steps.push_back({std::move(launch)});
  }

  KernelSet &kernels_;
  plan::Plan &plan_;
};

} // namespace

Result<void> addAheadStep(KernelSet &kernels, plan::Plan &plan) {
  if (!plan.properties.contains(contract::kTopCount.name))
    return {};
  return AheadStep(kernels, plan).add();
}

} // namespace sinter::engine
