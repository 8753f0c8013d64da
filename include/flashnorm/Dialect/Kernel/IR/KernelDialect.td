//===- KernelDialect.td - The kernel dialect ---------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_KERNEL_IR_KERNELDIALECT_TD
#define FLASHNORM_DIALECT_KERNEL_IR_KERNELDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Kernel_Dialect : Dialect {
  let name = "kernel";
  let cppNamespace = "::flashnorm::kernel";
  let summary = "Tile kernels, written once for all MMA families";
  let description = [{
    One `kernel.func` is one GPU kernel: a CTA computes one tile of the result
    through a `kernel.pipeline` (a ring of shared-memory stages between loads and
    MMAs) and an epilogue over slices of the accumulator. Nothing here says
    which thread does what: the family named in `#kernel.config` decides which
    warps load, multiply and run the epilogue, where the accumulator lives
    (registers or TMEM), how shared memory is swizzled, and which row and column
    each register holds. `--convert-kernel-to-nvvm` projects the body onto those
    roles.

    Values of type `frag`, `rowvec` and `colvec` are distributed over the
    threads of the epilogue:

    | type | per thread |
    |---|---|
    | `!kernel.frag<RxC>` | its rows times its columns of one slice, f32 |
    | `!kernel.rowvec<R>` | one f32 for each of its rows |
    | `!kernel.colvec<C>` | one f32 for each of its columns of one slice |

    A rowvec is *partial* while it holds what one thread has accumulated, and
    *complete* after `kernel.row_combine`, when all threads of a row agree.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

class Kernel_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::flashnorm::kernel";
}

def Kernel_Family : Kernel_Enum<"FamilyKind", "MMA instruction family", [
  I32EnumCase<"MmaSync", 0, "mma_sync">, I32EnumCase<"Wgmma", 1, "wgmma">,
  I32EnumCase<"Tcgen05", 2, "tcgen05">]>;

def Kernel_Schedule : Kernel_Enum<"Schedule",
    "which tiles a CTA's MMA warps work on", [
  I32EnumCase<"Cooperative", 0, "cooperative">,
  I32EnumCase<"PingPong", 1, "ping_pong">]>;

def Kernel_Reduction : Kernel_Enum<"Reduction", "what is summed over a row", [
  I32EnumCase<"Sum", 0, "sum">, I32EnumCase<"SumSq", 1, "sumsq">]>;
def Kernel_ReductionAttr
    : EnumAttr<Kernel_Dialect, Kernel_Reduction, "reduction">;

class Kernel_Attr<string name, string attrMnemonic>
    : AttrDef<Kernel_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Kernel_ConfigAttr : Kernel_Attr<"Config", "config"> {
  let summary = "how a kernel is laid over the threads of a CTA";
  let description = [{
    `tile` is the CTA's rows, columns and depth of a stage; `warps` splits rows
    and columns over warps (`mma_sync`) or warpgroups (`wgmma`).

    `schedule` is `cooperative` (all of them work on one tile) or, for `wgmma`,
    `ping_pong`: two warpgroups, each with a tile of its own, so that one
    multiplies while the other runs its epilogue.

    `cluster` has the CTAs of a cluster along M, N and K (`wgmma`), of which one
    may be above 1:
    - M (1 or 2): their tiles are below each other, and each loads a part of the
      columns' slots for all of them (multicast);
    - N (1, or 2 or 4 with `ping_pong`): they have the tiles of one row of tiles;
      a `kernel.row_combine` adds up the sums of all of them;
    - K (1, 2, 4 or 8, with `cooperative`): they share one tile. Each runs a part
      of the pipeline's steps, the results are added up, and each runs the
      epilogue of a part of the slices.

    ```mlir
    #kernel.config<wgmma, chip = "sm_90a", tile = [64, 256, 64], warps = [1, 1],
                   schedule = ping_pong, cluster = [1, 2, 1]>
    ```
  }];
  let parameters = (ins
    EnumParameter<Kernel_Family>:$family,
    StringRefParameter<"chip">:$chip,
    ArrayRefParameter<"int64_t">:$tile,
    ArrayRefParameter<"int64_t">:$warps,
    DefaultValuedParameter<"::flashnorm::kernel::Schedule",
                           "::flashnorm::kernel::Schedule::Cooperative">:$schedule,
    ArrayRefParameter<"int64_t">:$cluster);
  let assemblyFormat = [{
    `<` $family `,` `chip` `=` $chip `,` `tile` `=` `[` $tile `]` `,`
        `warps` `=` `[` $warps `]` `` custom<Placement>($schedule, $cluster) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getTileM() const { return getTile()[0]; }
    int64_t getTileN() const { return getTile()[1]; }
    int64_t getTileK() const { return getTile()[2]; }
    int64_t getWarpsM() const { return getWarps()[0]; }
    int64_t getWarpsN() const { return getWarps()[1]; }
    bool isPingPong() const { return getSchedule() == Schedule::PingPong; }
    int64_t getClusterM() const { return getCluster()[0]; }
    int64_t getClusterN() const { return getCluster()[1]; }
    int64_t getClusterK() const { return getCluster()[2]; }
    int64_t getClusterSize() const {
      return getClusterM() * getClusterN() * getClusterK();
    }
  }];
}

class Kernel_Type<string name, string typeMnemonic>
    : TypeDef<Kernel_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Kernel_SmemType : Kernel_Type<"Smem", "smem"> {
  let summary = "a tile in one pipeline stage of shared memory";
  let description = [{
    Rows times columns of bf16 or f16; columns are contiguous in global memory.
    The family chooses the layout in shared memory.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        "::mlir::Type":$elementType);
  let assemblyFormat = [{ `<` custom<Tile>($shape, $elementType) `>` }];
  let genVerifyDecl = 1;
}

def Kernel_AccType : Kernel_Type<"Acc", "acc"> {
  let summary = "the f32 accumulator of a CTA's tile";
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` custom<Shape>($rows, $columns) `>`";
  let genVerifyDecl = 1;
}
def Kernel_FragType : Kernel_Type<"Frag", "frag"> {
  let summary = "one slice of the accumulator, distributed over threads";
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` custom<Shape>($rows, $columns) `>`";
  let genVerifyDecl = 1;
}
def Kernel_RowvecType : Kernel_Type<"Rowvec", "rowvec"> {
  let summary = "one f32 per row of the tile";
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
  let genVerifyDecl = 1;
}
def Kernel_ColvecType : Kernel_Type<"Colvec", "colvec"> {
  let summary = "one f32 per column of a slice";
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` $columns `>`";
  let genVerifyDecl = 1;
}

#endif // FLASHNORM_DIALECT_KERNEL_IR_KERNELDIALECT_TD
