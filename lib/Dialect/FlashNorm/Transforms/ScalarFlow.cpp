//===- ScalarFlow.cpp - What computes an element of a tensor --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm;
using Kind = Node::Kind;

// Chains of copies and casts longer than this are not looked through.
static constexpr unsigned maxSteps = 64;
static constexpr unsigned maxCasts = 16;

static std::optional<double> getNumber(Attribute attr) {
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    // Wider than double: none of ours.
    if (number.getType().getIntOrFloatBitWidth() > 64)
      return std::nullopt;
    return number.getValueAsDouble();
  }
  if (auto number = dyn_cast<IntegerAttr>(attr))
    if (number.getValue().getSignificantBits() <= 53)
      return static_cast<double>(number.getValue().getSExtValue());
  if (auto splat = dyn_cast<SplatElementsAttr>(attr);
      splat && isa<FloatType, IntegerType, IndexType>(splat.getElementType()))
    return getNumber(splat.getSplatValue<Attribute>());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The reduced loops in the order in which an operand has them.
static SmallVector<unsigned> orderReduced(linalg::LinalgOp op,
                                          ArrayRef<unsigned> reduced) {
  for (AffineMap map : op.getIndexingMapsArray()) {
    SmallVector<unsigned> order;
    for (AffineExpr expr : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(expr);
          loop && llvm::is_contained(reduced, loop.getPosition()))
        order.push_back(loop.getPosition());
    if (order.size() == reduced.size() &&
        llvm::SmallSetVector<unsigned, 4>(order.begin(), order.end()).size() ==
            order.size())
      return order;
  }
  return {};
}

/// The loops of `op` that write `index` of `init`. s0 runs through the reduced
/// loops, with `terms` iterations; as one dimension, if their sizes are known.
static AffineMap getLoops(linalg::LinalgOp op, OpOperand *init, AffineMap index,
                          int64_t &terms, unsigned &summedDims) {
  MLIRContext *context = op.getContext();
  AffineMap map = op.getMatchingIndexingMap(init);
  SmallVector<AffineExpr> loops(op.getNumLoops());
  auto type = cast<ShapedType>(init->get().getType());
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      if (loops[loop.getPosition()])
        return {}; // Writes a diagonal.
      loops[loop.getPosition()] = index.getResult(dim);
    } else if (type.getDimSize(dim) != 1) {
      return {}; // Writes part of the tensor.
    }
  }
  SmallVector<int64_t> sizes;
  SmallVector<unsigned> reduced;
  SmallVector<utils::IteratorType> iterators;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (loop)
      continue;
    if (sizes.empty()) {
      sizes = op.getStaticLoopRanges();
      iterators = op.getIteratorTypesArray();
    }
    if (sizes[i] == 1) {
      loop = getAffineConstantExpr(0, context);
    } else if (iterators[i] == utils::IteratorType::reduction) {
      loop = getAffineSymbolExpr(0, context);
      terms = sizes[i];
      reduced.push_back(i);
    } else {
      return {};
    }
  }
  summedDims = reduced.size();
  if (summedDims > 1) {
    SmallVector<unsigned> order = orderReduced(op, reduced);
    SmallVector<int64_t> rowSizes;
    for (unsigned loop : order)
      rowSizes.push_back(sizes[loop]);
    if (!order.empty() &&
        llvm::all_of(rowSizes, [](int64_t size) { return size > 0; })) {
      for (auto [loop, expr] : llvm::zip_equal(
               order, delinearize(getAffineSymbolExpr(0, context), rowSizes)))
        loops[loop] = expr;
      terms = llvm::product_of(rowSizes);
      summedDims = 1;
    }
  }
  return withResults(index, loops);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Node::Kind flashnorm::classify(Operation *op) {
  if (op->getNumResults() != 1 ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return Kind::Opaque;
  return llvm::TypeSwitch<Operation *, Kind>(op)
      .Case<arith::AddFOp, tosa::AddOp>([](auto) { return Kind::Add; })
      .Case<arith::SubFOp, tosa::SubOp>([](auto) { return Kind::Sub; })
      .Case<arith::MulFOp, tosa::MulOp>([](auto) { return Kind::Mul; })
      .Case<arith::DivFOp>([](auto) { return Kind::Div; })
      .Case<arith::NegFOp, tosa::NegateOp>([](auto) { return Kind::Neg; })
      .Case<tosa::ReciprocalOp>([](auto) { return Kind::Recip; })
      .Case<math::RsqrtOp, tosa::RsqrtOp>([](auto) { return Kind::Rsqrt; })
      .Case<math::SqrtOp>([](auto) { return Kind::Sqrt; })
      .Case<math::PowFOp, math::FPowIOp, tosa::PowOp>(
          [](auto) { return Kind::Pow; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, tosa::MaximumOp>(
          [](auto) { return Kind::Max; })
      .Case<math::AbsFOp, tosa::AbsOp>([](auto) { return Kind::Abs; })
      .Case<arith::TruncFOp>([](arith::TruncFOp truncate) {
        auto mode = truncate.getRoundingmode();
        return !mode || *mode == arith::RoundingMode::to_nearest_even
                   ? Kind::Round
                   : Kind::Opaque;
      })
      .Case<arith::ExtFOp, tosa::CastOp>([](auto) { return Kind::Round; })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([](auto) { return Kind::Round; })
      .Default([](auto) { return Kind::Opaque; });
}

static unsigned getNumArgs(Kind kind) {
  switch (kind) {
  case Kind::Add:
  case Kind::Sub:
  case Kind::Mul:
  case Kind::Div:
  case Kind::Pow:
  case Kind::Max:
    return 2;
  default:
    return 1;
  }
}

/// A scalar as the body of `op` sees it.
static Element getInBody(linalg::LinalgOp op, Value scalar, AffineMap loops) {
  return {scalar,
          scalar.getParentBlock() == op.getBlock() ? loops : AffineMap()};
}

/// The sum that `op` computes in its reduced loop, seen from result `result`.
static bool lookAtSum(linalg::LinalgOp op, OpResult result, AffineMap loops,
                      AffineMap index, Node &node) {
  Value yielded =
      op.getBlock()->getTerminator()->getOperand(result.getResultNumber());
  // An accumulator narrower than the addition: trunc(ext(acc) + x).
  if (auto truncate = yielded.getDefiningOp<arith::TruncFOp>();
      truncate && classify(truncate) == Kind::Round)
    yielded = truncate.getIn();
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  if (!add || add->getBlock() != op.getBlock())
    return false;
  BlockArgument accumulator = op.getMatchingBlockArgument(init);
  auto isAccumulator = [&](Value value) {
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      value = extend.getIn();
    return value == accumulator;
  };
  Value summand;
  if (isAccumulator(add.getLhs()))
    summand = add.getRhs();
  else if (isAccumulator(add.getRhs()))
    summand = add.getLhs();
  else
    return false;
  node.kind = Kind::Sum;
  node.args.push_back(getInBody(op, summand, loops));
  node.args.push_back({init->get(), index});
  return true;
}

static bool isFreeOfSymbol(AffineMap index) {
  return llvm::none_of(index.getResults(), [](AffineExpr expr) {
    return expr.isFunctionOfSymbol(0);
  });
}

namespace {
/// One walk from an element to the operation that computes it.
class Walk {
public:
  Walk(SmallVectorImpl<Element> *views, unsigned casts)
      : views(views), casts(casts) {}
  Node run(Element start);

private:
  /// Moves `current` on, or fills in `node` and returns false.
  bool stepTensor();
  bool stepScalar();
  bool stepLinalg(linalg::LinalgOp op);
  bool stepOperation(Operation *op);
  bool moveTo(Value value, AffineMap index) {
    current = {value, index};
    return true;
  }

  SmallVectorImpl<Element> *views;
  unsigned casts;
  Element current;
  Node node;
};
} // namespace

static Node look(Element element, SmallVectorImpl<Element> *views,
                 unsigned casts) {
  return Walk(views, casts).run(element);
}

Node flashnorm::look(Element element, SmallVectorImpl<Element> *views) {
  return ::look(element, views, 0);
}

Node Walk::run(Element start) {
  current = start;
  for (unsigned step = 0; step != maxSteps; ++step) {
    bool isTensor = isa<RankedTensorType>(current.value.getType());
    if (isTensor) {
      current.index = dropUnitDims(
          current.index, cast<RankedTensorType>(current.value.getType()));
      if (views)
        views->push_back(current);
      if (hasEncoding(current.value.getType()))
        break;
    }
    if (isTensor ? stepTensor() : stepScalar())
      continue;
    break;
  }
  // A cast has already filled in what is behind it.
  if (!node.self.value) {
    node.self = current;
    node.type = getElementTypeOrSelf(current.value.getType());
    node.op = current.value.getDefiningOp();
  }
  return node;
}

bool Walk::stepTensor() {
  Operation *op = current.value.getDefiningOp();
  if (!op)
    return false;
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    if (std::optional<double> number = getNumber(constant)) {
      node.kind = Kind::Constant;
      node.value = *number;
    }
    return false;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return stepLinalg(linalgOp);
  if (isReshape(op)) {
    AffineMap index = getRowMajorSource(op, current.index);
    return index && moveTo(op->getOperand(0), index);
  }
  if (isa<tensor::CastOp, tosa::IdentityOp>(op))
    return isa<RankedTensorType>(op->getOperand(0).getType()) &&
           moveTo(op->getOperand(0), current.index);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return moveTo(splat.getInput(), {});
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    return elements.getElements().size() == 1 &&
           moveTo(elements.getElements()[0], {});
  if (auto transpose = dyn_cast<tosa::TransposeOp>(op))
    return moveTo(transpose.getInput1(),
                  getTransposeSource(transpose.getPerms(), current.index));
  if (auto sum = dyn_cast<tosa::ReduceSumOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(sum.getInput().getType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        !isFreeOfSymbol(current.index) || type.getDimSize(sum.getAxis()) == 1)
      return false;
    SmallVector<AffineExpr> exprs(current.index.getResults());
    exprs[sum.getAxis()] = getAffineSymbolExpr(0, op->getContext());
    node.kind = Kind::Sum;
    node.terms = type.getDimSize(sum.getAxis());
    node.summedDims = 1;
    node.args.push_back({sum.getInput(), withResults(current.index, exprs)});
    return false;
  }
  return stepOperation(op);
}

bool Walk::stepLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  auto result = cast<OpResult>(current.value);
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  int64_t terms = 0;
  unsigned summedDims = 0;
  AffineMap loops = getLoops(op, init, current.index, terms, summedDims);
  if (!loops)
    return false;
  if (summedDims == 0 && op.getNumReductionLoops() == 0) {
    current = getInBody(
        op,
        op.getBlock()->getTerminator()->getOperand(result.getResultNumber()),
        loops);
    return true;
  }
  // A statistic of the row; s0 must not occur in its own place.
  if (summedDims == 0 || !isFreeOfSymbol(current.index))
    return false;
  node.terms = terms;
  node.summedDims = summedDims;
  lookAtSum(op, result, loops, current.index, node);
  return false;
}

bool Walk::stepScalar() {
  if (auto argument = dyn_cast<BlockArgument>(current.value)) {
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    if (!op || !current.index || !op.hasPureTensorSemantics())
      return false;
    OpOperand *operand = op.getMatchingOpOperand(argument);
    // The running value of a reduction.
    if (op.isDpsInit(operand) && op.getNumReductionLoops() != 0)
      return false;
    if (!isa<RankedTensorType>(operand->get().getType()))
      return !isa<ShapedType>(operand->get().getType()) &&
             moveTo(operand->get(), {});
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults()) {
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        return false; // A window, or worse.
      exprs.push_back(
          expr.replaceDimsAndSymbols(current.index.getResults(), {}));
    }
    return moveTo(operand->get(), withResults(current.index, exprs));
  }
  Operation *op = current.value.getDefiningOp();
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    if (std::optional<double> number = getNumber(constant)) {
      node.kind = Kind::Constant;
      node.value = *number;
    }
    return false;
  }
  // A scalar operand that upstream has moved into the body, or out of it.
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return extract.getIndices().empty() &&
           moveTo(extract.getTensor(),
                  current.index ? withResults(current.index, {})
                                : AffineMap::get(0, 1, op->getContext()));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(op)) {
    // Only for the sake of constants.
    if (casts == maxCasts)
      return false;
    Node source =
        ::look({op->getOperand(0), current.index}, nullptr, casts + 1);
    // What no type in between could hold, an i8 among them, wraps around.
    Type type = getElementTypeOrSelf(op->getResult(0).getType());
    double limit = type.isIndex()
                       ? 0x1p53
                       : std::ldexp(1, type.getIntOrFloatBitWidth() - 1);
    if (source.is(Kind::Constant) && source.value >= 0 && source.value < limit)
      node = source;
    return false;
  }
  return stepOperation(op);
}

/// tosa repeats a dimension that turns out to have one element. Where both
/// sides are dynamic, the caller compares places of one tensor.
static bool mayBroadcastAtRunTime(Operation *op, RankedTensorType operand) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return isa_and_nonnull<tosa::TosaDialect>(op->getDialect()) && type &&
         llvm::any_of(llvm::zip_equal(operand.getShape(), type.getShape()),
                      [](auto sizes) {
                        auto [from, to] = sizes;
                        return ShapedType::isDynamic(from) &&
                               !ShapedType::isDynamic(to);
                      });
}

bool Walk::stepOperation(Operation *op) {
  Kind kind = classify(op);
  if (kind == Kind::Opaque)
    return false;
  bool isTensor = isa<RankedTensorType>(current.value.getType());
  SmallVector<Element, 2> args;
  for (Value operand : op->getOperands().take_front(getNumArgs(kind))) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (isTensor != bool(type) ||
        (type && type.getRank() != int64_t(current.index.getNumResults())))
      return false;
    if (type && mayBroadcastAtRunTime(op, type))
      return false;
    bool inBody = isTensor || operand.getParentBlock() == op->getBlock();
    args.push_back({operand, inBody ? current.index : AffineMap()});
  }
  if (kind != Kind::Round) {
    node.kind = kind;
    node.args = std::move(args);
    return false;
  }

  Type type = getElementTypeOrSelf(current.value.getType());
  Type from = getElementTypeOrSelf(args[0].value.getType());
  if (isExact(from, type))
    return moveTo(args[0].value, args[0].index);
  if (casts == maxCasts)
    return false;
  SmallVector<Element> viewsBehind;
  Node source = ::look(args[0], &viewsBehind, casts + 1);
  if (source.is(Kind::Constant)) {
    if (isa<arith::UIToFPOp>(op) && source.value < 0)
      return false;
    source.value = roundTo(source.value, type);
    source.type = type;
    node = source;
    return false;
  }
  if (!isa<FloatType>(from))
    return false;
  // A value that was of this type before: nothing to round.
  if (isExact(source.type, type)) {
    if (views)
      views->append(viewsBehind.begin(), viewsBehind.end());
    node = source;
    return false;
  }
  node.kind = Kind::Round;
  node.args = std::move(args);
  return false;
}
