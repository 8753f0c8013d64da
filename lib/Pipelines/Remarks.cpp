//===- Remarks.cpp - Collects what the passes report ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Pipelines/Remarks.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <mutex>

using namespace mlir;
using namespace flashnorm;

/// The first file position in a location, however it is wrapped.
static std::string describe(Location loc) {
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
    collected.location = describe(remark.getLocation());
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
  // `all` alone enables nothing: each kind needs a filter.
  remark::RemarkCategories categories{/*all=*/std::nullopt, /*passed=*/ours,
                                      /*missed=*/ours, /*analysis=*/ours,
                                      /*failed=*/ours};
  return remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

/// One line of a table of two columns: a title, then what is said of it.
static void printRow(raw_ostream &os, StringRef where, StringRef what) {
  os << "  " << llvm::left_justify(where, 28) << ' ' << what << '\n';
}

void flashnorm::printSummary(raw_ostream &os,
                             const std::vector<CollectedRemark> &remarks) {
  unsigned fused = 0, unfused = 0, planned = 0, unplanned = 0;
  for (const CollectedRemark &remark : remarks) {
    if (remark.category == "flashnorm-fuse-norms")
      ++(remark.isPassed ? fused : unfused);
    if (remark.category == "flashnorm-plan")
      ++(remark.isPassed ? planned : unplanned);
  }
  auto shortLocation = [](StringRef location) {
    return location.substr(location.rfind('/') + 1);
  };
  os << "norms: " << fused + unfused << " found, " << fused << " fused, "
     << unfused << " left unfused\n";
  for (const CollectedRemark &remark : remarks)
    if (remark.category == "flashnorm-fuse-norms")
      printRow(os, shortLocation(remark.location), remark.message);
  os << "matmuls: " << planned << " compiled, " << unplanned
     << " left to the host\n";
  for (const CollectedRemark &remark : remarks)
    if (remark.category == "flashnorm-plan")
      printRow(os, shortLocation(remark.location), remark.message);
  bool isFirst = true;
  for (const CollectedRemark &remark : remarks) {
    if (remark.isPassed || remark.category == "flashnorm-fuse-norms" ||
        remark.category == "flashnorm-plan")
      continue;
    if (isFirst)
      os << "not raised or not folded:\n";
    isFirst = false;
    printRow(os, shortLocation(remark.location), remark.message);
  }
}
