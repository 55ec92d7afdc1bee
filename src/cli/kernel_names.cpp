// Reads the names that the engine gives to kernels and buffers.
#include "cli/kernel_names.h"

#include <cctype>
#include <map>

namespace sinter::cli {
namespace {

std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  for (size_t at; (at = text.find(separator)) != std::string_view::npos;) {
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

struct KernelName {
  std::string source;
  std::vector<std::string> parameters; // "n=64"
  std::string slots;
};

constexpr std::string_view kBlock = "block<";

// "block<q8a>" as "q8a": the formats' names say that they are blocks.
std::string withoutBlock(std::string parameter) {
  const size_t at = parameter.find(kBlock);
  if (at == std::string::npos || !parameter.ends_with('>'))
    return parameter;
  parameter.pop_back();
  return parameter.erase(at, kBlock.size());
}

KernelName parseName(const std::string &name) {
  const size_t open = name.find('('), close = name.find(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return {name, {}, ""};
  KernelName result{name.substr(0, open), {}, ""};
  for (std::string &part : split(std::string_view(name).substr(open + 1, close - open - 1), ", "))
    result.parameters.push_back(withoutBlock(std::move(part)));
  // " epilogue 1 ...": a word that says which slot, then its content.
  const std::vector<std::string> slots = split(std::string_view(name).substr(close + 1), " ");
  if (slots.size() > 1 && !slots[1].empty() &&
      std::isalpha(static_cast<unsigned char>(slots[1][0])))
    result.slots = " +" + slots[1];
  return result;
}

// "blk.3.attn_q.weight" as "attn_q": all but what follows the layer's number.
std::string withoutLayer(const std::string &tensor) {
  std::string name;
  for (const std::string &part : split(tensor, ".")) {
    const bool number = part.find_first_not_of("0123456789") == std::string::npos;
    if (number)
      name.clear();
    else if (part != "weight")
      name += (name.empty() ? "" : ".") + part;
  }
  return name;
}

// attn_q and attn_k as "attn_q+k".
std::string joined(const std::vector<std::string> &tensors) {
  std::string text, family;
  for (const std::string &tensor : tensors) {
    const std::string name = withoutLayer(tensor);
    const std::string prefix = name.substr(0, name.find('_') + 1);
    const bool follows = !text.empty() && !prefix.empty() && prefix == family;
    text += (text.empty() ? "" : "+") + (follows ? name.substr(prefix.size()) : name);
    family = prefix;
  }
  return text;
}

} // namespace

std::vector<std::string> shortKernelNames(std::span<const std::string> names) {
  std::vector<KernelName> kernels;
  std::map<std::string, size_t> kernelCount;                 // by source
  std::map<std::string, std::map<std::string, size_t>> uses; // by source: how many have a parameter
  for (const std::string &name : names) {
    kernels.push_back(parseName(name));
    ++kernelCount[kernels.back().source];
    for (const std::string &parameter : kernels.back().parameters)
      ++uses[kernels.back().source][parameter];
  }
  std::vector<std::string> result;
  for (const KernelName &kernel : kernels) {
    std::string text = kernel.source;
    for (const std::string &parameter : kernel.parameters)
      if (uses[kernel.source][parameter] < kernelCount[kernel.source])
        text += " " + parameter;
    result.push_back(text + kernel.slots);
  }
  return result;
}

std::vector<KernelParameter> kernelParameters(const std::string &kernelName) {
  const size_t open = kernelName.find('('), close = kernelName.find(')');
  std::vector<KernelParameter> parameters;
  if (open == std::string::npos || close == std::string::npos || close < open)
    return parameters;
  for (const std::string &part :
       split(std::string_view(kernelName).substr(open + 1, close - open - 1), ", ")) {
    const std::string plain = withoutBlock(part);
    const size_t equals = plain.find('=');
    if (equals != std::string::npos)
      parameters.push_back({plain.substr(0, equals), plain.substr(equals + 1), plain != part});
  }
  return parameters;
}

std::string tensorsText(const plan::Buffer &weight) {
  return joined(weight.tensors);
}

std::string roleOf(const plan::Plan &plan, const plan::Launch &launch) {
  std::string role;
  for (const plan::BufferArg &argument : launch.buffers) {
    const plan::Buffer &buffer = plan.buffers[argument.buffer.index];
    if (buffer.kind == plan::BufferKind::Weight)
      role += (role.empty() ? "" : ", ") + tensorsText(buffer);
  }
  return role.empty() ? launch.label : role;
}

} // namespace sinter::cli
