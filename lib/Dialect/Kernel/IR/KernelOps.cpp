//===- KernelOps.cpp - Verifiers and syntax of the kernel dialect ---------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Dialect/Kernel/IR/Kernel.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace flashnorm::kernel;

#define GET_OP_CLASSES
#include "flashnorm/Dialect/Kernel/IR/KernelOps.cpp.inc"

//===----------------------------------------------------------------------===//
// FuncOp
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  ConfigAttr config;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true) ||
      parser.parseKeyword("config") || parser.parseLParen() ||
      parser.parseCustomAttributeWithFallback(
          config, Type(), getConfigAttrName(result.name).getValue(),
          result.attributes) ||
      parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types;
  for (OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  Builder &builder = parser.getBuilder();
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, {})));
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, /*resultAttrs=*/{},
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  return parser.parseRegion(*result.addRegion(), arguments);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  ArrayAttr attributes = getArgAttrsAttr();
  llvm::interleaveComma(
      getBody().getArguments(), printer, [&](BlockArgument argument) {
        printer.printRegionArgument(
            argument, attributes ? cast<DictionaryAttr>(
                                       attributes[argument.getArgNumber()])
                                       .getValue()
                                 : ArrayRef<NamedAttribute>());
      });
  printer << ") config(";
  printer.printStrippedAttrOrType(getConfigAttr());
  printer << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getSymNameAttrName(), getFunctionTypeAttrName(), getConfigAttrName(),
       getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Rows without gaps, at any distance.
static bool hasRowStride(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return type.getRank() == 2 &&
         succeeded(type.getStridesAndOffset(strides, offset)) &&
         strides[1] == 1 && offset == 0;
}

LogicalResult FuncOp::verify() {
  unsigned numRows = 0;
  for (Type type : getArgumentTypes()) {
    if (type.isIndex()) {
      ++numRows;
      continue;
    }
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || memref.getRank() < 1 || memref.getRank() > 2 ||
        !(memref.getLayout().isIdentity() || hasRowStride(memref)))
      return emitOpError() << "arguments must be an index or memrefs of rank 1 "
                              "or 2, packed or strided<[?, 1]>, got "
                           << type;
    Type element = memref.getElementType();
    if (!element.isBF16() && !element.isF16() && !element.isF32())
      return emitOpError() << "arrays hold bf16, f16 or f32, got " << type;
    if (memref.getMemorySpace())
      return emitOpError() << "arrays lie in the default memory space, got "
                           << type;
    for (int64_t size : memref.getShape().drop_front())
      if (ShapedType::isDynamic(size))
        return emitOpError()
               << "only the leading size may be dynamic, got " << type;
  }
  if (numRows != 1)
    return emitOpError() << "needs one index argument, the number of rows, got "
                         << numRows;
  if (!getResultTypes().empty())
    return emitOpError() << "kernels return nothing";
  constexpr llvm::StringLiteral launchInfo = "kernel.launch_info";
  Attribute info = (*this)->getAttr(launchInfo);
  if (!info)
    return success();
  auto entries = dyn_cast<DictionaryAttr>(info);
  if (!entries)
    return emitOpError() << launchInfo << " must be a dictionary, got " << info;
  // The launch ABI has a fixed set of keys, and the compiler knows the others.
  for (NamedAttribute entry : entries)
    if (entry.getName() != "strategy" || !isa<StringAttr>(entry.getValue()))
      return emitOpError() << launchInfo
                           << " holds the string 'strategy' and nothing else, "
                              "got "
                           << info;
  return success();
}

LogicalResult FuncOp::verifyRegions() {
  if (!isa<ReturnOp>(getBody().front().getTerminator()))
    return emitOpError() << "must end in kernel.return";
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static LogicalResult verifyYield(Operation *op, Region &region,
                                 TypeRange expected) {
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield)
    return op->emitOpError() << "regions must end in kernel.yield";
  if (TypeRange(yield.getValues()) != expected)
    return yield.emitOpError()
           << "yields other types than '" << op->getName() << "' expects";
  return success();
}

static LogicalResult verifyArguments(Operation *op, Region &region,
                                     TypeRange expected) {
  if (TypeRange(region.getArgumentTypes()) != expected)
    return op->emitOpError() << "region needs " << expected.size()
                             << " arguments of the types it is given";
  return success();
}

LogicalResult PipelineOp::verifyRegions() {
  int64_t bound = getBound(), step = getStep(), stages = getStages();
  if (bound < 1 || step < 1 || stages < 1)
    return emitOpError() << "bound, step and stages must be positive, got "
                         << bound << ", " << step << " and " << stages;
  if (TypeRange(getInits()) != TypeRange(getResults()))
    return emitOpError() << "results must have the types of the inits";
  unsigned numAccs = llvm::count_if(
      getInits(), [](Value init) { return isa<AccType>(init.getType()); });
  if (numAccs != 1 || !isa<AccType>(getInits().front().getType()))
    return emitOpError() << "carries one accumulator, and that first";
  TypeRange produced = getProduce().getArgumentTypes();
  if (produced.empty() || !produced.front().isIndex() ||
      !llvm::all_of(produced.drop_front(), llvm::IsaPred<SmemType>))
    return emitOpError() << "produce needs the arguments (index, slots)";
  SmallVector<Type> consumed(produced);
  llvm::append_range(consumed, getInits().getTypes());
  if (failed(verifyArguments(*this, getConsume(), consumed)) ||
      failed(verifyYield(*this, getProduce(), {})) ||
      failed(verifyYield(*this, getConsume(), getInits().getTypes())))
    return failure();
  for (Operation &op : getProduce().front().without_terminator())
    if (!isa<LoadOp>(op))
      return op.emitOpError() << "is not a load, and stands in 'produce'";
  for (Operation &op : getConsume().front().without_terminator())
    if (!isa<MmaOp, AccumulateTileOp>(op))
      return op.emitOpError()
             << "is neither MMA nor row statistic, and stands in 'consume'";
  return success();
}

LogicalResult LoadOp::verify() {
  if (cast<MemRefType>(getSource().getType()).getElementType() !=
      cast<SmemType>(getTarget().getType()).getElementType())
    return emitOpError() << "source and target differ in element type";
  return success();
}

LogicalResult MmaOp::verify() {
  auto a = cast<SmemType>(getA().getType()),
       b = cast<SmemType>(getB().getType());
  auto acc = cast<AccType>(getAcc().getType());
  int64_t n = b.getShape()[getTransposeB() ? 0 : 1];
  int64_t k = b.getShape()[getTransposeB() ? 1 : 0];
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "A and B differ in element type";
  bool fits = getTransposeB() ? n == acc.getColumns() : n >= acc.getColumns();
  if (a.getShape()[0] != acc.getRows() || !fits || k != a.getShape()[1])
    return emitOpError() << "cannot add " << a.getShape()[0] << "x"
                         << a.getShape()[1] << " times " << k << "x" << n
                         << " to " << acc.getRows() << "x" << acc.getColumns();
  return success();
}

LogicalResult AccumulateTileOp::verify() {
  if (cast<SmemType>(getTile().getType()).getShape()[0] !=
      cast<RowvecType>(getInit().getType()).getRows())
    return emitOpError() << "tile and rowvec differ in rows";
  return success();
}

LogicalResult AccumulateOp::verify() {
  int64_t rows = cast<FragType>(getFrag().getType()).getRows();
  if (rows != cast<RowvecType>(getInit().getType()).getRows())
    return emitOpError() << "cannot add rows of " << getFrag().getType()
                         << " to " << getInit().getType();
  if (int64_t(getLimit()) < 1)
    return emitOpError() << "limit must be positive, got "
                         << int64_t(getLimit());
  return success();
}

LogicalResult ForSlicesOp::verifyRegions() {
  auto acc = cast<AccType>(getAcc().getType());
  if (getBody().getNumArguments() < 2)
    return emitOpError() << "region needs a frag and an index";
  auto frag = dyn_cast<FragType>(getBody().getArgument(0).getType());
  if (!frag || frag.getRows() != acc.getRows())
    return emitOpError() << "region's first argument must be a frag of "
                         << acc.getRows() << " rows";
  SmallVector<Type> expected{frag, IndexType::get(getContext())};
  llvm::append_range(expected, getInits().getTypes());
  if (failed(verifyArguments(*this, getBody(), expected)))
    return failure();
  SmallVector<Type> yielded, results;
  if (writesBack()) {
    yielded.push_back(frag);
    results.push_back(acc);
  }
  llvm::append_range(yielded, getInits().getTypes());
  llvm::append_range(results, getInits().getTypes());
  if (TypeRange(getResults()) != TypeRange(results))
    return emitOpError() << "results must be the accumulator, when slices are "
                            "written back, and the carried rowvecs";
  return verifyYield(*this, getBody(), yielded);
}

LogicalResult MapOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError() << "needs an input";
  Type f32 = Float32Type::get(getContext());
  SmallVector<Type> arguments(getInputs().size(), f32);
  if (failed(verifyArguments(*this, getBody(), arguments)) ||
      failed(verifyYield(*this, getBody(), f32)))
    return failure();
  auto isFrag = [](Value value) { return isa<FragType>(value.getType()); };
  bool anyFrag = llvm::any_of(getInputs(), isFrag);
  if (isFrag(getResult()) != anyFrag)
    return emitOpError() << "result must be a frag exactly when an input is";
  auto frag = dyn_cast<FragType>(getResult().getType());
  int64_t rows =
      frag ? frag.getRows() : cast<RowvecType>(getResult().getType()).getRows();
  for (Value input : getInputs()) {
    Type type = input.getType();
    if (isa<ColvecType>(type) && !frag)
      return emitOpError() << "a colvec needs a frag beside it";
    bool fits =
        llvm::TypeSwitch<Type, bool>(type)
            .Case([&](FragType) { return type == frag; })
            .Case([&](RowvecType rowvec) { return rowvec.getRows() == rows; })
            .Case([&](ColvecType colvec) {
              return colvec.getColumns() == frag.getColumns();
            })
            .Default(false);
    if (!fits)
      return emitOpError() << "input " << type << " does not fit the result "
                           << getResult().getType();
  }
  return success();
}
