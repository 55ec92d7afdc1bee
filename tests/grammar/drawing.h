// Texts of a grammar, drawn by a seed.
#pragma once

#include "grammar/automaton.h"

#include <algorithm>
#include <random>
#include <tuple>

namespace sinter::grammar {

// Bytes that may come next, those that close something first, those that open something last.
inline Result<std::vector<uint8_t>> bytesAfter(Automaton &automaton, StateId state) {
  SINTER_ASSIGN(const Automaton::Row *row, automaton.row(state));
  std::vector<uint8_t> bytes;
  for (unsigned byte = 0; byte < row->size(); ++byte)
    if ((*row)[byte] != kDead)
      bytes.push_back(static_cast<uint8_t>(byte));
  const auto rank = [](uint8_t byte) {
    constexpr std::string_view kClosing = "\"}],:"; // a string takes brackets, too
    const bool isLast = byte <= ' ' || byte >= 0x7F || byte == '{' || byte == '[' || byte == '\\';
    return std::tuple(isLast, std::min(kClosing.find(static_cast<char>(byte)), kClosing.size()),
                      byte);
  };
  std::ranges::sort(bytes, {}, rank);
  return bytes;
}

// Up to `most` bytes as they come, mostly letters and signs, then what ends the text soon.
// Internal: a text was begun that cannot end. Nothing: it did not end.
inline Result<std::optional<std::string>> drawText(Automaton &automaton, std::mt19937 &random,
                                                   size_t most) {
  constexpr size_t kMostBytes = 3000;
  std::string text;
  StateId state = automaton.start();
  while (text.size() < kMostBytes) {
    const bool ends = text.size() >= most;
    SINTER_ASSIGN(const std::vector<uint8_t> bytes, bytesAfter(automaton, state));
    if (bytes.empty() && !automaton.accepts(state))
      return fail(Code::Internal, "nothing can follow '" + text + "'");
    if (automaton.accepts(state) && (ends || bytes.empty() || random() % 4 == 0))
      return text;
    const auto plain = static_cast<size_t>(std::ranges::count_if(
        bytes, [](uint8_t byte) { return byte > ' ' && byte < 0x7F && byte != '\\'; }));
    size_t from = bytes.size();
    if (plain > 0 && random() % 8 != 0)
      from = plain; // in the order of ranks
    const uint8_t byte = bytes[ends ? 0 : random() % from];
    text += static_cast<char>(byte);
    SINTER_ASSIGN(state, automaton.next(state, byte));
  }
  return std::nullopt;
}

} // namespace sinter::grammar
