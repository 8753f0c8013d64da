//===- EmulatedDevice.h - The emulator as a device --------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_EMULATOR_EMULATEDDEVICE_H
#define FLASHNORM_EMULATOR_EMULATEDDEVICE_H

#include "flashnorm/Emulator/Emulator.h"
#include "flashnorm/Runtime/Device.h"

namespace flashnorm {

/// A device of the given chip ("sm_90a") whose kernels the emulator runs, so
/// that a launcher needs no GPU. It takes PTX text only; entries of all its
/// modules have different names. A fault of a kernel is the error of its
/// launch.
class EmulatedDevice final : public Device {
public:
  static llvm::Expected<std::unique_ptr<EmulatedDevice>>
  create(llvm::StringRef chip, const EmulatorOptions &options = {});
  ~EmulatedDevice() override;

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
  /// The time that the emulator takes: of no meaning for a GPU.
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

  Emulator &getEmulator() { return *emulator; }

  /// What a launch and a tensor map of the launcher are to the emulator.
  static EmulatorLaunch getLaunch(const LaunchShape &shape);
  static EmulatorTensorMap describeTensorMap(DevicePointer pointer,
                                             DataType type, int64_t rows,
                                             int64_t columns, int64_t rowStride,
                                             std::array<int64_t, 2> box,
                                             int64_t swizzle);

private:
  EmulatedDevice() = default;

  std::unique_ptr<Emulator> emulator;
  std::vector<std::unique_ptr<std::string>> names; ///< behind the handles
};

} // namespace flashnorm

#endif // FLASHNORM_EMULATOR_EMULATEDDEVICE_H
