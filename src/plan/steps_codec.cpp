// The steps of a procedure as a flat byte sequence; nesting is kept on an explicit stack.
#include "plan/encoding.h"
#include "plan/walk.h"

namespace sinter::plan {
namespace {

void writeLaunch(Writer &out, const Launch &launch) {
  out.u32(launch.kernel.index);
  out.u32(launch.device.index);
  for (const Expr &extent : launch.grid)
    out.expr(extent);
  out.count(launch.buffers.size());
  for (const BufferArg &arg : launch.buffers) {
    out.u32(arg.buffer.index);
    out.expr(arg.byteOffset);
  }
  out.count(launch.scalars.size());
  for (const Expr &scalar : launch.scalars)
    out.expr(scalar);
  out.expr(launch.bytesMoved);
  out.expr(launch.operations);
  out.text(launch.label);
  out.count(launch.covers.size());
  for (const std::string &covered : launch.covers)
    out.text(covered);
  out.text(launch.quantizedTo);
}

void writeStep(Writer &out, const Step &step) {
  // The tags follow the order of the variant.
  out.u8(static_cast<uint8_t>(step.op.index() + 1));
  if (const auto *launch = std::get_if<Launch>(&step.op)) {
    writeLaunch(out, *launch);
  } else if (const auto *copy = std::get_if<Copy>(&step.op)) {
    out.u32(copy->src.index);
    out.expr(copy->srcOffset);
    out.u32(copy->dst.index);
    out.expr(copy->dstOffset);
    out.expr(copy->bytes);
  } else if (const auto *call = std::get_if<Call>(&step.op)) {
    out.u32(call->procedure.index);
  } else if (const auto *branch = std::get_if<If>(&step.op)) {
    out.expr(branch->condition);
  } else {
    const auto &loop = std::get<Loop>(step.op);
    out.u32(loop.induction.index);
    out.expr(loop.count);
  }
}

Launch readLaunch(Reader &in) {
  Launch launch;
  launch.kernel.index = in.u32();
  launch.device.index = in.u32();
  for (Expr &extent : launch.grid)
    extent = in.expr();
  const uint32_t buffers = in.count(7, "buffer arguments", kMaxKernelBuffers);
  launch.buffers.reserve(buffers);
  for (uint32_t i = 0; i < buffers && in.ok(); ++i) {
    const uint32_t buffer = in.u32();
    launch.buffers.push_back({BufferId{buffer}, in.expr()});
  }
  const uint32_t scalars = in.count(3, "scalar arguments", kMaxKernelScalars);
  launch.scalars.reserve(scalars);
  for (uint32_t i = 0; i < scalars && in.ok(); ++i)
    launch.scalars.push_back(in.expr());
  launch.bytesMoved = in.expr();
  launch.operations = in.expr();
  launch.label = in.text();
  const uint32_t covers = in.count(4, "covered operations", kMaxCovered);
  for (uint32_t i = 0; i < covers && in.ok(); ++i)
    launch.covers.push_back(in.text());
  launch.quantizedTo = in.text();
  return launch;
}

Copy readCopy(Reader &in) {
  Copy copy;
  copy.src.index = in.u32();
  copy.srcOffset = in.expr();
  copy.dst.index = in.u32();
  copy.dstOffset = in.expr();
  copy.bytes = in.expr();
  return copy;
}

// Builds nested steps from the flat sequence. An open list does not move while an inner one is
// open, so the stack may point into it.
class StepReader {
public:
  StepReader(Reader &in, std::vector<uint64_t> &offsets) : in_(in), offsets_(offsets) {
    open_.push_back({&steps_, nullptr});
  }

  std::vector<Step> read() {
    while (in_.ok() && !open_.empty())
      readOne();
    return in_.ok() ? std::move(steps_) : std::vector<Step>();
  }

private:
  struct Open {
    std::vector<Step> *steps;
    If *branch; // set while an Else may follow
  };

  void readOne() {
    const uint64_t begin = in_.offset();
    const auto tag = static_cast<StepTag>(in_.u8());
    if (!in_.ok())
      return;
    if (tag == StepTag::End) {
      open_.pop_back();
      return;
    }
    if (tag == StepTag::Else) {
      if (!open_.back().branch)
        return in_.bad("an else without an if");
      open_.back() = {&open_.back().branch->elseSteps, nullptr};
      return;
    }
    if (offsets_.size() >= kMaxInlinedSteps)
      return in_.bad("more than " + std::to_string(kMaxInlinedSteps) + " steps");
    offsets_.push_back(begin);
    readStep(tag);
  }

  void readStep(StepTag tag) {
    std::vector<Step> &list = *open_.back().steps;
    switch (tag) {
    case StepTag::Launch:
      list.push_back({readLaunch(in_)});
      return;
    case StepTag::Copy:
      list.push_back({readCopy(in_)});
      return;
    case StepTag::Call:
      list.push_back({Call{ProcedureId{in_.u32()}}});
      return;
    case StepTag::If:
    case StepTag::Loop:
      openInner(tag, list);
      return;
    default:
      in_.bad("step has tag " + std::to_string(static_cast<uint8_t>(tag)) + ", expected 0 to 6");
    }
  }

  void openInner(StepTag tag, std::vector<Step> &list) {
    if (open_.size() > kMaxNesting)
      return in_.bad("steps are nested more than " + std::to_string(kMaxNesting) + " deep");
    if (tag == StepTag::If) {
      list.push_back({If{in_.expr(), {}, {}}});
      If &branch = std::get<If>(list.back().op);
      open_.push_back({&branch.thenSteps, &branch});
      return;
    }
    const SymbolId induction{in_.u32()};
    list.push_back({Loop{induction, in_.expr(), {}}});
    open_.push_back({&std::get<Loop>(list.back().op).body, nullptr});
  }

  Reader &in_;
  std::vector<uint64_t> &offsets_;
  std::vector<Step> steps_;
  std::vector<Open> open_;
};

} // namespace

void writeSteps(Writer &out, const std::vector<Step> &steps) {
  for (StepWalker walker(steps); walker.next();) {
    switch (walker.event()) {
    case WalkEvent::Step:
      writeStep(out, walker.step());
      break;
    case WalkEvent::Else:
      out.u8(static_cast<uint8_t>(StepTag::Else));
      break;
    case WalkEvent::End:
      out.u8(static_cast<uint8_t>(StepTag::End));
      break;
    }
  }
  out.u8(static_cast<uint8_t>(StepTag::End));
}

std::vector<Step> readSteps(Reader &in, std::vector<uint64_t> &offsets) {
  return StepReader(in, offsets).read();
}

} // namespace sinter::plan
