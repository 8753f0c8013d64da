//===- Artifacts.cpp - What comes out of a compiled module ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Pipelines/Artifacts.h"
#include "flashnorm/Conversion/Ptxas.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm;

llvm::json::Value flashnorm::toJSON(Attribute attr) {
  return llvm::TypeSwitch<Attribute, llvm::json::Value>(attr)
      .Case([](DictionaryAttr dictionary) {
        llvm::json::Object object;
        for (NamedAttribute entry : dictionary)
          object[entry.getName().getValue()] = toJSON(entry.getValue());
        return llvm::json::Value(std::move(object));
      })
      .Case([](ArrayAttr elements) {
        llvm::json::Array array;
        for (Attribute element : elements)
          array.push_back(toJSON(element));
        return llvm::json::Value(std::move(array));
      })
      .Case([](StringAttr string) {
        return llvm::json::Value(string.getValue().str());
      })
      // Before integers: a boolean is an i1 attribute, too.
      .Case([](BoolAttr boolean) {
        return llvm::json::Value(boolean.getValue());
      })
      .Case([](IntegerAttr integer) {
        return llvm::json::Value(integer.getInt());
      })
      .Default([](Attribute) { return llvm::json::Value(nullptr); });
}

FailureOr<std::vector<Artifact>> flashnorm::collectArtifacts(ModuleOp module) {
  std::vector<Artifact> artifacts;
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    auto manifest = binary->getAttrOfType<DictionaryAttr>("flashnorm.manifest");
    if (!manifest)
      return binary.emitOpError()
             << "has no 'flashnorm.manifest': FlashNorm did not make it";
    if (binary.getObjects().size() != 1)
      return binary.emitOpError()
             << "needs one object, got " << binary.getObjects().size();
    auto object = dyn_cast<gpu::ObjectAttr>(binary.getObjects()[0]);
    if (!object)
      return binary.emitOpError() << "holds something that is no gpu.object";
    Artifact artifact;
    artifact.name = binary.getName().str();
    if (auto chip = manifest.getAs<StringAttr>("chip"))
      artifact.chip = chip.str();
    artifact.isText = object.getFormat() == gpu::CompilationTarget::Assembly;
    artifact.object = object.getObject().str();
    artifact.manifest = toJSON(manifest);
    artifacts.push_back(std::move(artifact));
  }
  return artifacts;
}

llvm::Expected<std::optional<std::string>>
flashnorm::assembleArtifact(const Artifact &artifact, StringRef ptxas) {
  llvm::Expected<std::optional<std::string>> program = findPtxas(ptxas);
  if (!program)
    return program.takeError();
  if (!*program)
    return std::nullopt;
  llvm::Expected<std::string> cubin =
      assemble(**program, artifact.object, artifact.chip);
  if (!cubin)
    return cubin.takeError();
  return std::optional<std::string>(std::move(*cubin));
}
