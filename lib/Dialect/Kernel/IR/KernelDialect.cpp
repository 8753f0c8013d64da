//===- KernelDialect.cpp - The kernel dialect -----------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "flashnorm/Dialect/Support/PlacementFormat.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm::kernel;

/// `128x64xbf16`
static ParseResult parseTile(AsmParser &parser, SmallVector<int64_t> &shape,
                             Type &elementType) {
  return failure(
      failed(parser.parseDimensionList(shape, /*allowDynamic=*/false)) ||
      failed(parser.parseType(elementType)));
}
static void printTile(AsmPrinter &printer, ArrayRef<int64_t> shape,
                      Type elementType) {
  for (int64_t size : shape)
    printer << size << 'x';
  printer << elementType;
}

/// `128x256`
static ParseResult parseShape(AsmParser &parser, int64_t &rows,
                              int64_t &columns) {
  SmallVector<int64_t> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (shape.size() != 2)
    return parser.emitError(loc, "expected rows x columns");
  rows = shape[0];
  columns = shape[1];
  return success();
}
static void printShape(AsmPrinter &printer, int64_t rows, int64_t columns) {
  printer << rows << 'x' << columns;
}

#include "flashnorm/Dialect/Kernel/IR/KernelDialect.cpp.inc"
#include "flashnorm/Dialect/Kernel/IR/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelTypes.cpp.inc"

void KernelDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "flashnorm/Dialect/Kernel/IR/KernelAttrs.cpp.inc"
      >();
}

void KernelDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "flashnorm/Dialect/Kernel/IR/KernelTypes.cpp.inc"
      >();
}

void KernelDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "flashnorm/Dialect/Kernel/IR/KernelOps.cpp.inc"
      >();
}

LogicalResult ConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FamilyKind family, StringRef chip,
                                 ArrayRef<int64_t> tile,
                                 ArrayRef<int64_t> warps, Schedule schedule,
                                 ArrayRef<int64_t> cluster) {
  if (tile.size() != 3 || warps.size() != 2 || cluster.size() != 3)
    return emitError() << "needs 3 tile sizes, 2 warp counts and 3 cluster "
                          "sizes, got "
                       << tile.size() << ", " << warps.size() << " and "
                       << cluster.size();
  // Nothing larger runs, and products of these cannot overflow.
  constexpr int64_t maxTile = 1024, maxWarps = 32;
  for (int64_t size : tile)
    if (size < 1 || size > maxTile)
      return emitError() << "tile sizes must be in 1 to " << maxTile << ", got "
                         << size;
  for (int64_t count : warps)
    if (count < 1 || count > maxWarps)
      return emitError() << "warp counts must be in 1 to " << maxWarps
                         << ", got " << count;
  if (schedule == Schedule::PingPong && family != FamilyKind::Wgmma)
    return emitError() << "only wgmma has the schedule ping_pong";
  int64_t m = cluster[0], n = cluster[1], k = cluster[2];
  if (llvm::count(cluster, 1) < 2)
    return emitError() << "clusters have one size above 1, got " << m << "x"
                       << n << "x" << k;
  if (llvm::count(cluster, 1) < 3 && family != FamilyKind::Wgmma)
    return emitError() << "only wgmma has clusters, got " << m << "x" << n
                       << "x" << k;
  if (m != 1 && m != 2)
    return emitError() << "the cluster along M must be 1 or 2, got " << m;
  if (n != 1 && ((n != 2 && n != 4) || schedule != Schedule::PingPong))
    return emitError()
           << "the cluster along N must be 1, or 2 or 4 with ping_pong, got "
           << n;
  if (k != 1 &&
      ((k != 2 && k != 4 && k != 8) || schedule != Schedule::Cooperative))
    return emitError() << "the cluster along K must be 1, or 2, 4 or 8 with "
                          "cooperative, got "
                       << k;
  return success();
}

static LogicalResult verifySizes(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> sizes) {
  for (int64_t size : sizes)
    if (size < 1)
      return emitError() << "sizes must be positive, got " << size;
  return success();
}

LogicalResult SmemType::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> shape, Type elementType) {
  if (shape.size() != 2)
    return emitError() << "must have 2 dimensions, got " << shape.size();
  if (!elementType.isBF16() && !elementType.isF16())
    return emitError() << "element type must be bf16 or f16, got "
                       << elementType;
  return verifySizes(emitError, shape);
}

LogicalResult AccType::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t rows, int64_t columns) {
  return verifySizes(emitError, {rows, columns});
}

LogicalResult FragType::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t rows, int64_t columns) {
  return verifySizes(emitError, {rows, columns});
}

LogicalResult RowvecType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows) {
  return verifySizes(emitError, rows);
}

LogicalResult ColvecType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t columns) {
  return verifySizes(emitError, columns);
}
