// Kernels and symbols as text.
#include "plan/plan_text.h"

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

std::string symbolText(const Plan &plan, const Symbol &symbol) {
  std::string text =
      symbol.name + ": " + std::to_string(symbol.min) + " to " + std::to_string(symbol.max);
  if (symbol.computed)
    text += ", read from '" + plan.buffers[symbol.computed->buffer.index].name + "' at byte " +
            std::to_string(symbol.computed->byteOffset);
  return text;
}

std::string listing(const Plan &plan) {
  std::string text = "symbols\n";
  for (const Symbol &symbol : plan.symbols)
    text += symbolText(plan, symbol) + "\n";
  text += "\nkernels\n";
  for (const Kernel &kernel : plan.kernels)
    text += kernelText(kernel) + "\n";
  return text;
}

} // namespace sinter::plan
