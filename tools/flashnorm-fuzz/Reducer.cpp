//===- Reducer.cpp - Smaller programs with the same finding ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reducer.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace flashnorm;
using namespace flashnorm::fuzz;

// Each attempt compiles and runs a program.
static constexpr int64_t maxAttempts = 200;

static func::FuncOp getFunction(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

/// Numbers of ops of one function stay the same in a clone.
static SmallVector<Operation *> getOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  return ops;
}

/// The result of `op` may be a function's argument or result: a tensor of
/// floats, and not a view of one that is not initialised.
static bool makesArray(Operation *op) {
  if (op->getNumResults() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isa<FloatType>(type.getElementType()))
    return false;
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                         tensor::CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return !isa_and_nonnull<tensor::EmptyOp>(op);
}

static void updateType(func::FuncOp function) {
  Block &block = function.getBody().front();
  function.setType(FunctionType::get(function.getContext(),
                                     block.getArgumentTypes(),
                                     block.getTerminator()->getOperandTypes()));
}

static void returnOnly(func::FuncOp function, Value value) {
  function.getBody().front().getTerminator()->setOperands(value);
  function.removeResAttrsAttr();
  updateType(function);
}

/// Ops and arguments that nothing reads. Sizes that a `tensor.dim` reads count
/// as read.
static void eraseUnused(func::FuncOp function) {
  const SmallVector<Operation *> ops = getOps(function);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  for (unsigned i = function.getNumArguments(); i-- > 0;)
    if (function.getArgument(i).use_empty())
      (void)function.eraseArgument(i);
}

/// An argument in place of the result of op `i`.
static void cut(func::FuncOp function, size_t i) {
  Value value = getOps(function)[i]->getResult(0);
  Block &block = function.getBody().front();
  value.replaceAllUsesWith(block.addArgument(value.getType(), value.getLoc()));
  // Attributes of arguments no longer fit.
  function.removeArgAttrsAttr();
  updateType(function);
}

namespace {
class Reducer {
public:
  Reducer(ModuleOp module, function_ref<bool(ModuleOp)> fails)
      : current(module.clone()), fails(fails) {}

  OwningOpRef<ModuleOp> run();

private:
  /// Changes a copy, and keeps it if it still fails.
  bool attempt(function_ref<void(func::FuncOp)> change);
  bool returnEarlierValue();

  OwningOpRef<ModuleOp> current;
  function_ref<bool(ModuleOp)> fails;
  int64_t attempts = 0;
};
} // namespace

bool Reducer::attempt(function_ref<void(func::FuncOp)> change) {
  if (attempts == maxAttempts)
    return false;
  OwningOpRef<ModuleOp> copy = current->clone();
  func::FuncOp function = getFunction(*copy);
  change(function);
  eraseUnused(function);
  if (failed(verify(*copy)))
    return false;
  ++attempts;
  if (!fails(*copy))
    return false;
  current = std::move(copy);
  return true;
}

/// What comes after a wrong value mostly is wrong, too: halves are tried.
bool Reducer::returnEarlierValue() {
  SmallVector<size_t> candidates;
  for (auto [i, op] : llvm::enumerate(getOps(getFunction(*current))))
    if (makesArray(op) &&
        llvm::none_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>))
      candidates.push_back(i);
  for (size_t begin = 0; begin < candidates.size();) {
    const size_t middle = (begin + candidates.size()) / 2;
    const size_t i = candidates[middle];
    if (attempt([i](func::FuncOp function) {
          returnOnly(function, getOps(function)[i]->getResult(0));
        }))
      return true;
    begin = middle + 1;
  }
  return false;
}

OwningOpRef<ModuleOp> Reducer::run() {
  // One result...
  const unsigned numResults = getFunction(*current).getNumResults();
  for (unsigned i = 0; numResults > 1 && i < numResults; ++i)
    if (attempt([i](func::FuncOp function) {
          Operation *end = function.getBody().front().getTerminator();
          returnOnly(function, end->getOperand(i));
        }))
      break;
  // ... or rather the first value on its way that is wrong.
  while (returnEarlierValue()) {
  }
  // From the end, so that the first success takes most away.
  bool changed = true;
  while (changed) {
    changed = false;
    size_t i = getOps(getFunction(*current)).size();
    while (i-- > 0) {
      const SmallVector<Operation *> ops = getOps(getFunction(*current));
      if (i < ops.size() && ops[i]->getNumOperands() != 0 && makesArray(ops[i]))
        changed |= attempt([i](func::FuncOp function) { cut(function, i); });
    }
  }
  return std::move(current);
}

OwningOpRef<ModuleOp> fuzz::reduce(ModuleOp module,
                                   function_ref<bool(ModuleOp)> fails) {
  return Reducer(module, fails).run();
}
