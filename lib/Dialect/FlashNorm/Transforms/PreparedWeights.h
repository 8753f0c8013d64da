//===- PreparedWeights.h - Work on weights, done once -----------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What depends on weights alone is the same on every call. Where the weights
// are frozen arguments, such a value becomes a new argument, and a generated
// function computes it; see docs/Overview.md, "Prepared weights".
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_PREPAREDWEIGHTS_H
#define FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_PREPAREDWEIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <map>
#include <string>
#include <vector>

namespace flashnorm {

/// Larger constants stay out of the IR.
inline constexpr int64_t maxConstantBytes = 1 << 20;

/// What a prepared value is computed by. Equal names and variants compute the
/// same of operands of the same types.
struct Computation {
  llvm::StringRef name;
  int64_t variant;
  /// Emits the value.
  llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location,
                                 mlir::ValueRange)>
      build;
};

/// What the functions of a module share.
class PrepareContext {
public:
  explicit PrepareContext(mlir::ModuleOp module);

  /// Anyone but `except` refers to it, or nobody can know. As it was before
  /// anything was prepared.
  bool isUsed(mlir::func::FuncOp function,
              mlir::Operation *except = nullptr) const;

  /// A private function that computes `computation` of operands of these
  /// types; made when first asked for.
  mlir::func::FuncOp getFunction(const Computation &computation,
                                 mlir::TypeRange types, mlir::Location loc);

  mlir::SymbolTable symbolTable;

private:
  bool areUsersKnown = true;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallPtrSet<mlir::Operation *, 2>>
      users;
  std::map<std::tuple<std::string, int64_t, std::vector<const void *>>,
           mlir::func::FuncOp>
      functions;
};

/// The ops of these types of a function, without those of isolated regions
/// inside of it, which have arguments and constants of their own.
template <typename... OpTs>
llvm::SmallVector<mlir::Operation *>
collectOwnOps(mlir::func::FuncOp function) {
  llvm::SmallVector<mlir::Operation *> ops;
  function.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (op != function && op->hasTrait<mlir::OpTrait::IsIsolatedFromAbove>())
      return mlir::WalkResult::skip();
    if (mlir::isa<OpTs...>(op))
      ops.push_back(op);
    return mlir::WalkResult::advance();
  });
  return ops;
}

/// Callers promise the same values of this argument on every call.
bool isFrozen(mlir::func::FuncOp entry, mlir::BlockArgument argument);
/// What `value` is a reshape of, by ops with that operand alone.
mlir::Value getReshaped(mlir::Value value);
/// Such an argument, a constant, a reshape of one, or null.
bool isFrozenOrConstant(mlir::func::FuncOp entry, mlir::Value value);

/// A value that is the same on every call: a constant, a frozen argument, or
/// what is computed from such.
struct Factor {
  mlir::DenseElementsAttr constant;
  /// Computes the value from frozen arguments, operands before users.
  llvm::SetVector<mlir::Operation *> ops;
};

/// The prepared values of one function.
class PreparedWeights {
public:
  PreparedWeights(mlir::func::FuncOp entry, PrepareContext &context)
      : entry(entry), context(context) {}

  /// What is known of `value`, if it is the same on every call.
  std::optional<Factor> getFactor(mlir::Value value);

  /// Why no argument can be added, or nothing. Changes nothing.
  std::string checkArgument();

  /// Computes it of `factors` in the prepare function, by calling a function of
  /// its name; the new argument of the entry that stands for it. Each of
  /// `factors` is a Factor, and `checkArgument` has passed.
  mlir::Value add(const Computation &computation,
                  llvm::ArrayRef<mlir::Value> factors, mlir::Location loc);

  /// The same of one Factor, as the entry computes it.
  mlir::Value add(mlir::Value factor, mlir::Location loc);

  /// `value` at the beginning of the entry.
  mlir::Value addConstant(mlir::DenseElementsAttr value, mlir::Location loc);

  /// Makes the signatures match what `add` added. Until then new arguments are
  /// block arguments only: a signature is rebuilt as a whole, and once for all
  /// of them keeps this linear.
  void finish();

  int64_t getNumPrepared() const { return entryAttrs.size(); }

  /// Calls `body` for each function of the module, and finishes it. Returns how
  /// many prepared weights that made.
  static int64_t
  run(mlir::ModuleOp module,
      llvm::function_ref<void(mlir::func::FuncOp, PreparedWeights &)> body);

private:
  bool collectOps(mlir::Value value, llvm::SetVector<mlir::Operation *> &ops,
                  unsigned depth = 0);
  std::string findPrepareFunction();
  mlir::func::ReturnOp getPrepareReturn();
  mlir::Value addArgument(mlir::func::ReturnOp returnOp, mlir::Value result,
                          mlir::Location loc);
  mlir::Value getSource(mlir::BlockArgument argument, mlir::Location loc);
  mlir::Value getInPrepareFunction(mlir::OpBuilder &builder, mlir::Value value,
                                   mlir::Location loc);

  mlir::func::FuncOp entry;
  PrepareContext &context;
  mlir::func::FuncOp prepare; ///< made when first needed
  /// Arguments of the prepare function by the entry's argument number.
  llvm::DenseMap<unsigned, mlir::BlockArgument> sources;
  /// What has been copied into the prepare function.
  mlir::IRMapping copies;
  /// Attributes of the new arguments of both functions.
  llvm::SmallVector<mlir::DictionaryAttr> entryAttrs, prepareAttrs;
};

} // namespace flashnorm

#endif // FLASHNORM_LIB_DIALECT_FLASHNORM_TRANSFORMS_PREPAREDWEIGHTS_H
