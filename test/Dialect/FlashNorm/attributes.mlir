// Attributes that the dialect refuses.
// RUN: flashnorm-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{eps must be finite and not negative, got -1.0}}
func.func private @norm_eps() attributes {a = #flashnorm.norm<rms, eps = -1.0>}

// -----

// expected-error @+1 {{tile needs 3 sizes (rows, columns, depth), got 2}}
func.func private @plan_tile() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [128, 256], warps = [2, 2], stages = 2>}

// -----

// expected-error @+1 {{tile sizes must be positive, got 0}}
func.func private @plan_tile_size() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [128, 0, 64], warps = [2, 2], stages = 2>}

// -----

// expected-error @+1 {{warps needs 2 sizes (rows, columns), got 1}}
func.func private @plan_warps() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [128, 256, 64], warps = [2], stages = 2>}

// -----

// expected-error @+1 {{warp counts must be positive, got -1}}
func.func private @plan_warp_count() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [128, 256, 64], warps = [2, -1], stages = 2>}

// -----

// expected-error @+1 {{stages must be positive, got 0}}
func.func private @plan_stages() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [128, 256, 64], warps = [2, 2], stages = 0>}

// -----

// expected-error @+1 {{'flashnorm.frozen' must be a unit attribute, got 1}}
func.func private @frozen_value(tensor<4xf32> {flashnorm.frozen = 1 : i64})

// -----

// expected-error @+1 {{'flashnorm.prepared' must be an i64 that is not negative, got -1 : i64}}
func.func private @prepared_index(tensor<4xf32> {flashnorm.prepared = -1 : i64})

// -----

// expected-error @+1 {{'flashnorm.source' must be an i64 that is not negative, got @f}}
func.func private @source_index(tensor<4xf32> {flashnorm.source = @f})

// -----

// expected-error @+1 {{'flashnorm.prepare_weights' must be the name of a function, got "f"}}
func.func private @prepare_weights_name() attributes {flashnorm.prepare_weights = "f"}

// -----

// expected-error @+1 {{only a function can have 'flashnorm.prepare_weights'}}
module attributes {flashnorm.prepare_weights = @f} {}

// -----

// expected-error @+2 {{expected one of [none, relu, gelu, gelu_tanh, silu] for elementwise function of an epilogue, got: tanh}}
// expected-error @+1 {{failed to parse FlashNorm_ActivationAttr parameter}}
func.func private @activation() attributes {a = #flashnorm.activation<tanh>}
