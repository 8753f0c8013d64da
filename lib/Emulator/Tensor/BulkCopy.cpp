//===- BulkCopy.cpp - cp.async.bulk ---------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.25.4. Copies into shared memory tell an mbarrier, piece by
// piece; copies into global memory belong to bulk groups and have read all of
// their source before they write, so that a wait for the reads alone shows
// nothing of the writes.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Cta.h"
#include "Machine/MBarrier.h"
#include "Tensor/BulkOp.h"
#include "Tensor/Groups.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;

static constexpr uint32_t offsetMask = (1u << 24) - 1;

SharedDestination::SharedDestination(Thread &thread, uint64_t toAddress,
                                     uint64_t toBytes, unsigned alignment,
                                     uint64_t barrierAddress, uint16_t mask)
    : address(static_cast<uint32_t>(toAddress)),
      barrier(static_cast<uint32_t>(barrierAddress)), bytes(toBytes) {
  uint32_t home = address & ~offsetMask;
  if (home != (barrier & ~offsetMask))
    thread.fault(FaultKind::IllegalInstruction,
                 formatv("the mbarrier {0:x} is not in the CTA of the "
                         "destination {1:x}",
                         barrier, address));
  if (mask == 0) {
    ctas.push_back(home);
  } else {
    size_t numCtas = thread.cta.cluster.ctas.size();
    if (mask >> numCtas)
      thread.fault(FaultKind::IllegalInstruction,
                   formatv("the CTA mask {0:x} names CTAs that a cluster of "
                           "{1} does not have",
                           mask, numCtas));
    for (unsigned rank = 0; rank < numCtas; ++rank)
      if (mask >> rank & 1)
        ctas.push_back(thread.cta.cluster.ctas[rank]->sharedBase());
  }
  for (uint32_t cta : ctas) {
    resolve(thread, Space::SharedCluster, cta | (address & offsetMask), bytes,
            alignment);
    checkMBarrier(thread, cta | (barrier & offsetMask), true);
  }
}

void SharedDestination::poison(AsyncOp &op) const {
  op.txBytes = bytes;
  for (uint32_t cta : ctas)
    emulator::poison(op, Space::SharedCluster, cta | (address & offsetMask),
                     bytes);
}

void SharedDestination::write(AsyncOp &op, uint32_t at, const char *data,
                              uint64_t count) const {
  for (uint32_t cta : ctas)
    std::memcpy(access(op, Space::SharedCluster, cta | (at & offsetMask), count,
                       Access::Write),
                data, count);
}

void SharedDestination::complete(AsyncOp &op, uint64_t count) const {
  for (uint32_t cta : ctas)
    completeTx(op, cta | (barrier & offsetMask), count);
}

namespace {

constexpr unsigned bulkAlignment = 16;

/// Bytes of the piece that begins at `done`.
uint64_t getPiece(uint64_t bytes, uint64_t done) {
  uint64_t piece =
      llvm::alignTo(llvm::divideCeil(bytes, numPieces), bulkAlignment);
  return std::min(piece, bytes - done);
}

/// Into shared memory, of this CTA or others; with an operation, combined.
class CopyToShared : public AsyncOp {
public:
  CopyToShared(Thread &issuer, const Site &site, SharedDestination destination,
               uint32_t to, Space fromSpace, uint64_t from, uint64_t bytes)
      : AsyncOp(issuer, site, Proxy::Async),
        destination(std::move(destination)), to(to), fromSpace(fromSpace),
        from(from), bytes(bytes) {}

  bool step() override {
    uint64_t piece = getPiece(bytes, done);
    if (piece) {
      const char *data =
          access(*this, fromSpace, from + done, piece, Access::Read);
      if (operation)
        reduceElements(*operation, type,
                       access(*this, Space::SharedCluster, to + done, piece,
                              Access::Atomic),
                       data, piece, false);
      else
        destination.write(*this, to + static_cast<uint32_t>(done), data, piece);
    }
    done += piece;
    readsDone = done == bytes;
    destination.complete(*this, piece);
    return readsDone;
  }

  SharedDestination destination;
  uint32_t to;
  Space fromSpace;
  uint64_t from, bytes, done = 0;
  std::optional<ReduceOperation> operation;
  ptx::Type type = ptx::Type::B32;
};

/// From shared into global memory; with an operation, combined.
class CopyToGlobal : public AsyncOp {
public:
  CopyToGlobal(Thread &issuer, const Site &site, uint64_t to, uint64_t from,
               uint64_t bytes)
      : AsyncOp(issuer, site, Proxy::Async), to(to), from(from), data(bytes) {
    readsShared = true;
  }

  bool step() override {
    uint64_t piece = getPiece(data.size(), done);
    if (!readsDone) {
      if (piece)
        std::memcpy(
            data.data() + done,
            access(*this, Space::Shared, from + done, piece, Access::Read),
            piece);
      done += piece;
      readsDone = done == data.size();
      if (readsDone)
        done = 0;
      return data.empty();
    }
    char *target = access(*this, Space::Global, to + done, piece,
                          operation ? Access::Atomic : Access::Write);
    if (operation)
      reduceElements(*operation, type, target, data.data() + done, piece, true);
    else
      std::memcpy(target, data.data() + done, piece);
    done += piece;
    return done == data.size();
  }

  uint64_t to, from, done = 0;
  std::vector<char> data;
  std::optional<ReduceOperation> operation;
  ptx::Type type = ptx::Type::B32;
};

void checkSize(Thread &thread, uint64_t to, uint64_t from, uint64_t bytes) {
  if (to % bulkAlignment || from % bulkAlignment || bytes % bulkAlignment)
    thread.fault(FaultKind::Misaligned,
                 formatv("bulk copy of {0} bytes from {1:x} to {2:x}; all "
                         "three must be multiples of {3}",
                         bytes, from, to, bulkAlignment));
}

/// The operand of .multicast::cluster, which comes before the cache policy.
uint16_t getMask(Thread &thread, const Site &site, uint64_t *words,
                 unsigned operand, bool multicast) {
  if (!multicast)
    return 0;
  auto mask = site.count(operand)
                  ? static_cast<uint16_t>(word(words, site, operand))
                  : uint16_t(0);
  if (!mask)
    thread.fault(FaultKind::IllegalInstruction,
                 "the CTA mask of a multicast is empty");
  return mask;
}

std::unique_ptr<CopyToShared> makeCopyToShared(Thread &thread, const Site &site,
                                               uint64_t *words, Space fromSpace,
                                               bool multicast) {
  uint64_t to = word(words, site, 0), from = word(words, site, 1);
  uint64_t bytes = static_cast<uint32_t>(word(words, site, 2));
  checkSize(thread, to, from, bytes);
  resolve(thread, fromSpace, from, bytes, bulkAlignment);
  SharedDestination destination(thread, to, bytes, bulkAlignment,
                                word(words, site, 3),
                                getMask(thread, site, words, 4, multicast));
  return std::make_unique<CopyToShared>(thread, site, std::move(destination),
                                        static_cast<uint32_t>(to), fromSpace,
                                        from, bytes);
}

std::unique_ptr<CopyToGlobal> makeCopyToGlobal(Thread &thread, const Site &site,
                                               uint64_t *words) {
  uint64_t to = word(words, site, 0), from = word(words, site, 1);
  uint64_t bytes = static_cast<uint32_t>(word(words, site, 2));
  checkSize(thread, to, from, bytes);
  resolve(thread, Space::Shared, from, bytes, bulkAlignment);
  resolve(thread, Space::Global, to, bytes, bulkAlignment);
  return std::make_unique<CopyToGlobal>(thread, site, to, from, bytes);
}

void issueToGroup(Thread &thread, std::unique_ptr<AsyncOp> op) {
  AsyncOpRef issued = issue(thread, std::move(op));
  thread.groups->bulk.add(std::move(issued));
}

/// [dst], [src], size, [mbar] {, mask} {, policy}
void executeLoad(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeCopyToShared(thread, site, words, Space::Global, site.has(1));
  op->destination.poison(*op);
  issue(thread, std::move(op));
}

void executeSharedToCluster(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeCopyToShared(thread, site, words, Space::Shared, false);
  op->destination.poison(*op);
  issue(thread, std::move(op));
}

void executeStore(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeCopyToGlobal(thread, site, words);
  poison(*op, Space::Global, op->to, op->data.size());
  issueToGroup(thread, std::move(op));
}

ReduceOperation getOperation(Thread &thread, const Site &site, int choice) {
  auto operation = static_cast<ReduceOperation>(choice);
  if (!canReduce(operation, site.types.back()))
    thread.fault(FaultKind::IllegalInstruction,
                 llvm::Twine("no such operation on ") +
                     ptx::stringify(site.types.back()));
  return operation;
}

void executeReduceShared(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeCopyToShared(thread, site, words, Space::Shared, false);
  op->operation = getOperation(thread, site, site.get(0));
  op->type = site.types.back();
  issue(thread, std::move(op));
}

void executeReduceGlobal(Thread &thread, const Site &site, uint64_t *words) {
  auto op = makeCopyToGlobal(thread, site, words);
  op->operation = getOperation(thread, site, site.get(1));
  op->type = site.types.back();
  issueToGroup(thread, std::move(op));
}

/// Only a hint, but of addresses that must be good.
void executePrefetch(Thread &thread, const Site &site, uint64_t *words) {
  uint64_t from = word(words, site, 0);
  uint64_t bytes = static_cast<uint32_t>(word(words, site, 1));
  checkSize(thread, 0, from, bytes);
  resolve(thread, Space::Global, from, bytes, bulkAlignment);
}

void executeCommit(Thread &thread, const Site &, uint64_t *) {
  thread.groups->bulk.commit();
}

void executeWait(Thread &thread, const Site &site, uint64_t *words) {
  AsyncGroups &groups = thread.groups->bulk;
  auto allowed = static_cast<unsigned>(word(words, site, 0));
  bool readsOnly = site.has(0);
  if (!readsOnly) {
    waitForGroups(thread, groups, allowed);
    return;
  }
  for (const AsyncOpRef &op : groups.waitForReads(allowed))
    waitedFor(thread, *op, /*readsOnly=*/true);
}

#define FLASHNORM_COMPLETE_TX ".mbarrier::complete_tx::bytes"
#define FLASHNORM_REDUCE_OPS "(.and|.or|.xor|.add|.inc|.dec|.min|.max)"

const OpcodeEntry entries[] = {
    {"cp.async.bulk(.shared::cluster|.shared::cta)"
     ".global" FLASHNORM_COMPLETE_TX "{.multicast::cluster}{.L2::cache_hint}",
     "m m s m s? s?", "9.7.9.25.4.1", nullptr, executeLoad},
    {"cp.async.bulk.shared::cluster.shared::cta" FLASHNORM_COMPLETE_TX,
     "m m s m", "9.7.9.25.4.1", nullptr, executeSharedToCluster},
    {"cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}", "m m s s?",
     "9.7.9.25.4.1", nullptr, executeStore},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta" FLASHNORM_COMPLETE_TX
         FLASHNORM_REDUCE_OPS "(.b32|.u32|.s32|.b64|.u64|.s64)",
     "m m s m", "9.7.9.25.4.2", nullptr, executeReduceShared},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_"
     "hint}" FLASHNORM_REDUCE_OPS
     "{.noftz}(.f16|.bf16|.b32|.u32|.s32|.b64|.u64|.s64|.f32|.f64)",
     "m m s s?", "9.7.9.25.4.2", nullptr, executeReduceGlobal},
    {"cp.async.bulk.prefetch.L2.global{.L2::cache_hint}", "m s s?",
     "9.7.9.25.4.3", nullptr, executePrefetch},
    {"cp.async.bulk.commit_group", "", "9.7.9.25.6.1", nullptr, executeCommit},
    {"cp.async.bulk.wait_group{.read}", "c", "9.7.9.25.6.2", nullptr,
     executeWait},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getBulkCopyOpcodes() { return entries; }
