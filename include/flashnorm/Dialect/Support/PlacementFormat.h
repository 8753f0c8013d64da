//===- PlacementFormat.h - Textual form of schedule and cluster -*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `, schedule = ping_pong, cluster = [1, 2, 1]`, the tail of #flashnorm.plan
// and #kernel.config; the former may add `, resident_weight`. What is the
// default, the enum's Cooperative and a cluster of one CTA, is left out. For
// custom<Placement>($schedule, $cluster) of an attribute's assembly format.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H
#define FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H

#include "mlir/IR/DialectImplementation.h"

namespace flashnorm {

/// `residentWeight`: null where there is no such thing.
template <typename ScheduleT>
mlir::ParseResult parsePlacement(mlir::AsmParser &parser, ScheduleT &schedule,
                                 llvm::SmallVectorImpl<int64_t> &cluster,
                                 bool *residentWeight = nullptr) {
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
    return parser.emitError(parser.getCurrentLocation())
           << "expected "
           << (residentWeight ? "'schedule', 'cluster' or 'resident_weight'"
                              : "'schedule' or 'cluster'")
           << ", each once";
  }
  return mlir::success();
}

template <typename ScheduleT>
mlir::ParseResult parsePlacement(mlir::AsmParser &parser, ScheduleT &schedule,
                                 llvm::SmallVectorImpl<int64_t> &cluster,
                                 bool &residentWeight) {
  residentWeight = false;
  return parsePlacement(parser, schedule, cluster, &residentWeight);
}

template <typename ScheduleT>
void printPlacement(mlir::AsmPrinter &printer, ScheduleT schedule,
                    llvm::ArrayRef<int64_t> cluster,
                    bool residentWeight = false) {
  if (schedule != ScheduleT::Cooperative)
    printer << ", schedule = " << schedule;
  if (!llvm::all_of(cluster, [](int64_t size) { return size == 1; })) {
    printer << ", cluster = [";
    llvm::interleaveComma(cluster, printer);
    printer << "]";
  }
  if (residentWeight)
    printer << ", resident_weight";
}

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_SUPPORT_PLACEMENTFORMAT_H
