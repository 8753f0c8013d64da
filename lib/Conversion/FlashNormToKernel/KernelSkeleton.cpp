//===- KernelSkeleton.cpp - The kernel of one flashnorm.matmul ------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   pipeline    acc = x W, and beside it the sums of squares of x's rows
//   pass 1      sum = activation(acc * rstd(x) + bias) + residual, back into
//               the accumulator; its row sums (layer) or sums of squares (rms)
//               (each step rounded where the op says so)
//   pass 2      layer only: sums of squares of sum - mean
//   pass 3      y = normalised sum * norm_weight + norm_bias
//
// Without a post-norm, pass 1 stores y and is the last.
//
//===----------------------------------------------------------------------===//

#include "KernelSkeleton.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace flashnorm;
namespace k = flashnorm::kernel;

namespace {

/// Columns of a slice: what kernel.for_slices hands out at a time.
constexpr int64_t sliceColumns = 32;

class Skeleton {
public:
  Skeleton(OpBuilder &builder, MatmulOp op)
      : b(op.getLoc(), builder), op(op), plan(*op.getPlan()), n(op.getN()),
        depth(op.getK()), tileM(plan.getTile()[0]), tileN(plan.getTile()[1]),
        tileK(plan.getTile()[2]) {}

  k::FuncOp build(StringRef name);

private:
  using Scalars = function_ref<Value(ValueRange)>;

  Value constant(double value) {
    return arith::ConstantFloatOp::create(b, b.getF32Type(),
                                          APFloat(static_cast<float>(value)));
  }
  Value map(ValueRange inputs, Type result, Scalars scalars);
  Value rstd(Value sumOfSquares, int64_t count, double eps);
  Value activation(Value x);
  /// `x` as `step` rounds it.
  Value round(EpilogueStep step, Value x);
  void emitPipeline();
  void emitEpilogue();
  /// The sum is more than the accumulator.
  bool changesSum() {
    return rowScale || bias || residual || op.getRoundings() ||
           op.getActivation() != Activation::None;
  }
  /// The sum of the op's definition for one slice.
  Value sumOfSlice(Value frag, Value column);
  /// Visits the slices; the body returns what it yields.
  SmallVector<Value> forSlices(
      ValueRange inits, bool writesBack,
      function_ref<SmallVector<Value>(Value frag, Value column,
                                      Value globalColumn, ValueRange carried)>
          body);

  /// A row's columns are counted in the tile, or over the tiles of a cluster.
  Value countedColumn(Value column, Value globalColumn) {
    return plan.getCluster()[1] > 1 ? globalColumn : column;
  }

  ImplicitLocOpBuilder b;
  MatmulOp op;
  PlanAttr plan;
  int64_t n, depth, tileM, tileN, tileK;
  /// The kernel's arguments, by what they are: one value may be two operands
  /// of one op, and not of another that shares the kernel. Null: no operand.
  Value input, weight, bias, residual, normWeight, normBias;
  ValueRange outputs; ///< arguments of the inits
  Value row0, column0, acc, rowScale;
  Type fragType, rowvecType, colvecType, accType;
};

} // namespace

Value Skeleton::map(ValueRange inputs, Type result, Scalars scalars) {
  auto mapOp = k::MapOp::create(b, result, inputs);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(inputs.size(), b.getF32Type());
  SmallVector<Location> locs(inputs.size(), b.getLoc());
  Block *body = b.createBlock(&mapOp.getBody(), {}, types, locs);
  k::YieldOp::create(b, scalars(body->getArguments()));
  return mapOp;
}

/// 1 / sqrt(sum / count + eps)
Value Skeleton::rstd(Value sumOfSquares, int64_t count, double eps) {
  Value total = constant(count), epsilon = constant(eps);
  return map(sumOfSquares, rowvecType, [&](ValueRange x) -> Value {
    Value mean = arith::DivFOp::create(b, x[0], total);
    return math::RsqrtOp::create(b, arith::AddFOp::create(b, mean, epsilon));
  });
}

Value Skeleton::round(EpilogueStep step, Value x) {
  RoundingsAttr roundings = op.getRoundingsAttr();
  FloatType type = roundings ? roundings.getType(step) : FloatType();
  if (!type)
    return x;
  Value rounded = arith::TruncFOp::create(b, type, x);
  return arith::ExtFOp::create(b, b.getF32Type(), rounded);
}

Value Skeleton::activation(Value x) {
  auto mul = [&](Value l, Value r) -> Value {
    return arith::MulFOp::create(b, l, r);
  };
  auto add = [&](Value l, Value r) -> Value {
    return arith::AddFOp::create(b, l, r);
  };
  switch (op.getActivation()) {
  case Activation::None:
    return x;
  case Activation::ReLU:
    return arith::MaximumFOp::create(b, x, constant(0));
  case Activation::GELU: {
    Value erf = math::ErfOp::create(b, mul(x, constant(0.7071067811865476)));
    return mul(mul(x, constant(0.5)), add(erf, constant(1)));
  }
  case Activation::GELUTanh: {
    Value cube = mul(mul(x, x), x);
    Value inner = add(x, mul(cube, constant(0.044715)));
    Value tanh =
        math::TanhOp::create(b, mul(inner, constant(0.7978845608028654)));
    return mul(mul(x, constant(0.5)), add(tanh, constant(1)));
  }
  case Activation::SiLU: {
    Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
    return arith::DivFOp::create(b, x, add(exp, constant(1)));
  }
  }
  llvm_unreachable("all activations are listed");
}

SmallVector<Value> Skeleton::forSlices(
    ValueRange inits, bool writesBack,
    function_ref<SmallVector<Value>(Value, Value, Value, ValueRange)> body) {
  SmallVector<Type> results;
  if (writesBack)
    results.push_back(accType);
  llvm::append_range(results, inits.getTypes());
  auto slices = k::ForSlicesOp::create(b, results, acc, inits);
  SmallVector<Type> types{fragType, b.getIndexType()};
  llvm::append_range(types, inits.getTypes());
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&slices.getBody(), {}, types,
                               SmallVector<Location>(types.size(), b.getLoc()));
  Value column = block->getArgument(1);
  Value globalColumn = arith::AddIOp::create(b, column0, column);
  k::YieldOp::create(b, body(block->getArgument(0), column, globalColumn,
                             block->getArguments().drop_front(2)));
  return SmallVector<Value>(slices.getResults());
}

void Skeleton::emitPipeline() {
  Type element = cast<ShapedType>(op.getInput().getType()).getElementType();
  bool transposed = op.getTransposeWeight();
  int64_t weightColumns = getPlan(plan).weightColumns(transposed);
  Type typeA = k::SmemType::get(b.getContext(), {tileM, tileK}, element);
  Type typeB =
      transposed
          ? k::SmemType::get(b.getContext(), {tileN, tileK}, element)
          : k::SmemType::get(b.getContext(), {tileK, weightColumns}, element);
  SmallVector<Value> inits{k::ZeroAccOp::create(b, accType)};
  if (op.getPreNorm())
    inits.push_back(
        k::FillOp::create(b, rowvecType, b.getF32FloatAttr(0)).getResult());
  auto pipeline = k::PipelineOp::create(b, ValueRange(inits).getTypes(), depth,
                                        tileK, plan.getStages(), inits);
  SmallVector<Type> types{b.getIndexType(), typeA, typeB};
  {
    OpBuilder::InsertionGuard guard(b);
    Block *produce = b.createBlock(&pipeline.getProduce(), {}, types,
                                   SmallVector<Location>(3, b.getLoc()));
    Value k0 = produce->getArgument(0);
    k::LoadOp::create(b, input, row0, k0, produce->getArgument(1),
                      /*resident=*/false,
                      plan.getPrefetch()
                          ? b.getI64IntegerAttr(plan.getPrefetch())
                          : IntegerAttr());
    k::LoadOp::create(b, weight, transposed ? column0 : k0,
                      transposed ? k0 : column0, produce->getArgument(2),
                      plan.getResidentWeight(), /*prefetch=*/IntegerAttr());
    k::YieldOp::create(b, ValueRange());
  }
  {
    OpBuilder::InsertionGuard guard(b);
    llvm::append_range(types, ValueRange(inits).getTypes());
    Block *consume =
        b.createBlock(&pipeline.getConsume(), {}, types,
                      SmallVector<Location>(types.size(), b.getLoc()));
    Value a = consume->getArgument(1);
    SmallVector<Value> next{
        k::MmaOp::create(b, accType, a, consume->getArgument(2),
                         consume->getArgument(3), transposed)};
    if (op.getPreNorm())
      next.push_back(k::AccumulateTileOp::create(
          b, rowvecType, k::Reduction::SumSq, a, consume->getArgument(4)));
    k::YieldOp::create(b, next);
  }
  acc = pipeline.getResult(0);
  if (NormAttr norm = op.getPreNormAttr()) {
    Value total = k::RowCombineOp::create(b, rowvecType, pipeline.getResult(1),
                                          /*within_warp=*/true);
    rowScale = rstd(total, depth, norm.getEps().getValueAsDouble());
  }
}

Value Skeleton::sumOfSlice(Value frag, Value column) {
  // One map with whatever the epilogue has; inputs in this order.
  SmallVector<Value> inputs{frag};
  if (rowScale)
    inputs.push_back(rowScale);
  if (bias)
    inputs.push_back(k::LoadColvecOp::create(b, colvecType, bias, column));
  if (residual)
    inputs.push_back(
        k::LoadFragOp::create(b, fragType, residual, row0, column));
  if (!changesSum())
    return frag;
  return map(inputs, fragType, [&](ValueRange values) -> Value {
    Value x = values.front();
    values = values.drop_front();
    auto next = [&] {
      Value value = values.front();
      values = values.drop_front();
      return value;
    };
    if (rowScale)
      x = arith::MulFOp::create(b, x, next());
    x = round(EpilogueStep::Product, x);
    if (bias)
      x = round(EpilogueStep::Bias, arith::AddFOp::create(b, x, next()));
    x = round(EpilogueStep::Activation, activation(x));
    if (residual)
      x = round(EpilogueStep::Residual, arith::AddFOp::create(b, x, next()));
    return x;
  });
}

void Skeleton::emitEpilogue() {
  Value y = outputs[0];
  Value sum = op.returnsSum() ? outputs[1] : Value();
  NormAttr norm = op.getPostNormAttr();
  bool isLayer = norm && norm.getKind() == NormKind::Layer;
  bool changesAcc = changesSum();
  SmallVector<Value> inits;
  if (norm)
    inits.push_back(
        k::FillOp::create(b, rowvecType, b.getF32FloatAttr(0)).getResult());

  // Pass 1
  SmallVector<Value> results = forSlices(
      inits, norm && changesAcc,
      [&](Value frag, Value column, Value globalColumn, ValueRange carried) {
        Value value = sumOfSlice(frag, globalColumn);
        if (sum)
          k::StoreFragOp::create(b, value, sum, row0, globalColumn);
        SmallVector<Value> yielded;
        if (!norm) {
          k::StoreFragOp::create(b, value, y, row0, globalColumn);
          return yielded;
        }
        if (changesAcc)
          yielded.push_back(value);
        yielded.push_back(k::AccumulateOp::create(
            b, rowvecType, isLayer ? k::Reduction::Sum : k::Reduction::SumSq,
            value, carried.front(), countedColumn(column, globalColumn), n));
        return yielded;
      });
  if (!norm)
    return;
  if (changesAcc)
    acc = results.front();
  Value total = k::RowCombineOp::create(b, rowvecType, results.back());

  // Pass 2
  Value mean;
  bool keepsCentred = false;
  if (isLayer) {
    Value count = constant(n);
    mean = map(total, rowvecType, [&](ValueRange x) -> Value {
      return arith::DivFOp::create(b, x[0], count);
    });
    Value zero = k::FillOp::create(b, rowvecType, b.getF32FloatAttr(0));
    // In registers the centred values cost nothing to keep; tensor memory would
    // have to be written.
    keepsCentred = plan.getFamily() != PlanFamily::Tcgen05;
    results = forSlices(
        zero, keepsCentred,
        [&](Value frag, Value column, Value globalColumn, ValueRange carried) {
          Value centred =
              map({frag, mean}, fragType, [&](ValueRange x) -> Value {
                return arith::SubFOp::create(b, x[0], x[1]);
              });
          SmallVector<Value> yielded;
          if (keepsCentred)
            yielded.push_back(centred);
          yielded.push_back(k::AccumulateOp::create(
              b, rowvecType, k::Reduction::SumSq, centred, carried.front(),
              countedColumn(column, globalColumn), n));
          return yielded;
        });
    if (keepsCentred)
      acc = results.front();
    total = k::RowCombineOp::create(b, rowvecType, results.back());
  }
  Value scale = rstd(total, n, norm.getEps().getValueAsDouble());

  // Pass 3
  forSlices(
      {}, /*writesBack=*/false,
      [&](Value frag, Value, Value globalColumn, ValueRange) {
        SmallVector<Value> inputs{frag, scale};
        bool centres = mean && !keepsCentred;
        if (centres)
          inputs.push_back(mean);
        for (Value affine : {normWeight, normBias})
          if (affine)
            inputs.push_back(
                k::LoadColvecOp::create(b, colvecType, affine, globalColumn));
        Value value = map(inputs, fragType, [&](ValueRange v) -> Value {
          Value x = v[0];
          if (centres)
            x = arith::SubFOp::create(b, x, v[2]);
          x = round(EpilogueStep::Norm, arith::MulFOp::create(b, x, v[1]));
          v = v.drop_front(centres ? 3 : 2);
          RoundingsAttr roundings = op.getRoundingsAttr();
          bool roundsProduct = roundings && roundings.getNormWeight();
          if (normWeight && normBias && !roundsProduct)
            return round(EpilogueStep::NormBias,
                         math::FmaOp::create(b, x, v[0], v[1]));
          if (normWeight)
            x = round(EpilogueStep::NormWeight,
                      arith::MulFOp::create(b, x, v[0]));
          if (normBias)
            x = round(EpilogueStep::NormBias,
                      arith::AddFOp::create(b, x, v.back()));
          return x;
        });
        k::StoreFragOp::create(b, value, y, row0, globalColumn);
        return SmallVector<Value>();
      });
}

/// Rows and columns, whatever the rank: leading sizes count as rows.
static MemRefType kernelOperandType(Value operand, bool isWeight) {
  auto type = cast<ShapedType>(operand.getType());
  if (type.getRank() == 1)
    return MemRefType::get(type.getShape(), type.getElementType());
  SmallVector<int64_t> shape{ShapedType::kDynamic, type.getShape().back()};
  if (isWeight)
    shape.front() = type.getShape().front();
  MemRefLayoutAttrInterface layout;
  if (std::optional<int64_t> stride = getRowStride(operand))
    layout =
        StridedLayoutAttr::get(type.getContext(), /*offset=*/0, {*stride, 1});
  return MemRefType::get(shape, type.getElementType(), layout);
}

static k::FamilyKind kernelFamily(PlanFamily family) {
  switch (family) {
  case PlanFamily::MmaSync:
    return k::FamilyKind::MmaSync;
  case PlanFamily::Wgmma:
    return k::FamilyKind::Wgmma;
  case PlanFamily::Tcgen05:
    return k::FamilyKind::Tcgen05;
  }
  llvm_unreachable("all families are listed");
}

k::FuncOp Skeleton::build(StringRef name) {
  SmallVector<Type> types;
  unsigned weightNumber = op.getWeightMutable().getOperandNumber();
  for (OpOperand &operand : op->getOpOperands())
    types.push_back(kernelOperandType(
        operand.get(), operand.getOperandNumber() == weightNumber));
  types.push_back(b.getIndexType());
  auto config = k::ConfigAttr::get(
      b.getContext(), kernelFamily(plan.getFamily()), plan.getChip(),
      plan.getTile(), plan.getWarps(),
      plan.getSchedule() == PlanSchedule::PingPong ? k::Schedule::PingPong
                                                   : k::Schedule::Cooperative,
      plan.getCluster());
  auto func =
      k::FuncOp::create(b, b.getStringAttr(name),
                        TypeAttr::get(b.getFunctionType(types, {})), config,
                        /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  func->setAttr("kernel.launch_info",
                b.getDictionaryAttr(b.getNamedAttr(
                    "strategy", b.getStringAttr(stringifyPlanStrategy(
                                    plan.getStrategy())))));
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&func.getBody(), {}, types,
                              SmallVector<Location>(types.size(), b.getLoc()));
  unsigned next = 0;
  auto argumentOf = [&](Value operand) {
    return operand ? Value(body->getArgument(next++)) : Value();
  };
  input = argumentOf(op.getInput());
  weight = argumentOf(op.getWeight());
  bias = argumentOf(op.getBias());
  residual = argumentOf(op.getResidual());
  normWeight = argumentOf(op.getNormWeight());
  normBias = argumentOf(op.getNormBias());
  outputs = body->getArguments().slice(next, op.getInits().size());

  MLIRContext *context = b.getContext();
  accType = k::AccType::get(context, tileM, tileN);
  fragType = k::FragType::get(context, tileM, sliceColumns);
  rowvecType = k::RowvecType::get(context, tileM);
  colvecType = k::ColvecType::get(context, sliceColumns);
  auto origin = k::TileOriginOp::create(b, n);
  row0 = origin.getRow();
  column0 = origin.getColumn();
  emitPipeline();
  emitEpilogue();
  k::ReturnOp::create(b);
  return func;
}

k::FuncOp flashnorm::buildKernel(OpBuilder &builder, MatmulOp op,
                                 StringRef name) {
  return Skeleton(builder, op).build(name);
}
