//===- Remarks.cpp - Collects what the passes report ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Pipelines/Remarks.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include <mutex>

using namespace mlir;
using namespace flashnorm;

std::string flashnorm::describeLocation(Location loc) {
  std::string text;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text.empty() ? "unknown" : text;
}

namespace {
class Collector : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::vector<CollectedRemark> &remarks)
      : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    CollectedRemark collected;
    collected.isPassed = remark.getRemarkType() == llvm::remarks::Type::Passed;
    collected.category = remark.getCategoryName().str();
    collected.name = remark.getRemarkName().str();
    collected.function = remark.getFunction().str();
    collected.location = describeLocation(remark.getLocation());
    for (const auto &argument : remark.getArgs())
      collected.message += argument.val;
    // Functions are processed in parallel.
    std::lock_guard<std::mutex> lock(mutex);
    remarks.push_back(std::move(collected));
  }

private:
  std::vector<CollectedRemark> &remarks;
  std::mutex mutex;
};
} // namespace

LogicalResult flashnorm::collectRemarks(MLIRContext &context,
                                        std::vector<CollectedRemark> &remarks) {
  std::string ours = "flashnorm-.*";
  // `all` alone enables nothing: each kind needs a filter. Analyses count what
  // the other kinds say of each.
  remark::RemarkCategories categories{/*all=*/std::nullopt, /*passed=*/ours,
                                      /*missed=*/ours,
                                      /*analysis=*/std::nullopt,
                                      /*failed=*/ours};
  return remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}
