// How a model writes what is not plain text: its thoughts, and its calls of tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

enum class CallShape : uint8_t {
  None,     // there are no calls, or nobody knows their form
  Json,     // an object that has the name and the arguments as members
  Named,    // the name and the arguments between marks
  Channels, // messages whose heads say to whom they go, as gpt-oss writes them
};

// What stands in a call besides its marks. Number: which of the answer's calls it is.
enum class CallSlot : uint8_t { Name, Arguments, Id, Number };

struct CallPart {
  std::string before; // the mark
  CallSlot slot;
};

enum class ArgumentForm : uint8_t {
  Json,     // an object
  Tags,     // each argument between tags
  Braces,   // {key:<|"|>text<|"|>,other:1}, as Gemma 4 writes it
  Keywords, // (key='text', other=1), as LFM2 writes it
  Elements, // each argument in tags of its name, as are parts of objects; of lists in <item>
};
inline constexpr const char *kBraceQuote = "<|\"|>"; // of Braces

// Of ArgumentForm::Tags and Elements.
struct ArgumentTags {
  std::string keyOpen;    // before a key
  std::string textOpen;   // between a key and a value that is a text
  std::string otherOpen;  // the same before other values; mostly equal
  std::string close;      // after a value; of Elements, the key and `textOpen` follow it
  bool nameTypes = false; // `otherOpen` has kNumberType in the place of the value's type

  bool tellTexts() const { return textOpen != otherOpen; }
  std::string openOfType(std::string_view type) const {
    std::string open = otherOpen;
    return nameTypes ? open.replace(open.find(kNumberType), kNumberType.size(), type) : open;
  }
  static constexpr std::string_view kTextType = "string", kNumberType = "number";
};

// Marks are as the template writes them, with white space; readers take any white space for it.
struct CallSyntax {
  CallShape shape = CallShape::None;
  ArgumentForm arguments = ArgumentForm::Json;
  std::string begin;           // before the first call
  std::vector<CallPart> parts; // of each call, in order
  std::string close;           // of each call, after its last part
  std::string separator;       // between a `close` and the next call
  std::string end;             // after the last call
  ArgumentTags tags;
  bool isList = false;      // of objects: the brackets are in `begin` and `end`
  bool severalCalls = true; // false: an answer has one at most
  bool promptOpens = false; // prompts end with the mark of the first call
  bool idHoldsName = false; // Name is an id such as "functions.NAME:0"
  bool shortIds = false;    // ids in messages have nine letters or digits
  // Members of CallShape::Json.
  std::string nameKey = "name", argumentsKey = "arguments";

  // What a call begins with, up to its first slot.
  const std::string &open() const { return parts.front().before; }
};

struct ReasoningSyntax {
  std::string open,
      close; // without white space around them; both empty: no thoughts are told apart
};

// Around what is said, where a model marks that; each may be empty.
struct ContentSyntax {
  std::string open, close;
  std::string turnEnd; // what follows `close`, and may follow calls

  bool isMarked() const { return !open.empty(); }
};

struct AnswerSyntax {
  CallSyntax calls;
  ReasoningSyntax reasoning;
  ContentSyntax content;
  bool offersTools = false;     // the template writes tools into prompts
  bool readsSystem = false;     // and messages of the system
  bool argumentsAsText = false; // messages have the arguments of calls as text, not as objects

  bool usesChannels() const { return calls.shape == CallShape::Channels; }
  bool thinks() const { return usesChannels() || !reasoning.close.empty(); }
};

} // namespace sinter
