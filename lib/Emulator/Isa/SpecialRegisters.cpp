//===- SpecialRegisters.cpp - %tid and its like ---------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, chapter 10.
//
//===----------------------------------------------------------------------===//

#include "Isa/Emitter.h"
#include "Isa/JitSupport.h"
#include <optional>

using namespace flashnorm;
using namespace flashnorm::emulator;
using llvm::StringRef;

namespace {
struct Known {
  StringRef name;
  SpecialRegister which;
  unsigned bits;
  bool isConstant; ///< for a thread
};
} // namespace

#define DIMENSIONS(name, which)                                                \
  {name ".x", SpecialRegister::which##X, 32, true},                            \
      {name ".y", SpecialRegister::which##Y, 32, true},                        \
      {name ".z", SpecialRegister::which##Z, 32, true}, {                      \
    name ".w", SpecialRegister::Zero, 32, true                                 \
  }

static constexpr Known knownRegisters[] = {
    DIMENSIONS("%tid", Tid),
    DIMENSIONS("%ntid", Ntid),
    DIMENSIONS("%ctaid", Ctaid),
    DIMENSIONS("%nctaid", Nctaid),
    DIMENSIONS("%clusterid", ClusterId),
    DIMENSIONS("%nclusterid", NclusterId),
    DIMENSIONS("%cluster_ctaid", ClusterCtaid),
    DIMENSIONS("%cluster_nctaid", ClusterNctaid),
    {"%cluster_ctarank", SpecialRegister::ClusterCtarank, 32, true},
    {"%cluster_nctarank", SpecialRegister::ClusterNctarank, 32, true},
    {"%is_explicit_cluster", SpecialRegister::IsExplicitCluster, 1, true},
    {"%laneid", SpecialRegister::LaneId, 32, true},
    {"%warpid", SpecialRegister::WarpId, 32, true},
    {"%nwarpid", SpecialRegister::NwarpId, 32, true},
    {"%smid", SpecialRegister::SmId, 32, true},
    {"%nsmid", SpecialRegister::NsmId, 32, true},
    {"%gridid", SpecialRegister::GridId, 64, true},
    {"%lanemask_eq", SpecialRegister::LanemaskEq, 32, true},
    {"%lanemask_le", SpecialRegister::LanemaskLe, 32, true},
    {"%lanemask_lt", SpecialRegister::LanemaskLt, 32, true},
    {"%lanemask_ge", SpecialRegister::LanemaskGe, 32, true},
    {"%lanemask_gt", SpecialRegister::LanemaskGt, 32, true},
    {"%clock", SpecialRegister::Clock64, 32, false},
    {"%clock_hi", SpecialRegister::ClockHi, 32, false},
    {"%clock64", SpecialRegister::Clock64, 64, false},
    {"%globaltimer", SpecialRegister::GlobalTimer, 64, false},
    {"%globaltimer_lo", SpecialRegister::GlobalTimer, 32, false},
    {"%globaltimer_hi", SpecialRegister::GlobalTimerHi, 32, false},
    {"%total_smem_size", SpecialRegister::TotalSmemSize, 32, true},
    {"%aggr_smem_size", SpecialRegister::AggrSmemSize, 32, true},
    {"%dynamic_smem_size", SpecialRegister::DynamicSmemSize, 32, true},
    {"%reserved_smem_offset_begin", SpecialRegister::ReservedSmemBegin, 32,
     true},
    {"%reserved_smem_offset_end", SpecialRegister::ReservedSmemEnd, 32, true},
    {"%reserved_smem_offset_cap", SpecialRegister::ReservedSmemEnd, 32, true},
    {"%current_graph_exec", SpecialRegister::Zero, 64, true},
};

llvm::Value *emulator::emitSpecialRegister(InstructionEmitter &emitter,
                                           StringRef name) {
  for (const Known &known : knownRegisters) {
    if (known.name != name)
      continue;
    llvm::Value *which = emitter.b.getInt32(static_cast<uint32_t>(known.which));
    llvm::Value *value =
        known.isConstant ? emitter.callPure(jitSpecial, emitter.thread(), which)
                         : emitter.call(jitSpecial, emitter.thread(), which);
    return emitter.b.CreateTrunc(value, emitter.intType(known.bits));
  }
  return nullptr;
}
