//===- FlashNormOps.td - Ops of the flashnorm dialect ------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMOPS_TD
#define FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMOPS_TD

include "flashnorm/Dialect/FlashNorm/IR/FlashNormAttrs.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// The types that some chip multiplies, f32, and f64 for the reference.
defvar FlashNorm_Floats = [F16, BF16, F32, F64];
def FlashNorm_Shaped
    : AnyTypeOf<[RankedTensorOf<FlashNorm_Floats>, MemRefOf<FlashNorm_Floats>],
                "ranked tensor or memref of f16, bf16, f32 or f64">;

// What is computed may be stored in 8 bits; nothing is computed from these.
def FlashNorm_Result
    : AnyTypeOf<[RankedTensorOf<!listconcat(FlashNorm_Floats, [F8E4M3FN, F8E5M2])>,
                 MemRefOf<!listconcat(FlashNorm_Floats, [F8E4M3FN, F8E5M2])>],
                "ranked tensor or memref of f16, bf16, f32, f64, f8E4M3FN or f8E5M2">;

class FlashNorm_DpsOp<string mnemonic, list<Trait> traits = []>
    : Op<FlashNorm_Dialect, mnemonic, !listconcat(traits, [
        DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>])> {
  code dpsDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitsMutable();
    }
  }];
  let extraClassDeclaration = dpsDeclaration;
  let hasVerifier = 1;
}

def FlashNorm_RMSNormOp : FlashNorm_DpsOp<"rms_norm", [AttrSizedOperandSegments]> {
  let summary = "root mean square normalisation over the last dimension";
  let description = [{
    ```
    rstd[i] = 1 / sqrt(mean_j(x[i,j]^2) + eps)
    y[i,j]  = x[i,j] * rstd[i] * weight[j]
    ```
    `i` stands for all leading dimensions. Statistics and the product are
    computed in f32 (f64 when x is f64). `cast` says where the value is rounded
    to the type of y: `after_affine` (default) multiplies the weight in f32;
    `before_affine` rounds `x * rstd` first and multiplies in the type of y, as
    Hugging Face's Llama does.

    - (C1) x has rank >= 1 and a static last dimension.
    - (C2) y has the shape of x.
    - (C3) weight is a vector as long as x's last dimension.
    - (C4) rstd, the optional second init, has x's leading dimensions and is f32
      (or f64).
    - (C5) eps is finite and not negative, and 0 or a normal number in the type
      that the norm is computed in: f32, or f64 for elements of f64.

    ```mlir
    %y = flashnorm.rms_norm ins(%x : tensor<?x256xbf16>)
           weight(%w : tensor<256xbf16>) outs(%init : tensor<?x256xbf16>)
           {eps = 1.000000e-05 : f64} -> tensor<?x256xbf16>
    ```
  }];
  let arguments = (ins
    FlashNorm_Shaped:$input, Optional<FlashNorm_Shaped>:$weight,
    Variadic<FlashNorm_Shaped>:$inits, F64Attr:$eps,
    DefaultValuedAttr<FlashNorm_CastPositionAttr,
                      "::flashnorm::CastPosition::AfterAffine">:$cast);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    (`weight` `(` $weight^ `:` type($weight) `)`)?
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    /// The statistics are results too.
    bool hasStatistics() { return getInits().size() > 1; }
    NormKind getKind() { return NormKind::RMS; }
  }];
  let hasFolder = 0;
  let hasCanonicalizer = 1;
}

def FlashNorm_LayerNormOp : FlashNorm_DpsOp<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "layer normalisation over the last dimension";
  let description = [{
    ```
    mean[i] = mean_j(x[i,j])
    rstd[i] = 1 / sqrt(mean_j((x[i,j] - mean[i])^2) + eps)
    y[i,j]  = (x[i,j] - mean[i]) * rstd[i] * weight[j] + bias[j]
    ```
    `i` stands for all leading dimensions. Statistics, product and sum are
    computed in f32 (f64 when x is f64); `cast` as for `flashnorm.rms_norm`.

    - (C1) x has rank >= 1 and a static last dimension.
    - (C2) y has the shape of x.
    - (C3) weight and bias are vectors as long as x's last dimension.
    - (C4) mean and rstd, the optional second and third init, come together,
      have x's leading dimensions and are f32 (or f64).
    - (C5) eps is finite and not negative, and 0 or a normal number in the type
      that the norm is computed in: f32, or f64 for elements of f64.

    ```mlir
    %y = flashnorm.layer_norm ins(%x : tensor<?x256xbf16>)
           weight(%w : tensor<256xbf16>) bias(%b : tensor<256xbf16>)
           outs(%init : tensor<?x256xbf16>) {eps = 1.000000e-05 : f64}
           -> tensor<?x256xbf16>
    ```
  }];
  let arguments = (ins
    FlashNorm_Shaped:$input, Optional<FlashNorm_Shaped>:$weight,
    Optional<FlashNorm_Shaped>:$bias, Variadic<FlashNorm_Shaped>:$inits,
    F64Attr:$eps,
    DefaultValuedAttr<FlashNorm_CastPositionAttr,
                      "::flashnorm::CastPosition::AfterAffine">:$cast);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    (`weight` `(` $weight^ `:` type($weight) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    /// The statistics are results too.
    bool hasStatistics() { return getInits().size() > 1; }
    NormKind getKind() { return NormKind::Layer; }
  }];
  let hasCanonicalizer = 1;
}

def FlashNorm_RowStatisticsOp : FlashNorm_DpsOp<"row_statistics"> {
  let summary = "what a norm computes of each row, by itself";
  let description = [{
    ```
    mean[i] = mean_j(x[i,j])                                      // layer
    rstd[i] = 1 / sqrt(mean_j((x[i,j] - mean[i])^2) + eps)        // layer
    rstd[i] = 1 / sqrt(mean_j(x[i,j]^2) + eps)                    // rms
    ```
    `i` stands for all leading dimensions. Computed in f32 (f64 when x is f64).
    One such op serves all readers of one norm; a `flashnorm.matmul` takes rstd
    as its `row_scale`. With `drops_constant_rows`, for that use, rstd is 0 where
    the variance of a `layer` norm is 0 and eps is not.

    - (C1) x has rank >= 1 and a static last dimension.
    - (C2) rstd is the last init, mean the one before it, if there are two; they
      have x's leading dimensions and are f32 (or f64).
    - (C3) mean needs a `layer` norm.

    ```mlir
    %rstd = flashnorm.row_statistics ins(%x : tensor<?x256xbf16>)
              outs(%init : tensor<?xf32>)
              {norm = #flashnorm.norm<rms, eps = 1.000000e-05>} -> tensor<?xf32>
    ```
  }];
  let arguments = (ins FlashNorm_Shaped:$input,
    Variadic<FlashNorm_Shaped>:$inits, FlashNorm_NormAttr:$norm,
    UnitAttr:$drops_constant_rows);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)`
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    /// The mean is a result too, the first one.
    bool returnsMean() { return getInits().size() > 1; }
  }];
  let hasCanonicalizer = 1;
}

def FlashNorm_MatmulOp : FlashNorm_DpsOp<"matmul", [AttrSizedOperandSegments]> {
  let summary = "matrix multiplication with norms and an epilogue";
  let description = [{
    ```
    acc[i,n] = sum_k x[i,k] * W[k,n]             // in f32
    acc[i,n] = acc[i,n] * rstd(x[i])             // pre_norm
    acc[i,n] = acc[i,n] * row_scale[i]
    acc[i,n] = acc[i,n] + bias[n]
    act[i,j] = activation(acc[i,j])
    act[i,j] = activation(acc[i,gate(j)]) * acc[i,value(j)]      // glu
    sum[i,j] = act[i,j] + residual[i,j]
    y[i,j]   = post_norm_j(sum[i,j]) * norm_weight[j] + norm_bias[j]
    y[i,j]   = saturate(y[i,j] * output_scale)
    stat[i]  = rstd(y[i])                        // statistics
    ```
    `i` stands for all leading dimensions; `rstd` is what the norm of the
    attribute, `rms` or `layer`, scales rows by, so that a `stat` can be the
    `row_scale` of another matmul in place of its pre-norm. Everything after the product
    runs in f32 (f64 for f64 inputs) and is rounded once, to the type of the
    result, unless `roundings` name steps that round in between; `statistics` are
    of y as it is rounded. The pre-norm has no weight of
    its own: it is folded into W, or applied to x before. With
    `transpose_weight`, W is stored [N,K].

    A `layer` pre-norm does not subtract the mean: a W whose columns sum to zero
    does not see it. For another W,
    `column_sums` are the sums of its columns, and
    `acc[i,j] = (acc[i,j] - mean(x[i]) * column_sums[j]) * rstd(x[i])`.
    A row of equal elements, which a layer norm turns into zeros, would become
    what the product was rounded by, over sqrt(eps): where the variance is 0 and
    eps is not, this `rstd` is 0.

    With `glu`, a gated linear unit (Shazeer, 2020), the 2J columns of W make J of
    y, of a gate and a value each: `gate_first` has the gates in columns 0 to J - 1
    and the values behind them, `value_first` the other way round, `interleaved`
    gate j in column 2j and value j in 2j + 1. Without it, J is N.

    The one `output_scale` and `saturate`, the float type to whose finite range y
    is clamped (a NaN stays one), quantise: f8E4M3FN has no infinity, and what is
    beyond its range, 448, rounds to NaN.

    - (C1) x has rank >= 2 and a static last dimension K; W is a static matrix
      [K,N], or [N,K] with `transpose_weight`; x and W have one element type.
    - (C2) y has x's leading dimensions and J; so have residual and the
      optional second init, which receives `sum`.
    - (C3) bias and column_sums are vectors of length N, norm_weight and norm_bias
      of length J; these two need a post_norm, norm_bias a `layer` one.
    - (C4) column_sums need a `layer` pre_norm.
    - (C5) row_scale has x's leading dimensions, is f32 (or f64), and stands in
      for a pre_norm: not both.
    - (C6) with `statistics`, the last init receives `stat`; it has x's leading
      dimensions and is f32 (or f64). Not with a post_norm.
    - (C7) with `glu`, N is even.
    - (C8) roundings are f16 or bf16, at least one, of steps that the op has.
    - (C9) output_scale has rank 0 and is f32 (or f64); saturate is f16, f8E4M3FN
      or f8E5M2. Neither goes with statistics, and only y may be of 8 bits.

    ```mlir
    %y = flashnorm.matmul ins(%x, %w : tensor<?x512xbf16>, tensor<256x512xbf16>)
           bias(%b : tensor<256xbf16>) outs(%init : tensor<?x256xbf16>)
           {transpose_weight, post_norm = #flashnorm.norm<layer, eps = 1.000000e-05>}
           -> tensor<?x256xbf16>
    ```
  }];
  let arguments = (ins
    FlashNorm_Shaped:$input, FlashNorm_Shaped:$weight,
    Optional<FlashNorm_Shaped>:$row_scale,
    Optional<FlashNorm_Shaped>:$column_sums,
    Optional<FlashNorm_Shaped>:$bias, Optional<FlashNorm_Shaped>:$residual,
    Optional<FlashNorm_Shaped>:$norm_weight,
    Optional<FlashNorm_Shaped>:$norm_bias,
    Optional<FlashNorm_Shaped>:$output_scale,
    Variadic<FlashNorm_Result>:$inits,
    UnitAttr:$transpose_weight,
    OptionalAttr<FlashNorm_NormAttr>:$pre_norm,
    OptionalAttr<FlashNorm_NormAttr>:$post_norm,
    OptionalAttr<FlashNorm_NormAttr>:$statistics,
    DefaultValuedAttr<FlashNorm_ActivationAttr,
                      "::flashnorm::Activation::None">:$activation,
    OptionalAttr<FlashNorm_GluLayoutAttr>:$glu,
    OptionalAttr<FlashNorm_RoundingsAttr>:$roundings,
    OptionalAttr<TypeAttrOf<AnyFloat>>:$saturate,
    OptionalAttr<FlashNorm_PlanAttr>:$plan);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $input `,` $weight `:` type($input) `,` type($weight) `)`
    (`row_scale` `(` $row_scale^ `:` type($row_scale) `)`)?
    (`column_sums` `(` $column_sums^ `:` type($column_sums) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`residual` `(` $residual^ `:` type($residual) `)`)?
    (`norm_weight` `(` $norm_weight^ `:` type($norm_weight) `)`)?
    (`norm_bias` `(` $norm_bias^ `:` type($norm_bias) `)`)?
    (`output_scale` `(` $output_scale^ `:` type($output_scale) `)`)?
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($results)^)?
  }];
  let extraClassDeclaration = dpsDeclaration # [{
    /// `sum` is a result too.
    bool returnsSum() {
      return getInits().size() > (returnsStatistics() ? 2 : 1);
    }
    /// `stat` is a result too, the last one.
    bool returnsStatistics() { return getStatistics().has_value(); }
    /// Columns of W.
    int64_t getN() {
      return ::llvm::cast<::mlir::ShapedType>(getWeight().getType())
          .getDimSize(getTransposeWeight() ? 0 : 1);
    }
    /// The contracted size.
    int64_t getK() {
      return ::llvm::cast<::mlir::ShapedType>(getWeight().getType())
          .getDimSize(getTransposeWeight() ? 1 : 0);
    }
    /// Columns of the result.
    int64_t getResultColumns() { return getGlu() ? getN() / 2 : getN(); }
    bool hasStep(EpilogueStep step);
    /// The step whose result output_scale and saturate take, and y is.
    EpilogueStep getLastStep();
  }];
  let hasCanonicalizer = 1;
}

def FlashNorm_LaunchOp : FlashNorm_DpsOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs a compiled kernel";
  let description = [{
    Launches one kernel of a `gpu.module` or `gpu.binary` on whole arrays. How
    arrays become kernel parameters, the grid and the shared memory stand in the
    kernel's `flashnorm.launch_abi` attribute; docs/LaunchABI.md describes it.
    Operand k of the ABI is input k, then inits.

    - (C1) memrefs are in global memory: no memory space, 1 or
      `#gpu.address_space<global>`.
    - (C2) no memref is an init twice.

    ```mlir
    %y = flashnorm.launch @kernels::@gemm
           ins(%x, %w : tensor<?x512xbf16>, tensor<256x512xbf16>)
           outs(%init : tensor<?x256xbf16>) -> tensor<?x256xbf16>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$kernel,
    Variadic<FlashNorm_Shaped>:$inputs, Variadic<FlashNorm_Shaped>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $kernel (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($results)^)?
  }];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMOPS_TD
