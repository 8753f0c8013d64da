//===- Remarks.h - Collects what the passes report --------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_PIPELINES_REMARKS_H
#define FLASHNORM_PIPELINES_REMARKS_H

#include "mlir/IR/MLIRContext.h"
#include <string>
#include <vector>

namespace flashnorm {

/// One remark of a FlashNorm pass.
struct CollectedRemark {
  bool isPassed = false; ///< an optimisation was made; else it was missed
  std::string category;  ///< the pass: "flashnorm-fuse-norms"
  std::string name;      ///< the kind: "NormFused"
  std::string function;
  std::string location; ///< "file:line:column"
  std::string message;
};

/// From now on, remarks of FlashNorm's passes are added to `remarks`, which
/// must outlive the context's remark engine. Fails if the engine cannot be set
/// up.
llvm::LogicalResult collectRemarks(mlir::MLIRContext &context,
                                   std::vector<CollectedRemark> &remarks);

/// "file:line:column", the first position in a location, however it is wrapped;
/// "unknown" where there is none.
std::string describeLocation(mlir::Location loc);

} // namespace flashnorm

#endif // FLASHNORM_PIPELINES_REMARKS_H
