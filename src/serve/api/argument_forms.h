// Readers of arguments that are neither JSON nor flat tags.
#pragma once

#include "serve/api/argument_reader.h"

namespace sinter::serve {

inline constexpr size_t kMostKeyBytes = 1024;

// (key='text', other={"a": [True]}): literals of Python or of JSON.
std::unique_ptr<ArgumentReader> makeKeywordReader();
// A tag of its name around each argument, and around each part of objects and lists.
std::unique_ptr<ArgumentReader> makeElementReader(const CallSyntax &syntax,
                                                  const ParameterTypes *types);

// The JSON of a value without quotes that need not be a text: what is neither JSON nor a literal of
// Python of these types is one.
std::string jsonOf(std::string_view text, uint32_t types);

} // namespace sinter::serve
