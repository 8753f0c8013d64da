#!/usr/bin/env python3
# Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stacks a model of one block: the result of each block is the first argument
of the next. For measuring how compile time grows. With --head, an RMSNorm with
weight and a matmul with [N,K] weight follow, as at the end of a language model; the
blocks' result is then 1x?xHxbf16.

usage: stack.py llama_block.mlir BLOCKS [--head COLUMNS] > stacked.mlir
"""
import argparse
import re

HEAD = """\
    %h_zero = arith.constant 0.0 : f32
    %h_n = arith.constant {hidden}.0 : f32
    %h_eps = arith.constant 1.0e-05 : f32
    %h_c1 = arith.constant 1 : index
    %h_m = tensor.dim {x}, %h_c1 : tensor<1x?x{hidden}xbf16>
    %h_sums = tensor.empty(%h_m) : tensor<1x?xf32>
    %h_sums0 = linalg.fill ins(%h_zero : f32) outs(%h_sums : tensor<1x?xf32>) -> tensor<1x?xf32>
    %h_squares = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}} ins({x} : tensor<1x?x{hidden}xbf16>) outs(%h_sums0 : tensor<1x?xf32>) {{
    ^bb0(%h_a: bf16, %h_s: f32):
      %h_w = arith.extf %h_a : bf16 to f32
      %h_q = arith.mulf %h_w, %h_w : f32
      %h_r = arith.addf %h_s, %h_q : f32
      linalg.yield %h_r : f32
    }} -> tensor<1x?xf32>
    %h_like = tensor.empty(%h_m) : tensor<1x?x{hidden}xbf16>
    %h_normed = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}} ins({x}, %h_squares, %h_norm_weight : tensor<1x?x{hidden}xbf16>, tensor<1x?xf32>, tensor<{hidden}xbf16>) outs(%h_like : tensor<1x?x{hidden}xbf16>) {{
    ^bb0(%h_a: bf16, %h_s: f32, %h_g: bf16, %h_o: bf16):
      %h_w = arith.extf %h_a : bf16 to f32
      %h_mean = arith.divf %h_s, %h_n : f32
      %h_shifted = arith.addf %h_mean, %h_eps : f32
      %h_rstd = math.rsqrt %h_shifted : f32
      %h_p = arith.mulf %h_w, %h_rstd : f32
      %h_gw = arith.extf %h_g : bf16 to f32
      %h_y = arith.mulf %h_p, %h_gw : f32
      %h_t = arith.truncf %h_y : f32 to bf16
      linalg.yield %h_t : bf16
    }} -> tensor<1x?x{hidden}xbf16>
    %h_rows = tensor.collapse_shape %h_normed [[0, 1], [2]] : tensor<1x?x{hidden}xbf16> into tensor<?x{hidden}xbf16>
    %h_acc = tensor.empty(%h_m) : tensor<?x{columns}xf32>
    %h_acc0 = linalg.fill ins(%h_zero : f32) outs(%h_acc : tensor<?x{columns}xf32>) -> tensor<?x{columns}xf32>
    %h_init = tensor.empty() : tensor<{hidden}x{columns}xbf16>
    %h_kn = linalg.transpose ins(%h_weight : tensor<{columns}x{hidden}xbf16>) outs(%h_init : tensor<{hidden}x{columns}xbf16>) permutation = [1, 0]
    %h_logits = linalg.matmul ins(%h_rows, %h_kn : tensor<?x{hidden}xbf16>, tensor<{hidden}x{columns}xbf16>) outs(%h_acc0 : tensor<?x{columns}xf32>) -> tensor<?x{columns}xf32>
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("blocks", type=int)
    parser.add_argument("--head", type=int, metavar="COLUMNS")
    options = parser.parse_args()
    path, blocks = options.path, options.blocks
    text = open(path).read()
    head, rest = text.split("func.func", 1)
    signature, body = re.match(
        r"(.*?\) -> [^\n]*?) \{\n(.*)\n  \}\n\}\s*$", rest, re.S
    ).groups()
    name = re.match(r"\s*@(\w+)", signature).group(1)
    arguments = re.findall(r"(%\w+): (tensor<[^>]*>)( \{[^}]*\})?", signature)
    result_type = signature.rsplit("->", 1)[1].strip()
    lines = body.rstrip().split("\n")
    returned = re.match(r"\s*return (%\w+)", lines.pop()).group(1)

    def renamed(line, block, current):
        def rename(match):
            if match.group(0) == arguments[0][0]:
                return current
            return f"%b{block}_{match.group(0)[1:]}"

        return re.sub(r"%[A-Za-z_0-9]+", rename, line)

    parameters = [f"{arguments[0][0]}: {arguments[0][1]}"]
    stacked = []
    current = arguments[0][0]
    for block in range(blocks):
        parameters += [
            f"%b{block}_{argument[1:]}: {type}{attributes}"
            for argument, type, attributes in arguments[1:]
        ]
        stacked += [renamed(line, block, current) for line in lines]
        current = f"%b{block}_{returned[1:]}"
    if options.head:
        hidden = int(re.fullmatch(r"tensor<1x\?x(\d+)xbf16>", result_type).group(1))
        parameters += [
            f"%h_norm_weight: tensor<{hidden}xbf16> {{flashnorm.frozen}}",
            f"%h_weight: tensor<{options.head}x{hidden}xbf16> {{flashnorm.frozen}}",
        ]
        stacked.append(HEAD.format(x=current, hidden=hidden, columns=options.head).rstrip())
        current, result_type = "%h_logits", f"tensor<?x{options.head}xf32>"
    print(f"{head}func.func @{name}_{blocks}({', '.join(parameters)}) -> {result_type} {{")
    print("\n".join(stacked))
    print(f"    return {current} : {result_type}\n  }}\n}}")


main()
