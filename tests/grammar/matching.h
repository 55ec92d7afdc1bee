// Whole texts against a grammar, for tests.
#pragma once

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"

#include <gmock/gmock.h>

namespace sinter::grammar {

inline bool matches(Automaton &automaton, std::string_view text) {
  const Result<StateId> state = automaton.next(automaton.start(), text);
  return state && *state != kDead && automaton.accepts(*state);
}

inline std::unique_ptr<Automaton> automatonOf(Grammar grammar) {
  auto made = Automaton::create(std::move(grammar));
  EXPECT_TRUE(made) << made.error().toString();
  return std::move(*made);
}

inline std::unique_ptr<Automaton> gbnf(std::string_view text) {
  Result<Grammar> grammar = parseGbnf(text);
  EXPECT_TRUE(grammar) << grammar.error().toString();
  return automatonOf(std::move(*grammar));
}

inline std::unique_ptr<Automaton> regex(std::string_view pattern, RegexUse use) {
  Grammar grammar;
  const Result<ExprId> root = parseRegex(grammar, pattern, use);
  EXPECT_TRUE(root) << root.error().toString();
  grammar.setRoot(*root);
  return automatonOf(std::move(grammar));
}

} // namespace sinter::grammar
