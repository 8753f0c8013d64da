//===- MatmulMatcher.cpp - Contractions with a weight matrix --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulMatcher.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace flashnorm;

//===----------------------------------------------------------------------===//
// Multiply-add
//===----------------------------------------------------------------------===//

/// The body is `out + a * b`, `a` and `b` being the two inputs, each possibly
/// widened, and so may be the product.
static bool isMultiplyAdd(linalg::LinalgOp op, BlockArgument a, BlockArgument b,
                          BlockArgument out) {
  Operation *add =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  auto isProduct = [&](Value left, Value right) {
    left = stripExtF(left);
    right = stripExtF(right);
    return (left == a && right == b) || (left == b && right == a);
  };
  if (auto fma = dyn_cast_or_null<math::FmaOp>(add))
    return fma.getC() == out && isProduct(fma.getA(), fma.getB());
  auto addf = dyn_cast_or_null<arith::AddFOp>(add);
  if (!addf)
    return false;
  Value product;
  if (addf.getLhs() == out)
    product = addf.getRhs();
  else if (addf.getRhs() == out)
    product = addf.getLhs();
  else
    return false;
  auto mul = stripExtF(product).getDefiningOp<arith::MulFOp>();
  return mul && isProduct(mul.getLhs(), mul.getRhs());
}

static std::optional<Contraction> matchLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0 ||
      op.hasIndexSemantics())
    return std::nullopt;
  OpOperand *lhs = op.getDpsInputOperand(0), *rhs = op.getDpsInputOperand(1);
  OpOperand *init = op.getDpsInitOperand(0);
  for (OpOperand *operand : {lhs, rhs, init}) {
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (!type || !isa<FloatType>(type.getElementType()) || type.getEncoding())
      return std::nullopt;
  }
  if (!isMultiplyAdd(op, op.getMatchingBlockArgument(lhs),
                     op.getMatchingBlockArgument(rhs),
                     op.getMatchingBlockArgument(init)))
    return std::nullopt;
  return Contraction{op,
                     {lhs->get(), op.getMatchingIndexingMap(lhs)},
                     {rhs->get(), op.getMatchingIndexingMap(rhs)},
                     op.getMatchingIndexingMap(init),
                     init->get(),
                     op.getStaticLoopRanges()};
}

static std::optional<Contraction> matchTosa(tosa::MatMulOp op) {
  auto a = dyn_cast<RankedTensorType>(op.getA().getType());
  auto b = dyn_cast<RankedTensorType>(op.getB().getType());
  auto out = dyn_cast<RankedTensorType>(op.getOutput().getType());
  if (!a || !b || !out || !isa<FloatType>(a.getElementType()) ||
      !isa<FloatType>(b.getElementType()) || a.getEncoding() ||
      b.getEncoding() || out.getEncoding() || !isZeroInitialised(op.getAZp()) ||
      !isZeroInitialised(op.getBZp()))
    return std::nullopt;
  MLIRContext *context = op.getContext();
  AffineExpr batch, m, n, k;
  bindDims(context, batch, m, n, k);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(4, 0, results, context);
  };
  return Contraction{
      op,
      {op.getA(), map({batch, m, k})},
      {op.getB(), map({batch, k, n})},
      map({batch, m, n}),
      Value(),
      {a.getDimSize(0), a.getDimSize(1), b.getDimSize(2), a.getDimSize(2)}};
}

std::optional<Contraction> flashnorm::matchContraction(Operation *op) {
  if (auto matmul = dyn_cast<tosa::MatMulOp>(op))
    return matchTosa(matmul);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return matchLinalg(linalgOp);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Roles of the loops
//===----------------------------------------------------------------------===//

/// The loops that index `ref`, in its order. A dimension of size 1 that is read
/// at 0, or by a loop outside of `wanted`, counts for nothing. Failure when an
/// index is anything else than a loop or a loop comes twice.
static FailureOr<SmallVector<unsigned>> getLoops(const ElementRef &ref,
                                                 ArrayRef<unsigned> wanted) {
  SmallVector<unsigned> loops;
  for (auto [size, expr] :
       llvm::zip_equal(ref.getType().getShape(), ref.map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (size == 1 &&
        (dim ? !llvm::is_contained(wanted, dim.getPosition())
             : expr == getAffineConstantExpr(0, expr.getContext())))
      continue;
    if (!dim || llvm::is_contained(loops, dim.getPosition()))
      return failure();
    loops.push_back(dim.getPosition());
  }
  return loops;
}

static bool isCompiledType(Type type) { return type.isBF16() || type.isF16(); }

bool flashnorm::isEpilogueType(Type type) {
  return isCompiledType(type) || type.isF32();
}

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// When an op computes `tensor` and widens it at the very end, the type before
/// that; else null.
static Type getTypeBeforeWidening(Value tensor) {
  auto result = dyn_cast<OpResult>(tensor);
  auto op = result ? dyn_cast<linalg::GenericOp>(result.getOwner())
                   : linalg::GenericOp();
  if (!op || op->getNumResults() != 1 ||
      !isElementwise(cast<linalg::LinalgOp>(op.getOperation())))
    return {};
  Value yielded = getYielded(result), narrow = stripExtF(yielded);
  // An op that only widens has a narrow operand already. Where the body reads
  // its init, a narrower one would not fit.
  if (narrow == yielded || isa<BlockArgument>(narrow) ||
      !op.getRegionOutputArgs()[0].use_empty())
    return {};
  return narrow.getType();
}

/// x: an element on the path that has the leading loops and then the contracted
/// ones, in a compiled type.
static LogicalResult findX(const ElementRef &operand, ArrayRef<unsigned> lead,
                           ArrayRef<unsigned> reduction, MatmulMatch &match,
                           std::string &reason) {
  SmallVector<ElementRef> path = dataPath(operand);
  bool dynamic = false;
  for (const ElementRef &ref : path) {
    Type type = ref.getElementType();
    bool narrow = false;
    if (!isCompiledType(type)) {
      Type before = getTypeBeforeWidening(ref.tensor);
      if (!before || !isCompiledType(before))
        continue;
      type = before;
      narrow = true;
    }
    SmallVector<unsigned> loops;
    bool plain = true;
    unsigned unitDims = 0;
    for (auto [expr, size] :
         llvm::zip_equal(ref.map.getResults(), ref.getType().getShape())) {
      if (loops.empty() && size == 1 && isa<AffineConstantExpr>(expr)) {
        ++unitDims;
        continue;
      }
      auto dim = dyn_cast<AffineDimExpr>(expr);
      plain &= dim && !llvm::is_contained(loops, dim.getPosition());
      if (plain)
        loops.push_back(dim.getPosition());
    }
    if (!plain || loops.size() != lead.size() + reduction.size() ||
        ArrayRef(loops).take_front(lead.size()) != lead)
      continue;
    ArrayRef<int64_t> depth =
        ref.getType().getShape().drop_front(unitDims + lead.size());
    // A cast may hide sizes that the contraction knows.
    if (llvm::is_contained(depth, ShapedType::kDynamic)) {
      dynamic = true;
      continue;
    }
    match.x = ref;
    match.unitDims = unitDims;
    match.narrowX = narrow;
    match.elementType = type;
    match.k.assign(loops.begin() + lead.size(), loops.end());
    return success();
  }
  if (dynamic) {
    reason = "x's contracted dimensions are not static";
    return failure();
  }
  Type deepest = path.back().getElementType();
  if (!llvm::any_of(path, [](const ElementRef &ref) {
        return isCompiledType(ref.getElementType());
      }))
    reason = llvm::formatv("x is {0}; only bf16 and f16 are compiled",
                           toString(deepest));
  else
    reason = "x's contracted dimensions are not its last ones";
  return failure();
}

/// The weight: the farthest element on the path that only the column and the
/// contracted loops index.
static LogicalResult findWeight(const ElementRef &operand,
                                ArrayRef<int64_t> loopSizes, MatmulMatch &match,
                                std::string &reason) {
  SmallVector<unsigned> wanted(match.n);
  llvm::append_range(wanted, match.k);
  SmallVector<unsigned> columnsLast(match.k);
  llvm::append_range(columnsLast, match.n);
  SmallVector<ElementRef> path = dataPath(operand);
  bool otherType = false, dynamic = false;
  for (const ElementRef &ref : llvm::reverse(path)) {
    FailureOr<SmallVector<unsigned>> loops = getLoops(ref, wanted);
    if (failed(loops) || (*loops != wanted && *loops != columnsLast))
      continue;
    if (ref.getElementType() != match.elementType) {
      otherType = true;
      continue;
    }
    if (!ref.getType().hasStaticShape()) {
      dynamic = true;
      continue;
    }
    match.weight = ref;
    match.transposeWeight = *loops == wanted;
    for (auto [loop, size] :
         llvm::zip_equal(ref.map.getResults(), ref.getType().getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(loop)) {
        if (llvm::is_contained(match.n, dim.getPosition()))
          match.sizeN *= size;
        else if (llvm::is_contained(match.k, dim.getPosition()))
          match.sizeK *= size;
      }
    if (match.sizeN > 0 && match.sizeK > 0)
      return success();
    reason = "the weight is empty";
    return failure();
  }
  if (dynamic) {
    reason = llvm::formatv("the weight {0} is not static",
                           toString(path.back().getType()));
    return failure();
  }
  if (otherType) {
    reason = llvm::formatv("x is {0} but the weight {1}",
                           toString(match.elementType),
                           toString(path.back().getElementType()));
    return failure();
  }
  for (unsigned loop : match.lead)
    if (loopSizes[loop] != 1 && operand.map.isFunctionOfDim(loop)) {
      reason = "both operands vary along a leading dimension of the result: "
               "neither is a weight";
      return failure();
    }
  reason = "the weight's dimensions are not columns and contracted ones";
  return failure();
}

/// The start value: zero, a bias, or a whole tensor.
static LogicalResult readInit(const Contraction &contraction,
                              MatmulMatch &match, std::string &reason) {
  if (!contraction.init || isZeroInitialised(contraction.init))
    return success();
  if (isUninitialised(contraction.init)) {
    reason = "the accumulator starts from an uninitialised tensor";
    return failure();
  }
  ElementRef init{contraction.init, contraction.outMap};
  SmallVector<ElementRef> path = dataPath(init);
  for (const ElementRef &ref : llvm::reverse(path)) {
    FailureOr<SmallVector<unsigned>> loops = getLoops(ref, match.n);
    // A matrix of one row could be a bias too; as such it costs no less.
    if (succeeded(loops) && *loops == match.n &&
        isEpilogueType(ref.getElementType()) &&
        ref.getType().hasStaticShape() &&
        ref.getType().getNumElements() == match.sizeN) {
      match.bias = ref;
      return success();
    }
  }
  match.residual = contraction.init;
  for (const ElementRef &ref : path)
    if (ref.map == contraction.outMap && isEpilogueType(ref.getElementType()))
      match.residual = ref.tensor;
  return success();
}

static FailureOr<MatmulMatch> matchRoles(const Contraction &contraction,
                                         const ElementRef &x,
                                         const ElementRef &weight,
                                         std::string &reason) {
  MatmulMatch match;
  SmallVector<unsigned> out, reduction;
  for (AffineExpr expr : contraction.outMap.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || llvm::is_contained(out, dim.getPosition())) {
      reason = "the result is not indexed by plain loops";
      return failure();
    }
    out.push_back(dim.getPosition());
  }
  for (unsigned loop = 0; loop < contraction.outMap.getNumDims(); ++loop)
    if (!llvm::is_contained(out, loop))
      reduction.push_back(loop);
  // Columns: the result's last dimensions, as far as x knows nothing of them.
  auto isColumn = [&](unsigned loop) {
    return weight.map.isFunctionOfDim(loop) && !x.map.isFunctionOfDim(loop);
  };
  unsigned leading = out.size();
  while (leading > 0 && isColumn(out[leading - 1]))
    --leading;
  match.lead.assign(out.begin(), out.begin() + leading);
  match.n.assign(out.begin() + leading, out.end());
  if (match.n.empty()) {
    reason = "the result's last dimension is none of the weight's columns";
    return failure();
  }
  if (match.lead.empty()) {
    reason = "x is a vector, not a matrix";
    return failure();
  }
  if (failed(findX(x, match.lead, reduction, match, reason)) ||
      failed(findWeight(weight, contraction.loopSizes, match, reason)))
    return failure();
  // Behind casts to dynamic sizes, what cannot run may still be well-formed.
  int64_t depth = 1;
  for (int64_t size : match.x.getType().getShape().drop_front(
           match.unitDims + match.lead.size()))
    depth *= size;
  if (depth != match.sizeK) {
    reason = llvm::formatv("x contracts {0} elements but the weight {1}", depth,
                           match.sizeK);
    return failure();
  }
  ArrayRef<int64_t> columns =
      contraction.getResultType().getShape().drop_front(match.lead.size());
  if (llvm::is_contained(columns, ShapedType::kDynamic)) {
    reason = "the result's columns are not static";
    return failure();
  }
  // Upstream's verifier lets a size of 0 pass for any.
  int64_t width = 1;
  for (int64_t size : columns)
    width *= size;
  if (width != match.sizeN) {
    reason = llvm::formatv("the result has {0} columns but the weight {1}",
                           width, match.sizeN);
    return failure();
  }
  Type accumulator = contraction.getResultType().getElementType();
  if (!isEpilogueType(accumulator)) {
    reason = llvm::formatv("the accumulator is {0}; kernels accumulate in f32",
                           toString(accumulator));
    return failure();
  }
  if (failed(readInit(contraction, match, reason)))
    return failure();
  return match;
}

FailureOr<MatmulMatch> flashnorm::matchMatmul(const Contraction &contraction,
                                              std::string &reason) {
  FailureOr<MatmulMatch> match =
      matchRoles(contraction, contraction.lhs, contraction.rhs, reason);
  if (succeeded(match))
    return match;
  // The weight may come first; its reason is the same or less to the point.
  std::string ignored;
  return matchRoles(contraction, contraction.rhs, contraction.lhs, ignored);
}

//===----------------------------------------------------------------------===//
// Operands in the form of flashnorm.matmul
//===----------------------------------------------------------------------===//

Value flashnorm::collapseTrailing(RewriterBase &rewriter, Location loc,
                                  Value value, unsigned count) {
  if (count == 1)
    return value;
  unsigned rank = cast<RankedTensorType>(value.getType()).getRank();
  SmallVector<ReassociationIndices> groups;
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (groups.size() <= rank - count)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return rewriter.createOrFold<tensor::CollapseShapeOp>(loc, value, groups);
}

Value flashnorm::collapseToVector(RewriterBase &rewriter, Location loc,
                                  Value value) {
  return collapseTrailing(rewriter, loc, value,
                          cast<RankedTensorType>(value.getType()).getRank());
}

void flashnorm::splitWidening(RewriterBase &rewriter, Value tensor) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto wide = tensor.getDefiningOp<linalg::GenericOp>();
  Location loc = wide.getLoc();
  rewriter.setInsertionPoint(wide);
  auto type = cast<RankedTensorType>(tensor.getType());
  Value yielded = getYielded(cast<OpResult>(tensor));
  Value scalar = stripExtF(yielded);
  Value init = tensor::EmptyOp::create(
      rewriter, loc,
      tensor::getMixedSizes(rewriter, loc, wide.getDpsInits()[0]),
      scalar.getType());
  auto narrow = cast<linalg::GenericOp>(rewriter.clone(*wide));
  Block *body = narrow.getBlock();
  rewriter.modifyOpInPlace(narrow, [&] {
    // The init alone: the body may read that tensor as an input, too.
    narrow.getDpsInitsMutable()[0].set(init);
    narrow->getResult(0).setType(
        RankedTensorType::get(type.getShape(), scalar.getType()));
    body->getArguments().back().setType(scalar.getType());
    Operation *yield = body->getTerminator();
    Operation *widening = yield->getOperand(0).getDefiningOp();
    yield->setOperand(0, stripExtF(yield->getOperand(0)));
    eraseIfDead(rewriter, widening);
  });
  AffineMap map = cast<linalg::LinalgOp>(wide.getOperation())
                      .getIndexingMapMatchingResult(cast<OpResult>(tensor));
  auto widen = linalg::GenericOp::create(
      rewriter, loc, tensor.getType(), narrow->getResult(0),
      wide.getDpsInits()[0], {map, map}, wide.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location bodyLoc, ValueRange args) {
        Value value =
            arith::ExtFOp::create(builder, bodyLoc, yielded.getType(), args[0]);
        linalg::YieldOp::create(builder, bodyLoc, value);
      });
  rewriter.replaceOp(wide, widen);
}

Value flashnorm::materializeWeight(RewriterBase &rewriter, Location loc,
                                   const MatmulMatch &match) {
  // Rows take every dimension before the first of the columns, so that unit
  // dimensions go where their neighbours are.
  ArrayRef<unsigned> second = match.transposeWeight ? match.k : match.n;
  SmallVector<ReassociationIndices> groups(2);
  unsigned group = 0;
  for (auto [dim, expr] : llvm::enumerate(match.weight.map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (loop && llvm::is_contained(second, loop.getPosition()))
      group = 1;
    groups[group].push_back(dim);
  }
  Value weight = match.weight.tensor;
  if (match.weight.getType().getRank() == 2)
    return weight;
  return rewriter.createOrFold<tensor::CollapseShapeOp>(loc, weight, groups);
}
