// Finds a call's slots, then takes apart what lies before, between and after two calls.
#include "llm/chat/probed_call.h"

#include "jinja/input.h"

#include <algorithm>

namespace sinter {
namespace {

using jinja::Input;

// A call in a text: what lies from `begin` to `end` is of this call alone.
struct Place {
  size_t begin = 0, end = 0;
  CallSyntax syntax; // shape, parts, close up to `end`, arguments, tags, keys
};

struct Slot {
  size_t begin, end;
  CallSlot slot;
};

// Marks between the slots; what is left after the last one is the close.
void setParts(std::string_view text, std::vector<Slot> slots, Place &place) {
  std::ranges::sort(slots, {}, &Slot::begin);
  size_t at = place.begin;
  for (const Slot &slot : slots) {
    place.syntax.parts.push_back({std::string(text.substr(at, slot.begin - at)), slot.slot});
    at = slot.end;
  }
  place.syntax.close = text.substr(at, place.end - at);
}

std::optional<Slot> find(std::string_view text, size_t from, size_t to, std::string_view what,
                         CallSlot slot) {
  const size_t at = text.substr(0, to).find(what, from);
  if (at == text.npos)
    return std::nullopt;
  return Slot{at, at + what.size(), slot};
}

bool isArguments(const Input &value, const ProbeCall &call) {
  const Input *text = value.find(kProbeKey);
  return text && text->text() && *text->text() == call.value;
}

// The object of arguments that has the probe's key, after `from`.
std::optional<Slot> jsonArguments(std::string_view text, size_t from, const ProbeCall &call) {
  const size_t key = text.find(kProbeKey, from);
  const size_t open = key == text.npos ? key : text.rfind('{', key);
  if (open == text.npos || open < from)
    return std::nullopt;
  const auto object = bracketed(text, open);
  const auto json = object ? jinja::inputFromJson(*object) : fail(Code::Corrupt, "");
  if (!json || !isArguments(*json, call))
    return std::nullopt;
  return Slot{open, open + object->size(), CallSlot::Arguments};
}

// An object around the name that has the arguments as another member.
std::optional<Place> jsonCall(std::string_view text, size_t from, const ProbeCall &call) {
  const size_t name = text.find(call.name, from);
  const size_t open = name == text.npos ? name : text.rfind('{', name);
  if (open == text.npos || open < from)
    return std::nullopt;
  const auto object = bracketed(text, open);
  const auto json = object ? jinja::inputFromJson(*object) : fail(Code::Corrupt, "");
  const auto arguments = jsonArguments(text, open + 1, call);
  if (!json || !json->object() || !arguments)
    return std::nullopt;
  Place place{open, open + object->size(), {}};
  place.syntax.shape = CallShape::Json;
  std::vector<Slot> slots = {*arguments};
  size_t found = 0;
  for (const auto &[key, value] : *json->object()) {
    if (isArguments(value, call)) {
      place.syntax.argumentsKey = key;
      ++found;
    } else if (value.text() && *value.text() == call.name) {
      place.syntax.nameKey = key;
      slots.push_back({name, name + call.name.size(), CallSlot::Name});
      ++found;
    } else if (value.text()) {
      const size_t at = text.find("\"" + *value.text() + "\"", open) + 1;
      slots.push_back({at, at + value.text()->size(), CallSlot::Id});
    }
  }
  if (found != 2)
    return std::nullopt;
  setParts(text, std::move(slots), place);
  return place;
}

// Arguments between tags, from the end of the name on.
std::optional<Slot> taggedArguments(std::string_view text, size_t from, const ProbeCall &call,
                                    ArgumentTags &tags) {
  const std::string number = std::to_string(call.number);
  const size_t key = text.find(kProbeKey, from);
  const size_t value = text.find(call.value, key);
  const size_t second = text.find(kProbeNumberKey, value);
  const size_t other = text.find(number, second);
  if (other == text.npos)
    return std::nullopt;
  const size_t keyEnd = key + kProbeKey.size(), valueEnd = value + call.value.size(),
               secondEnd = second + kProbeNumberKey.size(), end = other + number.size();
  const std::string_view between = text.substr(valueEnd, second - valueEnd);
  const std::string_view before = text.substr(from, key - from);
  const std::string_view close = commonBegin(between, text.substr(end));
  const std::string_view open = between.substr(close.size());
  const bool isTag = !trim(open).empty() && !trim(close).empty() && before.ends_with(open) &&
                     between.find(kProbeKey) == between.npos;
  if (!isTag)
    return std::nullopt;
  tags = {std::string(open), std::string(text.substr(keyEnd, value - keyEnd)),
          std::string(text.substr(secondEnd, other - secondEnd)), std::string(close)};
  tags.nameTypes = tags.otherOpen.find(ArgumentTags::kNumberType) != std::string::npos;
  tags.nameTypes = tags.nameTypes && tags.openOfType(ArgumentTags::kTextType) == tags.textOpen;
  return Slot{key - open.size(), end + close.size(), CallSlot::Arguments};
}

// <probekey>Vone</probekey><probenum>4711</probenum>, each tag after a prefix or none.
std::optional<Slot> elementArguments(std::string_view text, size_t from, const ProbeCall &call,
                                     ArgumentTags &tags) {
  const std::string key(kProbeKey), open = "<" + key + ">", close = "</" + key + ">";
  const size_t at = text.find(open + std::string(call.value), from);
  const size_t valueEnd = at == text.npos ? at : at + open.size() + call.value.size();
  const size_t end = valueEnd == text.npos ? valueEnd : text.find(close, valueEnd);
  if (end == text.npos)
    return std::nullopt;
  const std::string prefix(text.substr(valueEnd, end - valueEnd));
  const std::string number(kProbeNumberKey);
  const std::string second =
      prefix + "<" + number + ">" + std::to_string(call.number) + prefix + "</" + number + ">";
  const std::string_view rest = text.substr(end + close.size());
  const bool isElement =
      text.substr(from, at - from).ends_with(prefix) && trimLeft(rest).starts_with(second);
  if (!isElement)
    return std::nullopt;
  tags = {prefix + "<", ">", ">", prefix + "</"};
  return Slot{at - prefix.size(), text.size() - trimLeft(rest).size() + second.size(),
              CallSlot::Arguments};
}

// (probekey='Vone', probenum=4711)
std::optional<Slot> keywordArguments(std::string_view text, size_t from, const ProbeCall &call) {
  const std::string begin = "(" + std::string(kProbeKey) + "=";
  const std::string_view rest = text.substr(from),
                         value = rest.substr(std::min(begin.size() + 1, rest.size()));
  const size_t end = text.find(')', from);
  if (!rest.starts_with(begin) || !value.starts_with(call.value) || end == text.npos)
    return std::nullopt;
  return Slot{from, end + 1, CallSlot::Arguments};
}

// {probekey:<|"|>Vone<|"|>,probenum:4711}
std::optional<Slot> bracedArguments(std::string_view text, size_t from, const ProbeCall &call) {
  const std::string begin =
      "{" + std::string(kProbeKey) + ":" + kBraceQuote + std::string(call.value) + kBraceQuote;
  const size_t at = text.find(begin, from);
  const size_t end = at == text.npos ? at : text.find('}', at);
  if (end == text.npos)
    return std::nullopt;
  return Slot{at, end + 1, CallSlot::Arguments};
}

// Kimi's ids contain the name: "functions.NAME:0".
bool widenToId(std::string_view text, Slot &name) {
  constexpr std::string_view kBefore = "functions.";
  const std::string_view after = text.substr(name.end);
  const bool isId = text.substr(0, name.begin).ends_with(kBefore) && after.size() > 1 &&
                    after[0] == ':' && after[1] >= '0' && after[1] <= '9';
  if (isId)
    name = {name.begin - kBefore.size(), name.end + 2, name.slot};
  return isId;
}

std::optional<Slot> argumentsOf(std::string_view text, size_t from, const ProbeCall &call,
                                CallSyntax &syntax) {
  std::optional<Slot> found;
  const auto take = [&](ArgumentForm form, std::optional<Slot> slot) {
    if (found || !slot)
      return;
    found = slot;
    syntax.arguments = form;
  };
  take(ArgumentForm::Json, jsonArguments(text, from, call));
  take(ArgumentForm::Braces, bracedArguments(text, from, call));
  take(ArgumentForm::Keywords, keywordArguments(text, from, call));
  if (!found)
    take(ArgumentForm::Tags, taggedArguments(text, from, call, syntax.tags));
  if (!found)
    take(ArgumentForm::Elements, elementArguments(text, from, call, syntax.tags));
  return found;
}

// The name and the arguments between marks.
std::optional<Place> namedCall(std::string_view text, size_t from, const ProbeCall &call) {
  Place place;
  CallSyntax &syntax = place.syntax;
  syntax.shape = CallShape::Named;
  auto name = find(text, from, text.size(), call.name, CallSlot::Name);
  if (!name) {
    name = find(text, from, text.size(), call.id, CallSlot::Name);
    syntax.idHoldsName = name.has_value();
  }
  if (!name)
    return std::nullopt;
  syntax.idHoldsName |= widenToId(text, *name);
  const auto arguments = argumentsOf(text, name->end, call, syntax);
  if (!arguments)
    return std::nullopt;
  std::vector<Slot> slots = {*name, *arguments};
  if (!syntax.idHoldsName)
    if (const auto id = find(text, from, arguments->begin, call.id, CallSlot::Id))
      slots.push_back(*id);
  place.begin = std::ranges::min(slots, {}, &Slot::begin).begin;
  place.end = arguments->end;
  setParts(text, std::move(slots), place);
  return place;
}

std::optional<Place> placeOf(std::string_view text, size_t from, const ProbeCall &call) {
  if (auto json = jsonCall(text, from, call))
    return json;
  return namedCall(text, from, call);
}

// After the last call: the tag that closes what `begin` opened, and more where a call ends with it.
std::string_view sectionEnd(std::string_view after, bool isList, bool hasTag,
                            const std::string &callClose) {
  constexpr int kMostTags = 3;
  size_t size = 0;
  if (isList)
    size = after.find(']') + 1;
  const std::string_view rest = after.substr(size);
  int tags = 1;
  while (hasTag && tags < kMostTags && !firstMark(rest, tags + 1).empty() &&
         callClose.find(trim(firstMark(rest, tags))) != callClose.npos)
    ++tags;
  if (hasTag)
    size += firstMark(rest, tags).size();
  return after.substr(0, size);
}

bool isDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Marks that differ in a number alone have it as a slot.
void splitNumbers(CallSyntax &first, CallSyntax &second) {
  for (size_t i = 1; i < first.parts.size() && i < second.parts.size(); ++i) {
    const std::string a = first.parts[i].before, b = second.parts[i].before;
    size_t begin = 0, end = 0;
    while (begin < a.size() && begin < b.size() && a[begin] == b[begin])
      ++begin;
    const size_t most = std::min(a.size(), b.size()) - begin;
    while (end < most && a[a.size() - 1 - end] == b[b.size() - 1 - end])
      ++end;
    const auto between = [&](std::string_view text) {
      return text.substr(begin, text.size() - end - begin);
    };
    if (!isDigits(between(a)) || !isDigits(between(b)))
      continue;
    for (CallSyntax *syntax : {&first, &second}) {
      syntax->parts[i].before = a.substr(a.size() - end);
      syntax->parts.insert(syntax->parts.begin() + static_cast<ptrdiff_t>(i),
                           {a.substr(0, begin), CallSlot::Number});
    }
    ++i;
  }
}

// Whether two calls have the same marks within them.
bool alike(const CallSyntax &a, const CallSyntax &b) {
  if (a.parts.size() != b.parts.size() || a.close != b.close)
    return false;
  for (size_t i = 1; i < a.parts.size(); ++i)
    if (a.parts[i].before != b.parts[i].before || a.parts[i].slot != b.parts[i].slot)
      return false;
  return true;
}

// Whether readers find the calls: they begin with a mark, or are objects, and no mark has a name.
bool canBeRead(const CallSyntax &syntax, std::string_view name) {
  const bool begins =
      syntax.shape == CallShape::Json || !trim(syntax.begin + syntax.open()).empty();
  const bool hasName = std::ranges::any_of(syntax.parts, [&](const CallPart &part) {
    return part.before.find(name) != std::string::npos;
  });
  return begins && !hasName && syntax.begin.find(name) == std::string::npos;
}

CallSyntax splitMarks(const ProbedAnswer &answer, std::span<const ProbeCall, 2> calls) {
  const std::string_view body = answer.text.substr(0, answer.text.size() - answer.turnEnd.size());
  const auto first = placeOf(body, answer.begin, calls[0]);
  if (!first)
    return {};
  CallSyntax syntax = first->syntax;
  const std::string_view before =
      trimLeft(answer.text.substr(answer.begin, first->begin - answer.begin));
  std::string_view after = body.substr(first->end);
  const auto pair =
      answer.textOfTwo.empty() ? std::nullopt : placeOf(answer.textOfTwo, answer.begin, calls[0]);
  const auto second =
      pair ? placeOf(answer.textOfTwo, pair->end, calls[1]) : std::optional<Place>();
  if (!second) {
    syntax.severalCalls = false;
    syntax.begin = before;
    syntax.end = sectionEnd(after, false, !before.empty(), syntax.close);
    return syntax;
  }
  CallSyntax other = second->syntax;
  splitNumbers(syntax, other);
  if (!alike(syntax, other))
    return {};
  std::string_view between = answer.textOfTwo.substr(pair->end, second->begin - pair->end);
  const std::string_view close = commonBegin(between, answer.text.substr(first->end));
  between.remove_prefix(close.size());
  after.remove_prefix(std::min(close.size(), after.size()));
  std::string_view open = commonEnd(between, before);
  if (before.empty()) { // the prompt may have it
    open = trimLeft(commonEnd(between, answer.text.substr(0, first->begin)));
    syntax.promptOpens = !open.empty();
  }
  syntax.close += close;
  syntax.parts.front().before = std::string(open) + syntax.parts.front().before;
  syntax.separator = between.substr(0, between.size() - open.size());
  syntax.begin = before.substr(0, before.size() - std::min(before.size(), open.size()));
  syntax.isList = trim(syntax.begin).ends_with('[') && trimLeft(syntax.separator).starts_with(',');
  const bool hasTag = trim(syntax.begin) != "[" && !trim(syntax.begin).empty();
  syntax.end = sectionEnd(after, syntax.isList, hasTag, syntax.close);
  return syntax;
}

} // namespace

CallSyntax callSyntaxOf(const ProbedAnswer &answer, std::span<const ProbeCall, 2> calls) {
  CallSyntax syntax = splitMarks(answer, calls);
  if (syntax.shape == CallShape::None)
    return syntax;
  return canBeRead(syntax, calls[0].name) ? syntax : CallSyntax();
}

} // namespace sinter
