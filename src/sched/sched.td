// The sched dialect: a kernel after its decisions: scratch, register blocks, roles, channels and stages.
#ifndef SINTER_SCHED_TD
#define SINTER_SCHED_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tile/tile_constraints.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::sinter::sched";
  let summary = "scheduled kernels: scratch, register blocks, roles, channels, stages";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::sinter::tile::TileDialect"];
}

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_Buffer : TypeDef<Sched_Dialect, "Buffer", []> {
  let mnemonic = "buffer";
  let summary = "scratch memory of one program: shape and element strides";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "mlir::Type":$elementType,
                        ArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Elements from the first to the last, both included.
    int64_t getSpan() const;
  }];
}

def Sched_Channel : TypeDef<Sched_Dialect, "Channel", []> {
  let mnemonic = "channel";
  let summary = "a bounded queue of tiles between two roles";
  let parameters = (ins "int64_t":$depth, "mlir::Type":$elementType);
  let assemblyFormat = "`<` $depth `,` $elementType `>`";
  let genVerifyDecl = 1;
}

def Sched_AllocOp : Sched_Op<"alloc", []> {
  let summary = "scratch memory; `offset` in bytes once placed";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Sched_Buffer:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sched_ReadOp : Sched_Op<"read", []> {
  let summary = "a register block of scratch";
  let arguments = (ins Sched_Buffer:$buffer, Variadic<Index>:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer `[` $offsets `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Sched_WriteOp : Sched_Op<"write", []> {
  let summary = "stores a register block to scratch";
  let arguments = (ins Tile_Tile:$value, Sched_Buffer:$buffer, Variadic<Index>:$offsets);
  let assemblyFormat = "$value `,` $buffer `[` $offsets `]` attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def Sched_Memory : Type<CPred<"::llvm::isa<::sinter::tile::ViewType, ::sinter::sched::BufferType>($_self)">,
                        "view or buffer">;

def Sched_PrefetchOp : Sched_Op<"prefetch", []> {
  let summary = "brings a block of memory nearer before it is read; it may reach beyond, and may do nothing";
  let arguments = (ins Sched_Memory:$memory, Variadic<Index>:$offsets, DenseI64ArrayAttr:$extents);
  let assemblyFormat = "$memory `[` $offsets `]` $extents attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def Sched_PairOp : Sched_Op<"pair", [Pure]> {
  let summary = "neighbours along an axis, f32 (rounded, numeric/bfloat_pairs.h) or bf16, as words of two bf16, the first in the low half";
  let arguments = (ins Tile_Tile:$value, I64Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value `along` $axis attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

// ---- panels: columns of blocks made ready for integer dots, which many rows then share ----

def Sched_ExpandOp : Sched_Op<"expand", []> {
  let summary = "32 elements of a block of each of N rows";
  let description = [{
    Words [8, N] of four numbers T - zero + 128 as bytes (how a target keeps them is its own: only panel_dot reads them),
    scales, and minima [groups, N] where the format has them. Scales are f32 [groups, N], or the numbers of integer scales
    (numeric/formats/integer_scales.h) as i32 [groups, N], with `pairs` as two words of 16 bits [groups / 2, N].
  }];
  let arguments = (ins Tile_Tile:$blocks, I64Attr:$part, UnitAttr:$pairs);
  let results = (outs Tile_Tile:$words, Tile_Tile:$scales, Optional<Tile_Tile>:$mins);
  let assemblyFormat = "$blocks `part` $part (`pairs` $pairs^)? attr-dict `:` type($blocks) `->` type(results)";
  let hasVerifier = 1;
}

def Sched_TotalScalesOp : Sched_Op<"total_scales", []> {
  let summary = "what totals of integer scales become accumulators by: scale and centre of a block of each of N rows, [2, N]";
  let arguments = (ins Tile_Tile:$blocks);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$blocks attr-dict `:` type($blocks) `->` type($result)";
  let hasVerifier = 1;
}

def Sched_PanelDotOp : Sched_Op<"panel_dot", []> {
  let summary = "acc + a . b as tile.dot of blocks defines it, for one block of activations a row and an expanded part of b";
  let description = [{
    Scales of a are left to add_scaled. Accumulators are f32, or totals of integer scales in i32: then `shift` is the bits that a dot loses, and minima are left to
    scale_totals. The numbers of b lie in [`least`, `most`].
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$words, Tile_Tile:$scales, Tile_Tile:$acc, Optional<Tile_Tile>:$mins,
                       UnitAttr:$pairs, OptionalAttr<I64Attr>:$shift,
                       DefaultValuedAttr<I64Attr, "INT8_MIN">:$least, DefaultValuedAttr<I64Attr, "INT8_MAX">:$most);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_ScaleTotalsOp : Sched_Op<"scale_totals", []> {
  let summary = "fma(totals, scale, centre) with [2, N] scales, then for each group fma(-minimum, the sum of a's codes): accumulators as panel_dot has them";
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$totals, Tile_Tile:$scales, Optional<Tile_Tile>:$mins);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_AddScaledOp : Sched_Op<"add_scaled", []> {
  let summary = "acc + accumulators times the scale of the row's block of activations";
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$accumulators, Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_ChannelOp : Sched_Op<"make_channel", []> {
  let summary = "an empty channel";
  let results = (outs Sched_Channel:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sched_PutOp : Sched_Op<"put", []> {
  let summary = "appends a tile; waits while the channel is full";
  let arguments = (ins Tile_Tile:$value, Sched_Channel:$channel);
  let assemblyFormat = "$value `,` $channel attr-dict `:` type($value) `,` type($channel)";
  let hasVerifier = 1;
}

def Sched_GetOp : Sched_Op<"get", []> {
  let summary = "takes the oldest tile; waits while the channel is empty";
  let arguments = (ins Sched_Channel:$channel);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($result)";
  let hasVerifier = 1;
}

def Sched_RolesOp : Sched_Op<"roles", [SingleBlock, NoTerminator]> {
  let summary = "runs its roles side by side and ends when all have ended";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def Sched_RoleOp : Sched_Op<"role", [HasParent<"RolesOp">, SingleBlock, NoTerminator]> {
  let summary = "one side of a specialised kernel, such as load or compute";
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
}

// ---- SIMT IR: kernels whose program instances are thread blocks ----
//
// First every tile's type gets its layout over the registers of the block's threads (`layout`, the tensor's
// encoding; `convert` changes it). Then the kernel is distributed. What follows is the code of each thread: scalars
// and short vectors only, with the attributes `sched.threads` and `sched.shared` (bytes) on the kernel. Control flow
// is uniform in a thread block.

def Sched_SimtLayout : AttrDef<Sched_Dialect, "SimtLayout", []> {
  let mnemonic = "layout";
  let summary = "which thread and register hold which element of a tile";
  let description = [{
    `#sched.layout<registers = ["1.0", "1.1"], threads = ["1.2", "1.3", "0.0", *]>`: bit 0 of a register's number is bit 0 of the
    coordinate along axis 1, and so on; bit 3 of a thread's number chooses among copies. The bits of each axis are
    distinct and leave no gap; together they are the atom, which repeats along every axis until the tile is covered:
    higher register numbers count the repeats, last axis fastest.
  }];
  // each bit as axis * 64 + bit, or -1
  let parameters = (ins ArrayRefParameter<"int32_t">:$registers, ArrayRefParameter<"int32_t">:$threads);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sched_ConvertOp : Sched_Op<"convert", [Pure]> {
  let summary = "the same tile in another layout";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Sched_View : Type<CPred<"::llvm::isa<::sinter::tile::ViewType>($_self)">, "view">;

// Before distribution, block formats become loads and stores of their parts.

def Sched_BlockLoadOp : Sched_Op<"block_load", []> {
  let summary = "a part of each block or element of a block-format view: `code`, `value`, `scale`, `min`, `sum`, `numbers`, `group_scale` or `group_min`";
  let description = [{
    The offsets lie at the start of a block. `code` (i8, the integer that the scale multiplies) and `value` (f32) have one
    element for each of the view's; `scale`, `min` and `sum` (f32) have one for each block along the last axis. `numbers` (i32)
    has one element for two of the view's: what their scale multiplies, as a pair of bf16, the first in the low half.
    Formats with a minimum may add a bias to all of their numbers, which `group_min` then has too: min + bias * scale.
    `group_scale` and `group_min` (f32) have one for each group of equal length that shares them. Zero outside the view,
    where `numbers` may be any.
  }];
  let arguments = (ins StrAttr:$field, Sched_View:$view, Variadic<Index>:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$field $view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)";
}

def Sched_BlockStoreOp : Sched_Op<"block_store", []> {
  let summary = "writes a part of each block: `code` (i8), `scale` (f32; f16 in formats of the table), and of activations `sum` (f32) and `start` (i32)";
  let arguments = (ins StrAttr:$field, Tile_Tile:$value, Sched_View:$view, Variadic<Index>:$offsets);
  let assemblyFormat = "$field $value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)";
}

def Sched_Word : AnyTypeOf<[AnyFloat, AnySignlessInteger, VectorOfRankAndType<[1], [AnyFloat, AnySignlessInteger]>]>;

def Sched_ThreadOp : Sched_Op<"thread", [Pure]> {
  let summary = "this thread's number in its block, x of one axis";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Sched_BlockOp : Sched_Op<"block", [Pure]> {
  let summary = "the number of this thread's block among those of its program (sched.blocks)";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Sched_StrideOp : Sched_Op<"stride", [Pure]> {
  let summary = "elements (blocks, along the last axis of a block format) between neighbours of a view's axis";
  let arguments = (ins Sched_View:$view, ConfinedAttr<I32Attr, [IntNonNegative]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` type($view)";
}

def Sched_ViewLoadOp : Sched_Op<"view_load", [AllTypesMatch<["other", "result"]>]> {
  let summary = "a scalar or vector at a byte offset of a kernel argument; `other` where not `when`, without touching memory";
  let description = "The offset is a multiple of the result's size, unless `align` (bytes) says less.";
  let arguments = (ins Sched_View:$view, Index:$byte, I1:$when, Sched_Word:$other, OptionalAttr<I64Attr>:$align);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$view `[` $byte `]` `when` $when `else` $other attr-dict `:` type($view) `->` type($result)";
}

def Sched_TableLoadOp : Sched_Op<"table_load", [Pure]> {
  let summary = "a word of a constant table that the code brings along; the index lies in the table";
  let arguments = (ins I32:$index, DenseI32ArrayAttr:$table);
  let results = (outs I32:$result);
  let assemblyFormat = "$index `of` $table attr-dict";
}

def Sched_PermuteBytesOp : Sched_Op<"permute_bytes", [Pure]> {
  let summary = "four bytes, each chosen by four bits of the selector: three number a byte of `low` and `high`, the last asks for eight copies of its sign";
  let arguments = (ins I32:$low, I32:$high, I32:$selector);
  let results = (outs I32:$result);
  let assemblyFormat = "$low `,` $high `by` $selector attr-dict";
}

def Sched_ViewStoreOp : Sched_Op<"view_store", []> {
  let summary = "writes a scalar or vector at a byte offset of a kernel argument where `when`";
  let arguments = (ins Sched_Word:$value, Sched_View:$view, Index:$byte, I1:$when, OptionalAttr<I64Attr>:$align);
  let assemblyFormat = "$value `,` $view `[` $byte `]` `when` $when attr-dict `:` type($value) `,` type($view)";
}

def Sched_SharedLoadOp : Sched_Op<"shared_load", []> {
  let summary = "a scalar or vector at a byte offset of the block's shared memory, a multiple of its size";
  let arguments = (ins I32:$byte);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "`[` $byte `]` attr-dict `:` type($result)";
}

def Sched_RemoteLoadOp : Sched_Op<"remote_load", []> {
  let summary = "as shared_load, of the shared memory of block `block` of the program";
  let arguments = (ins I32:$block, I32:$byte);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$block `[` $byte `]` attr-dict `:` type($result)";
}

def Sched_SharedStoreOp : Sched_Op<"shared_store", []> {
  let summary = "writes a scalar or vector at a byte offset of the block's shared memory where `when`";
  let arguments = (ins Sched_Word:$value, I32:$byte, I1:$when);
  let assemblyFormat = "$value `,` `[` $byte `]` `when` $when attr-dict `:` type($value)";
}

def Sched_SharedMatricesOp : Sched_Op<"shared_matrices", []> {
  let summary = "four 8 x 8 matrices of 16-bit elements, of which each of 32 threads gives the place of one row";
  let description = [{
    Thread t gives row t mod 8 of matrix t / 8 (16 bytes, a multiple of 16) and gets of each matrix, in their order, the
    elements 2 (t mod 4) and 2 (t mod 4) + 1 of row t / 4.
  }];
  let arguments = (ins I32:$byte);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "`[` $byte `]` attr-dict `:` type($result)";
}

def Sched_BarrierOp : Sched_Op<"barrier", []> {
  let summary = "waits for all threads of the block; what they wrote to shared memory is seen after it";
  let assemblyFormat = "attr-dict";
}

def Sched_ProgramBarrierOp : Sched_Op<"program_barrier", []> {
  let summary = "waits for all threads of all blocks of the program; what they wrote to their shared memory is seen after it";
  let assemblyFormat = "attr-dict";
}

def Sched_ShuffleOp : Sched_Op<"shuffle", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of thread number XOR `mask`, which lies in the same subgroup";
  let arguments = (ins AnyTypeOf<[I32, F32]>:$value, ConfinedAttr<I32Attr, [IntPositive]>:$mask);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = "$value `xor` $mask attr-dict `:` type($result)";
}

def Sched_MatrixOp : Sched_Op<"matrix", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "one matrix instruction of a subgroup: acc + a . b, fragments as the instruction's table lays them out";
  let arguments = (ins StrAttr:$instruction, Sched_Word:$a, Sched_Word:$b, Sched_Word:$acc);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$instruction $a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)";
}


// ---- matmuls of few rows: subgroups share K ----

def Sched_SplitDotOp : Sched_Op<"split_dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a . b^T with K shared out among the subgroups, each of which has accumulators of its own: [subgroups, M, N]";
  let description = [{
    a is [M, K], b [N, K]. A thread's registers hold the elements whose coordinates along K differ in the bits `depth`, so that
    these are neighbours in memory, or codes of one word; the next lowest bits are the instruction's lanes, the next ones
    the subgroup's number. Each subgroup adds what it has in ascending order. An instruction `reading` multiplies in place of
    `instruction` in the same order, with b as its left operand, where it reads a in a stage whose pipeline has its `order`.
  }];
  let arguments = (ins StrAttr:$instruction, DenseI64ArrayAttr:$depth, Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc, OptionalAttr<StrAttr>:$reading);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$instruction (`reading` $reading^)? `depth` $depth $a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let hasVerifier = 1;
}

def Sched_GroupDotOp : Sched_Op<"group_dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "as split_dot, of numbers that share a scale group by group along K: acc + (a . b^T) scale - sum(a) min for each group";
  let description = [{
    a is [M, K] of bf16, b [N, K / 2] of pairs of bf16, scale and min [N, groups] of f32, acc [subgroups, M, N]. b is the
    operand of the instruction of whose rows a thread has accumulators, so that it has their scales. Products and sums of a group
    are exact to f32; each is scaled and added to the accumulators in ascending order. Where `beside` is more than 1, so many
    subgroups share b's rows instead of K, and all of them multiply all of a; acc is [1, M, N] then. An instruction `reading`
    multiplies in place of `instruction`, group by group in the same order, where it reads a in a stage whose pipeline has its
    `order`; `beside` counts groups of its lanes then.
  }];
  let arguments = (ins StrAttr:$instruction, DenseI64ArrayAttr:$depth, Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$scale, Optional<Tile_Tile>:$min, Tile_Tile:$acc,
                       DefaultValuedAttr<I64Attr, "1">:$beside, OptionalAttr<StrAttr>:$reading);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$instruction (`reading` $reading^)? `depth` $depth $a `,` $b `scale` $scale (`min` $min^)? `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($scale) (`,` type($min)^)? `,` type($acc)";
  let hasVerifier = 1;
}

def Sched_JoinSharesOp : Sched_Op<"join_shares", []> {
  let summary = "[M, N]: the accumulators [subgroups, M, N] added up in ascending order of subgroups";
  let description = [{
    Where `blocks` is more than 1, so many blocks of the program have accumulators [1, M, N] each, which are added up in
    ascending order of blocks. The first block alone stores what is made of the result.
  }];
  let arguments = (ins Tile_Tile:$accumulators, DefaultValuedAttr<I64Attr, "1">:$blocks);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$accumulators attr-dict `:` type($accumulators) `->` type($result)";
  let hasVerifier = 1;
}

// ---- pipelines: multistage shared-memory buffers that asynchronous copies fill before tiles are used ----

def Sched_Pipeline : TypeDef<Sched_Dialect, "Pipeline", []> {
  let mnemonic = "pipeline";
  let summary = "stages for `depth` tiles in the block's shared memory";
  let parameters = (ins "int64_t":$depth, "mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $depth `,` $tile `>`";
}

def Sched_MakePipelineOp : Sched_Op<"make_pipeline", []> {
  let summary = "an empty pipeline; `swizzled` as matrix instructions read it that take operands from shared memory, else with `gap` bytes between rows";
  let description = "Bit i of an element's number along a row of a swizzled pipeline is bit `order`[i] of its place there; bits beyond are their own.";
  let arguments = (ins UnitAttr:$swizzled, DefaultValuedAttr<I64Attr, "16">:$gap, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$order);
  let results = (outs Sched_Pipeline:$result);
  let assemblyFormat = "(`swizzled` $swizzled^)? attr-dict `:` type($result)";
}

def Sched_StageCopyOp : Sched_Op<"stage_copy", [AttrSizedOperandSegments]> {
  let summary = "starts to copy a tile of a view to a stage of a pipeline; zero outside the view and where not `when`";
  let description = "The tile's two axes are the view's last ones, or the two of `axes`, ascending; it has extent 1 along the others.";
  let arguments = (ins Sched_View:$view, Variadic<Index>:$offsets, Sched_Pipeline:$pipeline, I32:$stage, Optional<I1>:$when, OptionalAttr<DenseI64ArrayAttr>:$axes);
  let assemblyFormat = "$view `[` $offsets `]` (`axes` $axes^)? `to` $pipeline `[` $stage `]` (`when` $when^)? attr-dict `:` type($view) `,` type($pipeline)";
}

def Sched_CommitOp : Sched_Op<"commit", []> {
  let summary = "makes the stage copies since the last one a group";
  let assemblyFormat = "attr-dict";
}

def Sched_AwaitOp : Sched_Op<"await", []> {
  let summary = "waits until all threads' groups but the `pending` youngest have landed, and for all threads";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Sched_StageReadOp : Sched_Op<"stage_read", []> {
  let summary = "the tile at a stage of a pipeline, or the part of it that begins at `origin`";
  let arguments = (ins Sched_Pipeline:$pipeline, I32:$stage, OptionalAttr<DenseI64ArrayAttr>:$origin);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$pipeline `[` $stage `]` (`from` $origin^)? attr-dict `:` type($pipeline) `->` type($result)";
}

def Sched_StageDotOp : Sched_Op<"stage_dot", []> {
  let summary = "acc + a . b^T of two pipelines' tiles by an instruction that reads shared memory; in flight until settled";
  let description = "All but the `pending` youngest such products of this thread have ended when it is done.";
  let arguments = (ins StrAttr:$instruction, Sched_Pipeline:$a, Sched_Pipeline:$b, I32:$stage, Tile_Tile:$acc, I32Attr:$pending);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$instruction $a `,` $b `[` $stage `]` `,` $acc `pending` $pending attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)";
}

def Sched_TileDotOp : Sched_Op<"tile_dot", []> {
  let summary = "acc + a . b of a tile in registers and a swizzled pipeline's tile [k, n]; in flight until settled";
  let arguments = (ins StrAttr:$instruction, Tile_Tile:$a, Sched_Pipeline:$b, I32:$stage, Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$instruction $a `,` $b `[` $stage `]` `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)";
}

def Sched_SettleOp : Sched_Op<"settle", []> {
  let summary = "the accumulators of products in flight once they have ended";
  let arguments = (ins Tile_Tile:$acc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$acc attr-dict `:` type($acc) `->` type($result)";
}

// ---- opaque accumulators: numbered fragments of each subgroup whose element layout only the processor knows ----

def Sched_StageStoreOp : Sched_Op<"stage_store", []> {
  let summary = "writes a tile to a stage of a pipeline; seen after a barrier";
  let arguments = (ins Tile_Tile:$value, Sched_Pipeline:$pipeline, I32:$stage);
  let assemblyFormat = "$value `to` $pipeline `[` $stage `]` attr-dict `:` type($value) `,` type($pipeline)";
}

def Sched_StageAccumulateOp : Sched_Op<"stage_accumulate", []> {
  let summary = "adds a . b^T of two pipelines' tiles to the accumulators whose fragments begin at `first`";
  let arguments = (ins StrAttr:$instruction, Sched_Pipeline:$a, Sched_Pipeline:$b, I32:$stage, I64Attr:$first);
  let assemblyFormat = "$instruction $a `,` $b `[` $stage `]` `to` $first attr-dict `:` type($a) `,` type($b)";
}

def Sched_AccReadOp : Sched_Op<"acc_read", []> {
  let summary = "the accumulators whose fragments begin at `first`, as the instruction's table lays them out";
  let arguments = (ins StrAttr:$instruction, I64Attr:$first);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$instruction $first attr-dict `:` type($result)";
}

// In tile form and in SIMT IR.
def Sched_AccClearOp : Sched_Op<"acc_clear", []> {
  let summary = "makes the `count` fragments from `first` on zero";
  let arguments = (ins StrAttr:$instruction, I64Attr:$first, I64Attr:$count);
  let assemblyFormat = "$instruction $first `count` $count attr-dict";
}

def Sched_AccAddOp : Sched_Op<"acc_add", []> {
  let summary = "adds a . b^T to fragments, of operands whose rows lie `rows` bytes apart in shared memory";
  let description = [{
    There are `counts` fragments of a and of b, `steps` bytes from one to the next; the product of number i of a and j of
    b goes to fragment `first` + i counts[1] + j. All bytes are multiples of 16, and the same in the subgroup.
  }];
  let arguments = (ins StrAttr:$instruction, I32:$a, I32:$b, DenseI64ArrayAttr:$rows, DenseI64ArrayAttr:$steps,
                       DenseI64ArrayAttr:$counts, I64Attr:$first);
  let assemblyFormat = "$instruction `[` $a `]` `,` `[` $b `]` `to` $first `rows` $rows `steps` $steps `counts` $counts attr-dict";
}

def Sched_AccTakeOp : Sched_Op<"acc_take", []> {
  let summary = "a fragment as the instruction's table lays out c, by way of shared memory that is the subgroup's own";
  let description = "As many bytes as the fragment has, from `byte` on, a multiple of 16 and the same in the subgroup.";
  let arguments = (ins StrAttr:$instruction, I64Attr:$number, I32:$byte);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$instruction $number `by` `[` $byte `]` attr-dict `:` type($result)";
}

// The same for each thread, in SIMT IR.

def Sched_CopyAsyncOp : Sched_Op<"copy_async", []> {
  let summary = "starts to copy 16 bytes of a kernel argument to shared memory, or 4 or 8; zeros where not `when`";
  let arguments = (ins Sched_View:$view, Index:$byte, I1:$when, I32:$shared, DefaultValuedAttr<I64Attr, "16">:$size);
  let assemblyFormat = "$view `[` $byte `]` `when` $when `to` $shared attr-dict `:` type($view)";
}

def Sched_CopyCommitOp : Sched_Op<"copy_commit", []> {
  let summary = "makes this thread's copies since the last one a group";
  let assemblyFormat = "attr-dict";
}

def Sched_CopyWaitOp : Sched_Op<"copy_wait", []> {
  let summary = "waits until this thread's groups but the `pending` youngest have landed, for matrix instructions too";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Sched_AwaitLaunchesOp : Sched_Op<"await_launches", []> {
  let summary = "waits until the launches before this one have ended and what they wrote can be read; from here on the next one may begin";
  let description = [{
    A kernel that has it starts while the launches before it still run. Before it only views whose contents never change
    (`tile.constant`) are read, and nothing is written. All threads reach it, in tile form and in SIMT IR.
  }];
  let assemblyFormat = "attr-dict";
}

def Sched_MatrixAsyncOp : Sched_Op<"matrix_async", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "starts acc + a . b^T of tiles in shared memory, rows of 128 bytes, their 16-byte pieces XORed with the row's number";
  let arguments = (ins StrAttr:$instruction, I32:$a, I32:$b, Sched_Word:$acc);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$instruction `[` $a `]` `,` `[` $b `]` `,` $acc attr-dict `:` type($acc)";
}

def Sched_MatrixTileAsyncOp : Sched_Op<"matrix_tile_async", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "starts acc + a . b, a's fragment in registers, b in shared memory as rows along k";
  let description = [{
    Rows of b are cut in panels of 128 bytes, `panel` bytes apart; a panel has its rows after one another, their 16-byte
    pieces XORed with the row's number. Where `transpose_b`, it starts acc + a . b^T instead, and b [n, k] lies as
    matrix_async has it. b begins `offset` bytes behind its place.
  }];
  let arguments = (ins StrAttr:$instruction, Sched_Word:$a, I32:$b, DefaultValuedAttr<I64Attr, "0">:$panel, Sched_Word:$acc, UnitAttr:$transpose_b,
                       DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$instruction $a `,` `[` $b `]` (`offset` $offset^)? (`panel` $panel^)? (`transposed` $transpose_b^)? `,` $acc attr-dict `:` type($a) `,` type($acc)";
}

def Sched_PinOp : Sched_Op<"pin", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value, whose registers are written before the matrix_fence that follows";
  let arguments = (ins Sched_Word:$value);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Sched_MatrixFenceOp : Sched_Op<"matrix_fence", []> {
  let summary = "orders registers before the matrix instructions that start after it";
  let assemblyFormat = "attr-dict";
}

def Sched_MatrixWaitOp : Sched_Op<"matrix_wait", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "ends a group of started matrix instructions and waits for all groups but the `pending` youngest; the accumulators pass through";
  let description = "2147483647 pending groups: does not wait. `settled`: the accumulators' group has ended then, though others may be pending.";
  let arguments = (ins I32Attr:$pending, UnitAttr:$commit, Sched_Word:$acc, UnitAttr:$settled);
  let results = (outs Sched_Word:$result);
  let assemblyFormat = "$pending (`commit` $commit^)? (`settled` $settled^)? $acc attr-dict `:` type($acc)";
}

#endif
