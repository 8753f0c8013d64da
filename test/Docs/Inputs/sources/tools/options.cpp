//===- options.cpp - Tools may have options ---===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---===//
static llvm::cl::opt<bool> verbose("verbose");
