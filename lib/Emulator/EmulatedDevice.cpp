//===- EmulatedDevice.cpp - The emulator as a device ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Emulator/EmulatedDevice.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cstring>
#include <limits>

using namespace flashnorm;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

// The launcher's handles are opaque: a module is the emulator, which asks for
// no more; a function is its name, owned by the device.
static StringRef nameOf(Device::Function *function) {
  return *reinterpret_cast<const std::string *>(function);
}

/// The opt-in limit of a CTA's shared memory: CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability".
static int64_t getSharedMemoryLimit(int computeCapability) {
  switch (computeCapability) {
  case 80:
  case 87:
    return 163 * 1024;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 * 1024;
  default:
    return 227 * 1024;
  }
}

Expected<std::unique_ptr<EmulatedDevice>>
EmulatedDevice::create(StringRef chip, const EmulatorOptions &options) {
  StringRef digits = chip;
  int number = 0;
  if (!digits.consume_front("sm_") ||
      digits.rtrim("af").getAsInteger(10, number) || number < 80)
    return createStringError("the emulator has no chip '" + chip +
                             "'; it takes sm_80 and later");
  Expected<std::unique_ptr<Emulator>> emulator = Emulator::create(options);
  if (!emulator)
    return emulator.takeError();
  std::unique_ptr<EmulatedDevice> device(new EmulatedDevice);
  device->emulator = std::move(*emulator);
  device->info.name = "emulated " + chip.str();
  device->info.computeMajor = number / 10;
  device->info.computeMinor = number % 10;
  device->info.sharedMemoryPerBlock = getSharedMemoryLimit(number);
  device->info.maxGrid = std::numeric_limits<int32_t>::max();
  device->info.numSMs = options.numSMs;
  return device;
}

EmulatedDevice::~EmulatedDevice() = default;

Expected<Device::Module *> EmulatedDevice::loadModule(StringRef image) {
  if (image.starts_with("\x7f"
                        "ELF"))
    return createStringError("the emulator runs PTX, not machine code");
  if (Error error =
          emulator->loadModule(llvm::MemoryBufferRef(image, "kernels.ptx")))
    return error;
  return reinterpret_cast<Module *>(emulator.get());
}

Expected<Device::Function *> EmulatedDevice::getFunction(Module *,
                                                         StringRef name) {
  // Checks that it exists.
  if (auto parameters = emulator->getParameters(name); !parameters)
    return parameters.takeError();
  names.push_back(std::make_unique<std::string>(name.str()));
  return reinterpret_cast<Function *>(names.back().get());
}

Expected<std::optional<llvm::SmallVector<int64_t>>>
EmulatedDevice::getParameterSizes(Function *function) {
  auto parameters = emulator->getParameters(nameOf(function));
  if (!parameters)
    return parameters.takeError();
  llvm::SmallVector<int64_t> sizes;
  for (const EmulatorParameter &parameter : *parameters)
    sizes.push_back(parameter.size);
  return sizes;
}

Error EmulatedDevice::prepare(Function *, const LaunchShape &shape) {
  if (shape.sharedMemory > info.sharedMemoryPerBlock)
    return createStringError("needs " + Twine(shape.sharedMemory) +
                             " bytes of shared memory; " + info.name + " has " +
                             Twine(info.sharedMemoryPerBlock));
  return Error::success();
}

Expected<int64_t>
EmulatedDevice::getMaxActiveClusters(Function *, const LaunchShape &shape) {
  return std::max<int64_t>(1, info.numSMs / shape.cluster);
}

EmulatorLaunch EmulatedDevice::getLaunch(const LaunchShape &shape) {
  EmulatorLaunch launch;
  launch.grid[0] = shape.grid;
  launch.block[0] = shape.block;
  launch.cluster[0] = shape.cluster;
  launch.dynamicSharedMemory = shape.sharedMemory;
  return launch;
}

Error EmulatedDevice::launch(Function *function, const LaunchShape &shape,
                             llvm::ArrayRef<void *> parameters) {
  return emulator->launch(
      nameOf(function), getLaunch(shape),
      llvm::ArrayRef<const void *>(parameters.data(), parameters.size()));
}

Expected<std::vector<float>>
EmulatedDevice::time(Function *function, const LaunchShape &shape,
                     llvm::ArrayRef<void *> parameters, int64_t count) {
  std::vector<float> times(count);
  for (float &time : times) {
    auto begin = std::chrono::steady_clock::now();
    if (Error error = launch(function, shape, parameters))
      return error;
    time = std::chrono::duration<float, std::milli>(
               std::chrono::steady_clock::now() - begin)
               .count();
  }
  return times;
}

Expected<DevicePointer> EmulatedDevice::allocate(int64_t bytes) {
  return emulator->allocate(bytes);
}

Error EmulatedDevice::free(DevicePointer pointer) {
  return emulator->free(pointer);
}

Error EmulatedDevice::fill(DevicePointer pointer, unsigned char value,
                           int64_t bytes) {
  std::vector<unsigned char> values(bytes, value);
  return emulator->copyToDevice(pointer, values.data(), bytes);
}

Error EmulatedDevice::copyToDevice(DevicePointer to, const void *from,
                                   int64_t bytes) {
  return emulator->copyToDevice(to, from, bytes);
}

Error EmulatedDevice::copyToHost(void *to, DevicePointer from, int64_t bytes) {
  return emulator->copyToHost(to, from, bytes);
}

static EmulatorTensorMap::Type getTensorMapType(DataType type) {
  switch (type) {
  case DataType::BF16:
    return EmulatorTensorMap::Type::BF16;
  case DataType::F16:
    return EmulatorTensorMap::Type::F16;
  case DataType::F32:
    return EmulatorTensorMap::Type::F32;
  case DataType::F64:
    return EmulatorTensorMap::Type::F64;
  }
  return EmulatorTensorMap::Type::U8;
}

EmulatorTensorMap EmulatedDevice::describeTensorMap(
    DevicePointer pointer, DataType type, int64_t rows, int64_t columns,
    int64_t rowStride, std::array<int64_t, 2> box, int64_t swizzle) {
  using Swizzle = EmulatorTensorMap::Swizzle;
  EmulatorTensorMap map;
  map.type = getTensorMapType(type);
  map.address = pointer;
  map.sizes = {uint64_t(columns), uint64_t(rows)};
  map.strides = {uint64_t(rowStride * sizeInBytes(type))};
  map.box = {uint32_t(box[0]), uint32_t(box[1])};
  map.elementStrides = {1, 1};
  map.swizzle = swizzle == 128  ? Swizzle::B128
                : swizzle == 64 ? Swizzle::B64
                : swizzle == 32 ? Swizzle::B32
                                : Swizzle::None;
  return map;
}

Expected<TensorMap> EmulatedDevice::encodeTensorMap(
    DevicePointer pointer, DataType type, int64_t rows, int64_t columns,
    int64_t rowStride, std::array<int64_t, 2> box, int64_t swizzle) {
  Expected<std::array<char, 128>> bytes = flashnorm::encodeTensorMap(
      describeTensorMap(pointer, type, rows, columns, rowStride, box, swizzle));
  if (!bytes)
    return bytes.takeError();
  TensorMap result;
  std::memcpy(result.bytes, bytes->data(), sizeof(result.bytes));
  return result;
}
