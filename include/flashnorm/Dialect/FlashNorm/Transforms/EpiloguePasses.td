//===- EpiloguePasses.td - What goes into a matmul by request -*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusions that no kernel runs yet, or that change more than roundings: no
// pipeline has them.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPASSES_TD
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPASSES_TD

include "mlir/Pass/PassBase.td"

def FuseGluPass : Pass<"flashnorm-fuse-glu", "::mlir::func::FuncOp"> {
  let summary = "makes one matmul of the gates and values of a gated linear unit";
  let description = [{
    `act(x W) * (x V)` (Shazeer, "GLU Variants Improve Transformer", 2020): SwiGLU
    with silu, GEGLU with gelu, ReGLU with relu, bilinear with none. Gates and
    values of one element are columns of one product, so that the epilogue of a
    matmul that has both multiplies them, and neither is stored.

    Two matmuls of one input become one, with their weights and biases side by
    side (`layout = gate_first`) or column by column (`interleaved`, for kernels
    that have a gate and its value in one thread):

    ```mlir
    // Before
    %g = flashnorm.matmul ins(%x, %w : ..., tensor<64x32xbf16>) outs(...)
           {activation = #flashnorm.activation<silu>} ...
    %u = flashnorm.matmul ins(%x, %v : ..., tensor<64x32xbf16>) outs(...) ...
    %y = linalg.mul ins(%g, %u : ...) outs(...) ...
    // After
    %c = tensor.concat dim(1) %w, %v : ... -> tensor<64x64xbf16>
    %y = flashnorm.matmul ins(%x, %c : ..., tensor<64x64xbf16>) outs(...)
           {activation = #flashnorm.activation<silu>, glu = #flashnorm.glu<gate_first>} ...
    ```

    A matmul whose result is cut into two halves takes the product of one with the
    activation of the other; which half has the gates, the op says (`gate_first`,
    `value_first`).

    ```mlir
    // Before
    %h = flashnorm.matmul ins(%x, %w : ..., tensor<64x64xbf16>) outs(...) ...
    %u = tensor.extract_slice %h[0, 0] [%m, 32] [1, 1] ...
    %g = tensor.extract_slice %h[0, 32] [%m, 32] [1, 1] ...
    %y = linalg.generic ... ins(%g, %u : ...) { gelu(g) * u }
    // After
    %y = flashnorm.matmul ins(%x, %w : ..., tensor<64x64xbf16>) outs(...)
           {activation = #flashnorm.activation<gelu>, glu = #flashnorm.glu<value_first>} ...
    ```

    Runs behind `--flashnorm-fuse-epilogues`, which takes in the bias and the
    activation of a gate, and may be followed by it, for a residual. No kernel
    multiplies gates and values yet: the planner leaves the result without a plan.

    Preconditions: gates and values have no other reader; they stand in one block,
    with the same input, pre-norm, row scale, layout of the weight and type of the
    bias (or none); no residual, post-norm, further result, scale or plan; the
    activation is of the gates alone. The weights and biases of two matmuls are
    arguments with `flashnorm.frozen` or constants, so that
    `--flashnorm-prepare-weights` puts them together once.

    Left alone: gates in the odd columns, sigmoid as an activation, elementwise arith
    ops on tensors (run `convert-elementwise-to-linalg` before).

    Numerics: skips the roundings of gates and values to the types of their
    matmuls' results, which is more accurate. With `preserve-rounding` the steps
    round where the source does, as by `--flashnorm-fuse-epilogues`.

    Remarks (category `flashnorm-fuse-glu`): `GluFused`, and `GluNotFused` for the
    product of a matmul with another, or of halves, with the reason.
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"gate_first\"",
           "columns of two weights that become one: gate_first (the default) or "
           "interleaved">,
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "round between the steps where the source does">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numFused", "fused", "gated linear units fused">,
    Statistic<"numKept", "kept", "products of two matmuls or halves left alone">];
}

def FuseQuantizationPass : Pass<"flashnorm-fuse-quantization", "::mlir::func::FuncOp"> {
  let summary = "moves the scale, clamp and cast to fp8 behind a matmul into it";
  let description = [{
    What a layer hands to an fp8 matmul is `cast(clamp(y * scale))`. In the epilogue
    it costs a multiplication, and y is stored in 8 bits.

    ```mlir
    // Before
    %y = flashnorm.matmul ins(%x, %w : ...) outs(... : tensor<?x32xf32>) ...
    %q = linalg.generic ... ins(%y, %scale : tensor<?x32xf32>, tensor<f32>) {
      %0 = arith.mulf %in, %s : f32
      %1 = arith.maximumf %0, %min : f32   // -448.0
      %2 = arith.minimumf %1, %max : f32   //  448.0
      %3 = arith.truncf %2 : f32 to f8E4M3FN
    // After
    %q = flashnorm.matmul ins(%x, %w : ...) output_scale(%scale : tensor<f32>)
           outs(... : tensor<?x32xf8E4M3FN>) {saturate = f8E4M3FN} ...
    ```

    Taken in, in this order, each if it is there: a product with one f32 (an
    element of a tensor of size 1, or a value from outside), a clamp to the finite
    range of f8E4M3FN, f8E5M2 or f16 that keeps NaN, a cast to f8E4M3FN, f8E5M2, bf16
    or f16. A clamp or a cast to fp8 has to be among them. Without a clamp, what is
    beyond the range becomes what `arith.truncf` makes of it: NaN in f8E4M3FN, an
    infinity in f8E5M2. Works behind a post-norm, too.

    No kernel scales, clamps or stores fp8 yet: the planner leaves the result
    without a plan.

    Preconditions: nobody else reads the matmul's result or what is computed on the
    way; all in one block; one result, no scale and no plan yet.

    Left alone: a division by the scale, which a product with its reciprocal is
    not; clamps to other bounds, or that lose NaN.

    Numerics: skips the rounding of y to the type of the matmul's result, which is
    more accurate; bit-exact where that is f32. With `preserve-rounding` it is
    rounded.

    Remarks (category `flashnorm-fuse-quantization`): `QuantizationFused`, and
    `QuantizationNotFused` with what stood in the way.
  }];
  let options = [
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "round the result before it is scaled where the source does">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numFused", "fused", "scales, clamps and casts fused">,
    Statistic<"numKept", "kept", "casts to fp8 left alone">];
}

def CancelNormsPass : Pass<"flashnorm-cancel-norms", "::mlir::func::FuncOp"> {
  let summary = "drops an RMSNorm whose scale the next one divides out again";
  let description = [{
    An RMSNorm does not see a positive factor of its rows, but for its epsilon. The
    RMSNorm before a linear layer without bias is such a factor, r > 0:

    ```
    v                      = x W,  r = 1 / sqrt(mean(x^2) + eps1)
    RMSNorm(RMSNorm(x) W)  = r v / sqrt(r^2 mean(v^2) + eps2)
                           = v / sqrt(mean(v^2) + eps2 (mean(x^2) + eps1))
    RMSNorm(x W)           = v / sqrt(mean(v^2) + eps2)
    ```

    **This changes results.** The second epsilon, which was relative to the
    normalised rows, becomes absolute: where `mean(v^2)` is much larger than eps2
    and than eps2 mean(x^2), the two differ by about
    `eps2 / 2 * |1 - mean(x^2)| / mean(v^2)`, relatively; where x is small, rows that
    were scaled to 1 are not any more. No pipeline has this pass: ask for it where
    rows are known to be of moderate size.

    ```mlir
    // Before
    %n = flashnorm.rms_norm ins(%x : ...) outs(...) {eps = 1.0e-06 : f64} ...
    %v = flashnorm.matmul ins(%n, %w : ...) outs(...) ...
    %y = flashnorm.rms_norm ins(%v : ...) outs(...) {eps = 1.0e-06 : f64} ...
    // After
    %v = flashnorm.matmul ins(%x, %w : ...) outs(...) ...
    %y = flashnorm.rms_norm ins(%v : ...) outs(...) {eps = 1.0e-06 : f64} ...
    ```

    A `pre_norm` of a matmul with an RMSNorm behind, in it or as an op, goes in the
    same way.

    Preconditions: an `rms_norm` without weight (fold it first) and without
    statistics; every reader of its result is a matmul that takes it as its input;
    and of these, every reader of every result is an `rms_norm` over all of its
    columns, or the matmul has such a post-norm and no other result; no bias,
    residual, row scale or glu, as an activation none or relu, which is homogeneous;
    x has the type that the matmul multiplies; no plan; where v is stored, not as
    f16, which x W without the norm may leave. Reshapes of the leading dimensions
    may stand between.

    Numerics: changes results, as above; the rounding of the normalised x goes, too.

    Remarks (category `flashnorm-cancel-norms`): `NormCancelled` with both epsilons,
    and `NormNotCancelled`, for an RMSNorm before a matmul, with the reason.
  }];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numCancelled", "cancelled", "norms dropped">,
    Statistic<"numKept", "kept", "norms before matmuls left as they are">];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_EPILOGUEPASSES_TD
