//===- Launcher.h - Runs compiled kernels on host arrays --------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Does what the launch ABI (docs/LaunchABI.md) promises: copies inputs to the
// device, encodes tensor maps, launches, copies outputs back. It trusts nobody:
// shapes are checked against the manifest, the manifest against the kernel and
// the device. Made for correctness, not for speed: each launch copies.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_LAUNCHER_H
#define FLASHNORM_RUNTIME_LAUNCHER_H

#include "flashnorm/Runtime/Device.h"
#include "flashnorm/Runtime/Manifest.h"
#include "llvm/ADT/StringMap.h"

namespace flashnorm {

struct LauncherOptions {
  /// Surrounds every array on the device with guard bands (NaNs around inputs,
  /// a pattern around outputs), and makes a launch that changes one an error.
  bool checkGuards = false;
  /// Times each launch this often, after it has run once.
  int64_t timeRepetitions = 0;
};

/// Milliseconds of one launch: the median over timeRepetitions.
struct LaunchTime {
  std::string kernel;
  int64_t rows = 0;
  float milliseconds = 0;
};

/// An input that a kernel could have read in place, had it been laid out for
/// it; the launch used a copy instead.
struct LaunchFallback {
  std::string kernel;
  int64_t operand = 0;
  std::string reason; ///< "rows start 24 bytes apart, not a multiple of 16"
};

class Launcher {
public:
  Launcher(std::unique_ptr<Device> device, const LauncherOptions &options = {});
  ~Launcher();

  const Device &getDevice() const { return *device; }

  /// Makes the kernels of `image` (PTX text or a cubin) known under the name
  /// "module::kernel".
  llvm::Error load(const Manifest &manifest, llvm::StringRef image);

  /// Runs a kernel. There is one view for each operand of its manifest, in that
  /// order. Outputs are overwritten: elements that the kernel does not write
  /// come back as NaN.
  llvm::Error launch(llvm::StringRef kernel,
                     llvm::ArrayRef<StridedView> operands);

  /// The same for the words that flashnorm_launch gets.
  llvm::Error launchPacked(llvm::StringRef kernel, const int64_t *operands);

  llvm::ArrayRef<LaunchTime> getTimes() const { return times; }
  /// Each one once, however many launches there were.
  llvm::ArrayRef<LaunchFallback> getFallbacks() const { return fallbacks; }
  int64_t getNumLaunches() const { return numLaunches; }

private:
  struct LoadedKernel {
    KernelManifest manifest;
    Device::Function *function = nullptr;
    std::optional<int64_t> maxClusters; ///< see getLaunchShape
  };
  /// Device memory, kept between launches and grown on demand.
  struct Buffer {
    DevicePointer pointer = 0;
    int64_t capacity = 0;
  };
  /// An operand of the launch under way.
  struct Placed {
    int64_t bytes = 0;
    int64_t guard = 0;     ///< bytes of guard before and after the array
    int64_t rowStride = 0; ///< elements; with two sizes in the manifest
    DevicePointer base = 0;
    DevicePointer data() const { return base + guard; }
  };

  llvm::Error reserve(Buffer &buffer, int64_t bytes);
  llvm::Error place(const KernelManifest &kernel, int64_t index,
                    const StridedView &view, int64_t guard, Placed &placed);
  /// The row stride that an input gets on the device.
  int64_t chooseRowStride(const KernelManifest &kernel, int64_t index,
                          const StridedView &view);
  llvm::Error checkGuards(const KernelManifest &kernel,
                          llvm::ArrayRef<Placed> placed);
  llvm::Error run(const LoadedKernel &kernel, int64_t rows,
                  llvm::ArrayRef<StridedView> operands);

  LauncherOptions options;
  std::unique_ptr<Device> device;
  llvm::StringMap<LoadedKernel> kernels;
  std::vector<Buffer> buffers; ///< by position of the operand
  std::vector<char> staging;
  std::vector<LaunchTime> times;
  std::vector<LaunchFallback> fallbacks;
  int64_t numLaunches = 0;
};

/// The launch of a kernel for so many rows: as many CTAs as there are tiles,
/// or, where CTAs are persistent, as fill the device: clusters may not all find
/// SMs that are close enough, and no more than `maxClusters` are launched. An
/// error if that is more than the device or the kernel's cluster allows.
llvm::Expected<LaunchShape>
getLaunchShape(const KernelManifest &kernel, int64_t rows,
               const DeviceProperties &device,
               std::optional<int64_t> maxClusters = std::nullopt);

/// The number of rows that operand 0 gives, after checking every view against
/// the manifest: types are the manifest's, leading dimensions collapse.
llvm::Expected<int64_t> checkOperands(const KernelManifest &kernel,
                                      llvm::ArrayRef<StridedView> operands);

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_LAUNCHER_H
