//===- RaiseNorms.cpp - Norms from linalg, tosa, arith and math -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits the function from its end, so that the last operation of a norm (cast,
// bias, weight) is tried before those inside of it. Each scalar operation that
// may end a norm is matched by what it computes (NormMatcher.h). The last
// operation may stand in the middle of a fused body: then the norm becomes an
// input of that body.
//
//===----------------------------------------------------------------------===//

#include "NormBuilder.h"
#include "NormStatistics.h"
#include "RaisePreparation.h"
#include "RowLoops.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <array>
#include <numeric>

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_RAISENORMSPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;
using Kind = Node::Kind;

static constexpr StringLiteral remarkCategory = "flashnorm-raise-norms";

/// `op` may be the last one of a norm.
static bool mayEndNorm(Operation *op) {
  Kind kind = classify(op);
  return kind == Kind::Mul || kind == Kind::Div || kind == Kind::Add ||
         kind == Kind::Sub || isa<arith::TruncFOp, tosa::CastOp>(op);
}

static bool isRoot(Operation *op) {
  Kind kind = classify(op);
  return kind == Kind::Rsqrt || kind == Kind::Sqrt || kind == Kind::Pow;
}

static bool hasRoot(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return llvm::any_of(linalgOp.getBlock()->getOperations(),
                        [](Operation &inner) { return isRoot(&inner); });
  return isRoot(op);
}

/// Bodies of named ops have no locations.
static Location getLocation(Operation *op) {
  bool useParent =
      isa<UnknownLoc>(op->getLoc()) && isa<linalg::LinalgOp>(op->getParentOp());
  return useParent ? op->getParentOp()->getLoc() : op->getLoc();
}

/// Elements of the result may be elements of the operands, or computed from
/// them one by one.
static bool mayKeepElements(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() == 0;
  return classify(op) != Kind::Opaque ||
         isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp,
             tosa::ReshapeOp, tosa::TransposeOp, tosa::IdentityOp>(op);
}

/// Where the loops `place` write the result of `init`.
static AffineMap getResultPlace(linalg::LinalgOp op, OpOperand *init,
                                AffineMap place) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : op.getMatchingIndexingMap(init).getResults())
    exprs.push_back(expr.replaceDimsAndSymbols(place.getResults(), {}));
  return dropUnitDims(
      AffineMap::get(place.getNumDims(), 1, exprs, op.getContext()),
      cast<ShapedType>(init->get().getType()));
}

/// `norm` with sizes that are known as far as those of `type`.
static Value castTo(OpBuilder &builder, Value norm, Type type) {
  if (norm.getType() == type)
    return norm;
  return tensor::CastOp::create(builder, norm.getLoc(), type, norm);
}

/// Whole words for each MissReason, in its order.
static constexpr StringLiteral reasonNames[] = {
    "between", "axis", "length",   "start",   "divisor", "square",
    "epsilon", "root", "centring", "product", "type"};
static constexpr unsigned numReasons = std::size(reasonNames);
static_assert(numReasons == static_cast<unsigned>(MissReason::Type) + 1);

namespace {

/// Of one function.
struct Counts {
  unsigned raised = 0, statistics = 0;
  std::array<unsigned, numReasons> declined = {};

  unsigned getDeclined() const {
    return std::accumulate(declined.begin(), declined.end(), 0u);
  }
};

struct RaiseNorms : ::flashnorm::impl::RaiseNormsPassBase<RaiseNorms> {
  using ::flashnorm::impl::RaiseNormsPassBase<RaiseNorms>::RaiseNormsPassBase;
  void runOnOperation() override;

private:
  /// Raises at most one norm that ends in `op`. Returns what has become of `op`
  /// and may hold more, or null.
  Operation *raiseIn(Operation *op);
  Operation *raiseInBody(linalg::LinalgOp op);

  /// The norm op of a match whose last operation is `last`.
  Value build(NormMatch match, Operation *last, Value reusableInit);
  /// Erases `op`, and what it alone has used.
  void erase(Operation *op);
  void eraseIfDead(Operation *op) {
    if (isOpTriviallyDead(op))
      erase(op);
  }
  /// Calls of functions that say which norm they compute.
  void raiseCalls();
  /// Lets norms return the statistics that others read.
  void raiseStatisticsOfNorms();
  void report(const NormMatch &match, Operation *root);
  void reportMisses();
  void reportCounts();

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(remarkCategory)
        .function(getOperation().getName());
  }

  NormMatcher matcher{/*preserveRounding=*/false};
  RowShapes rowShapes;
  Counts counts;
  /// Ops of the worklist that are gone.
  DenseSet<Operation *> erased;
  /// Ops that a narrower form has replaced.
  DenseMap<Operation *, Operation *> replacements;
  /// The norm ops that were built.
  llvm::SetVector<Operation *> norms;
  /// Roots that belong to norms that were raised.
  DenseSet<Operation *> covered;
};

} // namespace

void RaiseNorms::erase(Operation *op) {
  llvm::SmallSetVector<Operation *, 16> pending;
  pending.insert(op);
  while (!pending.empty()) {
    Operation *dead = pending.pop_back_val();
    if (dead != op && !isOpTriviallyDead(dead))
      continue;
    for (Value operand : dead->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        pending.insert(producer);
    norms.remove(dead);
    dead->walk([&](Operation *inner) {
      covered.erase(inner);
      matcher.forget(inner);
    });
    erased.insert(dead);
    dead->erase();
  }
}

Value RaiseNorms::build(NormMatch match, Operation *last, Value reusableInit) {
  bool isInBody = isa<linalg::LinalgOp>(last->getParentOp());
  OpBuilder builder(isInBody ? last->getParentOp() : last);
  Value &input = match.input.value;
  if (linalg::GenericOp narrow = narrowProducer(
          builder, look(match.statistic.x).type, match.input.value)) {
    Operation *wide = input.getDefiningOp();
    input = narrow.getResult(0);
    replacements[wide] = narrow;
    erased.erase(narrow); // Memory is used again.
    eraseIfDead(wide);
  }
  Value norm = buildNorm(builder, getLocation(last), match,
                         getElementTypeOrSelf(last->getResult(0).getType()),
                         reusableInit);
  // Rows of several dimensions are expanded behind it.
  if (isa<RMSNormOp, LayerNormOp>(norm.getDefiningOp()))
    norms.insert(norm.getDefiningOp());
  return norm;
}

void RaiseNorms::report(const NormMatch &match, Operation *root) {
  ++counts.raised;
  const RowStatistic &statistic = match.statistic;
  covered.insert(statistic.root);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "raised to "
     << (statistic.kind == NormKind::RMS ? RMSNormOp::getOperationName()
                                         : LayerNormOp::getOperationName())
     << " over " << statistic.length << " elements";
  if (match.losesRounding())
    os << "; computes in f32 what was rounded to "
       << statistic.precision.narrowest;
  if (statistic.isRawMoments)
    os << "; computes the variance from centred values, not as mean(x^2) - "
          "mean(x)^2";
  remark::passed(getLocation(root), getRemark("NormRaised"))
      << remark::add("{0}", text);
}

Operation *RaiseNorms::raiseInBody(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return nullptr;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<RowLoops> candidates = getRowLoops(op, sizes, rowShapes);
  Operation *terminator = op.getBlock()->getTerminator();
  for (Operation &inner : llvm::reverse(op.getBlock()->without_terminator())) {
    if (!mayEndNorm(&inner))
      continue;
    Value scalar = inner.getResult(0);
    for (const RowLoops &loops : candidates) {
      AffineMap place = getPlace(&getContext(), sizes, loops);
      // A result that is the norm and nothing else can be replaced by it.
      OpOperand *init = nullptr;
      AffineMap resultPlace;
      if (scalar.hasOneUse() && *scalar.user_begin() == terminator &&
          op.getNumReductionLoops() == 0) {
        init = op.getDpsInitOperand(scalar.use_begin()->getOperandNumber());
        resultPlace = getResultPlace(op, init, place);
      }
      std::optional<NormMatch> match =
          matcher.match({scalar, place}, resultPlace);
      AffineMap reader =
          match ? getReader(match->input.index, place) : AffineMap();
      if (!reader)
        continue;
      report(*match, &inner);
      bool isResult =
          init && match->input.index == resultPlace &&
          !cast<RankedTensorType>(init->get().getType()).getEncoding() &&
          succeeded(verifyCompatibleShape(match->input.value.getType(),
                                          init->get().getType()));
      Value reusable;
      if (isResult && init->get().getDefiningOp<tensor::EmptyOp>())
        reusable = init->get();
      Value norm = build(*match, &inner, reusable);
      if (isResult) {
        OpBuilder builder(op);
        op.getTiedOpResult(init).replaceAllUsesWith(
            castTo(builder, norm, init->get().getType()));
      }
      if (isResult && op->getNumResults() == 1) {
        eraseIfDead(op);
        return nullptr;
      }
      Operation *rest = feedNorm(op, scalar, norm, reader,
                                 [&](Operation *inner, Operation *clone) {
                                   if (covered.contains(inner))
                                     covered.insert(clone);
                                 });
      erase(op);
      return rest;
    }
  }
  return nullptr;
}

Operation *RaiseNorms::raiseIn(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return raiseInBody(linalgOp);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getRank() == 0 || type.getEncoding())
    return nullptr;
  for (const RowLoops &loops : getRowLoops(type, rowShapes)) {
    AffineMap place = getPlace(&getContext(), type.getShape(), loops);
    std::optional<NormMatch> match =
        matcher.match({op->getResult(0), place}, place);
    AffineMap reader =
        match ? getReader(match->input.index, place) : AffineMap();
    if (!reader)
      continue;
    report(*match, op);
    Value norm = build(*match, op, /*reusableInit=*/{});
    OpBuilder builder(op);
    norm = match->input.index == place &&
                   succeeded(verifyCompatibleShape(norm.getType(), type))
               ? castTo(builder, norm, type)
               : readNormAt(builder, op, norm, reader);
    op->replaceAllUsesWith(ValueRange(norm));
    eraseIfDead(op);
    return nullptr;
  }
  return nullptr;
}

void RaiseNorms::reportMisses() {
  auto report = [&](Operation *root, ArrayRef<int64_t> sizes) {
    if (covered.contains(root))
      return;
    AffineMap place = getPlace(&getContext(), sizes, {});
    std::optional<NearMiss> why =
        matcher.getReason({root->getResult(0), place});
    if (!why)
      return;
    ++counts.declined[static_cast<unsigned>(why->reason)];
    remark::missed(getLocation(root), getRemark("NormNotRaised"))
        << remark::add("sum of squares under a root is not raised: {0}",
                       why->text);
  };
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      if (!linalgOp.hasPureTensorSemantics())
        return WalkResult::skip();
      SmallVector<int64_t> sizes = linalgOp.getStaticLoopRanges();
      for (Operation &inner : *linalgOp.getBlock())
        if (isRoot(&inner))
          report(&inner, sizes);
      return WalkResult::skip();
    }
    if (isRoot(op))
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        report(op, type.getShape());
    return WalkResult::advance();
  });
}

void RaiseNorms::raiseCalls() {
  getOperation().walk([&](func::CallOp call) {
    auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    auto norm = function ? function->getAttrOfType<NormAttr>(
                               FlashNormDialect::getNormAttrName())
                         : NormAttr();
    // The function's own types are checked; below tensors it is no norm of
    // ours.
    if (!norm ||
        !llvm::all_of(call->getOperandTypes(),
                      llvm::IsaPred<RankedTensorType>) ||
        !llvm::all_of(call.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return;
    OpBuilder builder(call);
    Location loc = call.getLoc();
    auto getOperand = [&](unsigned i) {
      return i < call.getNumOperands() ? call.getOperand(i) : Value();
    };
    Value x = call.getOperand(0);
    auto type = cast<RankedTensorType>(call.getResult(0).getType());
    Value init = tensor::EmptyOp::create(builder, loc,
                                         tensor::getMixedSizes(builder, loc, x),
                                         type.getElementType());
    auto cast = CastPositionAttr::get(&getContext(), CastPosition::AfterAffine);
    bool isRMS = norm.getKind() == NormKind::RMS;
    Operation *op =
        isRMS ? RMSNormOp::create(builder, loc, type, x, getOperand(1), init,
                                  norm.getEps(), cast)
                    .getOperation()
              : LayerNormOp::create(builder, loc, type, x, getOperand(1),
                                    getOperand(2), init, norm.getEps(), cast)
                    .getOperation();
    ++counts.raised;
    remark::passed(loc, getRemark("NormRaised"))
        << remark::add("call of @{0} raised to {1} over {2} elements",
                       call.getCallee(), op->getName(), type.getShape().back());
    call->replaceAllUsesWith(op);
    call->erase();
  });
}

void RaiseNorms::raiseStatisticsOfNorms() {
  for (StatisticKind kind :
       {StatisticKind::ReciprocalRoot, StatisticKind::Mean}) {
    StatisticsReport report =
        raiseStatistics(getOperation(), norms, kind, preserveRounding);
    for (auto [loc, text] : report.raised) {
      remark::passed(loc, getRemark("StatisticsRaised"))
          << remark::add("{0}", text);
      ++counts.statistics;
    }
    for (auto [loc, text] : report.declined)
      remark::missed(loc, getRemark("StatisticsNotRaised"))
          << remark::add("{0}", text);
    for (Operation *op : report.dead)
      if (!erased.contains(op))
        eraseIfDead(op);
  }
}

void RaiseNorms::reportCounts() {
  const unsigned declined = counts.getDeclined();
  const unsigned found = counts.raised + declined;
  numFound += found;
  numRaised += counts.raised;
  numStatistics += counts.statistics;
  numDeclined += declined;
  Statistic *const byReason[] = {
      &numBetween, &numAxis, &numLength,   &numStart,   &numDivisor, &numSquare,
      &numEpsilon, &numRoot, &numCentring, &numProduct, &numType};
  static_assert(std::size(byReason) == numReasons);
  std::string reasons;
  llvm::raw_string_ostream os(reasons);
  llvm::ListSeparator separator;
  for (auto [statistic, name, count] :
       llvm::zip_equal(byReason, reasonNames, counts.declined)) {
    *statistic += count;
    if (count)
      os << separator << name << ' ' << count;
  }
  if (found)
    remark::analysis(getOperation().getLoc(), getRemark("NormCounts"))
        << remark::add("{0} found, {1} raised, {2} declined{3}", found,
                       counts.raised, declined,
                       declined ? " (" + reasons + ")" : reasons);
}

void RaiseNorms::runOnOperation() {
  counts = {};
  raiseCalls();
  matcher = NormMatcher(preserveRounding);
  rowShapes = {};
  erased.clear();
  replacements.clear();
  norms.clear();
  covered.clear();
  const bool hasRoots =
      getOperation()
          .walk([](Operation *op) {
            return isRoot(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  if (!hasRoots)
    return reportCounts();
  decideChoices(getOperation());
  splitFmas(getOperation());
  // Ops with a root, and those that are only copies, casts and arithmetic away
  // from one.
  DenseSet<Operation *> near;
  SmallVector<Operation *> worklist;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isLinalg = isa<linalg::LinalgOp>(op);
    rowShapes.see(op);
    if (hasRoot(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
          return near.contains(operand.getDefiningOp());
        })) {
      if (isLinalg ||
          (mayEndNorm(op) && isa<RankedTensorType>(op->getResult(0).getType())))
        worklist.push_back(op);
      if (mayKeepElements(op))
        near.insert(op);
    }
    return isLinalg ? WalkResult::skip() : WalkResult::advance();
  });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (Operation *replacement = replacements.lookup(op))
      op = replacement;
    if (erased.contains(op))
      continue;
    while (op)
      op = raiseIn(op);
  }
  raiseStatisticsOfNorms();
  reportMisses();
  joinFmas(getOperation());
  reportCounts();
}
