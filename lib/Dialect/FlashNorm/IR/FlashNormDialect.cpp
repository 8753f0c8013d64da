//===- FlashNormDialect.cpp - The flashnorm dialect -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm;

/// An eps is printed as a bare f64 literal.
static ParseResult parseEps(AsmParser &parser, FloatAttr &eps) {
  double value;
  if (parser.parseFloat(value))
    return failure();
  eps = parser.getBuilder().getF64FloatAttr(value);
  return success();
}
static void printEps(AsmPrinter &printer, FloatAttr eps) {
  printer.printAttributeWithoutType(eps);
}

#include "flashnorm/Dialect/FlashNorm/IR/FlashNormDialect.cpp.inc"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormEnums.cpp.inc"

/// `, schedule = ping_pong, cluster = 2`; what is the default is left out.
static ParseResult parsePlacement(AsmParser &parser, PlanSchedule &schedule,
                                  int64_t &cluster) {
  schedule = PlanSchedule::Cooperative;
  cluster = 1;
  bool seenSchedule = false, seenCluster = false;
  while (succeeded(parser.parseOptionalComma())) {
    if (!seenSchedule && succeeded(parser.parseOptionalKeyword("schedule"))) {
      seenSchedule = true;
      if (parser.parseEqual())
        return failure();
      FailureOr<PlanSchedule> parsed = FieldParser<PlanSchedule>::parse(parser);
      if (failed(parsed))
        return failure();
      schedule = *parsed;
      continue;
    }
    if (!seenCluster && succeeded(parser.parseOptionalKeyword("cluster"))) {
      seenCluster = true;
      if (parser.parseEqual() || parser.parseInteger(cluster))
        return failure();
      continue;
    }
    return parser.emitError(parser.getCurrentLocation(),
                            "expected 'schedule' or 'cluster', each once");
  }
  return success();
}
static void printPlacement(AsmPrinter &printer, PlanSchedule schedule,
                           int64_t cluster) {
  if (schedule != PlanSchedule::Cooperative)
    printer << ", schedule = " << stringifyPlanSchedule(schedule);
  if (cluster != 1)
    printer << ", cluster = " << cluster;
}

#define GET_ATTRDEF_CLASSES
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormAttrs.cpp.inc"

void FlashNormDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormAttrs.cpp.inc"
      >();
}

void FlashNormDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormOps.cpp.inc"
      >();
}

LogicalResult
FlashNormDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                           unsigned argIndex,
                                           NamedAttribute attribute) {
  StringAttr name = attribute.getName();
  bool isUnit = name == getFrozenAttrName();
  bool isIndex = name == getPreparedAttrName() || name == getSourceAttrName();
  if (!isUnit && !isIndex)
    return success();
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError()
           << "only arguments of a function can be '" << name.getValue() << "'";
  if (isUnit && !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << name.getValue() << "' must be a unit attribute, got "
           << attribute.getValue();
  auto index = dyn_cast<IntegerAttr>(attribute.getValue());
  if (isIndex &&
      (!index || !index.getType().isInteger(64) || index.getInt() < 0))
    return op->emitOpError() << "'" << name.getValue()
                             << "' must be an i64 that is not negative, got "
                             << attribute.getValue();
  return success();
}

LogicalResult
FlashNormDialect::verifyOperationAttribute(Operation *op,
                                           NamedAttribute attribute) {
  if (attribute.getName() != getPrepareWeightsAttrName())
    return success();
  if (!isa<FunctionOpInterface>(op))
    return op->emitOpError() << "only a function can have '"
                             << getPrepareWeightsAttrName() << "'";
  if (!isa<FlatSymbolRefAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << getPrepareWeightsAttrName()
           << "' must be the name of a function, got " << attribute.getValue();
  return success();
}

LogicalResult NormAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               NormKind kind, FloatAttr eps) {
  if (!eps || !eps.getType().isF64())
    return emitError() << "eps must be an f64";
  double value = eps.getValueAsDouble();
  if (!(value >= 0) || eps.getValue().isInfinity())
    return emitError() << "eps must be finite and not negative, got " << value;
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               PlanStrategy strategy, StringRef chip,
                               PlanFamily family, ArrayRef<int64_t> tile,
                               ArrayRef<int64_t> warps, int64_t stages,
                               PlanSchedule, int64_t cluster) {
  if (tile.size() != 3)
    return emitError() << "tile needs 3 sizes (rows, columns, depth), got "
                       << tile.size();
  if (warps.size() != 2)
    return emitError() << "warps needs 2 sizes (rows, columns), got "
                       << warps.size();
  for (int64_t size : tile)
    if (size <= 0)
      return emitError() << "tile sizes must be positive, got " << size;
  for (int64_t size : warps)
    if (size <= 0)
      return emitError() << "warp counts must be positive, got " << size;
  if (stages <= 0)
    return emitError() << "stages must be positive, got " << stages;
  if (cluster <= 0)
    return emitError() << "cluster must be positive, got " << cluster;
  return success();
}
