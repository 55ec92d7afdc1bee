// Recognition and rendering of the ChatML family of chat templates.
#include "llm/chat/template.h"

#include "llm/chat/template_lexer.h"

#include <algorithm>
#include <array>

namespace sinter {
namespace {

using Node = TemplateNode;
using Word = TemplateWord;

constexpr size_t kMaxTemplateBytes = size_t{1} << 20;
constexpr std::string_view kStart = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>\n";
constexpr std::string_view kSystemStart = "<|im_start|>system\n";
constexpr std::string_view kAnswerStart = "<|im_start|>assistant\n";

// What a stretch of template renders: literal text with holes for the message's fields. The bytes
// of the holes cannot occur in a template that is text.
constexpr char kRoleHole = '\x01';
constexpr char kContentHole = '\x02';

// The words of a tag in one spelling: a['b'] as a.b, strings in double quotes, single spaces.
std::string spelled(const std::vector<Word> &words) {
  std::string out;
  auto symbol = [&](size_t i, std::string_view text) {
    return i < words.size() && words[i].kind == Word::Kind::Symbol && words[i].text == text;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    bool field = symbol(i, "[") && i + 1 < words.size() &&
                 words[i + 1].kind == Word::Kind::String && symbol(i + 2, "]");
    if (field) {
      out += "." + words[i + 1].text;
      i += 2;
    } else if (words[i].kind == Word::Kind::Symbol &&
               std::string_view(".[]").find(words[i].text) != std::string_view::npos) {
      out += words[i].text;
    } else {
      bool glued = out.empty() || out.ends_with('.') || out.ends_with('[');
      out += (glued ? "" : " ");
      out += words[i].kind == Word::Kind::String ? '"' + words[i].text + '"' : words[i].text;
    }
  }
  return out;
}

class Recogniser {
public:
  explicit Recogniser(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  Result<ChatMl> run() {
    ChatMl chat;
    skipPromptFlagDefault();
    SINTER_TRY(expect("for message in messages"));
    if (take("if loop.first and messages[0].role != \"system\"")) {
      SINTER_ASSIGN(std::string text, rendered());
      SINTER_TRY(expect("endif"));
      SINTER_ASSIGN(chat.defaultSystem, systemContent(text));
    }
    SINTER_ASSIGN(std::string message, rendered());
    if (message != std::string(kStart) + kRoleHole + '\n' + kContentHole + std::string(kEnd))
      return departs(
          "renders a message in another way than '<|im_start|>ROLE\\nCONTENT<|im_end|>\\n'");
    SINTER_TRY(expect("endfor"));
    SINTER_TRY(expect("if add_generation_prompt"));
    SINTER_ASSIGN(std::string prompt, rendered());
    if (prompt != kAnswerStart)
      return departs("starts an answer in another way than '<|im_start|>assistant\\n'");
    SINTER_TRY(expect("endif"));
    if (at_ != nodes_.size())
      return departs("goes on after the generation prompt");
    return chat;
  }

private:
  bool take(std::string_view statement) {
    if (at_ == nodes_.size() || nodes_[at_].kind != Node::Kind::Statement ||
        spelled(nodes_[at_].words) != statement)
      return false;
    ++at_;
    return true;
  }

  // The original ChatML template gives the flag a value where the caller did not.
  void skipPromptFlagDefault() {
    size_t start = at_;
    if (take("if not add_generation_prompt is defined") &&
        take("set add_generation_prompt = false") && take("endif"))
      return;
    at_ = start;
  }

  Fail departs(const std::string &how) const {
    auto offset = at_ < nodes_.size() ? std::optional<uint64_t>(nodes_[at_].offset) : std::nullopt;
    return fail(Code::Unsupported,
                "chat template is not of the ChatML family, the only one supported: it " + how,
                offset);
  }

  Result<void> expect(std::string_view statement) {
    if (take(statement))
      return {};
    std::string found = at_ == nodes_.size() ? "ends"
                        : nodes_[at_].kind == Node::Kind::Statement
                            ? "has '" + spelled(nodes_[at_].words).substr(0, 64) + "'"
                            : "has output";
    return departs(found + " where '" + std::string(statement) + "' is expected");
  }

  // What the texts and output tags from here to the next statement render.
  Result<std::string> rendered() {
    std::string out;
    for (; at_ < nodes_.size() && nodes_[at_].kind != Node::Kind::Statement; ++at_) {
      if (nodes_[at_].kind == Node::Kind::Text)
        out += nodes_[at_].text;
      else
        SINTER_TRY(renderOutput(nodes_[at_].words, out));
    }
    return out;
  }

  // Strings and the message's two fields, joined by '+'.
  Result<void> renderOutput(const std::vector<Word> &words, std::string &out) {
    std::vector<Word> term;
    for (size_t i = 0; i <= words.size(); ++i) {
      if (i < words.size() && words[i] != Word{Word::Kind::Symbol, "+"}) {
        term.push_back(words[i]);
        continue;
      }
      std::string spelling = spelled(term);
      if (term.size() == 1 && term[0].kind == Word::Kind::String)
        out += term[0].text;
      else if (spelling == "message.role")
        out += kRoleHole;
      else if (spelling == "message.content")
        out += kContentHole;
      else
        return departs("outputs '" + spelling.substr(0, 64) +
                       "', expected strings, message.role and message.content");
      term.clear();
    }
    return {};
  }

  Result<std::string> systemContent(std::string_view text) const {
    bool framed = text.starts_with(kSystemStart) && text.ends_with(kEnd) &&
                  text.size() >= kSystemStart.size() + kEnd.size();
    if (!framed)
      return departs("frames its default system message in another way than a message");
    text = text.substr(kSystemStart.size(), text.size() - kSystemStart.size() - kEnd.size());
    auto isHole = [](char c) { return c == kRoleHole || c == kContentHole; };
    if (text.find("<|im_") != std::string_view::npos || std::ranges::any_of(text, isHole))
      return departs("has more than text in its default system message");
    return std::string(text);
  }

  std::vector<Node> nodes_;
  size_t at_ = 0;
};

void append(std::vector<PromptPart> &parts, std::string_view text, bool markup) {
  if (!parts.empty() && parts.back().markup == markup)
    parts.back().text += text;
  else
    parts.push_back({std::string(text), markup});
}

void appendMessage(std::vector<PromptPart> &parts, std::string_view role,
                   std::string_view content) {
  append(parts, kStart, true);
  append(parts, std::string(role) + "\n" + std::string(content), false);
  append(parts, kEnd, true);
}

} // namespace

Result<ChatMl> recogniseChatMl(std::string_view source) {
  if (source.empty())
    return fail(Code::Unsupported,
                "model file has no chat template, expected one of the ChatML family");
  if (source.size() > kMaxTemplateBytes)
    return fail(Code::Unsupported, "chat template has " + std::to_string(source.size()) +
                                       " bytes, expected at most " +
                                       std::to_string(kMaxTemplateBytes));
  if (source.find(kRoleHole) != std::string_view::npos ||
      source.find(kContentHole) != std::string_view::npos)
    return fail(Code::Corrupt, "chat template holds control characters, expected text");
  SINTER_ASSIGN(std::vector<Node> nodes, lexTemplate(source));
  return Recogniser(std::move(nodes)).run();
}

std::vector<PromptPart> applyChatMl(const ChatMl &chat, std::span<const ChatMessage> messages,
                                    bool addGenerationPrompt) {
  std::vector<PromptPart> parts;
  if (chat.defaultSystem && !messages.empty() && messages[0].role != "system")
    appendMessage(parts, "system", *chat.defaultSystem);
  for (const ChatMessage &message : messages)
    appendMessage(parts, message.role, message.content);
  if (addGenerationPrompt)
    append(parts, kAnswerStart, true);
  return parts;
}

std::string promptText(std::span<const PromptPart> parts) {
  std::string text;
  for (const PromptPart &part : parts)
    text += part.text;
  return text;
}

} // namespace sinter
