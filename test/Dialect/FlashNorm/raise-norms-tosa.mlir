// RUN: flashnorm-opt %s --flashnorm-raise-norms | FileCheck %s --check-prefixes=CHECK,TOSA
// RUN: flashnorm-opt %s \
// RUN:   --pass-pipeline="builtin.module(func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-tensor,tosa-to-arith,flashnorm-raise-norms))" | FileCheck %s

// 1/N by tosa.reciprocal, reshaped; epsilon a constant of the kept shape; the
// weight reshaped and on the left.
// CHECK-LABEL: func @rms_reciprocal(
// CHECK-SAME:    %[[X:.+]]: tensor<1x40x96xf32>, %[[W:.+]]: tensor<96xf32>)
// CHECK:         flashnorm.rms_norm ins(%[[X]] : tensor<1x40x96xf32>) weight(%[[W]] : tensor<96xf32>)
// TOSA-NOT:      tosa.{{mul|rsqrt|reduce_sum}}
// CHECK:         return
func.func @rms_reciprocal(%x: tensor<1x40x96xf32>, %w: tensor<96xf32>) -> tensor<1x40x96xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %n = "tosa.const"() <{values = dense<96.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %eps = "tosa.const"() <{values = dense<1.0e-05> : tensor<1x40x1xf32>}> : () -> tensor<1x40x1xf32>
  %ones = tosa.const_shape {values = dense<1> : tensor<3xindex>} : () -> !tosa.shape<3>
  %row = tosa.const_shape {values = dense<[1, 1, 96]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %square = tosa.mul %x, %x, %shift : (tensor<1x40x96xf32>, tensor<1x40x96xf32>, tensor<1xi8>) -> tensor<1x40x96xf32>
  %sum = tosa.reduce_sum %square {axis = 2 : i32} : (tensor<1x40x96xf32>) -> tensor<1x40x1xf32>
  %inv = tosa.reciprocal %n : (tensor<1xf32>) -> tensor<1xf32>
  %scale = tosa.reshape %inv, %ones : (tensor<1xf32>, !tosa.shape<3>) -> tensor<1x1x1xf32>
  %mean = tosa.mul %scale, %sum, %shift : (tensor<1x1x1xf32>, tensor<1x40x1xf32>, tensor<1xi8>) -> tensor<1x40x1xf32>
  %var = tosa.add %mean, %eps : (tensor<1x40x1xf32>, tensor<1x40x1xf32>) -> tensor<1x40x1xf32>
  %r = tosa.rsqrt %var : (tensor<1x40x1xf32>) -> tensor<1x40x1xf32>
  %scaled = tosa.mul %x, %r, %shift : (tensor<1x40x96xf32>, tensor<1x40x1xf32>, tensor<1xi8>) -> tensor<1x40x96xf32>
  %weight = tosa.reshape %w, %row : (tensor<96xf32>, !tosa.shape<3>) -> tensor<1x1x96xf32>
  %y = tosa.mul %weight, %scaled, %shift : (tensor<1x1x96xf32>, tensor<1x40x96xf32>, tensor<1xi8>) -> tensor<1x40x96xf32>
  return %y : tensor<1x40x96xf32>
}

// LayerNorm with weight and bias; 1/N is a constant that f32 rounds; the square is
// a power.
// CHECK-LABEL: func @layer_norm(
// CHECK-SAME:    %[[X:.+]]: tensor<8x96xf32>, %[[W:.+]]: tensor<1x96xf32>, %[[B:.+]]: tensor<1x96xf32>)
// CHECK-DAG:     %[[WV:.+]] = tensor.collapse_shape %[[W]] {{\[}}[0, 1]] : tensor<1x96xf32> into tensor<96xf32>
// CHECK-DAG:     %[[BV:.+]] = tensor.collapse_shape %[[B]] {{\[}}[0, 1]] : tensor<1x96xf32> into tensor<96xf32>
// CHECK:         flashnorm.layer_norm ins(%[[X]] : tensor<8x96xf32>) weight(%[[WV]] : tensor<96xf32>) bias(%[[BV]] : tensor<96xf32>)
// TOSA-NOT:      tosa.{{mul|rsqrt|reduce_sum}}
// CHECK:         return
func.func @layer_norm(%x: tensor<8x96xf32>, %w: tensor<1x96xf32>, %b: tensor<1x96xf32>) -> tensor<8x96xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %scale = "tosa.const"() <{values = dense<0.0104166669> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %two = "tosa.const"() <{values = dense<2.0> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %eps = "tosa.const"() <{values = dense<1.0e-05> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %sum = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<8x96xf32>) -> tensor<8x1xf32>
  %mean = tosa.mul %sum, %scale, %shift : (tensor<8x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<8x1xf32>
  %centred = tosa.sub %x, %mean : (tensor<8x96xf32>, tensor<8x1xf32>) -> tensor<8x96xf32>
  %square = tosa.pow %centred, %two : (tensor<8x96xf32>, tensor<1x1xf32>) -> tensor<8x96xf32>
  %squares = tosa.reduce_sum %square {axis = 1 : i32} : (tensor<8x96xf32>) -> tensor<8x1xf32>
  %var = tosa.mul %squares, %scale, %shift : (tensor<8x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<8x1xf32>
  %vareps = tosa.add %var, %eps : (tensor<8x1xf32>, tensor<1x1xf32>) -> tensor<8x1xf32>
  %r = tosa.rsqrt %vareps : (tensor<8x1xf32>) -> tensor<8x1xf32>
  %scaled = tosa.mul %centred, %r, %shift : (tensor<8x96xf32>, tensor<8x1xf32>, tensor<1xi8>) -> tensor<8x96xf32>
  %weighted = tosa.mul %scaled, %w, %shift : (tensor<8x96xf32>, tensor<1x96xf32>, tensor<1xi8>) -> tensor<8x96xf32>
  %y = tosa.add %weighted, %b : (tensor<8x96xf32>, tensor<1x96xf32>) -> tensor<8x96xf32>
  return %y : tensor<8x96xf32>
}

// Dynamic rows. tosa-to-linalg makes choices at run time of them, which are known.
// CHECK-LABEL:   func @dynamic_rows(
// CHECK-SAME:     %[[X:.+]]: tensor<?x96xf32>)
// CHECK-NOT:      scf.if
// CHECK:          %[[Y:.+]] = flashnorm.layer_norm ins(%[[X]] : tensor<?x96xf32>)
// CHECK:          return %[[Y]]
func.func @dynamic_rows(%x: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %scale = "tosa.const"() <{values = dense<0.0104166669> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %two = "tosa.const"() <{values = dense<2.0> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %eps = "tosa.const"() <{values = dense<1.0e-05> : tensor<1x1xf32>}> : () -> tensor<1x1xf32>
  %sum = tosa.reduce_sum %x {axis = 1 : i32} : (tensor<?x96xf32>) -> tensor<?x1xf32>
  %mean = tosa.mul %sum, %scale, %shift : (tensor<?x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<?x1xf32>
  %centred = tosa.sub %x, %mean : (tensor<?x96xf32>, tensor<?x1xf32>) -> tensor<?x96xf32>
  %square = tosa.pow %centred, %two : (tensor<?x96xf32>, tensor<1x1xf32>) -> tensor<?x96xf32>
  %squares = tosa.reduce_sum %square {axis = 1 : i32} : (tensor<?x96xf32>) -> tensor<?x1xf32>
  %var = tosa.mul %squares, %scale, %shift : (tensor<?x1xf32>, tensor<1x1xf32>, tensor<1xi8>) -> tensor<?x1xf32>
  %vareps = tosa.add %var, %eps : (tensor<?x1xf32>, tensor<1x1xf32>) -> tensor<?x1xf32>
  %r = tosa.rsqrt %vareps : (tensor<?x1xf32>) -> tensor<?x1xf32>
  %scaled = tosa.mul %centred, %r, %shift : (tensor<?x96xf32>, tensor<?x1xf32>, tensor<1xi8>) -> tensor<?x96xf32>
  return %scaled : tensor<?x96xf32>
}

// The sum runs over dimension 1 of 3: nothing is raised.
// CHECK-LABEL: func @other_axis(
// CHECK-NOT:     flashnorm
// TOSA:          tosa.rsqrt
// CHECK-NOT:     flashnorm
// CHECK:         return
func.func @other_axis(%x: tensor<4x96x8xf32>) -> tensor<4x96x8xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %scale = "tosa.const"() <{values = dense<0.0104166669> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
  %eps = "tosa.const"() <{values = dense<1.0e-05> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
  %square = tosa.mul %x, %x, %shift : (tensor<4x96x8xf32>, tensor<4x96x8xf32>, tensor<1xi8>) -> tensor<4x96x8xf32>
  %sum = tosa.reduce_sum %square {axis = 1 : i32} : (tensor<4x96x8xf32>) -> tensor<4x1x8xf32>
  %mean = tosa.mul %scale, %sum, %shift : (tensor<1x1x1xf32>, tensor<4x1x8xf32>, tensor<1xi8>) -> tensor<4x1x8xf32>
  %var = tosa.add %mean, %eps : (tensor<4x1x8xf32>, tensor<1x1x1xf32>) -> tensor<4x1x8xf32>
  %r = tosa.rsqrt %var : (tensor<4x1x8xf32>) -> tensor<4x1x8xf32>
  %y = tosa.mul %x, %r, %shift : (tensor<4x96x8xf32>, tensor<4x1x8xf32>, tensor<1xi8>) -> tensor<4x96x8xf32>
  return %y : tensor<4x96x8xf32>
}
