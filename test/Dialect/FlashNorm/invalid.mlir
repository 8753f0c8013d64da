// What the verifiers refuse, and what they say.
// RUN: flashnorm-opt %s --split-input-file --verify-diagnostics

// rms_norm (C1): the last dimension is static
func.func @dynamic_columns(%x: tensor<8x?xf32>) -> tensor<8x?xf32> {
  // expected-error @+1 {{input must have a static last dimension that is not 0, got 'tensor<8x?xf32>'}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x?xf32>) outs(%x : tensor<8x?xf32>) {eps = 1.0e-5 : f64} -> tensor<8x?xf32>
  return %y : tensor<8x?xf32>
}

// -----

// rms_norm (C1): there is a mean only if there are elements
func.func @no_columns(%x: tensor<8x0xf32>) -> tensor<8x0xf32> {
  // expected-error @+1 {{input must have a static last dimension that is not 0, got 'tensor<8x0xf32>'}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x0xf32>) outs(%x : tensor<8x0xf32>) {eps = 1.0e-5 : f64} -> tensor<8x0xf32>
  return %y : tensor<8x0xf32>
}

// -----

// rms_norm (C1): a scalar has no last dimension
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{input must have a static last dimension that is not 0, got 'tensor<f32>'}}
  %y = flashnorm.rms_norm ins(%x : tensor<f32>) outs(%x : tensor<f32>) {eps = 1.0e-5 : f64} -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// rms_norm (C2)
func.func @output_shape(%x: tensor<8x32xf32>, %i: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{output 'tensor<8x16xf32>' does not have the shape of the input}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xf32>) outs(%i : tensor<8x16xf32>) {eps = 1.0e-5 : f64} -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// rms_norm (C3)
func.func @weight_length(%x: tensor<8x32xf32>, %w: tensor<1xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{weight must be a vector of 32, got 'tensor<1xf32>'}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xf32>) weight(%w : tensor<1xf32>) outs(%x : tensor<8x32xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// layer_norm (C3)
func.func @bias_rank(%x: tensor<8x32xf32>, %b: tensor<1x32xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{bias must be a vector of 32, got 'tensor<1x32xf32>'}}
  %y = flashnorm.layer_norm ins(%x : tensor<8x32xf32>) bias(%b : tensor<1x32xf32>) outs(%x : tensor<8x32xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// rms_norm (C4): statistics never round to bf16
func.func @statistics_type(%x: tensor<8x32xbf16>, %r: tensor<8xbf16>) -> tensor<8xbf16> {
  // expected-error @+1 {{statistics must be f32 or f64, got 'tensor<8xbf16>'}}
  %y:2 = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%x, %r : tensor<8x32xbf16>, tensor<8xbf16>) {eps = 1.0e-5 : f64} -> tensor<8x32xbf16>, tensor<8xbf16>
  return %y#1 : tensor<8xbf16>
}

// -----

// layer_norm (C4): mean and rstd come together
func.func @statistics_count(%x: tensor<8x32xf32>, %r: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{needs 1 or 3 inits, got 2}}
  %y:2 = flashnorm.layer_norm ins(%x : tensor<8x32xf32>) outs(%x, %r : tensor<8x32xf32>, tensor<8xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xf32>, tensor<8xf32>
  return %y#1 : tensor<8xf32>
}

// -----

// rms_norm (C4)
func.func @statistics_shape(%x: tensor<8x32xf32>, %r: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error @+1 {{statistics 'tensor<8x1xf32>' does not have the shape of the leading dimensions of the input}}
  %y:2 = flashnorm.rms_norm ins(%x : tensor<8x32xf32>) outs(%x, %r : tensor<8x32xf32>, tensor<8x1xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xf32>, tensor<8x1xf32>
  return %y#1 : tensor<8x1xf32>
}

// -----

// Each agrees with the dynamic input, but not with the other.
func.func @leading_dimensions(%x: tensor<?x32xf32>, %i: tensor<8x32xf32>, %r: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{operands disagree in dimension 0: 8 and 16}}
  %y:2 = flashnorm.rms_norm ins(%x : tensor<?x32xf32>) outs(%i, %r : tensor<8x32xf32>, tensor<16xf32>) {eps = 1.0e-5 : f64} -> tensor<8x32xf32>, tensor<16xf32>
  return %y#1 : tensor<16xf32>
}

// -----

// rms_norm (C5)
func.func @negative_eps(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{eps must be finite and not negative, got -1.0}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xf32>) outs(%x : tensor<8x32xf32>) {eps = -1.0 : f64} -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// layer_norm (C5)
func.func @nan_eps(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{eps must be finite and not negative, got nan}}
  %y = flashnorm.layer_norm ins(%x : tensor<8x32xf32>) outs(%x : tensor<8x32xf32>) {eps = 0x7FF8000000000000 : f64} -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// 0 in f32.
func.func @tiny_eps(%x: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  // expected-error @+1 {{eps must be 0 or a normal number of f32, got 1.0}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xbf16>) outs(%x : tensor<8x32xbf16>) {eps = 1.0e-50 : f64} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// A norm of f64 is computed in f64.
func.func @tiny_eps_in_f64(%x: tensor<8x32xf64>) -> tensor<8x32xf64> {
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xf64>) outs(%x : tensor<8x32xf64>) {eps = 1.0e-50 : f64} -> tensor<8x32xf64>
  return %y : tensor<8x32xf64>
}

// -----

func.func @infinite_eps_of_matmul(%x: tensor<8x32xbf16>, %w: tensor<32x32xbf16>) -> tensor<8x32xbf16> {
  // expected-error @+1 {{eps must be 0 or a normal number of f32, got 1.0}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x32xbf16>) outs(%x : tensor<8x32xbf16>) {post_norm = #flashnorm.norm<rms, eps = 1.0e+300>} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

func.func @f8(%x: tensor<8x32xf8E4M3FN>) -> tensor<8x32xf8E4M3FN> {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f16, bf16, f32 or f64}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x32xf8E4M3FN>) outs(%x : tensor<8x32xf8E4M3FN>) {eps = 1.0e-5 : f64} -> tensor<8x32xf8E4M3FN>
  return %y : tensor<8x32xf8E4M3FN>
}

// -----

func.func @vector_elements(%x: memref<8x32xvector<4xf32>>) {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f16, bf16, f32 or f64}}
  flashnorm.rms_norm ins(%x : memref<8x32xvector<4xf32>>) outs(%x : memref<8x32xvector<4xf32>>) {eps = 1.0e-5 : f64}
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f16, bf16, f32 or f64}}
  %y = flashnorm.rms_norm ins(%x : tensor<*xf32>) outs(%x : tensor<*xf32>) {eps = 1.0e-5 : f64} -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// -----

func.func @unranked_memref(%x: memref<*xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f16, bf16, f32 or f64}}
  flashnorm.rms_norm ins(%x : memref<*xf32>) outs(%x : memref<*xf32>) {eps = 1.0e-5 : f64}
  return
}

// -----

func.func @mixed(%x: tensor<8x32xf32>, %m: memref<8x32xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs}}
  flashnorm.rms_norm ins(%x : tensor<8x32xf32>) outs(%m : memref<8x32xf32>) {eps = 1.0e-5 : f64}
  return
}

// -----

func.func @no_init(%x: tensor<8x32xf32>) {
  // expected-error @+1 {{needs 1 or 2 inits, got 0}}
  "flashnorm.rms_norm"(%x) <{eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<8x32xf32>) -> ()
  return
}

// -----

// matmul (C1)
func.func @dynamic_weight(%x: tensor<8x32xbf16>, %w: tensor<32x?xbf16>, %i: tensor<8x?xbf16>) -> tensor<8x?xbf16> {
  // expected-error @+1 {{weight must be a static matrix, got 'tensor<32x?xbf16>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x?xbf16>) outs(%i : tensor<8x?xbf16>) -> tensor<8x?xbf16>
  return %y : tensor<8x?xbf16>
}

// -----

// matmul (C1)
func.func @vector_input(%x: tensor<32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<16xbf16>) -> tensor<16xbf16> {
  // expected-error @+1 {{input must have rank 2 or more and a static last dimension, got 'tensor<32xbf16>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<16xbf16>) -> tensor<16xbf16>
  return %y : tensor<16xbf16>
}

// -----

// matmul (C1)
func.func @contraction(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  // expected-error @+1 {{input contracts 32 elements but the weight 16}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<8x32xbf16>) {transpose_weight} -> tensor<8x32xbf16>
  return %y : tensor<8x32xbf16>
}

// -----

// matmul (C1)
func.func @empty_weight(%x: tensor<8x0xbf16>, %w: tensor<0x16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{weight must not be empty, got 'tensor<0x16xbf16>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x0xbf16>, tensor<0x16xbf16>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C1)
func.func @element_types(%x: tensor<8x32xbf16>, %w: tensor<32x16xf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{input and weight differ in element type: 'bf16' and 'f16'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xf16>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C2)
func.func @residual_shape(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %r: tensor<16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{residual 'tensor<16xbf16>' does not have the shape of the input's leading dimensions with the weight's columns}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) residual(%r : tensor<16xbf16>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C2)
func.func @residual_rows(%x: tensor<?x32xbf16>, %w: tensor<32x16xbf16>, %r: tensor<4x16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{operands disagree in dimension 0: 8 and 4}}
  %y = flashnorm.matmul ins(%x, %w : tensor<?x32xbf16>, tensor<32x16xbf16>) residual(%r : tensor<4x16xbf16>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C3)
func.func @norm_weight_alone(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %v: tensor<16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{norm_weight and norm_bias need a post_norm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) norm_weight(%v : tensor<16xbf16>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C3)
func.func @norm_bias_of_rms(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %v: tensor<16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{norm_bias needs a layer post_norm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) norm_bias(%v : tensor<16xbf16>) outs(%i : tensor<8x16xbf16>) {post_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C4)
func.func @column_sums_of_rms(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %s: tensor<16xf32>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{column_sums need a layer pre_norm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) column_sums(%s : tensor<16xf32>) outs(%i : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C3)
func.func @column_sums_length(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %s: tensor<32xf32>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{column_sums must be a vector of 16, got 'tensor<32xf32>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) column_sums(%s : tensor<32xf32>) outs(%i : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C5)
func.func @scaled_twice(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %r: tensor<8xf32>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{has both a row_scale and a pre_norm}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) row_scale(%r : tensor<8xf32>) outs(%i : tensor<8x16xbf16>) {pre_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C5)
func.func @row_scale_type(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %r: tensor<8xbf16>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{row_scale must be f32 or f64, got 'tensor<8xbf16>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) row_scale(%r : tensor<8xbf16>) outs(%i : tensor<8x16xbf16>)  -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C5)
func.func @row_scale_rows(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %r: tensor<16xf32>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{row_scale 'tensor<16xf32>' does not have the shape of the leading dimensions of the input}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) row_scale(%r : tensor<16xf32>) outs(%i : tensor<8x16xbf16>)  -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C6)
func.func @statistics_init(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>) -> (tensor<8x16xbf16>) {
  // expected-error @+1 {{needs 2 or 3 inits, got 1}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<8x16xbf16>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C6)
func.func @statistics_type(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>) -> (tensor<8x16xbf16>, tensor<8x16xbf16>) {
  // expected-error @+1 {{statistics must be f32 or f64, got 'tensor<8x16xbf16>'}}
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i, %i : tensor<8x16xbf16>, tensor<8x16xbf16>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>, tensor<8x16xbf16>
  return %y#0, %y#1 : tensor<8x16xbf16>, tensor<8x16xbf16>
}

// -----

// matmul (C6)
func.func @statistics_of_normalised(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %r: tensor<8xf32>) -> (tensor<8x16xbf16>, tensor<8xf32>) {
  // expected-error @+1 {{has both statistics of its result and a post_norm}}
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i, %r : tensor<8x16xbf16>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>, post_norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>, tensor<8xf32>
  return %y#0, %y#1 : tensor<8x16xbf16>, tensor<8xf32>
}

// -----

// matmul (C7)
func.func @odd_glu(%x: tensor<8x32xbf16>, %w: tensor<32x15xbf16>, %i: tensor<8x7xbf16>) -> tensor<8x7xbf16> {
  // expected-error @+1 {{glu needs a gate for each value, got 15 columns of the weight}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x15xbf16>) outs(%i : tensor<8x7xbf16>) {glu = #flashnorm.glu<gate_first>} -> tensor<8x7xbf16>
  return %y : tensor<8x7xbf16>
}

// -----

// matmul (C2): half of the columns
func.func @glu_columns(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{output 'tensor<8x16xbf16>' does not have the shape of the input's leading dimensions with half of the weight's columns}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<8x16xbf16>) {glu = #flashnorm.glu<gate_first>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C3): the bias is of gates and values
func.func @glu_bias(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %b: tensor<8xf32>, %i: tensor<8x8xbf16>) -> tensor<8x8xbf16> {
  // expected-error @+1 {{bias must be a vector of 16, got 'tensor<8xf32>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) bias(%b : tensor<8xf32>) outs(%i : tensor<8x8xbf16>) {glu = #flashnorm.glu<gate_first>} -> tensor<8x8xbf16>
  return %y : tensor<8x8xbf16>
}

// -----

// matmul (C8)
func.func @rounds_absent_step(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{rounds behind a step that it does not have: bias}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<8x16xbf16>) {roundings = #flashnorm.roundings<bias = bf16>} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C9)
func.func @scale_vector(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %s: tensor<16xf32>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{output_scale must be one f32 or f64, got 'tensor<16xf32>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) output_scale(%s : tensor<16xf32>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C9)
func.func @saturates_bf16(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{saturates to the range of f16, f8E4M3FN or f8E5M2, got 'bf16'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i : tensor<8x16xbf16>) {saturate = bf16} -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// matmul (C9): statistics are of y, which is scaled
func.func @scaled_statistics(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %s: tensor<f32>, %i: tensor<8x16xbf16>, %r: tensor<8xf32>) -> (tensor<8x16xbf16>, tensor<8xf32>) {
  // expected-error @+1 {{has both statistics of its result and an output_scale or a saturation of it}}
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) output_scale(%s : tensor<f32>) outs(%i, %r : tensor<8x16xbf16>, tensor<8xf32>) {statistics = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8x16xbf16>, tensor<8xf32>
  return %y#0, %y#1 : tensor<8x16xbf16>, tensor<8xf32>
}

// -----

// matmul (C9): sum is never of 8 bits
func.func @fp8_sum(%x: tensor<8x32xbf16>, %w: tensor<32x16xbf16>, %i: tensor<8x16xbf16>, %r: tensor<8x16xf8E5M2>) -> (tensor<8x16xbf16>, tensor<8x16xf8E5M2>) {
  // expected-error @+1 {{stores y in 8 bits, and nothing else; init 1 is 'f8E5M2'}}
  %y:2 = flashnorm.matmul ins(%x, %w : tensor<8x32xbf16>, tensor<32x16xbf16>) outs(%i, %r : tensor<8x16xbf16>, tensor<8x16xf8E5M2>) -> tensor<8x16xbf16>, tensor<8x16xf8E5M2>
  return %y#0, %y#1 : tensor<8x16xbf16>, tensor<8x16xf8E5M2>
}

// -----

// matmul: fp8 is not multiplied
func.func @fp8_input(%x: tensor<8x32xf8E5M2>, %w: tensor<32x16xf8E5M2>, %i: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f16, bf16, f32 or f64, but got 'tensor<8x32xf8E5M2>'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x32xf8E5M2>, tensor<32x16xf8E5M2>) outs(%i : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// row_statistics (C3)
func.func @mean_of_rms(%x: tensor<8x32xbf16>, %r: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{returns a mean, which a layer norm has, not rms}}
  %y:2 = flashnorm.row_statistics ins(%x : tensor<8x32xbf16>) outs(%r, %r : tensor<8xf32>, tensor<8xf32>) {norm = #flashnorm.norm<rms, eps = 1.0e-5>} -> tensor<8xf32>, tensor<8xf32>
  return %y#0, %y#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// row_statistics (C2)
func.func @three_statistics(%x: tensor<8x32xbf16>, %r: tensor<8xf32>) {
  // expected-error @+1 {{needs 1 or 2 inits, got 3}}
  %y:3 = flashnorm.row_statistics ins(%x : tensor<8x32xbf16>) outs(%r, %r, %r : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// row_statistics (C2)
func.func @statistics_rows(%x: tensor<8x32xbf16>, %r: tensor<8x32xf32>) -> tensor<8x32xf32> {
  // expected-error @+1 {{statistics 'tensor<8x32xf32>' does not have the shape of the leading dimensions of the input}}
  %y = flashnorm.row_statistics ins(%x : tensor<8x32xbf16>) outs(%r : tensor<8x32xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}

// -----

// row_statistics (C1)
func.func @statistics_of_dynamic_rows(%x: tensor<8x?xbf16>, %r: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{input must have a static last dimension that is not 0, got 'tensor<8x?xbf16>'}}
  %y = flashnorm.row_statistics ins(%x : tensor<8x?xbf16>) outs(%r : tensor<8xf32>) {norm = #flashnorm.norm<layer, eps = 1.0e-5>} -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @launch_nothing() {
  // expected-error @+1 {{needs an init}}
  "flashnorm.launch"() <{kernel = @k::@f, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
  return
}

// -----

func.func @launch_private(%y: memref<32x32xf32, #gpu.address_space<private>>) {
  // expected-error @+1 {{operand 0 of type 'memref<32x32xf32, #gpu.address_space<private>>' is not in global memory}}
  flashnorm.launch @k::@f outs(%y : memref<32x32xf32, #gpu.address_space<private>>)
  return
}

// -----

func.func @norm_encoding(%x: tensor<8x64xf32, "rows">, %o: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @+1 {{takes tensors without encoding only, got 'tensor<8x64xf32, "rows">'}}
  %y = flashnorm.rms_norm ins(%x : tensor<8x64xf32, "rows">) outs(%o : tensor<8x64xf32>) {eps = 1.0e-05 : f64} -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

func.func @matmul_encoding(%x: tensor<8x64xf32>, %w: tensor<64x16xf32, "rows">, %o: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-error @+1 {{takes tensors without encoding only, got 'tensor<64x16xf32, "rows">'}}
  %y = flashnorm.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x16xf32, "rows">) outs(%o : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// expected-error @below {{expected a positive number of stages, got 0}}
#plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, prefetch = 0>

// -----

// expected-error @below {{expected 'schedule', 'cluster', 'resident_weight' or 'prefetch', each once}}
#plan = #flashnorm.plan<strategy = gemm, chip = "sm_90a", family = wgmma, tile = [64, 64, 64], warps = [1, 1], stages = 2, prefetch = 2, prefetch = 2>
