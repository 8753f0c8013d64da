//===- CudaDriver.h - The CUDA driver, loaded at run time -------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of the driver API as launching kernels takes. libcuda.so.1 is opened
// when first asked for, so that nothing of CUDA is needed to build, and a
// machine without a driver gets an error instead of a tool that does not start.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_CUDADRIVER_H
#define FLASHNORM_RUNTIME_CUDADRIVER_H

#include "flashnorm/Runtime/Device.h"
#include <memory>

namespace flashnorm {

/// One device, with its primary context current on the calling thread.
class CudaDevice final : public Device {
public:
  static llvm::Expected<std::unique_ptr<CudaDevice>> open(int ordinal = 0);
  ~CudaDevice() override;

  llvm::Expected<Module *> loadModule(llvm::StringRef image) override;
  llvm::Expected<Function *> getFunction(Module *module,
                                         llvm::StringRef name) override;
  llvm::Expected<std::optional<llvm::SmallVector<int64_t>>>
  getParameterSizes(Function *function) override;
  llvm::Error prepare(Function *function, const LaunchShape &shape) override;
  llvm::Expected<int64_t>
  getMaxActiveClusters(Function *function, const LaunchShape &shape) override;
  llvm::Error launch(Function *function, const LaunchShape &shape,
                     llvm::ArrayRef<void *> parameters) override;
  llvm::Expected<std::vector<float>> time(Function *function,
                                          const LaunchShape &shape,
                                          llvm::ArrayRef<void *> parameters,
                                          int64_t count) override;
  llvm::Expected<DevicePointer> allocate(int64_t bytes) override;
  llvm::Error free(DevicePointer pointer) override;
  llvm::Error fill(DevicePointer pointer, unsigned char value,
                   int64_t bytes) override;
  llvm::Error copyToDevice(DevicePointer to, const void *from,
                           int64_t bytes) override;
  llvm::Error copyToHost(void *to, DevicePointer from, int64_t bytes) override;
  llvm::Expected<TensorMap> encodeTensorMap(DevicePointer pointer,
                                            DataType type, int64_t rows,
                                            int64_t columns, int64_t rowStride,
                                            std::array<int64_t, 2> box,
                                            int64_t swizzle) override;

private:
  CudaDevice() = default;

  int device = 0;
  bool retained = false;
  std::vector<Module *> modules;
};

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_CUDADRIVER_H
