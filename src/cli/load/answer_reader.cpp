// Lines to events, events to tokens.
#include "cli/load/answer_reader.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostEventBytes = 1 << 20;
constexpr size_t kMostExampleBytes = 200;

const Json *member(const Json &object, const char *name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? nullptr : &*found;
}

bool hasText(const Json &object, const char *name) {
  const Json *found = member(object, name);
  return found && found->is_string() && !found->get_ref<const std::string &>().empty();
}

// Whether a choice brings a part of the answer.
bool hasToken(const Json &choice) {
  if (hasText(choice, "text"))
    return true;
  const Json *delta = member(choice, "delta");
  if (!delta)
    return false;
  const Json *calls = member(*delta, "tool_calls");
  return hasText(*delta, "content") || hasText(*delta, "reasoning_content") ||
         hasText(*delta, "reasoning") || (calls && calls->is_array() && !calls->empty());
}

std::optional<uint64_t> countOf(const Json &usage, const char *name) {
  const Json *found = member(usage, name);
  return found && found->is_number_unsigned() ? std::optional(found->get<uint64_t>())
                                              : std::nullopt;
}

} // namespace

void AnswerReader::put(std::string_view bytes, LoadClock::time_point when) {
  while (!bytes.empty() && !fault_) {
    const size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() > kMostEventBytes) {
      fault_ = {"an event that is too long", line_.substr(0, kMostExampleBytes)};
      return;
    }
    if (end == bytes.npos)
      return;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r'))
      line_.pop_back();
    putLine(line_, when);
    line_.clear();
  }
}

void AnswerReader::putLine(std::string_view line, LoadClock::time_point when) {
  if (line.empty()) {
    if (!data_.empty())
      putEvent(data_, when);
    data_.clear();
    return;
  }
  if (!line.starts_with("data:"))
    return; // comments, names and numbers of events
  line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
  data_ += data_.empty() ? "" : "\n";
  data_ += line;
  if (data_.size() > kMostEventBytes)
    fault_ = {"an event that is too long", data_.substr(0, kMostExampleBytes)};
}

void AnswerReader::putEvent(std::string_view text, LoadClock::time_point when) {
  if (text == "[DONE]") {
    isDone_ = true;
    return;
  }
  const Json event = Json::parse(text, nullptr, false);
  if (!event.is_object()) {
    fault_ = {"an event that is no JSON object", std::string(text.substr(0, kMostExampleBytes))};
    return;
  }
  if (const Json *error = member(event, "error"); error && !error->is_null()) {
    fault_ = {"an error within the answer", std::string(text.substr(0, kMostExampleBytes))};
    return;
  }
  if (const Json *usage = member(event, "usage"); usage && usage->is_object()) {
    usedTokens_ = countOf(*usage, "completion_tokens");
    promptTokens_ = countOf(*usage, "prompt_tokens").value_or(promptTokens_);
  }
  const Json *choices = member(event, "choices");
  if (!choices || !choices->is_array())
    return;
  bool brings = false;
  for (const Json &choice : *choices) {
    brings = brings || hasToken(choice);
    isFinished_ = isFinished_ || hasText(choice, "finish_reason");
  }
  if (!brings)
    return;
  ++events_;
  times_.onToken(when);
}

void AnswerReader::end() {
  if (fault_)
    return;
  if (!isDone_ && !isFinished_)
    fault_ = {"an answer that ends without a reason", data_.substr(0, kMostExampleBytes)};
  else if (events_ == 0)
    fault_ = {"an answer without a token", ""};
}

} // namespace sinter::cli
