// Attributes that the dialect refuses.
// RUN: flashnorm-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{eps must be finite and not negative, got -1.0}}
func.func private @norm_eps() attributes {a = #flashnorm.norm<rms, eps = -1.0>}

// -----

// expected-error @+1 {{steps round to bf16 or f16, got 'f32'}}
func.func private @rounding_type() attributes {a = #flashnorm.roundings<product = f32>}

// -----

// expected-error @+1 {{roundings need a step}}
func.func private @no_rounding() attributes {a = #flashnorm.roundings<>}

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

// -----

// expected-error @+1 {{tile needs 3 sizes (rows, columns, depth), got 0}}
func.func private @plan_no_tile() attributes {a = #flashnorm.plan<strategy = gemm, chip = "sm_80", family = mma_sync, tile = [], warps = [2, 2], stages = 2>}

// -----

// expected-error @+1 {{argument 1 has 'flashnorm.prepared', but the function has no 'flashnorm.prepare_weights'}}
func.func private @prepared_alone(tensor<4xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64})

// -----

// expected-error @+1 {{'flashnorm.prepare_weights' names @gone, which is no function of the module}}
func.func private @prepare_gone() attributes {flashnorm.prepare_weights = @gone}

// -----

module @data {}
// expected-error @+1 {{'flashnorm.prepare_weights' names @data, which is no function of the module}}
func.func private @prepare_module() attributes {flashnorm.prepare_weights = @data}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 0 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 1 is prepared by result 1 of @prepare, which has 1}}
func.func private @prepared_range(tensor<8xf32>, tensor<4xf32> {flashnorm.prepared = 1 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 0 : i64}) -> tensor<4xf32>
// expected-error @+1 {{prepared argument 1 has type 'tensor<8xf32>', expected 'tensor<4xf32>'}}
func.func private @prepared_type(tensor<8xf32>, tensor<8xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<8xf32>) -> tensor<4xf32>
// expected-error @+1 {{argument 0 of @prepare has no 'flashnorm.source'}}
func.func private @no_source(tensor<8xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 2 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 0 of @prepare is argument 2 of a function that has 2}}
func.func private @source_range(tensor<8xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 0 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 0 has type 'tensor<9xf32>', expected 'tensor<8xf32>'}}
func.func private @source_type(tensor<9xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

// After bufferization, results may have become arguments.
func.func private @prepare(memref<8xf32>, memref<4xf32>)
func.func private @lowered(memref<8xf32>, memref<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

// A misspelt attribute would do nothing.
// expected-error @+1 {{unknown attribute 'flashnorm.frozn' on argument 0; FlashNorm has 'flashnorm.frozen', 'flashnorm.prepared' and 'flashnorm.source' there}}
func.func private @misspelt_argument(tensor<4xf32> {flashnorm.frozn})

// -----

// expected-error @+1 {{unknown attribute 'flashnorm.frozen' on result 0; FlashNorm has none there}}
func.func private @on_result() -> (tensor<4xf32> {flashnorm.frozen})

// -----

// expected-error @+1 {{unknown attribute 'flashnorm.frozen' on an operation; FlashNorm has 'flashnorm.prepare_weights', 'flashnorm.norm', 'flashnorm.launch_abi' and 'flashnorm.manifest' there}}
func.func private @on_function() attributes {flashnorm.frozen}

// -----

// expected-error @+1 {{'flashnorm.manifest' must be a dictionary, got 1 : i64}}
module attributes {flashnorm.manifest = 1 : i64} {}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 0 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 1 is both 'flashnorm.prepared' and 'flashnorm.frozen'; it is computed or given, not both}}
func.func private @prepared_and_frozen(tensor<8xf32> {flashnorm.frozen}, tensor<4xf32> {flashnorm.frozen, flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<8xf32> {flashnorm.source = 0 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 0 of @prepare is argument 0, which is not 'flashnorm.frozen'}}
func.func private @source_not_frozen(tensor<8xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

func.func private @prepare(tensor<4xf32> {flashnorm.source = 1 : i64}) -> tensor<4xf32>
// expected-error @+1 {{argument 0 of @prepare is argument 1, which is not 'flashnorm.frozen'}}
func.func private @source_prepared(tensor<8xf32>, tensor<4xf32> {flashnorm.prepared = 0 : i64}) attributes {flashnorm.prepare_weights = @prepare}

// -----

// expected-error @+1 {{'flashnorm.norm' must be a #flashnorm.norm, got "rms"}}
func.func private @norm_name(tensor<?x64xf32>) -> tensor<?x64xf32> attributes {flashnorm.norm = "rms"}

// -----

// expected-error @+1 {{only a function can have 'flashnorm.norm'}}
module attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>} {}

// -----

// expected-error @+1 {{'flashnorm.norm' needs 1 to 2 arguments and 1 result, got 3 and 1}}
func.func private @norm_bias(tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}

// -----

// expected-error @+1 {{'flashnorm.norm' needs ranked tensors of f16, bf16, f32 or f64, got 'tensor<?x64xi8>'}}
func.func private @norm_type(tensor<?x64xi8>) -> tensor<?x64xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}

// -----

// expected-error @+1 {{'flashnorm.norm' needs a static last dimension that is not 0, got 'tensor<64x?xf32>'}}
func.func private @norm_row(tensor<64x?xf32>) -> tensor<64x?xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}

// -----

// expected-error @+1 {{'flashnorm.norm' maps 'tensor<?x64xf32>' to 'tensor<8x64xf32>'; the shapes must be the same}}
func.func private @norm_shape(tensor<?x64xf32>) -> tensor<8x64xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}

// -----

// expected-error @+1 {{'flashnorm.norm' needs vectors of 64 elements behind x, got 'tensor<1x64xf32>'}}
func.func private @norm_weight(tensor<?x64xf32>, tensor<1x64xf32>) -> tensor<?x64xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}

// -----

// expected-error @+1 {{'flashnorm.norm' needs a static last dimension that is not 0, got 'tensor<8x0xf32>'}}
func.func private @norm_of_nothing(tensor<8x0xf32>) -> tensor<8x0xf32> attributes {flashnorm.norm = #flashnorm.norm<rms, eps = 1.0e-05>}
