//===- FoldNormWeight.cpp - Norm weights into matmul weights --------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// W' = diag(g) W for each matmul behind a norm with weight g. Where the factors
// are frozen arguments, W' is a new argument, and a generated function computes
// it; see docs/Overview.md, "Prepared weights".
//
//===----------------------------------------------------------------------===//

#include "LeadingReshapes.h"
#include "ProductRounding.h"
#include "WeightProduct.h"
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace flashnorm {
#define GEN_PASS_DEF_FOLDNORMWEIGHTPASS
#include "flashnorm/Dialect/FlashNorm/Transforms/Passes.h.inc"
} // namespace flashnorm

using namespace flashnorm;

/// Larger constants stay out of the IR.
static constexpr int64_t maxConstantBytes = 1 << 20;
/// What fusion may do to the RMS error of a result.
static constexpr double maxErrorRatio = 1.05;

namespace {
/// A value that is the same on every call: a frozen argument or a constant.
struct Factor {
  BlockArgument argument;
  DenseElementsAttr constant;
};

/// One product diag(g) W; matmuls that share it share the result.
struct Product {
  Value normWeight, weight;
  bool transposeWeight;

  std::tuple<Value, Value, unsigned> getKey() const {
    return {normWeight, weight, transposeWeight};
  }
};

/// The norm weights of one function.
class Folder {
public:
  Folder(func::FuncOp entry, SymbolTable &symbolTable)
      : entry(entry), symbolTable(symbolTable) {}

  /// Folds the weight of `norm`, or returns why it stays. Nothing is changed
  /// then.
  std::string fold(RMSNormOp norm, ArrayRef<MatmulOp> matmuls);

  /// Makes the signatures match what `fold` added. Until then new arguments are
  /// block arguments only: a signature is rebuilt as a whole, and once for all
  /// of them keeps this linear.
  void finish();

  int64_t getNumPrepared() const { return entryAttrs.size(); }

private:
  bool hasCallers();
  std::string findPrepareFunction();
  Value getProduct(const Product &product, Location loc);
  Value addPrepared(const Product &product, Location loc);
  Value getInPrepareFunction(OpBuilder &builder, Value value, Location loc);

  func::FuncOp entry;
  SymbolTable &symbolTable;
  func::FuncOp prepare; ///< made when first needed
  /// Arguments of the prepare function by the entry's argument number.
  DenseMap<unsigned, BlockArgument> sources;
  DenseMap<std::tuple<Value, Value, unsigned>, Value> products;
  std::optional<bool> callers;
  /// Attributes of the new arguments of both functions.
  SmallVector<DictionaryAttr> entryAttrs, prepareAttrs;
};

struct FoldNormWeight
    : ::flashnorm::impl::FoldNormWeightPassBase<FoldNormWeight> {
  using FoldNormWeightPassBase::FoldNormWeightPassBase;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// What can be folded
//===----------------------------------------------------------------------===//

static std::optional<Factor> getFactor(func::FuncOp entry, Value value) {
  Factor factor;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != &entry.getBody().front() ||
        argument.getArgNumber() >= entry.getNumArguments() ||
        !entry.getArgAttr(argument.getArgNumber(),
                          FlashNormDialect::getFrozenAttrName()))
      return std::nullopt;
    factor.argument = argument;
    return factor;
  }
  if (!matchPattern(value, m_Constant(&factor.constant)))
    return std::nullopt;
  ShapedType type = factor.constant.getType();
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  if (bytes > maxConstantBytes)
    return std::nullopt;
  return factor;
}

static bool isMultipliable(Type type) {
  return type.isF64() || type.getIntOrFloatBitWidth() <= 32;
}

bool Folder::hasCallers() {
  if (!callers) {
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(entry, symbolTable.getOp());
    callers = !uses || !uses->empty();
  }
  return *callers;
}

/// Looks up the prepare function that an earlier run made. Returns what is
/// wrong with it, or nothing.
std::string Folder::findPrepareFunction() {
  if (prepare)
    return "";
  auto name = entry->getAttrOfType<FlatSymbolRefAttr>(
      FlashNormDialect::getPrepareWeightsAttrName());
  if (!name)
    return "";
  auto function =
      dyn_cast_or_null<func::FuncOp>(symbolTable.lookup(name.getValue()));
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return llvm::formatv("@{0} is not a function with one block",
                         name.getValue())
        .str();
  // Whoever else refers to it relies on the results that it has now.
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, symbolTable.getOp());
  if (function == entry || !uses ||
      llvm::any_of(*uses, [&](const SymbolTable::SymbolUse &use) {
        return use.getUser() != entry.getOperation();
      }))
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

std::string Folder::fold(RMSNormOp norm, ArrayRef<MatmulOp> matmuls) {
  // First all checks, so that all consumers are changed or none.
  std::optional<Factor> normWeight = getFactor(entry, norm.getWeight());
  if (!normWeight)
    return "its weight is neither an argument with 'flashnorm.frozen' nor a "
           "constant of at most 1 MB";
  bool needsArgument = false;
  for (MatmulOp matmul : matmuls) {
    if (matmul.getPreNorm())
      return "a matmul after it has a norm before it already";
    std::optional<Factor> weight = getFactor(entry, matmul.getWeight());
    if (!weight)
      return "the weight of a matmul after it is neither an argument with "
             "'flashnorm.frozen' nor a constant of at most 1 MB";
    // The product of two such weights easily leaves the range of f16, where the
    // original's result is finite.
    if (getElementTypeOrSelf(matmul.getWeight().getType()).isF16())
      return "weight times W may overflow or underflow in f16";
    needsArgument |= normWeight->argument || weight->argument;
    for (Value value : {norm.getWeight(), matmul.getWeight()})
      if (!isMultipliable(getElementTypeOrSelf(value.getType())))
        return "a weight is wider than 32 bits and not f64";
    if (!normWeight->constant)
      continue;
    FoldError error =
        predictFoldError(normWeight->constant, matmul, norm.getCast());
    if (error.ratio > maxErrorRatio)
      return llvm::formatv(
                 "{0:P0} of its weight are 1.5 times a power of two, whose "
                 "products with W are often ties: predicted error {1:F3} times "
                 "the original's, at most {2:F2} is accepted",
                 error.shareOfThrees, error.ratio, maxErrorRatio)
          .str();
  }
  if (needsArgument) {
    if (hasCallers())
      return llvm::formatv("@{0}, whose arguments would change, is used in the "
                           "module",
                           entry.getSymName())
          .str();
    if (std::string reason = findPrepareFunction(); !reason.empty())
      return reason;
  }

  for (MatmulOp matmul : matmuls) {
    Product product = {norm.getWeight(), matmul.getWeight(),
                       matmul.getTransposeWeight()};
    matmul.getWeightMutable().assign(getProduct(product, norm.getLoc()));
  }
  norm.getWeightMutable().clear();
  // Without a weight there is one place to round only.
  norm.setCast(CastPosition::AfterAffine);
  return "";
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// The counterpart of a frozen argument or constant in the prepare function.
Value Folder::getInPrepareFunction(OpBuilder &builder, Value value,
                                   Location loc) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return builder.clone(*value.getDefiningOp())->getResult(0);
  auto known = sources.find(argument.getArgNumber());
  if (known != sources.end() && known->second.getType() == argument.getType())
    return known->second;
  prepareAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      FlashNormDialect::getSourceAttrName(),
      builder.getI64IntegerAttr(argument.getArgNumber()))));
  return sources[argument.getArgNumber()] =
             prepare.getBody().addArgument(argument.getType(), loc);
}

/// Computes the product in the prepare function; a new argument of the entry
/// stands for it.
Value Folder::addPrepared(const Product &product, Location loc) {
  OpBuilder builder(entry.getContext());
  if (!prepare) {
    prepare =
        func::FuncOp::create(builder, entry.getLoc(),
                             (entry.getSymName() + "_prepare_weights").str(),
                             builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(prepare.addEntryBlock());
    func::ReturnOp::create(builder, entry.getLoc());
    // Renames it if the name is taken.
    symbolTable.insert(prepare, std::next(Block::iterator(entry)));
    entry->setAttr(FlashNormDialect::getPrepareWeightsAttrName(),
                   FlatSymbolRefAttr::get(prepare));
  }
  auto returnOp =
      cast<func::ReturnOp>(prepare.getBody().front().getTerminator());
  builder.setInsertionPoint(returnOp);
  Value normWeight = getInPrepareFunction(builder, product.normWeight, loc);
  Value weight = getInPrepareFunction(builder, product.weight, loc);
  Value result = buildWeightProduct(builder, loc, normWeight, weight,
                                    product.transposeWeight);
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

void Folder::finish() {
  if (entryAttrs.empty())
    return;
  updateSignature(entry, entry.getResultTypes(), entryAttrs);
  updateSignature(prepare,
                  prepare.getBody().front().getTerminator()->getOperandTypes(),
                  prepareAttrs);
}

Value Folder::getProduct(const Product &product, Location loc) {
  Value &value = products[product.getKey()];
  if (value)
    return value;
  std::optional<Factor> normWeight = getFactor(entry, product.normWeight);
  std::optional<Factor> weight = getFactor(entry, product.weight);
  if (normWeight->constant && weight->constant) {
    auto builder = OpBuilder::atBlockBegin(&entry.getBody().front());
    value = arith::ConstantOp::create(
        builder, loc,
        computeWeightProduct(normWeight->constant, weight->constant,
                             product.transposeWeight));
  } else {
    value = addPrepared(product, loc);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The matmuls behind a norm. `reason` is set when somebody else needs the
/// weighted value; no matmul at all is no reason to speak of.
static SmallVector<MatmulOp> getConsumers(RMSNormOp norm, std::string &reason) {
  SmallVector<OpOperand *> uses;
  collectUses(norm->getResult(0), uses);
  SmallVector<MatmulOp> matmuls;
  for (OpOperand *use : uses) {
    auto matmul = dyn_cast<MatmulOp>(use->getOwner());
    if (matmul && use == &matmul.getInputMutable())
      matmuls.push_back(matmul);
    else
      reason = llvm::formatv("'{0}' needs the normalised value",
                             use->getOwner()->getName())
                   .str();
  }
  return matmuls;
}

void FoldNormWeight::runOnOperation() {
  SymbolTable symbolTable(getOperation());
  // Prepare functions come in while this runs.
  auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    if (function.isExternal())
      continue;
    Folder folder(function, symbolTable);
    function.walk([&](RMSNormOp norm) {
      if (!norm.getWeight() || !norm.hasPureTensorSemantics())
        return;
      std::string reason;
      SmallVector<MatmulOp> matmuls = getConsumers(norm, reason);
      if (matmuls.empty()) // its weight is nobody's business here
        return;
      if (reason.empty())
        reason = folder.fold(norm, matmuls);
      auto options = [&](StringRef name) {
        return remark::RemarkOpts::name(name)
            .category("flashnorm-fold-norm-weight")
            .function(function.getSymName());
      };
      if (!reason.empty()) {
        remark::missed(norm.getLoc(), options("NormWeightKept"))
            << llvm::formatv("weight of {0} kept: {1}", norm->getName(), reason)
                   .str();
        ++numKept;
        return;
      }
      remark::passed(norm.getLoc(), options("NormWeightFolded"))
          << llvm::formatv("weight of {0} folded into the weights of {1} "
                           "matmuls after it",
                           norm->getName(), matmuls.size())
                 .str();
      ++numFolded;
    });
    folder.finish();
    numPrepared += folder.getNumPrepared();
  }
}
