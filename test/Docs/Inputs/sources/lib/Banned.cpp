//===- Banned.cpp - Each line is a finding ---===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===---===//
static llvm::cl::opt<bool> global("global");
void f() { llvm::report_fatal_error("no"); }
void g() { LLVM_DEBUG(h()); }
LLVM::InlineAsmOp asmOp;
