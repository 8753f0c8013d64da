//===- PlanUtils.cpp - From flashnorm ops to the planner ------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "flashnorm/Planning/Cost.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace flashnorm;

// The attribute's enums are those of the planner, which cannot include MLIR's.
static_assert(int(PlanStrategy::Gemm) == int(Strategy::Gemm) &&
              int(PlanStrategy::WideTile) == int(Strategy::WideTile) &&
              int(PlanStrategy::LazyPreNorm) == int(Strategy::LazyPreNorm));
static_assert(int(PlanFamily::MmaSync) == int(Family::MmaSync) &&
              int(PlanFamily::Wgmma) == int(Family::Wgmma) &&
              int(PlanFamily::Tcgen05) == int(Family::Tcgen05));

std::optional<ElementType> flashnorm::getPlannerType(Type type) {
  type = getElementTypeOrSelf(type);
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isF32())
    return ElementType::F32;
  return std::nullopt;
}

std::string flashnorm::describeUnknownType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text)
      << "element type " << getElementTypeOrSelf(type)
      << " has no kernel; bf16, f16 and f32 have";
  return text;
}

static Norm getNorm(std::optional<NormAttr> attr) {
  if (!attr)
    return Norm::None;
  return attr->getKind() == NormKind::RMS ? Norm::RMS : Norm::Layer;
}

FailureOr<Problem> flashnorm::getProblem(MatmulOp op, std::string &reason) {
  for (Value operand : op->getOperands())
    if (!getPlannerType(operand.getType())) {
      reason = describeUnknownType(operand.getType());
      return failure();
    }

  // What the op can say and no kernel does yet.
  if (op.getRowScale())
    reason = "no kernel scales rows by a vector that it is given";
  else if (op.getColumnSums())
    reason = "no kernel takes the mean of x from the product";
  else if (op.returnsStatistics())
    reason = "no kernel returns statistics of its result";
  else if (op.getGlu())
    reason = "no kernel multiplies the gates and values of a GLU";
  else if (op.getOutputScale() || op.getSaturate())
    reason = "no kernel scales or clamps its result";
  if (!reason.empty())
    return failure();
  // A dynamic size matches any, but kernels are built for one.
  SmallVector<Value> matrices(op.getInits());
  if (op.getResidual())
    matrices.push_back(op.getResidual());
  for (Value matrix : matrices) {
    auto type = cast<ShapedType>(matrix.getType());
    if (type.isDynamicDim(type.getRank() - 1)) {
      llvm::raw_string_ostream(reason)
          << "the columns of " << type << " are not static";
      return failure();
    }
  }

  Problem problem;
  int64_t rows = 1;
  ArrayRef<int64_t> leading =
      cast<ShapedType>(op.getInput().getType()).getShape().drop_back();
  if (llvm::is_contained(leading, 0))
    rows = 0;
  for (int64_t size : leading)
    // More than 64 bits hold are more than any kernel takes.
    if (rows > 0 && llvm::MulOverflow(rows, size, rows)) {
      rows = std::numeric_limits<int64_t>::max();
      break;
    }
  if (!llvm::is_contained(leading, ShapedType::kDynamic))
    problem.m = rows;
  problem.n = op.getN();
  problem.k = op.getK();
  problem.inputType = *getPlannerType(op.getInput().getType());
  problem.outputType = *getPlannerType(op.getInits().front().getType());
  if (op.getResidual())
    problem.residualType = *getPlannerType(op.getResidual().getType());
  problem.transposeWeight = op.getTransposeWeight();
  problem.preNorm = getNorm(op.getPreNorm());
  problem.postNorm = getNorm(op.getPostNorm());
  problem.hasBias = bool(op.getBias());
  problem.hasResidual = bool(op.getResidual());
  problem.hasActivation = op.getActivation() != Activation::None;
  problem.hasNormWeight = bool(op.getNormWeight());
  problem.hasNormBias = bool(op.getNormBias());
  problem.returnsSum = op.returnsSum();
  for (Value matrix : {op.getInput(), op.getWeight(), op.getResidual()})
    problem.hasRowStride |= matrix && getRowStride(matrix).has_value();
  return problem;
}

/// Whether a tensor is a slice of the columns of another: bufferized, it
/// becomes a view of that one.
static bool isColumnSlice(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      return slice.getSourceType().getShape().back() !=
             slice.getType().getShape().back();
    if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
            op))
      return false;
    tensor = op->getOperand(0);
  }
  return false;
}

std::optional<int64_t> flashnorm::getRowStride(Value operand) {
  auto memref = dyn_cast<MemRefType>(operand.getType());
  if (!memref)
    return isColumnSlice(operand) ? std::optional(ShapedType::kDynamic)
                                  : std::nullopt;
  if (memref.getLayout().isIdentity())
    return std::nullopt;
  SmallVector<int64_t> strides;
  int64_t offset;
  ArrayRef<int64_t> shape = memref.getShape();
  if (memref.getRank() < 2 ||
      failed(memref.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1)
    return ShapedType::kDynamic;
  // Leading dimensions must go on where the ones inside end.
  int64_t stride = strides[memref.getRank() - 2];
  int64_t bytes = memref.getElementTypeBitWidth() / 8;
  bool isUsable = !ShapedType::isDynamic(stride) && stride >= shape.back() &&
                  stride * bytes % 16 == 0;
  for (int64_t dim = 0; dim + 2 < memref.getRank(); ++dim)
    isUsable &= !ShapedType::isDynamic(shape[dim + 1]) &&
                strides[dim] == shape[dim + 1] * strides[dim + 1];
  if (!isUsable)
    return ShapedType::kDynamic;
  return stride == shape.back() ? std::nullopt : std::optional(stride);
}

Plan flashnorm::getPlan(PlanAttr attr) {
  Plan plan;
  plan.strategy = Strategy(int(attr.getStrategy()));
  plan.family = Family(int(attr.getFamily()));
  plan.chip = attr.getChip().str();
  plan.tileM = attr.getTile()[0];
  plan.tileN = attr.getTile()[1];
  plan.tileK = attr.getTile()[2];
  plan.warpsM = attr.getWarps()[0];
  plan.warpsN = attr.getWarps()[1];
  plan.stages = attr.getStages();
  plan.schedule = Schedule(int(attr.getSchedule()));
  plan.clusterM = attr.getCluster()[0];
  plan.clusterN = attr.getCluster()[1];
  plan.clusterK = attr.getCluster()[2];
  plan.residentWeight = attr.getResidentWeight();
  plan.prefetch = attr.getPrefetch();
  return plan;
}

PlanAttr flashnorm::getPlanAttr(MLIRContext *context, const Plan &plan) {
  return PlanAttr::get(
      context, PlanStrategy(int(plan.strategy)), plan.chip,
      PlanFamily(int(plan.family)), {plan.tileM, plan.tileN, plan.tileK},
      {plan.warpsM, plan.warpsN}, plan.stages, PlanSchedule(int(plan.schedule)),
      {plan.clusterM, plan.clusterN, plan.clusterK}, plan.residentWeight,
      plan.prefetch);
}

LogicalResult flashnorm::verifyPlanOf(MatmulOp op) {
  Plan plan = getPlan(op.getPlanAttr());
  const TargetInfo *target = lookupTarget(plan.chip);
  if (!target)
    return op.emitOpError() << "plan is for unknown chip '" << plan.chip
                            << "'; legal are " << describeLegalChips();
  std::string reason;
  FailureOr<Problem> problem = getProblem(op, reason);
  if (succeeded(problem))
    reason = verifyPlan(plan, *problem, *target);
  if (!reason.empty())
    return op.emitOpError() << "plan cannot run: " << reason;
  return success();
}

std::string flashnorm::describePlan(const Plan &plan) {
  std::string text =
      llvm::formatv("{0}, {1}, tile {2}x{3}x{4}, warps {5}x{6}, {7} stages",
                    stringify(plan.strategy), stringify(plan.family),
                    plan.tileM, plan.tileN, plan.tileK, plan.warpsM,
                    plan.warpsN, plan.stages)
          .str();
  if (plan.schedule != Schedule::Cooperative)
    text += (", " + stringify(plan.schedule)).str();
  if (plan.clusterSize() > 1)
    text += llvm::formatv(", cluster {0}x{1}x{2}", plan.clusterM, plan.clusterN,
                          plan.clusterK);
  if (plan.residentWeight)
    text += ", resident weight";
  if (plan.prefetch)
    text += llvm::formatv(", prefetch {0}", plan.prefetch);
  return text;
}

std::string flashnorm::describeRows(const Problem &problem) {
  if (problem.m)
    return std::to_string(*problem.m) + (*problem.m == 1 ? " row" : " rows");
  return "an assumed " + std::to_string(assumedRows) + " rows";
}

FailureOr<PlanTarget> flashnorm::parsePlanTarget(Location loc, StringRef chip,
                                                 StringRef family) {
  PlanTarget result;
  // Whether a fusion pays is asked of all matmuls behind a norm together, and
  // not any more of what is fused.
  result.options.onlyIfFaster = false;
  result.target = lookupTarget(chip);
  if (!result.target)
    return emitError(loc) << "unknown chip '" << chip << "'; legal are "
                          << describeLegalChips();
  if (family == "auto")
    return result;
  result.options.family = parseFamily(family);
  if (!result.options.family)
    return emitError(loc) << "unknown MMA family '" << family << "'; legal for "
                          << chip << " are auto, "
                          << describeLegalFamilies(*result.target);
  if (!result.target->supports(*result.options.family))
    return emitError(loc) << chip << " has no " << family
                          << "; legal are auto, "
                          << describeLegalFamilies(*result.target);
  return result;
}
