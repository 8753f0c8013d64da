// RUN: flashnorm-opt %s --flashnorm-verify-host-code --split-input-file --verify-diagnostics \
// RUN:   --allow-unregistered-dialect

llvm.func @fine(%x: i64) -> i64 {
  llvm.return %x : i64
}

// -----

// An op that is left is the reason; the casts around it are not.
llvm.func @left(%x: i64) -> i64 {
  %0 = builtin.unrealized_conversion_cast %x : i64 to index
  // expected-error @+1 {{'index.add' op cannot run on the CPU: it has no lowering to the LLVM dialect}}
  %1 = index.add %0, %0
  %2 = builtin.unrealized_conversion_cast %1 : index to i64
  llvm.return %2 : i64
}

// -----

llvm.func @cast(%x: i64) -> i32 {
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' op cannot run on the CPU}}
  %0 = builtin.unrealized_conversion_cast %x : i64 to i32
  llvm.return %0 : i32
}

// -----

// An op of no dialect at all.
llvm.func @unregistered() {
  // expected-error @+1 {{'foo.bar' op cannot run on the CPU: it has no lowering to the LLVM dialect}}
  "foo.bar"() : () -> ()
  llvm.return
}
