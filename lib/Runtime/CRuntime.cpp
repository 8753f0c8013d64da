//===- CRuntime.cpp - What compiled host code calls -----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/CRuntime.h"

using namespace flashnorm;

namespace {
struct State {
  Launcher *launcher = nullptr;
  std::string error;
};
} // namespace

// Compiled code passes no context along. CUDA contexts belong to threads too.
static State &getState() {
  static thread_local State state;
  return state;
}

void flashnorm::setCurrentLauncher(Launcher *launcher) {
  getState() = {launcher, ""};
}

llvm::Error flashnorm::takeLaunchError() {
  std::string error = std::exchange(getState().error, "");
  return error.empty() ? llvm::Error::success()
                       : llvm::createStringError(error);
}

void flashnorm_launch(const char *kernel, const int64_t *operands) {
  State &state = getState();
  if (!state.error.empty())
    return;
  if (!state.launcher) {
    state.error = std::string("kernel '") + kernel +
                  "': no launcher is set on this thread";
    return;
  }
  if (llvm::Error error = state.launcher->launchPacked(kernel, operands))
    state.error = llvm::toString(std::move(error));
}
