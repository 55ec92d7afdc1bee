// Bytes that a state leaves, one after the other.
#include "grammar/forced_text.h"

namespace sinter::grammar {
namespace {

bool isSpace(uint8_t byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

struct Ways {
  size_t spaces = 0, others = 0;
  uint8_t other = 0; // one of them
};

Ways waysOf(const Automaton::Row &row) {
  Ways ways;
  for (unsigned byte = 0; byte < row.size(); ++byte) {
    if (row[byte] == kDead)
      continue;
    if (isSpace(static_cast<uint8_t>(byte))) {
      ++ways.spaces;
    } else {
      ++ways.others;
      ways.other = static_cast<uint8_t>(byte);
    }
  }
  return ways;
}

// Within running text, where nearly all bytes fit, spaces are no layout.
bool isLayout(const Ways &ways) {
  constexpr size_t kMostOthers = 32; // a value of JSON begins with one of 17
  return ways.spaces > 0 && ways.others > 0 && ways.others <= kMostOthers;
}

} // namespace

void ForcedText::Place::take(uint8_t byte) {
  if (isSpace(byte)) {
    spaces += static_cast<char>(byte);
    return;
  }
  after = byte;
  spaces.clear();
}

Result<void> ForcedText::accept(Automaton &automaton, StateId state, std::string_view bytes) {
  constexpr size_t kMostSpaces = 64; // longer ones are no habit
  for (const char one : bytes) {
    const auto byte = static_cast<uint8_t>(one);
    SINTER_ASSIGN(const StateId alike, automaton.alike(state));
    SINTER_ASSIGN(const Automaton::Row *row, automaton.row(alike));
    hadChoice_ = hadChoice_ || isLayout(waysOf(*row));
    if (!isSpace(byte)) {
      if (hadChoice_ && place_.spaces.size() <= kMostSpaces)
        habits_[place_.after] = place_.spaces;
      hadChoice_ = false;
    }
    place_.take(byte);
    SINTER_ASSIGN(state, automaton.next(state, byte));
  }
  return {};
}

std::optional<uint8_t> ForcedText::guess(const Automaton::Row &row, const Place &place) const {
  const Ways ways = waysOf(row);
  if (ways.spaces == 0 && ways.others == 1)
    return ways.other;
  const std::optional<std::string> &habit = habits_[place.after];
  if (!isLayout(ways) || !habit || !habit->starts_with(place.spaces))
    return std::nullopt;
  if (habit->size() > place.spaces.size()) {
    const auto next = static_cast<uint8_t>((*habit)[place.spaces.size()]);
    return row[next] == kDead ? std::nullopt : std::optional(next);
  }
  return ways.others == 1 ? std::optional(ways.other) : std::nullopt;
}

Result<std::string> ForcedText::from(Automaton &automaton, StateId state, size_t most) const {
  std::string text;
  Place place = place_;
  while (text.size() < most && !automaton.accepts(state)) {
    SINTER_ASSIGN(const StateId alike, automaton.alike(state));
    SINTER_ASSIGN(const Automaton::Row *row, automaton.row(alike));
    const std::optional<uint8_t> next = guess(*row, place);
    if (!next)
      break;
    text += static_cast<char>(*next);
    place.take(*next);
    SINTER_ASSIGN(state, automaton.next(state, *next));
  }
  while (!text.empty() && isSpace(static_cast<uint8_t>(text.back())))
    text.pop_back();
  return text;
}

} // namespace sinter::grammar
