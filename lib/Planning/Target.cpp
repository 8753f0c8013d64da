//===- Target.cpp - The table of chips ------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Planning/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;

// PTX ISA versions that LLVM 22 and ptxas 13.0 both take for a chip. The first
// one of a list is the ISA that introduced what the chip's kernels use; for
// sm_90a and later it is the first that knows the CTA-only form of TMA loads,
// without which LLVM's back end gives up.
static constexpr int64_t ptxFrom80[] = {80, 81, 82, 83, 84, 85, 86, 87, 88, 90};
static constexpr int64_t ptxFrom86[] = {86, 87, 88, 90};
static constexpr int64_t ptxFrom87[] = {87, 88, 90};
static constexpr int64_t ptxFrom88[] = {88, 90};

// Rates: A100 80 GB, A40, L40S, H200 (its measured steady clock), B200, B300,
// RTX PRO 6000 Blackwell. mma.sync on sm_90 reaches about 62 % of wgmma's rate;
// on sm_100 it is taken to run at the rate of sm_80, which nobody published.
// L2: on sm_90a a wgmma mainloop of 64x256 tiles, which reads 80 bytes a clock
// at the full tensor rate, was measured at the rate of 128x256 tiles, which
// read 48.
static constexpr int64_t KB = 1024, MB = 1024 * 1024;
// clang-format off
static constexpr TargetInfo targets[] = {
    // chip     shared/CTA registers, each SMs clu TMEM wgmma  tcgen5 TMA   PTX ISA        shared/SM threads MHz  memory    L2       L2/clk mma.sync native
    {"sm_80",   163 * KB,  65536, 255,      108, 1,  0,   false, false, false, 80, ptxFrom80, 164 * KB, 2048,   1410, 1.80e6, 40 * MB,  47,    2048,     0},
    {"sm_86",   99 * KB,   65536, 255,      84,  1,  0,   false, false, false, 80, ptxFrom80, 100 * KB, 1536,   1740, 0.63e6, 6 * MB,   20,    1024,     0},
    {"sm_89",   99 * KB,   65536, 255,      142, 1,  0,   false, false, false, 80, ptxFrom80, 100 * KB, 1536,   2300, 0.78e6, 96 * MB,  16,    1024,     0},
    {"sm_90",   227 * KB,  65536, 255,      132, 8,  0,   false, false, true,  80, ptxFrom80, 228 * KB, 2048,   1600, 4.30e6, 50 * MB,  80,    2560,     0},
    {"sm_90a",  227 * KB,  65536, 255,      132, 8,  0,   true,  false, true,  86, ptxFrom86, 228 * KB, 2048,   1600, 4.30e6, 50 * MB,  80,    2560,     4096},
    {"sm_100",  227 * KB,  65536, 255,      148, 8,  0,   false, false, true,  88, ptxFrom86, 228 * KB, 2048,   1800, 7.20e6, 126 * MB, 72,    2048,     0},
    {"sm_100a", 227 * KB,  65536, 255,      148, 8,  512, false, true,  true,  88, ptxFrom86, 228 * KB, 2048,   1800, 7.20e6, 126 * MB, 72,    2048,     8192},
    {"sm_103a", 227 * KB,  65536, 255,      148, 8,  512, false, true,  true,  88, ptxFrom88, 228 * KB, 2048,   1800, 7.20e6, 126 * MB, 72,    2048,     8192},
    {"sm_120",  99 * KB,   65536, 255,      188, 1,  0,   false, false, true,  88, ptxFrom87, 100 * KB, 1536,   2400, 1.60e6, 128 * MB, 16,    1024,     0},
    {"sm_120a", 99 * KB,   65536, 255,      188, 1,  0,   false, false, true,  88, ptxFrom87, 100 * KB, 1536,   2400, 1.60e6, 128 * MB, 16,    1024,     0},
};
// clang-format on

bool TargetInfo::supports(Family family) const {
  switch (family) {
  case Family::MmaSync:
    return true;
  case Family::Wgmma:
    return hasWgmma;
  case Family::Tcgen05:
    return hasTcgen05;
  }
  return false;
}

int64_t TargetInfo::numSMsForClusters(int64_t size) const {
  // Two SMs of a TPC are in one GPC. Of an H200's 132 SMs, clusters of 8 were
  // seen to run on 120, clusters of 4 not on 128.
  int64_t usable = size <= 2 ? numSMs : numSMs * 10 / 11;
  return usable / size * size;
}

llvm::ArrayRef<TargetInfo> flashnorm::getTargets() { return targets; }

const TargetInfo *flashnorm::lookupTarget(llvm::StringRef chip) {
  const auto *it = llvm::find_if(
      targets, [&](const TargetInfo &target) { return target.chip == chip; });
  return it == std::end(targets) ? nullptr : it;
}

std::string flashnorm::describeLegalChips() {
  return llvm::join(
      llvm::map_range(targets, [](const TargetInfo &t) { return t.chip; }),
      ", ");
}

std::string flashnorm::describeLegalFamilies(const TargetInfo &target) {
  std::string names;
  llvm::raw_string_ostream os(names);
  llvm::ListSeparator separator;
  for (Family family : {Family::MmaSync, Family::Wgmma, Family::Tcgen05})
    if (target.supports(family))
      os << separator << stringify(family);
  return names;
}

std::string flashnorm::describeLegalPtxVersions(const TargetInfo &target) {
  std::string versions;
  llvm::raw_string_ostream os(versions);
  llvm::ListSeparator separator;
  for (int64_t version : target.ptxVersions)
    os << separator << version;
  return versions;
}
