//===- FlashNormAttrs.td - Attributes of the flashnorm dialect -*- tablegen -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMATTRS_TD
#define FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMATTRS_TD

include "flashnorm/Dialect/FlashNorm/IR/FlashNormDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class FlashNorm_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::flashnorm";
}
class FlashNorm_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<FlashNorm_Dialect, info, mnemonic>;

def FlashNorm_NormKind : FlashNorm_Enum<"NormKind", "which normalisation", [
  I32EnumCase<"RMS", 0, "rms">, I32EnumCase<"Layer", 1, "layer">]>;

def FlashNorm_Activation : FlashNorm_Enum<"Activation",
    "elementwise function of an epilogue", [
  I32EnumCase<"None", 0, "none">, I32EnumCase<"ReLU", 1, "relu">,
  I32EnumCase<"GELU", 2, "gelu">, I32EnumCase<"GELUTanh", 3, "gelu_tanh">,
  I32EnumCase<"SiLU", 4, "silu">]>;
def FlashNorm_ActivationAttr
    : FlashNorm_EnumAttr<FlashNorm_Activation, "activation"> {
  let assemblyFormat = "`<` $value `>`";
}

def FlashNorm_GluLayout : FlashNorm_Enum<"GluLayout",
    "where a gated linear unit has its gates and its values", [
  I32EnumCase<"GateFirst", 0, "gate_first">,
  I32EnumCase<"ValueFirst", 1, "value_first">,
  I32EnumCase<"Interleaved", 2, "interleaved">]>;
def FlashNorm_GluLayoutAttr : FlashNorm_EnumAttr<FlashNorm_GluLayout, "glu"> {
  let assemblyFormat = "`<` $value `>`";
}

def FlashNorm_CastPosition : FlashNorm_Enum<"CastPosition",
    "where a norm rounds to the result type", [
  I32EnumCase<"AfterAffine", 0, "after_affine">,
  I32EnumCase<"BeforeAffine", 1, "before_affine">]>;
def FlashNorm_CastPositionAttr
    : FlashNorm_EnumAttr<FlashNorm_CastPosition, "cast_position"> {
  let assemblyFormat = "`<` $value `>`";
}

def FlashNorm_Strategy : FlashNorm_Enum<"PlanStrategy",
    "how the kernel deals with the norms", [
  I32EnumCase<"Gemm", 0, "gemm">, I32EnumCase<"WideTile", 1, "wide_tile">,
  I32EnumCase<"LazyPreNorm", 2, "lazy_pre_norm">]>;
def FlashNorm_Family : FlashNorm_Enum<"PlanFamily", "MMA instruction family", [
  I32EnumCase<"MmaSync", 0, "mma_sync">, I32EnumCase<"Wgmma", 1, "wgmma">,
  I32EnumCase<"Tcgen05", 2, "tcgen05">]>;

def FlashNorm_Schedule : FlashNorm_Enum<"PlanSchedule",
    "which tiles a CTA's MMA warps work on", [
  I32EnumCase<"Cooperative", 0, "cooperative">,
  I32EnumCase<"PingPong", 1, "ping_pong">]>;

class FlashNorm_Attr<string name, string attrMnemonic>
    : AttrDef<FlashNorm_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def FlashNorm_NormAttr : FlashNorm_Attr<"Norm", "norm"> {
  let summary = "a normalisation over the last dimension";
  let description = [{
    `rms`:   `x * rsqrt(mean(x^2) + eps)` (Zhang and Sennrich, 2019)

    `layer`: `(x - mean(x)) * rsqrt(var(x) + eps)`, biased variance
    (Ba, Kiros and Hinton, 2016)

    ```mlir
    #flashnorm.norm<rms, eps = 1.000000e-05>
    ```
  }];
  let parameters = (ins EnumParameter<FlashNorm_NormKind>:$kind,
                        "::mlir::FloatAttr":$eps);
  let assemblyFormat = "`<` $kind `,` `eps` `=` custom<Eps>($eps) `>`";
  let genVerifyDecl = 1;
}

def FlashNorm_EpilogueStep : FlashNorm_Enum<"EpilogueStep",
    "a step of a matmul behind its sum, in the order of its equation", [
  I32EnumCase<"Product", 0, "product">, I32EnumCase<"Bias", 1, "bias">,
  I32EnumCase<"Activation", 2, "activation">, I32EnumCase<"Glu", 3, "glu">,
  I32EnumCase<"Residual", 4, "residual">, I32EnumCase<"Norm", 5, "norm">,
  I32EnumCase<"NormWeight", 6, "norm_weight">,
  I32EnumCase<"NormBias", 7, "norm_bias">]>;

def FlashNorm_RoundingsAttr : FlashNorm_Attr<"Roundings", "roundings"> {
  let summary = "roundings between the steps of an epilogue";
  let description = [{
    Each step of a `flashnorm.matmul` may round what it makes to a type of 16
    bits, to nearest even, before the next one goes on in f32. The steps are those
    of its equation, in this order: `product` (scaled by the pre-norm or the row
    scale), `bias`, `activation`, `glu`, `residual`, `norm` (`(x - mean) * rstd` of
    the post-norm), `norm_weight`, `norm_bias`. A step that is not named does not
    round.

    ```mlir
    #flashnorm.roundings<product = bf16, bias = bf16>
    ```
  }];
  defvar Rounding = OptionalParameter<"::mlir::FloatType">;
  let parameters = (ins Rounding:$product, Rounding:$bias, Rounding:$activation,
    Rounding:$glu, Rounding:$residual, Rounding:$norm, Rounding:$norm_weight,
    Rounding:$norm_bias);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// What `step` rounds to; null if it does not.
    ::mlir::FloatType getType(EpilogueStep step) const;
    /// `roundings`, which may be null, and that of `step`; a null type removes it.
    static RoundingsAttr with(::mlir::MLIRContext *context,
                              RoundingsAttr roundings, EpilogueStep step,
                              ::mlir::FloatType type);
  }];
}

def FlashNorm_PlanAttr : FlashNorm_Attr<"Plan", "plan"> {
  let summary = "how a fused op runs on a chip";
  let description = [{
    Written by `--flashnorm-plan`, or by hand; `--flashnorm-verify-plan`
    rejects what cannot run. `tile` is rows, columns and depth of one pipeline
    stage; `warps` says how the warps (`mma_sync`) or the consumer warpgroups
    (`wgmma`) split the tile's rows and columns. With `schedule = ping_pong`
    (`wgmma`) two warpgroups have a tile each; the default is `cooperative`.
    `cluster` has the CTAs of a cluster along M (they share the columns of W,
    each loading a part for all), N (they share the rows of x, and all columns are
    in their tiles) and K (they share a tile: each multiplies a part of the
    depth); the default is `[1, 1, 1]`. With `resident_weight` (`wgmma`) a CTA
    keeps its columns of W in shared memory for all its tiles, and the stages
    hold x alone: all columns must be in the tiles of one cluster, which has one
    CTA along M and K. With `prefetch = 4` (`wgmma`) the rows of x are asked of
    device memory four stages before they are loaded, into L2, also those of the
    CTA's next tile; CTAs along N take turns.

    ```mlir
    #flashnorm.plan<strategy = wide_tile, chip = "sm_90a", family = wgmma,
                    tile = [128, 256, 64], warps = [2, 1], stages = 4>
    ```
  }];
  let parameters = (ins
    EnumParameter<FlashNorm_Strategy>:$strategy,
    StringRefParameter<"chip that the plan is for">:$chip,
    EnumParameter<FlashNorm_Family>:$family,
    ArrayRefParameter<"int64_t">:$tile,
    ArrayRefParameter<"int64_t">:$warps,
    "int64_t":$stages,
    DefaultValuedParameter<"::flashnorm::PlanSchedule",
                           "::flashnorm::PlanSchedule::Cooperative">:$schedule,
    ArrayRefParameter<"int64_t">:$cluster,
    DefaultValuedParameter<"bool", "false">:$resident_weight,
    DefaultValuedParameter<"int64_t", "0">:$prefetch);
  let assemblyFormat = [{
    `<` `strategy` `=` $strategy `,` `chip` `=` $chip `,`
        `family` `=` $family `,` `tile` `=` custom<Sizes>($tile) `,`
        `warps` `=` custom<Sizes>($warps) `,` `stages` `=` $stages
        `` custom<Placement>($schedule, $cluster, $resident_weight,
                             $prefetch) `>`
  }];
  let genVerifyDecl = 1;
}

#endif // FLASHNORM_DIALECT_FLASHNORM_IR_FLASHNORMATTRS_TD
