// What cannot be run ends with an error before anything is compiled.
// RUN: split-file %s %t
// RUN: not flashnorm-run %t/large.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not flashnorm-run %t/recursive.mlir 2>&1 | FileCheck %s --check-prefix=RECURSIVE
// RUN: not flashnorm-run %t/name.mlir 2>&1 | FileCheck %s --check-prefix=NAME

// LARGE: error: argument 1 of shape [1048576, 1048576] is too large: beside those before it, {{[0-9]+}} bytes of memory are left
// RECURSIVE: error: @f calls itself; only programs without recursion can be run
// NAME: error: the name of function @f... contains a NUL character

//--- large.mlir
func.func @f(%x: tensor<4x1048576xbf16>, %w: tensor<1048576x1048576xbf16> {flashnorm.frozen}) -> tensor<4x1048576xbf16> {
  return %x : tensor<4x1048576xbf16>
}

//--- recursive.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- name.mlir
func.func @"f\00g"(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
