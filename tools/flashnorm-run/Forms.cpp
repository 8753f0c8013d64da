//===- Forms.cpp - What the forms of a program have in common -------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace flashnorm;
using namespace flashnorm::run;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using mlir::ModuleOp;
using mlir::func::FuncOp;

// Attributes that folding weights leaves (--flashnorm-fold-norm-weight).
static constexpr StringRef prepareWeightsName = "flashnorm.prepare_weights";
static constexpr StringRef preparedName = "flashnorm.prepared";
static constexpr StringRef sourceName = "flashnorm.source";
static constexpr StringRef frozenName = "flashnorm.frozen";

Expected<std::vector<ArgumentInfo>> run::getArguments(FuncOp function) {
  Expected<Signature> signature = getSignature(function);
  if (!signature)
    return signature.takeError();
  std::vector<ArgumentInfo> arguments;
  for (auto [i, info] : llvm::enumerate(signature->arguments)) {
    auto type =
        mlir::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    ArgumentInfo argument;
    argument.type = info.type;
    for (int64_t size : type.getShape())
      argument.shape.push_back(mlir::ShapedType::isDynamic(size) ? -1 : size);
    argument.frozen = function.getArgAttr(i, frozenName) != nullptr;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Error run::runPipeline(ModuleOp module, StringRef what,
                       llvm::function_ref<void(mlir::OpPassManager &)> build) {
  mlir::PassManager pm(module.getContext(), ModuleOp::getOperationName());
  if (failed(mlir::applyPassManagerCLOptions(pm)))
    return createStringError("invalid pass manager options");
  build(pm);
  if (failed(pm.run(module)))
    return createStringError(what + " failed");
  return Error::success();
}

Expected<Preparation> run::getPreparation(ModuleOp module, FuncOp entry,
                                          int64_t numInputs) {
  Preparation preparation;
  const int64_t numArguments = entry.getNumArguments();
  auto reference =
      entry->getAttrOfType<mlir::FlatSymbolRefAttr>(prepareWeightsName);
  if (!reference) {
    if (numArguments != numInputs)
      return createStringError(
          "@" + entry.getName() + " takes " + Twine(numArguments) +
          " arguments after fusion and has no " + prepareWeightsName);
    return preparation;
  }
  auto prepare = module.lookupSymbol<FuncOp>(reference.getValue());
  if (!prepare)
    return createStringError(prepareWeightsName + " names @" +
                             reference.getValue() + ", which does not exist");
  auto readIndex = [](FuncOp function, int64_t argument, StringRef name,
                      int64_t limit) -> Expected<int64_t> {
    auto attr = mlir::dyn_cast_or_null<mlir::IntegerAttr>(
        function.getArgAttr(argument, name));
    if (!attr || attr.getInt() < 0 || attr.getInt() >= limit)
      return createStringError("@" + function.getName() + ": argument " +
                               Twine(argument) + " needs " + name + " below " +
                               Twine(limit));
    return attr.getInt();
  };
  preparation.function = reference.getValue().str();
  for (int64_t i = 0, e = prepare.getNumArguments(); i < e; ++i) {
    Expected<int64_t> source = readIndex(prepare, i, sourceName, numInputs);
    if (!source)
      return source.takeError();
    preparation.sources.push_back(*source);
  }
  for (int64_t i = numInputs; i < numArguments; ++i) {
    Expected<int64_t> result =
        readIndex(entry, i, preparedName, prepare.getNumResults());
    if (!result)
      return result.takeError();
    preparation.prepared.push_back(*result);
  }
  return preparation;
}

Expected<std::vector<Array>> run::callPrepared(HostProgram &program,
                                               StringRef entry,
                                               const Preparation &preparation,
                                               llvm::ArrayRef<Array> inputs) {
  std::vector<Array> arguments(inputs.begin(), inputs.end());
  if (!preparation.function.empty()) {
    std::vector<Array> sources;
    for (int64_t source : preparation.sources)
      sources.push_back(inputs[source]);
    auto prepared = program.call(preparation.function, sources);
    if (!prepared)
      return prepared.takeError();
    for (int64_t result : preparation.prepared)
      arguments.push_back((*prepared)[result]);
  }
  return program.call(entry, arguments);
}
