// RUN: flashnorm-opt %s --flashnorm-serialize-kernels --split-input-file \
// RUN:   | FileCheck %s

// The launch ABIs of the kernels move into the manifest, without the chip, which
// is the module's. Functions that are no kernels are only compiled.
// CHECK: gpu.binary @kernels {flashnorm.manifest = {chip = "sm_80",
// CHECK-SAME: kernels = [{block = 64 : i64, name = "first"}, {block = 32 : i64, name = "second"}],
// CHECK-SAME: module = "kernels", ptx_version = 80 : i64, version = 3 : i64}}
// CHECK-SAME: #gpu.object<#nvvm.target<chip = "sm_80", features = "+ptx80"
// CHECK-SAME: assembly =
// CHECK-SAME: .version 8.0\0A.target sm_80\0A.address_size 64
// CHECK-SAME: .visible .entry first(
// CHECK-SAME: .reqntid 64
// CHECK-SAME: .visible .entry second(
// CHECK-NOT: flashnorm.launch_abi
// CHECK-NOT: gpu.module
gpu.module @kernels {
  llvm.func @helper() {
    llvm.return
  }
  llvm.func @first(%x: !llvm.ptr<1>) attributes {
      nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>,
      flashnorm.launch_abi = {block = 64, chip = "sm_80", name = "first"}} {
    llvm.return
  }
  llvm.func @second() attributes {nvvm.kernel,
      flashnorm.launch_abi = {block = 32, chip = "sm_80", name = "second"}} {
    llvm.return
  }
}

// -----

// Each chip has its default PTX version.
// CHECK: gpu.binary @kernels
// CHECK-SAME: ptx_version = 86 : i64
// CHECK-SAME: .version 8.6\0A.target sm_90a\0A
gpu.module @kernels {
  llvm.func @f() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_90a", name = "f"}} {
    llvm.return
  }
}

// -----

// CHECK: gpu.binary @kernels
// CHECK-SAME: ptx_version = 88 : i64
// CHECK-SAME: .version 8.8\0A.target sm_100a\0A
gpu.module @kernels {
  llvm.func @f() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_100a", name = "f"}} {
    llvm.return
  }
}

// -----

// CHECK: gpu.binary @kernels
// CHECK-SAME: ptx_version = 88 : i64
// CHECK-SAME: .version 8.8\0A.target sm_120\0A
gpu.module @kernels {
  llvm.func @f() attributes {nvvm.kernel,
      flashnorm.launch_abi = {chip = "sm_120", name = "f"}} {
    llvm.return
  }
}

// -----

// Modules without kernels stay as they are.
// CHECK-LABEL: func.func @nothing
func.func @nothing() {
  return
}
