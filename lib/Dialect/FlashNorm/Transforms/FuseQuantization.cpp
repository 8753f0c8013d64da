//===- FuseQuantization.cpp - Scale, clamp and cast to fp8 into matmul ----===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the matmul's result on, each value has one reader: a product with the
// scale, a clamp, a cast, in this order. What is none of these ends it.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseFlow.h"
#include "EpiloguePreparation.h"
#include "EpilogueRewriter.h"
#include "MatmulDraft.h"
#include "MatmulMatcher.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FUSEQUANTIZATIONPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

namespace {
/// What stands behind a matmul.
struct Quantization {
  /// A scalar in the body of an op, or an element of a tensor; null: none.
  Value scaleScalar;
  std::optional<ElementRef> scaleElement;
  Type saturate;
  /// Scalar ops that the matmul replaces.
  SetVector<Operation *> ops;
  /// The scalar that becomes the matmul's result; null: there is none.
  Value end;

  bool hasScale() const { return scaleScalar || scaleElement; }
};

/// Goes from a matmul's result to the last thing that it can take in.
class Walk {
public:
  Walk(MatmulOp matmul, bool preserveRounding)
      : value(matmul->getResult(0)), preserveRounding(preserveRounding) {}

  /// Why what looks like a quantisation is none; empty if nothing does, or if
  /// `found` is one.
  std::string run();

  Quantization found;

private:
  Operation *getOnlyReader(std::string &reason) const;
  bool takeScale(arith::MulFOp op);
  bool takeClamp(Operation *op);

  /// What the steps so far have come to.
  Value value;
  bool preserveRounding;
};
} // namespace

/// The op that computes with `value`, if it is the only one; else null.
Operation *Walk::getOnlyReader(std::string &reason) const {
  ElementwiseFlow flow = followUses(value);
  if (flow.escape || flow.consumers.size() != 1) {
    reason = "what is scaled, clamped or cast has another reader";
    return nullptr;
  }
  // What the matmul's result is rounded to, it may be rounded to again.
  Type type = getElementTypeOrSelf(value.getType());
  bool isResult = isa<TensorType>(value.getType());
  for (Value member : flow.members)
    if (member.getDefiningOp<arith::TruncFOp>() && member.getType() != type &&
        (preserveRounding || !isResult)) {
      llvm::raw_string_ostream(reason)
          << "a value on the way is rounded to " << member.getType();
      return nullptr;
    }
  return flow.consumers.front();
}

/// The product with one number.
bool Walk::takeScale(arith::MulFOp op) {
  if (found.hasScale() || found.saturate || !op.getType().isF32())
    return false;
  ElementwiseFlow flow = followUses(value);
  bool isLeft = flow.members.contains(op.getLhs());
  Value other = isLeft ? op.getRhs() : op.getLhs();
  if (flow.members.contains(other))
    return false;
  auto parent = cast<linalg::LinalgOp>(op->getParentOp());
  Value scalar = stripExtF(other);
  if (auto arg = dyn_cast<BlockArgument>(scalar);
      arg && arg.getOwner() == parent.getBlock()) {
    OpOperand *operand = parent.getMatchingOpOperand(arg);
    if (!parent.isDpsInput(operand))
      return false;
    // A scalar that the op is given.
    if (!isa<ShapedType>(operand->get().getType())) {
      found.scaleScalar = operand->get();
      return isEpilogueType(scalar.getType());
    }
    if (!isa<RankedTensorType>(operand->get().getType()))
      return false;
    for (const ElementRef &ref : llvm::reverse(dataPath(
             {operand->get(), parent.getMatchingIndexingMap(operand)})))
      if (isEpilogueType(ref.getElementType()) &&
          ref.getType().hasStaticShape() &&
          ref.getType().getNumElements() == 1) {
        found.scaleElement = ref;
        return true;
      }
    return false;
  }
  // From outside of the body.
  if (parent->isAncestor(scalar.getParentBlock()->getParentOp()) &&
      !matchPattern(scalar, m_Constant()))
    return false;
  found.scaleScalar = scalar;
  return isEpilogueType(scalar.getType());
}

/// min(max(x, -bound), bound), either way round, keeping NaN.
bool Walk::takeClamp(Operation *op) {
  if (found.saturate)
    return false;
  auto getBound = [&](Operation *op) -> std::optional<APFloat> {
    if (!op || !isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      return std::nullopt;
    std::optional<APFloat> bound = getConstantFloat(op->getOperand(1));
    if (!bound)
      bound = getConstantFloat(op->getOperand(0));
    return bound;
  };
  std::optional<APFloat> first = getBound(op);
  if (!first)
    return false;
  ElementwiseFlow flow = followUses(op->getResult(0));
  Operation *second = !flow.escape && flow.consumers.size() == 1
                          ? flow.consumers.front()
                          : nullptr;
  // A rounding in between is one of the clamped value.
  for (Value member : flow.members)
    if (member.getDefiningOp<arith::TruncFOp>() &&
        member.getType() != op->getResult(0).getType())
      second = nullptr;
  std::optional<APFloat> last = getBound(second);
  bool startsLow = isa<arith::MaximumFOp>(op);
  if (!last || startsLow == isa<arith::MaximumFOp>(second))
    return false;
  double low = (startsLow ? *first : *last).convertToDouble();
  double high = (startsLow ? *last : *first).convertToDouble();
  MLIRContext *context = op->getContext();
  for (FloatType type : {FloatType(Float8E4M3FNType::get(context)),
                         FloatType(Float8E5M2Type::get(context)),
                         FloatType(Float16Type::get(context))}) {
    double bound =
        APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
    if (low != -bound || high != bound)
      continue;
    found.saturate = type;
    found.ops.insert(op);
    found.ops.insert(second);
    return true;
  }
  return false;
}

/// To nearest even, as the matmul rounds.
static bool isFp8Cast(Operation *op) {
  auto cast = dyn_cast<arith::TruncFOp>(op);
  return cast && isFp8(cast.getType()) &&
         isEpilogueType(cast.getIn().getType()) &&
         cast.getRoundingmode().value_or(
             arith::RoundingMode::to_nearest_even) ==
             arith::RoundingMode::to_nearest_even;
}

/// What a step that cannot be taken in looks like.
static std::string explain(Operation *op) {
  if (isa<arith::TruncFOp>(op) && isFp8(op->getResult(0).getType()))
    return "the cast to fp8 does not round to nearest even";
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op))
    return "it is clamped to other bounds than those of f8E4M3FN, f8E5M2 or "
           "f16, "
           "or NaN is lost";
  if (isa<arith::DivFOp>(op))
    return "it is divided by the scale, not multiplied";
  return "what is computed in front of the cast is neither a scale nor a clamp";
}

/// Something behind `value` is cast to fp8, however it is computed.
static bool leadsToFp8(Value value) {
  SetVector<Operation *> ops;
  ElementwiseFlow flow = followUses(value);
  ops.insert(flow.consumers.begin(), flow.consumers.end());
  constexpr unsigned maxOps = 16;
  for (unsigned next = 0; next < ops.size() && next < maxOps; ++next) {
    if (ops[next]->getNumResults() != 1)
      continue;
    if (isFp8(ops[next]->getResult(0).getType()))
      return true;
    flow = followUses(ops[next]->getResult(0));
    ops.insert(flow.consumers.begin(), flow.consumers.end());
  }
  return false;
}

std::string Walk::run() {
  std::string reason;
  Value start = value;
  while (Operation *op = getOnlyReader(reason)) {
    if (isFp8Cast(op)) {
      found.ops.insert(op);
      found.end = op->getResult(0);
      return "";
    }
    if (auto product = dyn_cast<arith::MulFOp>(op);
        product && takeScale(product)) {
      found.ops.insert(op);
      value = product;
      continue;
    }
    if (takeClamp(op)) {
      value = found.ops.back()->getResult(0);
      found.end = value;
      continue;
    }
    reason = explain(op);
    break;
  }
  // Behind the clamp there may be anything, a rounding for one.
  if (found.end) {
    if (Value rounded = findRounding(found.end);
        rounded && found.end.getType().isF32())
      found.end = rounded;
    return "";
  }
  return leadsToFp8(start) ? reason : "";
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The scale as a tensor<f32>.
static Value makeScale(RewriterBase &rewriter, Location loc,
                       const Quantization &found) {
  Type f32 = rewriter.getF32Type();
  auto type = RankedTensorType::get({}, f32);
  Value scalar = found.scaleScalar;
  if (found.scaleElement) {
    Value tensor = found.scaleElement->tensor;
    auto tensorType = cast<RankedTensorType>(tensor.getType());
    if (tensorType == type)
      return tensor;
    if (tensorType.getElementType() == f32)
      return tensor::CollapseShapeOp::create(rewriter, loc, type, tensor,
                                             ArrayRef<ReassociationIndices>());
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    scalar = tensor::ExtractOp::create(
        rewriter, loc, tensor, SmallVector<Value>(tensorType.getRank(), zero));
  } else if (std::optional<APFloat> number = getConstantFloat(scalar)) {
    bool losesInfo;
    number->convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return arith::ConstantOp::create(rewriter, loc,
                                     DenseElementsAttr::get(type, *number));
  }
  if (scalar.getType() != f32)
    scalar = arith::ExtFOp::create(rewriter, loc, f32, scalar);
  return tensor::FromElementsOp::create(rewriter, loc, type, scalar);
}

static void fuse(RewriterBase &rewriter, MatmulOp matmul,
                 const Quantization &found, linalg::LinalgOp endOp,
                 bool preserveRounding) {
  Value result = matmul->getResult(0);
  Location loc = matmul.getLoc();
  SmallVector<Operation *> reshapes;
  traceReshapes(found.end, result, found.ops, reshapes);
  rewriter.setInsertionPoint(endOp);
  MatmulDraft draft(matmul);
  if (found.hasScale())
    draft.outputScale = makeScale(rewriter, loc, found);
  draft.saturate = found.saturate;
  if (auto type = cast<FloatType>(getElementTypeOrSelf(result));
      preserveRounding && type.getWidth() == 16)
    draft.round(matmul.getLastStep(), type);
  Value init = getEndInit(rewriter, loc, endOp, found.end,
                          withElementType(result, found.end.getType()),
                          matmul.getInits()[0]);
  MatmulOp fused = draft.create(rewriter, loc, init);
  Value value = replay(rewriter, loc, fused->getResult(0), reshapes);
  SmallVector<Operation *> dead;
  for (Operation *op : found.ops)
    dead.push_back(op->getParentOp());
  dead.push_back(matmul);
  replaceEnd(rewriter, endOp, found.end, value, dead);
}

namespace {
struct FuseQuantization
    : ::flashnorm::impl::FuseQuantizationPassBase<FuseQuantization> {
  using FuseQuantizationPassBase::FuseQuantizationPassBase;
  void runOnOperation() override;
};
} // namespace

void FuseQuantization::runOnOperation() {
  prepareEpilogues(getOperation());
  SmallVector<MatmulOp> matmuls;
  getOperation().walk([&](MatmulOp op) {
    if (op.hasPureTensorSemantics() && op.getInits().size() == 1 &&
        !op.getOutputScale() && !op.getSaturate() &&
        isEpilogueType(getElementTypeOrSelf(op->getResult(0))) &&
        (!preserveRounding || canPreserveRounding(op)))
      matmuls.push_back(op);
  });
  // The op that the last step is in may alone have used another matmul.
  LiveOps live;
  live.ops.insert(matmuls.begin(), matmuls.end());
  IRRewriter rewriter(&getContext(), &live);
  auto options = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("flashnorm-fuse-quantization")
        .function(getOperation().getSymName());
  };
  for (MatmulOp matmul : matmuls) {
    if (!live.take(matmul))
      continue;
    Walk walk(matmul, preserveRounding);
    std::string reason = walk.run();
    Quantization &found = walk.found;
    linalg::LinalgOp endOp;
    if (found.end && matmul.getPlan())
      reason = "the matmul carries a plan; run this pass before it is planned";
    else if (found.end && !(endOp = getEndOp(matmul->getBlock(), found.end)))
      reason = "the last step is computed in another block or a named op that "
               "does more";
    Location loc = matmul.getLoc();
    if (!endOp) {
      if (reason.empty())
        continue;
      ++numKept;
      remark::missed(loc, options("QuantizationNotFused")) << reason;
      continue;
    }
    ++numFused;
    std::string text;
    llvm::raw_string_ostream os(text);
    if (found.hasScale())
      os << "scale, ";
    if (found.saturate)
      os << "clamp to the range of " << found.saturate << ", ";
    os << "stored as " << found.end.getType();
    remark::passed(loc, options("QuantizationFused")) << text;
    fuse(rewriter, matmul, found, endOp, preserveRounding);
  }
}
