//===- NormWeightFolder.h - Moves norm weights into matmul weights --------===//
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
#ifndef FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H
#define FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H

#include "flashnorm/Dialect/FlashNorm/IR/FlashNorm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <string>

namespace flashnorm {

/// What the folders of a module's functions share.
class FoldContext {
public:
  explicit FoldContext(mlir::ModuleOp module);

  /// Anyone but `except` refers to it, or nobody can know. As it was before
  /// anything was folded.
  bool isUsed(mlir::func::FuncOp function,
              mlir::Operation *except = nullptr) const;

  /// The function that computes the product of weights of these types; made
  /// when first asked for.
  mlir::func::FuncOp getProductFunction(mlir::Type normWeight,
                                        mlir::Type weight, bool transposeWeight,
                                        mlir::Location loc);

  mlir::SymbolTable symbolTable;

private:
  bool areUsersKnown = true;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallPtrSet<mlir::Operation *, 2>>
      users;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Type, unsigned>,
                 mlir::func::FuncOp>
      productFunctions;
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

/// Folds the weights of the norms of one function.
class NormWeightFolder {
public:
  NormWeightFolder(mlir::func::FuncOp entry, FoldContext &context)
      : entry(entry), context(context) {}

  /// Why the weight of `norm` cannot be folded into the weights of `matmuls`,
  /// or nothing. Changes nothing.
  std::string check(RMSNormOp norm, llvm::ArrayRef<MatmulOp> matmuls);

  /// Folds it; `check` has passed.
  void fold(RMSNormOp norm, llvm::ArrayRef<MatmulOp> matmuls);

  /// Makes the signatures match what `fold` added. Until then new arguments are
  /// block arguments only: a signature is rebuilt as a whole, and once for all
  /// of them keeps this linear.
  void finish();

  int64_t getNumPrepared() const { return entryAttrs.size(); }

  /// Calls `body` for each function of the module, and finishes it. Returns how
  /// many prepared weights that made.
  static int64_t
  run(mlir::ModuleOp module,
      llvm::function_ref<void(mlir::func::FuncOp, NormWeightFolder &)> body);

private:
  /// One product diag(g) W; matmuls that share it share the result.
  struct Product {
    mlir::Value normWeight, weight;
    bool transposeWeight;

    std::tuple<mlir::Value, mlir::Value, unsigned> getKey() const {
      return {normWeight, weight, transposeWeight};
    }
  };

  static Product getProductOf(RMSNormOp norm, MatmulOp matmul);
  std::string findPrepareFunction();
  mlir::Value getProduct(const Product &product, mlir::Location loc);
  mlir::DenseElementsAttr getConstantProduct(const Product &product,
                                             mlir::DenseElementsAttr normWeight,
                                             mlir::DenseElementsAttr weight);
  mlir::Value addPrepared(const Product &product, mlir::Location loc);
  mlir::Value getSource(mlir::BlockArgument argument, mlir::Location loc);
  mlir::Value getInPrepareFunction(mlir::OpBuilder &builder, mlir::Value value,
                                   mlir::Location loc);

  mlir::func::FuncOp entry;
  FoldContext &context;
  mlir::func::FuncOp prepare; ///< made when first needed
  /// Arguments of the prepare function by the entry's argument number.
  llvm::DenseMap<unsigned, mlir::BlockArgument> sources;
  /// What has been copied into the prepare function.
  mlir::IRMapping copies;
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Value, unsigned>, mlir::Value>
      products;
  /// Products of constants, which are looked at before they are used.
  llvm::DenseMap<std::tuple<mlir::Value, mlir::Value, unsigned>,
                 mlir::DenseElementsAttr>
      constantProducts;
  /// Attributes of the new arguments of both functions.
  llvm::SmallVector<mlir::DictionaryAttr> entryAttrs, prepareAttrs;
};

} // namespace flashnorm

#endif // FLASHNORM_DIALECT_FLASHNORM_TRANSFORMS_NORMWEIGHTFOLDER_H
