//===- AlgebraPasses.td - Rewrites of norms and weights ----*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra by itself: no plan is asked for, none is needed.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_ALGEBRAPASSES_TD
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_ALGEBRAPASSES_TD

include "mlir/Pass/PassBase.td"

def FoldNormWeightPass : Pass<"flashnorm-fold-norm-weight", "::mlir::ModuleOp"> {
  let summary = "folds the weight of an RMSNorm into the matmuls that follow it";
  let description = [{
    `(x * rstd * g) W = (x * rstd) (diag(g) W)`: a norm's weight can be moved
    into the weight of the matmuls that read its result. Only a norm without one
    can be computed after the multiplication; `--flashnorm-fuse-norms` does this
    for the norms that it computes there. This pass does it wherever it can.

    Weights are usually arguments. Where the caller promises the same values on
    every call (`flashnorm.frozen`), the product is computed once, in a generated
    function that the caller runs before the first call:

    ```mlir
    // Before
    func.func @f(%x: tensor<?x256xbf16>,
                 %g: tensor<256xbf16> {flashnorm.frozen},
                 %w: tensor<256x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
      ...
      %n = flashnorm.rms_norm ins(%x : ...) weight(%g : ...) outs(...) ...
      %y = flashnorm.matmul ins(%n, %w : ...) outs(...) ...

    // After
    func.func @f(%x: tensor<?x256xbf16>,
                 %g: tensor<256xbf16> {flashnorm.frozen},
                 %w: tensor<256x512xbf16> {flashnorm.frozen},
                 %p: tensor<256x512xbf16> {flashnorm.prepared = 0 : i64})
        -> tensor<?x512xbf16>
        attributes {flashnorm.prepare_weights = @f_prepare_weights} {
      ...
      %n = flashnorm.rms_norm ins(%x : ...) outs(...) ...
      %y = flashnorm.matmul ins(%n, %p : ...) outs(...) ...

    func.func @f_prepare_weights(%g: tensor<256xbf16> {flashnorm.source = 1 : i64},
                                 %w: tensor<256x512xbf16> {flashnorm.source = 2 : i64})
        -> tensor<256x512xbf16> {
      %p = call @weight_product(%g, %w) ...
    func.func private @weight_product(...) // linalg; shared by products of these types
    ```

    New arguments come after the old ones, and no old one is removed or changed:
    a weight that is also used elsewhere stays as it is. `flashnorm.prepared`
    is the index of the result of the prepare function that the caller passes,
    `flashnorm.source` the index of the entry's argument that the prepare
    function gets. An existing prepare function is extended. Constants take part
    too: beside a frozen argument they are copied into the prepare function, and
    a product of two constants of at most 1 MB is a constant again.

    Preconditions, for each norm: an `rms_norm` with a weight; all uses of its
    result are the input of a `flashnorm.matmul` without a norm before it,
    possibly through reshapes of the leading dimensions; its weight and theirs
    are arguments with `flashnorm.frozen`, constants, or computed from such by a
    few operations (reshapes, 1 + g), which the prepare function then repeats; W is
    not f16, whose range the product easily leaves; nothing else in the module
    calls or refers to the function, or to its prepare function; where the weight
    is a constant, a predicted error of at most 1.05 times the original's; where W
    is rounded and not known, at least 1024 elements of it, and K of at least 64 in
    front of a post-norm. All consumers are changed or none.

    Numerics: changes rounding. `g * W` is computed in f32 (f64 when a factor
    is) and rounded to the type of W; a shift of less than half an ulp for each
    column keeps the sum of its errors small, which is what counts where x has a
    mean far from zero (`WeightProduct.cpp` has the formula). The norm's own
    product is rounded without `g`. So the rounding of W' takes the place of that
    of `g * x`, where the norm is fused after this, and is as large for most
    values. Where an element of `g` is 1.5 times a power of two it is 1.11 times
    as large (RMS), as ties are frequent, and a bf16 result at most 1.054 times
    as far off. For a constant `g` this is predicted and declined beyond 1.05;
    the values of a frozen argument are not known. A power of two rounds nothing.

    Remarks (category `flashnorm-fold-norm-weight`): `NormWeightFolded` for each
    folded weight, `NormWeightKept` for each norm with a weight in front of a
    matmul that keeps it, with the reason.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::flashnorm::FlashNormDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numFolded", "folded", "norm weights folded into matmuls">,
    Statistic<"numPrepared", "prepared", "weights made by prepare functions">,
    Statistic<"numKept", "kept", "norm weights kept in front of a matmul">];
}

def DeferNormsPass : Pass<"flashnorm-defer-norms", "::mlir::ModuleOp"> {
  let summary = "computes norms behind the products of the matmuls that read them";
  let description = [{
    A norm scales the rows of x, and so can scale those of the product:

    ```
    RMSNorm(x) W       = rstd(x) * (x (diag(g) W))
    LayerNorm(x) W + b = rstd(x) * (x W^) + (h W + b)
    ```

    g and h are the norm's weight and bias, and W^ is `diag(g) W` less the mean
    of each column: as `x - mean(x)` is orthogonal to ones, this changes nothing
    but makes W^ blind to the mean. `--flashnorm-fuse-norms` does this where the
    planner has a kernel that is estimated to be faster; this pass does it
    wherever it can.

    ```mlir
    // Before
    func.func @f(%x: tensor<?x256xbf16>,
                 %g: tensor<256xbf16> {flashnorm.frozen},
                 %h: tensor<256xbf16> {flashnorm.frozen},
                 %w: tensor<256x512xbf16> {flashnorm.frozen}) -> tensor<?x512xbf16> {
      ...
      %n = flashnorm.layer_norm ins(%x : ...) weight(%g : ...) bias(%h : ...) outs(...)
             {eps = 1.0e-05 : f64} ...
      %y = flashnorm.matmul ins(%n, %w : ...) outs(...) ...

    // After
    func.func @f(..., %b: tensor<512xf32> {flashnorm.prepared = 0 : i64},
                 %p: tensor<256x512xbf16> {flashnorm.prepared = 1 : i64}) ... {
      ...
      %y = flashnorm.matmul ins(%x, %p : ...) bias(%b : ...) outs(...)
             {pre_norm = #flashnorm.norm<layer, eps = 1.0e-05>} ...
    ```

    A LayerNorm without weight needs nothing of W but the sums of its columns,
    which are subtracted with the mean (`column_sums`): W stays exact. They are
    prepared where W is frozen, and computed in front of the matmul where it is
    not. With `center-all` W is centred there, too.

    Preconditions, for each norm: all readers of its result are matmuls that take
    it as their input, in the same block, without plan and norm before, possibly
    behind reshapes of the leading dimensions; x has the type that they multiply;
    for weights, those of `--flashnorm-fold-norm-weight`, for the weight, the bias
    and the bias of the matmuls alike; a W that is centred has K of at least 64,
    and as a constant columns that could be rounded to sums of 5e-6 of their
    length. All consumers are changed or none; statistics that are results are
    computed by a `flashnorm.row_statistics`.

    Numerics: the normalised x is not rounded. W^ is computed in f64 and rounded
    so that its columns sum to zero (`CenteredWeight.cpp`); the error of this is
    that of rounding the normalised x, up to 1.02 times. It is up to 1.05 times
    for a g of nothing but powers of two, whose W^ has the same bits to round
    everywhere (hence `column_sums`), 1.13 where W consists of few different
    values, and more where x does: a bf16 x with a mean of 256 deviations, 3 values
    a row, is off up to 1.12 times, with one of 1000, up to 1.16 (g of ones, neither
    h nor b, K = 256). The values of a frozen g are not known, so that this is not
    declined; a constant g of ones is no weight after `--canonicalize`. h W + b is
    f32. Rows whose mean is beyond 1000 times their deviation, but for rows
    of equal elements, lose accuracy to the cancellation in f32, the more the
    larger the mean is. x W^ is computed unscaled: docs/Planning.md says when this
    overflows.

    Remarks (category `flashnorm-defer-norms`): `NormDeferred`, and
    `NormNotDeferred` with the reason.
  }];
  let options = [
    Option<"centerAll", "center-all", "bool", "false",
           "centre the weights behind a LayerNorm without weight, too">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::flashnorm::FlashNormDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numDeferred", "deferred", "norms computed behind products">,
    Statistic<"numPrepared", "prepared", "weights made by prepare functions">,
    Statistic<"numKept", "kept", "norms left as they are">];
}

def ShareStatisticsPass : Pass<"flashnorm-share-statistics", "::mlir::func::FuncOp"> {
  let summary = "computes the statistics of a pre-norm once for all of its readers";
  let description = [{
    Matmuls that a norm was deferred into (`pre_norm`, by
    `--flashnorm-defer-norms`) compute the statistics of x each. Where the op that makes x is a matmul, it can return them, as it has
    x in registers; else one `flashnorm.row_statistics` serves all. The readers
    then only scale their rows.

    ```mlir
    // Before
    %x = flashnorm.matmul ins(%a, %w : ...) residual(%r : ...) outs(...) ...
    %q = flashnorm.matmul ins(%x, %wq : ...) outs(...)
           {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} ...
    %k = flashnorm.matmul ins(%x, %wk : ...) outs(...)
           {pre_norm = #flashnorm.norm<rms, eps = 1.0e-05>} ...
    // After
    %x, %s = flashnorm.matmul ins(%a, %w : ...) residual(%r : ...) outs(...)
               {statistics = #flashnorm.norm<rms, eps = 1.0e-05>} ...
    %q = flashnorm.matmul ins(%x, %wq : ...) row_scale(%s : tensor<?xf32>) outs(...) ...
    %k = flashnorm.matmul ins(%x, %wk : ...) row_scale(%s : tensor<?xf32>) outs(...) ...
    ```

    Preconditions: readers of one x by one norm (kind and epsilon) in one block,
    without plan and `column_sums`; `flashnorm.row_statistics` that compute the
    same take part. The matmul that makes x returns it as its first result, has no
    post-norm, no plan, and no statistics of another norm. Without it, at least
    two readers, one of them a matmul: one alone hides the statistics in its own
    kernel.

    Numerics: bit-exact. Statistics are of x as it is rounded, either way.

    Remarks (category `flashnorm-share-statistics`): `StatisticsShared`, and
    `StatisticsNotShared` with the reason.
  }];
  let options = [
    Option<"producer", "producer", "bool", "true",
           "let the matmul that makes x return its statistics; true by default">];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numByProducer", "by-producer", "statistics that the op that makes x returns">,
    Statistic<"numShared", "shared", "statistics computed once for several readers">,
    Statistic<"numKept", "kept", "statistics left to their only reader">];
}

def ConcatMatmulsPass : Pass<"flashnorm-concat-matmuls", "::mlir::func::FuncOp"> {
  let summary = "makes one matmul of several with the same input";
  let description = [{
    The q, k and v projections of a layer, or gate and up, multiply one x. As one
    matmul with their weights side by side they read x once, and take its norm's
    statistics once; the results are slices of its.

    ```mlir
    // Before
    %q = flashnorm.matmul ins(%x, %wq : ..., tensor<512x256xbf16>) outs(...) ...
    %k = flashnorm.matmul ins(%x, %wk : ..., tensor<512x64xbf16>) outs(...) ...
    // After
    %w = tensor.concat dim(1) %wq, %wk : ... -> tensor<512x320xbf16>
    %y = flashnorm.matmul ins(%x, %w : ..., tensor<512x320xbf16>) outs(...) ...
    %q = tensor.extract_slice %y[0, 0] [%m, 256] [1, 1] : ...
    %k = tensor.extract_slice %y[0, 256] [%m, 64] [1, 1] : ...
    ```

    Not part of a pipeline: whether it pays depends on the sizes, and what reads a
    slice reads rows with gaps. The weights are arguments with `flashnorm.frozen`
    or constants, so that putting them together can be done once:
    `--flashnorm-fold-norm-weight`, `--flashnorm-defer-norms` and
    `--flashnorm-fuse-norms` fold norm weights into the result, in the prepare
    function, and `--flashnorm-prepare-weights` moves there what is left.

    Preconditions: matmuls of one input in one block, of one layout, result type
    (but for the columns), pre-norm, row scale and activation; no residual,
    post-norm, further result, `column_sums` or plan; all with a bias of one type
    that is frozen or constant, or none with a bias. The input, the row scale and
    the weights come before the first of them.

    Numerics: bit-exact.

    Remarks (category `flashnorm-concat-matmuls`): `MatmulsConcatenated`, and
    `MatmulsNotConcatenated` for matmuls of one input that stay apart, with the
    reason.
  }];
  let dependentDialects = ["::flashnorm::FlashNormDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numConcatenated", "concatenated", "matmuls that became part of another">,
    Statistic<"numKept", "kept", "matmuls of one input that stay apart">];
}

def PrepareWeightsPass : Pass<"flashnorm-prepare-weights", "::mlir::ModuleOp"> {
  let summary = "moves what depends on frozen weights alone to the prepare function";
  let description = [{
    A weight or bias of a `flashnorm.matmul` that a few operations compute from
    arguments with `flashnorm.frozen` is the same on every call. It becomes a new
    argument, which the prepare function computes
    (docs/Overview.md, "Prepared weights").

    ```mlir
    // Before
    func.func @f(%x: ..., %a: tensor<64x32xbf16> {flashnorm.frozen},
                 %b: tensor<64x32xbf16> {flashnorm.frozen}) -> ... {
      %w = tensor.concat dim(1) %a, %b : ... -> tensor<64x64xbf16>
      %y = flashnorm.matmul ins(%x, %w : ...) ...
    // After
    func.func @f(%x: ..., %a: ..., %b: ..., %w: tensor<64x64xbf16> {flashnorm.prepared = 0 : i64}) -> ... {
      %y = flashnorm.matmul ins(%x, %w : ...) ...
    func.func @f_prepare_weights(%a: tensor<64x32xbf16> {flashnorm.source = 1 : i64},
                                 %b: tensor<64x32xbf16> {flashnorm.source = 2 : i64}) -> tensor<64x64xbf16> {
      %w = tensor.concat dim(1) %a, %b : ...
    ```

    Preconditions: at most 16 operations without memory effects, which take
    frozen arguments and constants of at most 1 MB; nothing else in the module
    refers to the function or to its prepare function. Casts and reshapes alone
    cost nothing and stay.

    Numerics: bit-exact.
  }];
  let dependentDialects = ["::flashnorm::FlashNormDialect"];
  let statistics = [
    Statistic<"numPrepared", "prepared", "weights made by prepare functions">];
}

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_ALGEBRAPASSES_TD
