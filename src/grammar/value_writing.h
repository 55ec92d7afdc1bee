// How a grammar writes the values of a schema: as JSON, or as models write them that use its types
// with other marks.
#pragma once

#include <array>
#include <string>

namespace sinter::grammar {

struct ObjectWriting {
  std::string open = "{", assign = ":", close = "}";
  bool quotesKeys = true; // else keys that are words have no quotes
};

struct ValueWriting {
  std::string textOpen = "\"", textClose = "\"";
  // What a text escapes besides controls and backslashes; 0: it escapes nothing, and never has
  // `textClose` in it.
  char escaped = '"';
  bool isSpaced = true; // where JSON allows it
  std::array<std::string, 3> constants = {"true", "false", "null"};
  ObjectWriting root = {}, inner = {}; // of the value as a whole, where it is an object; of others
};

} // namespace sinter::grammar
