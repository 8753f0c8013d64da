//===- PlacementFormat.h - Textual form of schedule and cluster -*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `, schedule = ping_pong, cluster = [1, 2, 1]`, the tail of #flashnorm.plan
// and #kernel.config; the former may add `, resident_weight, prefetch = 4`.
// What is the default, the enum's Cooperative, a cluster of one CTA and no
// prefetch, is left out. For custom<Placement>($schedule, $cluster) of an
// attribute's assembly format.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H
#define FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H

#include "mlir/IR/DialectImplementation.h"

namespace flashnorm {

/// `residentWeight`, `prefetch`: null where there is no such thing.
template <typename ScheduleT>
mlir::ParseResult parsePlacement(mlir::AsmParser &parser, ScheduleT &schedule,
                                 llvm::SmallVectorImpl<int64_t> &cluster,
                                 bool *residentWeight = nullptr,
                                 int64_t *prefetch = nullptr) {
  schedule = ScheduleT::Cooperative;
  cluster.assign(3, 1);
  bool seenSchedule = false, seenCluster = false;
  while (succeeded(parser.parseOptionalComma())) {
    if (!seenSchedule && succeeded(parser.parseOptionalKeyword("schedule"))) {
      seenSchedule = true;
      if (parser.parseEqual())
        return mlir::failure();
      mlir::FailureOr<ScheduleT> parsed =
          mlir::FieldParser<ScheduleT>::parse(parser);
      if (failed(parsed))
        return mlir::failure();
      schedule = *parsed;
      continue;
    }
    if (!seenCluster && succeeded(parser.parseOptionalKeyword("cluster"))) {
      seenCluster = true;
      cluster.clear();
      if (parser.parseEqual() ||
          parser.parseCommaSeparatedList(
              mlir::AsmParser::Delimiter::Square,
              [&] { return parser.parseInteger(cluster.emplace_back()); }))
        return mlir::failure();
      continue;
    }
    if (residentWeight && !*residentWeight &&
        succeeded(parser.parseOptionalKeyword("resident_weight"))) {
      *residentWeight = true;
      continue;
    }
    if (prefetch && !*prefetch &&
        succeeded(parser.parseOptionalKeyword("prefetch"))) {
      if (parser.parseEqual())
        return mlir::failure();
      llvm::SMLoc location = parser.getCurrentLocation();
      if (parser.parseInteger(*prefetch))
        return mlir::failure();
      if (*prefetch < 1)
        return parser.emitError(location)
               << "expected a positive number of stages, got " << *prefetch;
      continue;
    }
    return parser.emitError(parser.getCurrentLocation())
           << "expected "
           << (residentWeight
                   ? "'schedule', 'cluster', 'resident_weight' or 'prefetch'"
                   : "'schedule' or 'cluster'")
           << ", each once";
  }
  return mlir::success();
}

template <typename ScheduleT>
mlir::ParseResult parsePlacement(mlir::AsmParser &parser, ScheduleT &schedule,
                                 llvm::SmallVectorImpl<int64_t> &cluster,
                                 bool &residentWeight, int64_t &prefetch) {
  residentWeight = false;
  prefetch = 0;
  return parsePlacement(parser, schedule, cluster, &residentWeight, &prefetch);
}

template <typename ScheduleT>
void printPlacement(mlir::AsmPrinter &printer, ScheduleT schedule,
                    llvm::ArrayRef<int64_t> cluster,
                    bool residentWeight = false, int64_t prefetch = 0) {
  if (schedule != ScheduleT::Cooperative)
    printer << ", schedule = " << schedule;
  if (!llvm::all_of(cluster, [](int64_t size) { return size == 1; })) {
    printer << ", cluster = [";
    llvm::interleaveComma(cluster, printer);
    printer << "]";
  }
  if (residentWeight)
    printer << ", resident_weight";
  if (prefetch)
    printer << ", prefetch = " << prefetch;
}

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H
