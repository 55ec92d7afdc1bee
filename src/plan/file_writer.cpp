// Writes a plan file.
#include "base/checksum.h"
#include "plan/encoding.h"
#include "plan/file.h"

namespace sinter::plan {
namespace {

void writeFacts(Writer &out, const Plan &plan) {
  out.text(plan.modelDigest);
  out.u64(plan.modelBytes);
  out.count(plan.properties.size());
  for (const auto &[name, value] : plan.properties) {
    out.text(name);
    out.i64(value);
  }
  out.count(plan.texts.size());
  for (const auto &[name, value] : plan.texts) {
    out.text(name);
    out.text(value);
  }
  out.count(plan.devices.size());
  for (const Device &device : plan.devices)
    out.text(device.name);
}

void writeSymbols(Writer &out, const Plan &plan) {
  out.count(plan.symbols.size());
  for (const Symbol &symbol : plan.symbols) {
    out.text(symbol.name);
    out.i64(symbol.min);
    out.i64(symbol.max);
    out.u8(symbol.computed.has_value());
    if (symbol.computed) {
      out.u32(symbol.computed->buffer.index);
      out.u64(symbol.computed->byteOffset);
    }
  }
}

void writeModules(Writer &out, const Plan &plan) {
  out.count(plan.modules.size());
  for (const Module &module : plan.modules) {
    out.text(module.target);
    out.blob(module.code);
  }
}

void writeParameter(Writer &out, const KernelParameter &parameter) {
  out.text(parameter.name);
  out.u8(static_cast<uint8_t>(parameter.kind));
  if (isNumber(parameter.kind))
    out.i64(parameter.number);
  else if (isFormat(parameter.kind))
    out.text(parameter.format);
}

void writeKernels(Writer &out, const Plan &plan) {
  out.count(plan.kernels.size());
  for (const Kernel &kernel : plan.kernels) {
    out.text(kernel.source);
    out.u32(kernel.module.index);
    out.text(kernel.symbol);
    out.u32(kernel.bufferCount);
    out.u32(kernel.scalarCount);
    out.u64(kernel.scratchBytes);
    out.u32(kernel.threads);
    out.u64(kernel.sharedBytes);
    out.u8(kernel.overlaps);
    out.u8(static_cast<uint8_t>(kernel.arithmetic));
    out.text(kernel.content);
    out.text(kernel.schedule.text());
    out.count(kernel.alternatives.size());
    for (const ScheduleChoice &other : kernel.alternatives)
      out.text(other.text());
    out.count(kernel.parameters.size());
    for (const KernelParameter &parameter : kernel.parameters)
      writeParameter(out, parameter);
    out.count(kernel.slots.size());
    for (const KernelSlot &slot : kernel.slots) {
      out.text(slot.slot);
      out.text(slot.filling);
      out.text(slot.detail);
    }
  }
}

void writeRecipe(Writer &out, const PackRecipe &recipe) {
  out.u8(static_cast<uint8_t>(recipe.mode));
  out.u32(recipe.rowsPerAtom);
  out.u32(recipe.blockBytes);
  out.u32(recipe.blocksPerRow);
  out.count(recipe.fields.size());
  for (const PackField &field : recipe.fields) {
    out.u32(field.offset);
    out.u32(field.bytes);
    out.u32(field.unit);
    out.u8(field.xorByte);
    out.u8(field.itemBits);
    out.u32(field.place);
    out.u32(field.step);
  }
  out.count(recipe.rowOrder.size());
  for (const RowSegment &segment : recipe.rowOrder) {
    out.u32(segment.firstSource);
    out.count(segment.modes.size());
    for (const RowMode &mode : segment.modes) {
      out.u32(mode.extent);
      out.u32(mode.stride);
    }
  }
}

void writeBuffers(Writer &out, const Plan &plan) {
  out.count(plan.buffers.size());
  for (const Buffer &buffer : plan.buffers) {
    out.text(buffer.name);
    out.u8(static_cast<uint8_t>(buffer.kind));
    out.expr(buffer.bytes);
    out.u32(buffer.device.index);
    if (buffer.kind == BufferKind::Weight) {
      out.count(buffer.tensors.size());
      for (const std::string &tensor : buffer.tensors)
        out.text(tensor);
      writeRecipe(out, buffer.pack);
    } else if (buffer.kind == BufferKind::Constant) {
      out.blob(buffer.data);
    }
  }
}

void writeProcedures(Writer &out, const Plan &plan) {
  out.count(plan.procedures.size());
  for (const Procedure &procedure : plan.procedures) {
    out.text(procedure.name);
    writeSteps(out, procedure.steps);
  }
}

void writeSection(Writer &out, SectionTag tag, void (*write)(Writer &, const Plan &),
                  const Plan &plan) {
  Writer contents;
  write(contents, plan);
  out.u32(static_cast<uint32_t>(tag));
  out.blob(contents.bytes());
}

} // namespace

void sealPlan(std::span<uint8_t> bytes) {
  sealFile(bytes);
}

Result<std::vector<uint8_t>> serialize(const Plan &plan) {
  SINTER_TRY(validate(plan));
  Writer out;
  out.raw({reinterpret_cast<const uint8_t *>(kPlanMagic.data()), kPlanMagic.size()});
  out.u32(kPlanVersion);
  out.u32(std::size(kSectionOrder));
  out.u64(0);
  writeSection(out, SectionTag::Facts, writeFacts, plan);
  writeSection(out, SectionTag::Symbols, writeSymbols, plan);
  writeSection(out, SectionTag::Modules, writeModules, plan);
  writeSection(out, SectionTag::Kernels, writeKernels, plan);
  writeSection(out, SectionTag::Buffers, writeBuffers, plan);
  writeSection(out, SectionTag::Procedures, writeProcedures, plan);
  std::vector<uint8_t> bytes = std::move(out.bytes());
  bytes.resize(bytes.size() + kPlanChecksumBytes);
  for (int i = 0; i < 8; ++i)
    bytes[16 + i] = static_cast<uint8_t>(bytes.size() >> (8 * i));
  sealPlan(bytes);
  return bytes;
}

} // namespace sinter::plan
