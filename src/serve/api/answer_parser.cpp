// Content and thoughts are told apart by marks; calls are read by readers of their own.
#include "serve/api/answer_parser.h"

#include "jinja/input.h"
#include "llm/chat/probe_texts.h"
#include "serve/api/call_reader.h"
#include "serve/api/channel_parser.h"
#include "serve/api/mark_reader.h"

#include <algorithm>
#include <optional>
#include <random>

namespace sinter::serve {
namespace {

constexpr std::string_view kPython = "<|python_tag|>";

// Marks by which calls are found, and those that are passed over around them.
struct CallMarks {
  std::vector<std::string> triggers;
  std::vector<std::string> before, after; // before a call, after one
  std::string lastOfOpen;                 // of Named: what the name follows; empty: all of it
  char bare = 0;                          // what an answer begins with that is a call as a whole

  explicit CallMarks(const CallSyntax &syntax) {
    const bool isJson = syntax.shape == CallShape::Json;
    std::string open = syntax.open(), close = syntax.close, begin = syntax.begin, end = syntax.end;
    if (isJson) { // the object's own text is the reader's
      open.resize(std::min(open.find('{'), open.size()));
      close.erase(0, close.rfind('}') + 1);
    }
    if (syntax.isList) {
      begin.resize(trim(begin).size() + begin.find_first_not_of(kMarkSpace) - 1);
      end.erase(0, end.find(']') + 1);
      after = {",", "[", "]"};
    }
    add(before, begin);
    if (isJson)
      add(before, open);
    add(after, close);
    add(after, syntax.separator);
    add(after, end);
    const auto first = chunksOf(trim(begin).empty() ? std::string_view(open) : begin);
    if (!first.empty())
      triggers.emplace_back(first.front());
    const auto opens = chunksOf(open);
    if (!isJson && opens.size() > 1 && opens.back().starts_with('<')) {
      lastOfOpen = opens.back();
      triggers.push_back(lastOfOpen);
    }
    if (!isJson || !first.empty())
      return;
    bare = syntax.isList ? '[' : '{';
    triggers.emplace_back(kPython);
    before.emplace_back(kPython);
    after.emplace_back(";");
  }

private:
  static void add(std::vector<std::string> &marks, std::string_view mark) {
    for (const std::string_view chunk : chunksOf(mark))
      if (std::ranges::find(marks, chunk) == marks.end())
        marks.emplace_back(chunk);
  }
};

class MarkParser : public AnswerParser {
public:
  explicit MarkParser(const AnswerStyle &style)
      : style_(style), syntax_(*style_.syntax),
        part_(style.startsInReasoning ? Part::Reasoning : Part::Content),
        afterMark_(style.startsInReasoning), atOpen_(style.startsInReasoning) {
    if (style.readsCalls && syntax_.calls.shape != CallShape::None)
      marks_.emplace(syntax_.calls);
    // As if the answer had written it.
    if (style.startsInCall)
      held_ = syntax_.calls.open();
    unwritten_ = held_.size();
  }

  AnswerDelta push(std::string_view text) override {
    AnswerDelta delta;
    held_ += text;
    while (step(delta)) {
    }
    return delta;
  }

  AnswerDelta finish() override {
    AnswerDelta delta = push("");
    if (part_ == Part::Calls || part_ == Part::Call) {
      // Marks after the last call say nothing.
      if (part_ == Part::Call && isSaid_) {
        reader_->cut(held_, call_);
        sayCall(delta);
      } else if (part_ == Part::Call || calls_ == firstCall_ || !raw_.empty()) {
        giveBack(delta, held_.size());
      }
    } else {
      say(delta, written(held_));
      out(delta) += spaces_;
    }
    held_.clear();
    spaces_.clear();
    return delta;
  }

private:
  enum class Part : uint8_t {
    Content,
    Reasoning,
    Calls, // where calls may stand
    Call,
  };

  // Takes one thing from what is held. False: more text is needed.
  bool step(AnswerDelta &delta) {
    switch (part_) {
    case Part::Content:
      return stepContent(delta);
    case Part::Reasoning:
      return stepReasoning(delta);
    case Part::Calls:
      return stepCalls(delta);
    case Part::Call:
      return stepCall(delta);
    }
    return false;
  }

  // Says what comes before the first of some marks. Its place; nothing: more text is needed.
  template <typename Marks> std::optional<size_t> sayUpTo(AnswerDelta &delta, const Marks &marks) {
    size_t first = held_.npos, held = 0;
    for (const auto &mark : marks) {
      first = std::min(first, held_.find(mark));
      held = std::max(held, heldBytes(held_, mark));
    }
    const size_t free = first != held_.npos ? first : held_.size() - held;
    say(delta, written(std::string_view(held_).substr(0, free)));
    unwritten_ -= std::min(unwritten_, free);
    held_.erase(0, free);
    return first != held_.npos ? std::optional<size_t>(0) : std::nullopt;
  }

  bool stepReasoning(AnswerDelta &delta) {
    const ReasoningSyntax &marks = syntax_.reasoning;
    // A model may open again what its prompt has opened.
    if (atOpen_ && !marks.open.empty()) {
      const MarkMatch open = matchMark(held_, marks.open);
      if (open.isPartial())
        return false;
      held_.erase(0, open.bytes);
      atOpen_ = false;
    }
    std::vector<std::string_view> ends = {marks.close};
    if (syntax_.content.isMarked() && !syntax_.calls.promptOpens)
      ends.push_back(syntax_.content.open);
    if (!sayUpTo(delta, ends))
      return false;
    const bool isClosed = std::string_view(held_).starts_with(marks.close);
    enter(Part::Content, isClosed ? marks.close.size() : syntax_.content.open.size());
    return true;
  }

  // Marks of content, which are no part of it. True: one was taken. Nothing: more text is needed.
  std::optional<bool> takeContentMark() {
    const ContentSyntax &marks = syntax_.content;
    bool isPartial = false;
    for (const std::string_view mark : {std::string_view(marks.open), std::string_view(marks.close),
                                        std::string_view(marks.turnEnd)}) {
      if (!mark.empty() && std::string_view(held_).starts_with(mark)) {
        enter(Part::Content, mark.size());
        return true;
      }
      isPartial |= mark.starts_with(held_);
    }
    return isPartial ? std::nullopt : std::optional(false);
  }

  bool stepContent(AnswerDelta &delta) {
    if (marks_ && marks_->bare && !saidContent_) {
      const size_t at = held_.find_first_not_of(kMarkSpace);
      if (at != held_.npos && held_[at] == marks_->bare)
        return enterCalls(0);
    }
    // An answer without thoughts may begin with the mark that ends them.
    if (const std::string_view close = syntax_.reasoning.close; !close.empty() && !saidContent_) {
      const MarkMatch match = matchMark(held_, close);
      if (match.isWhole())
        enter(Part::Content, match.bytes);
      if (match.isWhole() || match.isPartial())
        return match.isWhole();
    }
    std::vector<std::string_view> marks;
    const std::string_view open = syntax_.reasoning.open;
    if (!open.empty())
      marks.push_back(open);
    if (marks_)
      marks.insert(marks.end(), marks_->triggers.begin(), marks_->triggers.end());
    for (const std::string *mark :
         {&syntax_.content.open, &syntax_.content.close, &syntax_.content.turnEnd})
      if (syntax_.content.isMarked() && !mark->empty())
        marks.emplace_back(*mark);
    if (!sayUpTo(delta, marks))
      return false;
    if (syntax_.content.isMarked()) {
      const auto taken = takeContentMark();
      if (!taken || *taken)
        return taken.has_value();
    }
    const std::string_view text = held_;
    if (!open.empty() && text.starts_with(open)) {
      enter(Part::Reasoning, open.size());
      return true;
    }
    const auto trigger = std::ranges::find_if(
        marks_->triggers, [&](const std::string &each) { return text.starts_with(each); });
    return enterCalls(trigger->size());
  }

  // Without what the prompt has of a mark.
  std::string_view written(std::string_view text) const {
    return text.substr(std::min(unwritten_, text.size()));
  }

  void enter(Part part, size_t markBytes) {
    unwritten_ = 0;
    held_.erase(0, markBytes);
    spaces_.clear();
    part_ = part;
    afterMark_ = true;
  }

  bool enterCalls(size_t triggerBytes) {
    part_ = Part::Calls;
    firstCall_ = calls_;
    trigger_ = triggerBytes;
    raw_ = std::exchange(spaces_, {});
    spacesInRaw_ = raw_.size();
    return true;
  }

  // A mark around calls, a call, or what belongs to neither.
  bool stepCalls(AnswerDelta &delta) {
    const std::string_view text = trimLeft(held_);
    if (text.empty())
      return false;
    bool isPartial = false;
    // What is no mark may be the name that a call begins with.
    const bool beginsWithName = chunksOf(syntax_.calls.open()).empty();
    if (!beginsWithName && opensCall(text, isPartial))
      return true;
    size_t bytes = 0; // of the longest mark, since one may begin with another
    bool endsCall = false;
    for (const bool isAfter : {false, true})
      for (const std::string &mark : isAfter ? marks_->after : marks_->before) {
        const MarkMatch match = matchMark(held_, mark);
        isPartial |= match.isPartial();
        if (!match.isWhole() || match.bytes <= bytes)
          continue;
        bytes = match.bytes;
        endsCall = isAfter;
      }
    if (isPartial)
      return false;
    if (bytes > 0) {
      consume(bytes);
      if (endsCall && calls_ > firstCall_)
        raw_.clear();
      return true;
    }
    if (beginsWithName && opensCall(text, isPartial))
      return true;
    const bool hasRaw = raw_.size() > spacesInRaw_;
    if (calls_ == firstCall_ || hasRaw)
      giveBack(delta, hasRaw ? 0 : std::max<size_t>(trigger_, 1));
    leave();
    return true;
  }

  bool opensCall(std::string_view text, bool &isPartial) {
    if (syntax_.calls.shape == CallShape::Json) {
      if (!text.starts_with('{'))
        return false;
      consume(held_.size() - text.size());
      return enterCall(makeJsonCallReader(syntax_.calls));
    }
    const MarkMatch open = matchMark(text, syntax_.calls.open());
    const MarkMatch last =
        marks_->lastOfOpen.empty() ? MarkMatch() : matchMark(text, marks_->lastOfOpen);
    isPartial |= open.isPartial() || last.isPartial();
    if (!open.isWhole() && !last.isWhole())
      return false;
    consume(held_.size() - text.size() + (open.isWhole() ? open.bytes : last.bytes));
    return enterCall(makeNamedCallReader(syntax_.calls, style_.tools, true));
  }

  bool enterCall(std::unique_ptr<CallReader> reader) {
    reader_ = std::move(reader);
    call_ = {};
    isSaid_ = false;
    part_ = Part::Call;
    return true;
  }

  bool stepCall(AnswerDelta &delta) {
    size_t used = 0;
    ReadState state = reader_->read(held_, used, call_);
    consume(used);
    if (state == ReadState::Done && style_.wholeCalls && !isObject(call_.arguments))
      state = ReadState::Wrong;
    // Said before what is wrong with it has come, as it would be in smaller pieces.
    if (call_.isKnown && (state == ReadState::Done || !style_.wholeCalls))
      sayCall(delta);
    if (state == ReadState::More)
      return false;
    if (state == ReadState::Wrong) {
      if (!isSaid_)
        giveBack(delta, 0);
      leave();
      return true;
    }
    raw_.clear();
    spacesInRaw_ = 0;
    unwritten_ = 0;
    part_ = Part::Calls;
    return true;
  }

  static bool isObject(std::string_view text) {
    const auto json = jinja::inputFromJson(text);
    return json && json->object();
  }

  void sayCall(AnswerDelta &delta) {
    const bool isNew = !std::exchange(isSaid_, true);
    calls_ += isNew;
    const size_t index = calls_ - 1;
    std::string arguments = std::exchange(call_.arguments, {});
    if ((style_.oneCall && index > 0) || (!isNew && arguments.empty()))
      return;
    ToolCallDelta made{index, {{}, {}, std::move(arguments)}};
    if (isNew) {
      made.call.id = call_.id.empty() ? newId() : call_.id;
      made.call.name = call_.name;
    }
    delta.calls.push_back(std::move(made));
  }

  std::string newId() const {
    constexpr size_t kShortLetters = 9;
    return syntax_.calls.shortIds ? randomId("", kShortLetters) : randomId("call_");
  }

  void consume(size_t bytes) {
    if (part_ != Part::Call || !isSaid_)
      raw_.append(held_, 0, bytes);
    held_.erase(0, bytes);
  }

  // What looked like a call is content, with some more of what is held.
  void giveBack(AnswerDelta &delta, size_t more) {
    consume(std::min(more, held_.size()));
    const std::string text = std::exchange(raw_, {});
    afterMark_ = calls_ > firstCall_;
    part_ = Part::Content;
    say(delta, written(text));
    unwritten_ = 0;
  }

  // The rest is content.
  void leave() {
    part_ = Part::Content;
    if (calls_ > firstCall_)
      afterMark_ = true;
    raw_.clear();
    reader_.reset();
  }

  std::string &out(AnswerDelta &delta) const {
    return part_ == Part::Reasoning ? delta.reasoning : delta.content;
  }

  // White space at the end waits for what comes after it.
  void say(AnswerDelta &delta, std::string_view text) {
    if (afterMark_) {
      text = trimLeft(text);
      if (text.empty())
        return;
      afterMark_ = false;
    }
    const size_t end = text.find_last_not_of(kMarkSpace) + 1; // 0: there is nothing else
    if (end > 0) {
      out(delta) += spaces_;
      out(delta) += text.substr(0, end);
      spaces_.clear();
      saidContent_ |= part_ == Part::Content;
    }
    spaces_ += text.substr(end);
  }

  const AnswerStyle style_;
  const AnswerSyntax &syntax_;
  std::optional<CallMarks> marks_;
  Part part_;
  bool afterMark_, atOpen_;
  bool saidContent_ = false;
  std::string held_, spaces_;
  size_t unwritten_ = 0; // bytes at the begin of the answer that the prompt has

  std::unique_ptr<CallReader> reader_;
  CallParts call_;
  bool isSaid_ = false;    // the call's name was given
  size_t calls_ = 0;       // so far
  size_t firstCall_ = 0;   // calls before this place for calls
  size_t trigger_ = 0;     // bytes of the mark by which it was found
  std::string raw_;        // what was read since the last call, and may be content
  size_t spacesInRaw_ = 0; // before that mark
};

class PlainParser : public AnswerParser {
public:
  AnswerDelta push(std::string_view text) override { return {.content = std::string(text)}; }
  AnswerDelta finish() override { return {}; }
};

} // namespace

void AnswerText::add(const AnswerDelta &delta) {
  content += delta.content;
  reasoning += delta.reasoning;
  for (const ToolCallDelta &part : delta.calls) {
    if (part.index >= toolCalls.size())
      toolCalls.push_back(part.call);
    else
      toolCalls[part.index].arguments += part.call.arguments;
  }
}

std::unique_ptr<AnswerParser> makeAnswerParser(const AnswerStyle &style) {
  if (!style.syntax)
    return std::make_unique<PlainParser>();
  if (style.syntax->usesChannels())
    return makeChannelParser(style);
  const bool readsCalls = style.readsCalls && style.syntax->calls.shape != CallShape::None;
  if (!style.syntax->thinks() && !readsCalls && !style.syntax->content.isMarked())
    return std::make_unique<PlainParser>();
  return std::make_unique<MarkParser>(style);
}

std::string randomId(std::string_view prefix, size_t letters) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::random_device device;
  std::string id(prefix);
  for (size_t i = 0; i < letters; ++i)
    id += kLetters[device() % kLetters.size()];
  return id;
}

} // namespace sinter::serve
