// Reads names from the right: the tag, the model, its namespace, its host.
#include "store/model_name.h"

#include <algorithm>
#include <vector>

namespace sinter::store {
namespace {

constexpr std::string_view kLibrary = "library";
constexpr std::string_view kHuggingFace = "hf.co";
constexpr size_t kMostPart = 96; // bytes; what repositories of Hugging Face may have
constexpr size_t kMostParts = 3;

// Other names by which the two are known.
constexpr std::string_view kHuggingFaceHosts[] = {kHuggingFace, "huggingface.co"};
constexpr std::string_view kRegistryHost = "registry.ollama.ai";

bool isLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool isPart(std::string_view text) {
  if (text.empty() || text.size() > kMostPart || !(isLetterOrDigit(text[0]) || text[0] == '_'))
    return false;
  return text.find("..") == text.npos && std::ranges::all_of(text, [](char c) {
           return isLetterOrDigit(c) || c == '.' || c == '_' || c == '-';
         });
}

Fail refused(std::string_view text, const std::string &why) {
  std::string shown(text.substr(0, 2 * kMostPart));
  return fail(Code::InvalidArgument,
              "'" + shown + "' names no model that can be pulled or stored: " + why +
                  "; expected MODEL[:TAG], NAMESPACE/MODEL[:TAG] or hf.co/OWNER/REPOSITORY[:TAG]");
}

std::vector<std::string_view> partsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == path.npos)
      return parts;
    path.remove_prefix(slash + 1);
  }
}

} // namespace

Result<ModelName> ModelName::parse(std::string_view text) {
  std::string_view path = text;
  if (const size_t scheme = path.find("://"); scheme != path.npos)
    path.remove_prefix(scheme + 3);
  ModelName name;
  const size_t colon = path.rfind(':'), slash = path.rfind('/');
  if (colon != path.npos && (slash == path.npos || colon > slash)) {
    name.tag = path.substr(colon + 1);
    path = path.substr(0, colon);
  }
  std::vector<std::string_view> parts = partsOf(path);
  if (parts.size() > kMostParts)
    return refused(text, "it has " + std::to_string(parts.size()) + " parts");
  const bool hasHost = parts.size() == kMostParts;
  if (hasHost && std::ranges::find(kHuggingFaceHosts, parts[0]) != std::end(kHuggingFaceHosts))
    name.origin = Origin::HuggingFace;
  else if (hasHost && parts[0] != kRegistryHost)
    return refused(text, "its host '" + std::string(parts[0].substr(0, kMostPart)) +
                             "' is not known (SINTER_REGISTRY names another registry)");
  if (hasHost)
    parts.erase(parts.begin());
  name.space = parts.size() == 2 ? parts[0] : kLibrary;
  name.model = parts.back();
  for (const std::string_view part :
       {std::string_view(name.space), std::string_view(name.model), std::string_view(name.tag)})
    if (!isPart(part))
      return refused(text, "'" + std::string(part.substr(0, kMostPart)) +
                               "' has other characters than letters, digits, '.', '_' and '-', or "
                               "is empty or too long");
  return name;
}

std::string ModelName::text() const {
  std::string text;
  if (origin == Origin::HuggingFace)
    text = std::string(kHuggingFace) + "/";
  if (origin == Origin::HuggingFace || space != kLibrary)
    text += space + "/";
  return text + model + ":" + tag;
}

} // namespace sinter::store
