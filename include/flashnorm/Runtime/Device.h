//===- Device.h - What kernels run on ---------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the launcher asks of a device, in the terms of the CUDA driver API. A
// real GPU (CudaDriver.h) and the emulator implement it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_DEVICE_H
#define FLASHNORM_RUNTIME_DEVICE_H

#include "flashnorm/Runtime/Array.h"
#include "llvm/Support/Error.h"
#include <array>

namespace flashnorm {

/// An address on the device.
using DevicePointer = uint64_t;

/// CUtensorMap: opaque, passed by value.
struct alignas(64) TensorMap {
  char bytes[128];
};

/// What one launch needs besides its parameters.
struct LaunchShape {
  int64_t grid = 1;    ///< CTAs along x
  int64_t block = 32;  ///< threads per CTA
  int64_t cluster = 1; ///< CTAs per cluster; 1: no clusters
  int64_t sharedMemory = 0;
};

/// What the launcher checks itself against.
struct DeviceProperties {
  std::string name;
  int computeMajor = 0, computeMinor = 0;
  int64_t sharedMemoryPerBlock = 0; ///< opt-in limit
  int64_t maxGrid = 0;              ///< along x
  int64_t numSMs = 0;
  int driverVersion = 0; ///< 13000 for 13.0

  /// The chip that code for this device is compiled for: "sm_90a".
  std::string chip() const;
};

/// All calls return when the device is done.
class Device {
public:
  virtual ~Device();

  const DeviceProperties &properties() const { return info; }
  /// Loads PTX text (or a cubin: a GPU only). What the driver's compiler says
  /// of an error is part of the error.
  class Module;
  class Function;
  virtual llvm::Expected<Module *> loadModule(llvm::StringRef image) = 0;
  virtual llvm::Expected<Function *> getFunction(Module *module,
                                                 llvm::StringRef name) = 0;

  /// Sizes in bytes of a kernel's parameters, or none when the driver is too
  /// old to tell (before 12.4).
  virtual llvm::Expected<std::optional<llvm::SmallVector<int64_t>>>
  getParameterSizes(Function *function) = 0;
  /// Allows the shared memory and cluster size of `shape`.
  virtual llvm::Error prepare(Function *function, const LaunchShape &shape) = 0;
  /// Clusters of `shape` (of 1: CTAs) that run at the same time, once prepared.
  virtual llvm::Expected<int64_t>
  getMaxActiveClusters(Function *function, const LaunchShape &shape) = 0;
  /// Runs a kernel; parameters[i] points to the value of parameter i.
  virtual llvm::Error launch(Function *function, const LaunchShape &shape,
                             llvm::ArrayRef<void *> parameters) = 0;
  /// Milliseconds that each of `count` launches took.
  virtual llvm::Expected<std::vector<float>>
  time(Function *function, const LaunchShape &shape,
       llvm::ArrayRef<void *> parameters, int64_t count) = 0;

  virtual llvm::Expected<DevicePointer> allocate(int64_t bytes) = 0;
  virtual llvm::Error free(DevicePointer pointer) = 0;
  virtual llvm::Error fill(DevicePointer pointer, unsigned char value,
                           int64_t bytes) = 0;
  virtual llvm::Error copyToDevice(DevicePointer to, const void *from,
                                   int64_t bytes) = 0;
  virtual llvm::Error copyToHost(void *to, DevicePointer from,
                                 int64_t bytes) = 0;

  /// A matrix whose rows start `rowStride` elements apart, read or written by
  /// boxes of box[0] columns and box[1] rows; what lies outside reads as zero.
  virtual llvm::Expected<TensorMap>
  encodeTensorMap(DevicePointer pointer, DataType type, int64_t rows,
                  int64_t columns, int64_t rowStride,
                  std::array<int64_t, 2> box, int64_t swizzle) = 0;

protected:
  DeviceProperties info;
};

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_DEVICE_H
