//===- FlashNormDialect.cpp - The flashnorm dialect -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "flashnorm/Dialect/Support/PlacementFormat.h"
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

/// "[128, 256, 64]"; how many sizes there must be, the verifier says.
static ParseResult parseSizes(AsmParser &parser,
                              SmallVectorImpl<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(sizes.emplace_back());
  });
}
static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer);
  printer << ']';
}

#include "flashnorm/Dialect/FlashNorm/IR/FlashNormDialect.cpp.inc"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNormEnums.cpp.inc"

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

/// A misspelt attribute would do nothing, and nobody would know.
static LogicalResult rejectAttribute(Operation *op, NamedAttribute attribute,
                                     const Twine &where, StringRef legal) {
  return op->emitOpError() << "unknown attribute '"
                           << attribute.getName().getValue() << "' on " << where
                           << "; FlashNorm has " << legal << " there";
}

LogicalResult FlashNormDialect::verifyRegionResultAttribute(
    Operation *op, unsigned regionIndex, unsigned resultIndex,
    NamedAttribute attribute) {
  return rejectAttribute(op, attribute, "result " + Twine(resultIndex), "none");
}

LogicalResult
FlashNormDialect::verifyRegionArgAttribute(Operation *op, unsigned regionIndex,
                                           unsigned argIndex,
                                           NamedAttribute attribute) {
  StringAttr name = attribute.getName();
  bool isUnit = name == getFrozenAttrName();
  bool isIndex = name == getPreparedAttrName() || name == getSourceAttrName();
  if (!isUnit && !isIndex)
    return rejectAttribute(
        op, attribute, "argument " + Twine(argIndex),
        "'flashnorm.frozen', 'flashnorm.prepared' and 'flashnorm.source'");
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
  if (name == getPreparedAttrName() &&
      cast<FunctionOpInterface>(op).getArgAttr(argIndex, getFrozenAttrName()))
    return op->emitOpError()
           << "argument " << argIndex << " is both '" << name.getValue()
           << "' and '" << getFrozenAttrName()
           << "'; it is computed or given, not both";
  if (name == getPreparedAttrName() &&
      !op->hasAttr(getPrepareWeightsAttrName()))
    return op->emitOpError()
           << "argument " << argIndex << " has '" << name.getValue()
           << "', but the function has no '" << getPrepareWeightsAttrName()
           << "'";
  return success();
}

/// A tensor that is passed from one function to another keeps its type. Other
/// levels change the types of the two functions in their own time.
static LogicalResult verifyPassed(FunctionOpInterface op, const Twine &what,
                                  Type type, Type expected) {
  if (!isa<TensorType>(type) || !isa<TensorType>(expected) || type == expected)
    return success();
  return op.emitOpError() << what << " has type " << type << ", expected "
                          << expected;
}

/// An argument's attribute, if it is what verifyRegionArgAttribute asks for.
static IntegerAttr getIndexAttr(FunctionOpInterface function, unsigned argument,
                                StringRef name) {
  auto index = function.getArgAttrOfType<IntegerAttr>(argument, name);
  if (!index || !index.getType().isInteger(64) || index.getInt() < 0)
    return {};
  return index;
}

/// @prepare makes the prepared arguments of `entry`.
static LogicalResult verifyPrepareFunction(FunctionOpInterface entry,
                                           FlatSymbolRefAttr name) {
  Operation *found = SymbolTable::lookupNearestSymbolFrom(entry, name);
  auto prepare = dyn_cast_or_null<FunctionOpInterface>(found);
  if (!prepare)
    return entry.emitOpError()
           << "'" << FlashNormDialect::getPrepareWeightsAttrName() << "' names "
           << name << ", which is no function of the module";
  // Below tensors, results may have become arguments or one structure.
  if (!llvm::all_of(prepare.getResultTypes(), llvm::IsaPred<TensorType>))
    return success();
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; ++i) {
    IntegerAttr index =
        getIndexAttr(entry, i, FlashNormDialect::getPreparedAttrName());
    if (!index || !isa<TensorType>(entry.getArgumentTypes()[i]))
      continue;
    if (index.getInt() >= int64_t(prepare.getNumResults()))
      return entry.emitOpError()
             << "argument " << i << " is prepared by result " << index.getInt()
             << " of " << name << ", which has " << prepare.getNumResults();
    if (failed(verifyPassed(entry, "prepared argument " + Twine(i),
                            entry.getArgumentTypes()[i],
                            prepare.getResultTypes()[index.getInt()])))
      return failure();
  }
  for (unsigned i = 0, e = prepare.getNumArguments(); i < e; ++i) {
    IntegerAttr index =
        getIndexAttr(prepare, i, FlashNormDialect::getSourceAttrName());
    if (!isa<TensorType>(prepare.getArgumentTypes()[i]))
      continue;
    if (!index)
      return entry.emitOpError()
             << "argument " << i << " of " << name << " has no '"
             << FlashNormDialect::getSourceAttrName() << "'";
    if (index.getInt() >= int64_t(entry.getNumArguments()))
      return entry.emitOpError()
             << "argument " << i << " of " << name << " is argument "
             << index.getInt() << " of a function that has "
             << entry.getNumArguments();
    if (failed(verifyPassed(entry, "argument " + Twine(index.getInt()),
                            entry.getArgumentTypes()[index.getInt()],
                            prepare.getArgumentTypes()[i])))
      return failure();
    // What is prepared is computed once, from what never changes.
    if (!entry.getArgAttr(index.getInt(),
                          FlashNormDialect::getFrozenAttrName()))
      return entry.emitOpError()
             << "argument " << i << " of " << name << " is argument "
             << index.getInt() << ", which is not '"
             << FlashNormDialect::getFrozenAttrName() << "'";
  }
  return success();
}

/// The function has the arguments and the result of a norm op.
static LogicalResult verifyNormFunction(FunctionOpInterface function,
                                        Attribute attribute) {
  StringRef name = FlashNormDialect::getNormAttrName();
  auto norm = dyn_cast<NormAttr>(attribute);
  if (!norm)
    return function.emitOpError()
           << "'" << name << "' must be a #flashnorm.norm, got " << attribute;
  // Below tensors, results may have become arguments.
  ArrayRef<Type> inputs = function.getArgumentTypes();
  ArrayRef<Type> results = function.getResultTypes();
  if (!llvm::all_of(inputs, llvm::IsaPred<TensorType>) ||
      !llvm::all_of(results, llvm::IsaPred<TensorType>))
    return success();
  unsigned maxInputs = norm.getKind() == NormKind::Layer ? 3 : 2;
  if (inputs.empty() || inputs.size() > maxInputs || results.size() != 1)
    return function.emitOpError() << "'" << name << "' needs 1 to " << maxInputs
                                  << " arguments and 1 result, got "
                                  << inputs.size() << " and " << results.size();
  auto isTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.getEncoding() &&
           (tensor.getElementType().isF16() ||
            tensor.getElementType().isBF16() ||
            tensor.getElementType().isF32() || tensor.getElementType().isF64());
  };
  for (Type type : llvm::concat<const Type>(inputs, results))
    if (!isTensor(type))
      return function.emitOpError() << "'" << name
                                    << "' needs ranked tensors of f16, bf16, "
                                       "f32 or f64, got "
                                    << type;
  auto x = cast<RankedTensorType>(inputs[0]);
  auto y = cast<RankedTensorType>(results[0]);
  if (!isEpsFor(norm.getEps().getValue(), x.getElementType()))
    return function.emitOpError()
           << "'" << name << "' needs an eps that is 0 or a normal number of "
           << (x.getElementType().isF64() ? "f64" : "f32") << ", got "
           << norm.getEps().getValueAsDouble();
  if (x.getRank() == 0 || x.isDynamicDim(x.getRank() - 1) ||
      x.getShape().back() == 0)
    return function.emitOpError()
           << "'" << name
           << "' needs a static last dimension that is not 0, got " << x;
  if (x.getShape() != y.getShape())
    return function.emitOpError() << "'" << name << "' maps " << x << " to "
                                  << y << "; the shapes must be the same";
  for (Type type : inputs.drop_front())
    if (cast<RankedTensorType>(type).getShape() !=
        ArrayRef<int64_t>(x.getShape().back()))
      return function.emitOpError()
             << "'" << name << "' needs vectors of " << x.getShape().back()
             << " elements behind x, got " << type;
  return success();
}

LogicalResult
FlashNormDialect::verifyOperationAttribute(Operation *op,
                                           NamedAttribute attribute) {
  StringAttr attributeName = attribute.getName();
  // Conversions leave these; docs/LaunchABI.md says what is in them.
  if (attributeName == "flashnorm.launch_abi" ||
      attributeName == "flashnorm.manifest") {
    if (isa<DictionaryAttr>(attribute.getValue()))
      return success();
    return op->emitOpError()
           << "'" << attributeName.getValue() << "' must be a dictionary, got "
           << attribute.getValue();
  }
  bool isNorm = attributeName == getNormAttrName();
  if (!isNorm && attributeName != getPrepareWeightsAttrName())
    return rejectAttribute(
        op, attribute, "an operation",
        "'flashnorm.prepare_weights', 'flashnorm.norm', 'flashnorm.launch_abi' "
        "and 'flashnorm.manifest'");
  auto entry = dyn_cast<FunctionOpInterface>(op);
  if (!entry)
    return op->emitOpError()
           << "only a function can have '" << attributeName.getValue() << "'";
  if (isNorm)
    return verifyNormFunction(entry, attribute.getValue());
  auto name = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
  if (!name)
    return op->emitOpError()
           << "'" << getPrepareWeightsAttrName()
           << "' must be the name of a function, got " << attribute.getValue();
  return verifyPrepareFunction(entry, name);
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

FloatType RoundingsAttr::getType(EpilogueStep step) const {
  switch (step) {
  case EpilogueStep::Product:
    return getProduct();
  case EpilogueStep::Bias:
    return getBias();
  case EpilogueStep::Activation:
    return getActivation();
  case EpilogueStep::Glu:
    return getGlu();
  case EpilogueStep::Residual:
    return getResidual();
  case EpilogueStep::Norm:
    return getNorm();
  case EpilogueStep::NormWeight:
    return getNormWeight();
  case EpilogueStep::NormBias:
    return getNormBias();
  }
  llvm_unreachable("all steps are listed");
}

RoundingsAttr RoundingsAttr::with(MLIRContext *context, RoundingsAttr roundings,
                                  EpilogueStep step, FloatType type) {
  std::array<FloatType, getMaxEnumValForEpilogueStep() + 1> types;
  if (roundings)
    for (unsigned i = 0; i < types.size(); ++i)
      types[i] = roundings.getType(EpilogueStep(i));
  types[unsigned(step)] = type;
  if (llvm::none_of(types, [](FloatType type) { return bool(type); }))
    return {};
  return std::apply(
      [&](auto... type) { return RoundingsAttr::get(context, type...); },
      types);
}

LogicalResult
RoundingsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      FloatType product, FloatType bias, FloatType activation,
                      FloatType glu, FloatType residual, FloatType norm,
                      FloatType normWeight, FloatType normBias) {
  bool isEmpty = true;
  for (FloatType type :
       {product, bias, activation, glu, residual, norm, normWeight, normBias}) {
    if (!type)
      continue;
    isEmpty = false;
    if (!type.isBF16() && !type.isF16())
      return emitError() << "steps round to bf16 or f16, got " << type;
  }
  if (isEmpty)
    return emitError() << "roundings need a step";
  return success();
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               PlanStrategy strategy, StringRef chip,
                               PlanFamily family, ArrayRef<int64_t> tile,
                               ArrayRef<int64_t> warps, int64_t stages,
                               PlanSchedule, ArrayRef<int64_t> cluster, bool,
                               int64_t prefetch) {
  if (tile.size() != 3)
    return emitError() << "tile needs 3 sizes (rows, columns, depth), got "
                       << tile.size();
  if (warps.size() != 2)
    return emitError() << "warps needs 2 sizes (rows, columns), got "
                       << warps.size();
  if (cluster.size() != 3)
    return emitError() << "cluster needs 3 sizes (rows, columns, depth), got "
                       << cluster.size();
  if (prefetch < 0)
    return emitError() << "prefetch must be positive, or 0 for none, got "
                       << prefetch;
  auto checkPositive = [&](StringRef what, ArrayRef<int64_t> sizes) {
    for (int64_t size : sizes)
      if (size <= 0)
        return LogicalResult(emitError()
                             << what << " must be positive, got " << size);
    return success();
  };
  return success(succeeded(checkPositive("tile sizes", tile)) &&
                 succeeded(checkPositive("warp counts", warps)) &&
                 succeeded(checkPositive("stages", stages)) &&
                 succeeded(checkPositive("cluster sizes", cluster)));
}
