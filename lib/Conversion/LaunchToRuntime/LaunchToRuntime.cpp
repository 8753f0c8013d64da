//===- LaunchToRuntime.cpp - Launches to runtime calls --------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch knows whole arrays; the runtime
// (include/flashnorm/Runtime/CRuntime.h) takes one flat list of integers. Each
// operand is written out as it is, with its strides, so that nothing is copied
// on this side.
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTLAUNCHTORUNTIMEPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static constexpr StringLiteral runtimeFunction = "flashnorm_launch";

/// "module::kernel": the name under which the launcher knows a kernel.
static std::string getRuntimeName(SymbolRefAttr kernel) {
  std::string name = kernel.getRootReference().str();
  for (FlatSymbolRefAttr nested : kernel.getNestedReferences())
    name += "::" + nested.getValue().str();
  return name;
}

namespace {
struct ConvertLaunchToRuntime
    : ::flashnorm::impl::ConvertLaunchToRuntimePassBase<
          ConvertLaunchToRuntime> {
  void runOnOperation() override;

private:
  LogicalResult convert(LaunchOp launch, LLVM::LLVMFuncOp callee);
  LLVM::GlobalOp getOrCreateName(SymbolRefAttr kernel, Location loc);

  /// The global string of each kernel, so that launches share them.
  llvm::StringMap<LLVM::GlobalOp> names;
};
} // namespace

/// The words of the launch buffer: the number of operands, then address, rank,
/// sizes and strides of each.
static SmallVector<Value> buildWords(OpBuilder &builder, Location loc,
                                     ValueRange operands) {
  Type i64 = builder.getI64Type();
  SmallVector<Value> words;
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value).getResult();
  };
  words.push_back(constant(operands.size()));
  for (Value operand : operands) {
    auto type = cast<MemRefType>(operand.getType());
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, operand);
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
    Value offset = arith::MulIOp::create(
        builder, loc, metadata.getOffset(),
        constant(type.getElementType().getIntOrFloatBitWidth() / 8));
    words.push_back(arith::AddIOp::create(builder, loc, address, offset));
    words.push_back(constant(type.getRank()));
    llvm::append_range(words, metadata.getSizes());
    llvm::append_range(words, metadata.getStrides());
  }
  for (Value &word : words)
    word = arith::IndexCastOp::create(builder, loc, i64, word);
  return words;
}

LLVM::GlobalOp ConvertLaunchToRuntime::getOrCreateName(SymbolRefAttr kernel,
                                                       Location loc) {
  std::string name = getRuntimeName(kernel);
  LLVM::GlobalOp &global = names[name];
  if (global)
    return global;
  // The runtime expects a C string.
  std::string text = name + '\0';
  auto type =
      LLVM::LLVMArrayType::get(IntegerType::get(&getContext(), 8), text.size());
  OpBuilder builder(&getContext());
  global = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
      "flashnorm_kernel_name", builder.getStringAttr(text));
  // Renames it where the name is taken.
  Block *body = getOperation().getBody();
  SymbolTable(getOperation()).insert(global, body->begin());
  return global;
}

LogicalResult ConvertLaunchToRuntime::convert(LaunchOp launch,
                                              LLVM::LLVMFuncOp callee) {
  for (auto [i, type] : llvm::enumerate(launch->getOperandTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref)
      return launch.emitOpError()
             << "operand " << i << " has type " << type
             << "; only launches on memrefs can be called: bufferize first";
    Type element = memref.getElementType();
    if (!element.isBF16() && !element.isF16() && !element.isF32())
      return launch.emitOpError()
             << "operand " << i << " has elements of type " << element
             << "; the launch ABI knows bf16, f16 and f32";
  }
  auto function = launch->getParentOfType<FunctionOpInterface>();
  if (!function)
    return launch.emitOpError() << "is not in a function";

  Location loc = launch.getLoc();
  OpBuilder builder(launch);
  SmallVector<Value> words = buildWords(builder, loc, launch->getOperands());

  // In the entry block, so that a launch in a loop does not grow the stack.
  Value buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getFunctionBody().front());
    buffer = memref::AllocaOp::create(
        builder, loc, MemRefType::get(words.size(), builder.getI64Type()));
  }
  for (auto [i, word] : llvm::enumerate(words))
    memref::StoreOp::create(
        builder, loc, word, buffer,
        ValueRange{arith::ConstantIndexOp::create(builder, loc, i)});

  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  Value address = arith::IndexCastOp::create(
      builder, loc, builder.getI64Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer));
  Value name = LLVM::AddressOfOp::create(
      builder, loc, getOrCreateName(launch.getKernel(), loc));
  LLVM::CallOp::create(builder, loc, callee,
                       ValueRange{name, LLVM::IntToPtrOp::create(
                                            builder, loc, pointer, address)});
  launch.erase();
  ++numLaunches;
  return success();
}

void ConvertLaunchToRuntime::runOnOperation() {
  names.clear();
  SmallVector<LaunchOp> launches;
  getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
  if (launches.empty())
    return;

  auto pointer = LLVM::LLVMPointerType::get(&getContext());
  auto voidType = LLVM::LLVMVoidType::get(&getContext());
  if (Operation *found =
          SymbolTable::lookupSymbolIn(getOperation(), runtimeFunction)) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(found);
    if (!function ||
        function.getFunctionType() !=
            LLVM::LLVMFunctionType::get(voidType, {pointer, pointer})) {
      found->emitError() << "the program's own @" << runtimeFunction
                         << " has the name of the runtime function that "
                            "launches call, and another type: rename it";
      return signalPassFailure();
    }
  }
  OpBuilder builder(&getContext());
  FailureOr<LLVM::LLVMFuncOp> callee = LLVM::lookupOrCreateFn(
      builder, getOperation(), runtimeFunction, {pointer, pointer}, voidType);
  if (failed(callee))
    return signalPassFailure();
  for (LaunchOp launch : launches)
    if (failed(convert(launch, *callee)))
      return signalPassFailure();
}
