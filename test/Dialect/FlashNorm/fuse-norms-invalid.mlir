// RUN: not flashnorm-opt %s --flashnorm-fuse-norms="chip=sm_70" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s --flashnorm-plan="chip=sm_90a family=mfma" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FAMILY
// RUN: not flashnorm-opt %s --flashnorm-plan="chip=sm_100 family=tcgen05" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FEATURE

// An unknown chip or family is an error that lists the legal ones.
// CHIP: error: unknown chip 'sm_70'; legal are sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100, sm_100a, sm_103a, sm_120, sm_120a
// FAMILY: error: unknown MMA family 'mfma'; legal for sm_90a are auto, mma_sync, wgmma
// FEATURE: error: sm_100 has no tcgen05; legal are auto, mma_sync
func.func @empty() {
  return
}
