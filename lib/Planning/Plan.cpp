//===- Plan.cpp - Names of the planner's enums, sizes of a plan -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Plan.h"
#include "flashnorm/Planning/Problem.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

using namespace flashnorm;
using llvm::StringRef;

StringRef flashnorm::stringify(Family family) {
  switch (family) {
  case Family::MmaSync:
    return "mma_sync";
  case Family::Wgmma:
    return "wgmma";
  case Family::Tcgen05:
    return "tcgen05";
  }
  llvm_unreachable("unknown family");
}

std::optional<Family> flashnorm::parseFamily(StringRef name) {
  return llvm::StringSwitch<std::optional<Family>>(name)
      .Case("mma_sync", Family::MmaSync)
      .Case("wgmma", Family::Wgmma)
      .Case("tcgen05", Family::Tcgen05)
      .Default(std::nullopt);
}

StringRef flashnorm::stringify(Strategy strategy) {
  switch (strategy) {
  case Strategy::Gemm:
    return "gemm";
  case Strategy::WideTile:
    return "wide_tile";
  case Strategy::LazyPreNorm:
    return "lazy_pre_norm";
  }
  llvm_unreachable("unknown strategy");
}

std::optional<Strategy> flashnorm::parseStrategy(StringRef name) {
  return llvm::StringSwitch<std::optional<Strategy>>(name)
      .Case("gemm", Strategy::Gemm)
      .Case("wide_tile", Strategy::WideTile)
      .Case("lazy_pre_norm", Strategy::LazyPreNorm)
      .Default(std::nullopt);
}

StringRef flashnorm::stringify(Schedule schedule) {
  switch (schedule) {
  case Schedule::Cooperative:
    return "cooperative";
  case Schedule::PingPong:
    return "ping_pong";
  }
  llvm_unreachable("unknown schedule");
}

StringRef flashnorm::stringify(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  case ElementType::F32:
    return "f32";
  }
  llvm_unreachable("unknown element type");
}

StringRef flashnorm::stringify(Norm norm) {
  switch (norm) {
  case Norm::None:
    return "none";
  case Norm::RMS:
    return "rms";
  case Norm::Layer:
    return "layer";
  }
  llvm_unreachable("unknown norm");
}

int64_t Plan::weightColumns(bool transposeWeight) const {
  return family == Family::Wgmma && !transposeWeight ? llvm::alignTo(tileN, 64)
                                                     : tileN;
}

SliceDeal flashnorm::dealSlices(int64_t slices, int64_t ctas) {
  int64_t each = llvm::divideCeil(slices, ctas);
  while (slices % each != 0)
    ++each;
  return {slices / each, each};
}

SliceDeal flashnorm::dealSlices(const Plan &plan) {
  constexpr int64_t sliceColumns = 32;
  return dealSlices(plan.tileN / plan.warpsN / sliceColumns, plan.clusterK);
}
