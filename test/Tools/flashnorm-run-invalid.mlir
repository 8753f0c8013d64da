// Wrong options name what is legal; nothing is written.

// DEFINE: %{run} = not flashnorm-run %s --output=%t

// RUN: rm -rf %t
// RUN: %{run} --device=gpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: device 'gpu' is unknown; legal are auto, cpu, emulator, cuda
// RUN: %{run} --compare=all 2>&1 | FileCheck %s --check-prefix=COMPARE
// COMPARE: error: comparison 'all' is unknown; legal are reference, none
// RUN: %{run} --speed 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: {{^}}flashnorm-run: error: Unknown command line argument '--speed'
// OPTION: legal options are --arg, --check-guards, --chip, --compare, --device, --entry, --family, --input, --output, --passes, --rows, --schedule, --seed, --time, --tolerance
// RUN: %{run} --device=cpu --entry=first --passes=no-such-pass 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: 'no-such-pass' does not refer to a registered pass or pass pipeline
// PASSES: error: --passes='no-such-pass' is not a list of passes
// RUN: %{run} --device=cpu --entry=first --passes=canonicalize, 2>&1 | FileCheck %s --check-prefix=COMMA
// COMMA: error: --passes='canonicalize,' is not a list of passes
// RUN: %{run} --rows=abc 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: 'abc' value invalid
// VALUE: error: a value is not legal, see above
// RUN: %{run} --device=cpu --schedule=eager 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: error: --schedule needs kernels; --device=cpu has none, emulator and cuda have
// RUN: %{run} --schedule=random: 2>&1 | FileCheck %s --check-prefix=SEED
// SEED: error: --schedule=random:: the seed is no number
// RUN: %{run} --tolerance=inf 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// TOLERANCE: error: --tolerance must be positive and finite
// RUN: %{run} --chip=sm_70 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: chip 'sm_70' is unknown; legal are sm_80,{{.*}} sm_90a
// RUN: %{run} --family=wmma 2>&1 | FileCheck %s --check-prefix=FAMILY
// FAMILY: error: family 'wmma' is unknown; legal are auto, mma_sync, wgmma, tcgen05
// RUN: %{run} --input=random 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: input 'random' is unknown; legal are normal, uniform, small, mean-16, large-mean, mean-256, mean-10000, steps, heavy-tail, outlier, large, subnormal, not-finite, zeros, ones, constant
// RUN: %{run} --entry=first --arg=1 2>&1 | FileCheck %s --check-prefix=ARG
// ARG: error: --arg=1 is not of the form N:FILE.npy or N:KIND
// RUN: %{run} --entry=first --rows=-1 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: --rows=-1 is negative
// RUN: %{run} --entry=first --device=cuda --time=-1 2>&1 | FileCheck %s --check-prefix=TIME
// TIME: error: --time=-1 is not between 1 and 100000
// RUN: %{run} --entry=first --device=cpu --time=10 2>&1 | FileCheck %s --check-prefix=CPU_TIME
// CPU_TIME: error: --time needs kernels; --device=cpu has none, emulator and cuda have
// RUN: %{run} --entry=first --device=cpu --check-guards 2>&1 | FileCheck %s --check-prefix=CPU_GUARDS
// CPU_GUARDS: error: --check-guards needs kernels
// RUN: %{run} --entry=first --arg=1:zeros --arg=1:normal 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --arg=1:normal: argument 1 was given before

// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: --entry is missing; the module has @first, @integers, @scalar, @bytes, @nothing
// RUN: %{run} --entry=hidden 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: entry @hidden is private, and only public functions can be called; the module has @first, @integers, @scalar, @bytes, @nothing
// RUN: %{run} --entry=declared 2>&1 | FileCheck %s --check-prefix=DECLARED
// DECLARED: error: entry @declared is a declaration, without a body; the module has
// RUN: %{run} --entry=absent 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: entry @absent is unknown; the module has
// RUN: %{run} --entry=integers 2>&1 | FileCheck %s --check-prefix=INTEGERS
// INTEGERS: error: @integers: argument 1 has type tensor<4xi32>; only ranked tensors of bf16, f16, f32 and f64 can be run
// RUN: %{run} --entry=scalar 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: @scalar: result 0 has type f32; only ranked tensors
// RUN: %{run} --entry=bytes 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: @bytes: result 0 has type tensor<4xf8E4M3FN>; only ranked tensors of bf16, f16, f32 and f64 can be run; return it as f32, after an arith.extf

// RUN: %{run} --entry=nothing 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: flashnorm-run %s --device=cpu --entry=nothing --compare=none | FileCheck %s --check-prefix=RUNS --implicit-check-not=PASS
// NOTHING: error: @nothing has no results, so that there is nothing to compare; use --compare=none to run it
// RUNS: @nothing, seed 0

// RUN: %{run} --entry=first --arg=2:zeros 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: argument 2 does not exist; there are 2
// RUN: %{run} --entry=first --input=%t.npy 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: error: --input={{.*}}.npy is for one argument, but 2 are neither frozen nor given; use --arg
// RUN: %python %S/../Runtime/Inputs/make_npy.py %t.npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" 00000000000000000000000000000000
// RUN: %{run} --entry=first --arg=0:%t.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: {{.*}}.npy has f32 [2, 2]; argument 0 needs f32 [4]{{$}}
// RUN: %python %S/../Runtime/Inputs/make_npy.py %t.f16.npy "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }" 0000000000000000
// RUN: %{run} --entry=first --arg=0:%t.f16.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: {{.*}}.npy has f16 [4]; argument 0 needs f32 [4], in NumPy float32
// RUN: env LD_LIBRARY_PATH= not flashnorm-run %s --entry=first --device=cuda --output=%t 2>&1 | FileCheck %s --check-prefix=DRIVER
// DRIVER: {{error: no CUDA driver|@first}}

// A file that does not parse.
// RUN: echo 'func.func @broken(' > %t.mlir
// RUN: not flashnorm-run %t.mlir --device=cpu --output=%t 2>&1 | FileCheck %s --check-prefix=PARSE
// PARSE: error: {{.*}}.mlir cannot be read
// RUN: not ls %t

func.func @first(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @integers(%x: tensor<4xf32>, %y: tensor<4xi32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @scalar(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = tensor.extract %x[%c0] : tensor<4xf32>
  return %0 : f32
}
func.func @bytes(%x: tensor<4xf32>) -> tensor<4xf8E4M3FN> {
  %0 = arith.truncf %x : tensor<4xf32> to tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
func.func @nothing(%x: tensor<4xf32>) {
  return
}
func.func private @hidden(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>)
