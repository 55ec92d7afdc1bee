// What a grammar makes a text go on with, whoever writes it.
#pragma once

#include "grammar/automaton.h"

#include <string>

namespace sinter::grammar {

// Follows a text and guesses how it goes on: by what the grammar forces, and where only spaces
// stand in the way, by those that the text had after the same character before. For one thread.
class ForcedText {
public:
  // The text has these bytes from `state` on. Errors: Automaton::row's.
  Result<void> accept(Automaton &automaton, StateId state, std::string_view bytes);
  // How it goes on from `state`, at most `most` bytes, without spaces at the end; empty where
  // nothing is forced. Errors: Automaton::row's.
  Result<std::string> from(Automaton &automaton, StateId state, size_t most) const;

private:
  // Where a text stands: its last character that is no space, and the spaces since then.
  struct Place {
    uint8_t after = 0;
    std::string spaces = {};
    void take(uint8_t byte);
  };
  std::optional<uint8_t> guess(const Automaton::Row &row, const Place &place) const;

  std::array<std::optional<std::string>, 256> habits_; // spaces that followed a character
  Place place_;
  bool hadChoice_ = false; // between spaces and others, since that character
};

} // namespace sinter::grammar
