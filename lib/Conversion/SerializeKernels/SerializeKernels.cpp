//===- SerializeKernels.cpp - Kernels as PTX or machine code --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Passes.h"
#include "flashnorm/Conversion/Ptxas.h"
#include "flashnorm/Planning/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_SERIALIZEKERNELSPASS
#include "flashnorm/Conversion/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

static constexpr StringLiteral launchAbiName = "flashnorm.launch_abi";
static constexpr StringLiteral manifestName = "flashnorm.manifest";

namespace {
struct SerializeKernels
    : ::flashnorm::impl::SerializeKernelsPassBase<SerializeKernels> {
  using ::flashnorm::impl::SerializeKernelsPassBase<
      SerializeKernels>::SerializeKernelsPassBase;

  void runOnOperation() override;

private:
  LogicalResult serialize(gpu::GPUModuleOp module);
  /// The chip that all kernels of the module are for.
  FailureOr<const TargetInfo *> findTarget(gpu::GPUModuleOp module);
  FailureOr<int64_t> findPtxVersion(Location loc, const TargetInfo &target);
  DictionaryAttr manifest(gpu::GPUModuleOp module, const TargetInfo &target,
                          int64_t ptxVersion);
};
} // namespace

FailureOr<const TargetInfo *>
SerializeKernels::findTarget(gpu::GPUModuleOp module) {
  std::string found = chip;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    auto abi = func->getAttrOfType<DictionaryAttr>(launchAbiName);
    auto attr = abi ? abi.getAs<StringAttr>("chip") : StringAttr();
    if (!attr)
      continue;
    if (found.empty())
      found = attr.str();
    if (found != attr.getValue())
      return emitError(func.getLoc())
             << "kernel '" << func.getName() << "' is for " << attr.getValue()
             << ", not for " << found << "; plan it again";
  }
  const TargetInfo *target = lookupTarget(found);
  if (!target)
    return emitError(module.getLoc())
           << "unknown chip '" << found << "'; one of " << describeLegalChips();
  return target;
}

FailureOr<int64_t> SerializeKernels::findPtxVersion(Location loc,
                                                    const TargetInfo &target) {
  if (ptxVersion == 0)
    return target.defaultPtxVersion;
  if (!llvm::is_contained(target.ptxVersions, ptxVersion.getValue()))
    return emitError(loc) << "unknown PTX version " << ptxVersion.getValue()
                          << " for " << target.chip << "; one of "
                          << describeLegalPtxVersions(target);
  return ptxVersion.getValue();
}

DictionaryAttr SerializeKernels::manifest(gpu::GPUModuleOp module,
                                          const TargetInfo &target,
                                          int64_t version) {
  Builder b(&getContext());
  SmallVector<Attribute> kernels;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>())
    if (auto abi = func->getAttrOfType<DictionaryAttr>(launchAbiName)) {
      // The chip is the module's.
      NamedAttrList entries(abi);
      entries.erase("chip");
      kernels.push_back(entries.getDictionary(&getContext()));
    }
  return b.getDictionaryAttr(
      {b.getNamedAttr("chip", b.getStringAttr(target.chip)),
       b.getNamedAttr("kernels", b.getArrayAttr(kernels)),
       b.getNamedAttr("module", module.getSymNameAttr()),
       b.getNamedAttr("ptx_version", b.getI64IntegerAttr(version)),
       b.getNamedAttr("version", b.getI64IntegerAttr(3))});
}

LogicalResult SerializeKernels::serialize(gpu::GPUModuleOp module) {
  // Nothing says for which chip, or how to launch, what others have written.
  if (llvm::none_of(
          module.getOps<LLVM::LLVMFuncOp>(),
          [](LLVM::LLVMFuncOp func) { return func->hasAttr(launchAbiName); }))
    return emitError(module.getLoc())
           << "gpu.module @" << module.getName() << " has no kernel with '"
           << launchAbiName
           << "', so that FlashNorm did not make it; compile it by itself and "
              "leave it out of this module";
  FailureOr<const TargetInfo *> target = findTarget(module);
  if (failed(target))
    return failure();
  FailureOr<int64_t> version = findPtxVersion(module.getLoc(), **target);
  if (failed(version))
    return failure();
  MLIRContext *context = &getContext();
  OpBuilder b(module);
  DictionaryAttr manifestAttr = manifest(module, **target, *version);
  for (auto func : module.getOps<LLVM::LLVMFuncOp>())
    func->removeAttr(launchAbiName);

  // O3 would also unroll the loops of the producer. Of 264 kernels none gained
  // by that, and it took up to half of the time.
  auto targetAttr = NVVM::NVVMTargetAttr::get(
      context, /*optLevel=*/2, "nvptx64-nvidia-cuda", (*target)->chip,
      "+ptx" + std::to_string(*version), /*targetFlags=*/nullptr,
      /*linkFiles=*/nullptr, /*verifyTarget=*/false);
  auto serializer = dyn_cast<gpu::TargetAttrInterface>(targetAttr);
  if (!serializer)
    return emitError(module.getLoc())
           << "the NVVM target cannot serialise: its interface is not "
              "registered";
  gpu::TargetOptions options({}, {}, {}, {}, gpu::CompilationTarget::Assembly);
  auto object = serializer.serializeToObject(module, options);
  if (!object)
    return emitError(module.getLoc())
           << "cannot print PTX for " << (*target)->chip;
  StringRef ptx(object->data(), object->size());
  // The text ends with a null character, which is none of it.
  ptx = ptx.rtrim('\0');

  gpu::CompilationTarget kind = gpu::CompilationTarget::Assembly;
  std::string data = ptx.str();
  if (format == "cubin") {
    llvm::Expected<std::optional<std::string>> program = findPtxas(ptxas);
    if (!program)
      return emitError(module.getLoc()) << llvm::toString(program.takeError());
    if (!*program)
      return emitError(module.getLoc())
             << "format=cubin needs ptxas, which is neither in the search path "
                "nor under CUDA_HOME; use format=ptx or name it with ptxas=";
    llvm::Expected<std::string> cubin =
        assemble(**program, ptx, (*target)->chip);
    if (!cubin)
      return emitError(module.getLoc()) << llvm::toString(cubin.takeError());
    data = std::move(*cubin);
    kind = gpu::CompilationTarget::Binary;
  }
  auto objectAttr =
      gpu::ObjectAttr::get(context, targetAttr, kind, b.getStringAttr(data),
                           DictionaryAttr(), gpu::KernelTableAttr());
  auto binary =
      gpu::BinaryOp::create(b, module.getLoc(), module.getName(),
                            gpu::OffloadingLLVMTranslationAttrInterface(),
                            ArrayRef<Attribute>{objectAttr});
  binary->setAttr(manifestName, manifestAttr);
  module.erase();
  return success();
}

void SerializeKernels::runOnOperation() {
  if (format != "ptx" && format != "cubin") {
    emitError(getOperation().getLoc())
        << "unknown format '" << format
        << "'; one of kernel, nvvm (both of --flashnorm-compile only), ptx, "
           "cubin";
    return signalPassFailure();
  }
  // Options are checked even where there is nothing to do.
  if (!chip.empty()) {
    Location loc = getOperation().getLoc();
    const TargetInfo *target = lookupTarget(chip);
    if (!target)
      emitError(loc) << "unknown chip '" << chip << "'; one of "
                     << describeLegalChips();
    if (!target || failed(findPtxVersion(loc, *target)))
      return signalPassFailure();
  }
  auto modules = llvm::to_vector(getOperation().getOps<gpu::GPUModuleOp>());
  for (gpu::GPUModuleOp module : modules)
    if (failed(serialize(module)))
      return signalPassFailure();
}
