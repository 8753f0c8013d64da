//===- Passes.td - Tensor-level passes ---------------------*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD

include "flashnorm/Dialect/FlashNorm/Transforms/AlgebraPasses.td"
include "flashnorm/Dialect/FlashNorm/Transforms/EpiloguePasses.td"
include "mlir/Pass/PassBase.td"

def CheckModulePass : Pass<"flashnorm-check-module", "::mlir::ModuleOp"> {
  let summary = "checks once what a pipeline is asked to do";
  let description = [{
    The first pass of `--flashnorm-raise` and `--flashnorm-fuse`, so that what is
    wrong with an option is said whatever the module holds, and once. Changes
    nothing.

    Error: a chip or family that does not exist, with the legal ones. Warning:
    functions in nested modules, which the other passes of these pipelines leave alone.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"\"",
           "target chip; empty: not checked">,
    Option<"family", "family", "std::string", "\"auto\"",
           "MMA family: auto (the default), mma_sync, wgmma or tcgen05">];
}

def RaiseNormsPass : Pass<"flashnorm-raise-norms", "::mlir::func::FuncOp"> {
  let summary = "recognises RMSNorm and LayerNorm in linalg, tosa, arith and math";
  let description = [{
    Exporters write a norm as a dozen ops. Kernels and fusions need it as one, so
    everything else builds on this pass: what is not raised is not fused.

    ```mlir
    %square = arith.mulf %x, %x : tensor<8x64xf32>
    %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>)
             outs(%zero : tensor<8xf32>) dimensions = [1]
    %mean = arith.divf %sum, %n : tensor<8xf32>          // n = 64
    %var = arith.addf %mean, %eps : tensor<8xf32>
    %r = math.rsqrt %var : tensor<8xf32>
    %rows = linalg.broadcast ins(%r : tensor<8xf32>)
              outs(%e : tensor<8x64xf32>) dimensions = [1]
    %y = arith.mulf %x, %rows : tensor<8x64xf32>
    ```
    becomes
    ```mlir
    %y = flashnorm.rms_norm ins(%x : tensor<8x64xf32>)
           outs(%e : tensor<8x64xf32>) {eps = 1.000000e-05 : f64}
           -> tensor<8x64xf32>
    ```

    Values are followed, not op names: linalg.generic with any grouping of the
    arithmetic into bodies (before or after elementwise fusion), named ops, tosa,
    arith and math on tensors, math.fma, in any mixture; broadcasts, transposes, reshapes
    and exact casts are looked through, so that statistics may be of a view with
    collapsed rows. Squares, means and reciprocal roots are known in their usual
    spellings. LayerNorm is RMSNorm of a centred value, or that with the difference
    multiplied out, as TensorFlow writes it: x * f + (bias - mean * f). The largest norm that ends
    in an op is raised: with its weight, its bias and the rounding of its result.
    The last op may stand in the middle of a body; then the norm becomes an input
    of that body.

    Where others read the mean or the reciprocal root of the rows, they become
    results of the norm:

    ```mlir
    %y, %rstd = flashnorm.rms_norm ins(%x : tensor<8x64xf32>)
                  outs(%e, %s : tensor<8x64xf32>, tensor<8xf32>)
                  {eps = 1.000000e-05 : f64} -> tensor<8x64xf32>, tensor<8xf32>
    ```

    Where a function has roots, choices that are known are made first: an
    arith.select by a comparison of constants, as jax guards a variance, and the
    scf.if that tosa-to-linalg makes of a dynamic size, where that has the value
    that is wanted.

    A row may be several trailing dimensions of static size: it is collapsed into
    one for the norm op, and expanded again. Where the type of x or of a weight
    does not say how long a row is, but the loops that read it do, it is cast.

    Checked: the sum runs over the last dimensions only, which are static, and
    starts from zero; its divisor is the number of terms (a factor is 1/N within
    one unit in the last place of its type); the exponent is exactly 2; epsilon is
    a constant under the root that is not negative, or absent; numerator and squares
    are of one value; weight and bias are vectors over the row.

    Left alone: intermediate values with other users keep the ops that compute
    them. A weight or bias of another shape is applied after the norm. So is an
    f32 weight after a rounding to bf16, which is neither position of the cast.
    Statistics in another type than f32 (f64 if x is), or read in front of the
    norm, are computed by the ops that did so before. A sum over other dimensions than
    the last is raised only if x is a transposition of a tensor that has them last.

    Numerics: statistics are computed in f32 (in f64 if x is f64) in an order of
    the backend's choice. A variance in f64 of narrower values becomes f32.
    Roundings of intermediate values to bf16 or f16 go, which is more accurate,
    and the remark says so; those in front of the weight and of the result stay.
    With `preserve-rounding`, a norm with other roundings is left alone.
    mean(x^2) - mean(x)^2 becomes the variance of centred values. Epsilon is the
    shortest decimal number that is the same f32.

    Remarks (category `flashnorm-raise-norms`): `NormRaised`; `NormNotRaised`,
    with the condition that does not hold, for each root of a sum of squares that
    no norm has used; `StatisticsRaised`, and `StatisticsNotRaised` for what is
    read in front of its norm; `NormCounts`, an analysis, for each function in
    which a norm or a near miss was found: how many, how many of them raised, and
    how many declined for which reason. The counts of the whole run are the pass's
    statistics, which `--mlir-pass-statistics` prints if LLVM was built to count.
  }];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "leave norms alone that round to bf16 or f16 on the way">];
  let statistics = [
    Statistic<"numFound", "found", "Number of roots of sums of squares">,
    Statistic<"numRaised", "raised", "Number of norms raised">,
    Statistic<"numStatistics", "statistics", "Number of statistics raised">,
    Statistic<"numDeclined", "declined", "Number of such roots left alone">,
    // One for each MissReason.
    Statistic<"numBetween", "declined-between", "... for an op in between">,
    Statistic<"numAxis", "declined-axis", "... for the dimensions of the row">,
    Statistic<"numLength", "declined-length", "... for the length of the row">,
    Statistic<"numStart", "declined-start", "... for the start of the sum">,
    Statistic<"numDivisor", "declined-divisor", "... for the sum's divisor">,
    Statistic<"numSquare", "declined-square", "... for what is summed">,
    Statistic<"numEpsilon", "declined-epsilon", "... for epsilon">,
    Statistic<"numRoot", "declined-root", "... for the root">,
    Statistic<"numCentring", "declined-centring", "... for what is centred">,
    Statistic<"numProduct", "declined-product", "... for want of a product">,
    Statistic<"numType", "declined-type", "... for a type">];
}

def RaiseMatmulsPass : Pass<"flashnorm-raise-matmuls", "::mlir::func::FuncOp"> {
  let summary = "turns contractions with a weight matrix into flashnorm.matmul";
  let description = [{
    Finds `y[lead, n] = init + sum_k x[lead, k] * W[n, k]` in linalg and tosa and
    says it as one `flashnorm.matmul`, which the later passes give norms and an
    epilogue. Dimensions are inferred from the indexing maps and the body, and
    operands followed through transposes, broadcasts, unit dimensions and
    widenings (extf) to where they come from, so that named ops, generics,
    `transpose + matmul`, `batch_matmul` with a broadcast weight and torch's
    addmm are one case. A weight stored [N,K] is read as such
    (`transpose_weight`): a transpose is never materialised. An op that only
    rounds the result is folded in.

    ```mlir
    %t = linalg.transpose ins(%w : tensor<32x64xbf16>)
           outs(%e : tensor<64x32xbf16>) permutation = [1, 0]
    %y = linalg.matmul ins(%x, %t : tensor<?x64xbf16>, tensor<64x32xbf16>)
           outs(%zero : tensor<?x32xf32>) -> tensor<?x32xf32>
    ```
    becomes
    ```mlir
    %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>)
           outs(%init : tensor<?x32xf32>) {transpose_weight} -> tensor<?x32xf32>
    ```

    Preconditions: x and W are both bf16 or both f16 (before widening); N and K
    are static; the accumulator is f32, bf16 or f16; it starts as zero (a fill,
    a constant), as a broadcast vector, which becomes the bias, or as a whole
    tensor, which becomes the residual. Several contracted or several column
    dimensions are collapsed when they are contiguous.

    Left alone: operands that are truly f32; two activations (attention); an
    uninitialised accumulator (`tensor.empty` is not zero); a result stored
    transposed; vectors. Elementwise arith ops on tensors and tosa ops around
    the contraction are not looked into: run `convert-elementwise-to-linalg`
    and `tosa-to-linalg` before.

    Numerics: accumulates in f32 and rounds once. Exact where the source
    accumulates in f32, up to the order of summation; more accurate where the
    source rounds each product or partial sum to bf16 or f16; with
    `preserve-rounding`, such a contraction is left alone. A start value is
    added after the products, not before.

    Remarks (category `flashnorm-raise-matmuls`): `MatmulRaised` with M, N, K;
    `ContractionNotRaised` with the condition that failed.
  }];
  let options = [
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "leave matmuls alone that accumulate in bf16 or f16">];
  let statistics = [
    Statistic<"found", "found", "Number of float contractions found">,
    Statistic<"raised", "raised", "Number of contractions raised">,
    Statistic<"declined", "declined", "Number of contractions left alone">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseEpiloguesPass : Pass<"flashnorm-fuse-epilogues", "::mlir::func::FuncOp"> {
  let summary = "moves bias, activation and residual into flashnorm.matmul";
  let description = [{
    Follows the elements of a matmul's result through linalg ops, casts and
    reshapes, and takes in what computes with them, in the order that the op
    knows: bias, activation, residual, with the rounding after each. One pass
    over the result's tile in registers instead of several over memory.

    ```mlir
    %y = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
           outs(%e : tensor<?x32xbf16>) -> tensor<?x32xbf16>
    %s = linalg.add ins(%r, %y : tensor<?x32xbf16>, tensor<?x32xbf16>)
           outs(%o : tensor<?x32xbf16>) -> tensor<?x32xbf16>
    ```
    becomes
    ```mlir
    %s = flashnorm.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x32xbf16>)
           residual(%r : tensor<?x32xbf16>) outs(%o : tensor<?x32xbf16>)
           -> tensor<?x32xbf16>
    ```

    - bias: a vector of N, broadcast in any spelling; taken from before its own
      widening.
    - activation: relu, gelu (erf and tanh), silu, compared in a normal form, so
      that the spelling does not matter. Constants may be off by a rounding to
      their type. A relu that turns NaN into 0 is another function.
    - residual: a tensor of the result's shape; reshapes between the matmul and
      the addition are undone on the residual and repeated on the result.

    Where one op computes more than the epilogue (after
    `linalg-fuse-elementwise-ops`), it keeps the rest and reads the new result.

    What is computed from a matmul's result element by element in tosa, or in
    arith and math on tensors, is converted to linalg first, fused or not. An
    init that is only overwritten, as `convert-elementwise-to-linalg` makes one
    of an operand, is no use of it.

    Preconditions: nobody else uses the values that disappear; the residual sum
    itself may have any number of uses. All in one block. The matmul has no
    post-norm, second result or plan.

    Left alone: a residual before an activation, a bias behind one, a second bias
    or residual, a product with a scale, computations in f64, roundings to fewer
    than 16 bits.

    Numerics: everything runs in f32 and is rounded once; roundings of the
    source between the steps are skipped, which is more accurate. With
    `preserve-rounding` the steps round where the source does (`roundings`):

    ```mlir
    // x W is bf16 in the source, and so is x W + b
    %y = flashnorm.matmul ins(%x, %w : ...) bias(%b : ...) outs(...)
           {activation = #flashnorm.activation<relu>,
            roundings = #flashnorm.roundings<product = bf16, bias = bf16>} ...
    ```

    This is bit-exact, up to the order of summation and to the f32 arithmetic of
    an activation that is spelled otherwise than in docs/Dialect.md, some units in
    the last place of f32 before its rounding. What rounds otherwise stays: an
    activation that is computed in bf16 (but for relu), two roundings in a row.

    Remarks (category `flashnorm-fuse-epilogues`): `EpilogueFused` with the
    steps, `EpilogueNotFused` with what stood in the way.
  }];
  let options = [
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "round between the steps where the source does">];
  let statistics = [
    Statistic<"biases", "biases", "Number of biases fused">,
    Statistic<"activations", "activations", "Number of activations fused">,
    Statistic<"residuals", "residuals", "Number of residuals fused">,
    Statistic<"roundings", "roundings", "Number of roundings fused alone">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FuseNormsPass : Pass<"flashnorm-fuse-norms", "::mlir::ModuleOp"> {
  let summary = "fuses norms with the matmuls before or after them";
  let description = [{
    A norm is limited by memory bandwidth and leaves the tensor cores idle. Two
    places make it nearly free:

    After a matmul, in its epilogue (wide tile): one CTA owns whole rows of the
    product and normalises them before they leave the registers.

    ```mlir
    // Before
    %y = flashnorm.matmul ins(%x, %w : ...) bias(%b : ...) outs(...) ...
    %n = flashnorm.layer_norm ins(%y : ...) weight(%g : ...) outs(...) {eps = 1.0e-05 : f64} ...
    // After
    %n = flashnorm.matmul ins(%x, %w : ...) bias(%b : ...) norm_weight(%g : ...) outs(...)
           {post_norm = #flashnorm.norm<layer, eps = 1.0e-05>} ...
    ```

    If the value before the norm has other readers, it becomes the second result
    of the matmul.

    Before one or several matmuls (lazy pre-norm): `rms(x) W = diag(rstd) (x W)`,
    so that x is multiplied first while its squares are summed beside the MMA.

    ```mlir
    // Before
    %n = flashnorm.rms_norm ins(%x : ...) outs(...) {eps = 1.0e-05 : f64} ...
    %q = flashnorm.matmul ins(%n, %wq : ...) outs(...) ...
    %k = flashnorm.matmul ins(%n, %wk : ...) outs(...) ...
    // After
    %q = flashnorm.matmul ins(%x, %wq : ...) outs(...)
           {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} ...
    %k = flashnorm.matmul ins(%x, %wk : ...) outs(...)
           {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} ...
    ```

    Both look through reshapes of the leading dimensions. When both are
    possible for a norm, the one with the larger estimated gain is taken; the
    epilogue when they are equal. The weight of a norm that is fused with the
    matmuls after it is folded into theirs, as by `--flashnorm-fold-norm-weight`,
    whose preconditions and numerics hold here, too; a norm that is not keeps it.

    Preconditions. Both: the planner has a plan for the fused matmul on `chip`,
    estimated no slower than the chain; norm and matmuls are in one block; no
    statistics results; the matmuls carry no plan yet. Before: `rms_norm` without
    weight or with one that can be folded, x of the type that the matmul
    multiplies, and all readers of the result are matmuls that take it as their
    input: all are deferred or none.

    Leaves alone: what fails a precondition, and norms on memrefs.

    Numerics: skips roundings, so more accurate. After: the norm reads the f32
    accumulator instead of y rounded to its type, and `cast = before_affine` is
    dropped, as the weight is multiplied in f32. Before: the normalised x is not
    rounded; statistics are of the x that the MMA reads. x W is computed unscaled
    and may overflow f32 where the original does not: docs/Planning.md says when.
    With `preserve-rounding`, y is rounded before the norm, the norm before its
    weight where `cast = before_affine`, and no norm moves behind a matmul, which
    could not round the normalised x.

    Remarks (category `flashnorm-fuse-norms`): `NormFused` for each fused norm
    with plan and estimate, `NormLeftUnfused` for each other norm with the reason
    for each of the two places.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::flashnorm::FlashNormDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"preserveRounding", "preserve-rounding", "bool", "false",
           "round between the steps where the source does">,
    Option<"chip", "chip", "std::string", "\"sm_90a\"",
           "target chip; sm_90a by default">,
    Option<"family", "family", "std::string", "\"auto\"",
           "MMA family: auto (the default), mma_sync, wgmma or tcgen05">];
  let statistics = [
    Statistic<"numPostFused", "post-fused", "norms fused into the matmul before">,
    Statistic<"numPreFused", "pre-fused", "norms fused into the matmuls after">,
    Statistic<"numLeftUnfused", "left-unfused", "norms left by themselves">,
    Statistic<"numPrepared", "prepared", "weights made by prepare functions">];
}

def PlanPass : Pass<"flashnorm-plan", "::mlir::func::FuncOp"> {
  let summary = "chooses how each flashnorm.matmul runs";
  let description = [{
    Writes `#flashnorm.plan` on every `flashnorm.matmul` that has none: the
    cheapest tile, split over warps, and number of stages that the chip can run,
    by the cost model of docs/Planning.md.

    ```mlir
    // Before
    %y = flashnorm.matmul ins(%x, %w : ...) outs(...) ...
    // After
    %y = flashnorm.matmul ins(%x, %w : ...) outs(...)
           {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                                   tile = [128, 64, 32], warps = [2, 1], stages = 2>} ...
    ```

    A plan that is there is kept: this is how to override one by hand. `family`
    says which MMA instructions to plan for; `auto` takes wgmma on sm_90a and
    mma_sync on every other chip.

    Leaves alone: matmuls that no kernel can run (element types, sizes that are
    not multiples of 8, rows that are too wide); they lower to linalg.

    Remarks (category `flashnorm-plan`): `MatmulPlanned` for each plan, with
    threads, shared memory (a bound: the kernel's own number stands in its launch
    ABI) and estimated time; `MatmulNotPlanned` for each matmul without one, with
    the number that decided.
  }];
  let dependentDialects = ["::flashnorm::FlashNormDialect"];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90a\"",
           "target chip; sm_90a by default">,
    Option<"family", "family", "std::string", "\"auto\"",
           "MMA family: auto (the default), mma_sync, wgmma or tcgen05">];
  let statistics = [
    Statistic<"numPlanned", "planned", "matmuls that got a plan">,
    Statistic<"numNotPlanned", "not-planned", "matmuls without a plan">];
}

def VerifyPlanPass : Pass<"flashnorm-verify-plan", "::mlir::func::FuncOp"> {
  let summary = "rejects plans that cannot run, with the value and the limit";
  let description = [{
    Checks each `#flashnorm.plan` against the chip that it names: family,
    strategy, tile, warps, registers, tensor memory and shared memory. An error
    names the value and the limit ("needs 274432 bytes of shared memory; sm_90a
    has 232448"). Changes nothing.
  }];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_PASSES_TD
