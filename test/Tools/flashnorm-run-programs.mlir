// Programs of every form that the host can run end with a comparison: loops and
// branches on tensors, calls, results that are arguments, reshapes, types. A
// program that another function of the module would keep from running is one,
// and so is one with a name of the C library's.

// RUN: rm -rf %t && mkdir %t
// RUN: for f in for_fresh swap rotate grow grow_while for_insert while_tensor if_tensor switch select_t cf forall exec_region caller ret_arg mixed_call rec outs_arg copy_arg twice slice_ret constret elementwise types ints zero_d empty m_bf16 m_pow16 m_tan remf fpowi slices reshapes reshape_op concat pad gather gather_dyn generate fromel splat softmax pack unpack conv tosa vec alloct affine_ops indexd shape assert pow tosa_mm tosa_more tosa_shape empty_for nested_loops scalar_iter parallel cf_loop two_returns tuple_zero ; do flashnorm-run %s --device=cpu --entry=$f --rows=6 --output=%t/$f > %t/$f.txt && grep -q ^PASS %t/$f.txt || { echo $f; exit 1; }; done

// What a program computes, against itself above, here against numbers.
// RUN: flashnorm-run %s --device=cpu --entry=numbers --output=%t/numbers
// RUN: for i in 0 1 2 3 4; do %test_runtime npy %t/numbers/fused_$i.npy; done | FileCheck %s
// CHECK: f32 [2, 1, 3] 3 4 5 9 10 11
// CHECK-NEXT: f32 [2, 3, 2, 1] 0 3 1 4 2 5 6 9 7 10 8 11
// CHECK-NEXT: f32 [4, 3] 0 1 2 3 4 5 6 7 8 9 10 11
// CHECK-NEXT: f32 [4, 3] 0 8 16 24 32 40 48 56 64 72 80 88
// CHECK-NEXT: f32 [2, 3] 3.5 3.5 3.5 3.5 3.5 3.5

// What cannot be run names the op.
// RUN: not flashnorm-run %s --device=cpu --entry=scatter 2>&1 | FileCheck %s --check-prefix=SCATTER
// SCATTER: 'tensor.scatter' op cannot run on the CPU: it has no form on buffers
// RUN: not flashnorm-run %s --device=cpu --entry=complex --compare=none 2>&1 | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: 'complex.mul' op cannot run on the CPU: it has no lowering to the LLVM dialect
// RUN: not flashnorm-run %s --device=cpu --entry=external 2>&1 | FileCheck %s --check-prefix=EXTERNAL
// EXTERNAL: error: {{.*}}@declared{{.*}} no body

func.func @for_fresh(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %y = linalg.add ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @swap(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
    scf.yield %b, %a : tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4x8xf32>
}

func.func @rotate(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4x?xf32>, tensor<4x?xf32>) {
    %s = arith.addf %a, %b : tensor<4x?xf32>
    scf.yield %b, %s : tensor<4x?xf32>, tensor<4x?xf32>
  }
  return %r#1 : tensor<4x?xf32>
}

func.func @grow(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<?x8xf32> {
    %s = tensor.concat dim(0) %a, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %s : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}

func.func @grow_while(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  %r = scf.while (%a = %x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
    %d = tensor.dim %a, %c0 : tensor<?x8xf32>
    %p = arith.cmpi slt, %d, %c20 : index
    scf.condition(%p) %a : tensor<?x8xf32>
  } do {
  ^bb0(%a: tensor<?x8xf32>):
    %s = tensor.concat dim(0) %a, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    scf.yield %s : tensor<?x8xf32>
  }
  return %r : tensor<?x8xf32>
}

func.func @for_insert(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %e = tensor.empty() : tensor<4x8xf32>
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %e) -> tensor<4x8xf32> {
    %s = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
    %m = math.exp %s : tensor<8xf32>
    %t = tensor.insert_slice %m into %a[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
    scf.yield %t : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @while_tensor(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 100.0 : f32
  %r = scf.while (%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %v = tensor.extract %a[%c0, %c0] : tensor<4x8xf32>
    %w = math.absf %v : f32
    %p = arith.cmpf olt, %w, %z : f32
    scf.condition(%p) %a : tensor<4x8xf32>
  } do {
  ^bb0(%a: tensor<4x8xf32>):
    %e = tensor.empty() : tensor<4x8xf32>
    %y = linalg.add ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @if_tensor(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = tensor.extract %x[%c0, %c0] : tensor<4x8xf32>
  %p = arith.cmpf ogt, %v, %z : f32
  %r = scf.if %p -> tensor<4x8xf32> {
    %e = tensor.empty() : tensor<4x8xf32>
    %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  } else {
    scf.yield %x : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @switch(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant 1 : index
  %r = scf.index_switch %c -> tensor<4x8xf32>
  case 1 {
    %y = arith.addf %x, %x : tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  default {
    scf.yield %x : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @select_t(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = tensor.extract %x[%c0, %c0] : tensor<4x8xf32>
  %p = arith.cmpf ogt, %v, %z : f32
  %r = arith.select %p, %x, %y : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

func.func @cf(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = tensor.extract %x[%c0, %c0] : tensor<4x8xf32>
  %p = arith.cmpf ogt, %v, %z : f32
  cf.cond_br %p, ^a(%x : tensor<4x8xf32>), ^a(%y : tensor<4x8xf32>)
^a(%r: tensor<4x8xf32>):
  return %r : tensor<4x8xf32>
}

func.func @forall(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = scf.forall (%i) in (4) shared_outs(%o = %e) -> tensor<4x8xf32> {
    %s = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %f = tensor.empty() : tensor<1x8xf32>
    %y = linalg.exp ins(%s : tensor<1x8xf32>) outs(%f : tensor<1x8xf32>) -> tensor<1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    }
  }
  return %r : tensor<4x8xf32>
}

func.func @exec_region(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = scf.execute_region -> tensor<4x8xf32> {
    %y = arith.addf %x, %x : tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @caller(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = call @callee(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = call @ret_arg(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = arith.addf %z, %x : tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}

func.func private @callee(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @ret_arg(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}

func.func @mixed_call(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %a:2 = call @two(%x) : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  %b:2 = call @two(%a#1) : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
  return %b#1, %a#0 : tensor<?x8xf32>, tensor<?x8xf32>
}

func.func private @two(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = arith.addf %x, %x : tensor<?x8xf32>
  return %x, %0 : tensor<?x8xf32>, tensor<?x8xf32>
}

func.func @rec(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant 3 : index
  %r = call @recurse(%x, %c) : (tensor<4x8xf32>, index) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

func.func private @recurse(%x: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %p -> tensor<4x8xf32> {
    scf.yield %x : tensor<4x8xf32>
  } else {
    %y = arith.addf %x, %x : tensor<4x8xf32>
    %m = arith.subi %n, %c1 : index
    %q = func.call @recurse(%y, %m) : (tensor<4x8xf32>, index) -> tensor<4x8xf32>
    scf.yield %q : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @outs_arg(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y, %o : tensor<4x8xf32>, tensor<4x8xf32>
}

func.func @copy_arg(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = linalg.copy ins(%x : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @twice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<32xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tensor.collapse_shape %y [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %y, %y, %s : tensor<4x8xf32>, tensor<4x8xf32>, tensor<32xf32>
}

func.func @slice_ret(%x: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = tensor.extract_slice %y[1, 2] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x4xf32>
  return %s : tensor<2x4xf32>
}

func.func @constret(%x: tensor<4xf32>) -> tensor<2x3xf32> {
  %g = arith.constant dense<2.0> : tensor<2x3xf32>
  return %g : tensor<2x3xf32>
}

func.func @elementwise(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %0 = arith.addf %x, %y : tensor<4x?xf32>
  %1 = math.absf %0 : tensor<4x?xf32>
  %2 = math.sqrt %1 : tensor<4x?xf32>
  %3 = arith.cmpf ogt, %0, %2 : tensor<4x?xf32>
  %4 = arith.select %3, %x, %2 : tensor<4x?xi1>, tensor<4x?xf32>
  return %4 : tensor<4x?xf32>
}

func.func @types(%x: tensor<4xf16>, %y: tensor<4xbf16>, %z: tensor<4xf64>) -> (tensor<4xf16>, tensor<4xbf16>, tensor<4xf64>) {
  %i = arith.fptosi %x : tensor<4xf16> to tensor<4xi8>
  %j = arith.extsi %i : tensor<4xi8> to tensor<4xi64>
  %k = arith.index_cast %j : tensor<4xi64> to tensor<4xindex>
  %l = arith.index_cast %k : tensor<4xindex> to tensor<4xi32>
  %m = arith.sitofp %l : tensor<4xi32> to tensor<4xf16>
  %n = arith.extf %y : tensor<4xbf16> to tensor<4xf64>
  %o = arith.addf %n, %z : tensor<4xf64>
  %p = arith.truncf %o : tensor<4xf64> to tensor<4xbf16>
  %q = math.tanh %o : tensor<4xf64>
  return %m, %p, %q : tensor<4xf16>, tensor<4xbf16>, tensor<4xf64>
}

func.func @ints(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = arith.fptosi %x : tensor<4xf32> to tensor<4xi64>
  %c = arith.constant dense<3> : tensor<4xi64>
  %b = arith.ceildivsi %a, %c : tensor<4xi64>
  %d = arith.floordivsi %b, %c : tensor<4xi64>
  %e = arith.maxsi %d, %c : tensor<4xi64>
  %f = math.absi %e : tensor<4xi64>
  %g = math.ctpop %f : tensor<4xi64>
  %h = arith.trunci %g : tensor<4xi64> to tensor<4xi8>
  %i = arith.uitofp %h : tensor<4xi8> to tensor<4xf32>
  %z = arith.constant dense<0.0> : tensor<4xf32>
  %j = arith.cmpf ogt, %x, %z : tensor<4xf32>
  %k = arith.uitofp %j : tensor<4xi1> to tensor<4xf32>
  %l = arith.addf %i, %k : tensor<4xf32>
  return %l : tensor<4xf32>
}

func.func @zero_d(%x: tensor<f32>) -> tensor<f32> {
  %y = arith.mulf %x, %x : tensor<f32>
  return %y : tensor<f32>
}

func.func @empty(%x: tensor<0x8xf32>, %y: tensor<4x?xf32>) -> (tensor<0x8xf32>, tensor<?xf32>) {
  %z = arith.addf %x, %x : tensor<0x8xf32>
  %w = tensor.collapse_shape %y [[0, 1]] : tensor<4x?xf32> into tensor<?xf32>
  return %z, %w : tensor<0x8xf32>, tensor<?xf32>
}

func.func @m_bf16(%x: tensor<4x8xbf16>, %y: tensor<4x8xf16>) -> (tensor<4x8xbf16>, tensor<4x8xf16>) {
  %a = math.tanh %x : tensor<4x8xbf16>
  %b = math.exp %a : tensor<4x8xbf16>
  %c = math.erf %b : tensor<4x8xbf16>
  %d = math.rsqrt %b : tensor<4x8xbf16>
  %e = arith.addf %c, %d : tensor<4x8xbf16>
  %f = math.tanh %y : tensor<4x8xf16>
  %g = math.exp %f : tensor<4x8xf16>
  %h = math.rsqrt %g : tensor<4x8xf16>
  %i = math.sin %h : tensor<4x8xf16>
  return %e, %i : tensor<4x8xbf16>, tensor<4x8xf16>
}

func.func @m_pow16(%x: tensor<4x8xbf16>, %y: tensor<4x8xf16>) -> (tensor<4x8xbf16>, tensor<4x8xf16>) {
  %a = math.absf %x : tensor<4x8xbf16>
  %b = math.powf %a, %a : tensor<4x8xbf16>
  %c = math.absf %y : tensor<4x8xf16>
  %d = math.powf %c, %c : tensor<4x8xf16>
  %e = math.roundeven %d : tensor<4x8xf16>
  %f = math.log1p %e : tensor<4x8xf16>
  return %b, %f : tensor<4x8xbf16>, tensor<4x8xf16>
}

func.func @m_tan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = math.tan %x : tensor<4x8xf32>
  %r = math.atan %a : tensor<4x8xf32>
  %s = math.atan2 %r, %x : tensor<4x8xf32>
  %t = math.sinh %s : tensor<4x8xf32>
  %u = math.cosh %t : tensor<4x8xf32>
  %v = math.cbrt %u : tensor<4x8xf32>
  %w = math.tanh %v : tensor<4x8xf32>
  %z = math.fma %w, %v, %u : tensor<4x8xf32>
  %q = math.copysign %z, %x : tensor<4x8xf32>
  return %q : tensor<4x8xf32>
}

func.func @remf(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = arith.maximumf %x, %y : tensor<4x8xf32>
  %b = arith.minnumf %a, %y : tensor<4x8xf32>
  %c = arith.remf %b, %x : tensor<4x8xf32>
  %d = arith.negf %c : tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

func.func @fpowi(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<3> : tensor<4x8xi32>
  %a = math.fpowi %x, %c : tensor<4x8xf32>, tensor<4x8xi32>
  return %a : tensor<4x8xf32>
}

func.func @slices(%x: tensor<4x8xf32>, %o: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %s = tensor.extract_slice %x[1, 2] [2, 4] [1, 1] : tensor<4x8xf32> to tensor<2x4xf32>
  %r = tensor.insert_slice %s into %o[3, 5] [2, 4] [1, 2] : tensor<2x4xf32> into tensor<8x16xf32>
  return %r : tensor<8x16xf32>
}

func.func @reshapes(%x: tensor<4x8xf32>) -> (tensor<32xf32>, tensor<2x2x8xf32>) {
  %s = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  %t = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 8] : tensor<4x8xf32> into tensor<2x2x8xf32>
  return %s, %t : tensor<32xf32>, tensor<2x2x8xf32>
}

func.func @reshape_op(%x: tensor<4x8xf32>) -> tensor<2x16xf32> {
  %s = arith.constant dense<[2, 16]> : tensor<2xi64>
  %r = tensor.reshape %x(%s) : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<2x16xf32>
  return %r : tensor<2x16xf32>
}

func.func @concat(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %s = tensor.concat dim(0) %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}

func.func @pad(%x: tensor<4x8xf32>) -> tensor<6x9xf32> {
  %z = arith.constant 3.0 : f32
  %s = tensor.pad %x low[1, 0] high[1, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4x8xf32> to tensor<6x9xf32>
  return %s : tensor<6x9xf32>
}

func.func @gather(%x: tensor<4x8xf32>) -> tensor<2x1x8xf32> {
  %i = arith.constant dense<[[1], [3]]> : tensor<2x1xindex>
  %s = tensor.gather %x[%i] gather_dims([0]) : (tensor<4x8xf32>, tensor<2x1xindex>) -> tensor<2x1x8xf32>
  return %s : tensor<2x1x8xf32>
}

func.func @gather_dyn(%x: tensor<?x4x8xf32>, %n: tensor<?x3xf32>) -> tensor<?x3x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = tensor.dim %n, %c0 : tensor<?x3xf32>
  %i = tensor.generate %d {
  ^bb0(%a: index, %b: index, %c: index):
    %q = arith.constant 1 : i32
    tensor.yield %q : i32
  } : tensor<?x3x2xi32>
  %r = tensor.gather %x[%i] gather_dims([0, 1]) : (tensor<?x4x8xf32>, tensor<?x3x2xi32>) -> tensor<?x3x8xf32>
  return %r : tensor<?x3x8xf32>
}

func.func @generate(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %g = tensor.generate %n {
  ^bb0(%i: index):
    %a = tensor.extract %x[%i] : tensor<?xf32>
    %b = arith.mulf %a, %a : f32
    tensor.yield %b : f32
  } : tensor<?xf32>
  return %g : tensor<?xf32>
}

func.func @fromel(%x: tensor<4xf32>) -> tensor<2x1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tensor.extract %x[%c0] : tensor<4xf32>
  %b = tensor.extract %x[%c1] : tensor<4xf32>
  %g = tensor.from_elements %a, %b : tensor<2x1xf32>
  %h = tensor.insert %a into %g[%c1, %c0] : tensor<2x1xf32>
  return %h : tensor<2x1xf32>
}

func.func @splat(%x: tensor<4xf32>) -> tensor<2x3xf32> {
  %c0 = arith.constant 0 : index
  %a = tensor.extract %x[%c0] : tensor<4xf32>
  %g = tensor.splat %a : tensor<2x3xf32>
  return %g : tensor<2x3xf32>
}

func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @pack(%x: tensor<4x8xf32>) -> tensor<2x2x2x4xf32> {
  %e = tensor.empty() : tensor<2x2x2x4xf32>
  %y = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %e : tensor<4x8xf32> -> tensor<2x2x2x4xf32>
  return %y : tensor<2x2x2x4xf32>
}

func.func @unpack(%x: tensor<2x2x2x4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.unpack %x inner_dims_pos = [0, 1] inner_tiles = [2, 4] into %e : tensor<2x2x2x4xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @conv(%x: tensor<1x6x6x2xf32>, %w: tensor<3x3x2x4xf32>) -> tensor<1x4x4x4xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x4x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %r = linalg.conv_2d_nhwc_hwcf ins(%x, %w : tensor<1x6x6x2xf32>, tensor<3x3x2x4xf32>) outs(%f : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %r : tensor<1x4x4x4xf32>
}

func.func @tosa(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = tosa.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = tosa.reduce_sum %c {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %e = tosa.add %c, %d : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %e : tensor<4x8xf32>
}

func.func @vec(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %z {in_bounds = [true, true]} : tensor<4x8xf32>, vector<4x8xf32>
  %w = arith.addf %v, %v : vector<4x8xf32>
  %r = vector.transfer_write %w, %x[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

func.func @alloct(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = bufferization.alloc_tensor() copy(%x) : tensor<4xf32>
  %c = arith.addf %a, %x : tensor<4xf32>
  return %c : tensor<4xf32>
}

func.func @affine_ops(%x: tensor<4x8xf32>, %n: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %n, %c0 : tensor<?xf32>
  %h = affine.apply affine_map<(d0) -> (d0 ceildiv 2)>(%d)
  %m = affine.min affine_map<(d0) -> (d0, 5)>(%h)
  %s = tensor.extract_slice %n[0] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @indexd(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = index.constant 0
  %c2 = index.constant 2
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  %h = index.ceildivs %d, %c2
  %s = tensor.extract_slice %x[0] [%h] [1] : tensor<?xf32> to tensor<?xf32>
  return %s : tensor<?xf32>
}

func.func @shape(%x: tensor<?xf32>) -> tensor<?xf32> {
  %s = shape.shape_of %x : tensor<?xf32> -> tensor<1xindex>
  %c0 = arith.constant 0 : index
  %d = tensor.extract %s[%c0] : tensor<1xindex>
  %e = tensor.empty(%d) : tensor<?xf32>
  %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

func.func @assert(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant true
  cf.assert %c0, "fine"
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @pow(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a = math.absf %x : tensor<4x8xf32>
  %r = math.powf %a, %y : tensor<4x8xf32>
  %s = math.erf %r : tensor<4x8xf32>
  %t = math.rsqrt %a : tensor<4x8xf32>
  %u = math.sin %t : tensor<4x8xf32>
  %v = math.roundeven %u : tensor<4x8xf32>
  %w = math.log1p %a : tensor<4x8xf32>
  %z = arith.maximumf %v, %w : tensor<4x8xf32>
  %q = arith.addf %z, %s : tensor<4x8xf32>
  return %q : tensor<4x8xf32>
}

func.func @numbers(%zeros: tensor<4x3xf32>) -> (tensor<2x1x3xf32>, tensor<2x3x2x1xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
  %x = arith.constant dense<[[0., 1., 2.], [3., 4., 5.], [6., 7., 8.], [9., 10., 11.]]> : tensor<4x3xf32>
  %rows = arith.constant dense<[[1], [3]]> : tensor<2x1xindex>
  %0 = tensor.gather %x[%rows] gather_dims([0]) : (tensor<4x3xf32>, tensor<2x1xindex>) -> tensor<2x1x3xf32>
  %tiles = tensor.empty() : tensor<2x3x2x1xf32>
  %1 = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 1] into %tiles : tensor<4x3xf32> -> tensor<2x3x2x1xf32>
  %whole = tensor.empty() : tensor<4x3xf32>
  %2 = linalg.unpack %1 inner_dims_pos = [0, 1] inner_tiles = [2, 1] into %whole : tensor<2x3x2x1xf32> -> tensor<4x3xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4x3xf32> {
    %twice = arith.addf %a, %a : tensor<4x3xf32>
    scf.yield %twice : tensor<4x3xf32>
  }
  %half = arith.constant dense<3.5> : tensor<2x3xf32>
  %bits = tensor.bitcast %half : tensor<2x3xf32> to tensor<2x3xf32>
  return %0, %1, %2, %3, %bits : tensor<2x1x3xf32>, tensor<2x3x2x1xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}

func.func @scatter(%x: tensor<4x8xf32>, %s: tensor<2x1x8xf32>) -> tensor<4x8xf32> {
  %i = arith.constant dense<[[1], [3]]> : tensor<2x1xindex>
  %r = tensor.scatter %s into %x[%i] scatter_dims([0]) unique : (tensor<2x1x8xf32>, tensor<4x8xf32>, tensor<2x1xindex>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
func.func @complex(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %v = tensor.extract %x[%c0] : tensor<4xf32>
  %c = complex.create %v, %v : complex<f32>
  %d = complex.mul %c, %c : complex<f32>
  %r = complex.im %d : complex<f32>
  %s = tensor.splat %r : tensor<4xf32>
  return %s : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
func.func @external(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = call @declared(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %c : tensor<4xf32>
}

func.func @tosa_mm(%x: tensor<1x4x8xbf16>, %w: tensor<1x8x8xbf16>) -> tensor<1x4x8xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xbf16>}> : () -> tensor<1xbf16>
  %y = tosa.matmul %x, %w, %z, %z : (tensor<1x4x8xbf16>, tensor<1x8x8xbf16>, tensor<1xbf16>, tensor<1xbf16>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

func.func @tosa_more(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a = tosa.sigmoid %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = tosa.rsqrt %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = tosa.tanh %b : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %d = tosa.reduce_max %c {axis = 1 : i32} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  %e = tosa.sub %c, %d : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %f = tosa.erf %e : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %f : tensor<?x8xf32>
}

func.func @tosa_shape(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %a = tosa.transpose %x {perms = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %s = tosa.const_shape {values = dense<[2, 16]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %b = tosa.reshape %a, %s : (tensor<8x4xf32>, !tosa.shape<2>) -> tensor<2x16xf32>
  %s2 = tosa.const_shape {values = dense<[8, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %c = tosa.reshape %b, %s2 : (tensor<2x16xf32>, !tosa.shape<2>) -> tensor<8x4xf32>
  %d = tosa.concat %c, %c {axis = 0 : i32} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %st = tosa.const_shape {values = dense<[1, 0]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %sz = tosa.const_shape {values = dense<[8, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %e = tosa.slice %d, %st, %sz : (tensor<16x4xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<8x4xf32>
  return %e : tensor<8x4xf32>
}

func.func @empty_for(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c0 step %c1 iter_args(%a = %x) -> tensor<4x?xf32> {
    %y = arith.addf %a, %a : tensor<4x?xf32>
    scf.yield %y : tensor<4x?xf32>
  }
  return %r : tensor<4x?xf32>
}

func.func @nested_loops(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<4x8xf32> {
    %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%b = %a) -> tensor<4x8xf32> {
      %p = arith.cmpi eq, %i, %j : index
      %m = scf.if %p -> tensor<4x8xf32> {
        %y = arith.addf %b, %a : tensor<4x8xf32>
        scf.yield %y : tensor<4x8xf32>
      } else {
        scf.yield %x : tensor<4x8xf32>
      }
      scf.yield %m : tensor<4x8xf32>
    }
    scf.yield %q : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

func.func @scalar_iter(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %z) -> f32 {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %y = arith.addf %a, %v : f32
    scf.yield %y : f32
  }
  %s = tensor.splat %r : tensor<4xf32>
  return %s : tensor<4xf32>
}

func.func @parallel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %r = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%z) -> f32 {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  %s = tensor.splat %r : tensor<4xf32>
  return %s : tensor<4xf32>
}

func.func @cf_loop(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  cf.br ^h(%c0, %x : index, tensor<4x8xf32>)
^h(%i: index, %a: tensor<4x8xf32>):
  %p = arith.cmpi slt, %i, %c3 : index
  cf.cond_br %p, ^b, ^e
^b:
  %y = arith.addf %a, %a : tensor<4x8xf32>
  %j = arith.addi %i, %c1 : index
  cf.br ^h(%j, %y : index, tensor<4x8xf32>)
^e:
  return %a : tensor<4x8xf32>
}

func.func @two_returns(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = arith.constant true
  cf.cond_br %p, ^a, ^b
^a:
  return %x : tensor<4x8xf32>
^b:
  %y = arith.addf %x, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

func.func @tuple_zero(%x: tensor<0xf32>, %y: tensor<f32>) -> (tensor<0xf32>, tensor<f32>) {
  %a = tensor.expand_shape %x [[0, 1]] output_shape [0, 3] : tensor<0xf32> into tensor<0x3xf32>
  %b = tensor.collapse_shape %a [[0, 1]] : tensor<0x3xf32> into tensor<0xf32>
  %c = tensor.expand_shape %y [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  %d = arith.addf %c, %c : tensor<1x1xf32>
  %e = tensor.collapse_shape %d [] : tensor<1x1xf32> into tensor<f32>
  return %b, %e : tensor<0xf32>, tensor<f32>
}
