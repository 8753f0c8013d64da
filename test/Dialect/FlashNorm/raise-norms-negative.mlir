// RUN: flashnorm-opt %s --flashnorm-raise-norms --remarks-filter=".*" \
// RUN:   --remark-policy=all 2> %t.remarks | FileCheck %s --implicit-check-not=flashnorm.
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// Each function differs from a norm in one place: its ops stay, and a remark
// names the place.

// The divisor is not the number of terms.
// CHECK-LABEL: func @divisor_of_another_size(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=divisor_of_another_size | Remark="sum of squares under a root is not raised: the sum of 64 terms is divided by 63"
func.func @divisor_of_another_size(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<63.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The divisor is not known.
// CHECK-LABEL: func @divisor_is_argument(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=divisor_is_argument | Remark="sum of squares under a root is not raised: 'arith.divf' comes between the sum and the root"
func.func @divisor_is_argument(%x: tensor<8x64xf32>, %d: tensor<8xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %d : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is added to the divisor.
// CHECK-LABEL: func @divisor_plus_epsilon(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=divisor_plus_epsilon | Remark="sum of squares under a root is not raised: the sum of 64 terms is divided by 64.001"
func.func @divisor_plus_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.001> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The factor is further from 1/N than rounding explains.
// CHECK-LABEL: func @factor_two_units_off(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=factor_two_units_off | Remark="sum of squares under a root is not raised: the sum of 64 terms is multiplied by 0.01562501"
func.func @factor_two_units_off(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<0.01562501> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A sum instead of a mean.
// CHECK-LABEL: func @no_divisor(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=no_divisor | Remark="sum of squares under a root is not raised: the sum is not divided by its number of terms"
func.func @no_divisor(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %var = arith.addf %sum, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The exponent is nearly 2.
// CHECK-LABEL: func @exponent_not_two(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=exponent_not_two | Remark="sum of squares under a root is not raised: the exponent is 1.999, not 2"
func.func @exponent_not_two(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %p = arith.constant dense<1.999> : tensor<8x64xf32>
  %square = math.powf %x, %p : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The numerator of the root is 2.
// CHECK-LABEL: func @two_over_root(
// CHECK:         math.sqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=two_over_root | Remark="sum of squares under a root is not raised: the product has a further factor 2"
func.func @two_over_root(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %root = math.sqrt %var : tensor<8xf32>
  %r = arith.divf %two, %root : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is added to the root.
// CHECK-LABEL: func @epsilon_outside_root(
// CHECK:         math.sqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=epsilon_outside_root | Remark="sum of squares under a root is not raised: a value is added to the root, not under it"
func.func @epsilon_outside_root(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %root = math.sqrt %mean : tensor<8xf32>
  %r = arith.addf %root, %eps : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.divf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// A clamp instead of epsilon.
// CHECK-LABEL: func @clamped(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=clamped | Remark="sum of squares under a root is not raised: the variance is clamped by a maximum instead of adding epsilon"
func.func @clamped(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.maximumf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is negative.
// CHECK-LABEL: func @negative_epsilon(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=negative_epsilon | Remark="sum of squares under a root is not raised: epsilon is -1e-05, not finite and 0 or more"
func.func @negative_epsilon(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<-1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Epsilon is not known.
// CHECK-LABEL: func @epsilon_is_argument(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=epsilon_is_argument | Remark="sum of squares under a root is not raised: epsilon is not a constant"
func.func @epsilon_is_argument(%x: tensor<8x64xf32>, %eps_arg: tensor<8xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps_arg : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The sum starts from one.
// CHECK-LABEL: func @sum_from_one(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=sum_from_one | Remark="sum of squares under a root is not raised: the sum starts from 1, not from 0"
func.func @sum_from_one(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<1.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The sum starts from an uninitialised tensor.
// CHECK-LABEL: func @sum_from_nothing(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=sum_from_nothing | Remark="sum of squares under a root is not raised: the sum does not start from a constant"
func.func @sum_from_nothing(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %un = tensor.empty() : tensor<8xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%un : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The numerator is another tensor.
// CHECK-LABEL: func @other_numerator(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=other_numerator | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @other_numerator(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %z, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// An op that is not known comes between the sum and the root.
// CHECK-LABEL: func @unknown_op(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=unknown_op | Remark="sum of squares under a root is not raised: 'func.call' comes between the sum and the root"
func.func @unknown_op(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %all = func.call @all_reduce(%sum) : (tensor<8xf32>) -> tensor<8xf32>
  %mean = arith.divf %all, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The numerator is multiplied by the root.
// CHECK-LABEL: func @times_root(
// CHECK:         math.sqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=times_root | Remark="sum of squares under a root is not raised: the numerator is multiplied by the root, not divided by it"
func.func @times_root(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.sqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The squares are of centred values, the numerator is not.
// CHECK-LABEL: func @numerator_not_centred(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=numerator_not_centred | Remark="sum of squares under a root is not raised: the squares are of centred values but the numerator is not centred"
func.func @numerator_not_centred(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %s, %n : tensor<8xf32>
  %ms = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %ms : tensor<8x64xf32>
  %square = arith.mulf %c, %c : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The numerator is centred, the squares are not.
// CHECK-LABEL: func @only_numerator_centred(
// CHECK:         math.rsqrt
// REMARK:      [Missed] NormNotRaised | {{.*}}Function=only_numerator_centred | Remark="sum of squares under a root is not raised: the numerator is centred but the squares are not of centred values"
func.func @only_numerator_centred(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %s = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %m = arith.divf %s, %n : tensor<8xf32>
  %ms = linalg.broadcast ins(%m : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c = arith.subf %x, %ms : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %c, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

func.func private @all_reduce(tensor<8xf32>) -> tensor<8xf32>

// The sum runs over another dimension than the last.
// CHECK-LABEL: func @other_axis(
// CHECK:         math.rsqrt
// REMARK:      Function=other_axis | Remark="sum of squares under a root is not raised: the sum runs over dimension 1 of tensor<4x64x8xf32>, not over the last"
func.func @other_axis(%x: tensor<4x64x8xf32>) -> tensor<4x64x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %n = arith.constant dense<64.0> : tensor<4x8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x64x8xf32>
  %square = arith.mulf %x, %x : tensor<4x64x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<4x64x8xf32>) outs(%zero : tensor<4x8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<4x8xf32>
  %var = arith.addf %mean, %eps : tensor<4x8xf32>
  %r = math.rsqrt %var : tensor<4x8xf32>
  %rows = linalg.broadcast ins(%r : tensor<4x8xf32>) outs(%e : tensor<4x64x8xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<4x64x8xf32>
  return %y : tensor<4x64x8xf32>
}

// The length of the row is not known.
// CHECK-LABEL: func @dynamic_row(
// CHECK:         math.rsqrt
// REMARK:      Function=dynamic_row | Remark="sum of squares under a root is not raised: the normalised dimension is dynamic"
func.func @dynamic_row(%x: tensor<8x?xf32>, %d: index) -> tensor<8x?xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty(%d) : tensor<8x?xf32>
  %square = arith.mulf %x, %x : tensor<8x?xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x?xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x?xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x?xf32>
  return %y : tensor<8x?xf32>
}

// The statistics are of rows of 128 elements, the product of rows of 32: the
// reshape between them changes the last dimension.
// CHECK-LABEL: func @reshaped_rows(
// CHECK:         math.rsqrt
// REMARK:      Function=reshaped_rows | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @reshaped_rows(%x: tensor<8x128xf32>) -> tensor<8x4x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<128.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x4x32xf32>
  %square = arith.mulf %x, %x : tensor<8x128xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x128xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %heads = tensor.expand_shape %x [[0], [1, 2]] output_shape [8, 4, 32] : tensor<8x128xf32> into tensor<8x4x32xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x4x32xf32>) dimensions = [1, 2]
  %y = arith.mulf %heads, %rows : tensor<8x4x32xf32>
  return %y : tensor<8x4x32xf32>
}

// The statistics of one row scale another: the roots are read in the order of
// a transposed tensor.
// CHECK-LABEL: func @rows_of_another_order(
// CHECK:         math.rsqrt
// REMARK:      Function=rows_of_another_order | Remark="sum of squares under a root is not raised: no product of the root and the tensor whose squares are summed was found"
func.func @rows_of_another_order(%x: tensor<8x8x64xf32>) -> tensor<8x8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %n = arith.constant dense<64.0> : tensor<8x8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8x8xf32>
  %e = tensor.empty() : tensor<8x8x64xf32>
  %s = tensor.empty() : tensor<8x8xf32>
  %square = arith.mulf %x, %x : tensor<8x8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x8x64xf32>) outs(%zero : tensor<8x8xf32>) dimensions = [2]
  %mean = arith.divf %sum, %n : tensor<8x8xf32>
  %var = arith.addf %mean, %eps : tensor<8x8xf32>
  %r = math.rsqrt %var : tensor<8x8xf32>
  %t = linalg.transpose ins(%r : tensor<8x8xf32>) outs(%s : tensor<8x8xf32>) permutation = [1, 0]
  %rows = linalg.broadcast ins(%t : tensor<8x8xf32>) outs(%e : tensor<8x8x64xf32>) dimensions = [2]
  %y = arith.mulf %x, %rows : tensor<8x8x64xf32>
  return %y : tensor<8x8x64xf32>
}

// Roots that have nothing to do with a norm are not mentioned.
// CHECK-LABEL: func @no_sum_of_squares(
// CHECK:         math.sqrt
// REMARK-NOT:  Function=no_sum_of_squares
func.func @no_sum_of_squares(%x: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %root = math.sqrt %z : tensor<8x64xf32>
  %y = arith.divf %x, %root : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// Rows without elements.
// CHECK-LABEL: func @empty_rows(
// CHECK:         math.rsqrt
// REMARK:      Function=empty_rows | Remark="sum of squares under a root is not raised: the sum has no terms"
func.func @empty_rows(%x: tensor<8x0xf32>) -> tensor<8x0xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x0xf32>
  %square = arith.mulf %x, %x : tensor<8x0xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x0xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %zero : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x0xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x0xf32>
  return %y : tensor<8x0xf32>
}

// A type that the norm ops do not have.
// CHECK-LABEL: func @f8(
// CHECK:         math.rsqrt
// REMARK:      Function=f8 | Remark="sum of squares under a root is not raised: tensor<8x64xf8E4M3FN> is not of f16, bf16, f32 or f64"
func.func @f8(%x: tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN> {
  %zero = arith.constant dense<0.0> : tensor<8xf8E4M3FN>
  %n = arith.constant dense<64.0> : tensor<8xf8E4M3FN>
  %eps = arith.constant dense<0.5> : tensor<8xf8E4M3FN>
  %e = tensor.empty() : tensor<8x64xf8E4M3FN>
  %square = arith.mulf %x, %x : tensor<8x64xf8E4M3FN>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf8E4M3FN>) outs(%zero : tensor<8xf8E4M3FN>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf8E4M3FN>
  %var = arith.addf %mean, %eps : tensor<8xf8E4M3FN>
  %r = math.rsqrt %var : tensor<8xf8E4M3FN>
  %rows = linalg.broadcast ins(%r : tensor<8xf8E4M3FN>) outs(%e : tensor<8x64xf8E4M3FN>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf8E4M3FN>
  return %y : tensor<8x64xf8E4M3FN>
}

// A rounding narrower than any norm has, of the root.
// CHECK-LABEL: func @root_in_f8(
// CHECK:         math.rsqrt
// REMARK:      Function=root_in_f8 | Remark="sum of squares under a root is not raised: a value is rounded to f8E5M2, narrower than bf16 and f16"
func.func @root_in_f8(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %r8 = arith.truncf %r : tensor<8xf32> to tensor<8xf8E5M2>
  %rw = arith.extf %r8 : tensor<8xf8E5M2> to tensor<8xf32>
  %rows = linalg.broadcast ins(%rw : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The same, of the mean.
// CHECK-LABEL: func @mean_in_f8(
// CHECK:         math.rsqrt
// REMARK:      Function=mean_in_f8 | Remark="sum of squares under a root is not raised: a value is rounded to f8E4M3FN, narrower than bf16 and f16"
func.func @mean_in_f8(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %square = arith.mulf %x, %x : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %mean8 = arith.truncf %mean : tensor<8xf32> to tensor<8xf8E4M3FN>
  %meanw = arith.extf %mean8 : tensor<8xf8E4M3FN> to tensor<8xf32>
  %var = arith.addf %meanw, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// The same, of the centred numerator alone; the squares are of exact values.
// CHECK-LABEL: func @centred_numerator_in_f8(
// CHECK:         math.rsqrt
// REMARK:      Function=centred_numerator_in_f8 | Remark="sum of squares under a root is not raised: a value is rounded to f8E5M2, narrower than bf16 and f16"
func.func @centred_numerator_in_f8(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32>
  %total = linalg.reduce { arith.addf } ins(%x : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %average = arith.divf %total, %n : tensor<8xf32>
  %averages = linalg.broadcast ins(%average : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %centred = arith.subf %x, %averages : tensor<8x64xf32>
  %square = arith.mulf %centred, %centred : tensor<8x64xf32>
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32>) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32>) dimensions = [1]
  %c8 = arith.truncf %centred : tensor<8x64xf32> to tensor<8x64xf8E5M2>
  %cw = arith.extf %c8 : tensor<8x64xf8E5M2> to tensor<8x64xf32>
  %y = arith.mulf %cw, %rows : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// How the elements are stored is not ours to change.
// CHECK-LABEL: func @encoding(
// CHECK:         math.rsqrt
func.func @encoding(%x: tensor<8x64xf32, "rows">) -> tensor<8x64xf32, "rows"> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant dense<64.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-05> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x64xf32, "rows">
  %square = arith.mulf %x, %x : tensor<8x64xf32, "rows">
  %sum = linalg.reduce { arith.addf } ins(%square : tensor<8x64xf32, "rows">) outs(%zero : tensor<8xf32>) dimensions = [1]
  %mean = arith.divf %sum, %n : tensor<8xf32>
  %var = arith.addf %mean, %eps : tensor<8xf32>
  %r = math.rsqrt %var : tensor<8xf32>
  %rows = linalg.broadcast ins(%r : tensor<8xf32>) outs(%e : tensor<8x64xf32, "rows">) dimensions = [1]
  %y = arith.mulf %x, %rows : tensor<8x64xf32, "rows">
  return %y : tensor<8x64xf32, "rows">
}
