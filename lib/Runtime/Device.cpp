//===- Device.cpp - What kernels run on -----------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/Device.h"

using namespace flashnorm;

Device::~Device() = default;

std::string DeviceProperties::chip() const {
  std::string chip =
      "sm_" + std::to_string(computeMajor) + std::to_string(computeMinor);
  // From Hopper on, tensor core instructions belong to one architecture.
  return computeMajor >= 9 ? chip + "a" : chip;
}
