// Reads a plan file that may be hostile.
#include "base/checked.h"
#include "base/checksum.h"
#include "plan/encoding.h"
#include "plan/file.h"

#include <algorithm>

namespace sinter::plan {
namespace {

// The least bytes that one encoded entry takes, to bound announced counts. An expression takes at
// least 3.
constexpr uint64_t kMinExprBytes = 3;
constexpr uint64_t kMinSymbolBytes = 4 + 8 + 8 + 1;
constexpr uint64_t kMinModuleBytes = 4 + 8;
constexpr uint64_t kMinKernelBytes = 4 + 4 + 4 + 4 + 4 + 8 + 4 + 8 + 1 + 1 + 4 + 4 + 4 + 4 + 4;
constexpr uint64_t kMinParameterBytes = 4 + 1;
constexpr uint64_t kMinSlotBytes = 4 + 4 + 4;
constexpr uint64_t kMinBufferBytes = 4 + 1 + kMinExprBytes + 4;
constexpr uint64_t kMinProcedureBytes = 4 + 1;

class PlanReader {
public:
  explicit PlanReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  Result<Plan> run() {
    SINTER_TRY(checkHeader());
    SINTER_TRY(checkSum());
    next_ = kPlanHeaderBytes;
    SINTER_TRY(section(SectionTag::Facts, "facts", &PlanReader::readFacts));
    SINTER_TRY(section(SectionTag::Symbols, "symbols", &PlanReader::readSymbols));
    SINTER_TRY(section(SectionTag::Modules, "modules", &PlanReader::readModules));
    SINTER_TRY(section(SectionTag::Kernels, "kernels", &PlanReader::readKernels));
    SINTER_TRY(section(SectionTag::Buffers, "buffers", &PlanReader::readBuffers));
    SINTER_TRY(section(SectionTag::Procedures, "procedures", &PlanReader::readProcedures));
    if (next_ != end())
      return fail(Code::Corrupt, std::to_string(end() - next_) + " bytes follow the last section",
                  next_);
    SINTER_TRY(validate(plan_, offsets_));
    return std::move(plan_);
  }

private:
  uint64_t end() const { return bytes_.size() - kPlanChecksumBytes; }
  Result<void> checkHeader();
  Result<void> checkSum();
  Result<void> section(SectionTag tag, const char *name, void (PlanReader::*read)(Reader &));
  void readFacts(Reader &in);
  void readSymbols(Reader &in);
  void readModules(Reader &in);
  void readKernels(Reader &in);
  static ScheduleChoice readSchedule(Reader &in);
  static void readForm(Reader &in, Kernel &kernel);
  void readBuffers(Reader &in);
  void readProcedures(Reader &in);

  std::span<const uint8_t> bytes_;
  uint64_t next_ = 0;
  Plan plan_;
  PlanOffsets offsets_;
};

Result<void> PlanReader::checkHeader() {
  const std::size_t shown = std::min(bytes_.size(), kPlanMagic.size());
  if (!std::equal(bytes_.begin(), bytes_.begin() + shown, kPlanMagic.begin()))
    return fail(Code::Corrupt, "not a plan file: it does not begin with 'SINTRPLN'", 0);
  if (bytes_.size() < kPlanHeaderBytes + kPlanChecksumBytes)
    return fail(Code::Truncated,
                "plan file has " + std::to_string(bytes_.size()) + " bytes, expected at least " +
                    std::to_string(kPlanHeaderBytes + kPlanChecksumBytes),
                bytes_.size());
  Reader in(bytes_, kPlanMagic.size(), kPlanHeaderBytes);
  const uint32_t version = in.u32();
  const uint32_t sections = in.u32();
  const uint64_t total = in.u64();
  if (version != kPlanVersion)
    return fail(Code::Unsupported,
                "plan file has version " + std::to_string(version) + ", expected " +
                    std::to_string(kPlanVersion),
                8);
  if (sections != std::size(kSectionOrder))
    return fail(Code::Corrupt,
                "plan file has " + std::to_string(sections) + " sections, expected " +
                    std::to_string(std::size(kSectionOrder)),
                12);
  if (bytes_.size() < total)
    return fail(Code::Truncated,
                "plan file has " + std::to_string(bytes_.size()) + " bytes, expected " +
                    std::to_string(total),
                bytes_.size());
  if (bytes_.size() > total)
    return fail(Code::Corrupt,
                "plan file has " + std::to_string(bytes_.size()) + " bytes, expected " +
                    std::to_string(total),
                total);
  return {};
}

Result<void> PlanReader::checkSum() {
  if (!isSealed(bytes_))
    return fail(Code::Corrupt, "plan file does not match its checksum", end());
  return {};
}

Result<void> PlanReader::section(SectionTag tag, const char *name,
                                 void (PlanReader::*read)(Reader &)) {
  Reader header(bytes_, next_, end());
  const uint32_t found = header.u32();
  const uint64_t size = header.u64();
  if (!header.ok())
    return fail(Code::Corrupt, std::string("section '") + name + "' is missing", next_);
  if (found != static_cast<uint32_t>(tag))
    return fail(Code::Corrupt,
                "section has tag " + std::to_string(found) + ", expected '" + name + "'", next_);
  if (size > header.left())
    return fail(Code::Corrupt,
                std::string("section '") + name + "' has " + std::to_string(size) + " bytes, " +
                    std::to_string(header.left()) + " are left",
                next_);
  Reader in(bytes_, header.offset(), header.offset() + size);
  (this->*read)(in);
  SINTER_TRY(in.finish(name));
  next_ = header.offset() + size;
  return {};
}

void PlanReader::readFacts(Reader &in) {
  plan_.modelDigest = in.text();
  plan_.modelBytes = in.u64();
  const uint32_t properties = in.count(12, "properties");
  for (uint32_t i = 0; i < properties && in.ok(); ++i) {
    std::string name = in.text();
    const int64_t value = in.i64();
    if (!plan_.properties.emplace(std::move(name), value).second)
      in.bad("two properties have the same name");
  }
  const uint32_t texts = in.count(8, "texts");
  for (uint32_t i = 0; i < texts && in.ok(); ++i) {
    std::string name = in.text();
    std::string value = in.text();
    if (!plan_.texts.emplace(std::move(name), std::move(value)).second)
      in.bad("two texts have the same name");
  }
  const uint32_t devices = in.count(4, "devices", kMaxDevices);
  plan_.devices.clear();
  for (uint32_t i = 0; i < devices && in.ok(); ++i)
    plan_.devices.push_back({in.text()});
}

void PlanReader::readSymbols(Reader &in) {
  const uint32_t count = in.count(kMinSymbolBytes, "symbols");
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    offsets_.symbols.push_back(in.offset());
    Symbol &symbol = plan_.symbols.emplace_back();
    symbol.name = in.text();
    symbol.min = in.i64();
    symbol.max = in.i64();
    const uint8_t computed = in.u8();
    if (computed > 1)
      in.bad("symbol " + std::to_string(i) + " is computed by " + std::to_string(computed) +
             ", expected 0 or 1");
    if (computed != 1)
      continue;
    symbol.computed.emplace();
    symbol.computed->buffer.index = in.u32();
    symbol.computed->byteOffset = in.u64();
  }
}

void PlanReader::readModules(Reader &in) {
  const uint32_t count = in.count(kMinModuleBytes, "modules");
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    offsets_.modules.push_back(in.offset());
    Module &module = plan_.modules.emplace_back();
    module.target = in.text();
    module.code = in.blob();
  }
}

ScheduleChoice PlanReader::readSchedule(Reader &in) {
  Result<ScheduleChoice> choice = ScheduleChoice::parse(in.text());
  if (choice)
    return std::move(*choice);
  in.bad(choice.error().message);
  return {};
}

// With what the kernel was made.
void PlanReader::readForm(Reader &in, Kernel &kernel) {
  const uint32_t parameters = in.count(kMinParameterBytes, "parameters", kMaxKernelParameters);
  for (uint32_t i = 0; i < parameters && in.ok(); ++i) {
    KernelParameter &parameter = kernel.parameters.emplace_back();
    parameter.name = in.text();
    parameter.kind = static_cast<ParameterKind>(in.u8());
    if (isNumber(parameter.kind))
      parameter.number = in.i64();
    else if (isFormat(parameter.kind))
      parameter.format = in.text();
  }
  const uint32_t slots = in.count(kMinSlotBytes, "slots", kMaxKernelSlots);
  for (uint32_t i = 0; i < slots && in.ok(); ++i) {
    KernelSlot &slot = kernel.slots.emplace_back();
    slot.slot = in.text();
    slot.filling = in.text();
    slot.detail = in.text();
  }
}

void PlanReader::readKernels(Reader &in) {
  const uint32_t count = in.count(kMinKernelBytes, "kernels");
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    offsets_.kernels.push_back(in.offset());
    Kernel &kernel = plan_.kernels.emplace_back();
    kernel.source = in.text();
    kernel.module.index = in.u32();
    kernel.symbol = in.text();
    kernel.bufferCount = in.u32();
    kernel.scalarCount = in.u32();
    kernel.scratchBytes = in.u64();
    kernel.threads = in.u32();
    kernel.sharedBytes = in.u64();
    const uint8_t overlaps = in.u8();
    if (overlaps > 1)
      in.bad("kernel " + std::to_string(i) + " overlaps launches by " + std::to_string(overlaps) +
             ", expected 0 or 1");
    kernel.overlaps = overlaps == 1;
    kernel.arithmetic = static_cast<Arithmetic>(in.u8());
    kernel.content = in.text();
    kernel.schedule = readSchedule(in);
    const uint32_t others = in.count(4, "alternatives", kMaxAlternatives);
    for (uint32_t other = 0; other < others && in.ok(); ++other)
      kernel.alternatives.push_back(readSchedule(in));
    readForm(in, kernel);
  }
}

RowSegment readRowSegment(Reader &in) {
  RowSegment segment;
  segment.firstSource = in.u32();
  const uint32_t modes = in.count(4 + 4, "row modes", kMaxRowModes);
  for (uint32_t i = 0; i < modes && in.ok(); ++i) {
    RowMode &mode = segment.modes.emplace_back();
    mode.extent = in.u32();
    mode.stride = in.u32();
  }
  return segment;
}

PackRecipe readRecipe(Reader &in) {
  PackRecipe recipe;
  recipe.mode = static_cast<PackMode>(in.u8());
  recipe.rowsPerAtom = in.u32();
  recipe.blockBytes = in.u32();
  recipe.blocksPerRow = in.u32();
  const uint32_t fields = in.count(22, "packing fields", kMaxPackFields);
  for (uint32_t i = 0; i < fields && in.ok(); ++i) {
    PackField &field = recipe.fields.emplace_back();
    field.offset = in.u32();
    field.bytes = in.u32();
    field.unit = in.u32();
    field.xorByte = in.u8();
    field.itemBits = in.u8();
    field.place = in.u32();
    field.step = in.u32();
  }
  const uint32_t segments = in.count(4 + 4, "row segments", kMaxRowSegments);
  for (uint32_t i = 0; i < segments && in.ok(); ++i)
    recipe.rowOrder.push_back(readRowSegment(in));
  return recipe;
}

void PlanReader::readBuffers(Reader &in) {
  const uint32_t count = in.count(kMinBufferBytes, "buffers");
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    offsets_.buffers.push_back(in.offset());
    Buffer &buffer = plan_.buffers.emplace_back();
    buffer.name = in.text();
    buffer.kind = static_cast<BufferKind>(in.u8());
    buffer.bytes = in.expr();
    buffer.device.index = in.u32();
    if (buffer.kind == BufferKind::Constant)
      buffer.data = in.blob();
    if (buffer.kind != BufferKind::Weight)
      continue;
    const uint32_t tensors = in.count(4, "tensors");
    for (uint32_t t = 0; t < tensors && in.ok(); ++t)
      buffer.tensors.push_back(in.text());
    buffer.pack = readRecipe(in);
  }
}

void PlanReader::readProcedures(Reader &in) {
  const uint32_t count = in.count(kMinProcedureBytes, "procedures");
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    offsets_.procedures.push_back(in.offset());
    Procedure &procedure = plan_.procedures.emplace_back();
    procedure.name = in.text();
    procedure.steps = readSteps(in, offsets_.steps);
  }
}

} // namespace

Result<Plan> parse(std::span<const uint8_t> bytes) {
  return PlanReader(bytes).run();
}

// The bytes of the first of several files that follow one another; all that is left where the
// header is none.
static std::span<const uint8_t> firstFile(std::span<const uint8_t> bytes) {
  if (bytes.size() < kPlanHeaderBytes)
    return bytes;
  Reader in(bytes, kPlanMagic.size() + 8, kPlanHeaderBytes);
  const uint64_t total = in.u64();
  return total >= kPlanHeaderBytes && total < bytes.size() ? bytes.first(total) : bytes;
}

Result<Plan> parseFor(std::span<const uint8_t> bytes, std::string_view target,
                      const TargetTest &fits) {
  std::optional<Plan> second; // one that fits, though it names another target
  std::string targets;
  do {
    const std::span<const uint8_t> file = firstFile(bytes);
    SINTER_ASSIGN(Plan plan, parse(file));
    bytes = bytes.subspan(file.size());
    if (targetOf(plan) == target)
      return plan;
    targets += (targets.empty() ? "" : ", ") + std::string(targetOf(plan));
    if (!second && fits && fits(plan))
      second = std::move(plan);
  } while (!bytes.empty());
  if (second)
    return std::move(*second);
  return fail(Code::NotFound,
              "the plan is for " + targets + ", expected '" + std::string(target) + "'");
}

} // namespace sinter::plan
