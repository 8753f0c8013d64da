//===- FlashNormToKernel.cpp - Kernels for fused ops ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSkeleton.h"
#include "OperandCheck.h"
#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_CONVERTFLASHNORMTOKERNELPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// Equal strings: one kernel serves both ops.
static std::string kernelKey(MatmulOp op) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  unsigned weight = op.getWeightMutable().getOperandNumber();
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = cast<ShapedType>(operand.get().getType());
    // Leading sizes count as rows, known at run time.
    if (type.getRank() == 1 || operand.getOperandNumber() == weight)
      stream << type << ' ';
    else
      stream << "rows x " << type.getShape().back() << 'x'
             << type.getElementType() << ' ';
    if (std::optional<int64_t> stride = getRowStride(operand.get()))
      stream << "row stride " << *stride << ' ';
  }
  stream << op->getAttrDictionary();
  return key;
}

namespace {
struct ConvertFlashNormToKernel
    : ::flashnorm::impl::ConvertFlashNormToKernelPassBase<
          ConvertFlashNormToKernel> {
  using ::flashnorm::impl::ConvertFlashNormToKernelPassBase<
      ConvertFlashNormToKernel>::ConvertFlashNormToKernelPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<MatmulOp> ops;
    module.walk([&](MatmulOp op) {
      if (op.getPlan())
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    for (MatmulOp op : ops)
      if (failed(verifyPlanOf(op)) || failed(checkKernelOperands(op)))
        return signalPassFailure();

    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    // Not the name of kernels that an earlier compilation took out of the
    // module: its launches would find ours instead.
    llvm::StringSet<> taken;
    module.walk([&](LaunchOp op) {
      taken.insert(op.getKernel().getRootReference().getValue());
    });
    std::string moduleName = "kernels";
    for (unsigned i = 0; taken.contains(moduleName); ++i)
      moduleName = "kernels_" + std::to_string(i);
    auto gpuModule =
        gpu::GPUModuleOp::create(builder, module.getLoc(), moduleName);
    SymbolTable(module).insert(gpuModule);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    builder.getUnitAttr());
    SymbolTable kernels(gpuModule);
    llvm::StringMap<StringAttr> known;
    for (MatmulOp op : ops) {
      StringAttr &name = known[kernelKey(op)];
      if (!name) {
        builder.setInsertionPointToEnd(gpuModule.getBody());
        kernel::FuncOp func =
            buildKernel(builder, op,
                        (stringifyPlanStrategy(op.getPlanAttr().getStrategy()) +
                         "_" + Twine(op.getN()) + "x" + Twine(op.getK()))
                            .str());
        name = kernels.insert(func);
        ++numKernels;
      }
      builder.setInsertionPoint(op);
      SmallVector<Value> inputs(
          op->getOperands().drop_back(op.getInits().size()));
      auto launch =
          LaunchOp::create(builder, op.getLoc(), op->getResultTypes(),
                           SymbolRefAttr::get(gpuModule.getSymNameAttr(),
                                              FlatSymbolRefAttr::get(name)),
                           inputs, op.getInits());
      op->replaceAllUsesWith(launch->getResults());
      op.erase();
      ++numLaunches;
    }
  }
};
} // namespace
