// Emission, bytes of words: SPIR-V has no instruction that permutes them, so they are shifted to
// their places, all that move as far at once.
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

#include <map>

using namespace mlir;

namespace sinter::targets::vulkan {

static constexpr uint32_t kBytes = 4, kByteBits = 8, kByte = 0xff, kSelectorBits = 4;
static constexpr uint32_t kSign = 8, kHigh = 4, kInWord = 3; // of a byte's selector

static std::optional<uint32_t> constantOf(Value value) {
  APInt bits;
  if (!matchPattern(value, m_ConstantInt(&bits)))
    return std::nullopt;
  return static_cast<uint32_t>(bits.getZExtValue());
}

static Value shifted(Site c, Value word, int bytes) {
  if (bytes > 0)
    return c.make<spirv::ShiftLeftLogicalOp>(c.i32(), word, c.word(bytes * kByteBits));
  return bytes < 0 ? c.make<spirv::ShiftRightLogicalOp>(c.i32(), word, c.word(-bytes * kByteBits))
                   : word;
}

namespace {
/// Bytes of a word that move as far: from the low or the high word, themselves or their signs.
struct Move {
  bool high, sign;
  int bytes;
  auto operator<=>(const Move &) const = default;
};
} // namespace

static std::map<Move, uint32_t> movesOf(uint32_t selector) {
  std::map<Move, uint32_t> masks;
  for (uint32_t at = 0; at < kBytes; ++at) {
    const uint32_t chosen = selector >> (kSelectorBits * at);
    const Move move{(chosen & kHigh) != 0, (chosen & kSign) != 0,
                    static_cast<int>(at) - static_cast<int>(chosen & kInWord)};
    masks[move] |= kByte << (kByteBits * at);
  }
  return masks;
}

static uint32_t moved(uint32_t word, int bytes) {
  return bytes >= 0 ? word << (kByteBits * bytes) : word >> (kByteBits * -bytes);
}

// Bytes that a constant selects. Words of `constants` are known.
static Value bySelector(Site c, std::array<Value, 2> words,
                        std::array<std::optional<uint32_t>, 2> constants, uint32_t selector) {
  uint32_t known = 0;
  Value result;
  auto add = [&](Value part) {
    result = result ? c.make<spirv::BitwiseOrOp>(c.i32(), result, part) : part;
  };
  for (auto [move, mask] : movesOf(selector)) {
    if (constants[move.high] && !move.sign) {
      known |= moved(*constants[move.high], move.bytes) & mask;
      continue;
    }
    Value word = shifted(c, words[move.high], move.bytes);
    if (move.sign) { // one in each byte with a sign, times 255
      Value ones = c.make<spirv::ShiftRightLogicalOp>(c.i32(), word, c.word(kByteBits - 1));
      ones = c.make<spirv::BitwiseAndOp>(c.i32(), ones, c.word(mask & 0x01010101));
      add(c.make<spirv::IMulOp>(c.i32(), ones, c.word(kByte)));
    } else {
      add(c.make<spirv::BitwiseAndOp>(c.i32(), word, c.word(static_cast<int32_t>(mask))));
    }
  }
  if (known || !result)
    add(c.word(static_cast<int32_t>(known)));
  return result;
}

// Bytes that only the thread's selector knows; `signs`: whether it may ask for signs.
static Value bySelector(Site c, std::array<Value, 2> words, Value selector, bool signs) {
  Value low = c.make<spirv::UConvertOp>(c.i64(), words[0]),
        high = c.make<spirv::UConvertOp>(c.i64(), words[1]);
  high = c.make<spirv::ShiftLeftLogicalOp>(c.i64(), high, c.word(kBytes * kByteBits));
  Value both = c.make<spirv::BitwiseOrOp>(c.i64(), low, high), result;
  auto bits = [&](Value of, uint32_t from, uint32_t mask) {
    Value down = from ? c.make<spirv::ShiftRightLogicalOp>(c.i32(), of, c.word(from)) : of;
    return c.make<spirv::BitwiseAndOp>(c.i32(), down, c.word(mask));
  };
  for (uint32_t at = 0; at < kBytes; ++at) {
    const uint32_t first = kSelectorBits * at;
    Value from = bits(selector, first, kHigh | kInWord);
    from = c.make<spirv::ShiftLeftLogicalOp>(c.i32(), from, c.word(3)); // bits of a byte
    Value byte = c.make<spirv::ShiftRightLogicalOp>(c.i64(), both, from);
    byte = bits(c.make<spirv::UConvertOp>(c.i32(), byte), 0, kByte);
    if (signs) {
      Value all = c.make<spirv::IMulOp>(c.i32(), bits(byte, kByteBits - 1, 1), c.word(kByte));
      Value asked = c.make<spirv::INotEqualOp>(c.i1(), bits(selector, first, kSign), c.word(0));
      byte = c.select(asked, all, byte);
    }
    byte = shifted(c, byte, static_cast<int>(at));
    result = result ? c.make<spirv::BitwiseOrOp>(c.i32(), result, byte) : byte;
  }
  return result;
}

Value Emitter::permutedBytes(sched::PermuteBytesOp op) {
  constexpr uint32_t kSigns = 0x8888;
  const std::array<Value, 2> words{scalar(op.getLow()), scalar(op.getHigh())};
  if (std::optional<uint32_t> selector = constantOf(op.getSelector()))
    return bySelector(site(), words, {constantOf(op.getLow()), constantOf(op.getHigh())},
                      *selector);
  auto masked = op.getSelector().getDefiningOp<arith::AndIOp>();
  std::optional<uint32_t> mask = masked ? constantOf(masked.getRhs()) : std::nullopt;
  return bySelector(site(), words, scalar(op.getSelector()), !mask || (*mask & kSigns));
}

} // namespace sinter::targets::vulkan
