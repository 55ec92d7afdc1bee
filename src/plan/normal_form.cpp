// Prints steps first, then the buffers that they named.
#include "plan/normal_form.h"

#include "base/check.h"
#include "base/sha256.h"
#include "plan/walk.h"

#include <map>

namespace sinter::plan {
namespace {

class Printer {
public:
  Printer(const Plan &plan, std::span<const std::string> kernelNames)
      : plan_(plan), kernelNames_(kernelNames) {
    symbols_.resize(plan.symbols.size());
  }

  std::string run() {
    for (const auto &[name, value] : plan_.properties)
      line("property " + name + " " + std::to_string(value));
    for (size_t i = 0; i < plan_.procedures.size(); ++i)
      print(plan_.procedures[i], i);
    for (uint32_t i = 0; i < plan_.buffers.size(); ++i)
      number({i});
    for (BufferId id : order_)
      print(id);
    for (uint32_t symbol : usedSymbols_)
      line("symbol " + symbols_[symbol] + " " + std::to_string(plan_.symbols[symbol].min) + " " +
           std::to_string(plan_.symbols[symbol].max));
    return std::move(text_);
  }

private:
  void line(const std::string &text, uint32_t depth = 0) {
    text_ += std::string(2 * size_t(depth), ' ') + text + "\n";
  }
  const std::string &nameOf(uint32_t symbol) {
    if (symbols_[symbol].empty()) {
      symbols_[symbol] = "s" + std::to_string(usedSymbols_.size());
      usedSymbols_.push_back(symbol);
    }
    return symbols_[symbol];
  }
  std::string textOf(const Expr &expr) {
    for (const ExprNode &node : expr.nodes())
      if (node.op == ExprOp::Symbol)
        nameOf(static_cast<uint32_t>(node.value));
    return toString(expr, symbols_);
  }
  std::string textOf(const BufferArg &argument) {
    return number(argument.buffer) + " + " + textOf(argument.byteOffset);
  }

  std::string number(BufferId id) {
    auto [found, isNew] = numbers_.try_emplace(id.index, order_.size());
    if (isNew)
      order_.push_back(id);
    return "b" + std::to_string(found->second);
  }

  void print(const Procedure &procedure, size_t index) {
    line("procedure " + std::to_string(index));
    for (StepWalker walk(procedure.steps); walk.next();) {
      const uint32_t depth = walk.depth() + 1;
      if (walk.event() == WalkEvent::Step)
        line(std::visit([&](const auto &step) { return textOf(step); }, walk.step().op), depth);
      else
        line(walk.event() == WalkEvent::Else ? "else" : "end", depth);
    }
  }
  std::string textOf(const Launch &launch) {
    SINTER_CHECK(launch.kernel.index < kernelNames_.size());
    std::string text = "launch " + kernelNames_[launch.kernel.index] + " grid";
    for (const Expr &extent : launch.grid)
      text += " (" + textOf(extent) + ")";
    for (const BufferArg &argument : launch.buffers)
      text += ", " + textOf(argument);
    for (const Expr &scalar : launch.scalars)
      text += ", " + textOf(scalar);
    return text;
  }
  std::string textOf(const Copy &copy) {
    return "copy " + textOf(copy.bytes) + " from " + number(copy.src) + " + " +
           textOf(copy.srcOffset) + " to " + number(copy.dst) + " + " + textOf(copy.dstOffset);
  }
  static std::string textOf(const Call &call) {
    return "call " + std::to_string(call.procedure.index);
  }
  std::string textOf(const If &step) { return "if " + textOf(step.condition); }
  std::string textOf(const Loop &step) {
    return "loop " + nameOf(step.induction.index) + " to " + textOf(step.count);
  }

  void print(BufferId id) {
    const Buffer &buffer = plan_.buffers[id.index];
    std::string text = number(id) + " " + kindName(buffer.kind) + " " + textOf(buffer.bytes);
    for (const std::string &tensor : buffer.tensors)
      text += " '" + tensor + "'";
    if (buffer.kind == BufferKind::Constant)
      text += " " + digestOf(buffer.data);
    if (buffer.kind == BufferKind::Weight)
      text += textOf(buffer.pack);
    line(text);
  }
  static std::string digestOf(const std::vector<uint8_t> &bytes) {
    const Result<Sha256Digest> digest = sha256({bytes});
    SINTER_CHECK(digest);
    return digest->hex();
  }
  static std::string textOf(const PackRecipe &recipe) {
    if (recipe.mode == PackMode::Direct)
      return " direct";
    std::string text = " interleave";
    auto add = [&](auto... values) {
      const char *before = " ";
      ((text += before + std::to_string(values), before = ":"), ...);
    };
    add(recipe.rowsPerAtom, recipe.blockBytes, recipe.blocksPerRow);
    text += " fields";
    for (const PackField &f : recipe.fields)
      add(f.offset, f.bytes, f.unit, f.xorByte, f.itemBits, f.place, f.step);
    text += " rows";
    for (const RowSegment &segment : recipe.rowOrder) {
      add(segment.firstSource);
      for (const RowMode &mode : segment.modes)
        add(mode.extent, mode.stride);
    }
    return text;
  }

  const Plan &plan_;
  std::span<const std::string> kernelNames_;
  std::vector<std::string> symbols_; // by index; empty until used
  std::vector<uint32_t> usedSymbols_;
  std::map<uint32_t, size_t> numbers_; // of buffers, by index
  std::vector<BufferId> order_;
  std::string text_;
};

} // namespace

std::string normalForm(const Plan &plan, std::span<const std::string> kernelNames) {
  return Printer(plan, kernelNames).run();
}

} // namespace sinter::plan
