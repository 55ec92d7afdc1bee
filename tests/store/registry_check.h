// What must hold of whatever a registry answers; shared by the fuzzer and the test that replays its
// corpus.
#pragma once

#include "store/attempts.h"
#include "store/http_head.h"
#include "store/remote.h"

#include <algorithm>

namespace sinter::store {

// A model stays what it is when it is written and read again, and leads to its registry alone.
inline std::string modelInconsistencyOf(const Result<RemoteModel> &model, const ModelName &name) {
  if (!model)
    return "";
  Manifest manifest{name, model->source, {}};
  for (const RemoteLayer &remote : model->layers) {
    if (!remote.url.starts_with("https://test/") || remote.url.find("/../") != std::string::npos)
      return "a layer is at " + remote.url;
    manifest.layers.push_back(remote.layer);
    if (manifest.bytes() < remote.layer.bytes)
      return "the layers' bytes have no sum";
  }
  const auto again = Manifest::parse(manifest.text());
  return again && again->layers == manifest.layers && again->name == name
             ? ""
             : "the manifest is read otherwise than it was written: " + manifest.text();
}

// Lines of a head, and an answer's body as the text of an error.
inline std::string headInconsistencyOf(std::string_view text) {
  HttpAnswer answer;
  answer.errorText = text;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    readHeadLine(text.substr(0, end), answer.head);
    text.remove_prefix(end);
  }
  if (answer.head.range && answer.head.range->begin >= answer.head.range->end)
    return "a range has no bytes";
  if (answer.head.retryAfter.value_or(0) > 3600)
    return "a pause is too long";
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const std::string said = statusFailure("it", answer).status.message;
  return std::ranges::any_of(said, isControl) ? "a message has control characters: " + said : "";
}

inline std::string nameInconsistencyOf(std::string_view text) {
  const auto name = ModelName::parse(text);
  if (!name)
    return "";
  if (name->text().find("..") != std::string::npos)
    return "a name leads upwards: " + name->text();
  const auto again = ModelName::parse(name->text());
  return again && *again == *name ? "" : "a name is read otherwise than it was written";
}

// The bytes as a manifest, as the description of a repository, as the store's own manifest, as a
// name and as a head. Empty: each is read consistently, or an error.
inline std::string registryInconsistencyOf(std::string_view text) {
  const Endpoints endpoints{"https://test", "https://test", ""};
  for (const char *known : {"a:1", "hf.co/o/r:Q8_0", "hf.co/o/r"}) {
    const ModelName name = *ModelName::parse(known);
    for (const auto &model :
         {readRegistryManifest(text, name, endpoints), readRepository(text, name, endpoints)})
      if (std::string wrong = modelInconsistencyOf(model, name); !wrong.empty())
        return wrong;
  }
  if (const auto manifest = Manifest::parse(text))
    if (const auto again = Manifest::parse(manifest->text());
        !again || again->layers != manifest->layers)
      return "a stored manifest is read otherwise than it was written";
  std::string wrong = nameInconsistencyOf(text);
  return wrong.empty() ? headInconsistencyOf(text) : wrong;
}

} // namespace sinter::store
