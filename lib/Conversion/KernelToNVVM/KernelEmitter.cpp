//===- KernelEmitter.cpp - One kernel.func as thread-level code -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "SharedTile.h"
#include "flashnorm/Planning/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

static constexpr StringLiteral dynamicSharedName = "flashnorm_shared_memory";

KernelEmitter::KernelEmitter(FuncOp func, PipelineOp pipeline,
                             MmaFamily &family)
    : b(func.getLoc(), func.getContext()), kernel(func), ring(pipeline),
      family(family) {
  sharedBytes = pipeline.getStages() * stageBytes();
  for (int64_t slot = 0; slot < numSlots(); ++slot)
    if (slotLoad(slot).getResident())
      sharedBytes += numKTiles() * slotBytes(slot);
  rowsArgument = *llvm::find_if(func.getArguments(), [](Value argument) {
    return argument.getType().isIndex();
  });
}

TileOriginOp KernelEmitter::origin() {
  return *kernel.getOps<TileOriginOp>().begin();
}

Type KernelEmitter::elementType() {
  return cast<SmemType>(ring.getProduce().getArgument(1).getType())
      .getElementType();
}

int64_t KernelEmitter::numKTiles() {
  return llvm::divideCeil(ring.getBound(),
                          ring.getStep() * config().getClusterK());
}

Value KernelEmitter::depthOf(Value kTile) {
  if (config().getClusterK() > 1)
    kTile = b.add(kTile, b.mul(b.rankInCluster(), numKTiles()));
  return b.mul(kTile, ring.getStep());
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

LoadOp KernelEmitter::slotLoad(int64_t slot) {
  Block &produce = ring.getProduce().front();
  Value target = produce.getArgument(1 + slot);
  for (LoadOp load : produce.getOps<LoadOp>())
    if (load.getTarget() == target)
      return load;
  llvm_unreachable("every slot has a load");
}

int64_t KernelEmitter::slotBytes(int64_t slot) {
  auto type = cast<SmemType>(ring.getProduce().getArgument(1 + slot).getType());
  int64_t bytes = type.getShape()[0] * type.getShape()[1] * 2;
  // Swizzle atoms of TMA and MMA descriptors are 1024 bytes.
  return llvm::alignTo(bytes, 1024);
}

int64_t KernelEmitter::slotOffset(int64_t slot) {
  // Residents follow the stages.
  bool isResident = slotLoad(slot).getResident();
  int64_t offset = isResident ? ring.getStages() * stageBytes() : 0;
  for (int64_t i = 0; i < slot; ++i)
    if (slotLoad(i).getResident() == isResident)
      offset += slotBytes(i) * (isResident ? numKTiles() : 1);
  return offset;
}

Value KernelEmitter::slotAdvance(int64_t slot, Value stageOffset, Value kTile) {
  return slotLoad(slot).getResident() ? b.mul(kTile, slotBytes(slot))
                                      : stageOffset;
}

int64_t KernelEmitter::stageBytes() {
  int64_t bytes = 0;
  for (int64_t slot = 0; slot < numSlots(); ++slot)
    if (!slotLoad(slot).getResident())
      bytes += slotBytes(slot);
  return bytes;
}

LoadFragOp KernelEmitter::ringFrag() {
  LoadFragOp frag;
  bool isOnly = true;
  kernel.walk([&](LoadFragOp op) {
    isOnly &= !frag;
    frag = op;
  });
  if (!frag || !isOnly || !frag.getSource().hasOneUse())
    return {};
  Type element = cast<MemRefType>(frag.getSource().getType()).getElementType();
  if (!family.fragBox(config(), stageBytes(), element))
    return {};
  return frag;
}

MmaFamily::TmaBox KernelEmitter::ringFragBox() {
  return *family.fragBox(
      config(), stageBytes(),
      cast<MemRefType>(ringFrag().getSource().getType()).getElementType());
}

bool KernelEmitter::isMulticast(LoadOp load) {
  return config().getClusterM() > 1 && load.getRow() != origin().getRow() &&
         load.getColumn() != origin().getRow();
}

TmaBoxes KernelEmitter::loadBoxes(LoadOp load) {
  return TmaBoxes(cast<SmemType>(load.getTarget().getType()),
                  isMulticast(load) ? config().getClusterM() : 1);
}

int64_t KernelEmitter::allocateShared(int64_t bytes, int64_t alignment) {
  int64_t offset = llvm::alignTo(sharedBytes, alignment);
  sharedBytes = offset + bytes;
  return offset;
}

Value KernelEmitter::shared(int64_t offset, Value dynamic) {
  Value base = dynamic ? b.gep(dynamicShared, dynamic) : dynamicShared;
  return b.gep(base, offset);
}

Value KernelEmitter::sharedAddress(int64_t offset, Value dynamic) {
  Value base =
      LLVM::PtrToIntOp::create(b, b.getI32Type(), dynamicShared).getResult();
  Value address = dynamic ? b.add(base, dynamic) : base;
  return b.add(address, offset);
}

//===----------------------------------------------------------------------===//
// The function and how it is launched
//===----------------------------------------------------------------------===//

/// The array that a load reads, for each load of the pipeline.
static LoadOp findLoad(PipelineOp ring, Value memref) {
  for (Operation &op : ring.getProduce().front())
    if (auto load = dyn_cast<LoadOp>(op))
      if (load.getSource() == memref)
        return load;
  return {};
}

static StoreFragOp findStore(Value memref) {
  for (Operation *user : memref.getUsers())
    if (auto store = dyn_cast<StoreFragOp>(user))
      return store;
  return {};
}

/// Elements from one row of an array to the next, kDynamic when only the launch
/// knows.
static int64_t staticRowStride(Value memref) {
  return cast<MemRefType>(memref.getType()).getStridesAndOffset().first.front();
}

Value KernelEmitter::rowStride(Value memref) {
  if (Value stride = rowStrides.lookup(memref))
    return stride;
  return b.i64(staticRowStride(memref));
}

static StringRef typeName(Type type) {
  return type.isBF16() ? "bf16" : type.isF16() ? "f16" : "f32";
}

void KernelEmitter::createFunction() {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  b.setInsertionPoint(kernel);
  if (!module.lookupSymbol(dynamicSharedName)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, dynamicSharedName, Attribute(),
        /*alignment=*/1024, /*addrSpace=*/3);
    global.setDsoLocal(false);
  }

  // Operands become a tensor map, a pointer, or both, in order; then the rows.
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<std::function<void(Value)>> bind;
  Type genericPtr = LLVM::LLVMPointerType::get(b.getContext());
  auto mapAttributes = b.getDictionaryAttr(
      {b.getNamedAttr("llvm.byval", TypeAttr::get(LLVM::LLVMArrayType::get(
                                        b.getI8Type(), 128))),
       b.getNamedAttr("llvm.align", b.getI64IntegerAttr(64)),
       b.getNamedAttr("nvvm.grid_constant", b.getUnitAttr())});
  LoadFragOp frag = ringFrag();
  for (Value argument : kernel.getArguments()) {
    if (!isa<MemRefType>(argument.getType()))
      continue;
    // What TMA loads and stores goes through tensor maps, the rest through
    // pointers; an array may need both.
    bool readsInRing = frag && frag.getSource() == argument;
    bool loads =
        family.usesTensorMaps() && (findLoad(ring, argument) || readsInRing);
    bool stores =
        findStore(argument) &&
        family.storeBox(config(),
                        cast<MemRefType>(argument.getType()).getElementType());
    bool isUsedDirectly =
        llvm::any_of(argument.getUsers(), [&](Operation *user) {
          return !(loads && isa<LoadOp>(user)) && user != frag &&
                 !(stores && isa<StoreFragOp>(user));
        });
    if (loads || stores) {
      types.push_back(genericPtr);
      attributes.push_back(mapAttributes);
      bind.push_back([=](Value value) { tensorMaps[argument] = value; });
    }
    if (isUsedDirectly || !(loads || stores)) {
      types.push_back(b.globalPtr());
      attributes.push_back(b.getDictionaryAttr({}));
      bind.push_back([=](Value value) { pointers[argument] = value; });
      // Tensor maps have the stride in them.
      if (ShapedType::isDynamic(staticRowStride(argument))) {
        types.push_back(b.getI64Type());
        attributes.push_back(b.getDictionaryAttr({}));
        bind.push_back([=](Value value) { rowStrides[argument] = value; });
      }
    }
  }
  types.push_back(b.getI32Type());
  attributes.push_back(b.getDictionaryAttr({}));
  bind.push_back([=](Value value) { values[rowsArgument] = {value}; });

  function = LLVM::LLVMFuncOp::create(
      b, kernel.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  types));
  function.setAllArgAttrs(attributes);
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  int32_t threads = family.numThreads(config());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({threads, 1, 1}));
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  if (int32_t cluster = config().getClusterSize(); cluster > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr({cluster, 1, 1}));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  for (auto [argument, binder] : llvm::zip_equal(entry->getArguments(), bind))
    binder(argument);
  dynamicShared =
      LLVM::AddressOfOp::create(b, b.sharedPtr(), dynamicSharedName);
}

DictionaryAttr KernelEmitter::launchAbi() {
  SmallVector<Attribute> operands, arguments;
  auto named = [&](StringRef key, Attribute value) {
    return b.getNamedAttr(key, value);
  };
  auto integer = [&](int64_t value) { return b.getI64IntegerAttr(value); };
  LoadFragOp frag = ringFrag();
  for (Value argument : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    bool isOutput = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<StoreFragOp, StoreRowvecOp>(user);
    });
    // A null size is the number of rows.
    SmallVector<Attribute> shape;
    for (int64_t size : type.getShape())
      shape.push_back(ShapedType::isDynamic(size) ? Attribute(b.getUnitAttr())
                                                  : integer(size));
    Attribute operand = integer(operands.size());
    NamedAttrList description;
    description.set("role", b.getStringAttr(isOutput ? "output" : "input"));
    description.set("shape", b.getArrayAttr(shape));
    description.set("type", b.getStringAttr(typeName(type.getElementType())));
    if (!type.getLayout().isIdentity()) {
      int64_t stride = staticRowStride(argument);
      description.set("row_stride", ShapedType::isDynamic(stride)
                                        ? Attribute(b.getUnitAttr())
                                        : integer(stride));
    }
    operands.push_back(description.getDictionary(b.getContext()));
    if (tensorMaps.contains(argument)) {
      MmaFamily::TmaBox box;
      if (frag && frag.getSource() == argument) {
        box = ringFragBox();
      } else if (LoadOp load = findLoad(ring, argument)) {
        TmaBoxes boxes = loadBoxes(load);
        box = {boxes.columns, boxes.rows, 128};
      } else {
        box = *family.storeBox(config(), type.getElementType());
      }
      arguments.push_back(b.getDictionaryAttr(
          {named("box",
                 b.getArrayAttr({integer(box.columns), integer(box.rows)})),
           named("kind", b.getStringAttr("tensor_map")),
           named("operand", operand), named("swizzle", integer(box.swizzle))}));
    }
    if (pointers.contains(argument))
      arguments.push_back(
          b.getDictionaryAttr({named("kind", b.getStringAttr("pointer")),
                               named("operand", operand)}));
    if (rowStrides.contains(argument))
      arguments.push_back(
          b.getDictionaryAttr({named("kind", b.getStringAttr("row_stride")),
                               named("operand", operand)}));
  }
  arguments.push_back(
      b.getDictionaryAttr({named("kind", b.getStringAttr("rows"))}));
  NamedAttrList abi;
  abi.set("arguments", b.getArrayAttr(arguments));
  abi.set("block", integer(family.numThreads(config())));
  abi.set("chip", b.getStringAttr(config().getChip()));
  abi.set("cluster", integer(config().getClusterSize()));
  // In these terms a row of clusters below each other is one row, and who
  // shares a tile is beside the others.
  abi.set("column_tiles", integer(numColumnTiles() * config().getClusterM() *
                                  config().getClusterK()));
  abi.set("family", b.getStringAttr(stringifyFamilyKind(config().getFamily())));
  abi.set("name", b.getStringAttr(kernel.getName()));
  abi.set("operands", b.getArrayAttr(operands));
  abi.set("ctas_per_sm", integer(family.numPersistentCTAs()));
  abi.set("shared_memory", integer(sharedBytes));
  abi.set("strategy", b.getStringAttr("custom"));
  abi.set("tile_rows", integer(config().getTileM() * config().getClusterM()));
  // What whoever built the kernel has to say of it.
  if (auto info = kernel->getAttrOfType<DictionaryAttr>("kernel.launch_info"))
    for (NamedAttribute entry : info)
      abi.set(entry.getName(), entry.getValue());
  return abi.getDictionary(b.getContext());
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

int64_t KernelEmitter::numColumnTiles() {
  return llvm::divideCeil(origin().getColumns(), config().getTileN());
}

Value KernelEmitter::numClusterRows() {
  int64_t rows = config().getTileM() * config().getClusterM();
  return b.div(b.add(numRows(), rows - 1), rows);
}

Value KernelEmitter::firstTile() {
  return config().getClusterSize() > 1 ? b.clusterId() : b.blockId();
}

Value KernelEmitter::tileStep() {
  return config().getClusterSize() > 1 ? b.numClusters() : b.numBlocks();
}

Value KernelEmitter::numTiles() {
  return b.mul(numClusterRows(), numColumnTiles() / config().getClusterN());
}

/// CTAs that run side by side share a few rows and a few columns of tiles, and
/// so find in L2 what others have read.
void KernelEmitter::emitTileOrigin(TileOriginOp op) {
  constexpr int64_t groupRows = 8;
  Value number = tile ? tile : b.blockId();
  int64_t columns = numColumnTiles();
  Value row = number, column = b.i32(0);
  if (config().getClusterN() > 1) {
    column = b.rankInCluster();
  } else if (columns > 1) {
    Value first = b.mul(b.div(number, groupRows * columns), groupRows);
    Value inGroup = b.rem(number, groupRows * columns);
    Value rows = b.min(b.i32(groupRows), b.sub(numClusterRows(), first));
    column = b.div(inGroup, rows);
    row = b.add(first, b.sub(inGroup, b.mul(column, rows)));
  }
  if (int64_t m = config().getClusterM(); m > 1)
    row = b.add(b.mul(row, m), b.rankInCluster());
  values[op.getRow()] = {b.mul(row, config().getTileM())};
  values[op.getColumn()] = {b.mul(column, config().getTileN())};
}

void KernelEmitter::emitOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::ConstantOp constant) {
        if (constant.getType().isIndex())
          values[constant] = {
              b.i32(cast<IntegerAttr>(constant.getValue()).getInt())};
        else
          values[constant] = {b.clone(*op)->getResult(0)};
      })
      .Case([&](arith::AddIOp add) {
        values[add] = {b.add(index(add.getLhs()), index(add.getRhs())),
                       b.add(group(add.getLhs()), group(add.getRhs()))};
      })
      .Case([&](arith::MulIOp mul) {
        values[mul] = {b.mul(index(mul.getLhs()), index(mul.getRhs())),
                       b.mul(group(mul.getLhs()), group(mul.getRhs()))};
      })
      .Case([&](TileOriginOp origin) { emitTileOrigin(origin); })
      // The family starts from zero by itself.
      .Case([&](ZeroAccOp zero) { values[zero] = {}; })
      .Case([&](FillOp fill) {
        values[fill] =
            Values(layout.rows.size(), b.f32(fill.getValue().convertToFloat()));
      })
      .Case([&](ForSlicesOp slices) { emitForSlices(slices); })
      .Case([&](MapOp map) { emitMap(map); })
      .Case([&](AccumulateOp accumulate) { emitAccumulate(accumulate); })
      .Case([&](RowCombineOp combine) { emitRowCombine(combine); })
      .Case([&](LoadColvecOp load) { emitLoadColvec(load); })
      .Case([&](LoadFragOp load) { emitLoadFrag(load); })
      .Case([&](StoreFragOp store) { emitStoreFrag(store); })
      .Case([&](StoreRowvecOp store) { emitStoreRowvec(store); });
}

void KernelEmitter::emitBefore() {
  for (Operation &op : *ring->getBlock()) {
    if (&op == ring)
      return;
    emitOp(&op);
  }
}

void KernelEmitter::emitAfter() {
  for (Operation *op = ring->getNextNode(); op; op = op->getNextNode())
    emitOp(op);
}

LogicalResult KernelEmitter::emit() {
  if (failed(family.check(kernel, ring)))
    return failure();
  if (Operation *other =
          kernel->getParentOfType<gpu::GPUModuleOp>().lookupSymbol(
              dynamicSharedName)) {
    auto global = dyn_cast<LLVM::GlobalOp>(other);
    if (!global || global.getAddrSpace() != 3)
      return other->emitError() << "symbol '" << dynamicSharedName
                                << "' is reserved for shared memory";
  }
  createFunction();
  family.emit(*this);
  LLVM::ReturnOp::create(b, ValueRange());
  const TargetInfo &target = *lookupTarget(config().getChip());
  if (sharedBytes > target.sharedMemoryPerBlock)
    return kernel.emitOpError()
           << "needs " << sharedBytes << " bytes of shared memory; "
           << target.chip << " has " << target.sharedMemoryPerBlock;
  function->setAttr("flashnorm.launch_abi", launchAbi());
  return success();
}
