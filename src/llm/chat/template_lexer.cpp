// Cuts a Jinja template into text, output tags and statements.
#include "llm/chat/template_lexer.h"

namespace sinter {
namespace {

constexpr std::string_view kSpaces = " \t\n\r\f\v";

bool isSpace(char c) {
  return kSpaces.find(c) != std::string_view::npos;
}
bool isNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

char unescaped(char c) {
  return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<TemplateNode>> run() {
    while (at_ < source_.size()) {
      size_t open = findOpen();
      addText(open);
      if (open == source_.size())
        break;
      SINTER_TRY(source_[open + 1] == '#' ? skipComment(open) : addTag(open));
    }
    return std::move(nodes_);
  }

private:
  size_t findOpen() const {
    for (size_t i = source_.find('{', at_); i != std::string_view::npos;
         i = source_.find('{', i + 1))
      if (i + 1 < source_.size() &&
          std::string_view("{%#").find(source_[i + 1]) != std::string_view::npos)
        return i;
    return source_.size();
  }

  // The text before a tag that opens at `open`, stripped as that tag and the one before ask for.
  void addText(size_t open) {
    std::string_view text = source_.substr(at_, open - at_);
    if (stripNext_)
      text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    else if (dropNewline_ && text.starts_with('\n'))
      text.remove_prefix(1);
    if (open < source_.size()) {
      char mark = open + 2 < source_.size() ? source_[open + 2] : '\0';
      if (mark == '-')
        text = text.substr(0, text.find_last_not_of(kSpaces) + 1);
      else if (source_[open + 1] != '{' && mark != '+')
        text = withoutIndent(text, open);
    }
    if (!text.empty())
      nodes_.push_back({TemplateNode::Kind::Text, std::string(text), {}, at_});
  }

  // Spaces between the start of the line and a block tag render nothing.
  std::string_view withoutIndent(std::string_view text, size_t open) const {
    size_t keep = text.find_last_not_of(" \t") + 1;
    bool atLineStart = keep > 0 ? text[keep - 1] == '\n'
                                : open == text.size() || source_[open - text.size() - 1] == '\n';
    return atLineStart ? text.substr(0, keep) : text;
  }

  void close(size_t end, bool strip, bool isOutput) {
    at_ = end;
    stripNext_ = strip;
    dropNewline_ = !isOutput;
  }

  Result<void> skipComment(size_t open) {
    size_t end = source_.find("#}", open + 2);
    if (end == std::string_view::npos)
      return fail(Code::Corrupt, "chat template has a comment that does not end, expected '#}'",
                  open);
    close(end + 2, source_[end - 1] == '-', false);
    return {};
  }

  Result<void> addTag(size_t open) {
    bool isOutput = source_[open + 1] == '{';
    TemplateNode node{
        isOutput ? TemplateNode::Kind::Output : TemplateNode::Kind::Statement, {}, {}, open};
    std::string_view closing = isOutput ? "}}" : "%}";
    size_t at = open + 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+'))
      ++at;
    while (at < source_.size()) {
      std::string_view rest = source_.substr(at);
      bool strip = rest[0] == '-' && rest.substr(1).starts_with(closing);
      if (strip || rest.starts_with(closing)) {
        close(at + strip + 2, strip, isOutput);
        nodes_.push_back(std::move(node));
        return {};
      }
      SINTER_ASSIGN(at, addWord(at, node.words));
    }
    return fail(
        Code::Corrupt,
        "chat template has a tag that does not end, expected '" + std::string(closing) + "'", open);
  }

  // Adds the word at `at`, if it is not white space; returns where it ends.
  Result<size_t> addWord(size_t at, std::vector<TemplateWord> &words) const {
    char c = source_[at];
    if (isSpace(c))
      return at + 1;
    if (c == '\'' || c == '"')
      return addString(at, words);
    size_t end = at;
    while (end < source_.size() && isNameByte(source_[end]))
      ++end;
    if (end > at) {
      words.push_back({TemplateWord::Kind::Name, std::string(source_.substr(at, end - at))});
      return end;
    }
    bool twoBytes = at + 1 < source_.size() && source_[at + 1] == '=' &&
                    std::string_view("=!<>").find(c) != std::string_view::npos;
    end = at + 1 + twoBytes;
    words.push_back({TemplateWord::Kind::Symbol, std::string(source_.substr(at, end - at))});
    return end;
  }

  Result<size_t> addString(size_t at, std::vector<TemplateWord> &words) const {
    std::string text;
    for (size_t i = at + 1; i < source_.size(); ++i) {
      if (source_[i] == source_[at]) {
        words.push_back({TemplateWord::Kind::String, std::move(text)});
        return i + 1;
      }
      if (source_[i] == '\\' && i + 1 < source_.size())
        text += unescaped(source_[++i]);
      else
        text += source_[i];
    }
    return fail(Code::Corrupt, "chat template has a string that does not end", at);
  }

  std::string_view source_;
  size_t at_ = 0;
  bool stripNext_ = false;
  bool dropNewline_ = false; // a block tag swallows the line end after it
  std::vector<TemplateNode> nodes_;
};

} // namespace

Result<std::vector<TemplateNode>> lexTemplate(std::string_view source) {
  return Lexer(source).run();
}

} // namespace sinter
