//===- NormWeightFolder.cpp - Moves norm weights into matmul weights ------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormWeightFolder.h"
#include "ProductRounding.h"
#include "WeightProduct.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;

/// Smaller products of frozen weights are not folded; see checkSize.
static constexpr int64_t minProductSize = 1024;
static constexpr int64_t minPostNormK = 64;
/// Shorter columns may not be roundable to a sum of zero.
static constexpr int64_t minCenteredK = 64;
/// What fusion may do to the RMS error of a result.
static constexpr double maxErrorRatio = 1.05;
/// What the columns of a centred constant may sum to, relative to their length:
/// where x has a mean of 100 times its deviation, this adds a third of what the
/// rounding to bf16 does.
static constexpr double maxResidue = 5e-6;

//===----------------------------------------------------------------------===//
// What can be folded
//===----------------------------------------------------------------------===//

/// Why the product has too few elements for its rounding errors to average out,
/// or nothing. They fill all N dimensions of a row of the result, those of g *
/// x only the K dimensions of the rows of W: a norm behind the matmul, which
/// takes one dimension away, takes 1 / K of the original's error, but 1 / N of
/// theirs.
static std::string checkSize(MatmulOp matmul) {
  Type type = getElementTypeOrSelf(matmul.getWeight().getType());
  if (getProductType(type, type) == type)
    return ""; // nothing is rounded
  if (matmul.getPostNorm() && matmul.getK() < minPostNormK)
    return llvm::formatv("K = {0} in front of another norm, less than {1}: its "
                         "rounding errors would not average out",
                         matmul.getK(), minPostNormK)
        .str();
  if (matmul.getK() < minProductSize / std::max<int64_t>(matmul.getN(), 1))
    return llvm::formatv("W has {0} x {1} elements, fewer than {2}: their "
                         "rounding errors would not average out",
                         matmul.getK(), matmul.getN(), minProductSize)
        .str();
  return "";
}

static bool isMultipliable(Type type) {
  return type.isF64() || type.getIntOrFloatBitWidth() <= 32;
}

NormWeightFolder::Product NormWeightFolder::getProductOf(const NormView &norm,
                                                         MatmulOp matmul) {
  return {norm.isLayer(), norm.weight, matmul.getWeight(),
          matmul.getTransposeWeight()};
}

std::string NormWeightFolder::checkRMS(const NormView &norm, MatmulOp matmul,
                                       const Factor &normWeight,
                                       const Factor &weight) {
  if (!normWeight.constant)
    return "";
  DenseElementsAttr product;
  if (weight.constant)
    product = getConstantProduct(getProductOf(norm, matmul),
                                 normWeight.constant, weight.constant);
  FoldError error = predictFoldError(normWeight.constant, weight.constant,
                                     product, matmul, norm.cast);
  if (std::isinf(error.ratio))
    return "weight times W leaves the range of W's type";
  if (weight.constant && error.ratio > maxErrorRatio)
    return llvm::formatv("rounding weight times W makes the error {0:F3} "
                         "times the original's, at most {1:F2} is accepted",
                         error.ratio, maxErrorRatio)
        .str();
  if (error.ratio > maxErrorRatio)
    return llvm::formatv(
               "{0:P0} of its weight are 1.5 times a power of two, whose "
               "products with W are often ties: predicted error {1:F3} times "
               "the original's, at most {2:F2} is accepted",
               error.shareOfThrees, error.ratio, maxErrorRatio)
        .str();
  return "";
}

std::string NormWeightFolder::checkLayer(const NormView &norm, MatmulOp matmul,
                                         const Factor &weight) {
  if (matmul.getK() < minCenteredK)
    return llvm::formatv("K = {0}, less than {1}: the columns of so short a W "
                         "may not be roundable to a sum of zero",
                         matmul.getK(), minCenteredK)
        .str();
  std::optional<Factor> normWeight = getFactor(norm.weight);
  if (!weight.constant || (norm.weight && !normWeight->constant))
    return "";
  const CenteredConstant &centered = getCenteredConstant(
      getProductOf(norm, matmul), normWeight->constant, weight.constant);
  if (centered.residue > maxResidue)
    return llvm::formatv("the columns of the centred W sum to {0:e1} of "
                         "their length, at most {1:e1} is accepted",
                         centered.residue, maxResidue)
        .str();
  // The rounding of the result, as large as that of W, is in both.
  double ratio = std::sqrt((centered.error + 1) / 2);
  if (ratio > maxErrorRatio)
    return llvm::formatv("rounding the centred W to columns that sum to zero "
                         "makes the error {0:F3} times the original's, at most "
                         "{1:F2} is accepted",
                         ratio, maxErrorRatio)
        .str();
  return "";
}

std::string NormWeightFolder::check(const NormView &norm,
                                    ArrayRef<MatmulOp> matmuls,
                                    bool keepsWeight) {
  if (keepsWeight && !norm.bias)
    return "";
  static constexpr StringLiteral neither =
      "neither made of arguments with 'flashnorm.frozen' nor a constant of at "
      "most 1 MB";
  std::optional<Factor> normWeight = getFactor(norm.weight);
  if (!normWeight)
    return ("its weight is " + neither).str();
  std::optional<Factor> normBias = getFactor(norm.bias);
  if (!normBias)
    return ("its bias is " + neither).str();
  bool needsArgument = false;
  std::string tooSmall; // the least of all reasons
  for (MatmulOp matmul : matmuls) {
    if (matmul.getPreNorm())
      return "a matmul after it has a norm before it already";
    std::optional<Factor> weight = getFactor(matmul.getWeight());
    if (!weight)
      return ("the weight of a matmul after it is " + neither).str();
    std::optional<Factor> bias;
    if (norm.bias) {
      bias = getFactor(matmul.getBias());
      if (!bias)
        return ("the bias of a matmul after it is " + neither).str();
    }
    for (Value value : {norm.weight, norm.bias, matmul.getWeight(),
                        norm.bias ? matmul.getBias() : Value()})
      if (value && !isMultipliable(getElementTypeOrSelf(value.getType())))
        return "a weight is wider than 32 bits and not f64";
    if (norm.bias)
      needsArgument |= !weight->constant || !normBias->constant ||
                       (matmul.getBias() && !bias->constant);
    if (keepsWeight)
      continue;
    // The product of two such weights easily leaves the range of f16, where the
    // original's result is finite.
    if (getElementTypeOrSelf(matmul.getWeight().getType()).isF16())
      return norm.isLayer() ? "the centred W may overflow or underflow in f16"
                            : "weight times W may overflow or underflow in f16";
    bool areConstant =
        weight->constant && (!norm.weight || normWeight->constant);
    needsArgument |= !areConstant;
    // The error of two constants is computed.
    if (!areConstant && tooSmall.empty())
      tooSmall = checkSize(matmul);
    std::string reason = norm.isLayer()
                             ? checkLayer(norm, matmul, *weight)
                             : checkRMS(norm, matmul, *normWeight, *weight);
    if (!reason.empty())
      return reason;
  }
  if (needsArgument)
    if (std::string reason = prepared.checkArgument(); !reason.empty())
      return reason;
  return tooSmall;
}

void NormWeightFolder::fold(const NormView &norm, ArrayRef<MatmulOp> matmuls,
                            bool keepsWeight) {
  for (MatmulOp matmul : matmuls) {
    // The bias is of the W as it was.
    if (norm.bias)
      matmul.getBiasMutable().assign(getBias(norm, matmul, norm.op->getLoc()));
    if (!keepsWeight)
      matmul.getWeightMutable().assign(
          getProduct(getProductOf(norm, matmul), norm.op->getLoc()));
  }
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

DenseElementsAttr
NormWeightFolder::getConstantProduct(const Product &product,
                                     DenseElementsAttr normWeight,
                                     DenseElementsAttr weight) {
  DenseElementsAttr &value = constantProducts[product.getKey()];
  if (!value)
    value = computeWeightProduct(normWeight, weight, product.transposeWeight);
  return value;
}

const CenteredConstant &
NormWeightFolder::getCenteredConstant(const Product &product,
                                      DenseElementsAttr normWeight,
                                      DenseElementsAttr weight) {
  CenteredConstant &value = centeredConstants[product.getKey()];
  if (!value.value)
    value = computeCenteredWeight(normWeight, weight, product.transposeWeight);
  return value;
}

Value NormWeightFolder::getProduct(const Product &product, Location loc) {
  Value &value = products[product.getKey()];
  if (value)
    return value;
  std::optional<Factor> normWeight = getFactor(product.normWeight);
  std::optional<Factor> weight = getFactor(product.weight);
  if (weight->constant && (!product.normWeight || normWeight->constant)) {
    value = prepared.addConstant(
        product.isCentered ? getCenteredConstant(product, normWeight->constant,
                                                 weight->constant)
                                 .value
                           : getConstantProduct(product, normWeight->constant,
                                                weight->constant),
        loc);
    return value;
  }
  bool transposed = product.transposeWeight;
  auto buildCentered = [&](OpBuilder &builder, Location loc, ValueRange args) {
    return buildCenteredWeight(
        builder, loc, args.size() > 1 ? args[1] : Value(), args[0], transposed);
  };
  auto buildProduct = [&](OpBuilder &builder, Location loc, ValueRange args) {
    return buildWeightProduct(builder, loc, args[0], args[1], transposed);
  };
  if (product.isCentered) {
    SmallVector<Value> factors = {product.weight};
    if (product.normWeight)
      factors.push_back(product.normWeight);
    value = prepared.add({"centered_weight", transposed, buildCentered},
                         factors, loc);
  } else {
    value = prepared.add({"weight_product", transposed, buildProduct},
                         {product.normWeight, product.weight}, loc);
  }
  return value;
}

/// What the bias of `norm` adds behind its W, with the bias of `matmul`.
Value NormWeightFolder::getBias(const NormView &norm, MatmulOp matmul,
                                Location loc) {
  Value weight = matmul.getWeight(), bias = matmul.getBias();
  bool transposed = matmul.getTransposeWeight();
  std::optional<Factor> normFactor = getFactor(norm.bias);
  std::optional<Factor> weightFactor = getFactor(weight);
  std::optional<Factor> biasFactor = getFactor(bias);
  if (normFactor->constant && weightFactor->constant &&
      (!bias || biasFactor->constant))
    return prepared.addConstant(
        computeFoldedBias(normFactor->constant, weightFactor->constant,
                          biasFactor->constant, transposed),
        loc);
  SmallVector<Value> factors = {norm.bias, weight};
  if (bias)
    factors.push_back(bias);
  auto build = [&](OpBuilder &builder, Location loc, ValueRange args) {
    return buildFoldedBias(builder, loc, args[0], args[1],
                           args.size() > 2 ? args[2] : Value(), transposed);
  };
  return prepared.add({"folded_bias", transposed, build}, factors, loc);
}

Value NormWeightFolder::getColumnSums(OpBuilder &builder, MatmulOp matmul) {
  Value weight = matmul.getWeight();
  bool transposed = matmul.getTransposeWeight();
  Location loc = matmul.getLoc();
  std::optional<Factor> factor = getFactor(weight);
  if (!factor || factor->constant || !prepared.checkArgument().empty())
    return buildColumnSums(builder, loc, weight, transposed);
  Value &sums = columnSums[{weight, transposed}];
  auto build = [&](OpBuilder &builder, Location loc, ValueRange args) {
    return buildColumnSums(builder, loc, args[0], transposed);
  };
  if (!sums)
    sums = prepared.add({"column_sums", transposed, build}, weight, loc);
  return sums;
}
