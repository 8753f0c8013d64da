//===- fake-cuda.cpp - A CUDA driver without a device ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libcuda.so.1 so that everything up to the device can be tested
// anywhere. Device memory is host memory; kernels are the few functions below,
// found by name; each launch is logged to standard error. The image of a module
// says what its kernels' parameters are: "name 8 128 4" on a line. Of PTX the
// signatures are read; such a kernel does nothing.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {
struct Function {
  std::string name;
  std::vector<size_t> parameters;
};
struct Module {
  std::map<std::string, Function> functions;
};
/// What cuTensorMapEncodeTiled leaves in the 128 bytes.
struct Map {
  char *address;
  uint64_t columns, rows, stride;
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedMemory;
  void *stream;
  struct {
    int id;
    int padding;
    unsigned value[16];
  } * attributes;
  unsigned numAttributes;
};

enum Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidImage = 200,
  NotFound = 500,
  IllegalAddress = 700,
};
int pending = Success;

/// The address in parameter `index`, be it a pointer or a tensor map.
char *address(const Function &function, void **parameters, size_t index) {
  if (function.parameters[index] == 128)
    return static_cast<Map *>(parameters[index])->address;
  return *static_cast<char **>(parameters[index]);
}

/// copy(input, output, rows): rows of 8 times 2 bytes; those of the input are
/// as far apart as its tensor map says.
void runCopy(const Function &function, void **parameters, int64_t extra) {
  int32_t rows = *static_cast<int32_t *>(parameters[2]);
  uint64_t stride = function.parameters[0] == 128
                        ? static_cast<Map *>(parameters[0])->stride
                        : 16;
  const char *from = address(function, parameters, 0);
  char *to = address(function, parameters, 1);
  for (int32_t row = 0; row < rows; ++row)
    std::memcpy(to + row * 16, from + row * stride, 16);
  std::memset(to + rows * 16, 0, extra);
}

/// The next line of PTX: ".visible .entry name(", then for each parameter
/// ".param .u64 .ptr .global .align 1 name" or ".param .align 64 .b8
/// name[128]".
void readPtxLine(const std::string &line, Module &module, Function *&current) {
  size_t entry = line.find(".entry ");
  if (entry != std::string::npos) {
    std::string name = line.substr(entry + 7);
    name.resize(name.find('('));
    current = &module.functions[name];
    current->name = name;
  } else if (current && line.find(".param") != std::string::npos) {
    size_t array = line.find('[');
    current->parameters.push_back(array != std::string::npos
                                      ? std::stoul(line.substr(array + 1))
                                  : line.find("64 ") != std::string::npos ? 8
                                                                          : 4);
  } else if (line.rfind(")", 0) == 0) {
    current = nullptr;
  }
}
} // namespace

extern "C" {
int cuInit(unsigned) { return Success; }
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}
int cuGetErrorName(int code, const char **name) {
  *name = code == InvalidValue     ? "CUDA_ERROR_INVALID_VALUE"
          : code == OutOfMemory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == InvalidImage   ? "CUDA_ERROR_INVALID_IMAGE"
          : code == NotFound       ? "CUDA_ERROR_NOT_FOUND"
          : code == IllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                   : nullptr;
  return *name ? Success : InvalidValue;
}
int cuGetErrorString(int code, const char **text) {
  *text = code == IllegalAddress ? "an illegal memory access was encountered"
                                 : nullptr;
  return *text ? Success : InvalidValue;
}
int cuDeviceGetCount(int *count) {
  *count = 1;
  return Success;
}
int cuDeviceGet(int *device, int) {
  *device = 0;
  return Success;
}
int cuDeviceGetName(char *name, int size, int) {
  std::snprintf(name, size, "Fake device");
  return Success;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case 5: // MAX_GRID_DIM_X
    *value = 1000;
    return Success;
  case 16: // MULTIPROCESSOR_COUNT
    *value = 2;
    return Success;
  case 75: // COMPUTE_CAPABILITY_MAJOR
    *value = 9;
    return Success;
  case 76: // COMPUTE_CAPABILITY_MINOR
    *value = 0;
    return Success;
  case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    *value = 232448;
    return Success;
  default:
    return InvalidValue;
  }
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  *context = &pending;
  return Success;
}
int cuDevicePrimaryCtxRelease_v2(int) { return Success; }
int cuCtxSetCurrent(void *) { return Success; }
int cuCtxSynchronize() { return pending; }

int cuModuleLoadDataEx(Module **module, const void *image, unsigned count,
                       int *options, void **values) {
  auto *result = new Module;
  const std::string text = static_cast<const char *>(image);
  const bool isPtx = text.find(".version") != std::string::npos;
  Function *current = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (isPtx) {
      readPtxLine(line, *result, current);
      continue;
    }
    std::istringstream words(line);
    Function function;
    words >> function.name;
    for (size_t size; words >> size;)
      function.parameters.push_back(size);
    if (function.name == "syntax-error") {
      for (unsigned i = 0; i < count; ++i)
        if (options[i] == 5) // ERROR_LOG_BUFFER
          std::strcpy(static_cast<char *>(values[i]),
                      "ptxas application ptx input, line 1; fatal : syntax\n");
      delete result;
      return InvalidImage;
    }
    result->functions[function.name] = function;
  }
  *module = result;
  return Success;
}
int cuModuleUnload(Module *module) {
  delete module;
  return Success;
}
int cuModuleGetFunction(Function **function, Module *module, const char *name) {
  auto it = module->functions.find(name);
  if (it == module->functions.end())
    return NotFound;
  *function = &it->second;
  return Success;
}
int cuFuncGetParamInfo(Function *function, size_t index, size_t *offset,
                       size_t *size) {
  if (index >= function->parameters.size())
    return InvalidValue;
  *size = function->parameters[index];
  *offset = 0;
  return Success;
}
int cuFuncGetAttribute(int *value, int attribute, Function *) {
  *value = attribute == 0 ? 512 : 0; // MAX_THREADS_PER_BLOCK
  return Success;
}
int cuFuncSetAttribute(Function *, int, int) { return Success; }

/// Clusters of more than two find places for fewer CTAs than there are SMs.
int cuOccupancyMaxActiveClusters(int *count, Function *,
                                 const LaunchConfig *config) {
  unsigned cluster = config->numAttributes ? config->attributes[0].value[0] : 1;
  *count = cluster > 2 ? 1 : 1000;
  return Success;
}

int cuLaunchKernelEx(const LaunchConfig *config, Function *function,
                     void **parameters, void **) {
  std::fprintf(stderr, "launch %s grid %u block %u shared %u cluster %u\n",
               function->name.c_str(), config->grid[0], config->block[0],
               config->sharedMemory,
               config->numAttributes ? config->attributes[0].value[0] : 0);
  if (function->name == "copy")
    runCopy(*function, parameters, 0);
  else if (function->name == "overrun")
    runCopy(*function, parameters, 6);
  else if (function->name == "fault")
    pending = IllegalAddress;
  else if (function->name == "scribble")
    address(*function, parameters, 0)[-3] = 0;
  return Success;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *pointer = reinterpret_cast<uint64_t>(memory);
  return memory ? Success : OutOfMemory;
}
int cuMemFree_v2(uint64_t pointer) {
  std::free(reinterpret_cast<void *>(pointer));
  return Success;
}
int cuMemsetD8_v2(uint64_t pointer, unsigned char value, size_t bytes) {
  std::memset(reinterpret_cast<void *>(pointer), value, bytes);
  return Success;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return Success;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return Success;
}
int cuEventCreate(void **event, unsigned) {
  *event = &pending;
  return Success;
}
int cuEventDestroy_v2(void *) { return Success; }
int cuEventRecord(void *, void *) { return Success; }
int cuEventSynchronize(void *) { return Success; }
int cuEventElapsedTime(float *milliseconds, void *, void *) {
  static int calls = 0;
  *milliseconds = static_cast<float>(++calls);
  return Success;
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address,
                           const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *elementStrides,
                           int interleave, int swizzle, int, int oobFill) {
  std::fprintf(stderr,
               "tensor map type %d rank %u dims %llu %llu stride %llu box %u "
               "%u element strides %u %u interleave %d swizzle %d fill %d\n",
               type, rank, static_cast<unsigned long long>(dims[0]),
               static_cast<unsigned long long>(dims[1]),
               static_cast<unsigned long long>(strides[0]), box[0], box[1],
               elementStrides[0], elementStrides[1], interleave, swizzle,
               oobFill);
  if (reinterpret_cast<uintptr_t>(address) % 16 || strides[0] % 16)
    return InvalidValue;
  Map encoded = {static_cast<char *>(address), dims[0], dims[1], strides[0]};
  std::memcpy(map, &encoded, sizeof(encoded));
  return Success;
}
} // extern "C"
