// Arguments of calls as models write them, made into JSON while they come.
#pragma once

#include "llm/chat/answer_syntax.h"
#include "llm/chat/tool_types.h"

#include <memory>
#include <string>
#include <string_view>

namespace sinter::serve {

enum class ReadState : uint8_t {
  More,  // the rest of the text waits for what follows it
  Done,  // what is left of the text belongs to others
  Wrong, // it is not what was expected
};

class ArgumentReader {
public:
  virtual ~ArgumentReader() = default;
  // Takes a beginning of the text, of `used` bytes, and adds to `out` what it makes of it. What it
  // left comes again with what follows.
  virtual ReadState read(std::string_view text, size_t &used, std::string &out) = 0;
  // Whether it has read enough to know that these are arguments.
  virtual bool hasBegun() const = 0;
  // The answer ends within the arguments: adds what was held back of them, of which `rest` was
  // left.
  virtual void cut(std::string_view /*rest*/, std::string & /*out*/) {}
};

// Where an object or a list of JSON ends.
class JsonExtent {
public:
  // Takes its next byte, the bracket first. True: it was the last one.
  bool take(char byte);
  bool hasBegun() const { return hasBegun_; }

private:
  size_t depth_ = 0;
  bool isText_ = false, isEscaped_ = false, hasBegun_ = false;
};

// An object of JSON, given as it is written.
class JsonArguments : public ArgumentReader {
public:
  ReadState read(std::string_view text, size_t &used, std::string &out) override;
  bool hasBegun() const override { return extent_.hasBegun(); }

private:
  JsonExtent extent_;
};

// By the call's form. `types` are those of the tool's parameters; null: there is no such tool.
std::unique_ptr<ArgumentReader> makeArgumentReader(const CallSyntax &syntax,
                                                   const ParameterTypes *types);

} // namespace sinter::serve
