// Puts the fields of kernels and weights side by side.
#include "cli/kernel_labels.h"

#include "plan/plan_text.h"

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

std::string textOf(const plan::KernelParameter &parameter) {
  return parameter.name + "=" + plan::valueText(parameter);
}

// " +norm+map". A kernel that is named after what fills it needs no second word.
std::string fillings(const plan::Kernel &kernel) {
  std::string text;
  for (const plan::KernelSlot &slot : kernel.slots)
    if (slot.filling != kernel.source)
      text += (text.empty() ? " +" : "+") + slot.filling;
  return text;
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

std::vector<std::string> kernelLabels(std::span<const plan::Kernel *const> kernels) {
  struct Uses {
    size_t kernels = 0;
    std::map<std::string, size_t> parameters; // how many kernels have one
  };
  std::map<std::string, Uses> sources;
  for (const plan::Kernel *kernel : kernels) {
    Uses &uses = sources[kernel->source];
    ++uses.kernels;
    for (const plan::KernelParameter &parameter : kernel->parameters)
      ++uses.parameters[textOf(parameter)];
  }
  std::vector<std::string> labels;
  for (const plan::Kernel *kernel : kernels) {
    const Uses &uses = sources[kernel->source];
    std::string text = kernel->source;
    for (const plan::KernelParameter &parameter : kernel->parameters)
      if (uses.parameters.at(textOf(parameter)) < uses.kernels)
        text += " " + textOf(parameter);
    labels.push_back(text + fillings(*kernel));
  }
  return labels;
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
