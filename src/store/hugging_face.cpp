// Repositories of Hugging Face: of the GGUF files of one revision, those of the quantization that
// the tag names.
#include "base/sha256_stream.h"
#include "store/json_fields.h"
#include "store/remote.h"

#include <algorithm>
#include <map>

namespace sinter::store {
namespace {

constexpr size_t kMostAnswerBytes = 32 << 20;
constexpr size_t kMostFiles = 100'000;
constexpr const char *kSuffix = ".gguf";

// Taken in this order where no tag was given: small enough for most machines, close to the model.
constexpr std::string_view kPreferred[] = {"Q4_K_M", "Q4_K_S", "Q4_0",   "Q5_K_M", "Q4_1",
                                           "IQ4_NL", "IQ4_XS", "Q5_K_S", "Q6_K",   "Q8_0",
                                           "MXFP4",  "BF16",   "F16",    "F32"};

struct File {
  std::string path;
  uint64_t bytes = 0;
  std::optional<Sha256Digest> digest;
};

// A model: one file, or several parts in order.
struct Candidate {
  std::vector<File> parts;
  size_t count = 1; // of parts that there should be
};

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  });
  return lower;
}

bool isSafePath(std::string_view path) {
  if (path.empty() || path.size() > 500 || path.front() == '/' || path.find('\0') != path.npos ||
      path.find('\\') != path.npos)
    return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part.starts_with('.') || part.size() > 200)
      return false;
    if (slash == path.npos)
      return true;
    path.remove_prefix(slash + 1);
  }
}

std::string_view fileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

std::string_view stemOf(std::string_view path) {
  return path.substr(0, path.size() - std::string_view(kSuffix).size());
}

// Cuts "-00002-of-00005" off a stem; how many parts there are, 1 where it has no such end.
size_t takePartCount(std::string_view &stem) {
  constexpr size_t kEnd = 15; // -00002-of-00005
  constexpr std::string_view kForm = "-#####-of-#####";
  if (stem.size() < kEnd)
    return 1;
  const std::string_view end = stem.substr(stem.size() - kEnd);
  size_t count = 0;
  for (size_t i = 0; i < kEnd; ++i) {
    const bool isDigit = end[i] >= '0' && end[i] <= '9';
    if (kForm[i] == '#' ? !isDigit : end[i] != kForm[i])
      return 1;
    if (i >= 10)
      count = count * 10 + static_cast<size_t>(end[i] - '0');
  }
  stem.remove_suffix(kEnd);
  return count;
}

// Percent-encodes what a path of an address may not hold.
std::string encodedPath(std::string_view path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : path) {
    const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') ||
                         std::string_view("-._~/").find(c) != std::string_view::npos;
    if (isPlain) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return encoded;
}

// By path without the number of the part.
using Candidates = std::map<std::string, Candidate>;

Candidates candidatesOf(const std::vector<File> &files) {
  Candidates found;
  for (const File &file : files) {
    const std::string name = lowered(fileName(file.path));
    if (!name.ends_with(kSuffix) || name.find("mmproj") != name.npos ||
        name.find("imatrix") != name.npos)
      continue;
    std::string_view stem = stemOf(file.path);
    const size_t count = takePartCount(stem);
    Candidate &candidate = found[std::string(stem)];
    candidate.count = count;
    candidate.parts.push_back(file);
  }
  for (auto &[stem, candidate] : found)
    std::ranges::sort(candidate.parts, {}, &File::path);
  return found;
}

// Whether a stem ends with the tag, as a word of its own, or lies in a folder of that name.
bool hasTag(std::string_view stem, std::string_view tag) {
  const std::string low = lowered(stem), wanted = lowered(tag);
  const size_t slash = low.rfind('/');
  if (slash != low.npos) {
    const std::string folder = low.substr(0, slash);
    if (fileName(folder) == wanted)
      return true;
  }
  if (!low.ends_with(wanted) || low.size() == wanted.size())
    return low == wanted;
  return std::string_view("-._/").find(low[low.size() - wanted.size() - 1]) !=
         std::string_view::npos;
}

std::vector<std::string> matching(const Candidates &all, std::string_view tag) {
  std::vector<std::string> found;
  for (const auto &[stem, candidate] : all)
    if (hasTag(stem, tag) || fileName(candidate.parts.front().path) == tag)
      found.push_back(stem);
  return found;
}

std::string listed(const Candidates &all) {
  constexpr size_t kMostShown = 30;
  std::string text;
  size_t shown = 0;
  for (const auto &[stem, candidate] : all) {
    if (shown++ == kMostShown)
      return text + ", and " + std::to_string(all.size() - kMostShown) + " more";
    text += (text.empty() ? "'" : ", '") + candidate.parts.front().path + "'";
  }
  return text;
}

Result<std::string> choose(const Candidates &all, const ModelName &name) {
  if (all.empty())
    return fail(Code::Unsupported, "'" + name.text() +
                                       "' has no GGUF file; models of other "
                                       "formats (safetensors, ONNX, ...) are not read: pull a "
                                       "repository whose name ends in -GGUF, or convert it with "
                                       "llama.cpp's convert_hf_to_gguf.py");
  std::vector<std::string> found = matching(all, name.tag);
  if (name.tag == "latest" && found.empty()) {
    for (size_t i = 0; i < std::size(kPreferred) && found.empty(); ++i)
      found = matching(all, kPreferred[i]);
    if (found.empty() && all.size() == 1)
      return all.begin()->first;
  }
  if (found.size() == 1)
    return found.front();
  Candidates several;
  for (const std::string &stem : found)
    several.emplace(stem, all.at(stem));
  if (!found.empty())
    return fail(Code::InvalidArgument, "the tag of '" + name.text() + "' fits several files: " +
                                           listed(several) + "; a file's name is a tag, too");
  return fail(Code::NotFound,
              "no GGUF file of '" + name.text() + "' has that tag; there are " + listed(all));
}

Result<std::vector<File>> filesOf(JsonElement root, const ModelName &name) {
  const auto siblings = listField(root, "siblings");
  if (!siblings || siblings->size() > kMostFiles)
    return fail(Code::Corrupt, "the description of '" + name.text() + "' has no list of at most " +
                                   std::to_string(kMostFiles) + " files");
  std::vector<File> files;
  for (const JsonElement element : *siblings) {
    File file{textField(element, "rfilename").value_or(""), 0, std::nullopt};
    if (!isSafePath(file.path))
      continue; // hidden files, and paths that lead elsewhere
    const auto lfs = objectField(element, "lfs");
    file.bytes = (lfs ? wholeField(*lfs, "size") : wholeField(element, "size")).value_or(0);
    if (lfs)
      file.digest =
          digestFromHex(textField(*lfs, "sha256").value_or(textField(*lfs, "oid").value_or("")));
    files.push_back(std::move(file));
  }
  return files;
}

bool isRevision(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

} // namespace

Result<RemoteModel> readRepository(std::string_view text, const ModelName &name,
                                   const Endpoints &endpoints) {
  simdjson::dom::parser parser;
  SINTER_ASSIGN(const JsonElement root,
                parseJson(parser, text, "the description of '" + name.text() + "'"));
  const std::string revision = textField(root, "sha").value_or("");
  if (!isRevision(revision))
    return fail(Code::Corrupt, "the description of '" + name.text() + "' names no revision");
  SINTER_ASSIGN(const std::vector<File> files, filesOf(root, name));
  const Candidates all = candidatesOf(files);
  SINTER_ASSIGN(const std::string chosen, choose(all, name));
  const Candidate &candidate = all.at(chosen);
  if (candidate.parts.size() != candidate.count || candidate.count > kMostLayers)
    return fail(Code::Corrupt, "'" + candidate.parts.front().path + "' of '" + name.text() +
                                   "' should have " + std::to_string(candidate.count) +
                                   " parts, found " + std::to_string(candidate.parts.size()));
  const std::string repository = endpoints.huggingFace + "/" + name.space + "/" + name.model;
  RemoteModel model;
  model.source = shownUrl(repository) + "@" + revision + "/" + candidate.parts.front().path;
  for (const File &part : candidate.parts) {
    if (!part.digest || part.bytes == 0)
      return fail(Code::Unsupported, "'" + part.path + "' of '" + name.text() +
                                         "' has no SHA-256 digest, so that its bytes could not "
                                         "be checked");
    if (part.bytes > kMostLayerBytes)
      return fail(Code::Corrupt, "'" + part.path + "' of '" + name.text() + "' has " +
                                     std::to_string(part.bytes) + " bytes, expected at most " +
                                     std::to_string(kMostLayerBytes));
    const std::string file = candidate.count > 1 ? std::string(fileName(part.path)) : "";
    model.layers.push_back({{Role::Model, *part.digest, part.bytes, file},
                            repository + "/resolve/" + revision + "/" + encodedPath(part.path),
                            endpoints.huggingFaceToken});
  }
  return model;
}

Result<RemoteModel> findInHuggingFace(const ModelName &name, const Endpoints &endpoints,
                                      const DownloadOptions &options,
                                      const std::atomic<bool> &cancel) {
  const HttpGet get{endpoints.huggingFace + "/api/models/" + name.space + "/" + name.model +
                        "/revision/main?blobs=true",
                    "application/json", endpoints.huggingFaceToken};
  auto text =
      fetchText(get, "the description of '" + name.text() + "'", kMostAnswerBytes, options, cancel);
  if (!text && (text.error().code == Code::Permission || text.error().code == Code::NotFound)) {
    Status status = text.error();
    status.message += endpoints.huggingFaceToken.empty()
                          ? "; a repository that is private or asks for an agreement needs HF_TOKEN"
                          : "; the token in HF_TOKEN may have no access to it";
    return Fail(std::move(status));
  }
  if (!text)
    return Fail(text.error());
  return readRepository(*text, name, endpoints);
}

} // namespace sinter::store
