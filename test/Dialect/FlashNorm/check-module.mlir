// Options are checked whatever the module holds, and the error has a place.
// RUN: flashnorm-opt %s --flashnorm-check-module=chip=sm_90a 2>&1 | FileCheck %s
// RUN: not flashnorm-opt %s --flashnorm-check-module=chip=sm_70 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s --flashnorm-fuse=chip=sm_70 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s --flashnorm-compile=chip=sm_70 2>&1 | FileCheck %s --check-prefix=SERIALIZE
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels=chip=sm_70 2>&1 | FileCheck %s --check-prefix=SERIALIZE
// RUN: not flashnorm-opt %s "--flashnorm-fuse=chip=sm_80 family=wgmma" 2>&1 | FileCheck %s --check-prefix=FAMILY
// RUN: not flashnorm-opt %s "--pass-pipeline=builtin.module(func.func(flashnorm-plan{chip=sm_70}))" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s "--pass-pipeline=builtin.module(flashnorm-fuse-norms{chip=sm_70})" 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not flashnorm-opt %s "--flashnorm-compile=chip=sm_90a ptx-version=12" 2>&1 | FileCheck %s --check-prefix=PTX
// CHIP: check-module.mlir:{{[0-9]+}}:{{[0-9]+}}: error: unknown chip 'sm_70'; legal are sm_80,
// SERIALIZE: check-module.mlir:{{[0-9]+}}:{{[0-9]+}}: error: unknown chip 'sm_70'; one of sm_80,
// PTX: check-module.mlir:{{[0-9]+}}:{{[0-9]+}}: error: unknown PTX version 12 for sm_90a; one of 86, 87, 88, 90
// FAMILY: check-module.mlir:{{[0-9]+}}:{{[0-9]+}}: error: sm_80 has no wgmma; legal are auto, mma_sync

// Functions of nested modules are not silently left out.
// RUN: flashnorm-opt %s --flashnorm-raise -o /dev/null 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: flashnorm-opt %s --flashnorm-fuse -o /dev/null 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: flashnorm-compile %s --no-cubin -o %t 2>&1 | FileCheck %s --check-prefix=NESTED
// NESTED: check-module.mlir:[[#@LINE+14]]:1: warning: functions of a nested module are left as they are (2 here): nest the pipeline as deep, as in --pass-pipeline='builtin.module(builtin.module(...))'
// NESTED: check-module.mlir:[[#@LINE+23]]:3: warning: functions of a nested module are left as they are (1 here)
// NESTED-NOT: warning

// As it says, on the nested modules alone.
// RUN: flashnorm-opt %s "--pass-pipeline=builtin.module(builtin.module(flashnorm-fuse))" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEEPER
// DEEPER: check-module.mlir:[[#@LINE+18]]:3: warning: functions of a nested module are left as they are (1 here)
// DEEPER-NOT: warning

// CHECK: module
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

module @inner {
  func.func private @declared(tensor<4xf32>)
  func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @h(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
module @outer {
  module @innermost {
    func.func @i(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  }
}
module @empty {
  func.func private @declared(tensor<4xf32>)
}
