// RUN: flashnorm-opt %s --flashnorm-serialize-kernels --split-input-file \
// RUN:   --verify-diagnostics

gpu.module @kernels {
  llvm.func @ampere() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_80", name = "ampere"}} {
    llvm.return
  }
  // expected-error @below {{kernel 'hopper' is for sm_90a, not for sm_80; plan it again}}
  llvm.func @hopper() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_90a", name = "hopper"}} {
    llvm.return
  }
}

// -----

// expected-error @below {{unknown chip 'sm_70'; one of sm_80, sm_86, sm_89, sm_90, sm_90a, sm_100}}
gpu.module @kernels {
  llvm.func @volta() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_70", name = "volta"}} {
    llvm.return
  }
}

// -----

// Without a kernel of ours nothing says what the module is for.
// expected-error @below {{gpu.module @other has no kernel with 'flashnorm.launch_abi', so that FlashNorm did not make it; compile it by itself and leave it out of this module}}
gpu.module @other {
  llvm.func @f() attributes {nvvm.kernel} {
    llvm.return
  }
}

// -----

// expected-error @below {{gpu.module @not_lowered has no kernel with 'flashnorm.launch_abi'}}
gpu.module @not_lowered {
  gpu.func @f(%a: memref<64xf32>) kernel {
    gpu.return
  }
}
