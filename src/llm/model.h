// A language model ready to answer: its file, tokenizer and template, and the runner of its plan.
#pragma once

#include "format/gguf.h"
#include "hal/hal.h"
#include "llm/chat/answer_syntax.h"
#include "llm/chat/file_templates.h"
#include "llm/grammar_forms.h"
#include "llm/plan_runner.h"
#include "llm/tokenizer/tokenizer.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace sinter {

// Whether a file is refused whose tokenizer is absent, broken or of an unknown kind.
enum class TextNeed : uint8_t { Required, Optional };

// A model file and what can be known of it without a plan.
class ModelFile {
public:
  // Opens and checks the file and builds its tokenizer. Errors: those of GgufFile::openModel,
  // vocabularyFromGguf and Tokenizer::create, each with the path.
  static Result<ModelFile> open(const std::string &path, TextNeed text = TextNeed::Required);

  const std::string &path() const { return path_; }
  const GgufFile &gguf() const { return gguf_; }
  // False only where text was optional.
  bool hasTokenizer() const { return tokenizer_.has_value(); }
  const Tokenizer &tokenizer() const;

  // The context that a session of this file gets, as contextTokensOf() says. A file that does not
  // say what its model was made for is refused elsewhere.
  Result<uint32_t> contextTokens(uint32_t asked) const;
  // The tokens of a prompt as it stands. Unsupported where the vocabulary cannot express it.
  // InvalidArgument, with the byte: it is not UTF-8. Without a tokenizer: why there is none.
  Result<std::vector<TokenId>> encodeRaw(std::string_view prompt) const;
  // A conversation as the file's chat template writes it, for messageList(). Unsupported where the
  // file has no template; errors of ChatTemplate. InvalidArgument: an input has no effect.
  Result<std::vector<PromptPart>> renderChat(const jinja::Input &messages, bool addGenerationPrompt,
                                             const ChatInputs &inputs = {}) const;
  // The tokens of a conversation that asks for an answer: what renderChat() gives, after the begin
  // token where the vocabulary wants one and the template wrote none. InvalidArgument, with the
  // byte: a message is not UTF-8.
  Result<std::vector<TokenId>> encodeChat(std::span<const ChatMessage> messages,
                                          const ChatInputs &inputs = {}) const;
  // The tokens of what renderChat() gave, with the begin token as encodeChat() says.
  Result<std::vector<TokenId>> encodeParts(std::span<const PromptPart> parts) const;
  // Whether there is a template that takes such inputs, with the error of renderChat where not.
  Result<void> canChat(const ChatInputs &inputs = {}) const;
  // How answers to a conversation with such inputs are written, as the template tells; made when
  // first asked for, from any thread. Null where there is no template or no tokenizer.
  std::shared_ptr<const AnswerSyntax> answerSyntax(const ChatInputs &inputs = {}) const;
  // The file's own templates, by their names, and what stands in for them.
  const FileTemplates &chatTemplates() const { return chatTemplates_; }
  void useChatTemplate(ChatTemplate other) {
    chatTemplates_.replace(std::move(other));
    syntaxes_->known.clear();
  }
  // The tokens of a query and a document, which a model that ranks scores: as the file's template
  // for pairs says, else with the tokens between and around them that its tokenizer has for that.
  Result<std::vector<TokenId>> encodePair(std::string_view query, std::string_view document) const;
  // The tokens of text as a tree, for grammars; made when first asked for, from any thread. Of a
  // file with a tokenizer.
  std::shared_ptr<const grammar::TokenTrie> tokenTrie() const;
  // Forms that answers of this model were held to.
  GrammarForms &grammarForms() const { return *forms_; }
  // Unsupported, with what to do: the model cannot continue a text.
  Result<void> givesLogits() const;

private:
  ModelFile(std::string path, GgufFile gguf, Result<Tokenizer> tokenizer,
            FileTemplates chatTemplates)
      : path_(std::move(path)), gguf_(std::move(gguf)), tokenizer_(std::move(tokenizer)),
        chatTemplates_(std::move(chatTemplates)) {}

  std::string path_;
  GgufFile gguf_;
  Result<Tokenizer> tokenizer_;
  FileTemplates chatTemplates_;
  struct TrieSlot {
    std::once_flag once;
    std::shared_ptr<const grammar::TokenTrie> trie;
  };
  std::unique_ptr<TrieSlot> trie_ = std::make_unique<TrieSlot>(); // the file may be moved
  std::unique_ptr<GrammarForms> forms_ = std::make_unique<GrammarForms>();
  struct SyntaxSlot {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<const AnswerSyntax>> known; // by the template's source
  };
  std::unique_ptr<SyntaxSlot> syntaxes_ = std::make_unique<SyntaxSlot>();
};

// Owns all but the device, which must outlive it. Neither movable nor copyable: sessions borrow it.
// For one thread.
class Model {
public:
  // Fails as PlanRunner::create does, and with Corrupt where plan and tokenizer disagree.
  static Result<std::unique_ptr<Model>> create(ModelFile file,
                                               std::shared_ptr<const plan::Plan> plan,
                                               hal::Device &device,
                                               const PlanRunnerOptions &options = {});
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;

  const ModelFile &file() const { return file_; }
  const Tokenizer &tokenizer() const { return file_.tokenizer(); }
  PlanRunner &runner() { return *runner_; }
  PagePool &pages() { return *pages_; }

private:
  explicit Model(ModelFile file) : file_(std::move(file)) {}

  ModelFile file_;
  std::unique_ptr<PlanRunner> runner_;
  std::unique_ptr<PagePool> pages_;
};

} // namespace sinter
