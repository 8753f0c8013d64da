//===- CudaDriver.cpp - The CUDA driver, loaded at run time ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/CudaDriver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include <cstring>

using namespace flashnorm;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// The driver API, as far as it is used
//
// Names, values and layouts are those of the CUDA Driver API reference; they
// are part of the driver's binary interface and do not change.
//===----------------------------------------------------------------------===//

namespace {
enum DeviceAttribute {
  MaxGridDimX = 5,
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerBlockOptin = 97,
};
enum FunctionAttribute {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};
enum JitOption {
  InfoLogBuffer = 3,
  InfoLogBufferSizeBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBufferSizeBytes = 6,
};
enum TensorMapDataType { Float16 = 6, Float32 = 7, Float64 = 8, BFloat16 = 9 };
enum TensorMapL2Promotion { L2_128B = 2 };
enum LaunchAttributeID { ClusterDimension = 4 };

struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "CUlaunchAttribute");

struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedMemory;
  void *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56, "CUlaunchConfig");

using Module = Device::Module;
using Function = Device::Function;
struct Event;
struct Context;

// X(member, symbol in the library, parameters)
#define CUDA_FUNCTIONS(X)                                                      \
  X(init, cuInit, (unsigned))                                                  \
  X(driverGetVersion, cuDriverGetVersion, (int *))                             \
  X(getErrorName, cuGetErrorName, (int, const char **))                        \
  X(getErrorString, cuGetErrorString, (int, const char **))                    \
  X(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  X(deviceGet, cuDeviceGet, (int *, int))                                      \
  X(deviceGetName, cuDeviceGetName, (char *, int, int))                        \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, int))               \
  X(primaryCtxRetain, cuDevicePrimaryCtxRetain, (Context **, int))             \
  X(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int))                    \
  X(ctxSetCurrent, cuCtxSetCurrent, (Context *))                               \
  X(ctxSynchronize, cuCtxSynchronize, ())                                      \
  X(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (Module **, const void *, unsigned, int *, void **))                       \
  X(moduleUnload, cuModuleUnload, (Module *))                                  \
  X(moduleGetFunction, cuModuleGetFunction,                                    \
    (Function **, Module *, const char *))                                     \
  X(funcGetAttribute, cuFuncGetAttribute, (int *, int, Function *))            \
  X(funcSetAttribute, cuFuncSetAttribute, (Function *, int, int))              \
  X(occupancyMaxActiveClusters, cuOccupancyMaxActiveClusters,                  \
    (int *, Function *, const LaunchConfig *))                                 \
  X(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *, Function *, void **, void **))                      \
  X(memAlloc, cuMemAlloc_v2, (DevicePointer *, size_t))                        \
  X(memFree, cuMemFree_v2, (DevicePointer))                                    \
  X(memsetD8, cuMemsetD8_v2, (DevicePointer, unsigned char, size_t))           \
  X(memcpyHtoD, cuMemcpyHtoD_v2, (DevicePointer, const void *, size_t))        \
  X(memcpyDtoH, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t))              \
  X(eventCreate, cuEventCreate, (Event **, unsigned))                          \
  X(eventDestroy, cuEventDestroy_v2, (Event *))                                \
  X(eventRecord, cuEventRecord, (Event *, void *))                             \
  X(eventSynchronize, cuEventSynchronize, (Event *))                           \
  X(eventElapsedTime, cuEventElapsedTime, (float *, Event *, Event *))         \
  X(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,   \
     const uint32_t *, const uint32_t *, int, int, int, int))

struct Driver {
#define X(member, symbol, parameters) int(*member) parameters = nullptr;
  CUDA_FUNCTIONS(X)
#undef X
  /// Null in drivers before 12.4.
  int (*funcGetParamInfo)(Function *, size_t, size_t *, size_t *) = nullptr;

  /// Why the driver cannot be used; empty: it can.
  std::string problem;

  Driver();
  Error check(int result, const Twine &what) const;
};
} // namespace

Driver::Driver() {
  static constexpr const char *name = "libcuda.so.1";
  std::string reason;
  llvm::sys::DynamicLibrary library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(name, &reason);
  if (!library.isValid()) {
    problem = ("no CUDA driver: " + Twine(reason)).str();
    return;
  }
#define X(member, symbol, parameters)                                          \
  member = reinterpret_cast<int(*) parameters>(                                \
      library.getAddressOfSymbol(#symbol));                                    \
  if (!member && problem.empty())                                              \
    problem = std::string(name) + " lacks " #symbol "; the driver is too old";
  CUDA_FUNCTIONS(X)
#undef X
  funcGetParamInfo = reinterpret_cast<decltype(funcGetParamInfo)>(
      library.getAddressOfSymbol("cuFuncGetParamInfo"));
  if (!problem.empty())
    return;
  if (Error error = check(init(0), "cuInit"))
    problem = llvm::toString(std::move(error));
}

Error Driver::check(int result, const Twine &what) const {
  if (result == 0)
    return Error::success();
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  return createStringError(what + ": " + (name ? name : "unknown error") +
                           " (" + Twine(result) + ")" + (text ? ", " : "") +
                           (text ? text : ""));
}

/// Opened once; the driver stays loaded until the process ends.
static const Driver &getDriver() {
  static const Driver driver;
  return driver;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CudaDevice>> CudaDevice::open(int ordinal) {
  const Driver &cuda = getDriver();
  if (!cuda.problem.empty())
    return createStringError(cuda.problem);
  int count = 0;
  if (Error error = cuda.check(cuda.deviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  if (ordinal < 0 || ordinal >= count)
    return createStringError("CUDA device " + Twine(ordinal) +
                             " does not exist; there are " + Twine(count));

  std::unique_ptr<CudaDevice> result(new CudaDevice);
  DeviceProperties &info = result->info;
  if (Error error =
          cuda.check(cuda.deviceGet(&result->device, ordinal), "cuDeviceGet"))
    return error;
  char name[256] = {};
  if (Error error =
          cuda.check(cuda.deviceGetName(name, sizeof(name), result->device),
                     "cuDeviceGetName"))
    return error;
  info.name = name;
  if (Error error = cuda.check(cuda.driverGetVersion(&info.driverVersion),
                               "cuDriverGetVersion"))
    return error;
  int maxGrid = 0, sharedMemory = 0, numSMs = 0;
  const std::pair<int *, DeviceAttribute> attributes[] = {
      {&info.computeMajor, ComputeCapabilityMajor},
      {&info.computeMinor, ComputeCapabilityMinor},
      {&maxGrid, MaxGridDimX},
      {&numSMs, MultiprocessorCount},
      {&sharedMemory, MaxSharedMemoryPerBlockOptin}};
  for (auto [value, attribute] : attributes)
    if (Error error = cuda.check(
            cuda.deviceGetAttribute(value, attribute, result->device),
            "cuDeviceGetAttribute " + Twine(int(attribute))))
      return error;
  info.maxGrid = maxGrid;
  info.numSMs = numSMs;
  info.sharedMemoryPerBlock = sharedMemory;

  Context *context = nullptr;
  if (Error error = cuda.check(cuda.primaryCtxRetain(&context, result->device),
                               "cuDevicePrimaryCtxRetain"))
    return error;
  result->retained = true;
  if (Error error = cuda.check(cuda.ctxSetCurrent(context), "cuCtxSetCurrent"))
    return error;
  return result;
}

CudaDevice::~CudaDevice() {
  // Errors here have no one to go to; what mattered was reported before.
  const Driver &cuda = getDriver();
  for (Module *module : modules)
    cuda.moduleUnload(module);
  if (retained)
    cuda.primaryCtxRelease(device);
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

Expected<Device::Module *> CudaDevice::loadModule(StringRef image) {
  const Driver &cuda = getDriver();
  char log[8192] = {};
  int options[] = {ErrorLogBuffer, ErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(uintptr_t(sizeof(log) - 1))};
  Module *module = nullptr;
  // PTX must end in a null byte.
  std::string text = image.str();
  if (Error error = cuda.check(
          cuda.moduleLoadDataEx(&module, text.c_str(), 2, options, values),
          "cuModuleLoadDataEx of " + Twine(image.size()) + " bytes")) {
    if (!log[0])
      return error;
    return createStringError(llvm::toString(std::move(error)) + "\n" +
                             StringRef(log).rtrim().str());
  }
  modules.push_back(module);
  return module;
}

Expected<Device::Function *> CudaDevice::getFunction(Module *module,
                                                     StringRef name) {
  const Driver &cuda = getDriver();
  Function *function = nullptr;
  if (Error error = cuda.check(
          cuda.moduleGetFunction(&function, module, name.str().c_str()),
          "cuModuleGetFunction '" + name + "'"))
    return error;
  return function;
}

Expected<std::optional<llvm::SmallVector<int64_t>>>
CudaDevice::getParameterSizes(Function *function) {
  const Driver &cuda = getDriver();
  if (!cuda.funcGetParamInfo)
    return std::nullopt;
  llvm::SmallVector<int64_t> sizes;
  size_t offset = 0, size = 0;
  // An index past the last parameter is CUDA_ERROR_INVALID_VALUE (1).
  int result;
  while ((result = cuda.funcGetParamInfo(function, sizes.size(), &offset,
                                         &size)) == 0)
    sizes.push_back(size);
  if (result != 1)
    return cuda.check(result, "cuFuncGetParamInfo");
  return sizes;
}

Error CudaDevice::prepare(Function *function, const LaunchShape &shape) {
  const Driver &cuda = getDriver();
  int maxThreads = 0, staticShared = 0;
  if (Error error = cuda.check(
          cuda.funcGetAttribute(&maxThreads, MaxThreadsPerBlock, function),
          "cuFuncGetAttribute"))
    return error;
  if (shape.block > maxThreads)
    return createStringError("needs " + Twine(shape.block) +
                             " threads in a block; its registers allow " +
                             Twine(maxThreads));
  if (Error error = cuda.check(
          cuda.funcGetAttribute(&staticShared, SharedSizeBytes, function),
          "cuFuncGetAttribute"))
    return error;
  if (shape.sharedMemory + staticShared > info.sharedMemoryPerBlock)
    return createStringError("needs " +
                             Twine(shape.sharedMemory + staticShared) +
                             " bytes of shared memory; " + info.name + " has " +
                             Twine(info.sharedMemoryPerBlock));
  if (Error error = cuda.check(
          cuda.funcSetAttribute(function, MaxDynamicSharedSizeBytes,
                                static_cast<int>(shape.sharedMemory)),
          "cuFuncSetAttribute of " + Twine(shape.sharedMemory) +
              " bytes of shared memory"))
    return error;
  // 8 is the size that every device with clusters allows.
  if (shape.cluster > 8)
    return cuda.check(
        cuda.funcSetAttribute(function, NonPortableClusterSizeAllowed, 1),
        "cuFuncSetAttribute for clusters of " + Twine(shape.cluster));
  return Error::success();
}

/// What the driver calls a launch; refers to `attribute`.
static LaunchConfig getConfig(const LaunchShape &shape,
                              LaunchAttribute &attribute) {
  attribute = {};
  attribute.id = ClusterDimension;
  attribute.value.cluster[0] = shape.cluster;
  attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
  LaunchConfig config = {};
  config.grid[0] = shape.grid;
  config.block[0] = shape.block;
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.sharedMemory = shape.sharedMemory;
  if (shape.cluster > 1) {
    config.attributes = &attribute;
    config.numAttributes = 1;
  }
  return config;
}

Expected<int64_t> CudaDevice::getMaxActiveClusters(Function *function,
                                                   const LaunchShape &shape) {
  const Driver &cuda = getDriver();
  LaunchShape oneCluster = shape;
  oneCluster.grid = shape.cluster;
  LaunchAttribute attribute;
  LaunchConfig config = getConfig(oneCluster, attribute);
  int count = 0;
  if (Error error =
          cuda.check(cuda.occupancyMaxActiveClusters(&count, function, &config),
                     "cuOccupancyMaxActiveClusters for clusters of " +
                         Twine(shape.cluster)))
    return std::move(error);
  return count;
}

/// Starts a kernel without waiting for it.
static Error enqueue(Function *function, const LaunchShape &shape,
                     llvm::ArrayRef<void *> parameters) {
  const Driver &cuda = getDriver();
  LaunchAttribute attribute;
  LaunchConfig config = getConfig(shape, attribute);
  return cuda.check(
      cuda.launchKernelEx(&config, function,
                          const_cast<void **>(parameters.data()), nullptr),
      "cuLaunchKernelEx with grid " + Twine(shape.grid) + ", block " +
          Twine(shape.block) + ", cluster " + Twine(shape.cluster) + " and " +
          Twine(shape.sharedMemory) + " bytes of shared memory");
}

Error CudaDevice::launch(Function *function, const LaunchShape &shape,
                         llvm::ArrayRef<void *> parameters) {
  if (Error error = enqueue(function, shape, parameters))
    return error;
  const Driver &cuda = getDriver();
  return cuda.check(cuda.ctxSynchronize(), "kernel");
}

Expected<std::vector<float>> CudaDevice::time(Function *function,
                                              const LaunchShape &shape,
                                              llvm::ArrayRef<void *> parameters,
                                              int64_t count) {
  const Driver &cuda = getDriver();
  std::vector<float> times(count);
  Event *events[2] = {};
  auto measure = [&]() -> Error {
    for (Event *&event : events)
      if (Error error =
              cuda.check(cuda.eventCreate(&event, 0), "cuEventCreate"))
        return error;
    for (float &time : times) {
      if (Error error =
              cuda.check(cuda.eventRecord(events[0], nullptr), "cuEventRecord"))
        return error;
      if (Error error = enqueue(function, shape, parameters))
        return error;
      if (Error error =
              cuda.check(cuda.eventRecord(events[1], nullptr), "cuEventRecord"))
        return error;
      if (Error error = cuda.check(cuda.eventSynchronize(events[1]), "kernel"))
        return error;
      if (Error error =
              cuda.check(cuda.eventElapsedTime(&time, events[0], events[1]),
                         "cuEventElapsedTime"))
        return error;
    }
    return Error::success();
  };
  Error error = measure();
  for (Event *event : events)
    if (event)
      cuda.eventDestroy(event);
  if (error)
    return error;
  return times;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<DevicePointer> CudaDevice::allocate(int64_t bytes) {
  const Driver &cuda = getDriver();
  DevicePointer pointer = 0;
  if (Error error = cuda.check(cuda.memAlloc(&pointer, bytes),
                               "cuMemAlloc of " + Twine(bytes) + " bytes"))
    return error;
  return pointer;
}

Error CudaDevice::free(DevicePointer pointer) {
  const Driver &cuda = getDriver();
  return cuda.check(cuda.memFree(pointer), "cuMemFree");
}

Error CudaDevice::fill(DevicePointer pointer, unsigned char value,
                       int64_t bytes) {
  const Driver &cuda = getDriver();
  return cuda.check(cuda.memsetD8(pointer, value, bytes),
                    "cuMemsetD8 of " + Twine(bytes) + " bytes");
}

Error CudaDevice::copyToDevice(DevicePointer to, const void *from,
                               int64_t bytes) {
  const Driver &cuda = getDriver();
  return cuda.check(cuda.memcpyHtoD(to, from, bytes),
                    "cuMemcpyHtoD of " + Twine(bytes) + " bytes");
}

Error CudaDevice::copyToHost(void *to, DevicePointer from, int64_t bytes) {
  const Driver &cuda = getDriver();
  return cuda.check(cuda.memcpyDtoH(to, from, bytes),
                    "cuMemcpyDtoH of " + Twine(bytes) + " bytes");
}

static int getTensorMapType(DataType type) {
  switch (type) {
  case DataType::BF16:
    return BFloat16;
  case DataType::F16:
    return Float16;
  case DataType::F32:
    return Float32;
  case DataType::F64:
    return Float64;
  }
  return 0;
}

/// CUtensorMapSwizzle: 0 to 3 for none, 32, 64 and 128 bytes.
static int getTensorMapSwizzle(int64_t bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

Expected<TensorMap>
CudaDevice::encodeTensorMap(DevicePointer pointer, DataType type, int64_t rows,
                            int64_t columns, int64_t rowStride,
                            std::array<int64_t, 2> box, int64_t swizzle) {
  const Driver &cuda = getDriver();
  const uint64_t dims[] = {uint64_t(columns), uint64_t(rows)};
  const uint64_t strides[] = {uint64_t(rowStride * sizeInBytes(type))};
  const uint32_t boxDims[] = {uint32_t(box[0]), uint32_t(box[1])};
  const uint32_t elementStrides[] = {1, 1};
  TensorMap map;
  std::memset(&map, 0, sizeof(map));
  if (Error error = cuda.check(
          cuda.tensorMapEncodeTiled(
              &map, getTensorMapType(type), 2,
              reinterpret_cast<void *>(pointer), dims, strides, boxDims,
              elementStrides, /*interleave=*/0, getTensorMapSwizzle(swizzle),
              L2_128B, /*oobFill=*/0),
          "cuTensorMapEncodeTiled of " + stringify(type) + " [" + Twine(rows) +
              ", " + Twine(columns) + "], box [" + Twine(box[1]) + ", " +
              Twine(box[0]) + "], swizzle " + Twine(swizzle)))
    return error;
  return map;
}
