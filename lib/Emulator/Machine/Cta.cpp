//===- Cta.cpp - CTAs and clusters ----------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm::emulator;

/// Registers per thread that ptxas may use at most: what divides the register
/// file among the threads, in steps of 8.
void Cta::startRegisters(const Kernel &kernel, uint32_t numThreads) {
  constexpr uint32_t registerFile = 65536, most = 255;
  uint32_t warps = (numThreads + 31) / 32;
  uint32_t ctas = std::max(kernel.minCtasPerSm.value_or(1), 1u);
  uint32_t registers =
      kernel.maxRegisters.value_or(registerFile / (warps * 32 * ctas)) / 8 * 8;
  warpRegisters.assign(warps, std::min(registers, most / 8 * 8));
  freeRegisters = 0;
}

void Cta::checkAlive(Thread &thread, AsyncOp *op) const {
  if (!exited() || &thread.cta == this)
    return;
  std::string message =
      llvm::formatv("the shared memory of CTA ({0},{1},{2}), rank {3} in the "
                    "cluster, is gone: all its threads have exited",
                    id[0], id[1], id[2], rank);
  if (op)
    op->fault(FaultKind::PeerExited, message);
  thread.fault(FaultKind::PeerExited, message);
}

void Cta::notePeer(const Thread &thread, uint32_t agent, Epoch epoch,
                   const Site *site) {
  if (&thread.cta == this || !machine.options.detectRaces)
    return;
  PeerAccess &access = peerAccesses[agent];
  access.epoch = std::max(access.epoch, epoch);
  access.site = site;
}

void Cta::checkPeers(Thread &last) {
  for (const auto &[agent, access] : peerAccesses) {
    if (exitView.generic.get(agent) >= access.epoch)
      continue;
    last.site = access.site;
    last.fault(
        FaultKind::PeerExited,
        "the CTA exits, and nothing orders that after an access to its shared "
        "memory by " +
            machine.describeAgent(agent) +
            " (a barrier of the cluster at the end would)");
  }
}
