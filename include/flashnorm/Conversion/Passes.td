//===- Passes.td - Conversions between levels --------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_CONVERSION_PASSES_TD
#define FLASHNORM_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertFlashNormToLinalgPass
    : Pass<"convert-flashnorm-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lowers every flashnorm op to linalg: the truth path";
  let description = [{
    Defines what the ops mean, and lets everything run on a CPU: each line of an
    op's equations becomes one linalg op.

    ```mlir
    %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
           outs(%init : tensor<?x256xbf16>) {eps = 1.0e-05 : f64}
           -> tensor<?x256xbf16>
    // sum of squares, mean, rsqrt(mean + eps); then, into %init:
    %y = linalg.generic ... ins(%x, %rstd) outs(%init) {
      // truncf(extf(%x) * %rstd)
    }
    ```

    Works on tensors: memrefs are an error, and so is `flashnorm.launch`, whose
    kernel is compiled code, unless `keep-launches` leaves it to the runtime. A plan on a `flashnorm.matmul` changes nothing here.

    Numerics: f32 (f64 for f64 inputs) from the first widening to the last
    rounding; LayerNorm's variance in a second pass over `x - mean`; every sum
    in the order of the index.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"keepLaunches", "keep-launches", "bool", "false",
           "leave flashnorm.launch as it is">];
}

def PromoteToF64Pass : Pass<"flashnorm-promote-to-f64", "::mlir::ModuleOp"> {
  let summary = "computes everything in f64: the yardstick of flashnorm-run";
  let description = [{
    Replaces every float type by f64, in the signatures of functions too.
    Constants keep their exact value, as their own type had rounded it; `extf`
    and `truncf` vanish. What is left of the difference to the original is that
    one's rounding.

    ```mlir
    func.func @f(%x: tensor<4xbf16>) -> tensor<4xf32>
    // becomes
    func.func @f(%x: tensor<4xf64>) -> tensor<4xf64>
    ```

    Handles func, scf, cf, arith, math, linalg, tensor and flashnorm, the latter
    best before they are lowered, so that their own constants stay exact. Errors
    (and nothing is changed): ops of other dialects on floats, bitcasts,
    `flashnorm.launch`, external functions with floats, floats wider than f64,
    complex numbers, memrefs, constants without data.
  }];
}

def OrderLoopsPass : Pass<"flashnorm-order-loops", "::mlir::func::FuncOp"> {
  let summary = "puts a contraction's contiguous loop innermost, for CPUs";
  let description = [{
    LLVM vectorises the loop over the columns of a matrix product, but may not
    reorder the sum over k. A linalg op whose innermost loop is a reduction gets
    the loop that walks the last dimension of the output instead, if every
    operand that this loop walks has it as its last dimension too.

    ```mlir
    linalg.matmul ins(%x, %w) outs(%acc)
    // becomes, with the loops m, k, n
    linalg.generic {iterator_types = ["parallel", "reduction", "parallel"]} ...
    ```

    Leaves alone: products with a [N,K] weight, sums along rows. Bit-exact:
    each element is summed in the same order as before.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
  let statistics = [Statistic<"numReordered", "num-reordered",
                              "Ops whose loops were interchanged">];
}

def DecomposeForHostPass
    : Pass<"flashnorm-decompose-for-host", "::mlir::func::FuncOp"> {
  let summary = "takes apart ops that have no form on buffers or as loops";
  let description = [{
    Upstream bufferizes and lowers most of linalg and tensor, not all. What it
    does not is said with what it does: linalg.softmax and other aggregates by
    their own decomposition, linalg.pack and linalg.unpack as pads and
    transposes, tensor.gather as tensor.generate, tensor.bitcast as arith.bitcast,
    ub.poison as tensor.empty.

    ```mlir
    %y = tensor.gather %x[%i] gather_dims([0])
           : (tensor<9x4xf32>, tensor<2x1xindex>) -> tensor<2x1x4xf32>
    // becomes
    %y = tensor.generate {
    ^bb0(%a: index, %b: index, %c: index):
      %row = tensor.extract %i[%a, %c0] : tensor<2x1xindex>
      %e = tensor.extract %x[%row, %c] : tensor<9x4xf32>
      tensor.yield %e : f32
    } : tensor<2x1x4xf32>
    ```

    Error: an op on tensors that can be neither bufferized nor taken apart.
    Numerics: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numDecomposed", "decomposed", "Ops taken apart">];
}

def ExpandFp8CastsPass
    : Pass<"flashnorm-expand-fp8-casts", "::mlir::func::FuncOp"> {
  let summary = "computes casts to and from fp8 on bits";
  let description = [{
    LLVM has no fp8 types, and the host no instructions for them: on the way to it
    f8E4M3FN and f8E5M2 are i8. `arith.truncf` to them and `arith.extf` from them, on
    scalars, become arithmetic on the bits of an f32.

    ```mlir
    %y = arith.extf %x : f8E5M2 to f32
    // becomes
    %bits = arith.bitcast %x : f8E5M2 to i8
    ... shifts the exponent into its place ...
    ```

    Leaves alone: truncations from f64, or that do not round to nearest even.

    Numerics: bit-exact. Rounds to nearest even; what is beyond the range becomes
    an infinity in f8E5M2, and NaN in f8E4M3FN, as constants do when they fold.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [Statistic<"numExpanded", "expanded", "Casts expanded">];
}

def VerifyHostCodePass : Pass<"flashnorm-verify-host-code", "::mlir::ModuleOp"> {
  let summary = "rejects what was not lowered to the LLVM dialect";
  let description = [{
    Names each op that is left of another dialect, so that a program that the
    CPU cannot run ends with the reason. Changes nothing.
  }];
}

def ConvertFlashNormToKernelPass
    : Pass<"convert-flashnorm-to-kernel", "::mlir::ModuleOp"> {
  let summary = "outlines planned flashnorm.matmul ops as kernels";
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::flashnorm::kernel::KernelDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect"];
  let description = [{
    Each `flashnorm.matmul` that carries a plan becomes a `flashnorm.launch` of
    a `kernel.func` in the new `gpu.module @kernels`. Ops that differ in nothing
    but the number of rows share a kernel. Ops without a plan stay.

    Errors, with values: a plan that cannot run, as `--flashnorm-verify-plan`
    finds it; memrefs that are not packed or not in global memory; an output that
    shares memory with another operand. The residual may be the output.
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels built">,
    Statistic<"numLaunches", "num-launches", "Ops that became launches">];
}

def ConvertKernelToNVVMPass
    : Pass<"convert-kernel-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "prints kernels for their MMA family, as NVVM and LLVM dialect";
  let description = [{
    Each `kernel.func` becomes an `llvm.func` of one thread's code, for the MMA
    family and chip in its config; docs/Kernels.md describes the families. Its
    attribute `flashnorm.launch_abi` says how to launch it. scf and arith are
    left for upstream conversions.

    ```mlir
    kernel.func @f(%x: memref<?x512xbf16>, …) config(<wgmma, chip = "sm_90a", …>)
    // becomes
    llvm.func @f(%x: !llvm.ptr {nvvm.grid_constant, …}, …)
        attributes {flashnorm.launch_abi = {…}, nvvm.kernel, …}
    ```

    Errors, with values: a chip that is unknown or has no such family, tiles and
    slots that the family's instructions cannot express, more shared memory than
    the chip has, ops that have no device form, accesses that are not those of
    the CTA's tile. A kernel that passes accesses no array out of bounds.

    Numerics: sums of a row in a fixed order, pairwise in the thread; exp and
    tanh through exp2 and rsqrt approximate (2 ulp), erf as a polynomial.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def SerializeKernelsPass
    : Pass<"flashnorm-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "turns each gpu.module of kernels into a gpu.binary";
  let description = [{
    The `gpu.module` holds kernels in the LLVM and NVVM dialects, as
    `--convert-kernel-to-nvvm` leaves them. It becomes a `gpu.binary` with PTX
    or, through ptxas, machine code; its attribute `flashnorm.manifest` collects
    the launch ABI of the kernels (docs/LaunchABI.md).

    Errors: kernels for different chips, a chip or PTX version that is unknown
    (the error lists the legal ones, whether there are kernels or not), no ptxas, and what ptxas complains of:
    spilled registers and serialised wgmma are errors.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
  let options = [
    Option<"chip", "chip", "std::string", "\"\"",
           "target chip; empty: the one that the kernels were planned for">,
    Option<"ptxVersion", "ptx-version", "int64_t", "0",
           "PTX ISA version, 86 for 8.6; 0: the chip's default">,
    Option<"format", "format", "std::string", "\"ptx\"", "ptx or cubin">,
    Option<"ptxas", "ptxas", "std::string", "\"\"",
           "path of ptxas; empty: looked up">];
}

def ConvertLaunchToRuntimePass
    : Pass<"convert-flashnorm-launch-to-runtime", "::mlir::ModuleOp"> {
  let summary = "turns flashnorm.launch on memrefs into calls of the runtime";
  let description = [{
    Host code knows nothing of grids and tensor maps: it hands whole arrays to
    the runtime, which reads the rest in the manifest (docs/LaunchABI.md). Each
    `flashnorm.launch` becomes a call of

    ```c
    void flashnorm_launch(const char *kernel, const int64_t *operands);
    ```

    where `kernel` is "module::kernel", and `operands` holds the number of
    operands and then of each, inputs before inits: the address of element 0,
    the rank, the sizes and the strides in elements.

    ```mlir
    flashnorm.launch @kernels::@gemm
      ins(%x : memref<?x64xbf16, strided<[64, 1], offset: ?>>)
      outs(%y : memref<?x64xbf16>)
    // becomes 13 stores to a buffer on the stack, and the call:
    //   2,  %x + 2 * its offset, 2, rows of %x, 64, 64, 1,
    //       %y, 2, rows of %y, 64, 64, 1
    ```

    Preconditions: operands are memrefs of bf16, f16 or f32 (an error says which
    one is not). Strides are passed on, not removed. Numerics: none.
  }];
  let statistics = [
    Statistic<"numLaunches", "launches", "number of launches converted">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // FLASHNORM_CONVERSION_PASSES_TD
