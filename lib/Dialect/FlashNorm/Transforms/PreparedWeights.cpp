//===- PreparedWeights.cpp - Work on weights, done once -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparedWeights.h"
#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace flashnorm;

/// More operations than this are not repeated in the prepare function.
static constexpr unsigned maxFactorOps = 16;

//===----------------------------------------------------------------------===//
// What is the same on every call
//===----------------------------------------------------------------------===//

bool flashnorm::isFrozen(func::FuncOp entry, BlockArgument argument) {
  return argument.getOwner() == &entry.getBody().front() &&
         argument.getArgNumber() < entry.getNumArguments() &&
         entry.getArgAttr(argument.getArgNumber(),
                          FlashNormDialect::getFrozenAttrName());
}

Value flashnorm::getReshaped(Value value) {
  while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                         tensor::CastOp>(value.getDefiningOp()) &&
         value.getDefiningOp()->getNumOperands() == 1)
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool flashnorm::isFrozenOrConstant(func::FuncOp entry, Value value) {
  if (!value)
    return true;
  value = getReshaped(value);
  if (matchPattern(value, m_Constant()))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isFrozen(entry, argument);
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
bool PreparedWeights::collectOps(Value value, SetVector<Operation *> &ops,
                                 unsigned depth) {
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
    if (!collectOps(input, ops, depth + 1))
      return false;
  ops.insert(op);
  return true;
}

std::optional<Factor> PreparedWeights::getFactor(Value value) {
  Factor factor;
  if (!collectOps(value, factor.ops))
    return std::nullopt;
  if (Operation *op = value.getDefiningOp();
      op && !matchPattern(op, m_Constant(&factor.constant)) &&
      llvm::all_of(factor.ops, [](Operation *op) {
        return op->getNumOperands() == 0 || isa<tensor::EmptyOp>(op);
      }))
    return std::nullopt;
  return factor;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

PrepareContext::PrepareContext(ModuleOp module) : symbolTable(module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  areUsersKnown = uses.has_value();
  if (!areUsersKnown)
    return;
  for (const SymbolTable::SymbolUse &use : *uses)
    users[use.getSymbolRef().getRootReference()].insert(use.getUser());
}

bool PrepareContext::isUsed(func::FuncOp function, Operation *except) const {
  if (!areUsersKnown)
    return true;
  auto found = users.find(function.getSymNameAttr());
  return found != users.end() &&
         llvm::any_of(found->second,
                      [&](Operation *user) { return user != except; });
}

func::FuncOp PrepareContext::getFunction(const Computation &computation,
                                         TypeRange types, Location loc) {
  std::vector<const void *> key;
  for (Type type : types)
    key.push_back(type.getAsOpaquePointer());
  func::FuncOp &function =
      functions[{computation.name.str(), computation.variant, std::move(key)}];
  if (function)
    return function;
  OpBuilder builder(loc.getContext());
  function = func::FuncOp::create(builder, loc, computation.name,
                                  builder.getFunctionType(types, {}));
  function.setPrivate();
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  Value result = computation.build(builder, loc, block->getArguments());
  func::ReturnOp::create(builder, loc, result);
  function.setType(builder.getFunctionType(types, result.getType()));
  symbolTable.insert(function); // renames it if the name is taken
  return function;
}

//===----------------------------------------------------------------------===//
// The prepare function
//===----------------------------------------------------------------------===//

/// Looks up the prepare function that an earlier run made. Returns what is
/// wrong with it, or nothing.
std::string PreparedWeights::findPrepareFunction() {
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

std::string PreparedWeights::checkArgument() {
  if (context.isUsed(entry))
    return llvm::formatv("@{0}, whose arguments would change, is used in the "
                         "module",
                         entry.getSymName())
        .str();
  return findPrepareFunction();
}

Value PreparedWeights::getSource(BlockArgument argument, Location loc) {
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
Value PreparedWeights::getInPrepareFunction(OpBuilder &builder, Value value,
                                            Location loc) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getSource(argument, loc);
  SetVector<Operation *> ops;
  [[maybe_unused]] bool isFactor = collectOps(value, ops);
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

/// Of the prepare function, which is made when first needed.
func::ReturnOp PreparedWeights::getPrepareReturn() {
  if (!prepare) {
    OpBuilder builder(entry.getContext());
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
  return cast<func::ReturnOp>(prepare.getBody().front().getTerminator());
}

/// Returns `result`, too; the new argument of the entry that stands for it.
Value PreparedWeights::addArgument(func::ReturnOp returnOp, Value result,
                                   Location loc) {
  Builder builder(entry.getContext());
  entryAttrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      FlashNormDialect::getPreparedAttrName(),
      builder.getI64IntegerAttr(returnOp->getNumOperands()))));
  returnOp.getOperandsMutable().append(result);
  return entry.getBody().addArgument(result.getType(), loc);
}

Value PreparedWeights::add(const Computation &computation,
                           ArrayRef<Value> factors, Location loc) {
  func::ReturnOp returnOp = getPrepareReturn();
  OpBuilder builder(returnOp);
  SmallVector<Value> values;
  for (Value factor : factors)
    values.push_back(getInPrepareFunction(builder, factor, loc));
  func::FuncOp function =
      context.getFunction(computation, ValueRange(values).getTypes(), loc);
  Value result =
      func::CallOp::create(builder, loc, function, values).getResult(0);
  return addArgument(returnOp, result, loc);
}

Value PreparedWeights::add(Value factor, Location loc) {
  func::ReturnOp returnOp = getPrepareReturn();
  OpBuilder builder(returnOp);
  return addArgument(returnOp, getInPrepareFunction(builder, factor, loc), loc);
}

Value PreparedWeights::addConstant(DenseElementsAttr value, Location loc) {
  auto builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  return arith::ConstantOp::create(builder, loc, value);
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

void PreparedWeights::finish() {
  if (entryAttrs.empty())
    return;
  updateSignature(entry, entry.getResultTypes(), entryAttrs);
  updateSignature(prepare,
                  prepare.getBody().front().getTerminator()->getOperandTypes(),
                  prepareAttrs);
}

int64_t
PreparedWeights::run(ModuleOp module,
                     function_ref<void(func::FuncOp, PreparedWeights &)> body) {
  PrepareContext context(module);
  int64_t numPrepared = 0;
  // Prepare functions come in while this runs.
  for (func::FuncOp function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (function.isExternal())
      continue;
    PreparedWeights weights(function, context);
    body(function, weights);
    weights.finish();
    numPrepared += weights.getNumPrepared();
  }
  return numPrepared;
}
