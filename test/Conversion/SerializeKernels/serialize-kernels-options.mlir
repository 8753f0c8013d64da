// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="ptx-version=70" 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="format=cubin ptxas=%t.no-ptxas" 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: flashnorm-opt %s --flashnorm-serialize-kernels="chip=sm_100a ptx-version=90" | FileCheck %s

// RUN: not env FLASHNORM_PTXAS=%t.no-ptxas flashnorm-opt %s --flashnorm-serialize-kernels=format=cubin 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: format=cubin needs ptxas, which is neither in the search path nor under CUDA_HOME

// A program that writes nothing is no ptxas, and a failing one is quoted.
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="format=cubin ptxas=/bin/true" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="format=cubin ptxas=/bin/false" 2>&1 | FileCheck %s --check-prefix=SILENT
// RUN: printf '#!/bin/sh\necho first; echo second >&2; echo; exit 3\n' > %t.talks && chmod +x %t.talks
// RUN: not flashnorm-opt %s --flashnorm-serialize-kernels="format=cubin ptxas=%t.talks" 2>&1 | FileCheck %s --check-prefix=TALKS
// NOTHING: error: /bin/true wrote no machine code for sm_100a: it is not NVIDIA's assembler
// SILENT: error: /bin/false failed for sm_100a (status 1){{$}}
// TALKS: error: {{.*}}.talks failed for sm_100a (status 3):
// TALKS-NEXT: {{^}}first{{$}}
// TALKS-NEXT: {{^}}second{{$}}
// TALKS-NEXT: {{^ *(gpu.module|\^)}}

// VERSION: error: unknown PTX version 70 for sm_100a; one of 86, 87, 88, 90
// PTXAS: error: cannot run '{{.*}}.no-ptxas'
// CHECK: ptx_version = 90 : i64
// CHECK-SAME: .version 9.0\0A.target sm_100a
gpu.module @kernels {
  llvm.func @f() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_100a", name = "f"}} {
    llvm.return
  }
}
