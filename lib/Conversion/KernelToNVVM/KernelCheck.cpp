//===- KernelCheck.cpp - Kernels that can be emitted ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "MmaFamily.h"
#include "flashnorm/Planning/Target.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::kernel;

/// Indices are 32 bits wide; this leaves room for a tile beyond the end.
static constexpr int64_t maxSize = int64_t(1) << 30;
static constexpr int64_t maxStages = 32;

bool flashnorm::kernel::hasDeviceForm(Operation *op) {
  // The rest of math would call libdevice, which we do not link.
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == math::MathDialect::getDialectNamespace())
    return isa<math::RsqrtOp, math::ExpOp, math::TanhOp, math::FmaOp,
               math::AbsFOp, math::CopySignOp>(op);
  return dialect == arith::ArithDialect::getDialectNamespace();
}

namespace {
class Checker {
public:
  explicit Checker(FuncOp func) : func(func), config(func.getConfig()) {}

  FailureOr<PipelineOp> run();

private:
  LogicalResult checkArguments();
  LogicalResult findSingleOps();
  LogicalResult checkPlace(Operation *op);
  LogicalResult checkConstant(arith::ConstantOp op);
  LogicalResult checkShape(Operation *op, Type type);
  LogicalResult checkPipeline();
  int64_t weightColumns();
  LogicalResult checkPrefetch(LoadOp op);
  LogicalResult checkResident(LoadOp op);
  LogicalResult checkLoad(LoadOp op);
  LogicalResult checkAccess(Operation *op);
  LogicalResult checkRow(Operation *op, MemRefType type, Value row);
  LogicalResult checkColumn(Operation *op, MemRefType type, Value column);
  Value sliceColumn(Operation *op);
  bool isTileColumn(Operation *op, Value column);
  LogicalResult checkAccumulate(AccumulateOp op);
  LogicalResult checkSlices(ForSlicesOp op);

  FuncOp func;
  ConfigAttr config;
  PipelineOp ring;
  TileOriginOp origin;
};
} // namespace

FailureOr<PipelineOp> Checker::run() {
  if (!lookupTarget(config.getChip()))
    return func.emitOpError() << "unknown chip '" << config.getChip()
                              << "'; one of " << describeLegalChips();
  if (failed(checkArguments()) || failed(findSingleOps()) ||
      failed(checkPipeline()))
    return failure();
  // Outer ops first: what is inside takes for granted that they may stand
  // there.
  auto check = [&](Operation *op) -> WalkResult {
    if (failed(checkPlace(op)))
      return failure();
    for (Type type : op->getResultTypes())
      if (failed(checkShape(op, type)))
        return failure();
    for (Region &region : op->getRegions())
      for (Type type : region.getArgumentTypes())
        if (failed(checkShape(op, type)))
          return failure();
    return checkAccess(op);
  };
  if (func.getBody().walk<WalkOrder::PreOrder>(check).wasInterrupted())
    return failure();
  return ring;
}

LogicalResult Checker::checkArguments() {
  for (Type type : func.getArgumentTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      continue;
    for (int64_t size : memref.getShape())
      if (!ShapedType::isDynamic(size) && (size < 1 || size > maxSize))
        return func.emitOpError() << "sizes of arrays must be in 1 to "
                                  << maxSize << ", got " << memref;
    // Accesses of 16 bytes, and masks by groups of 8 columns.
    int64_t columns = memref.getShape().back();
    if (!ShapedType::isDynamic(columns) && columns % 8)
      return func.emitOpError()
             << "arrays must have a multiple of 8 columns, got " << memref;
    if (memref.getLayout().isIdentity())
      continue;
    int64_t stride = memref.getStridesAndOffset().first.front();
    int64_t bytes = memref.getElementTypeBitWidth() / 8;
    if (!ShapedType::isDynamic(stride) &&
        (stride < columns || stride > maxSize || stride * bytes % 16))
      return func.emitOpError()
             << "rows must start a multiple of 16 bytes apart, at least "
             << columns << " and at most " << maxSize << " elements, got "
             << memref;
  }
  return success();
}

LogicalResult Checker::findSingleOps() {
  auto pipelines = llvm::to_vector(func.getOps<PipelineOp>());
  if (pipelines.size() != 1)
    return func.emitOpError()
           << "needs one kernel.pipeline in its body, got " << pipelines.size();
  ring = pipelines.front();
  auto origins = llvm::to_vector(func.getOps<TileOriginOp>());
  if (origins.size() != 1)
    return func.emitOpError()
           << "needs one kernel.tile_origin in its body, got "
           << origins.size();
  origin = origins.front();
  if (!origin->isBeforeInBlock(ring))
    return origin.emitOpError() << "must stand before the pipeline";
  int64_t tilesAcross =
      llvm::divideCeil(int64_t(origin.getColumns()), config.getTileN());
  int64_t clusterN = config.getClusterN();
  if (clusterN > 1 && tilesAcross != clusterN)
    return func.emitOpError() << "a cluster of " << clusterN
                              << " CTAs along N needs as many tiles across; "
                              << origin.getColumns() << " columns in tiles of "
                              << config.getTileN() << " have " << tilesAcross;
  if (origin.getColumns() < 1 || int64_t(origin.getColumns()) > maxSize)
    return origin.emitOpError() << "columns must be in 1 to " << maxSize
                                << ", got " << int64_t(origin.getColumns());
  return success();
}

/// Whether a scalar op of a map computes with what the emitter hands it.
static bool isScalar(Operation *op) {
  // A rounding, to nearest even: to 16 bits and back.
  bool isCast = isa<arith::ExtFOp>(op);
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    isCast = truncate.getRoundingmode().value_or(
                 arith::RoundingMode::to_nearest_even) ==
             arith::RoundingMode::to_nearest_even;
  auto isScalarType = [&](Type type) {
    return type.isF32() ||
           (isCast ? type.isBF16() || type.isF16() : type.isInteger(1));
  };
  return hasDeviceForm(op) && op->getNumRegions() == 0 &&
         op->getNumResults() == 1 &&
         llvm::all_of(op->getResultTypes(), isScalarType) &&
         llvm::all_of(op->getOperandTypes(), isScalarType);
}

LogicalResult Checker::checkConstant(arith::ConstantOp op) {
  Type type = op.getType();
  if (!type.isIndex() && !type.isF32() && !type.isInteger(1))
    return op.emitOpError()
           << "cannot stand in a kernel: constants are index, f32 or i1, got "
           << type;
  auto value = dyn_cast<IntegerAttr>(op.getValue());
  if (type.isIndex() && value &&
      (value.getInt() < 0 || value.getInt() > maxSize))
    return op.emitOpError() << "indices must be in 0 to " << maxSize << ", got "
                            << value.getInt();
  return success();
}

LogicalResult Checker::checkPlace(Operation *op) {
  Operation *parent = op->getParentOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return checkConstant(constant);
  if (isa<MapOp>(parent)) {
    if (isScalar(op) || isa<YieldOp>(op))
      return success();
    return op->emitOpError()
           << "cannot stand in a kernel.map: only arithmetic on f32, and "
              "roundings of it to bf16 and f16, can";
  }
  if (isa<PipelineOp>(parent))
    return success(); // its verifier has a list
  bool isIndex = isa<arith::AddIOp, arith::MulIOp>(op) &&
                 op->getResultTypes().front().isIndex();
  if (isa<ForSlicesOp>(parent)) {
    if (isIndex || isa<MapOp, AccumulateOp, FillOp, LoadColvecOp, LoadFragOp,
                       StoreFragOp, YieldOp>(op))
      return success();
    return op->emitOpError() << "cannot stand in a kernel.for_slices";
  }
  if (isIndex || op == ring ||
      isa<TileOriginOp, ZeroAccOp, FillOp, MapOp, ReturnOp>(op))
    return success();
  if (!isa<ForSlicesOp, RowCombineOp, StoreRowvecOp>(op))
    return op->emitOpError() << "cannot stand in the body of a kernel";
  if (op->isBeforeInBlock(ring))
    return op->emitOpError() << "cannot stand before the pipeline";
  return success();
}

LogicalResult Checker::checkShape(Operation *op, Type type) {
  int64_t slice = RowLayout().sliceColumns;
  MLIRContext *context = op->getContext();
  Type expected = type;
  if (isa<AccType>(type))
    expected = AccType::get(context, config.getTileM(), config.getTileN());
  else if (isa<FragType>(type))
    expected = FragType::get(context, config.getTileM(), slice);
  else if (isa<RowvecType>(type))
    expected = RowvecType::get(context, config.getTileM());
  else if (isa<ColvecType>(type))
    expected = ColvecType::get(context, slice);
  if (type != expected)
    return op->emitOpError()
           << "a tile of " << config.getTileM() << "x" << config.getTileN()
           << " needs " << expected << ", got " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

LogicalResult Checker::checkPipeline() {
  if (int64_t(ring.getStages()) > maxStages)
    return ring.emitOpError() << "has at most " << maxStages << " stages, got "
                              << int64_t(ring.getStages());
  if (int64_t(ring.getBound()) > maxSize)
    return ring.emitOpError() << "bound must be at most " << maxSize << ", got "
                              << int64_t(ring.getBound());
  if (int64_t(ring.getStep()) != config.getTileK())
    return ring.emitOpError()
           << "step must be the depth of the tile, " << config.getTileK()
           << ", got " << int64_t(ring.getStep());
  // The families start from zero by themselves.
  if (!ring.getInits().front().getDefiningOp<ZeroAccOp>())
    return ring.emitOpError() << "must start from kernel.zero_acc";

  // Every slot is filled once in each stage.
  Block &produce = ring.getProduce().front();
  SmallVector<int64_t> loads(produce.getNumArguments());
  DenseMap<Value, Type> slotOfArray;
  for (LoadOp load : produce.getOps<LoadOp>()) {
    if (failed(checkLoad(load)))
      return failure();
    ++loads[cast<BlockArgument>(load.getTarget()).getArgNumber()];
    // A tensor map has one box.
    Type slot = load.getTarget().getType();
    Type first = slotOfArray.try_emplace(load.getSource(), slot).first->second;
    if (first != slot)
      return load.emitOpError() << "loads the array of another load as " << slot
                                << ", not as " << first;
  }
  Type element;
  for (BlockArgument slot : produce.getArguments().drop_front()) {
    if (loads[slot.getArgNumber()] != 1)
      return ring.emitOpError()
             << "slot " << slot.getArgNumber() - 1 << " needs one load, has "
             << loads[slot.getArgNumber()];
    Type type = cast<SmemType>(slot.getType()).getElementType();
    if (element && type != element)
      return ring.emitOpError()
             << "slots differ in element type: " << element << " and " << type;
    element = type;
  }

  Block &consume = ring.getConsume().front();
  auto mmas = llvm::to_vector(consume.getOps<MmaOp>());
  if (mmas.size() != 1)
    return ring.emitOpError() << "needs one kernel.mma, got " << mmas.size();
  MmaOp mma = mmas.front();
  Value carried = consume.getArgument(produce.getNumArguments());
  if (mma.getAcc() != carried)
    return mma.emitOpError()
           << "must add to the accumulator of the stage before";
  auto yield = cast<YieldOp>(consume.getTerminator());
  if (yield.getValues().front() != mma.getResult())
    return yield.emitOpError() << "must pass on the result of kernel.mma";
  for (auto [i, value] : llvm::enumerate(yield.getValues().drop_front())) {
    auto sums = value.getDefiningOp<AccumulateTileOp>();
    if (!sums || sums->getBlock() != &consume ||
        sums.getInit() !=
            consume.getArgument(produce.getNumArguments() + 1 + i))
      return yield.emitOpError()
             << "must pass on, as value " << i + 1
             << ", a kernel.accumulate_tile into what the stage before passed";
  }
  auto a = cast<SmemType>(mma.getA().getType());
  if (a.getShape()[1] != config.getTileK())
    return mma.emitOpError()
           << "must be as deep as the tile, " << config.getTileK() << ", got "
           << a.getShape()[1];
  int64_t columns = weightColumns();
  auto b = cast<SmemType>(mma.getB().getType());
  if (!mma.getTransposeB() && b.getShape()[1] != columns)
    return mma.emitOpError()
           << "needs B with " << columns << " columns for a tile of "
           << config.getTileN() << ", got " << b.getShape()[1];
  for (auto statistic : consume.getOps<AccumulateTileOp>()) {
    auto tile = cast<SmemType>(statistic.getTile().getType());
    if (tile.getShape()[1] != config.getTileK())
      return statistic.emitOpError()
             << "needs rows as long as the tile is deep, " << config.getTileK()
             << ", got " << tile.getShape()[1];
  }
  return success();
}

/// Columns of W [K,N] in a stage: wgmma has whole boxes, and reads the tile's
/// columns.
int64_t Checker::weightColumns() {
  int64_t box = config.getFamily() == FamilyKind::Wgmma ? 64 : 1;
  return llvm::alignTo(config.getTileN(), box);
}

LogicalResult Checker::checkPrefetch(LoadOp op) {
  if (config.getFamily() != FamilyKind::Wgmma)
    return op.emitOpError() << "is prefetched: a load of wgmma, not "
                            << stringifyFamilyKind(config.getFamily());
  if (op.getResident())
    return op.emitOpError() << "is prefetched and resident; what is resident "
                               "is loaded once";
  int64_t steps = llvm::divideCeil(
      llvm::divideCeil(int64_t(ring.getBound()), config.getTileK()),
      config.getClusterK());
  if (int64_t(*op.getPrefetch()) > steps)
    return op.emitOpError() << "is prefetched " << *op.getPrefetch()
                            << " steps ahead; a tile has " << steps;
  if (op.getRow() != origin.getRow() ||
      op.getColumn() != ring.getProduce().getArgument(0))
    return op.emitOpError() << "is prefetched, and must start at the first row "
                               "of the tile and the index of the pipeline";
  return success();
}

LogicalResult Checker::checkResident(LoadOp op) {
  if (config.getFamily() != FamilyKind::Wgmma)
    return op.emitOpError()
           << "is resident, which needs persistent CTAs: "
           << "wgmma, not " << stringifyFamilyKind(config.getFamily());
  if (config.getClusterM() > 1 || config.getClusterK() > 1)
    return op.emitOpError()
           << "is resident, which has no clusters along M or K";
  int64_t columns = origin.getColumns();
  if (columns > config.getTileN() * config.getClusterN())
    return op.emitOpError()
           << "is resident, which needs all " << columns
           << " columns in the tiles of one cluster; they have "
           << config.getTileN() * config.getClusterN();
  if (llvm::is_contained({op.getRow(), op.getColumn()}, origin.getRow()))
    return op.emitOpError() << "is resident and depends on the tile's row";
  return success();
}

LogicalResult Checker::checkLoad(LoadOp op) {
  if (op.getResident() && failed(checkResident(op)))
    return failure();
  if (op.getPrefetch() && failed(checkPrefetch(op)))
    return failure();
  auto type = cast<MemRefType>(op.getSource().getType());
  auto slot = cast<SmemType>(op.getTarget().getType());
  Value k = ring.getProduce().getArgument(0);
  for (auto [dim, index] :
       llvm::enumerate(ValueRange{op.getRow(), op.getColumn()})) {
    // What the dimension is: its size in the array and in a tile.
    int64_t size, tile;
    if (index == origin.getRow()) {
      size = ShapedType::kDynamic;
      tile = config.getTileM();
    } else if (index == origin.getColumn()) {
      size = origin.getColumns();
      tile = dim == 1 ? weightColumns() : config.getTileN();
    } else if (index == k) {
      size = ring.getBound();
      tile = ring.getStep();
    } else {
      return op.emitOpError()
             << "must start at the tile's first row, its first column or the "
                "pipeline's index in dimension "
             << dim;
    }
    if (type.getDimSize(dim) != size) {
      InFlightDiagnostic error = op.emitOpError();
      error << "dimension " << dim << " of " << type << " must be ";
      if (ShapedType::isDynamic(size))
        return error << "dynamic";
      return error << size;
    }
    if (slot.getShape()[dim] != tile)
      return op.emitOpError()
             << "dimension " << dim << " of " << slot << " must be " << tile;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The epilogue
//===----------------------------------------------------------------------===//

LogicalResult Checker::checkRow(Operation *op, MemRefType type, Value row) {
  if (row != origin.getRow())
    return op->emitOpError() << "must start at the tile's first row";
  if (!type.isDynamicDim(0))
    return op->emitOpError()
           << "needs an array with a dynamic number of rows, got " << type;
  return success();
}

/// The slice's column in the tile; null outside of slices.
Value Checker::sliceColumn(Operation *op) {
  auto slices = dyn_cast<ForSlicesOp>(op->getParentOp());
  return slices ? Value(slices.getBody().getArgument(1)) : Value();
}

/// Whether `column` is the tile's first column plus the slice's.
bool Checker::isTileColumn(Operation *op, Value column) {
  auto add = column.getDefiningOp<arith::AddIOp>();
  Value ofSlice = sliceColumn(op);
  return add &&
         ((add.getLhs() == origin.getColumn() && add.getRhs() == ofSlice) ||
          (add.getRhs() == origin.getColumn() && add.getLhs() == ofSlice));
}

LogicalResult Checker::checkColumn(Operation *op, MemRefType type,
                                   Value column) {
  // The tile's first column is 0 when there is one tile across.
  bool isOnlyTile = int64_t(origin.getColumns()) <= config.getTileN();
  if (!isTileColumn(op, column) && !(isOnlyTile && column == sliceColumn(op)))
    return op->emitOpError()
           << "must start at the tile's first column plus the slice's";
  if (type.getShape().back() != int64_t(origin.getColumns()))
    return op->emitOpError()
           << "needs an array of " << int64_t(origin.getColumns())
           << " columns, got " << type;
  return success();
}

LogicalResult Checker::checkAccumulate(AccumulateOp op) {
  int64_t clusterN = config.getClusterN();
  if (clusterN > 1 ? !isTileColumn(op, op.getColumn())
                   : op.getColumn() != sliceColumn(op))
    return op.emitOpError() << "must count from the slice's column"
                            << (clusterN > 1 ? " in the result" : "");
  int64_t limit = op.getLimit();
  if (limit % 8 && limit < config.getTileN() * clusterN)
    return op.emitOpError() << "limit must be a multiple of 8, got " << limit;
  return success();
}

LogicalResult Checker::checkSlices(ForSlicesOp op) {
  auto before = op.getAcc().getDefiningOp<ForSlicesOp>();
  if (op.getAcc() != ring.getResult(0) && !(before && before.writesBack()))
    return op.emitOpError()
           << "needs the accumulator of the pipeline or of other slices";
  // Where the accumulator lives in tensor memory, writing slices back changes
  // it in place.
  if (!op.writesBack())
    return success();
  for (Operation *user : op.getAcc().getUsers())
    if (user != op &&
        (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op)))
      return user->emitOpError()
             << "reads an accumulator that other slices have replaced";
  return success();
}

LogicalResult Checker::checkAccess(Operation *op) {
  if (auto slices = dyn_cast<ForSlicesOp>(op))
    return checkSlices(slices);
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return checkAccumulate(accumulate);
  if (auto load = dyn_cast<LoadColvecOp>(op))
    return checkColumn(op, cast<MemRefType>(load.getSource().getType()),
                       load.getColumn());
  if (auto load = dyn_cast<LoadFragOp>(op)) {
    auto type = cast<MemRefType>(load.getSource().getType());
    return success(succeeded(checkRow(op, type, load.getRow())) &&
                   succeeded(checkColumn(op, type, load.getColumn())));
  }
  if (auto store = dyn_cast<StoreFragOp>(op)) {
    auto type = cast<MemRefType>(store.getTarget().getType());
    if (!type.getLayout().isIdentity())
      return op->emitOpError() << "needs a packed array, got " << type;
    return success(succeeded(checkRow(op, type, store.getRow())) &&
                   succeeded(checkColumn(op, type, store.getColumn())));
  }
  if (auto store = dyn_cast<StoreRowvecOp>(op))
    return checkRow(op, cast<MemRefType>(store.getTarget().getType()),
                    store.getRow());
  return success();
}

FailureOr<PipelineOp> flashnorm::kernel::checkKernel(FuncOp func) {
  return Checker(func).run();
}
