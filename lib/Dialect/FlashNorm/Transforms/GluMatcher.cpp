//===- GluMatcher.cpp - Gated linear units --------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GluMatcher.h"
#include "ActivationMatcher.h"
#include "ElementwiseFlow.h"
#include "LeadingReshapes.h"
#include "MatmulDraft.h"
#include "MatmulMatcher.h"
#include "PreparedWeights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace flashnorm;

//===----------------------------------------------------------------------===//
// The two factors
//===----------------------------------------------------------------------===//

static bool isSource(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<MatmulOp>(op)
             ? value == op->getResult(0)
             : isa_and_nonnull<tensor::ExtractSliceOp>(op);
}

/// The only source that `scalar` is computed from by a few scalar ops.
static Value findSource(Value scalar) {
  constexpr unsigned maxValues = 64;
  Value source;
  SetVector<Value> values;
  values.insert(scalar);
  for (unsigned next = 0; next < values.size(); ++next) {
    Value value = values[next];
    if (next == maxValues)
      return {};
    if (isSource(value)) {
      if (source && source != value)
        return {};
      source = value;
      continue;
    }
    if (Value before = stepBack(value)) {
      values.insert(before);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (!op || !isa<linalg::LinalgOp>(op->getParentOp()) ||
        isa<linalg::LinalgOp>(op))
      continue; // a constant, for one
    values.insert(op->operand_begin(), op->operand_end());
  }
  return source;
}

static std::optional<GluSide> getSide(Value factor) {
  GluSide side;
  side.source = findSource(factor);
  if (!side.source)
    return std::nullopt;
  ElementwiseFlow flow = followUses(side.source);
  if (flow.members.contains(factor))
    return side;
  std::optional<Activation> activation =
      matchActivation(factor, flow.members, side.ops);
  if (!activation)
    return std::nullopt;
  side.activation = *activation;
  return side;
}

/// Nothing but the product reads the side's elements.
static bool isReadByProductOnly(const GluSide &side, arith::MulFOp product) {
  auto staysWithin = [&](Value value) {
    ElementwiseFlow flow = followUses(value);
    return !flow.escape && llvm::all_of(flow.consumers, [&](Operation *op) {
      return op == product || side.ops.contains(op);
    });
  };
  return staysWithin(side.source) && llvm::all_of(side.ops, [&](Operation *op) {
           return staysWithin(op->getResult(0));
         });
}

/// The source rounds where the matmul cannot: its result again, something
/// within the activation, or what that makes more than once.
static bool hidesRounding(const GluSide &side) {
  // Types that a value is rounded to.
  auto getRoundings = [](Value value) {
    SetVector<Type> types;
    for (Value member : followUses(value).members)
      if (member.getDefiningOp<arith::TruncFOp>())
        types.insert(member.getType());
    return types;
  };
  SetVector<Type> types = getRoundings(side.source);
  types.remove(getElementTypeOrSelf(side.source));
  if (!types.empty())
    return true;
  if (side.activation == Activation::None)
    return false;
  // The last op of the activation comes first.
  Operation *root = side.ops.front();
  if (getRoundings(root->getResult(0)).size() > 1)
    return true;
  // The larger one of two numbers is not rounded.
  if (side.activation == Activation::ReLU)
    return false;
  return llvm::any_of(side.ops, [&](Operation *op) {
    Value value = op->getResult(0);
    return isa<FloatType>(value.getType()) &&
           (!value.getType().isF32() ||
            (op != root && !getRoundings(value).empty()));
  });
}

//===----------------------------------------------------------------------===//
// Two matmuls
//===----------------------------------------------------------------------===//

/// Why a matmul cannot be a part of the fused one, or nothing.
static std::string checkPart(MatmulOp op, bool preserveRounding) {
  if (op.getPlan())
    return "a matmul carries a plan; run this pass before it is planned";
  if (op.getResidual() || op.getPostNorm() || op.getInits().size() > 1)
    return "a matmul has a residual, a post-norm or a second result";
  if (op.getGlu() || op.getOutputScale() || op.getSaturate())
    return "a matmul has a glu, a scale or a clamp of its result";
  if (!isEpilogueType(getElementTypeOrSelf(op->getResult(0))))
    return "a matmul is of f64";
  if (preserveRounding && !canPreserveRounding(op))
    return "a matmul computes in f64, and rounds what it makes";
  return "";
}

/// Why the matmuls cannot be one, or nothing.
static std::string checkPair(func::FuncOp entry, MatmulOp gate,
                             MatmulOp value) {
  if (gate.getInput() != value.getInput())
    return "gates and values are of different inputs";
  if (gate->getBlock() != value->getBlock())
    return "the two matmuls stand in different blocks";
  if (gate.getPreNormAttr() != value.getPreNormAttr() ||
      gate.getRowScale() != value.getRowScale())
    return "the norms before the two matmuls differ";
  if (gate.getColumnSums() || value.getColumnSums())
    return "a matmul has column_sums";
  if (gate.getWeight().getType() != value.getWeight().getType() ||
      gate.getTransposeWeight() != value.getTransposeWeight())
    return "the layouts of the two weights differ";
  auto getType = [](Value value) { return value ? value.getType() : Type(); };
  if (getType(gate.getBias()) != getType(value.getBias()))
    return "one matmul has a bias, or one of another type";
  if (value.getActivation() != Activation::None)
    return "the values have an activation, too";
  for (MatmulOp op : {gate, value})
    if (!isFrozenOrConstant(entry, op.getWeight()) ||
        !isFrozenOrConstant(entry, op.getBias()))
      return "a weight or bias is neither an argument with 'flashnorm.frozen' "
             "nor a constant";
  return "";
}

//===----------------------------------------------------------------------===//
// Two halves
//===----------------------------------------------------------------------===//

/// `size` is what `tensor` has in `dim`.
static bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant ==
           cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
  auto value = cast<Value>(size);
  if (auto dimOp = value.getDefiningOp<tensor::DimOp>();
      dimOp && dimOp.getConstantIndex() == dim) {
    if (dimOp.getSource() == tensor)
      return true;
    // All of a matmul's matrices have its rows.
    auto matmul = tensor.getDefiningOp<MatmulOp>();
    if (matmul && (dimOp.getSource() == matmul.getInput() ||
                   dimOp.getSource() == matmul.getInits()[0]))
      return true;
  }
  SmallVector<OpFoldResult> sizes;
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    sizes = getOutputShape(expand);
  if (auto matmul = tensor.getDefiningOp<MatmulOp>())
    if (auto empty = matmul.getInits()[0].getDefiningOp<tensor::EmptyOp>())
      sizes = empty.getMixedSizes();
  return dim < int64_t(sizes.size()) && sizes[dim] == size;
}

/// The slice has all rows of its source.
static bool hasAllRows(tensor::ExtractSliceOp slice) {
  int64_t rank = slice.getSourceType().getRank();
  if (slice.getType().getRank() != rank)
    return false;
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets(),
                            sizes = slice.getMixedSizes(),
                            strides = slice.getMixedStrides();
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    if (!isConstantIntValue(offsets[dim], 0) ||
        !isConstantIntValue(strides[dim], 1) ||
        !isSizeOf(sizes[dim], slice.getSource(), dim))
      return false;
  return true;
}

/// Which layout the halves are of, or why of none.
static std::optional<GluLayout> getLayout(tensor::ExtractSliceOp gate,
                                          tensor::ExtractSliceOp value,
                                          std::string &reason) {
  reason = "gates and values are not the two halves of the columns";
  int64_t columns = gate.getSourceType().getShape().back();
  auto isHalf = [&](tensor::ExtractSliceOp slice, int64_t offset,
                    int64_t stride) {
    return hasAllRows(slice) &&
           slice.getType().getShape().back() == columns / 2 &&
           isConstantIntValue(slice.getMixedOffsets().back(), offset) &&
           isConstantIntValue(slice.getMixedStrides().back(), stride);
  };
  if (ShapedType::isDynamic(columns) || columns % 2 != 0)
    return std::nullopt;
  int64_t half = columns / 2;
  if (isHalf(gate, 0, 1) && isHalf(value, half, 1))
    return GluLayout::GateFirst;
  if (isHalf(gate, half, 1) && isHalf(value, 0, 1))
    return GluLayout::ValueFirst;
  if (isHalf(gate, 0, 2) && isHalf(value, 1, 2))
    return GluLayout::Interleaved;
  if (isHalf(gate, 1, 2) && isHalf(value, 0, 2))
    reason = "the values are in the even columns, the gates in the odd ones";
  return std::nullopt;
}

/// Why the halves cannot be one matmul's, or nothing.
static std::string checkHalves(Glu &glu, tensor::ExtractSliceOp gate,
                               tensor::ExtractSliceOp value) {
  std::string reason;
  std::optional<GluLayout> layout = getLayout(gate, value, reason);
  if (!layout)
    return reason;
  glu.layout = *layout;
  SmallVector<OpOperand *> uses;
  collectUses(glu.gateMatmul->getResult(0), uses);
  for (OpOperand *use : uses)
    if (use->getOwner() != gate && use->getOwner() != value)
      return ("what the halves are of is also read by '" +
              use->getOwner()->getName().getStringRef() + "'")
          .str();
  if (glu.gateMatmul.getActivation() != Activation::None)
    return "the values have an activation, too";
  return "";
}

//===----------------------------------------------------------------------===//
// Roundings
//===----------------------------------------------------------------------===//

/// What the fused matmul rounds; failure where gates and values are rounded
/// differently behind the same step.
static LogicalResult findRoundings(Glu &glu, bool preserveRounding) {
  auto getRoundings = [&](MatmulOp matmul) {
    RoundingsAttr roundings = matmul.getRoundingsAttr();
    auto type = cast<FloatType>(getElementTypeOrSelf(matmul->getResult(0)));
    if (preserveRounding && type.getWidth() == 16)
      roundings = RoundingsAttr::with(matmul.getContext(), roundings,
                                      matmul.getLastStep(), type);
    return roundings;
  };
  glu.roundings = getRoundings(glu.gateMatmul);
  RoundingsAttr others = getRoundings(glu.valueMatmul);
  auto getType = [](RoundingsAttr roundings, EpilogueStep step) {
    return roundings ? roundings.getType(step) : FloatType();
  };
  for (EpilogueStep step : {EpilogueStep::Product, EpilogueStep::Bias})
    if (getType(glu.roundings, step) != getType(others, step))
      return failure();
  // A gate that becomes narrow behind its activation in f32.
  if (!preserveRounding || glu.gate.activation == Activation::None)
    return success();
  for (Value member : followUses(glu.gate.ops.front()->getResult(0)).members)
    if (auto type = dyn_cast<FloatType>(member.getType());
        type && type.getWidth() == 16)
      glu.roundings =
          RoundingsAttr::with(glu.product.getContext(), glu.roundings,
                              EpilogueStep::Activation, type);
  return success();
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// The same reshapes behind both factors: an element meets its partner.
static bool haveSameReshapes(const Glu &glu) {
  SetVector<Operation *> through(glu.gate.ops.begin(), glu.gate.ops.end());
  through.insert(glu.product);
  SmallVector<Operation *> ofGate, ofValue;
  arith::MulFOp op = glu.product;
  Value product = op;
  if (!traceReshapes(product, glu.gate.source, through, ofGate) ||
      !traceReshapes(product, glu.value.source, through, ofValue) ||
      ofGate.size() != ofValue.size())
    return false;
  return llvm::all_of(llvm::zip_equal(ofGate, ofValue), [](auto pair) {
    auto [a, b] = pair;
    auto getShape = [](Operation *op) {
      return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    };
    return a->getName() == b->getName() && getShape(a) == getShape(b);
  });
}

/// Reads the product as a GLU, or says in `reason` what stands in the way of
/// one.
std::optional<Glu> flashnorm::matchGlu(arith::MulFOp product, Value gate,
                                       Value value, bool preserveRounding,
                                       std::string &reason) {
  std::optional<GluSide> gateSide = getSide(gate), valueSide = getSide(value);
  if (!gateSide || !valueSide || valueSide->activation != Activation::None ||
      gateSide->source == valueSide->source)
    return std::nullopt;
  Glu glu;
  glu.product = product;
  glu.gate = std::move(*gateSide);
  glu.value = std::move(*valueSide);
  auto getSlice = [](const GluSide &side) {
    return side.source.getDefiningOp<tensor::ExtractSliceOp>();
  };
  tensor::ExtractSliceOp gateSlice = getSlice(glu.gate),
                         valueSlice = getSlice(glu.value);
  if (bool(gateSlice) != bool(valueSlice) ||
      (gateSlice && gateSlice.getSource() != valueSlice.getSource()))
    return std::nullopt;
  Value gateSource = glu.gate.source, valueSource = glu.value.source;
  if (gateSlice)
    gateSource = valueSource =
        lookThroughReshapes(gateSlice.getSource(), glu.reshapes);
  glu.gateMatmul = gateSource.getDefiningOp<MatmulOp>();
  glu.valueMatmul = valueSource.getDefiningOp<MatmulOp>();
  if (!glu.gateMatmul || gateSource != glu.gateMatmul->getResult(0))
    return std::nullopt;

  // From here on it looks like one.
  auto entry = product->getParentOfType<func::FuncOp>();
  reason = checkPart(glu.gateMatmul, preserveRounding);
  if (reason.empty() && !glu.isOfHalves())
    reason = checkPart(glu.valueMatmul, preserveRounding);
  if (reason.empty())
    reason = glu.isOfHalves()
                 ? checkHalves(glu, gateSlice, valueSlice)
                 : checkPair(entry, glu.gateMatmul, glu.valueMatmul);
  if (reason.empty() && glu.gate.activation != Activation::None &&
      glu.gateMatmul.getActivation() != Activation::None)
    reason = "the gates have two activations";
  if (reason.empty() && (!isReadByProductOnly(glu.gate, product) ||
                         !isReadByProductOnly(glu.value, product)))
    reason = "a gate or a value is also read by another op";
  if (reason.empty() && preserveRounding &&
      (hidesRounding(glu.gate) || hidesRounding(glu.value)))
    reason = "the source rounds gates or values where the epilogue cannot";
  if (reason.empty() && failed(findRoundings(glu, preserveRounding)))
    reason = "gates and values are rounded differently";
  if (reason.empty() && !haveSameReshapes(glu))
    reason = "gates and values are reshaped differently";
  if (!reason.empty())
    return std::nullopt;
  return glu;
}
