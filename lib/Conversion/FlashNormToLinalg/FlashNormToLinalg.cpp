//===- FlashNormToLinalg.cpp - The truth path -----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the flashnorm ops mean, in linalg. Written to be read next to the
// equations in FlashNormOps.td, not to be fast: one linalg op per line of an
// equation, the operands widened to the compute type (f32, or f64 for an f64
// input) on the way in, the value rounded once on the way out.
//
//===----------------------------------------------------------------------===//

#include "Scalars.h"
#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTFLASHNORMTOLINALGPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// A tensor in a step over the index space [i..., j]: it has an element per
/// (i, j), per row i, or per column j, or is one element.
struct Operand {
  enum Kind { PerElement, PerRow, PerColumn, Single };
  Value tensor;
  Kind kind;
};
Operand perElement(Value tensor) { return {tensor, Operand::PerElement}; }
Operand perRow(Value tensor) { return {tensor, Operand::PerRow}; }
Operand perColumn(Value tensor) { return {tensor, Operand::PerColumn}; }
Operand single(Value tensor) { return {tensor, Operand::Single}; }

/// mean is null for an RMSNorm.
struct Statistics {
  Value mean, rstd;
};

/// Emits linalg for one op, whose first input decides the compute type and the
/// sizes of the leading dimensions.
class Reference {
public:
  using Function = function_ref<Value(Scalars &, ValueRange)>;

  Reference(OpBuilder &builder, Location loc, Value x)
      : b(loc, builder), leading(tensor::getMixedSizes(b, loc, x)) {
    leading.pop_back();
    bool isF64 = getElementTypeOrSelf(x).isF64();
    type = isF64 ? Type(b.getF64Type()) : Type(b.getF32Type());
  }

  Statistics computeStatistics(NormAttr norm, Value x,
                               bool dropsConstantRows = false);
  Value normalise(Value x, const Statistics &statistics, Value weight,
                  Value bias, CastPosition cast, RoundingsAttr roundings,
                  Value init);
  Value multiply(Value x, Value weight, bool transposed);

  /// out[i..., j] = f(operands)
  Value forEachElement(ArrayRef<Operand> operands, Value init, Function f) {
    return forEach(leading.size() + 1, operands, init, f);
  }
  /// out[i...] = f(operands), all of them per row
  Value forEachRow(ValueRange operands, Value init, Function f) {
    return forEach(leading.size(), llvm::map_to_vector(operands, perElement),
                   init, f);
  }
  /// The `count` columns of `tensor`, [..., columns], from `offset` on,
  /// `stride` apart.
  Value takeColumns(Value tensor, int64_t offset, int64_t count,
                    int64_t stride);
  /// An uninitialised tensor [i..., columns] of the compute type.
  Value emptyElements(int64_t columns) {
    SmallVector<OpFoldResult> sizes(leading);
    sizes.push_back(b.getIndexAttr(columns));
    return tensor::EmptyOp::create(b, sizes, type);
  }

private:
  Value emptyRows() { return tensor::EmptyOp::create(b, leading, type); }
  Value zero(Value init) {
    Value zero = Scalars{b}.constant(0.0, type);
    return linalg::FillOp::create(b, zero, init).getResult(0);
  }
  AffineMap indexingMap(unsigned rank, Operand::Kind kind);
  Value forEach(unsigned rank, ArrayRef<Operand> operands, Value init,
                Function f);
  Value sumRows(ArrayRef<Operand> operands, Function f);
  Value meanRows(ArrayRef<Operand> operands, int64_t count, Function f);

  ImplicitLocOpBuilder b;
  Type type;
  SmallVector<OpFoldResult> leading;
};
} // namespace

static int64_t lastDim(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape().back();
}

AffineMap Reference::indexingMap(unsigned rank, Operand::Kind kind) {
  AffineMap all = b.getMultiDimIdentityMap(rank);
  if (kind == Operand::PerElement)
    return all;
  if (kind == Operand::Single)
    return AffineMap::get(rank, 0, b.getContext());
  return kind == Operand::PerRow
             ? all.dropResult(rank - 1)
             : all.getMinorIdentityMap(rank, 1, b.getContext());
}

Value Reference::forEach(unsigned rank, ArrayRef<Operand> operands, Value init,
                         Function f) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(indexingMap(rank, operand.kind));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder bodyBuilder(loc, builder);
    Scalars scalars{bodyBuilder};
    SmallVector<Value> values;
    for (Value arg : args.drop_back())
      values.push_back(scalars.convert(arg, type));
    Value result = f(scalars, values);
    linalg::YieldOp::create(
        builder, loc, scalars.convert(result, getElementTypeOrSelf(init)));
  };
  return linalg::GenericOp::create(b, init.getType(), inputs, init, maps,
                                   iterators, body)
      .getResult(0);
}

/// out[i...] = sum_j f(operands at i, j)
Value Reference::sumRows(ArrayRef<Operand> operands, Function f) {
  unsigned rank = leading.size() + 1;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.tensor);
    maps.push_back(indexingMap(rank, operand.kind));
  }
  maps.push_back(indexingMap(rank, Operand::PerRow));
  SmallVector<utils::IteratorType> iterators(leading.size(),
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder bodyBuilder(loc, builder);
    Scalars scalars{bodyBuilder};
    SmallVector<Value> values;
    for (Value arg : args.drop_back())
      values.push_back(scalars.convert(arg, type));
    linalg::YieldOp::create(builder, loc,
                            scalars.add(args.back(), f(scalars, values)));
  };
  Value init = zero(emptyRows());
  return linalg::GenericOp::create(b, init.getType(), inputs, init, maps,
                                   iterators, body)
      .getResult(0);
}

/// out[i...] = sum_j f(operands at i, j) / count
Value Reference::meanRows(ArrayRef<Operand> operands, int64_t count,
                          Function f) {
  return forEachRow(sumRows(operands, f), emptyRows(),
                    [&](Scalars &s, ValueRange args) {
                      return s.div(args[0], s.constant(count, type));
                    });
}

Value Reference::takeColumns(Value tensor, int64_t offset, int64_t count,
                             int64_t stride) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), tensor);
  sizes.back() = b.getIndexAttr(count);
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  offsets.back() = b.getIndexAttr(offset);
  strides.back() = b.getIndexAttr(stride);
  return tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides);
}

//===----------------------------------------------------------------------===//
// Equations
//===----------------------------------------------------------------------===//

/// rms:   rstd[i] = 1 / sqrt(mean_j(x[i,j]^2) + eps)
/// layer: mean[i] = mean_j(x[i,j])
///        rstd[i] = 1 / sqrt(mean_j((x[i,j] - mean[i])^2) + eps)
///
/// dropsConstantRows: without a variance rstd is 0, if eps keeps it finite.
Statistics Reference::computeStatistics(NormAttr norm, Value x,
                                        bool dropsConstantRows) {
  double eps = norm.getEps().getValueAsDouble();
  Statistics result;
  Value meanSquare;
  if (norm.getKind() == NormKind::RMS) {
    meanSquare =
        meanRows(perElement(x), lastDim(x), [](Scalars &s, ValueRange args) {
          return s.mul(args[0], args[0]);
        });
  } else {
    result.mean = meanRows(perElement(x), lastDim(x),
                           [](Scalars &s, ValueRange args) { return args[0]; });
    meanSquare = meanRows({perElement(x), perRow(result.mean)}, lastDim(x),
                          [](Scalars &s, ValueRange args) {
                            Value centred = s.sub(args[0], args[1]);
                            return s.mul(centred, centred);
                          });
  }
  dropsConstantRows &= norm.getKind() == NormKind::Layer && eps > 0;
  result.rstd = forEachRow(
      meanSquare, emptyRows(), [&](Scalars &s, ValueRange args) -> Value {
        Value rstd =
            math::RsqrtOp::create(s.b, s.add(args[0], s.constant(eps, type)));
        if (!dropsConstantRows)
          return rstd;
        Value zero = s.constant(0.0, type);
        Value isConstant = arith::CmpFOp::create(s.b, arith::CmpFPredicate::OEQ,
                                                 args[0], zero);
        return arith::SelectOp::create(s.b, isConstant, zero, rstd);
      });
  return result;
}

/// y[i,j] = (x[i,j] - mean[i]) * rstd[i] * weight[j] + bias[j]
///
/// before_affine: the product with rstd is rounded to the type of y, in which
/// weight and bias are then applied. `roundings`, which may be null, round
/// behind the steps.
Value Reference::normalise(Value x, const Statistics &statistics, Value weight,
                           Value bias, CastPosition cast,
                           RoundingsAttr roundings, Value init) {
  SmallVector<Operand> operands = {perElement(x), perRow(statistics.rstd)};
  if (statistics.mean)
    operands.push_back(perRow(statistics.mean));
  if (weight)
    operands.push_back(perColumn(weight));
  if (bias)
    operands.push_back(perColumn(bias));
  Type affineType =
      cast == CastPosition::BeforeAffine ? getElementTypeOrSelf(init) : type;
  return forEachElement(operands, init, [&](Scalars &s, ValueRange args) {
    auto round = [&](EpilogueStep step, Value value) {
      return s.round(value, roundings ? roundings.getType(step) : FloatType());
    };
    Value value = args[0], rstd = args[1];
    args = args.drop_front(2);
    if (statistics.mean) {
      value = s.sub(value, args.front());
      args = args.drop_front();
    }
    value =
        s.convert(round(EpilogueStep::Norm, s.mul(value, rstd)), affineType);
    if (weight) {
      value = s.mul(value, s.convert(args.front(), affineType));
      value = round(EpilogueStep::NormWeight, value);
      args = args.drop_front();
    }
    if (bias)
      value = round(EpilogueStep::NormBias,
                    s.add(value, s.convert(args.front(), affineType)));
    return value;
  });
}

/// acc[i,j] = sum_k x[i,k] * W[k,j], in the compute type
Value Reference::multiply(Value x, Value weight, bool transposed) {
  auto weightType = cast<RankedTensorType>(weight.getType());
  int64_t k = weightType.getDimSize(0), n = weightType.getDimSize(1);
  if (transposed) {
    std::swap(k, n);
    // W as [K,N] from here on: a CPU walks its rows.
    Value init = tensor::EmptyOp::create(b, ArrayRef<int64_t>{k, n},
                                         weightType.getElementType());
    weight =
        linalg::TransposeOp::create(b, weight, init, ArrayRef<int64_t>{1, 0})
            ->getResult(0);
  }
  unsigned rank = leading.size();
  SmallVector<AffineExpr> dims(rank + 2);
  bindDimsList(b.getContext(), MutableArrayRef(dims));
  AffineExpr columns = dims[rank], depth = dims[rank + 1];
  SmallVector<AffineExpr> xDims(ArrayRef(dims).take_front(rank));
  SmallVector<AffineExpr> accDims(xDims);
  xDims.push_back(depth);
  accDims.push_back(columns);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(rank + 2, 0, exprs, b.getContext());
  };
  SmallVector<AffineMap> maps = {map(xDims), map({depth, columns}),
                                 map(accDims)};
  SmallVector<utils::IteratorType> iterators(rank + 1,
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  auto body = [&](OpBuilder &builder, Location loc, ValueRange args) {
    ImplicitLocOpBuilder bodyBuilder(loc, builder);
    Scalars s{bodyBuilder};
    Value product = s.mul(s.convert(args[0], type), s.convert(args[1], type));
    linalg::YieldOp::create(builder, loc, s.add(args[2], product));
  };
  Value init = zero(emptyElements(n));
  return linalg::GenericOp::create(b, init.getType(), ValueRange{x, weight},
                                   init, maps, iterators, body)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static Value identity(Scalars &, ValueRange args) { return args[0]; }

/// Statistics results follow y in the order mean, rstd.
template <typename NormOp>
static SmallVector<Value> lowerNorm(OpBuilder &builder, NormOp op, Value bias) {
  Reference reference(builder, op.getLoc(), op.getInput());
  Statistics statistics = reference.computeStatistics(
      NormAttr::get(op.getContext(), op.getKind(), op.getEpsAttr()),
      op.getInput());
  SmallVector<Value> results = {
      reference.normalise(op.getInput(), statistics, op.getWeight(), bias,
                          op.getCast(), RoundingsAttr(), op.getInits()[0])};
  if (op.hasStatistics()) {
    if (statistics.mean)
      results.push_back(reference.forEachRow(
          statistics.mean, op.getInits()[results.size()], identity));
    results.push_back(reference.forEachRow(
        statistics.rstd, op.getInits()[results.size()], identity));
  }
  return results;
}

static SmallVector<Value> lower(OpBuilder &builder, RMSNormOp op) {
  return lowerNorm(builder, op, /*bias=*/Value());
}

static SmallVector<Value> lower(OpBuilder &builder, LayerNormOp op) {
  return lowerNorm(builder, op, op.getBias());
}

static SmallVector<Value> lower(OpBuilder &builder, RowStatisticsOp op) {
  Reference reference(builder, op.getLoc(), op.getInput());
  Statistics statistics = reference.computeStatistics(
      op.getNorm(), op.getInput(), op.getDropsConstantRows());
  SmallVector<Value> results;
  if (op.returnsMean())
    results.push_back(
        reference.forEachRow(statistics.mean, op.getInits()[0], identity));
  results.push_back(
      reference.forEachRow(statistics.rstd, op.getInits().back(), identity));
  return results;
}

/// What scales the rows of a product, and what is taken from them before.
struct RowScale {
  SmallVector<Operand> operands;
  bool subtractsMean = false;
};

static RowScale getRowScale(Reference &reference, MatmulOp op) {
  RowScale scale;
  if (Value rows = op.getRowScale())
    scale.operands.push_back(perRow(rows));
  NormAttr norm = op.getPreNormAttr();
  if (!norm)
    return scale;
  Statistics statistics = reference.computeStatistics(
      norm, op.getInput(), /*dropsConstantRows=*/true);
  if (op.getColumnSums()) {
    scale.operands.push_back(perRow(statistics.mean));
    scale.operands.push_back(perColumn(op.getColumnSums()));
    scale.subtractsMean = true;
  }
  scale.operands.push_back(perRow(statistics.rstd));
  return scale;
}

/// The columns of `tensor` that are gates, or values.
static Value takeHalf(Reference &reference, Value tensor, GluLayout layout,
                      bool gates) {
  int64_t count = lastDim(tensor) / 2;
  if (layout == GluLayout::Interleaved)
    return reference.takeColumns(tensor, gates ? 0 : 1, count, 2);
  bool isFirst = gates == (layout == GluLayout::GateFirst);
  return reference.takeColumns(tensor, isFirst ? 0 : count, count, 1);
}

/// y[i,j] = saturate(y[i,j] * output_scale)
static Value quantise(Reference &reference, MatmulOp op, Value y) {
  SmallVector<Operand> operands = {perElement(y)};
  if (Value scale = op.getOutputScale())
    operands.push_back(single(scale));
  return reference.forEachElement(
      operands, op.getInits()[0], [&](Scalars &s, ValueRange args) {
        Value value = args[0];
        if (args.size() > 1)
          value = s.mul(value, args[1]);
        if (std::optional<FloatType> type = op.getSaturate())
          value =
              s.clamp(value, APFloat::getLargest(type->getFloatSemantics()));
        return value;
      });
}

/// acc[i,n] = sum_k x[i,k] * W[k,n]
/// acc[i,n] = (acc[i,n] - mean_k(x[i,k]) * column_sums[n])   (layer pre_norm)
/// acc[i,n] = acc[i,n] * rstd_k(x[i,k])             (pre_norm, or row_scale[i])
///                       (0 where a layer norm's x[i,k] are equal for all k)
/// acc[i,n] = acc[i,n] + bias[n]
/// act[i,j] = activation(acc[i,j])                  (or acc[i,gate(j)])
/// act[i,j] = act[i,j] * acc[i,value(j)]            (glu)
/// sum[i,j] = act[i,j] + residual[i,j]
/// y[i,j]   = norm_j(sum[i,j]) * norm_weight[j] + norm_bias[j]
/// y[i,j]   = saturate(y[i,j] * output_scale)
/// stat[i]  = rstd_j(y[i,j])
static SmallVector<Value> lower(OpBuilder &builder, MatmulOp op) {
  Reference reference(builder, op.getLoc(), op.getInput());
  Value x = op.getInput(), bias = op.getBias(), residual = op.getResidual();
  RoundingsAttr roundings = op.getRoundingsAttr();
  auto round = [&](Scalars &s, EpilogueStep step, Value value) {
    return s.round(value, roundings ? roundings.getType(step) : FloatType());
  };
  auto takeNext = [](ValueRange &args) {
    Value value = args.front();
    args = args.drop_front();
    return value;
  };

  SmallVector<Operand> operands = {perElement(
      reference.multiply(x, op.getWeight(), op.getTransposeWeight()))};
  RowScale scale = getRowScale(reference, op);
  operands.append(scale.operands);
  if (bias)
    operands.push_back(perColumn(bias));
  // The steps that have N columns.
  auto scaleAndShift = [&](Scalars &s, ValueRange &args) {
    Value value = takeNext(args);
    if (scale.subtractsMean) {
      Value mean = takeNext(args);
      value = s.sub(value, s.mul(mean, takeNext(args)));
    }
    if (!scale.operands.empty())
      value = s.mul(value, takeNext(args));
    value = round(s, EpilogueStep::Product, value);
    return bias ? round(s, EpilogueStep::Bias, s.add(value, takeNext(args)))
                : value;
  };
  std::optional<GluLayout> glu = op.getGlu();
  if (glu) {
    Value acc = reference.forEachElement(
        operands, reference.emptyElements(op.getN()),
        [&](Scalars &s, ValueRange args) { return scaleAndShift(s, args); });
    operands = {perElement(takeHalf(reference, acc, *glu, /*gates=*/true)),
                perElement(takeHalf(reference, acc, *glu, /*gates=*/false))};
  }
  if (residual)
    operands.push_back(perElement(residual));

  // Without a norm or a second reader the sum is y, rounded at once.
  NormAttr postNorm = op.getPostNormAttr();
  bool quantises = op.getOutputScale() || op.getSaturate();
  bool keepsSum = postNorm || quantises || op.returnsSum();
  int64_t columns = op.getResultColumns();
  Value sum = reference.forEachElement(
      operands, keepsSum ? reference.emptyElements(columns) : op.getInits()[0],
      [&](Scalars &s, ValueRange args) {
        Value value = glu ? takeNext(args) : scaleAndShift(s, args);
        value = round(s, EpilogueStep::Activation,
                      s.activate(op.getActivation(), value));
        if (glu)
          value = round(s, EpilogueStep::Glu, s.mul(value, takeNext(args)));
        if (residual)
          value =
              round(s, EpilogueStep::Residual, s.add(value, takeNext(args)));
        return value;
      });

  Value y = sum;
  if (postNorm) {
    Statistics statistics = reference.computeStatistics(postNorm, sum);
    y = reference.normalise(
        sum, statistics, op.getNormWeight(), op.getNormBias(),
        CastPosition::AfterAffine, roundings,
        quantises ? reference.emptyElements(columns) : op.getInits()[0]);
  }
  if (quantises)
    y = quantise(reference, op, y);
  else if (keepsSum && !postNorm)
    y = reference.forEachElement(perElement(sum), op.getInits()[0], identity);
  SmallVector<Value> results = {y};
  if (op.returnsSum())
    results.push_back(
        reference.forEachElement(perElement(sum), op.getInits()[1], identity));
  if (NormAttr norm = op.getStatisticsAttr())
    results.push_back(reference.forEachRow(
        reference.computeStatistics(norm, y, /*dropsConstantRows=*/true).rstd,
        op.getInits().back(), identity));
  return results;
}

namespace {
struct ConvertFlashNormToLinalg
    : ::flashnorm::impl::ConvertFlashNormToLinalgPassBase<
          ConvertFlashNormToLinalg> {
  using ::flashnorm::impl::ConvertFlashNormToLinalgPassBase<
      ConvertFlashNormToLinalg>::ConvertFlashNormToLinalgPassBase;
  void runOnOperation() override;
};
} // namespace

void ConvertFlashNormToLinalg::runOnOperation() {
  IRRewriter rewriter(&getContext());
  WalkResult walk = getOperation()->walk([&](DestinationStyleOpInterface op) {
    if (!isa_and_nonnull<FlashNormDialect>(op->getDialect()) ||
        (keepLaunches && isa<LaunchOp>(op)))
      return WalkResult::advance();
    if (!op.hasPureTensorSemantics()) {
      op->emitOpError() << "cannot be lowered to linalg on memrefs (input "
                        << op->getOperand(0).getType()
                        << "); lower it before bufferization";
      return WalkResult::interrupt();
    }
    rewriter.setInsertionPoint(op);
    SmallVector<Value> results =
        TypeSwitch<Operation *, SmallVector<Value>>(op)
            .Case<RMSNormOp, LayerNormOp, RowStatisticsOp, MatmulOp>(
                [&](auto typedOp) { return lower(rewriter, typedOp); })
            .Default([](Operation *) { return SmallVector<Value>(); });
    if (results.empty()) {
      op->emitOpError() << "has no linalg form: its kernel "
                        << op->getAttr("kernel") << " is compiled code";
      return WalkResult::interrupt();
    }
    rewriter.replaceOp(op, results);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    signalPassFailure();
}
