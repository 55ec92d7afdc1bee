// Grammars of answers: thoughts first, then calls of tools as the model's syntax writes them, or
// text, or what a form asks for.
#pragma once

#include "grammar/grammar.h"
#include "jinja/input.h"
#include "llm/chat/answer_syntax.h"
#include "llm/tokenizer/tokenizer.h"

#include <optional>

namespace sinter {

struct OfferedTool {
  std::string name;
  jinja::Input parameters = {}; // a JSON schema; null: there are none
  bool isStrict = false;
};

enum class CallWish : uint8_t { None, May, Must };

struct AnswerRules {
  CallWish calls = CallWish::None;
  std::vector<OfferedTool> tools = {}; // that may be called
  bool severalCalls = true;
  bool startsInReasoning = false; // the prompt opened thoughts
  bool startsInContent = false;   // the prompt has the mark of what is said
  bool startsInCall = false;      // the prompt has the mark of a first call
  bool mayReason = true;          // else there are thoughts only where the prompt opened them
  std::optional<grammar::Grammar> form = {}; // of what is no call; none: any text
};

// Whatever the grammar has, the reader of such answers takes apart into calls whose arguments the
// schemas allow: those of all tools where a call must be made, else those of strict ones. Errors:
// those of parseJsonSchema, with the tool's name. Unsupported: what a schema asks for cannot be
// told from texts without quotes, or the syntax is not known.
Result<grammar::Grammar> answerGrammar(const AnswerSyntax &syntax, AnswerRules rules,
                                       const Tokenizer &tokenizer);

// A text that is the same where all that answerGrammar() is given is, apart from rules.form; null:
// the answer is content as it stands.
std::string answerGrammarText(const AnswerSyntax *syntax, const AnswerRules &rules);

// Control tokens that stand in the marks, which a reader must see; ascending.
std::vector<TokenId> markTokens(const AnswerSyntax &syntax, const Tokenizer &tokenizer);

} // namespace sinter
