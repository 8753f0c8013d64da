//===- DeviceBuilder.cpp - Builds thread-level device code ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace flashnorm::kernel;
using Values = DeviceBuilder::Values;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value DeviceBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(*this, getI32Type(), value);
}
Value DeviceBuilder::i64(int64_t value) {
  return arith::ConstantIntOp::create(*this, getI64Type(), value);
}
Value DeviceBuilder::f32(double value) {
  return arith::ConstantFloatOp::create(*this, getF32Type(),
                                        APFloat(static_cast<float>(value)));
}
Value DeviceBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b);
}
Value DeviceBuilder::add(Value a, int64_t b) { return add(a, i32(b)); }
Value DeviceBuilder::sub(Value a, int64_t b) {
  return createOrFold<arith::SubIOp>(a, i32(b));
}
Value DeviceBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b);
}
Value DeviceBuilder::mul(Value a, int64_t b) { return mul(a, i32(b)); }
Value DeviceBuilder::div(Value a, int64_t b) {
  return createOrFold<arith::DivUIOp>(a, i32(b));
}
Value DeviceBuilder::rem(Value a, int64_t b) {
  return createOrFold<arith::RemUIOp>(a, i32(b));
}
Value DeviceBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b);
}
Value DeviceBuilder::div(Value a, Value b) {
  return createOrFold<arith::DivUIOp>(a, b);
}
Value DeviceBuilder::min(Value a, Value b) {
  return createOrFold<arith::MinSIOp>(a, b);
}
Value DeviceBuilder::shl(Value a, int64_t b) {
  return createOrFold<arith::ShLIOp>(a, i32(b));
}
Value DeviceBuilder::shr(Value a, int64_t b) {
  return createOrFold<arith::ShRUIOp>(a, i32(b));
}
Value DeviceBuilder::bitAnd(Value a, int64_t b) {
  return createOrFold<arith::AndIOp>(a, i32(b));
}
Value DeviceBuilder::bitXor(Value a, Value b) {
  return createOrFold<arith::XOrIOp>(a, b);
}
Value DeviceBuilder::bitXor(Value a, int64_t b) { return bitXor(a, i32(b)); }
Value DeviceBuilder::bitOr(Value a, Value b) {
  return createOrFold<arith::OrIOp>(a, b);
}
Value DeviceBuilder::less(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}
Value DeviceBuilder::less(Value a, int64_t b) { return less(a, i32(b)); }
Value DeviceBuilder::equal(Value a, int64_t b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, i32(b));
}
Value DeviceBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return createOrFold<arith::AndIOp>(a, b);
}
Value DeviceBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}
Value DeviceBuilder::addF(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b);
}
Value DeviceBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(*this, a, b, c);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void DeviceBuilder::ifThen(Value condition, function_ref<void()> then) {
  if (!condition)
    return then();
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
}

void DeviceBuilder::ifThenElse(Value condition, function_ref<void()> then,
                               function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/true);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
  setInsertionPointToStart(op.elseBlock());
  otherwise();
}

Values DeviceBuilder::loop(int64_t bound, ValueRange inits,
                           function_ref<Values(Value, ValueRange)> body) {
  return loop(i32(0), i32(bound), i32(1), inits, body);
}

Values DeviceBuilder::loop(Value begin, Value end, Value step, ValueRange inits,
                           function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(*this, begin, end, step, inits);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  // A loop without carried values has its yield already.
  if (!inits.empty())
    scf::YieldOp::create(*this, next);
  return Values(op.getResults());
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value DeviceBuilder::threadId(int64_t numThreads) {
  return NVVM::ThreadIdXOp::create(
      *this, getI32Type(),
      LLVM::ConstantRangeAttr::get(getContext(), APInt(32, 0),
                                   APInt(32, numThreads)));
}
Value DeviceBuilder::blockId() {
  return NVVM::BlockIdXOp::create(*this, getI32Type());
}
Value DeviceBuilder::numBlocks() {
  return NVVM::GridDimXOp::create(*this, getI32Type());
}
Value DeviceBuilder::clusterId() {
  return NVVM::ClusterIdXOp::create(*this, getI32Type());
}
Value DeviceBuilder::numClusters() {
  return NVVM::ClusterDimXOp::create(*this, getI32Type());
}
Value DeviceBuilder::rankInCluster() {
  return NVVM::ClusterId::create(*this, getI32Type());
}
void DeviceBuilder::clusterBarrier(bool releases) {
  if (releases)
    NVVM::ClusterArriveOp::create(*this, /*aligned=*/UnitAttr());
  else
    NVVM::ClusterArriveRelaxedOp::create(*this, /*aligned=*/UnitAttr());
  NVVM::ClusterWaitOp::create(*this, /*aligned=*/UnitAttr());
}
Value DeviceBuilder::broadcastLane0(Value value) {
  return NVVM::ShflOp::create(*this, getI32Type(), i32(-1), value, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}
Value DeviceBuilder::shuffleXor(Value value, int64_t lanes) {
  return NVVM::ShflOp::create(*this, value.getType(), i32(-1), value,
                              i32(lanes), i32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}
Value DeviceBuilder::elect() {
  return NVVM::ElectSyncOp::create(*this, getI1Type(), Value());
}
void DeviceBuilder::barrier(int64_t id, int64_t numThreads) {
  if (id == 0)
    NVVM::BarrierOp::create(*this);
  else
    NVVM::BarrierOp::create(*this, TypeRange(), i32(id), i32(numThreads),
                            NVVM::BarrierReductionAttr(), Value());
}
void DeviceBuilder::barrierSync(Value id, int64_t numThreads) {
  NVVM::BarrierOp::create(*this, TypeRange(), id, i32(numThreads),
                          NVVM::BarrierReductionAttr(), Value());
}
void DeviceBuilder::barrierArrive(Value id, int64_t numThreads) {
  NVVM::BarrierArriveOp::create(*this, id, i32(numThreads));
}
void DeviceBuilder::syncWarp() { NVVM::SyncWarpOp::create(*this, i32(-1)); }
void DeviceBuilder::setMaxRegisters(int64_t count, bool increase) {
  NVVM::SetMaxRegisterOp::create(*this, count,
                                 increase
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LLVM::LLVMPointerType DeviceBuilder::globalPtr() {
  return LLVM::LLVMPointerType::get(getContext(), 1);
}
LLVM::LLVMPointerType DeviceBuilder::sharedPtr() {
  return LLVM::LLVMPointerType::get(getContext(), 3);
}
Value DeviceBuilder::gep(Value pointer, Value byteOffset) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{byteOffset});
}
Value DeviceBuilder::gep(Value pointer, int64_t byteOffset) {
  if (byteOffset == 0)
    return pointer;
  return LLVM::GEPOp::create(
      *this, pointer.getType(), getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byteOffset)});
}
Value DeviceBuilder::elementPtr(Value base, Type elementType, Value index) {
  return LLVM::GEPOp::create(*this, base.getType(), elementType, base,
                             ArrayRef<LLVM::GEPArg>{index});
}
Value DeviceBuilder::load(Type type, Value pointer, int64_t alignment,
                          bool invariant) {
  return LLVM::LoadOp::create(*this, type, pointer, alignment,
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              invariant);
}
void DeviceBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}
void DeviceBuilder::cpAsync16(Value sharedPtr, Value globalPtr, Value bytes) {
  NVVM::CpAsyncOp::create(*this, sharedPtr, globalPtr, 16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}
void DeviceBuilder::cpAsyncCommit() {
  NVVM::CpAsyncCommitGroupOp::create(*this);
}
void DeviceBuilder::cpAsyncWait(int64_t pendingGroups) {
  NVVM::CpAsyncWaitGroupOp::create(*this, static_cast<uint32_t>(pendingGroups));
}
Values DeviceBuilder::ldMatrix(Value sharedPtr, bool transpose) {
  SmallVector<Type> types(4, getI32Type());
  Value matrices = NVVM::LdMatrixOp::create(
      *this, LLVM::LLVMStructType::getLiteral(getContext(), types), sharedPtr,
      4u, transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  return unpackStruct(matrices, 4);
}

void DeviceBuilder::stMatrix(Value sharedPtr, ValueRange matrices) {
  NVVM::StMatrixOp::create(*this, sharedPtr, matrices, NVVM::MMALayout::row,
                           NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
                           NVVM::LdStMatrixEltType::B16);
}

//===----------------------------------------------------------------------===//
// mbarrier and TMA
//===----------------------------------------------------------------------===//

void DeviceBuilder::mbarrierInit(Value barrier, int64_t count) {
  NVVM::MBarrierInitOp::create(*this, barrier, i32(count), Value());
}
void DeviceBuilder::fenceBarrierInit() {
  NVVM::FenceMbarrierInitOp::create(*this);
  fenceProxyAsync();
}
void DeviceBuilder::fenceProxyAsync() {
  NVVM::FenceProxyOp::create(
      *this, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
}
void DeviceBuilder::mbarrierArrive(Value barrier) {
  NVVM::MBarrierArriveOp::create(*this, Type(), barrier, Value());
}
void DeviceBuilder::mbarrierExpectTx(Value barrier, Value bytes) {
  NVVM::MBarrierArriveExpectTxOp::create(*this, Type(), barrier, bytes,
                                         NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());
}
void DeviceBuilder::mbarrierWait(Value barrier, Value parity, bool inCluster) {
  auto loop = scf::WhileOp::create(*this, TypeRange(), ValueRange());
  InsertionGuard guard(*this);
  createBlock(&loop.getBefore());
  Value done = NVVM::MBarrierTryWaitOp::create(
      *this, getI1Type(), barrier, parity, Value(),
      inCluster ? NVVM::MemScopeKind::CLUSTER : NVVM::MemScopeKind::CTA);
  Value again = createOrFold<arith::XOrIOp>(
      done, arith::ConstantIntOp::create(*this, getI1Type(), 1));
  scf::ConditionOp::create(*this, again, ValueRange());
  createBlock(&loop.getAfter());
  scf::YieldOp::create(*this);
}
void DeviceBuilder::schedulingBoundary(Value untouchedBarrier) {
  // Parity 1 of a fresh barrier counts as complete.
  mbarrierWait(untouchedBarrier, i32(1));
}
void DeviceBuilder::tmaLoad(Value sharedPtr, Value tensorMap, Value column,
                            Value row, Value barrier, int64_t ctas) {
  Value mask;
  if (ctas > 1) {
    // In the window of the cluster this CTA's own addresses are its own.
    sharedPtr = LLVM::AddrSpaceCastOp::create(
        *this, LLVM::LLVMPointerType::get(getContext(), 7), sharedPtr);
    mask = LLVM::ConstantOp::create(*this, getI16Type(), (1 << ctas) - 1);
  }
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      *this, sharedPtr, tensorMap, ValueRange{column, row}, barrier,
      ValueRange(), mask, Value(), NVVM::TMALoadMode::TILE,
      /*isCTAOnly=*/ctas == 1, NVVM::CTAGroupKindAttr(), Value());
}
void DeviceBuilder::tmaStore(Value tensorMap, Value sharedPtr, Value column,
                             Value row) {
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      *this, tensorMap, sharedPtr, ValueRange{column, row}, Value(),
      NVVM::TMAStoreMode::TILE, Value());
}
void DeviceBuilder::bulkCommit() {
  NVVM::CpAsyncBulkCommitGroupOp::create(*this);
}
void DeviceBuilder::bulkWaitRead(int64_t pending) {
  NVVM::CpAsyncBulkWaitGroupOp::create(*this, uint32_t(pending), getUnitAttr());
}
void DeviceBuilder::tmaPrefetch(Value tensorMap, Value column, Value row) {
  NVVM::CpAsyncBulkTensorPrefetchOp::create(
      *this, tensorMap, ValueRange{column, row}, ValueRange(),
      NVVM::TMALoadMode::TILE, Value());
}
void DeviceBuilder::prefetchTensorMap(Value tensorMap) {
  NVVM::PrefetchOp::create(*this, NVVM::PrefetchCacheLevelAttr(),
                           NVVM::CacheEvictionPriorityAttr(), tensorMap,
                           Value(), /*tensormap=*/true);
}

//===----------------------------------------------------------------------===//
// MMA
//===----------------------------------------------------------------------===//

void DeviceBuilder::mmaSync(ValueRange a, ValueRange b,
                            MutableArrayRef<Value> acc, Type elementType) {
  MLIRContext *context = getContext();
  Type f32 = getF32Type();
  Type result = LLVM::LLVMStructType::getLiteral(context, {f32, f32, f32, f32});
  auto shape = NVVM::MMAShapeAttr::get(context, 16, 8, 16);
  Values operandsA(a), operandsB(b);
  NVVM::MMATypesAttr type = NVVM::MMATypesAttr::get(
      context,
      elementType.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16);
  if (elementType.isF16()) {
    // The op infers f16 from vectors, bf16 from packed integers.
    Type pair = VectorType::get(2, elementType);
    for (Values *operands : {&operandsA, &operandsB})
      for (Value &operand : *operands)
        operand = LLVM::BitcastOp::create(*this, pair, operand);
  }
  Value sum = NVVM::MmaOp::create(
      *this, result, shape, NVVM::MMAB1OpAttr(), NVVM::MMAIntOverflowAttr(),
      NVVM::MMALayout::row, NVVM::MMALayout::col, type, type, operandsA,
      operandsB, ValueRange(acc));
  llvm::copy(unpackStruct(sum, 4), acc.begin());
}

/// "{$first, $first+1, …}"
static std::string operandList(int64_t first, int64_t count) {
  std::string list = "{";
  for (int64_t i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return list + "}";
}

/// Constraints of `count` outputs, the given inputs, and the first `tied`
/// outputs as inputs.
static std::string tiedConstraints(StringRef output, int64_t count,
                                   StringRef inputs, int64_t tied) {
  std::string constraints;
  for (int64_t i = 0; i < count; ++i)
    constraints += (i ? "," : "") + output.str();
  constraints += inputs.str();
  for (int64_t i = 0; i < tied; ++i)
    constraints += "," + std::to_string(i);
  return constraints;
}

/// One inline PTX statement with `count` results of one type.
static Values inlinePtx(DeviceBuilder &b, StringRef text, StringRef constraints,
                        ValueRange operands, Type resultType, int64_t count) {
  SmallVector<Type> types(count, resultType);
  auto op = LLVM::InlineAsmOp::create(
      b,
      count ? Type(LLVM::LLVMStructType::getLiteral(b.getContext(), types))
            : Type(),
      operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
      ArrayAttr());
  Values results;
  for (int64_t i = 0; i < count; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, op.getRes(), i));
  return results;
}

Value DeviceBuilder::mapToRank(Value sharedPtr, Value rank) {
  Type remotePtr = LLVM::LLVMPointerType::get(getContext(), 7);
  Value remote = NVVM::MapaOp::create(*this, remotePtr, sharedPtr, rank);
  return LLVM::PtrToIntOp::create(*this, getI32Type(), remote);
}

void DeviceBuilder::storeAsync(ValueRange f32Values, Value address,
                               Value barrier) {
  size_t count = f32Values.size();
  std::string text =
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes";
  std::string constraints = "r,r";
  if (count > 1)
    text += ".v" + std::to_string(count);
  for (size_t i = 0; i < count; ++i)
    constraints += ",f";
  text += ".f32 [$0], " +
          (count > 1 ? operandList(2, count) : std::string("$2")) + ", [$1];";
  Values operands{address, barrier};
  operands.append(f32Values.begin(), f32Values.end());
  inlinePtx(*this, text, constraints + ",~{memory}", operands, Type(), 0);
}

void DeviceBuilder::mbarrierArriveRemote(Value address, bool releases) {
  std::string order = releases ? ".release.cluster" : "";
  inlinePtx(*this, "mbarrier.arrive" + order + ".shared::cluster.b64 _, [$0];",
            "r,~{memory}", address, Type(), 0);
}

Values DeviceBuilder::wgmma(ValueRange acc, int64_t columns,
                            ValueRange descriptorsA, ValueRange descriptorsB,
                            Type elementType, bool transposeB) {
  // One statement for fence, MMAs and commit, with the accumulators tied:
  // the form that ptxas leaves without moves and without serialising (C7510).
  // The first MMA of a tile reads no accumulators; a condition at run time
  // would keep those of the tile before alive.
  int64_t steps = descriptorsB.size(), blocks = descriptorsA.size() / steps;
  int64_t ofBlock = columns / 2, count = blocks * ofBlock;
  StringRef type = elementType.isBF16() ? "bf16" : "f16";
  std::string text = "wgmma.fence.sync.aligned;\n";
  Values operands;
  std::string inputs;
  for (int64_t step = 0; step < steps; ++step) {
    int64_t inputA = count + operands.size(), inputB = inputA + blocks;
    llvm::append_range(operands, descriptorsA.slice(step * blocks, blocks));
    operands.push_back(descriptorsB[step]);
    for (int64_t block = 0; block < blocks; ++block) {
      text += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) +
              "k16.f32." + type.str() + "." + type.str() + " " +
              operandList(block * ofBlock, ofBlock) + ", $" +
              std::to_string(inputA + block) + ", $" + std::to_string(inputB) +
              ", " + (step == 0 && acc.empty() ? "0" : "1") + ", 1, 1, 0, " +
              (transposeB ? "1" : "0") + ";\n";
    }
  }
  for (size_t i = 0; i < operands.size(); ++i)
    inputs += ",l";
  text += "wgmma.commit_group.sync.aligned;";
  operands.append(acc.begin(), acc.end());
  return inlinePtx(*this, text,
                   tiedConstraints("=f", count, inputs, /*tied=*/acc.size()),
                   operands, getF32Type(), count);
}

Values DeviceBuilder::wgmmaWait(ValueRange acc, int64_t pending) {
  int64_t count = acc.size();
  return inlinePtx(
      *this, "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";",
      tiedConstraints("=f", count, "", count), acc, getF32Type(), count);
}

//===----------------------------------------------------------------------===//
// tcgen05
//===----------------------------------------------------------------------===//

void DeviceBuilder::tmemAlloc(Value sharedSlot, int64_t columns) {
  NVVM::Tcgen05AllocOp::create(*this, sharedSlot, i32(columns));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(*this);
}
static Value tmemPtr(DeviceBuilder &b, Value address) {
  return LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 6), address);
}
void DeviceBuilder::tmemDealloc(Value address, int64_t columns) {
  NVVM::Tcgen05DeallocOp::create(*this, tmemPtr(*this, address), i32(columns));
}
void DeviceBuilder::tcgen05FenceBefore() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}
void DeviceBuilder::tcgen05FenceAfter() {
  NVVM::Tcgen05FenceOp::create(*this,
                               NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}
void DeviceBuilder::tcgen05Mma(Value tmemAddress, Value descriptorA,
                               Value descriptorB, int64_t instructionDescriptor,
                               Value accumulate) {
  NVVM::Tcgen05MMAOp::create(
      *this, NVVM::Tcgen05MMAKind::F16, NVVM::CTAGroupKind::CTA_1,
      NVVM::Tcgen05MMACollectorOp::DISCARD,
      /*aShift=*/false, tmemPtr(*this, tmemAddress), descriptorA, descriptorB,
      i32(instructionDescriptor), accumulate, Value(), Value());
}
void DeviceBuilder::tcgen05Commit(Value barrier) {
  NVVM::Tcgen05CommitOp::create(*this, barrier, Value());
}
Values DeviceBuilder::tmemLoad32(Value address) {
  Value packed = NVVM::Tcgen05LdOp::create(
      *this, VectorType::get(32, getI32Type()), /*pack=*/false,
      NVVM::Tcgen05LdStShape::SHAPE_32X32B, tmemPtr(*this, address), Value());
  Values words;
  for (int64_t i = 0; i < 32; ++i)
    words.push_back(LLVM::ExtractElementOp::create(*this, packed, i32(i)));
  // The wait alone carries no data dependence: uses would move above it.
  words = inlinePtx(*this, "tcgen05.wait::ld.sync.aligned;",
                    tiedConstraints("=r", 32, "", 32), words, getI32Type(), 32);
  for (Value &word : words)
    word = LLVM::BitcastOp::create(*this, getF32Type(), word);
  return words;
}
void DeviceBuilder::tmemStore32(Value address, ValueRange values) {
  Values words;
  for (Value value : values)
    words.push_back(LLVM::BitcastOp::create(*this, getI32Type(), value));
  NVVM::Tcgen05StOp::create(*this, /*unpack=*/false,
                            NVVM::Tcgen05LdStShape::SHAPE_32X32B,
                            tmemPtr(*this, address), vectorOf(words), Value());
  NVVM::Tcgen05WaitOp::create(*this, NVVM::Tcgen05WaitKind::STORE);
}

//===----------------------------------------------------------------------===//
// Aggregates
//===----------------------------------------------------------------------===//

Values DeviceBuilder::unpackStruct(Value aggregate, int64_t count) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(*this, aggregate, i));
  return values;
}

Value DeviceBuilder::vectorOf(ValueRange values) {
  Type type = VectorType::get(values.size(), values.front().getType());
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(*this, vector, value, i32(i));
  return vector;
}

std::pair<Value, Value> DeviceBuilder::unpack(Value packed, Type elementType) {
  Value pair =
      LLVM::BitcastOp::create(*this, VectorType::get(2, elementType), packed);
  auto element = [&](int64_t i) -> Value {
    return LLVM::FPExtOp::create(
        *this, getF32Type(),
        LLVM::ExtractElementOp::create(*this, pair, i32(i)));
  };
  Value first = element(0);
  return {first, element(1)};
}

Value DeviceBuilder::pack(Value low, Value high, Type elementType) {
  Value rounded[] = {LLVM::FPTruncOp::create(*this, elementType, low),
                     LLVM::FPTruncOp::create(*this, elementType, high)};
  return LLVM::BitcastOp::create(*this, getI32Type(), vectorOf(rounded));
}
