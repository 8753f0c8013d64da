// RUN: flashnorm-opt %s --convert-flashnorm-to-kernel --split-input-file \
// RUN:   --verify-diagnostics

func.func @f32_inputs(%x: memref<?x64xf32>, %w: memref<64x64xf32>,
                      %y: memref<?x64xf32>) {
  // expected-error @below {{plan cannot run: inputs are f32; the kernels multiply bf16 and f16}}
  flashnorm.matmul ins(%x, %w : memref<?x64xf32>, memref<64x64xf32>)
      outs(%y : memref<?x64xf32>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @f64_bias(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>,
                    %b: memref<64xf64>, %y: memref<?x64xbf16>) {
  // expected-error @below {{plan cannot run: element type f64 has no kernel}}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      bias(%b : memref<64xf64>) outs(%y : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @odd_columns(%x: memref<?x64xbf16>, %w: memref<64x60xbf16>,
                       %y: memref<?x60xbf16>) {
  // expected-error @below {{plan cannot run: N = 60 is not a positive multiple of 8}}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x60xbf16>)
      outs(%y : memref<?x60xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @odd_depth(%x: memref<?x60xbf16>, %w: memref<60x64xbf16>,
                     %y: memref<?x64xbf16>) {
  // expected-error @below {{plan cannot run: K = 60 is not a positive multiple of 8}}
  flashnorm.matmul ins(%x, %w : memref<?x60xbf16>, memref<60x64xbf16>)
      outs(%y : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// Statistics of half a row would be wrong, not slow.
func.func @half_a_row(%x: memref<?x64xbf16>, %w: memref<64x128xbf16>,
                      %y: memref<?x128xbf16>) {
  // expected-error @below {{plan cannot run: wide_tile needs all 128 columns in one tile; the tile has 64}}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x128xbf16>)
      outs(%y : memref<?x128xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @unknown_chip(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>,
                        %y: memref<?x64xbf16>) {
  // expected-error @below {{plan is for unknown chip 'sm_70'; legal are sm_80,}}
  flashnorm.matmul ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_70", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @not_packed(%x: memref<?x64xbf16>, %w: memref<64x64xbf16>,
                      %y: memref<?x64xbf16, strided<[128, 1]>>) {
  // expected-error @below {{kernels need packed operands; matrices that are only read may be strided; got 'memref<?x64xbf16, strided<[128, 1]>>'}}
  flashnorm.matmul
      ins(%x, %w : memref<?x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16, strided<[128, 1]>>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

func.func @not_global(%x: memref<?x64xbf16, #gpu.address_space<workgroup>>,
                      %w: memref<64x64xbf16>, %y: memref<?x64xbf16>) {
  // expected-error @below {{kernels need operands in global memory, got 'memref<?x64xbf16, #gpu.address_space<workgroup>>'}}
  flashnorm.matmul
      ins(%x, %w : memref<?x64xbf16, #gpu.address_space<workgroup>>, memref<64x64xbf16>)
      outs(%y : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// A view of the input.
func.func @output_is_input(%x: memref<32x64xbf16>, %w: memref<64x64xbf16>) {
  %flat = memref.collapse_shape %x [[0, 1]] : memref<32x64xbf16> into memref<2048xbf16>
  %c = memref.cast %x : memref<32x64xbf16> to memref<?x64xbf16>
  // expected-error @below {{operand 2, which is written, shares memory with operand 0; kernels need an output of its own (the residual may be it)}}
  flashnorm.matmul
      ins(%x, %w : memref<32x64xbf16>, memref<64x64xbf16>)
      outs(%c : memref<?x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// The input itself. No error of the op: CSE makes one value of two equal views.
func.func @output_is_same_value(%x: memref<64x64xbf16>, %w: memref<64x64xbf16>) {
  // expected-error @below {{operand 2, which is written, shares memory with operand 1}}
  flashnorm.matmul
      ins(%x, %w : memref<64x64xbf16>, memref<64x64xbf16>)
      outs(%w : memref<64x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// Both outputs.
func.func @one_output_twice(%x: memref<32x64xbf16>, %w: memref<64x64xbf16>, %r: memref<32x64xbf16>, %y: memref<32x64xbf16>) {
  // expected-error @below {{operand 4, which is written, shares memory with operand 3}}
  flashnorm.matmul
      ins(%x, %w : memref<32x64xbf16>, memref<64x64xbf16>) residual(%r : memref<32x64xbf16>)
      outs(%y, %y : memref<32x64xbf16>, memref<32x64xbf16>)
      {post_norm = #flashnorm.norm<rms, eps = 1.0e-05>,
       plan = #flashnorm.plan<strategy = wide_tile, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// Of one buffer, the output begins in the middle of the weight.
func.func @overlap(%x: memref<32x64xbf16>, %buffer: memref<65536xi8>) {
  %c0 = arith.constant 0 : index
  %c4096 = arith.constant 4096 : index
  %w = memref.view %buffer[%c0][] : memref<65536xi8> to memref<64x64xbf16>
  %y = memref.view %buffer[%c4096][] : memref<65536xi8> to memref<32x64xbf16>
  // expected-error @below {{operand 2, which is written, shares memory with operand 1}}
  flashnorm.matmul
      ins(%x, %w : memref<32x64xbf16>, memref<64x64xbf16>)
      outs(%y : memref<32x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}

// -----

// Shifted by a row, the residual is overwritten before it is read.
func.func @shifted_residual(%x: memref<32x64xbf16>, %w: memref<64x64xbf16>,
                            %buffer: memref<65536xi8>) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %r = memref.view %buffer[%c0][] : memref<65536xi8> to memref<32x64xbf16>
  %y = memref.view %buffer[%c128][] : memref<65536xi8> to memref<32x64xbf16>
  // expected-error @below {{operand 3, which is written, shares memory with operand 2}}
  flashnorm.matmul
      ins(%x, %w : memref<32x64xbf16>, memref<64x64xbf16>)
      residual(%r : memref<32x64xbf16>)
      outs(%y : memref<32x64xbf16>)
      {plan = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync,
                              tile = [64, 64, 32], warps = [2, 1], stages = 2>}
  return
}
