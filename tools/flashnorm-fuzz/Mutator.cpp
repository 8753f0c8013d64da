//===- Mutator.cpp - Programs that are nearly others ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include "Determinism.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <limits>
#include <set>

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

// Larger programs take long and are mostly repetition.
static constexpr int64_t maxOps = 300;

//===----------------------------------------------------------------------===//
// Corpus
//===----------------------------------------------------------------------===//

std::string Corpus::read(MLIRContext &context, StringRef folder) {
  // In an order that the file system does not decide.
  std::set<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end;
       it != end && !code; it.increment(code))
    if (StringRef(it->path()).ends_with(".mlir"))
      paths.insert(it->path());
  if (code)
    return "no .mlir files can be read: " + code.message();
  if (paths.empty())
    return "no .mlir files in it";
  const size_t before = size();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  for (const std::string &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      continue;
    SmallVector<StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----");
    for (StringRef part : parts)
      if (auto module = parseSourceString<ModuleOp>(part, &context))
        add(*module);
  }
  if (size() == before)
    return "none of its " + std::to_string(paths.size()) +
           " .mlir files has a valid function of at most " +
           std::to_string(maxOps) + " ops";
  return "";
}

/// Splits a module into its functions and gpu.modules.
void Corpus::add(ModuleOp module) {
  int64_t total = 0;
  module.walk([&](Operation *) { ++total; });
  for (Operation &root : *module.getBody()) {
    if (!isa<SymbolOpInterface>(root) || root.getNumRegions() == 0 ||
        root.getRegion(0).empty())
      continue;
    // What it needs, and what that needs.
    SmallVector<Operation *> needed = {&root};
    for (size_t i = 0; i < needed.size(); ++i) {
      auto uses = SymbolTable::getSymbolUses(needed[i]);
      for (SymbolTable::SymbolUse use :
           uses ? *uses : SymbolTable::UseRange({})) {
        Operation *symbol =
            module.lookupSymbol(use.getSymbolRef().getRootReference());
        if (symbol && !llvm::is_contained(needed, symbol))
          needed.push_back(symbol);
      }
    }
    OwningOpRef<ModuleOp> program = ModuleOp::create(module.getLoc());
    (*program)->setAttrs(module->getAttrDictionary());
    int64_t ops = 0;
    for (Operation *op : needed) {
      op->walk([&](Operation *) { ++ops; });
      program->push_back(op->clone());
    }
    if (ops <= maxOps && succeeded(verify(*program)))
      programs.push_back(std::move(program));
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static Attribute changeInteger(IntegerAttr attr, Random &random) {
  const APInt &value = attr.getValue();
  const unsigned width = value.getBitWidth();
  switch (random.below(6)) {
  case 0:
    return IntegerAttr::get(attr.getType(), value + 1);
  case 1:
    return IntegerAttr::get(attr.getType(), value - 1);
  case 2:
    return IntegerAttr::get(attr.getType(), value.shl(1));
  case 3:
    return IntegerAttr::get(attr.getType(), APInt(width, 0));
  case 4:
    return IntegerAttr::get(attr.getType(), APInt::getSignedMaxValue(width));
  default:
    return IntegerAttr::get(attr.getType(), -value);
  }
}

static Attribute changeFloat(FloatAttr attr, Random &random) {
  const double value = attr.getValueAsDouble();
  return FloatAttr::get(
      attr.getType(),
      random.pick({0.0, -value, 2 * value, value + 1, value * 1.001, 1e30,
                   std::numeric_limits<double>::quiet_NaN(),
                   std::numeric_limits<double>::infinity()}));
}

static AffineMap changeMap(AffineMap map, Random &random) {
  SmallVector<AffineExpr> results(map.getResults());
  if (results.empty())
    return map;
  switch (random.below(3)) {
  case 0:
    std::swap(random.pickFrom(results), random.pickFrom(results));
    break;
  case 1:
    random.pickFrom(results) = getAffineConstantExpr(0, map.getContext());
    break;
  default:
    if (map.getNumDims())
      random.pickFrom(results) =
          getAffineDimExpr(random.below(map.getNumDims()), map.getContext());
  }
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        map.getContext());
}

template <typename ArrayAttrT>
static Attribute changeNumbers(ArrayAttrT attr, Random &random) {
  auto values = llvm::to_vector(attr.asArrayRef());
  if (values.empty())
    return attr;
  auto &value = random.pickFrom(values);
  switch (random.below(5)) {
  case 0:
    value += 1;
    break;
  case 1:
    value -= 1;
    break;
  case 2:
    std::swap(value, random.pickFrom(values));
    break;
  case 3:
    values.pop_back();
    break;
  default:
    value = random.pick<int>({0, 1, 2, 8, 64, -1, 1 << 20});
  }
  return ArrayAttrT::get(attr.getContext(), values);
}

static Attribute changeAttribute(Attribute attr, Random &random) {
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return changeInteger(integer, random);
  if (auto number = dyn_cast<FloatAttr>(attr))
    return changeFloat(number, random);
  if (auto map = dyn_cast<AffineMapAttr>(attr))
    return AffineMapAttr::get(changeMap(map.getValue(), random));
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attr))
    return changeNumbers(numbers, random);
  if (auto numbers = dyn_cast<DenseI32ArrayAttr>(attr))
    return changeNumbers(numbers, random);
  if (auto array = dyn_cast<ArrayAttr>(attr)) {
    SmallVector<Attribute> elements(array.getValue());
    if (elements.empty())
      return attr;
    Attribute &element = random.pickFrom(elements);
    if (random.chance(60))
      element = changeAttribute(element, random);
    else if (random.chance(50))
      std::swap(element, random.pickFrom(elements));
    else
      elements.pop_back();
    return ArrayAttr::get(attr.getContext(), elements);
  }
  if (auto elements = dyn_cast<DenseFPElementsAttr>(attr)) {
    if (!elements.isSplat())
      return attr;
    auto value = FloatAttr::get(elements.getElementType(),
                                elements.getSplatValue<APFloat>());
    return DenseElementsAttr::get(elements.getType(),
                                  ArrayRef(changeFloat(value, random)));
  }
  return attr;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Another float type throughout a program.
static void changeElementType(ModuleOp module, Type from, FloatType to) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](Type type) -> std::optional<Type> {
    return type == from ? std::optional<Type>(to) : std::nullopt;
  });
  // Values do not follow their type by themselves.
  replacer.addReplacement(
      [=](FloatAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (attr.getType() != from)
          return std::nullopt;
        return std::make_pair(
            Attribute(FloatAttr::get(to, attr.getValueAsDouble())),
            WalkResult::skip());
      });
  replacer.addReplacement(
      [=](DenseFPElementsAttr attr)
          -> std::optional<std::pair<Attribute, WalkResult>> {
        if (attr.getElementType() != from)
          return std::nullopt;
        Attribute changed = attr.mapValues(to, [&](const APFloat &value) {
          APFloat copy = value;
          bool loses;
          copy.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                       &loses);
          return copy.bitcastToAPInt();
        });
        return std::make_pair(changed, WalkResult::skip());
      });
  // What a dialect's attribute holds nobody verifies again.
  replacer.addReplacement(
      [](Attribute attr) -> std::optional<std::pair<Attribute, WalkResult>> {
        if (isa<BuiltinDialect>(attr.getDialect()))
          return std::nullopt;
        return std::make_pair(attr, WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// Another size throughout a program.
static void changeSize(ModuleOp module, int64_t from, int64_t to) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](RankedTensorType type) -> std::optional<Type> {
    SmallVector<int64_t> shape(type.getShape());
    std::replace(shape.begin(), shape.end(), from, to);
    return RankedTensorType::get(shape, type.getElementType(),
                                 type.getEncoding());
  });
  replacer.addReplacement(
      [=](DenseElementsAttr attr)
          -> std::optional<std::pair<Attribute, WalkResult>> {
        SmallVector<int64_t> shape(attr.getType().getShape());
        std::replace(shape.begin(), shape.end(), from, to);
        if (!attr.isSplat() || ShapedType::isDynamicShape(shape))
          return std::make_pair(Attribute(attr), WalkResult::skip());
        return std::make_pair(Attribute(attr.resizeSplat(RankedTensorType::get(
                                  shape, attr.getElementType()))),
                              WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

static void changeTypes(ModuleOp module, Random &random) {
  SmallVector<RankedTensorType> types;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        types.push_back(tensor);
  });
  if (types.empty())
    return;
  RankedTensorType type = random.pickFrom(types);
  Builder b(module.getContext());
  if (random.chance(40)) {
    if (isa<FloatType>(type.getElementType()))
      changeElementType(
          module, type.getElementType(),
          random.pick<FloatType>({b.getBF16Type(), b.getF16Type(),
                                  b.getF32Type(), b.getF64Type(),
                                  Float8E4M3FNType::get(b.getContext()),
                                  Float80Type::get(b.getContext())}));
    return;
  }
  if (type.getRank() > 0) {
    SmallVector<int64_t> shape(type.getShape());
    changeSize(module, random.pickFrom(shape),
               random.pick<int64_t>(
                   {ShapedType::kDynamic, 0, 1, 2, 7, 8, 64, 256, 512, 4096}));
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// A value of this type that is there before `op`.
static Value findValue(Operation *op, Type type, Random &random) {
  SmallVector<Value> values;
  for (Operation *at = op; at && at->getBlock(); at = at->getParentOp()) {
    for (Value argument : at->getBlock()->getArguments())
      if (argument.getType() == type)
        values.push_back(argument);
    for (Operation &before : *at->getBlock()) {
      if (&before == at)
        break;
      for (Value result : before.getResults())
        if (result.getType() == type)
          values.push_back(result);
    }
    if (at->getParentOp() &&
        at->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>())
      break;
  }
  return values.empty() ? Value() : random.pickFrom(values);
}

static void erase(Operation *op, Random &random) {
  for (Value result : op->getResults()) {
    Value other = findValue(op, result.getType(), random);
    if (!other)
      return;
    result.replaceAllUsesWith(other);
  }
  op->erase();
}

static void duplicate(Operation *op, Random &random) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Operation *copy = b.clone(*op);
  for (auto [result, other] : llvm::zip(op->getResults(), copy->getResults()))
    for (OpOperand &use : llvm::make_early_inc_range(result.getUses()))
      if (random.chance(50))
        use.set(other);
}

/// One more result of a function: another use of a value.
static void returnMore(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  if (!function || op->getParentOp() != function || op->getNumResults() == 0 ||
      !function.getBody().hasOneBlock())
    return;
  Operation *end = function.getBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), op->getResult(0));
  function.setType(FunctionType::get(
      op->getContext(), function.getArgumentTypes(), end->getOperandTypes()));
}

/// Rounds a result to bf16.
static void addRounding(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  Value result = op->getResult(0);
  Type element = getElementTypeOrSelf(result.getType());
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16)
    return;
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Type narrow = b.getBF16Type();
  if (auto shaped = dyn_cast<RankedTensorType>(result.getType()))
    narrow = shaped.clone(b.getBF16Type());
  else if (isa<ShapedType>(result.getType()))
    return;
  Value rounded = arith::TruncFOp::create(b, op->getLoc(), narrow, result);
  Value wide =
      arith::ExtFOp::create(b, op->getLoc(), result.getType(), rounded);
  result.replaceAllUsesExcept(wide, rounded.getDefiningOp());
}

static void change(ModuleOp module, Random &random) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op != module && !isa<SymbolOpInterface>(op) &&
        !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  if (ops.empty())
    return;
  Operation *op = random.pickFrom(ops);
  switch (random.below(12)) {
  case 0:
  case 1:
    erase(op, random);
    break;
  case 2:
    duplicate(op, random);
    break;
  case 3:
  case 4:
    if (op->getNumOperands() > 0) {
      OpOperand &operand = op->getOpOperand(random.below(op->getNumOperands()));
      if (Value other = findValue(op, operand.get().getType(), random))
        operand.set(other);
    }
    break;
  case 5:
    if (op->getNumOperands() > 1) {
      OpOperand &a = op->getOpOperand(random.below(op->getNumOperands()));
      OpOperand &b = op->getOpOperand(random.below(op->getNumOperands()));
      Value value = a.get();
      a.set(b.get());
      b.set(value);
    }
    break;
  case 6:
  case 7:
  case 8: {
    SmallVector<NamedAttribute> attributes;
    for (NamedAttribute attr : op->getAttrs())
      if (!attr.getName().getValue().ends_with("SegmentSizes"))
        attributes.push_back(attr);
    if (attributes.empty())
      break;
    NamedAttribute attr = random.pickFrom(attributes);
    if (isa<UnitAttr>(attr.getValue()) || random.chance(5))
      op->removeAttr(attr.getName());
    else
      op->setAttr(attr.getName(), changeAttribute(attr.getValue(), random));
    break;
  }
  case 9:
    changeTypes(module, random);
    break;
  case 10:
    returnMore(op);
    break;
  default:
    addRounding(op);
  }
}

/// Not a sum of few powers of two, such as 0 and 1.5, that any type holds.
static bool mayBeRounded(FloatAttr attr) {
  const double scaled = attr.getValueAsDouble() * 64;
  return attr.getType().getIntOrFloatBitWidth() < 32 &&
         scaled != std::trunc(scaled);
}

bool fuzz::hasRoundedConstants(ModuleOp module) {
  auto interruptIf = [](bool found) {
    return found ? WalkResult::interrupt() : WalkResult::advance();
  };
  AttrTypeWalker walker;
  walker.addWalk(
      [&](FloatAttr attr) { return interruptIf(mayBeRounded(attr)); });
  // A vector may be folded into a constant weight, which rounds.
  walker.addWalk([&](DenseFPElementsAttr attr) {
    return interruptIf(
        attr.getElementType().getIntOrFloatBitWidth() < 32 &&
        (!attr.isSplat() || mayBeRounded(attr.getSplatValue<FloatAttr>())));
  });
  return module
      .walk([&](Operation *op) { return walker.walk(op->getAttrDictionary()); })
      .wasInterrupted();
}

Program Corpus::mutate(Random random) const {
  Program program;
  program.mayFail = program.mutant = true;
  ModuleOp source = *random.pickFrom(programs);
  program.module = source.clone();
  ScopedDiagnosticHandler quiet(program.module->getContext(),
                                [](Diagnostic &) {});
  // One attempt in a few is valid.
  int64_t wanted = 1 + random.below(4);
  for (int64_t attempt = 0; attempt < 10 && wanted > 0; ++attempt) {
    OwningOpRef<ModuleOp> changed = program.module->clone();
    change(*changed, random);
    if (failed(verify(*changed)))
      continue;
    program.module = std::move(changed);
    --wanted;
  }
  program.executable = makeDeterministic(*program.module);
  program.roundedConstants = hasRoundedConstants(*program.module);
  return program;
}
