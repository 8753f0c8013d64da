//===- Fiber.cpp - Stacks and switching between them ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Fiber.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/Process.h"
#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>

#if LLVM_ADDRESS_SANITIZER_BUILD
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

using namespace flashnorm::emulator;
namespace fcontext = boost::context::detail;

static size_t getGuardSize() {
  return llvm::sys::Process::getPageSizeEstimate();
}

StackPool::~StackPool() {
  for (char *stack : mapped)
    munmap(stack - getGuardSize(), stackSize + getGuardSize());
}

char *StackPool::take() {
  if (!unused.empty()) {
    char *stack = unused.back();
    unused.pop_back();
#if LLVM_ADDRESS_SANITIZER_BUILD
    // Frames of a fiber that never returned left their red zones.
    ASAN_UNPOISON_MEMORY_REGION(stack, stackSize);
#endif
    return stack;
  }
  void *memory =
      mmap(nullptr, stackSize + getGuardSize(), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  if (mprotect(memory, getGuardSize(), PROT_NONE) != 0) {
    munmap(memory, stackSize + getGuardSize());
    return nullptr;
  }
  mapped.push_back(static_cast<char *>(memory) + getGuardSize());
  return mapped.back();
}

namespace {
/// What a new fiber's first frame finds.
struct Start {
  void (*entry)(Switch);
};
} // namespace

static void trampoline(fcontext::transfer_t transfer) {
  // The entry lies at the top of the stack, above this frame; makeFiber put it
  // there and hands its place in `data` of a first, immediate switch.
  auto *start = static_cast<Start *>(transfer.data);
  void (*entry)(Switch) = start->entry;
  transfer = fcontext::jump_fcontext(transfer.fctx, nullptr);
  enterFiber();
  entry({transfer.fctx, transfer.data});
  llvm_unreachable("a fiber's entry returned");
}

Context flashnorm::emulator::makeFiber(char *stack, void (*entry)(Switch)) {
  Start start{entry};
  fcontext::fcontext_t context = fcontext::make_fcontext(
      stack + StackPool::stackSize, StackPool::stackSize, trampoline);
  return fcontext::jump_fcontext(context, &start).fctx;
}

#if LLVM_ADDRESS_SANITIZER_BUILD
/// The host's stack, as the sanitizer told it on the first switch away.
static thread_local const void *hostBottom = nullptr;
static thread_local size_t hostSize = 0;
#endif

void flashnorm::emulator::enterFiber() {
#if LLVM_ADDRESS_SANITIZER_BUILD
  const void *bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (!hostBottom) {
    hostBottom = bottom;
    hostSize = size;
  }
#endif
}

Switch flashnorm::emulator::resumeFiber(Context to, char *toStack, void *data,
                                        bool ends) {
#if LLVM_ADDRESS_SANITIZER_BUILD
  void *fakeStack = nullptr;
  __sanitizer_start_switch_fiber(ends ? nullptr : &fakeStack,
                                 toStack ? toStack : hostBottom,
                                 toStack ? StackPool::stackSize : hostSize);
#else
  (void)toStack;
  (void)ends;
#endif
  fcontext::transfer_t transfer = fcontext::jump_fcontext(to, data);
#if LLVM_ADDRESS_SANITIZER_BUILD
  __sanitizer_finish_switch_fiber(fakeStack, nullptr, nullptr);
#endif
  return {transfer.fctx, transfer.data};
}
