// The order of the parts is that of Qwen2.5-Coder and StarCoder2: repository, files, prefix,
// suffix, middle.
#include "serve/api/infill.h"

namespace sinter::serve {
namespace {

constexpr size_t kMostFiles = 4096;
// Names that the request does not say.
constexpr const char *kRepository = "repository", *kFile = "file", *kOther = "other";

class InfillPrompt {
public:
  explicit InfillPrompt(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}

  void add(std::optional<TokenId> token) {
    if (token)
      ids_.push_back(*token);
  }
  Result<void> add(std::string_view text) {
    SINTER_ASSIGN(const Encoding encoding, tokenizer_.encode(text, {false, false}));
    ids_.insert(ids_.end(), encoding.ids.begin(), encoding.ids.end());
    return {};
  }
  // A file's name, where the model has a token for it; else a line between texts.
  Result<void> begin(const std::string &file) {
    const auto separator = tokenizer_.infill().separator;
    add(separator);
    return add(separator ? file + "\n" : "\n");
  }
  std::vector<TokenId> take() { return std::move(ids_); }

private:
  const Tokenizer &tokenizer_;
  std::vector<TokenId> ids_;
};

} // namespace

ApiResult<std::vector<TokenId>> infillTokens(const ModelFile &file, const InfillRequest &request,
                                             const std::string &field) {
  if (!file.hasTokenizer() || !file.tokenizer().infill().canFill())
    return tl::unexpected(ApiError(Code::Unsupported,
                                   "'" + field +
                                       "': the model fills in no text, since its vocabulary has no "
                                       "tokens for prefix, suffix and middle",
                                   field));
  const Tokenizer &tokenizer = file.tokenizer();
  const InfillTokens &tokens = tokenizer.infill();
  InfillPrompt prompt(tokenizer);
  if (tokenizer.addsBos())
    prompt.add(tokenizer.bos());
  if (!request.others.empty()) {
    prompt.add(tokens.repository);
    if (tokens.repository)
      SINTER_TRY(prompt.add(std::string(kRepository) + "\n"));
    for (const InfillRequest::File &other : request.others) {
      SINTER_TRY(prompt.begin(other.name));
      SINTER_TRY(prompt.add(other.text));
    }
    SINTER_TRY(prompt.begin(kFile));
  }
  prompt.add(tokens.prefix);
  SINTER_TRY(prompt.add(request.prefix));
  prompt.add(tokens.suffix);
  SINTER_TRY(prompt.add(request.suffix));
  prompt.add(tokens.middle);
  return prompt.take();
}

InfillRequest readInfill(const RequestReader &body) {
  InfillRequest made;
  for (const char *name : {"input_prefix", "input_suffix"})
    if (!body.find(name))
      body.wrong(name, "a text");
  made.prefix = body.text("input_prefix").value_or("") + body.text("prompt").value_or("");
  made.suffix = body.text("input_suffix").value_or("");
  const jinja::Input::List *others = body.list("input_extra", kMostFiles);
  for (size_t i = 0; others && i < others->size(); ++i) {
    const std::string path = body.pathOf("input_extra") + "[" + std::to_string(i) + "]";
    const RequestReader other((*others)[i], path, body.problem());
    if (!other.find("text"))
      other.wrong("text", "a text");
    made.others.push_back(
        {other.text("filename").value_or(kOther), other.text("text").value_or("")});
  }
  return made;
}

} // namespace sinter::serve
