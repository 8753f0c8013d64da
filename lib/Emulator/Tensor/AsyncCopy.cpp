//===- AsyncCopy.cpp - cp.async -------------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The non-bulk copies (PTX ISA 9.7.9.25.2 and .3): per thread, generic proxy,
// unordered among each other until a wait of their group, of all, or of an
// mbarrier that tracks them.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/MBarrier.h"
#include "Machine/Memory.h"
#include "Tensor/Groups.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::formatv;

llvm::SmallVector<AsyncOpRef>
emulator::waitForGroups(Thread &thread, AsyncGroups &groups, unsigned allowed) {
  llvm::SmallVector<AsyncOpRef> completed = groups.wait(allowed);
  for (const AsyncOpRef &op : completed)
    waitedFor(thread, *op);
  return completed;
}

namespace {

/// Copies `read` bytes of global memory and fills up with zeros.
class Copy : public AsyncOp {
public:
  Copy(Thread &issuer, const Site &site, uint64_t to, uint64_t from,
       unsigned bytes, unsigned read)
      : AsyncOp(issuer, site, Proxy::Generic), to(to), from(from), bytes(bytes),
        read(read) {}

  bool step() override {
    char data[16] = {};
    if (read)
      std::memcpy(data, access(*this, Space::Global, from, read, Access::Read),
                  read);
    readsDone = true;
    std::memcpy(access(*this, Space::Shared, to, bytes, Access::Write), data,
                bytes);
    return true;
  }

  uint64_t to, from;
  unsigned bytes, read;
};

/// Arrives at an mbarrier when the copies that its thread issued before are
/// complete.
class Arrive : public AsyncOp {
public:
  Arrive(Thread &issuer, const Site &site, uint32_t barrier)
      : AsyncOp(issuer, site, Proxy::Generic), barrier(barrier) {
    const AsyncGroups &groups = issuer.groups->copies;
    for (const auto &group : groups.getGroups())
      copies.append(group.begin(), group.end());
    copies.append(groups.getOpen().begin(), groups.getOpen().end());
  }

  bool step() override {
    for (const AsyncOpRef &copy : copies) {
      finish(*copy);
      view.add(copy->agent, copy->writeEpoch);
    }
    readsDone = true;
    arrive(*this, barrier);
    return true;
  }

  uint32_t barrier;
  llvm::SmallVector<AsyncOpRef> copies;
};

/// cp.async dst, src, size {, source size or "ignore the source"} {, policy}
void executeCopy(Thread &thread, const Site &site, uint64_t *words) {
  bool throughL1 = site.get(0) == 0;
  bool hasPolicy = site.has(2);
  uint64_t to = word(words, site, 0), from = word(words, site, 1);
  uint64_t bytes = word(words, site, 2), read = bytes;
  bool legal = bytes == 16 || (throughL1 && (bytes == 4 || bytes == 8));
  if (!legal)
    thread.fault(FaultKind::IllegalInstruction,
                 formatv("cp.async of {0} bytes; {1}", bytes,
                         throughL1 ? "4, 8 and 16 are possible"
                                   : "only 16 are possible with .cg"));
  unsigned numOptional = (site.count(3) != 0) + (site.count(4) != 0);
  if (numOptional > (hasPolicy ? 1 : 0)) {
    uint64_t value = word(words, site, 3);
    if (site.operands[3].isPredicate)
      read = value ? 0 : bytes;
    else
      read = static_cast<uint32_t>(value);
    if (read > bytes)
      thread.fault(FaultKind::IllegalInstruction,
                   formatv("the source has {0} bytes, more than the "
                           "destination's {1}",
                           read, bytes));
  }
  if (to % bytes || from % bytes)
    thread.fault(
        FaultKind::Misaligned,
        formatv("cp.async of {0} bytes from {1:x} to {2:x}", bytes, from, to));
  resolve(thread, Space::Shared, to, bytes, bytes);
  if (read)
    resolve(thread, Space::Global, from, read, 1);
  auto op = std::make_unique<Copy>(thread, site, to, from, bytes, read);
  poison(*op, Space::Shared, to, bytes);
  AsyncOpRef issued = issue(thread, std::move(op));
  thread.groups->copies.add(std::move(issued));
}

void executeCommit(Thread &thread, const Site &, uint64_t *) {
  thread.groups->copies.commit();
}

void executeWaitGroup(Thread &thread, const Site &site, uint64_t *words) {
  waitForGroups(thread, thread.groups->copies, word(words, site, 0));
}

void executeWaitAll(Thread &thread, const Site &, uint64_t *) {
  AsyncGroups &copies = thread.groups->copies;
  copies.commit();
  waitForGroups(thread, copies, 0);
}

void executeArrive(Thread &thread, const Site &site, uint64_t *words) {
  auto barrier = static_cast<uint32_t>(word(words, site, 0));
  checkMBarrier(thread, barrier, false);
  bool counted = site.has(0); // .noinc: the expected count includes it
  if (!counted)
    addPending(thread, barrier);
  issue(thread, std::make_unique<Arrive>(thread, site, barrier));
}

const OpcodeEntry entries[] = {
    {"cp.async(.ca|.cg)(.shared|.shared::cta).global{.L2::cache_hint}"
     "{.L2::64B|.L2::128B|.L2::256B}",
     "m m c s? s?", "9.7.9.25.3.1", nullptr, executeCopy},
    {"cp.async.commit_group", "", "9.7.9.25.3.2", nullptr, executeCommit},
    {"cp.async.wait_group", "c", "9.7.9.25.3.3", nullptr, executeWaitGroup},
    {"cp.async.wait_all", "", "9.7.9.25.3.3", nullptr, executeWaitAll},
    {"cp.async.mbarrier.arrive{.noinc}{.shared|.shared::cta}.b64", "m",
     "9.7.13.15.14", nullptr, executeArrive},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getAsyncCopyOpcodes() { return entries; }
