// Functions that a front end names as norms: calls become norm ops.
// RUN: flashnorm-opt %s --flashnorm-raise-norms --remarks-filter=".*" \
// RUN:   --remark-policy=all 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

func.func private @lib_rms(tensor<?x64xbf16>, tensor<64xf32>) -> tensor<?x64xbf16>
    attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-06>}
func.func private @lib_layer(tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
    attributes {flashnorm.norm = #flashnorm.norm<layer, eps = 1.0e-05>}
func.func private @rms_norm(tensor<8x64xf32>) -> tensor<8x64xf32>

// CHECK-LABEL: func @library(
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xbf16>, %[[W:.+]]: tensor<64xf32>)
// CHECK:         %[[Y:.+]] = flashnorm.rms_norm ins(%[[X]] : tensor<?x64xbf16>) weight(%[[W]] : tensor<64xf32>)
// CHECK-SAME:      {eps = 9.9999999999999995E-7 : f64} -> tensor<?x64xbf16>
// CHECK-NEXT:    return %[[Y]]
// REMARK: Function=library | Remark="call of @lib_rms raised to flashnorm.rms_norm over 64 elements"
func.func @library(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  %y = call @lib_rms(%x, %w) : (tensor<?x64xbf16>, tensor<64xf32>) -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// CHECK-LABEL: func @layer(
// CHECK:         flashnorm.layer_norm ins(%{{.+}}) weight(%{{.+}}) bias(%{{.+}}) outs(%{{.+}}) {eps = 1.000000e-05 : f64}
func.func @layer(%x: tensor<8x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<8x64xf32> {
  %y = call @lib_layer(%x, %w, %b) : (tensor<8x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A name alone says nothing of epsilon.
// CHECK-LABEL: func @name_only(
// CHECK-NOT:     flashnorm
// CHECK:         call @rms_norm
func.func @name_only(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %y = call @rms_norm(%x) : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
