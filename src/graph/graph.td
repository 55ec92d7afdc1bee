// The graph dialect: a model as operations on tensors whose dynamic extents carry symbols.
#ifndef SINTER_GRAPH_TD
#define SINTER_GRAPH_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::sinter::graph";
  let summary = "models: operations on tensors with symbolic extents";
  let description = [{
    At most 60 operations. Tensors have any rank; elements are f32, f16, bf16, i32, i1 or a block format. Elementwise
    work (arithmetic, comparisons, select, casts) lives in regions of `map` and `fold` in arith and math. State (the KV cache) is
    a value like any other: an operation that writes it returns its next version, and only the last version may be read.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::sinter::tile::TileDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
}

// Every result's bytes fit in 63 bits, whatever its symbols' values.
def Graph_BoundedExtents : NativeOpTrait<"BoundedExtents"> {
  let cppNamespace = "::sinter::graph";
}

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, !listconcat([Graph_BoundedExtents], traits)>;

// ---- symbolic extents ----

def Graph_Dims : AttrDef<Graph_Dialect, "Dims", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding, ["verifyEncoding"]>]> {
  let mnemonic = "dims";
  let summary = "the symbols of a tensor's dynamic extents, in order";
  let description = [{
    `tensor<?x576xf32, #graph.dims<T>>`: equal symbols are equal extents. A tensor with dynamic extents has this
    encoding, with one symbol for each of them; a static tensor has none. A symbol may be a polynomial of names, e.g.
    `#graph.dims<"4*T+1">`; parsing puts its text in canonical form, so that equal texts are equal extents.
  }];
  let parameters = (ins ArrayRefParameter<"mlir::StringAttr">:$symbols);
  let hasCustomAssemblyFormat = 1;
}

def Graph_SymbolRole : I32EnumAttr<"SymbolRole", "what a symbol is to the compiler, beside an extent", [
    I32EnumAttrCase<"Extent", 0, "extent">, I32EnumAttrCase<"Tokens", 1, "tokens">,
    I32EnumAttrCase<"Decode", 2, "decode">, I32EnumAttrCase<"LongestContext", 3, "longest_context">,
    I32EnumAttrCase<"KeysHeld", 4, "keys_held">, I32EnumAttrCase<"KeysSeen", 5, "keys_seen">]> {
  let cppNamespace = "::sinter::graph";
}

def Graph_Symbol : AttrDef<Graph_Dialect, "Symbol"> {
  let mnemonic = "symbol";
  let summary = "a symbol that a module declares: its name and bounds";
  let description = [{
    A module lists its symbols as `graph.symbols`: `[#graph.symbol<"T", 1 to 512, tokens>, ...]`. Extents use no others. A
    role, which one symbol at most has, says what the caller binds: the rows of the step (tokens), 1 where they are
    decoded and 0 in prefill (decode), the longest sequence's positions, and for costs the keys that sequences hold and
    that tokens see.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$min, "int64_t":$max,
                    DefaultValuedParameter<"::sinter::graph::SymbolRole", "SymbolRole::Extent">:$role);
  let assemblyFormat = "`<` $name `,` $min `to` $max (`,` $role^)? `>`";
  let genVerifyDecl = 1;
}

def Graph_Tensor : Type<CPred<"::sinter::graph::isGraphTensor($_self)">,
    "tensor of f32, f16, bf16, i32, i1 or a block format, with a symbol for each dynamic extent",
    "::mlir::RankedTensorType">;

def Graph_Pairing : I32EnumAttr<"Pairing", "which elements of a head rotate together", [
    I32EnumAttrCase<"Neighbours", 0, "neighbours">, I32EnumAttrCase<"Halves", 1, "halves">]> {
  let cppNamespace = "::sinter::graph";
}

def Graph_KvPart : I32EnumAttr<"KvPart", "which pool of the KV cache", [
    I32EnumAttrCase<"Keys", 0, "keys">, I32EnumAttrCase<"Values", 1, "values">]> {
  let cppNamespace = "::sinter::graph";
}

def Graph_NormKind : I32EnumAttr<"NormKind", "by what a norm divides", [
    I32EnumAttrCase<"Rms", 0, "rms">, I32EnumAttrCase<"Layer", 1, "layer">]> {
  let cppNamespace = "::sinter::graph";
}

def Graph_ReduceKind : I32EnumAttr<"ReduceKind", "how elements combine", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Product", 1, "product">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"All", 4, "all">, I32EnumAttrCase<"Any", 5, "any">]> {
  let cppNamespace = "::sinter::graph";
}

// ---- edges of the graph ----

def Graph_InputOp : Graph_Op<"input", [Pure]> {
  let summary = "a tensor that the caller writes before each run";
  let arguments = (ins StrAttr:$name);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Graph_StateOp : Graph_Op<"state", []> {
  let summary = "a tensor that keeps its contents from run to run; zero at first";
  let arguments = (ins StrAttr:$name);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Graph_WeightOp : Graph_Op<"weight", [Pure]> {
  let summary = "tensors of the model file, joined along the first axis";
  let arguments = (ins StrArrayAttr:$tensors);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$tensors attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_ConstantOp : Graph_Op<"constant", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "a tensor of known elements";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
}

def Graph_IotaOp : Graph_Op<"iota", [Pure]> {
  let summary = "each element is its index along an axis, as i32";
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`along` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Graph_OutputOp : Graph_Op<"output", []> {
  let summary = "a tensor that the caller reads after each run";
  let arguments = (ins StrAttr:$name, Graph_Tensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
}

// ---- arithmetic ----

def Graph_GatherOp : Graph_Op<"gather", [Pure]> {
  let summary = "slices of a table along an axis by index; indices outside give zeros";
  let description = [{
    The result has the table's shape with the index's shape in place of the axis, which is the first by default. Batch
    axes, which table and index share pair by pair, stay where the table has them: with the first axis of both as batch
    axis and `along 1`, result[b, j, i] = table[b, index[b, j], i]. The result of a table of floats or of a block format
    may be f32: elements are converted or dequantized then.
  }];
  let arguments = (ins Graph_Tensor:$table, Graph_Tensor:$index,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$table_batch,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$index_batch,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $index (`batch` $table_batch^ `x` $index_batch)? (`along` $axis^)? attr-dict
    `:` type($table) `,` type($index) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$table, "::mlir::Value":$index), [{
    ::mlir::DenseI64ArrayAttr none;
    build($_builder, $_state, result, table, index, none, none, $_builder.getI64IntegerAttr(0));
  }]>];
  let extraClassDeclaration = [{
    /// Whether it takes rows of so many columns as f32, as an embedding does.
    bool isEmbedding();
    /// The axes of the index that are no batch axes, in their order.
    ::llvm::SmallVector<int64_t> getIndexAxes();
  }];
  let hasVerifier = 1;
}

def Graph_NormOp : Graph_Op<"norm", [Pure, AttrSizedOperandSegments]> {
  let summary = "values over their root mean square or to mean 0 and variance 1, times weight, plus bias";
  let description = [{
    Over the axes, which are the last one by default. rms: x / sqrt(mean(x^2) + eps). layer: (x - mean(x)) /
    sqrt(mean((x - mean(x))^2) + eps). weight and bias have the extents of these axes and are 1 and 0 where absent.
    squares, of rms along the last axis, are graph.square_sums of the value, from which it takes mean(x^2).
  }];
  let arguments = (ins DefaultValuedAttr<Graph_NormKind, "NormKind::Rms">:$kind, Graph_Tensor:$value,
                       Optional<Graph_Tensor>:$weight, Optional<Graph_Tensor>:$bias, Optional<Graph_Tensor>:$squares,
                       OptionalAttr<DenseI64ArrayAttr>:$axes, F32Attr:$eps);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    ($kind^)? $value (`,` $weight^)? (`bias` $bias^)? (`squares` $squares^)? (`over` $axes^)? `eps` $eps attr-dict
    `:` type($value) (`,` type($weight)^)? (`bias` type($bias)^)? (`squares` type($squares)^)? `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$value, "::mlir::Value":$weight,
                                 "::mlir::FloatAttr":$eps), [{
    build($_builder, $_state, result, NormKindAttr(), value, weight, ::mlir::Value(), ::mlir::Value(),
          ::mlir::DenseI64ArrayAttr(), eps);
  }]>];
  let extraClassDeclaration = [{
    /// The axes in ascending order.
    ::llvm::SmallVector<int64_t> getNormAxes();
    /// Whether it divides by the root mean square along the last axis and multiplies with a weight.
    bool isRmsOfRows();
  }];
  let hasVerifier = 1;
}

def Graph_SquareSumsOp : Graph_Op<"square_sums", [Pure]> {
  let summary = "sums of the squares of equal groups of neighbours along the last axis";
  let description = [{
    The result has as many elements along that axis as there are groups.
  }];
  let arguments = (ins Graph_Tensor:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_DotGeneralOp : Graph_Op<"dot_general", [Pure]> {
  let summary = "sums of products over contracting axes, for each index of the batch axes, in f32";
  let description = [{
    As in StableHLO: the result's axes are the batch axes in their order, the other axes of a, the other axes of b.
    Contracting axes that are not given are the last axis of a and the last of b, so that `graph.dot_general %x, %w` is
    x[..., K] . w[N, K] -> [..., N]. Operands are floats or block formats; blocks lie along the contracting axis, the
    last. Two block formats multiply as tile.dot defines; a block format beside floats is dequantized.
  }];
  let arguments = (ins Graph_Tensor:$a, Graph_Tensor:$b,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$a_batch,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$b_batch,
                       OptionalAttr<DenseI64ArrayAttr>:$a_contract, OptionalAttr<DenseI64ArrayAttr>:$b_contract);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b (`batch` $a_batch^ `x` $b_batch)? (`contract` $a_contract^ `x` $b_contract)? attr-dict
    `:` type($a) `,` type($b) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$a, "::mlir::Value":$b), [{
    ::mlir::DenseI64ArrayAttr none;
    build($_builder, $_state, result, a, b, none, none, none, none);
  }]>];
  let extraClassDeclaration = [{
    /// The contracting axes of each operand, pair by pair.
    ::llvm::SmallVector<int64_t> getAContracting();
    ::llvm::SmallVector<int64_t> getBContracting();
    /// Whether it is x[..., K] . w[N, K] -> [..., N], as a linear layer multiplies rows by a weight.
    bool isLinear();
  }];
  let hasVerifier = 1;
}

def Graph_MapOp : Graph_Op<"map", [Pure, SingleBlock, IsolatedFromAbove]> {
  let summary = "elementwise work: a region in arith and math on one element of each operand";
  let description = [{
    Operands broadcast to the result as in NumPy: axes align from the last, and an axis that is absent or 1 repeats. So
    a map with one operand that yields it broadcasts, and a map without operands fills. The region's operations are
    those of graph/ir/scalar_ops.h; they compute in f32, i32 and i1.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let results = (outs Graph_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$values attr-dict `:` custom<OperandTypes>(type($values)) `->` type($result) $body";
  let extraClassDeclaration = [{
    /// Whether all operands have the result's shape.
    bool isSameShape();
  }];
  let hasVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp", "FoldOp"]>]> {
  let summary = "the element that a map makes, or a fold's next accumulators";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let extraClassDeclaration = [{
    /// The one of a map.
    ::mlir::Value getValue() { return getValues().front(); }
  }];
}

def Graph_ReduceOp : Graph_Op<"reduce", [Pure]> {
  let summary = "combines the elements along axes";
  let description = [{
    The result has the value's shape without these axes, or with extent 1 for each of them, as its rank says. sum,
    product, max (NaN where an element is NaN) and min take f32 and i32, which wraps; all and any take i1. No element
    gives the neutral one: 0, 1, the least, the greatest, true, false.
  }];
  let arguments = (ins Graph_ReduceKind:$kind, Graph_Tensor:$value, DenseI64ArrayAttr:$axes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$kind $value `over` $axes attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_FoldOp : Graph_Op<"fold", [Pure, SingleBlock, IsolatedFromAbove]> {
  let summary = "a reduction by a region: accumulators take the elements along axes, one after another";
  let description = [{
    The values have one shape. Each result has it without these axes, or with extent 1 for each of them, as its rank
    says. Results begin as `from` says, one number each. For the elements in row-major order the region makes their next
    values of the accumulators and one element of each value, its arguments in this order. So an argmax folds values
    and an iota into a largest element and its index. The region's operations are those of a map. Results are f32, i32
    or i1; graph.reduce sums and compares faster, in an order of the kernel's own.
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values, ArrayAttr:$from, DenseI64ArrayAttr:$axes);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $values `from` $from `over` $axes attr-dict `:` type($values) `->` type($results) $body
  }];
  let extraClassDeclaration = [{
    /// The axes in ascending order.
    ::llvm::SmallVector<int64_t> getFoldAxes();
  }];
  let hasVerifier = 1;
}

def Graph_QuantizeOp : Graph_Op<"quantize", [Pure]> {
  let summary = "rounds f32 rows to a block format or a shorter float";
  let arguments = (ins Graph_Tensor:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_DequantizeOp : Graph_Op<"dequantize", [Pure]> {
  let summary = "the f32 values of a tensor of a block format, for operations that take scalars alone";
  let arguments = (ins Graph_Tensor:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

// ---- shapes ----

def Graph_ReshapeOp : Graph_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order; of a block format the last axis stays";
  let arguments = (ins Graph_Tensor:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether the first axis stays and is the only dynamic one.
    bool keepsRows();
  }];
  let hasVerifier = 1;
}

def Graph_TransposeOp : Graph_Op<"transpose", [Pure]> {
  let summary = "axis i of the result is axis permutation[i] of the value; of a block format the last axis stays";
  let arguments = (ins Graph_Tensor:$value, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value `to` $permutation attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_SliceOp : Graph_Op<"slice", [Pure]> {
  let summary = "elements [offset + i * step] of each axis, as many as the result has";
  let arguments = (ins Graph_Tensor:$value, DenseI64ArrayAttr:$offsets, OptionalAttr<DenseI64ArrayAttr>:$steps);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value `from` $offsets (`step` $steps^)? attr-dict `:` type($value) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether it takes columns [offset, offset + n) of a matrix: its offset then.
    std::optional<int64_t> columnOffset();
  }];
  let hasVerifier = 1;
}

def Graph_ConcatOp : Graph_Op<"concat", [Pure]> {
  let summary = "values one after another along an axis";
  let arguments = (ins Variadic<Graph_Tensor>:$values, ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$values `along` $axis attr-dict `:` type($values) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_PadOp : Graph_Op<"pad", [Pure]> {
  let summary = "low[i] and high[i] more elements, all `fill`, at the two ends of axis i";
  let arguments = (ins Graph_Tensor:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, TypedAttrInterface:$fill);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$value `low` $low `high` $high `fill` $fill attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

// ---- attention ----

def Graph_RopeTableOp : Graph_Op<"rope_table", [Pure]> {
  let summary = "RoPE table: cosines and sines of position * base^(-2 i / dims), by which heads' pairs rotate";
  let description = [{
    `positions` is i32 [T], the result f32 [T, dims]: dims / 2 cosines, then as many sines. Angles are divided by
    the first of `divisors`, f32 [dims / 2 or more]. `scales` [dims / 2] multiply the angles and `magnitude` the cosines and sines. All of
    these are 1 where they are absent.
  }];
  let arguments = (ins Graph_Tensor:$positions, Optional<Graph_Tensor>:$divisors,
                       ConfinedAttr<I64Attr, [IntPositive]>:$dims, F32Attr:$base,
                       OptionalAttr<DenseF32ArrayAttr>:$scales, OptionalAttr<F32Attr>:$magnitude);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $positions (`over` $divisors^)? `dims` $dims `base` $base attr-dict `:` type($positions)
    (`over` type($divisors)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_RopeOp : Graph_Op<"rope", [Pure]> {
  let summary = "rotates pairs of each head's elements";
  let description = [{
    `value` is [T, heads, D], `table` f32 [T, dims] as of graph.rope_table: (a, b) becomes (a cos - b sin, a sin + b
    cos). Pair i is elements (2 i, 2 i + 1) for neighbours and (i, i + dims / 2) for halves. Elements from dims on stay
    as they are; dims is D where it is absent.
  }];
  let arguments = (ins Graph_Tensor:$value, Graph_Tensor:$table, Graph_Pairing:$pairing,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $pairing $value `,` $table (`dims` $dims^)? attr-dict `:` type($value) `,` type($table) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$value, "::mlir::Value":$table,
                                 "Pairing":$pairing), [{
    build($_builder, $_state, result, value, table, pairing, ::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    /// Elements of a head that rotate, the first ones.
    int64_t rotating() { return getDims().value_or(getValue().getType().getShape().back()); }
  }];
  let hasVerifier = 1;
}

def Graph_KvAppendOp : Graph_Op<"kv_append", [Pure]> {
  let summary = "appends the keys or the values of tokens to the paged KV cache";
  let description = [{
    `rows` is [T, kv heads, D], `slots` i32 [T]: slot s is row s mod R of page s div R. A pool of values is [pages, kv
    heads, R, D]; one of keys [pages, kv heads, D, R], or of a block format, whose blocks lie along D, as one of values.
    The result is the pool's next version. Negative slots and slots beyond the last page drop the token. Distinct
    tokens go to distinct slots.
  }];
  let arguments = (ins Graph_KvPart:$part, Graph_Tensor:$rows, Graph_Tensor:$slots, Graph_Tensor:$pool);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $part $rows `at` $slots `into` $pool attr-dict `:` type($rows) `,` type($slots) `into` type($pool)
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def Graph_PagedAttentionOp : Graph_Op<"paged_attention", [Pure]> {
  let summary = "grouped attention of ragged query rows over paged keys and values";
  let description = [{
    `query` [T, heads, D]; `keys` and `values` are pools as graph.kv_append writes them, whose heads may have different
    sizes; the result is [T, heads, size of a value head]. `page_table` i32 [S, P]; `lengths` i32 [S], keys of each
    sequence including this step's; `query_tiles` i32 [B, 3]: sequence, first row in `query`, rows. Row t sees the keys
    of its sequence at positions 0 to positions[t]; with `window` only those after positions[t] - window; with `chunk`
    those from the last multiple of `chunk` on; with `both` all keys of its sequence, with a `window` those at most
    window / 2 away. Query head h reads kv head h div (heads / kv heads).

    A score s is `scale` times a dot product. With `soft_cap` it becomes soft_cap * tanh(s / soft_cap), then with
    `slopes` (one a head; ALiBi) it loses the head's slope for each position between query and key. `sinks` f32 [heads]
    adds exp(sink) of the head to the sum of the exponentials of the scores, and nothing to the weighted values.
  }];
  let arguments = (ins Graph_Tensor:$query, Graph_Tensor:$keys, Graph_Tensor:$values,
                       Graph_Tensor:$positions, Graph_Tensor:$page_table, Graph_Tensor:$lengths,
                       Graph_Tensor:$query_tiles, Optional<Graph_Tensor>:$sinks, F32Attr:$scale,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$window,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$chunk,
                       OptionalAttr<F32Attr>:$soft_cap, OptionalAttr<DenseF32ArrayAttr>:$slopes, UnitAttr:$both);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $query `,` $keys `,` $values `,` $positions `,` $page_table `,` $lengths `,` $query_tiles (`sinks` $sinks^)?
    `scale` $scale (`window` $window^)? (`chunk` $chunk^)? (`soft_cap` $soft_cap^)? (`slopes` $slopes^)?
    (`both` $both^)? attr-dict
    `:` type($query) `,` type($keys) `,` type($values) `,` type($positions) `,` type($page_table) `,` type($lengths)
    `,` type($query_tiles) (`sinks` type($sinks)^)? `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query, "::mlir::Value":$keys,
                                 "::mlir::Value":$values, "::mlir::Value":$positions, "::mlir::Value":$page_table,
                                 "::mlir::Value":$lengths, "::mlir::Value":$query_tiles, "::mlir::FloatAttr":$scale), [{
    build($_builder, $_state, result, query, keys, values, positions, page_table, lengths, query_tiles,
          ::mlir::Value(), scale, ::mlir::IntegerAttr(), ::mlir::IntegerAttr(), ::mlir::FloatAttr(),
          ::mlir::DenseF32ArrayAttr(), ::mlir::UnitAttr());
  }]>];
  let extraClassDeclaration = [{
    /// The first position that a row at `position` sees, and one past the last in a sequence of `length`.
    int64_t firstSeen(int64_t position);
    int64_t endSeen(int64_t position, int64_t length);
    /// Elements of a query head and of a key head.
    int64_t keyHeadDim() { return getQuery().getType().getShape().back(); }
  }];
  let hasVerifier = 1;
}

// ---- recurrence: states of sequences ----

def Graph_CausalConvOp : Graph_Op<"causal_conv", [Pure]> {
  let summary = "convolution of each column along the rows of a sequence, which looks back only";
  let description = [{
    `rows` is f32 [T, C], `weight` f32 [C, W], the state f32 [slots, W - 1, C]: the W - 1 rows before a sequence's next
    one. Row t of the result is the sum over j of weight[c, j] times the row W - 1 - j before it, oldest first.

    `spans` i32 [S, 4] has a row for each sequence of the step: the slot of its state, none (zeros) where negative; the
    slot of its next state; its first row; its rows. No slot is written for one sequence and read or written for
    another. `next` is the state's next version.
  }];
  let arguments = (ins Graph_Tensor:$rows, Graph_Tensor:$weight, Graph_Tensor:$spans, Graph_Tensor:$state);
  let results = (outs Graph_Tensor:$result, Graph_Tensor:$next);
  let assemblyFormat = [{
    $rows `,` $weight `of` $spans `from` $state attr-dict
    `:` type($rows) `,` type($weight) `of` type($spans) `from` type($state) `->` type($result) `,` type($next)
  }];
  let hasVerifier = 1;
}

def Graph_DeltaRuleOp : Graph_Op<"delta_rule", [Pure]> {
  let summary = "gated delta rule: linear attention by a matrix of each sequence and head";
  let description = [{
    `query` and `key` are f32 [T, key heads, D], `value` f32 [T, heads, E], `decay` (a logarithm) and `beta` f32 [T,
    heads], the state f32 [slots, heads, D, E]; `spans` are those of graph.causal_conv. For each row of a sequence in
    order, a head's matrix S becomes exp(decay) S, then S + key (beta (value - S^T key))^T; the result [T, heads, E]
    is scale * S^T query. Head h reads key head h mod key heads, or with `neighbours` h div (heads / key heads).
  }];
  let arguments = (ins Graph_Tensor:$query, Graph_Tensor:$key, Graph_Tensor:$value, Graph_Tensor:$decay,
                       Graph_Tensor:$beta, Graph_Tensor:$spans, Graph_Tensor:$state, F32Attr:$scale,
                       UnitAttr:$neighbours);
  let results = (outs Graph_Tensor:$result, Graph_Tensor:$next);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $decay `,` $beta `of` $spans `from` $state `scale` $scale attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($decay) `,` type($beta) `of` type($spans)
    `from` type($state) `->` type($result) `,` type($next)
  }];
  let extraClassDeclaration = [{
    /// The key head that a head reads.
    int64_t keyHeadOf(int64_t head);
  }];
  let hasVerifier = 1;
}

// ---- launches ----

def Graph_LaunchOp : Graph_Op<"launch", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "one launch of a kernel, whose body holds the operations that it does";
  let description = [{
    One operation of the body is what the kernel is for; the others have the attribute `slot`: "prologue" on the way into
    it, "epilogue" on the tiles that it makes, "store" as these are written. The body's arguments are the operands.

    `buckets` are the numbers of rows that the kernel is instantiated for: "prefill", "small", "one". A matmul packs the
    rows of its weight in `row_order`: parts [first row, extent, stride, ...], digits of the row number, the first
    fastest. A program's tile has a multiple of `columns` columns, of heads that have `head_columns`. `in_place`: the
    result takes the first operand's memory. `packed_table`: a gather reads the packed copy that a matmul has.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Graph_Tensor>:$values,
                       OptionalAttr<StrArrayAttr>:$buckets, OptionalAttr<ArrayAttr>:$row_order,
                       OptionalAttr<I64Attr>:$columns, OptionalAttr<I64Attr>:$head_columns,
                       UnitAttr:$in_place, UnitAttr:$packed_table);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kernel `(` $values `)` attr-dict `:` functional-type($values, $results) $body";
  let hasVerifier = 0;
  let hasRegionVerifier = 1; // after the body's operations
}

def Graph_ReturnOp : Graph_Op<"return", [Pure, Terminator, HasParent<"LaunchOp">]> {
  let summary = "what a launch leaves to others";
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

// ---- routing: mixture of experts ----

def Graph_RouterKind : I32EnumAttr<"RouterKind", "what a router makes of its logits", [
    I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"Sigmoid", 1, "sigmoid">,
    I32EnumAttrCase<"ChosenSoftmax", 2, "chosen_softmax">]> {
  let cppNamespace = "::sinter::graph";
}

def Graph_TopKOp : Graph_Op<"top_k", [Pure]> {
  let summary = "the k largest elements along the last axis, largest first, and their indices as i32";
  let description = [{
    Of equal elements the lower index comes first. NaN comes before all numbers.
  }];
  let arguments = (ins Graph_Tensor:$value);
  let results = (outs Graph_Tensor:$largest, Graph_Tensor:$indices);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($largest) `,` type($indices)";
  let hasVerifier = 1;
}

def Graph_RouteOp : Graph_Op<"route", [Pure]> {
  let summary = "each token's k experts, as graph.top_k chooses them, and the weights of these";
  let description = [{
    `logits` are f32 [T, E]; results are weights f32 [T, k] and experts i32 [T, k]. Scores are the softmax or the
    sigmoid of the logits; with chosen_softmax they are the logits, and the softmax is that of a token's chosen ones.
    Experts are chosen by scores plus `bias`, f32 [E], or `by_logits`; NaN ranks as minus infinity. With more than one
    of `groups` of neighbouring experts only the `used_groups` count whose two largest such sums, added, are largest;
    the rest ranks as minus infinity. Weights are the scores without bias; `normalized`, each is divided by their sum,
    which counts as 2^-14 at least; then all are multiplied by `scale`. So many neighbouring experts as `sharing` says
    stand for one: results are the chosen numbers divided by it, which may come twice, and scores are of these.
  }];
  let arguments = (ins Graph_RouterKind:$kind, Graph_Tensor:$logits, Optional<Graph_Tensor>:$bias,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$groups,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$used_groups,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$sharing,
                       UnitAttr:$by_logits, UnitAttr:$normalized, DefaultValuedAttr<F32Attr, "1.0f">:$scale);
  let results = (outs Graph_Tensor:$weights, Graph_Tensor:$experts);
  let assemblyFormat = [{
    $kind $logits (`bias` $bias^)? attr-dict `:` type($logits) (`bias` type($bias)^)?
    `->` type($weights) `,` type($experts)
  }];
  let hasVerifier = 1;
}

def Graph_GroupRowsOp : Graph_Op<"group_rows", [Pure]> {
  let summary = "where each choice of an expert goes, so that choices of one expert lie side by side";
  let description = [{
    `experts` is i32 [T, k]; a row may name an expert twice. `places` i32 [T, k] gives each choice its row, ordered by expert, then by token,
    -1 where there is no such expert. `groups` i32 [E, 3] are expert, first row and rows of each expert that is chosen,
    in ascending order, then zeros.
  }];
  let arguments = (ins Graph_Tensor:$experts);
  let results = (outs Graph_Tensor:$places, Graph_Tensor:$groups);
  let assemblyFormat = "$experts attr-dict `:` type($experts) `->` type($places) `,` type($groups)";
  let hasVerifier = 1;
}

def Graph_SpreadRowsOp : Graph_Op<"spread_rows", [Pure]> {
  let summary = "row places[t, j] is the row of token t, as graph.group_rows places choices";
  let arguments = (ins Graph_Tensor:$rows, Graph_Tensor:$places);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$rows `to` $places attr-dict `:` type($rows) `,` type($places) `->` type($result)";
  let hasVerifier = 1;
}

def Graph_GroupedDotOp : Graph_Op<"grouped_dot", [Pure]> {
  let summary = "rows by the transposed matrices of the experts that chose them";
  let description = [{
    `a` is [R, K] in groups of rows, `groups` i32 [E, 3] as of graph.group_rows. `b` is [P * E, N, K], parts one after another
    of all experts' matrices: column p * N + n of a row of expert e is its product with row n of b[p * E + e], plus
    bias[p * E + e, n], f32. Rows of no group are undefined. No group has more than R / `choices` rows. Formats are
    those of graph.dot_general.
  }];
  let arguments = (ins Graph_Tensor:$a, Graph_Tensor:$b, Graph_Tensor:$groups, Optional<Graph_Tensor>:$bias,
                       ConfinedAttr<I64Attr, [IntPositive]>:$choices);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `by` $groups (`bias` $bias^)? `choices` $choices attr-dict
    `:` type($a) `,` type($b) `by` type($groups) (`bias` type($bias)^)? `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Experts, and P.
    int64_t getExperts() { return getGroups().getType().getDimSize(0); }
    int64_t getParts() { return getB().getType().getDimSize(0) / getExperts(); }
  }];
  let hasVerifier = 1;
}

def Graph_CombineRowsOp : Graph_Op<"combine_rows", [Pure]> {
  let summary = "each token's sum of its choices' rows times their weights, in the order of the choices";
  let description = [{
    `rows` is f32 [R, N], `places` i32 [T, k], `weights` f32 [T, k], the result f32 [T, N].
  }];
  let arguments = (ins Graph_Tensor:$rows, Graph_Tensor:$places, Graph_Tensor:$weights);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $rows `at` $places `by` $weights attr-dict `:` type($rows) `,` type($places) `,` type($weights) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
