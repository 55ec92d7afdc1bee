// Prompts that ask for the middle of a text, by the tokens that a model was trained with.
#pragma once

#include "llm/model.h"
#include "serve/api/request_reader.h"

namespace sinter::serve {

struct InfillRequest {
  struct File {
    std::string name, text;
  };
  std::string prefix, suffix;
  std::vector<File> others; // of the same repository, before these
};

// Nothing in the texts is a control token. Unsupported, with the request's field: the model has no
// tokens for it.
ApiResult<std::vector<TokenId>> infillTokens(const ModelFile &file, const InfillRequest &request,
                                             const std::string &field);

// llama-server's "input_prefix", "prompt" (more of the prefix), "input_suffix" and "input_extra".
InfillRequest readInfill(const RequestReader &body);

} // namespace sinter::serve
