// Kernels as text.
#include "plan/kernel_text.h"

namespace sinter::plan {

std::string valueText(const KernelParameter &parameter) {
  switch (parameter.kind) {
  case ParameterKind::Number:
    return std::to_string(parameter.number);
  case ParameterKind::Dynamic:
    return "?";
  case ParameterKind::Flag:
    return parameter.number != 0 ? "true" : "false";
  case ParameterKind::ScalarType:
  case ParameterKind::BlockFormat:
    return parameter.format;
  }
  return "";
}

std::string kernelText(std::string_view source, std::span<const KernelParameter> parameters,
                       std::span<const KernelSlot> slots) {
  std::string text = std::string(source) + "(";
  for (const KernelParameter &parameter : parameters)
    text +=
        (&parameter == parameters.data() ? "" : ", ") + parameter.name + "=" + valueText(parameter);
  text += ")";
  for (const KernelSlot &slot : slots)
    text += (&slot == slots.data() ? " " : ", ") + slot.slot + " " + slot.filling +
            (slot.detail.empty() ? "" : " ") + slot.detail;
  return text;
}

std::string kernelText(const Kernel &kernel) {
  return kernelText(kernel.source, kernel.parameters, kernel.slots);
}

} // namespace sinter::plan
