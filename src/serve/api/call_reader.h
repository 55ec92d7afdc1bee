// One call of a tool, read while it comes.
#pragma once

#include "serve/api/argument_reader.h"

namespace sinter::serve {

// What is known of a call; `arguments` is what was read since the caller took it.
struct CallParts {
  std::string id = {}, name = {}, arguments = {};
  bool isKnown = false; // its name is known, and that arguments follow
};

class CallReader {
public:
  virtual ~CallReader() = default;
  // As ArgumentReader::read.
  virtual ReadState read(std::string_view text, size_t &used, CallParts &call) = 0;
  // As ArgumentReader::cut.
  virtual void cut(std::string_view /*rest*/, CallParts & /*call*/) {}
};

// An object with the name and the arguments among its members, in any order.
std::unique_ptr<CallReader> makeJsonCallReader(const CallSyntax &syntax);
// Marks and slots in order. `isOpen`: the first mark was read.
std::unique_ptr<CallReader> makeNamedCallReader(const CallSyntax &syntax, const ToolTypes &tools,
                                                bool isOpen);

} // namespace sinter::serve
