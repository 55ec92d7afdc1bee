// The sched dialect: a kernel after its decisions: scratch, register blocks, roles, channels and stages.
#ifndef SINTER_SCHED_TD
#define SINTER_SCHED_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tile/tile_constraints.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::sinter::sched";
  let summary = "scheduled kernels: scratch, register blocks, roles, channels, stages";
  let useDefaultTypePrinterParser = 1;
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

#endif
