// The tile dialect: a kernel is a grid of tile programs over views; tiles are builtin static tensors.
#ifndef SINTER_TILE_TD
#define SINTER_TILE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tile/tile_constraints.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::sinter::tile";
  let summary = "tile programs over views, without threads, layouts or masks";
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect"];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

// ---- types ----

def Tile_Access : I32EnumAttr<"Access", "how a kernel may use a view", [
    I32EnumAttrCase<"In", 0, "in">, I32EnumAttrCase<"Out", 1, "out">,
    I32EnumAttrCase<"InOut", 2, "inout">]> {
  let cppNamespace = "::sinter::tile";
}

def Tile_Block : TypeDef<Tile_Dialect, "Block", []> {
  let mnemonic = "block";
  let summary = "one element of a block-scaled quantised format";
  let description = [{
    `!tile.block<q4_1>` names a row of the block format table (numeric/formats/block_format.h). A tile of this element type
    holds whole blocks along its last dimension. `interleave` rows are stored unit by unit side by side (packed
    weights; 0 is the file's own order).
  }];
  let parameters = (ins StringRefParameter<"format name">:$format);
  let assemblyFormat = "`<` $format `>`";
}

def Tile_View : TypeDef<Tile_Dialect, "View", []> {
  let mnemonic = "view";
  let summary = "memory seen as an array of elements: shape, strides, element format, access";
  let description = [{
    `!tile.view<?x64xf32, in>`. Strides count elements (blocks for the last dimension of block formats) and are
    passed at launch; the innermost stride is 1 unless `strided`. Views of block formats whose inner extents are static
    have no gaps, so that kernels know their strides, unless `strided` (their innermost stride is 1 even so) or the
    argument's `tile.strides` says otherwise: the strides that every launch of the kernel gives it. `interleave = R`: rows are packed in groups of R.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "mlir::Type":$elementType,
                        "::sinter::tile::Access":$access,
                        DefaultValuedParameter<"int64_t", "0">:$interleave,
                        DefaultValuedParameter<"bool", "false">:$strided);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    bool isWritable() const { return getAccess() != Access::In; }
    bool isReadable() const { return getAccess() != Access::Out; }
    /// The stride along the axis where the type tells it: of block formats with static inner extents.
    std::optional<int64_t> denseStride(int64_t axis) const;
    /// The axis along which neighbouring elements are neighbours in memory, or -1.
    int64_t getContiguousAxis() const {
      return getInterleave() ? 0 : getStrided() ? -1 : getRank() - 1;
    }
  }];
}

def Tile_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger, Index]>;

// ---- structure ----

def Tile_KernelOp : Tile_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, Symbol,
    SingleBlock, NoTerminator, AutomaticAllocationScope]> {
  let summary = "a kernel: one tile program per point of its grid";
  let description = [{
    Arguments are views and scalars. The body is one block without results. `tile.grid` in it gives the number of
    programs along three axes from dimensions and scalars.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::ArrayRef<mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    mlir::ArrayRef<mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    mlir::Region *getCallableRegion() { return &getBody(); }
    /// The kernel's one `tile.grid`; the verifier has made sure of it.
    ::sinter::tile::GridOp getGrid();
  }];
}

def Tile_GridOp : Tile_Op<"grid", [HasParent<"KernelOp">]> {
  let summary = "the number of programs along x, y, z";
  let arguments = (ins Index:$x, Index:$y, Index:$z);
  let assemblyFormat = "$x `,` $y `,` $z attr-dict";
  let hasVerifier = 1;
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "this program's place along one axis of the grid";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_DimOp : Tile_Op<"dim", [Pure]> {
  let summary = "an extent of a view";
  let arguments = (ins Tile_View:$view, ConfinedAttr<I32Attr, [IntNonNegative]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `,` $axis attr-dict `:` type($view)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

// ---- views ----

def Tile_WindowOp : Tile_Op<"window", [Pure, AttrSizedOperandSegments]> {
  let summary = "a rectangle of a view, clipped to it: origin and extents by scalars";
  let arguments = (ins Tile_View:$view, Variadic<Index>:$origins, Variadic<Index>:$extents);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$view `[` $origins `]` `extent` `[` $extents `]` attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "a view whose rows come page by page from an index";
  let description = [{
    `pages` is [P, R, ...] with R static, `index` a view of n i32 page numbers. The result is [n * R, ...]: its row r
    is row r mod R of page index[r div R]. An index outside [0, P) reads as the padding value and drops stores.
    With `by_row` the index holds n row numbers and the result is [n, ...]: its row r is row index[r] mod R of page
    index[r] div R.
  }];
  let arguments = (ins Tile_View:$pages, Tile_View:$index, UnitAttr:$by_row);
  let results = (outs Tile_View:$result);
  let assemblyFormat = "$pages `,` $index attr-dict `:` type($pages) `,` type($index) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadOp : Tile_Op<"load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of a view at element offsets; elements outside are the padding value";
  let description = [{
    No program writes an in-view, so a load of one has no effect and two of the same place are one.
  }];
  let arguments = (ins Tile_View:$view, Variadic<Index>:$offsets, OptionalAttr<AnyAttr>:$pad);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$view `[` $offsets `]` (`pad` `(` $pad^ `)`)? attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_LoadScalarOp : Tile_Op<"load_scalar", []> {
  let summary = "one element of a view; outside it, zero";
  let arguments = (ins Tile_View:$view, Variadic<Index>:$offsets);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$view `[` $offsets `]` attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", []> {
  let summary = "writes a tile to a view at element offsets; elements outside are dropped";
  let arguments = (ins Tile_Tile:$value, Tile_View:$view, Variadic<Index>:$offsets);
  let assemblyFormat = "$value `,` $view `[` $offsets `]` attr-dict `:` type($value) `,` type($view)";
  let hasVerifier = 1;
}

// ---- tiles ----

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile of one scalar";
  let arguments = (ins Tile_Scalar:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "each element is its index along one axis";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats extents of 1 up to the result's extents";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_PermuteOp : Tile_Op<"permute", [Pure]> {
  let summary = "reorders axes: axis i of the result is axis order[i] of the operand";
  let arguments = (ins Tile_Tile:$value, DenseI64ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value $order attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "a static rectangle of a tile";
  let arguments = (ins Tile_Tile:$value, DenseI64ArrayAttr:$offsets);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value $offsets attr-dict `:` type($value) `->` type($result)";
  let hasFolder = 1; // the whole of a tile is that tile
  let hasVerifier = 1;
}

def Tile_ConcatOp : Tile_Op<"concat", [Pure]> {
  let summary = "tiles one after another along an axis";
  let arguments = (ins Variadic<Tile_Tile>:$values, ConfinedAttr<I32Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$values `axis` $axis attr-dict `:` type($values) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"MaxAnyNan", 3, "max_any_nan">]> {
  let cppNamespace = "::sinter::tile";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines the elements along one axis, which stays with extent 1";
  let description = [{
    `max` and `min` of floats keep NaN and have -0 below +0. `max_any_nan` is `max` but where NaN or zeros of both signs
    are among the elements: then it is NaN, a zero of either sign or the largest number beside NaN, whichever a target
    finds with less work. In scheduled form of cores two elements in the tree's order give the second where it is larger,
    else the first.
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_Tile:$value, ConfinedAttr<I32Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$kind $value `axis` $axis attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_DotOp : Tile_Op<"dot", [Pure]> {
  let summary = "acc + a . b, contracting a's last axis with b's first (or b's last, with transpose_b)";
  let description = [{
    a is [M, K], b [K, N] (or [N, K] with transpose_b), acc and the result [M, N]. Float operands multiply into f32.
    So do, on CPUs, words (i32) of two bf16 each, neighbours along K (numeric/bfloat_pairs.h, sched.pair).
    Two block-scaled operands use an exact integer dot per group of their blocks (numeric/formats/block_format.h), then
    sum = fma(dot, scale_b, sum), and for a format with minima sum = fma(min_b, sum_a, sum). The sum begins at -0 with each
    scale of a, so that the first of it is a product; acc = fma(sum, scale_a, acc). Where a scale of a reaches over a
    block of b, b may have integer scales (numeric/formats/integer_scales.h): dots of groups, of which a format may take off the lowest bits, sum up
    as integers over a block, sum = fma(f32(total), scale_b, centre_b), then come the minima of all these groups.
    Groups and K ascend.
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc, UnitAttr:$transpose_b);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`transpose_b` $transpose_b^)? attr-dict `:` type($a) `,` type($b) `,` type($acc) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_QuantizeOp : Tile_Op<"quantize", [Pure]> {
  let summary = "rounds a float tile to a block format, group by group along the last axis";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_DequantizeOp : Tile_Op<"dequantize", [Pure]> {
  let summary = "the f32 values of a block-format tile";
  let arguments = (ins Tile_Tile:$value);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

#endif
