//===- Summary.cpp - What became of norms and matmuls ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Pipelines/Summary.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/PlanUtils.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace flashnorm;

void CompileSummary::addInput(ModuleOp module) {
  llvm::DenseSet<std::pair<Value, Attribute>> preNorms;
  module.walk([&](MatmulOp op) {
    fusedInInput += op.getPostNorm().has_value();
    // Several matmuls share one norm.
    if (op.getPreNorm() &&
        preNorms.insert({op.getInput(), op.getPreNormAttr()}).second)
      ++fusedInInput;
  });
}

void CompileSummary::addPlanned(ModuleOp module) {
  module.walk([&](LaunchOp op) { launches.push_back(op); });
  module.walk([&](MatmulOp op) {
    if (op.getPlan())
      plans.push_back(describePlan(getPlan(op.getPlanAttr())));
  });
}

void CompileSummary::addCompiled(ModuleOp module,
                                 const std::vector<Artifact> &artifacts) {
  // What a kernel takes, by "module::kernel".
  llvm::StringMap<std::string> takes;
  for (const Artifact &artifact : artifacts) {
    const llvm::json::Object *manifest = artifact.manifest.getAsObject();
    const llvm::json::Array *entries =
        manifest ? manifest->getArray("kernels") : nullptr;
    if (!entries)
      continue;
    for (const llvm::json::Value &entry : *entries) {
      const llvm::json::Object *kernel = entry.getAsObject();
      if (!kernel)
        continue;
      takes[artifact.name +
            "::" + kernel->getString("name").value_or("").str()] =
          llvm::formatv("{0} threads and {1} bytes of shared memory in a CTA",
                        kernel->getInteger("block").value_or(0),
                        kernel->getInteger("shared_memory").value_or(0))
              .str();
      ++kernels;
    }
  }
  // Each planned matmul has become a launch in its place.
  size_t next = 0;
  module.walk([&](Operation *op) {
    unfused += isa<RMSNormOp, LayerNormOp>(op);
    unplanned += isa<MatmulOp>(op);
    auto launch = dyn_cast<LaunchOp>(op);
    if (!launch)
      return;
    SymbolRefAttr symbol = launch.getKernel();
    std::string name = (symbol.getRootReference().getValue() +
                        "::" + symbol.getLeafReference().getValue())
                           .str();
    std::string text = name + ": ";
    bool isOld = llvm::is_contained(launches, op);
    if (!isOld && next < plans.size())
      text += plans[next++] + "; ";
    auto found = takes.find(name);
    text += found != takes.end()
                ? found->second
                : "of an earlier compilation, not in these files";
    compiled.push_back({describeLocation(op->getLoc()), text});
  });
}

/// One line of a table of two columns: a title, then what is said of it.
static void printRow(raw_ostream &os, StringRef location, StringRef text) {
  location = location.substr(location.rfind('/') + 1);
  os << "  " << llvm::left_justify(location, 28) << ' ' << text << '\n';
}

void CompileSummary::print(raw_ostream &os,
                           const std::vector<CollectedRemark> &remarks) const {
  auto isNorm = [](const CollectedRemark &remark) {
    return remark.category == "flashnorm-fuse-norms";
  };
  // Matmuls that stay on the host, raised or not.
  auto isLeftMatmul = [](const CollectedRemark &remark) {
    return !remark.isPassed && (remark.category == "flashnorm-plan" ||
                                remark.category == "flashnorm-raise-matmuls");
  };
  unsigned fused = fusedInInput, notRaised = 0;
  for (const CollectedRemark &remark : remarks) {
    fused += isNorm(remark) && remark.isPassed;
    notRaised +=
        !remark.isPassed && remark.category == "flashnorm-raise-matmuls";
  }
  os << "norms: " << fused + unfused << " found, " << fused << " fused, "
     << unfused << " left unfused";
  if (fusedInInput)
    os << "; " << fusedInInput << " came fused";
  os << '\n';
  for (const CollectedRemark &remark : remarks)
    if (isNorm(remark))
      printRow(os, remark.location, remark.message);

  unsigned left = unplanned + notRaised;
  os << "matmuls: " << compiled.size() + left << " found, " << compiled.size()
     << " compiled (" << kernels << " kernels), " << left
     << " left to the host\n";
  for (const Row &row : compiled)
    printRow(os, row.location, row.text);
  for (const CollectedRemark &remark : remarks)
    if (isLeftMatmul(remark))
      printRow(os, remark.location, remark.message);

  bool isFirst = true;
  for (const CollectedRemark &remark : remarks) {
    if (remark.isPassed || isNorm(remark) || isLeftMatmul(remark))
      continue;
    if (isFirst)
      os << "not raised or not folded:\n";
    isFirst = false;
    printRow(os, remark.location, remark.message);
  }
}
