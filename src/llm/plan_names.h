// The contract between a language model's plan and the code that runs it: names of symbols,
// buffers, properties and the procedure. The compiler writes them, nothing else in llm spells them.
#pragma once

namespace sinter::plan_names {

inline constexpr const char *kStepProcedure = "step";

// Symbols: tokens in this step, its sequences, attention query blocks, rows of logits wanted, query
// blocks of these, page table entries per sequence, pages of the KV pool, 1 where the tokens were
// generated (0: prompts).
inline constexpr const char *kTokens = "T";
inline constexpr const char *kSequences = "S";
inline constexpr const char *kBlocks = "B";
inline constexpr const char *kLogitRows = "R";
inline constexpr const char *kLogitBlocks = "C";
inline constexpr const char *kPagesPerSequence = "P";
inline constexpr const char *kPoolPages = "N";
inline constexpr const char *kGenerated = "G";
// Where each attention block has one token, or there are logits' blocks and each has one row:
// positions of the step's longest sequence, this step's tokens counted, rounded up to a power of
// two, so that few sizes occur. The symbol's minimum where that is less, and for all other steps.
inline constexpr const char *kLongest = "L";
// What attention reads, for costs alone, 0 unless steps are profiled: keys that the step's
// sequences hold, and keys that its tokens see, summed over tokens.
inline constexpr const char *kKeysHeld = "K";
inline constexpr const char *kKeysSeen = "V";

// Input buffers, all i32.
inline constexpr const char *kTokenIds = "tokens";         // [T]
inline constexpr const char *kPositions = "positions";     // [T]
inline constexpr const char *kKvSlots = "kv_slots";        // [T], page * page_rows + row
inline constexpr const char *kPageTable = "page_table";    // [S * P]
inline constexpr const char *kKvLengths = "kv_lengths";    // [S], this step's tokens counted
inline constexpr const char *kBlockTable = "blocks";       // [B * 3]: sequence, first token, tokens
inline constexpr const char *kLogitIndices = "logit_rows"; // [R], indices of tokens
inline constexpr const char *kLogitPositions = "logit_positions"; // [R]
inline constexpr const char *kLogitBlockTable =
    "logit_blocks"; // [C * 3]: sequence, first row, rows

// Output buffer, f32[R * vocab_size].
inline constexpr const char *kLogits = "logits";

// Properties.
inline constexpr const char *kVocabSize = "vocab_size";
inline constexpr const char *kContextLength = "context_length";
inline constexpr const char *kPageRows = "page_rows";
inline constexpr const char *kQueryBlock = "query_block";
inline constexpr const char *kKvBytesPerPage = "kv_bytes";

// Texts.
inline constexpr const char *kKvType = "kv_type";                     // numeric/kv_type.h
inline constexpr const char *kAskedActivations = "asked_activations"; // numeric/precision.h

} // namespace sinter::plan_names
