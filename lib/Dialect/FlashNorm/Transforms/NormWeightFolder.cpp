//===- NormWeightFolder.cpp - Moves norm weights into matmul weights ------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NormWeightFolder.h"
#include "ProductRounding.h"
#include "WeightProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace flashnorm;

/// Larger constants stay out of the IR.
static constexpr int64_t maxConstantBytes = 1 << 20;
/// Smaller products of frozen weights are not folded; see checkSize.
static constexpr int64_t minProductSize = 1024;
static constexpr int64_t minPostNormK = 64;
/// More operations than this are not repeated in the prepare function.
static constexpr unsigned maxFactorOps = 16;
/// What fusion may do to the RMS error of a result.
static constexpr double maxErrorRatio = 1.05;

namespace {
/// A value that is the same on every call: a constant, a frozen argument, or
/// what is computed from such.
struct Factor {
  DenseElementsAttr constant;
  /// Computes the value from frozen arguments, operands before users.
  SetVector<Operation *> ops;
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be folded
//===----------------------------------------------------------------------===//

static bool isFrozen(func::FuncOp entry, BlockArgument argument) {
  return argument.getOwner() == &entry.getBody().front() &&
         argument.getArgNumber() < entry.getNumArguments() &&
         entry.getArgAttr(argument.getArgNumber(),
                          FlashNormDialect::getFrozenAttrName());
}

static bool isSmallConstant(Operation *op) {
  Attribute constant;
  if (!matchPattern(op, m_Constant(&constant)))
    return false;
  auto elements = dyn_cast<DenseElementsAttr>(constant);
  auto type = dyn_cast<ShapedType>(op->getResult(0).getType());
  if (!type)
    return true;
  if (!elements || !type.getElementType().isIntOrFloat())
    return false;
  // A splat may have more elements than 64 bits count.
  std::optional<int64_t> bits = type.getElementTypeBitWidth();
  for (int64_t size : type.getShape())
    bits = bits ? llvm::checkedMul(*bits, size) : std::nullopt;
  return bits && *bits / 8 <= maxConstantBytes;
}

/// Collects what computes `value` from frozen arguments and constants.
static bool collectOps(func::FuncOp entry, Value value,
                       SetVector<Operation *> &ops, unsigned depth = 0) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isFrozen(entry, argument);
  Operation *op = value.getDefiningOp();
  if (ops.contains(op))
    return true;
  if (ops.size() + depth >= maxFactorOps ||
      op->getBlock() != &entry.getBody().front() ||
      (op->hasTrait<OpTrait::ConstantLike>() && !isSmallConstant(op)) ||
      !isMemoryEffectFree(op))
    return false;
  // Values from outside of its regions are operands too.
  SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  for (Value input : inputs)
    if (!collectOps(entry, input, ops, depth + 1))
      return false;
  ops.insert(op);
  return true;
}

static std::optional<Factor> getFactor(func::FuncOp entry, Value value) {
  Factor factor;
  if (!collectOps(entry, value, factor.ops))
    return std::nullopt;
  if (Operation *op = value.getDefiningOp();
      op && !matchPattern(op, m_Constant(&factor.constant)) &&
      llvm::all_of(factor.ops, [](Operation *op) {
        return op->getNumOperands() == 0 || isa<tensor::EmptyOp>(op);
      }))
    return std::nullopt;
  return factor;
}

/// Why the product has too few elements for its rounding errors to average out,
/// or nothing. They fill all N dimensions of a row of the result, those of g *
/// x only the K dimensions of the rows of W: a norm behind the matmul, which
/// takes one dimension away, takes 1 / K of the original's error, but 1 / N of
/// theirs.
static std::string checkSize(MatmulOp matmul) {
  Type type = getElementTypeOrSelf(matmul.getWeight().getType());
  if (getProductType(type, type) == type)
    return ""; // nothing is rounded
  if (matmul.getPostNorm() && matmul.getK() < minPostNormK)
    return llvm::formatv("K = {0} in front of another norm, less than {1}: its "
                         "rounding errors would not average out",
                         matmul.getK(), minPostNormK)
        .str();
  if (matmul.getK() < minProductSize / std::max<int64_t>(matmul.getN(), 1))
    return llvm::formatv("W has {0} x {1} elements, fewer than {2}: their "
                         "rounding errors would not average out",
                         matmul.getK(), matmul.getN(), minProductSize)
        .str();
  return "";
}

static bool isMultipliable(Type type) {
  return type.isF64() || type.getIntOrFloatBitWidth() <= 32;
}

FoldContext::FoldContext(ModuleOp module) : symbolTable(module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  areUsersKnown = uses.has_value();
  if (!areUsersKnown)
    return;
  for (const SymbolTable::SymbolUse &use : *uses)
    users[use.getSymbolRef().getRootReference()].insert(use.getUser());
}

bool FoldContext::isUsed(func::FuncOp function, Operation *except) const {
  if (!areUsersKnown)
    return true;
  auto found = users.find(function.getSymNameAttr());
  return found != users.end() &&
         llvm::any_of(found->second,
                      [&](Operation *user) { return user != except; });
}

/// Looks up the prepare function that an earlier run made. Returns what is
/// wrong with it, or nothing.
std::string NormWeightFolder::findPrepareFunction() {
  if (prepare)
    return "";
  auto name = entry->getAttrOfType<FlatSymbolRefAttr>(
      FlashNormDialect::getPrepareWeightsAttrName());
  if (!name)
    return "";
  auto function = dyn_cast_or_null<func::FuncOp>(
      context.symbolTable.lookup(name.getValue()));
  if (!function || !llvm::hasSingleElement(function.getBody()) ||
      !isa<func::ReturnOp>(function.getBody().front().getTerminator()))
    return llvm::formatv("@{0} is not a function with one block that ends in "
                         "func.return",
                         name.getValue())
        .str();
  // Whoever else refers to it relies on the results that it has now.
  if (function == entry || context.isUsed(function, entry))
    return llvm::formatv("@{0}, which would get further results, is used "
                         "elsewhere in the module",
                         name.getValue())
        .str();
  prepare = function;
  for (BlockArgument argument : prepare.getArguments())
    if (auto source = prepare.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), FlashNormDialect::getSourceAttrName()))
      sources.try_emplace(source.getInt(), argument);
  return "";
}

NormWeightFolder::Product NormWeightFolder::getProductOf(RMSNormOp norm,
                                                         MatmulOp matmul) {
  return {norm.getWeight(), matmul.getWeight(), matmul.getTransposeWeight()};
}

std::string NormWeightFolder::check(RMSNormOp norm,
                                    ArrayRef<MatmulOp> matmuls) {
  std::optional<Factor> normWeight = getFactor(entry, norm.getWeight());
  if (!normWeight)
    return "its weight is neither made of arguments with 'flashnorm.frozen' "
           "nor a constant of at most 1 MB";
  bool needsArgument = false;
  std::string tooSmall; // the least of all reasons
  for (MatmulOp matmul : matmuls) {
    if (matmul.getPreNorm())
      return "a matmul after it has a norm before it already";
    std::optional<Factor> weight = getFactor(entry, matmul.getWeight());
    if (!weight)
      return "the weight of a matmul after it is neither made of arguments "
             "with 'flashnorm.frozen' nor a constant of at most 1 MB";
    // The product of two such weights easily leaves the range of f16, where the
    // original's result is finite.
    if (getElementTypeOrSelf(matmul.getWeight().getType()).isF16())
      return "weight times W may overflow or underflow in f16";
    bool areConstant = normWeight->constant && weight->constant;
    needsArgument |= !areConstant;
    // The error of two constants is computed.
    if (!areConstant && tooSmall.empty())
      tooSmall = checkSize(matmul);
    for (Value value : {norm.getWeight(), matmul.getWeight()})
      if (!isMultipliable(getElementTypeOrSelf(value.getType())))
        return "a weight is wider than 32 bits and not f64";
    if (!normWeight->constant)
      continue;
    DenseElementsAttr product;
    if (areConstant)
      product = getConstantProduct(getProductOf(norm, matmul),
                                   normWeight->constant, weight->constant);
    FoldError error = predictFoldError(normWeight->constant, weight->constant,
                                       product, matmul, norm.getCast());
    if (std::isinf(error.ratio))
      return "weight times W leaves the range of W's type";
    if (weight->constant && error.ratio > maxErrorRatio)
      return llvm::formatv("rounding weight times W makes the error {0:F3} "
                           "times the original's, at most {1:F2} is accepted",
                           error.ratio, maxErrorRatio)
          .str();
    if (error.ratio > maxErrorRatio)
      return llvm::formatv(
                 "{0:P0} of its weight are 1.5 times a power of two, whose "
                 "products with W are often ties: predicted error {1:F3} times "
                 "the original's, at most {2:F2} is accepted",
                 error.shareOfThrees, error.ratio, maxErrorRatio)
          .str();
  }
  if (needsArgument) {
    if (context.isUsed(entry))
      return llvm::formatv("@{0}, whose arguments would change, is used in the "
                           "module",
                           entry.getSymName())
          .str();
    if (std::string reason = findPrepareFunction(); !reason.empty())
      return reason;
  }
  return tooSmall;
}

void NormWeightFolder::fold(RMSNormOp norm, ArrayRef<MatmulOp> matmuls) {
  for (MatmulOp matmul : matmuls)
    matmul.getWeightMutable().assign(
        getProduct(getProductOf(norm, matmul), norm.getLoc()));
  norm.getWeightMutable().clear();
  // Without a weight there is one place to round only.
  norm.setCast(CastPosition::AfterAffine);
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

Value NormWeightFolder::getSource(BlockArgument argument, Location loc) {
  auto known = sources.find(argument.getArgNumber());
  if (known != sources.end() && known->second.getType() == argument.getType())
    return known->second;
  Builder builder(entry.getContext());
  prepareAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      FlashNormDialect::getSourceAttrName(),
      builder.getI64IntegerAttr(argument.getArgNumber()))));
  return sources[argument.getArgNumber()] =
             prepare.getBody().addArgument(argument.getType(), loc);
}

/// The counterpart in the prepare function of a value that is the same on every
/// call.
Value NormWeightFolder::getInPrepareFunction(OpBuilder &builder, Value value,
                                             Location loc) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getSource(argument, loc);
  SetVector<Operation *> ops;
  [[maybe_unused]] bool isFactor = collectOps(entry, value, ops);
  assert(isFactor && "checked before");
  for (Operation *op : ops) {
    if (copies.contains(op->getResult(0)))
      continue;
    SetVector<Value> inputs(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), inputs);
    for (Value input : inputs)
      if (auto argument = dyn_cast<BlockArgument>(input))
        copies.map(input, getSource(argument, loc));
    builder.clone(*op, copies);
  }
  return copies.lookup(value);
}

func::FuncOp FoldContext::getProductFunction(Type normWeight, Type weight,
                                             bool transposeWeight,
                                             Location loc) {
  func::FuncOp &function =
      productFunctions[{normWeight, weight, unsigned(transposeWeight)}];
  if (function)
    return function;
  OpBuilder builder(loc.getContext());
  function = func::FuncOp::create(
      builder, loc, "weight_product",
      builder.getFunctionType({normWeight, weight}, weight));
  function.setPrivate();
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  Value product = buildWeightProduct(builder, loc, block->getArgument(0),
                                     block->getArgument(1), transposeWeight);
  func::ReturnOp::create(builder, loc, product);
  symbolTable.insert(function); // renames it if the name is taken
  return function;
}

/// Computes the product in the prepare function; a new argument of the entry
/// stands for it.
Value NormWeightFolder::addPrepared(const Product &product, Location loc) {
  OpBuilder builder(entry.getContext());
  if (!prepare) {
    prepare =
        func::FuncOp::create(builder, entry.getLoc(),
                             (entry.getSymName() + "_prepare_weights").str(),
                             builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(prepare.addEntryBlock());
    func::ReturnOp::create(builder, entry.getLoc());
    // Renames it if the name is taken.
    context.symbolTable.insert(prepare, std::next(Block::iterator(entry)));
    entry->setAttr(FlashNormDialect::getPrepareWeightsAttrName(),
                   FlatSymbolRefAttr::get(prepare));
  }
  auto returnOp =
      cast<func::ReturnOp>(prepare.getBody().front().getTerminator());
  builder.setInsertionPoint(returnOp);
  Value normWeight = getInPrepareFunction(builder, product.normWeight, loc);
  Value weight = getInPrepareFunction(builder, product.weight, loc);
  func::FuncOp function = context.getProductFunction(
      normWeight.getType(), weight.getType(), product.transposeWeight, loc);
  Value result =
      func::CallOp::create(builder, loc, function, {normWeight, weight})
          .getResult(0);
  entryAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      FlashNormDialect::getPreparedAttrName(),
      builder.getI64IntegerAttr(returnOp->getNumOperands()))));
  returnOp.getOperandsMutable().append(result);
  return entry.getBody().addArgument(result.getType(), loc);
}

static void updateSignature(func::FuncOp function, TypeRange results,
                            ArrayRef<DictionaryAttr> newArgumentAttrs) {
  SmallVector<DictionaryAttr> attrs;
  function.getAllArgAttrs(attrs);
  llvm::append_range(attrs, newArgumentAttrs);
  function.setType(FunctionType::get(
      function.getContext(), function.getBody().getArgumentTypes(), results));
  function.setAllArgAttrs(attrs);
}

void NormWeightFolder::finish() {
  if (entryAttrs.empty())
    return;
  updateSignature(entry, entry.getResultTypes(), entryAttrs);
  updateSignature(prepare,
                  prepare.getBody().front().getTerminator()->getOperandTypes(),
                  prepareAttrs);
}

int64_t NormWeightFolder::run(
    ModuleOp module,
    function_ref<void(func::FuncOp, NormWeightFolder &)> body) {
  FoldContext context(module);
  int64_t numPrepared = 0;
  // Prepare functions come in while this runs.
  for (func::FuncOp function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (function.isExternal())
      continue;
    NormWeightFolder folder(function, context);
    body(function, folder);
    folder.finish();
    numPrepared += folder.getNumPrepared();
  }
  return numPrepared;
}

DenseElementsAttr
NormWeightFolder::getConstantProduct(const Product &product,
                                     DenseElementsAttr normWeight,
                                     DenseElementsAttr weight) {
  DenseElementsAttr &value = constantProducts[product.getKey()];
  if (!value)
    value = computeWeightProduct(normWeight, weight, product.transposeWeight);
  return value;
}

Value NormWeightFolder::getProduct(const Product &product, Location loc) {
  Value &value = products[product.getKey()];
  if (value)
    return value;
  std::optional<Factor> normWeight = getFactor(entry, product.normWeight);
  std::optional<Factor> weight = getFactor(entry, product.weight);
  if (normWeight->constant && weight->constant) {
    auto builder = OpBuilder::atBlockBegin(&entry.getBody().front());
    value = arith::ConstantOp::create(
        builder, loc,
        getConstantProduct(product, normWeight->constant, weight->constant));
  } else {
    value = addPrepared(product, loc);
  }
  return value;
}
