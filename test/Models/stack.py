#!/usr/bin/env python3
# Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stacks a model of one block: the result of each block is the first argument
of the next. For measuring how compile time grows.

usage: stack.py llama_block.mlir BLOCKS > stacked.mlir
"""
import re
import sys


def main():
    path, blocks = sys.argv[1], int(sys.argv[2])
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
    print(f"{head}func.func @{name}_{blocks}({', '.join(parameters)}) -> {result_type} {{")
    print("\n".join(stacked))
    print(f"    return {current} : {result_type}\n  }}\n}}")


main()
