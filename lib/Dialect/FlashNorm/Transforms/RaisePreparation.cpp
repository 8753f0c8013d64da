//===- RaisePreparation.cpp - What hides a norm from its matcher ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RaisePreparation.h"
#include "ScalarFlow.h"
#include "ValueFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace flashnorm;

// Sizes are followed no further than this at once.
static constexpr unsigned maxDepth = 256;

//===----------------------------------------------------------------------===//
// Sizes of tensors
//===----------------------------------------------------------------------===//

namespace {
/// A number, or what else says how large a dimension is: an index, or dimension
/// `dim` of a tensor.
struct Size {
  std::optional<int64_t> number;
  Value value;
  int64_t dim = -1;

  bool operator==(const Size &other) const {
    return number == other.number && value == other.value && dim == other.dim;
  }
};

/// Where sizes come from. Remembers, as a model is one long chain of them.
class Sizes {
public:
  Size get(OpFoldResult size, unsigned depth = 0);
  Size get(Value tensor, int64_t dim, unsigned depth = 0);

  /// From now on `op`, which has been executed, says what sizes are the same:
  /// those of its operands along one loop.
  void learn(linalg::LinalgOp op);
  bool areSame(const Size &lhs, const Size &rhs);

private:
  Size find(Value index, unsigned depth);
  Size find(Value tensor, int64_t dim, unsigned depth);
  unsigned getClass(const Size &size);

  DenseMap<std::pair<Value, int64_t>, Size> known;
  // Sizes and numbers, which have no value.
  DenseMap<std::pair<Value, int64_t>, unsigned> classes;
  llvm::IntEqClasses same;
};
} // namespace

unsigned Sizes::getClass(const Size &size) {
  auto [entry, isNew] = classes.try_emplace(
      {size.value, size.number.value_or(size.dim)}, classes.size());
  if (isNew)
    same.grow(classes.size());
  return entry->second;
}

bool Sizes::areSame(const Size &lhs, const Size &rhs) {
  return lhs == rhs ||
         same.findLeader(getClass(lhs)) == same.findLeader(getClass(rhs));
}

void Sizes::learn(linalg::LinalgOp op) {
  SmallVector<std::optional<Size>> loops(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      const Size size = get(operand.get(), dim);
      std::optional<Size> &first = loops[loop.getPosition()];
      if (!first)
        first = size;
      else if (!(*first == size))
        same.join(getClass(*first), getClass(size));
    }
  }
}

Size Sizes::get(OpFoldResult size, unsigned depth) {
  if (std::optional<int64_t> number = getConstantIntValue(size))
    return {number, {}, -1};
  return get(cast<Value>(size), -1, depth);
}

/// `dim` is -1 for an index.
Size Sizes::get(Value value, int64_t dim, unsigned depth) {
  if (auto found = known.find({value, dim}); found != known.end())
    return found->second;
  if (depth == maxDepth)
    return {std::nullopt, value, dim};
  Size size = dim < 0 ? find(value, depth + 1) : find(value, dim, depth + 1);
  known[{value, dim}] = size;
  return size;
}

Size Sizes::find(Value index, unsigned depth) {
  if (auto dimOp = index.getDefiningOp<tensor::DimOp>()) {
    auto type = dyn_cast<RankedTensorType>(dimOp.getSource().getType());
    std::optional<int64_t> dim = dimOp.getConstantIndex();
    if (type && dim && *dim >= 0 && *dim < type.getRank())
      return get(dimOp.getSource(), *dim, depth);
  }
  // Of two sizes of which none is greater.
  if (auto max = index.getDefiningOp<arith::MaxUIOp>()) {
    Size lhs = get(OpFoldResult(max.getLhs()), depth);
    if (areSame(lhs, get(OpFoldResult(max.getRhs()), depth)))
      return lhs;
  }
  return {std::nullopt, index, -1};
}

Size Sizes::find(Value tensor, int64_t dim, unsigned depth) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (type && !type.isDynamicDim(dim))
    return {type.getDimSize(dim), {}, -1};
  if (auto empty = tensor.getDefiningOp<tensor::EmptyOp>())
    return get(empty.getMixedSizes()[dim], depth);
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>())
    return get(getOutputShape(expand)[dim], depth);
  if (auto before = stepToSameSize(tensor, dim))
    return get(before->first, before->second, depth);
  return {std::nullopt, tensor, dim};
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// The dimension along which `op` repeats the first element of its operand, all
/// others copied in their place.
static std::optional<int64_t> getRepeatedDim(linalg::GenericOp op) {
  if (!op || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0)
    return std::nullopt;
  Block *body = op.getBody();
  if (body->getTerminator()->getOperand(0) != body->getArgument(0))
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!maps[1].isIdentity() || maps[0].getNumResults() != maps[1].getNumDims())
    return std::nullopt;
  std::optional<int64_t> repeated;
  for (auto [dim, expr] : llvm::enumerate(maps[0].getResults())) {
    if (expr == maps[1].getResult(dim))
      continue;
    if (repeated || expr != getAffineConstantExpr(0, op.getContext()))
      return std::nullopt;
    repeated = dim;
  }
  return repeated;
}

/// Whether `tensor` is `source` as `view` expands it; `source` itself, without.
static bool isViewOf(Value tensor, Value source, tensor::ExpandShapeOp view) {
  if (!view)
    return tensor == source;
  // Otherwise one group can be expanded in two ways.
  for (ArrayRef<int64_t> group : view.getReassociationIndices())
    if (llvm::count_if(group, [&](int64_t dim) {
          return view.getResultType().isDynamicDim(dim);
        }) > 1)
      return false;
  auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>();
  if (expand && expand.getSrc() == source)
    return expand.getReassociation() == view.getReassociation();
  auto collapse = source.getDefiningOp<tensor::CollapseShapeOp>();
  return collapse && collapse.getSrc() == tensor &&
         collapse.getReassociation() == view.getReassociation();
}

/// The tensor that `op` returns: in `else` as it is, in `then` repeated, which
/// changes nothing as it has that many rows; null if it is not so.
static Value getUnchanged(scf::IfOp op, Sizes &sizes) {
  if (op.getNumResults() != 1 || op.getElseRegion().empty())
    return {};
  Value kept = op.elseYield().getOperand(0);
  // Defined outside, alone in its block.
  if (op.getElseRegion().isAncestor(kept.getParentRegion()) ||
      !llvm::hasSingleElement(*op.elseBlock()) ||
      kept.getType() != op.getResult(0).getType())
    return {};
  Value made = op.thenYield().getOperand(0);
  // Upstream folds dimensions away around the op.
  auto view = made.getDefiningOp<tensor::ExpandShapeOp>();
  if (view)
    made = view.getSrc();
  auto repeat = made.getDefiningOp<linalg::GenericOp>();
  std::optional<int64_t> dim = getRepeatedDim(repeat);
  if (!dim || !llvm::all_of(op.thenBlock()->without_terminator(),
                            [](Operation &each) { return isPure(&each); }))
    return {};
  Value source = repeat.getDpsInputOperand(0)->get();
  if (!isViewOf(kept, source, view))
    return {};
  // `if` there is one row...
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return {};
  const Size rows = sizes.get(source, *dim);
  const Size one{1, {}, -1};
  const Size lhs = sizes.get(OpFoldResult(compare.getLhs()));
  const Size rhs = sizes.get(OpFoldResult(compare.getRhs()));
  if (!(sizes.areSame(lhs, rows) && rhs == one) &&
      !(lhs == one && sizes.areSame(rhs, rows)))
    return {};
  // ... and one is wanted.
  return sizes.areSame(sizes.get(made, *dim), rows) ? kept : Value();
}

/// Which of its operands `select` is; null if that is not known.
static Value getChosen(arith::SelectOp select) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(select->getParentOp());
  if (linalgOp && !isa<linalg::GenericOp, linalg::MapOp>(linalgOp))
    return {}; // The body of a named op is not ours to change.
  auto getElement = [&](Value value) -> Element {
    auto getIndex = [&](int64_t rank) {
      return AffineMap::getMultiDimIdentityMap(rank, select.getContext());
    };
    AffineMap index;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      index = getIndex(type.getRank());
    else if (linalgOp && value.getParentBlock() == linalgOp.getBlock())
      index = getIndex(linalgOp.getNumLoops());
    if (index)
      index = AffineMap::get(index.getNumDims(), 1, index.getResults(),
                             select.getContext());
    return {value, index};
  };
  Node condition = look(getElement(select.getCondition()));
  std::optional<bool> isTrue;
  if (condition.is(Node::Kind::Constant)) {
    isTrue = condition.value != 0;
  } else if (auto compare = dyn_cast_or_null<arith::CmpFOp>(condition.op)) {
    auto getOperand = [&](Value value) {
      const bool inBody = isa<RankedTensorType>(value.getType()) ||
                          value.getParentBlock() == compare->getBlock();
      return getConstant({value, inBody ? condition.self.index : AffineMap()});
    };
    std::optional<Constant> lhs = getOperand(compare.getLhs());
    std::optional<Constant> rhs = getOperand(compare.getRhs());
    if (lhs && rhs)
      isTrue = arith::applyCmpPredicate(
          compare.getPredicate(), APFloat(lhs->value), APFloat(rhs->value));
  }
  if (!isTrue)
    return {};
  return *isTrue ? select.getTrueValue() : select.getFalseValue();
}

void flashnorm::decideChoices(Operation *root) {
  // In the order of the program: sizes and conditions may depend on others, and
  // an op outside of all choices is executed before those that follow.
  SmallVector<Operation *> ops;
  bool anyChoices = false;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    const bool isChoice = isa<scf::IfOp, arith::SelectOp>(op);
    anyChoices |= isChoice;
    if (isChoice || (isa<linalg::LinalgOp>(op) && op->getParentOp() == root &&
                     op->getBlock()->isEntryBlock()))
      ops.push_back(op);
  });
  if (!anyChoices)
    return;
  Sizes sizes;
  SmallVector<Operation *> decided;
  for (Operation *op : ops) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      sizes.learn(linalgOp);
      continue;
    }
    auto ifOp = dyn_cast<scf::IfOp>(op);
    Value same =
        ifOp ? getUnchanged(ifOp, sizes) : getChosen(cast<arith::SelectOp>(op));
    if (!same)
      continue;
    op->getResult(0).replaceAllUsesWith(same);
    decided.push_back(op);
  }
  // One may hold others.
  for (Operation *op : llvm::reverse(decided))
    op->erase();
}

//===----------------------------------------------------------------------===//
// Fused multiply and add
//===----------------------------------------------------------------------===//

// On both halves, so that clones of them are known, too. No other pass sees it.
static constexpr StringLiteral halfAttrName = "flashnorm.half_of_fma";

void flashnorm::splitFmas(Operation *root) {
  SmallVector<math::FmaOp> fmas;
  root->walk([&](math::FmaOp fma) { fmas.push_back(fma); });
  for (math::FmaOp fma : fmas) {
    OpBuilder builder(fma);
    auto product = arith::MulFOp::create(builder, fma.getLoc(), fma.getA(),
                                         fma.getB(), fma.getFastmathAttr());
    auto sum = arith::AddFOp::create(builder, fma.getLoc(), product, fma.getC(),
                                     fma.getFastmathAttr());
    sum->setDiscardableAttrs(fma->getDiscardableAttrDictionary());
    for (Operation *half : {product.getOperation(), sum.getOperation()})
      half->setAttr(halfAttrName, builder.getUnitAttr());
    fma->replaceAllUsesWith(sum);
    fma->erase();
  }
}

void flashnorm::joinFmas(Operation *root) {
  llvm::SmallPtrSet<Operation *, 16> products;
  SmallVector<arith::AddFOp> sums;
  root->walk([&](Operation *op) {
    if (!op->removeDiscardableAttr(halfAttrName))
      return;
    if (auto sum = dyn_cast<arith::AddFOp>(op))
      sums.push_back(sum);
    else
      products.insert(op);
  });
  for (arith::AddFOp sum : sums) {
    auto product = sum.getLhs().getDefiningOp<arith::MulFOp>();
    if (!product || !products.contains(product) || !product->hasOneUse())
      continue;
    OpBuilder builder(sum);
    auto fma = math::FmaOp::create(builder, sum.getLoc(), product.getLhs(),
                                   product.getRhs(), sum.getRhs(),
                                   sum.getFastmathAttr());
    fma->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    sum->replaceAllUsesWith(fma);
    sum->erase();
    products.erase(product);
    product->erase();
  }
}
