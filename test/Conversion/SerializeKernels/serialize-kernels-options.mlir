// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="ptx-version=70" 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="format=cubin ptxas=%t.no-ptxas" 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: flashnorm-opt %s --flashnorm-serialize-kernels="chip=sm_100a ptx-version=90" | FileCheck %s

// VERSION: error: unknown PTX version 70 for sm_100a; one of 86, 87, 88, 90
// PTXAS: error: format=cubin needs ptxas, which is neither in the search path nor under CUDA_HOME
// CHECK: ptx_version = 90 : i64
// CHECK-SAME: .version 9.0\0A.target sm_100a
gpu.module @kernels {
  llvm.func @f() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_100a", name = "f"}} {
    llvm.return
  }
}
