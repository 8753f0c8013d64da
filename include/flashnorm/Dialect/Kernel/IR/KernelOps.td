//===- KernelOps.td - Ops of the kernel dialect ------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_KERNEL_IR_KERNELOPS_TD
#define FLASHNORM_DIALECT_KERNEL_IR_KERNELOPS_TD

include "flashnorm/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kernel_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kernel_Dialect, mnemonic, traits>;

def Kernel_Vector : MemRefRankOf<[BF16, F16, F32], [1]>;
def Kernel_Matrix : MemRefRankOf<[BF16, F16, F32], [2]>;
def Kernel_PipelineValue : AnyTypeOf<[Kernel_AccType, Kernel_RowvecType]>;
def Kernel_MapInput
    : AnyTypeOf<[Kernel_FragType, Kernel_RowvecType, Kernel_ColvecType]>;
def Kernel_MapResult : AnyTypeOf<[Kernel_FragType, Kernel_RowvecType]>;
def Kernel_YieldValue
    : AnyTypeOf<[Kernel_AccType, Kernel_FragType, Kernel_RowvecType, F32]>;

def Kernel_FuncOp : Kernel_Op<"func", [
    FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "a GPU kernel";
  let description = [{
    Arguments are memrefs in global memory and one `index`: the number of rows,
    which every dynamic leading size equals. Arrays are row-major; those that
    are only read may have the layout `strided<[S, 1]>`, where rows start S
    elements apart (`?`: the launch says). Rows start at multiples of 16
    bytes. The grid is one-dimensional and has one CTA
    per tile of the result; with `wgmma` it has at most one CTA per SM, and a
    CTA runs the body for one tile after the other.

    The optional attribute `kernel.launch_info = {strategy = "…"}` says for
    reports how the kernel was planned; the launch ABI of a kernel without it
    says "custom".
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    Kernel_ConfigAttr:$config,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Kernel_ReturnOp : Kernel_Op<"return", [
    Pure, Terminator, HasParent<"FuncOp">]> {
  let summary = "ends a kernel";
  let assemblyFormat = "attr-dict";
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator,
    ParentOneOf<["PipelineOp", "ForSlicesOp", "MapOp"]>]> {
  let summary = "values of a region for the op around it";
  let arguments = (ins Variadic<Kernel_YieldValue>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Kernel_TileOriginOp : Kernel_Op<"tile_origin", [Pure]> {
  let summary = "first row and first column of the tile";
  let description = [{
    The result has `columns` columns. Tiles are numbered in groups of 8 rows
    of tiles, rows of a group fastest, so that CTAs that run at the same time
    share rows and columns in L2.
  }];
  let arguments = (ins I64Attr:$columns);
  let results = (outs Index:$row, Index:$column);
  let assemblyFormat = "`columns` `(` $columns `)` attr-dict";
}

def Kernel_ZeroAccOp : Kernel_Op<"zero_acc", [Pure]> {
  let summary = "an accumulator of zeros";
  let results = (outs Kernel_AccType:$result);
  let assemblyFormat = "`:` type($result) attr-dict";
}

def Kernel_FillOp : Kernel_Op<"fill", [Pure]> {
  let summary = "a rowvec with one value for all rows";
  let arguments = (ins F32Attr:$value);
  let results = (outs Kernel_RowvecType:$result);
  let assemblyFormat = "$value `:` type($result) attr-dict";
}

def Kernel_PipelineOp : Kernel_Op<"pipeline", [RecursiveMemoryEffects]> {
  let summary = "a ring of shared-memory stages between loads and MMAs";
  let description = [{
    Runs k = 0, step, … below `bound`. `produce` fills the slots of one stage
    and `consume` reads them; up to `stages` stages are in flight. Both regions
    have the arguments (k, slots…); `consume` also carries `inits`, the
    accumulator first and then partial rowvecs, and yields their next values.
    Nothing but loads may stand in `produce`, nothing but MMAs and row
    statistics in `consume`.

    ```mlir
    %acc = kernel.pipeline bound(512) step(64) stages(4)
        init(%zero : !kernel.acc<128x256>) produce {
    ^bb0(%k: index, %a: !kernel.smem<128x64xbf16>, %b: !kernel.smem<256x64xbf16>):
      kernel.load %x[%m0, %k] to %a : memref<?x512xbf16>, !kernel.smem<128x64xbf16>
      kernel.load %w[%n0, %k] to %b : memref<256x512xbf16>, !kernel.smem<256x64xbf16>
      kernel.yield
    } consume {
    ^bb0(%k: index, %a: !kernel.smem<128x64xbf16>, %b: !kernel.smem<256x64xbf16>,
         %c: !kernel.acc<128x256>):
      %d = kernel.mma %a, %b, %c transpose_b : …
      kernel.yield %d : !kernel.acc<128x256>
    } -> !kernel.acc<128x256>
    ```
  }];
  let arguments = (ins I64Attr:$bound, I64Attr:$step, I64Attr:$stages,
    Variadic<Kernel_PipelineValue>:$inits);
  let results = (outs Variadic<Kernel_PipelineValue>:$results);
  let regions = (region SizedRegion<1>:$produce, SizedRegion<1>:$consume);
  let assemblyFormat = [{
    `bound` `(` $bound `)` `step` `(` $step `)` `stages` `(` $stages `)`
    `init` `(` $inits `:` type($inits) `)` attr-dict-with-keyword
    `produce` $produce `consume` $consume `->` type($results)
  }];
  let hasRegionVerifier = 1;
}

def Kernel_LoadOp : Kernel_Op<"load", [HasParent<"PipelineOp">]> {
  let summary = "copies a box of global memory into a slot";
  let description = [{
    Elements outside of the array arrive as zeros.

    What a `resident` load brings depends on the pipeline's index only: a CTA
    that works on several tiles loads it under the first one, and keeps it for
    all of them in shared memory of its own for each index.

    With `prefetch(n)` the box of the n-th step from here is asked of device
    memory, into L2: of the CTA's next tile where this one has no such step. It
    changes no result.
  }];
  let arguments = (ins Arg<Kernel_Matrix, "", [MemRead]>:$source,
    Index:$row, Index:$column, Arg<Kernel_SmemType, "", [MemWrite]>:$target,
    UnitAttr:$resident,
    OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$prefetch);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` `to` $target (`resident` $resident^)?
    (`prefetch` `(` $prefetch^ `)`)? attr-dict
    `:` type($source) `,` type($target)
  }];
  let hasVerifier = 1;
}

def Kernel_MmaOp : Kernel_Op<"mma", [HasParent<"PipelineOp">,
    AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + A * B over the depth of one stage";
  let description = [{
    A is [rows, depth]; B is [depth, columns], or [columns, depth] with
    `transpose_b`. Without it, B may have columns behind those of the
    accumulator, which are not read: wgmma's slots hold whole boxes of 64.
  }];
  let arguments = (ins Arg<Kernel_SmemType, "", [MemRead]>:$a,
    Arg<Kernel_SmemType, "", [MemRead]>:$b, Kernel_AccType:$acc,
    UnitAttr:$transpose_b);
  let results = (outs Kernel_AccType:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $acc (`transpose_b` $transpose_b^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Kernel_AccumulateTileOp : Kernel_Op<"accumulate_tile", [
    HasParent<"PipelineOp">, AllTypesMatch<["init", "result"]>]> {
  let summary = "adds the sum or sum of squares of a slot's rows";
  let description = [{
    Each warp of the epilogue reads whole rows: finish the sum with
    `kernel.row_combine … within_warp`.
  }];
  let arguments = (ins Kernel_ReductionAttr:$kind,
    Arg<Kernel_SmemType, "", [MemRead]>:$tile, Kernel_RowvecType:$init);
  let results = (outs Kernel_RowvecType:$result);
  let assemblyFormat = [{
    $kind $tile `into` $init attr-dict `:` type($tile) `,` type($init)
  }];
  let hasVerifier = 1;
}

def Kernel_ForSlicesOp : Kernel_Op<"for_slices", [RecursiveMemoryEffects]> {
  let summary = "visits the accumulator slice by slice";
  let description = [{
    The region has the arguments (frag, column, inits…): a slice, the column of
    the tile where this thread's part of it starts, and the carried partial
    rowvecs. It yields the next rowvecs, and before them a frag when the slice
    is written back; the first result is then the new accumulator.
  }];
  let arguments = (ins Kernel_AccType:$acc, Variadic<Kernel_RowvecType>:$inits);
  let results = (outs Variadic<Kernel_PipelineValue>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $acc (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword
    `:` type($acc) $body (`->` type($results)^)?
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The body writes each slice back.
    bool writesBack() { return getNumResults() == getInits().size() + 1; }
  }];
}

def Kernel_MapOp : Kernel_Op<"map", [Pure]> {
  let summary = "a scalar function, element by element";
  let description = [{
    The region has one f32 argument per input and yields one f32. A rowvec
    input gives its row's value, a colvec its column's. The result is a frag
    when an input is one, else a rowvec.
  }];
  let arguments = (ins Variadic<Kernel_MapInput>:$inputs);
  let results = (outs Kernel_MapResult:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $inputs `:` type($inputs) attr-dict-with-keyword $body `->` type($result)
  }];
  let hasRegionVerifier = 1;
}

def Kernel_AccumulateOp : Kernel_Op<"accumulate", [
    Pure, AllTypesMatch<["init", "result"]>]> {
  let summary = "adds the sum or sum of squares of a slice's rows";
  let description = [{
    `column` is the slice's first column: in the tile, or in the result when a
    cluster shares its rows. Columns at `limit` and beyond are padding and add
    nothing.
  }];
  let arguments = (ins Kernel_ReductionAttr:$kind, Kernel_FragType:$frag,
    Kernel_RowvecType:$init, Index:$column, I64Attr:$limit);
  let results = (outs Kernel_RowvecType:$result);
  let assemblyFormat = [{
    $kind $frag `into` $init `columns` `(` $column `,` $limit `)` attr-dict
    `:` type($frag) `,` type($init)
  }];
  let hasVerifier = 1;
}

def Kernel_RowCombineOp : Kernel_Op<"row_combine", [
    AllTypesMatch<["partial", "result"]>]> {
  let summary = "sums a partial rowvec over the threads of each row";
  let description = [{
    Lanes first (butterfly shuffles), then warps (shared memory), in a fixed
    order: the same bits on every run. With `within_warp`, the warps that share
    a row hold equal sums already, as after `kernel.accumulate_tile`, and only
    lanes are added.
  }];
  let arguments = (ins Kernel_RowvecType:$partial, UnitAttr:$within_warp);
  let results = (outs Kernel_RowvecType:$result);
  let assemblyFormat = [{
    $partial (`within_warp` $within_warp^)? attr-dict `:` type($partial)
  }];
}

def Kernel_LoadColvecOp : Kernel_Op<"load_colvec"> {
  let summary = "reads one value per column of a slice";
  let description = [{
    Columns outside of the array read as any element of it: padding is neither
    accumulated nor stored.
  }];
  let arguments = (ins Arg<Kernel_Vector, "", [MemRead]>:$source,
    Index:$column);
  let results = (outs Kernel_ColvecType:$result);
  let assemblyFormat = [{
    $source `[` $column `]` attr-dict `:` type($source) `,` type($result)
  }];
}

def Kernel_LoadFragOp : Kernel_Op<"load_frag"> {
  let summary = "reads the elements of a slice";
  let description = [{
    Elements outside of the array read as any element of it: padding is neither
    accumulated nor stored.
  }];
  let arguments = (ins Arg<Kernel_Matrix, "", [MemRead]>:$source, Index:$row,
    Index:$column);
  let results = (outs Kernel_FragType:$result);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` attr-dict `:` type($source) `,`
    type($result)
  }];
}

def Kernel_StoreFragOp : Kernel_Op<"store_frag"> {
  let summary = "rounds a slice and writes it";
  let description = "Elements outside of the array are dropped.";
  let arguments = (ins Kernel_FragType:$value,
    Arg<Kernel_Matrix, "", [MemWrite]>:$target, Index:$row, Index:$column);
  let assemblyFormat = [{
    $value `,` $target `[` $row `,` $column `]` attr-dict
    `:` type($value) `,` type($target)
  }];
}

def Kernel_StoreRowvecOp : Kernel_Op<"store_rowvec"> {
  let summary = "writes one value per row";
  let description = "The rowvec must be complete; rows outside are dropped.";
  let arguments = (ins Kernel_RowvecType:$value,
    Arg<Kernel_Vector, "", [MemWrite]>:$target, Index:$row);
  let assemblyFormat = [{
    $value `,` $target `[` $row `]` attr-dict `:` type($value) `,`
    type($target)
  }];
}

#endif // FLASHNORM_DIALECT_KERNEL_IR_KERNELOPS_TD
