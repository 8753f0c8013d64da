//===- Launcher.cpp - Runs compiled kernels on host arrays ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/Launcher.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstring>
#include <limits>

using namespace flashnorm;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

// All ones is a NaN in every type that kernels use: what an output holds before
// the launch, and what surrounds an input.
static constexpr unsigned char nanByte = 0xff;
// What surrounds an output: not a NaN, so that stray NaNs show too.
static constexpr unsigned char guardByte = 0xa5;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

Launcher::Launcher(std::unique_ptr<Device> device,
                   const LauncherOptions &options)
    : options(options), device(std::move(device)) {}

Launcher::~Launcher() {
  for (Buffer &buffer : buffers)
    if (buffer.pointer)
      llvm::consumeError(device->free(buffer.pointer));
}

/// Whether code for `chip` runs on a device: "sm_80" on it and what is newer,
/// "sm_100f" on its family, "sm_90a" on that one only.
static bool runsOn(StringRef chip, const DeviceProperties &device) {
  int64_t number;
  StringRef digits = chip;
  if (!digits.consume_front("sm_"))
    return false;
  bool exact = digits.consume_back("a"), family = digits.consume_back("f");
  if (digits.getAsInteger(10, number))
    return false;
  const int64_t actual = device.computeMajor * 10 + device.computeMinor;
  if (exact)
    return number == actual;
  if (family)
    return number <= actual && number / 10 == device.computeMajor;
  return number <= actual;
}

static int64_t parameterSize(const KernelArgument &argument) {
  switch (argument.kind) {
  case KernelArgument::Kind::Pointer:
    return sizeof(DevicePointer);
  case KernelArgument::Kind::TensorMap:
    return sizeof(TensorMap);
  case KernelArgument::Kind::Rows:
    return sizeof(int32_t);
  case KernelArgument::Kind::RowStride:
    return sizeof(int64_t);
  }
  return 0;
}

/// What does not depend on the rows.
static LaunchShape getTileShape(const KernelManifest &kernel) {
  LaunchShape shape;
  shape.block = kernel.block;
  shape.cluster = kernel.cluster;
  shape.sharedMemory = kernel.sharedMemory;
  return shape;
}

Expected<LaunchShape>
flashnorm::getLaunchShape(const KernelManifest &kernel, int64_t rows,
                          const DeviceProperties &device,
                          std::optional<int64_t> maxClusters) {
  LaunchShape shape = getTileShape(kernel);
  // Both factors are below 2^31.
  shape.grid = static_cast<int64_t>(llvm::divideCeil(rows, kernel.tileRows)) *
               kernel.columnTiles;
  if (kernel.ctasPerSM > 0) {
    int64_t clusters = kernel.ctasPerSM * device.numSMs / kernel.cluster;
    if (maxClusters)
      clusters = std::min(clusters, *maxClusters);
    shape.grid =
        std::min(shape.grid, std::max<int64_t>(1, clusters) * kernel.cluster);
  }
  if (shape.grid > device.maxGrid)
    return createStringError(
        Twine(rows) + " rows in tiles of " + Twine(kernel.tileRows) +
        ", times " + Twine(kernel.columnTiles) +
        " column tiles, exceed the grid limit of " + Twine(device.maxGrid));
  if (shape.grid % shape.cluster != 0)
    return createStringError("a grid of " + Twine(shape.grid) +
                             " is not a multiple of the cluster of " +
                             Twine(shape.cluster));
  return shape;
}

Error Launcher::load(const Manifest &manifest, StringRef image) {
  const DeviceProperties &info = device->properties();
  if (!runsOn(manifest.chip, info))
    return createStringError("module '" + manifest.module + "' is for " +
                             manifest.chip + "; " + info.name + " is " +
                             info.chip());
  Expected<Device::Module *> module = device->loadModule(image);
  if (!module) {
    std::string text = "module '" + manifest.module + "', PTX " +
                       std::to_string(manifest.ptxVersion / 10) + "." +
                       std::to_string(manifest.ptxVersion % 10);
    if (info.driverVersion != 0) // the emulator has no driver
      text += " on a driver for CUDA " +
              std::to_string(info.driverVersion / 1000) + "." +
              std::to_string(info.driverVersion % 1000 / 10);
    return createStringError(text + ": " + llvm::toString(module.takeError()));
  }
  for (const KernelManifest &kernel : manifest.kernels) {
    auto fail = [&](const Twine &what) {
      return createStringError("kernel '" + kernel.name + "': " + what);
    };
    Expected<Device::Function *> function =
        device->getFunction(*module, kernel.name);
    if (!function)
      return fail(llvm::toString(function.takeError()));
    // A manifest that disagrees with the code would make the driver read past
    // our parameters.
    auto sizes = device->getParameterSizes(*function);
    if (!sizes)
      return fail(llvm::toString(sizes.takeError()));
    if (*sizes) {
      ArrayRef<int64_t> actual = **sizes;
      if (actual.size() != kernel.arguments.size())
        return fail("has " + Twine(actual.size()) +
                    " parameters; its manifest has " +
                    Twine(kernel.arguments.size()));
      for (size_t i = 0, e = actual.size(); i < e; ++i)
        if (actual[i] != parameterSize(kernel.arguments[i]))
          return fail("parameter " + Twine(i) + " has " + Twine(actual[i]) +
                      " bytes; its manifest says " +
                      Twine(parameterSize(kernel.arguments[i])));
    }
    if (Error error = device->prepare(*function, getTileShape(kernel)))
      return fail(llvm::toString(std::move(error)));
    LoadedKernel loaded{kernel, *function, std::nullopt};
    if (kernel.ctasPerSM > 0 && kernel.cluster > 1) {
      Expected<int64_t> count =
          device->getMaxActiveClusters(*function, getTileShape(kernel));
      if (!count)
        return fail(llvm::toString(count.takeError()));
      loaded.maxClusters = *count;
    }
    std::string name = manifest.module + "::" + kernel.name;
    if (!kernels.try_emplace(name, std::move(loaded)).second)
      return fail("'" + name + "' is loaded already");
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// A manifest's shape for messages: "[?, 512]".
static std::string formatShape(ArrayRef<std::optional<int64_t>> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (size ? std::to_string(*size) : "?");
  return text + "]";
}

Expected<int64_t> flashnorm::checkOperands(const KernelManifest &kernel,
                                           ArrayRef<StridedView> operands) {
  if (operands.size() != kernel.operands.size())
    return createStringError("got " + Twine(operands.size()) +
                             " operands; its manifest has " +
                             Twine(kernel.operands.size()));
  int64_t rows = 0;
  for (size_t i = 0, e = operands.size(); i < e; ++i) {
    const KernelOperand &expected = kernel.operands[i];
    ArrayRef<int64_t> sizes = operands[i].sizes;
    auto mismatch = [&](const Twine &why) {
      return createStringError("operand " + Twine(i) + " has shape " +
                               formatShape(sizes) + "; its manifest says " +
                               ::formatShape(expected.shape) + why);
    };
    // All but the first size stand at the end; what is before them collapses.
    const size_t inner = expected.shape.size() - 1;
    if (sizes.size() < inner)
      return mismatch("");
    ArrayRef<int64_t> leading = sizes.drop_back(inner);
    for (size_t j = 0; j < inner; ++j)
      if (sizes[leading.size() + j] != expected.shape[j + 1])
        return mismatch("");
    std::optional<int64_t> count = countElements(leading);
    if (!count)
      return mismatch("");
    if (i == 0)
      rows = *count;
    if (*count != expected.shape[0].value_or(rows))
      return mismatch(expected.shape[0] ? ""
                                        : " with " + Twine(rows) + " rows");
  }
  if (rows > std::numeric_limits<int32_t>::max())
    return createStringError("has " + Twine(rows) +
                             " rows; the launch ABI allows " +
                             Twine(std::numeric_limits<int32_t>::max()));
  return rows;
}

Error Launcher::launch(StringRef name, ArrayRef<StridedView> operands) {
  auto it = kernels.find(name);
  if (it == kernels.end())
    return createStringError("kernel '" + name + "' is not loaded");
  Expected<int64_t> rows = checkOperands(it->second.manifest, operands);
  Error error = rows ? Error::success() : rows.takeError();
  // An empty grid is no launch; outputs without elements need none.
  if (!error && *rows > 0)
    error = run(it->second, *rows, operands);
  if (error)
    return createStringError("kernel '" + name +
                             "': " + llvm::toString(std::move(error)));
  return Error::success();
}

Error Launcher::launchPacked(StringRef name, const int64_t *operands) {
  auto it = kernels.find(name);
  if (it == kernels.end())
    return createStringError("kernel '" + name + "' is not loaded");
  // Caller and manifest may come from different compilations.
  const int64_t count = *operands++,
                expected = it->second.manifest.operands.size();
  if (count != expected)
    return createStringError("kernel '" + name + "': got " + Twine(count) +
                             " operands; its manifest has " + Twine(expected));
  llvm::SmallVector<StridedView> views(count);
  for (StridedView &view : views) {
    view.data = reinterpret_cast<char *>(*operands++);
    const int64_t rank = *operands++;
    view.sizes.assign(operands, operands + rank);
    view.strides.assign(operands + rank, operands + 2 * rank);
    operands += 2 * rank;
  }
  return launch(name, views);
}

Error Launcher::reserve(Buffer &buffer, int64_t bytes) {
  if (buffer.capacity >= bytes)
    return Error::success();
  if (buffer.pointer)
    if (Error error = device->free(std::exchange(buffer.pointer, 0)))
      return error;
  buffer.capacity = 0;
  Expected<DevicePointer> pointer = device->allocate(bytes);
  if (!pointer)
    return pointer.takeError();
  buffer.pointer = *pointer;
  buffer.capacity = bytes;
  return Error::success();
}

/// Why a kernel that takes any row stride cannot take that of a view whose rows
/// have `columns` elements; empty if it can, in `stride`.
static std::string findRowStride(const StridedView &view, int64_t columns,
                                 int64_t elementSize, int64_t &stride) {
  stride = columns;
  const std::optional<int64_t> found = view.rowStride();
  if (!found)
    return "rows are not at a constant distance, or have gaps inside";
  const int64_t rows = columns ? *countElements(view.sizes) / columns : 0;
  if (rows > 1)
    stride = *found;
  std::string reason;
  if (stride < columns)
    reason = ("rows of " + Twine(columns) + " elements start " + Twine(stride) +
              " apart")
                 .str();
  else if (stride * elementSize % rowAlignment != 0)
    reason = ("rows start " + Twine(stride * elementSize) +
              " bytes apart, not a multiple of " + Twine(rowAlignment))
                 .str();
  else if (const uint64_t rest =
               reinterpret_cast<uintptr_t>(view.data) % rowAlignment)
    reason = ("the first row starts " + Twine(rest) +
              " bytes after a multiple of " + Twine(rowAlignment))
                 .str();
  if (!reason.empty())
    stride = columns;
  return reason;
}

int64_t Launcher::chooseRowStride(const KernelManifest &kernel, int64_t index,
                                  const StridedView &view) {
  const KernelOperand &operand = kernel.operands[index];
  if (operand.shape.size() != 2)
    return 0;
  const int64_t columns = *operand.shape[1];
  if (operand.rows == KernelOperand::Rows::Packed)
    return columns;
  int64_t stride = columns;
  std::string reason =
      findRowStride(view, columns, sizeInBytes(operand.type), stride);
  if (operand.rows == KernelOperand::Rows::Strided) {
    if (reason.empty() && stride != operand.rowStride &&
        *countElements(view.sizes) > columns)
      reason = ("rows start " + Twine(stride) + " elements apart; the kernel " +
                "was compiled for " + Twine(operand.rowStride))
                   .str();
    stride = operand.rowStride;
  }
  auto isKnown = [&](const LaunchFallback &fallback) {
    return fallback.kernel == kernel.name && fallback.operand == index &&
           fallback.reason == reason;
  };
  if (!reason.empty() && llvm::none_of(fallbacks, isKnown))
    fallbacks.push_back({kernel.name, index, reason});
  return stride;
}

/// Gives an operand its memory: guard, array, guard. Inputs are copied there,
/// outputs start as NaNs.
Error Launcher::place(const KernelManifest &kernel, int64_t index,
                      const StridedView &view, int64_t guard, Placed &placed) {
  const KernelOperand &operand = kernel.operands[index];
  Buffer &buffer = buffers[index];
  const int64_t elementSize = sizeInBytes(operand.type);
  const int64_t packedBytes = *countElements(view.sizes) * elementSize;
  placed.rowStride = chooseRowStride(kernel, index, view);
  placed.bytes = packedBytes;
  const int64_t columns = operand.shape.size() == 2 ? *operand.shape[1] : 0;
  const bool hasGaps = packedBytes > 0 && placed.rowStride > columns;
  if (hasGaps) {
    // The last row ends with its last element.
    const int64_t rows = packedBytes / (columns * elementSize);
    std::optional<int64_t> elements =
        countElements({rows - 1, placed.rowStride});
    std::optional<int64_t> bytes =
        elements ? countElements({*elements + columns, elementSize})
                 : std::nullopt;
    if (!bytes)
      return createStringError(Twine(rows) + " rows, " +
                               Twine(placed.rowStride) +
                               " elements apart, exceed 63 bits");
    placed.bytes = *bytes;
  }
  placed.guard = guard;
  const int64_t total = placed.bytes + 2 * guard;
  if (Error error = reserve(buffer, total))
    return error;
  placed.base = buffer.pointer;
  if (placed.data() % rowAlignment != 0)
    return createStringError(
        "device memory at 0x" + Twine::utohexstr(placed.data()) +
        " is not aligned to " + Twine(rowAlignment) + " bytes");
  if (guard)
    if (Error error = device->fill(
            placed.base, operand.isOutput ? guardByte : nanByte, total))
      return error;
  if (operand.isOutput)
    return device->fill(placed.data(), nanByte, placed.bytes);
  if (view.isPacked() && !hasGaps)
    return device->copyToDevice(placed.data(), view.data, placed.bytes);
  staging.resize(packedBytes);
  packView(view, elementSize, staging.data());
  if (hasGaps) {
    // What lies between rows is not the kernel's to read.
    std::vector<char> spread(placed.bytes, char(nanByte));
    const int64_t rowBytes = columns * elementSize;
    for (int64_t row = 0; row * rowBytes < packedBytes; ++row)
      std::memcpy(spread.data() + row * placed.rowStride * elementSize,
                  staging.data() + row * rowBytes, rowBytes);
    staging.swap(spread);
  }
  return device->copyToDevice(placed.data(), staging.data(), placed.bytes);
}

Error Launcher::checkGuards(const KernelManifest &kernel,
                            ArrayRef<Placed> placed) {
  for (size_t i = 0, e = placed.size(); i < e; ++i) {
    const Placed &place = placed[i];
    if (!place.guard)
      continue;
    const char expected =
        kernel.operands[i].isOutput ? char(guardByte) : char(nanByte);
    staging.resize(place.guard);
    for (bool after : {false, true}) {
      if (Error error = device->copyToHost(
              staging.data(), after ? place.data() + place.bytes : place.base,
              place.guard))
        return error;
      auto changed = [&](char byte) { return byte != expected; };
      auto first = llvm::find_if(staging, changed);
      if (first == staging.end())
        continue;
      const int64_t count = llvm::count_if(staging, changed);
      const int64_t offset = first - staging.begin();
      return createStringError(
          "wrote outside operand " + Twine(i) + " of " + Twine(place.bytes) +
          " bytes: " + Twine(count) + " bytes changed, the first " +
          (after ? Twine(offset) : Twine(place.guard - offset)) + " bytes " +
          (after ? "after its end" : "before its begin"));
    }
  }
  return Error::success();
}

static float median(std::vector<float> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Error Launcher::run(const LoadedKernel &loaded, int64_t rows,
                    ArrayRef<StridedView> operands) {
  const KernelManifest &kernel = loaded.manifest;
  Expected<LaunchShape> launchShape =
      getLaunchShape(kernel, rows, device->properties(), loaded.maxClusters);
  if (!launchShape)
    return launchShape.takeError();
  const LaunchShape &shape = *launchShape;

  if (buffers.size() < operands.size())
    buffers.resize(operands.size());
  llvm::SmallVector<Placed> placed(operands.size());
  for (size_t i = 0, e = operands.size(); i < e; ++i) {
    // A tile that hangs over the array must fall into the guard.
    int64_t rowBytes = sizeInBytes(kernel.operands[i].type);
    if (kernel.operands[i].shape.size() == 2)
      rowBytes *= *kernel.operands[i].shape[1];
    const int64_t guard = options.checkGuards
                              ? llvm::alignTo(kernel.tileRows * rowBytes, 4096)
                              : 0;
    if (Error error = place(kernel, i, operands[i], guard, placed[i]))
      return error;
  }

  // The driver copies the values at the launch. Pointers into these vectors are
  // parameters: they must not grow.
  llvm::SmallVector<DevicePointer> pointers(kernel.arguments.size());
  std::vector<TensorMap> maps(kernel.arguments.size());
  int32_t rowsParameter = static_cast<int32_t>(rows);
  llvm::SmallVector<void *> parameters;
  for (size_t i = 0, e = kernel.arguments.size(); i < e; ++i) {
    const KernelArgument &argument = kernel.arguments[i];
    switch (argument.kind) {
    case KernelArgument::Kind::Pointer:
      pointers[i] = placed[argument.operand].data();
      parameters.push_back(&pointers[i]);
      break;
    case KernelArgument::Kind::TensorMap: {
      const KernelOperand &operand = kernel.operands[argument.operand];
      Expected<TensorMap> map = device->encodeTensorMap(
          placed[argument.operand].data(), operand.type,
          operand.shape[0].value_or(rows), *operand.shape[1],
          placed[argument.operand].rowStride, argument.box, argument.swizzle);
      if (!map)
        return map.takeError();
      maps[i] = *map;
      parameters.push_back(&maps[i]);
      break;
    }
    case KernelArgument::Kind::RowStride:
      parameters.push_back(&placed[argument.operand].rowStride);
      break;
    case KernelArgument::Kind::Rows:
      parameters.push_back(&rowsParameter);
      break;
    }
  }

  if (Error error = device->launch(loaded.function, shape, parameters))
    return error;
  ++numLaunches;
  if (Error error = checkGuards(kernel, placed))
    return error;
  for (size_t i = 0, e = operands.size(); i < e; ++i) {
    if (!kernel.operands[i].isOutput)
      continue;
    const int64_t elementSize = sizeInBytes(kernel.operands[i].type);
    if (operands[i].isPacked()) {
      if (Error error = device->copyToHost(operands[i].data, placed[i].data(),
                                           placed[i].bytes))
        return error;
      continue;
    }
    staging.resize(placed[i].bytes);
    if (Error error = device->copyToHost(staging.data(), placed[i].data(),
                                         placed[i].bytes))
      return error;
    unpackView(staging.data(), elementSize, operands[i]);
  }

  if (options.timeRepetitions > 0) {
    auto measured = device->time(loaded.function, shape, parameters,
                                 options.timeRepetitions);
    if (!measured)
      return measured.takeError();
    times.push_back({kernel.name, rows, median(std::move(*measured))});
  }
  return Error::success();
}
