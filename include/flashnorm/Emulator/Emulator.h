//===- Emulator.h - Runs PTX on the CPU -------------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the PTX text that ptxas would get with the semantics of the PTX ISA,
// and reports what real hardware may or may not show: races, missing fences and
// waits, deadlocks. docs/Emulator.md has the model and its limits.
//
// Device pointers are addresses in this process; kernels can only touch what
// was allocated here.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_EMULATOR_EMULATOR_H
#define FLASHNORM_EMULATOR_EMULATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashnorm {

struct EmulatorOptions {
  /// When asynchronous work completes and which thread runs next. Eager: at
  /// once, first come first served; lazy: as late as waits allow, and one
  /// thread runs as long as it can; random: anywhere between.
  enum class Schedule { Eager, Lazy, Random };
  Schedule schedule = Schedule::Lazy;
  uint64_t seed = 0; ///< of Random
  /// Finds data races in shared and global memory.
  bool detectRaces = true;
  /// Clusters (CTAs, without clusters) of a grid that run interleaved.
  unsigned residentClusters = 2;
  /// Multiprocessors that EmulatedDevice has. Few, so that persistent CTAs get
  /// several tiles of a small problem.
  unsigned numSMs = 4;
  /// Ends a launch that executes more than this many calls of the runtime.
  uint64_t maxSteps = UINT64_C(20'000'000'000);
};

/// Reads "eager", "lazy", "random" or "random:SEED".
llvm::Error parseSchedule(llvm::StringRef text, EmulatorOptions &options);

/// What a kernel was found to do wrong.
struct EmulatorFault {
  /// A word for scripts and tests: "out-of-bounds", "data-race", "deadlock", …
  /// The list is in docs/Emulator.md.
  std::string kind;
  std::string message; ///< one line, with values
  /// "file.mlir:12:3" from .loc, or empty; the line in the PTX text; the
  /// instruction.
  std::string source;
  uint32_t ptxLine = 0;
  std::string instruction;
  std::string kernel;
  std::array<uint32_t, 3> cta = {}, thread = {};
  uint32_t warp = 0, lane = 0;
  /// Further lines: the other side of a race, who waits for what.
  std::vector<std::string> notes;

  std::string format() const;
};

class EmulatorFaultError : public llvm::ErrorInfo<EmulatorFaultError> {
public:
  static char ID;
  explicit EmulatorFaultError(EmulatorFault fault) : fault(std::move(fault)) {}
  const EmulatorFault &getFault() const { return fault; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  EmulatorFault fault;
};

struct EmulatorLaunch {
  std::array<uint32_t, 3> grid = {1, 1, 1};    ///< CTAs
  std::array<uint32_t, 3> block = {1, 1, 1};   ///< threads per CTA
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< CTAs per cluster
  uint32_t dynamicSharedMemory = 0;            ///< bytes
  /// Programmatic stream serialization: the grid may start as soon as each CTA
  /// of the grid before it has executed griddepcontrol.launch_dependents or
  /// exited, and sees what that grid did behind griddepcontrol.wait only.
  bool programmatic = false;
};

/// One launch of a stream; parameters[i] points to the value of parameter i.
struct EmulatorGrid {
  std::string entry;
  EmulatorLaunch shape;
  llvm::ArrayRef<const void *> parameters;
};

/// Arguments of cuTensorMapEncodeTiled, as the driver takes them: dimension 0
/// is the innermost; strides are in bytes, those of dimensions 1 and up.
struct EmulatorTensorMap {
  enum class Type {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    BF16,
    F32Ftz,
    TF32,
    TF32Ftz
  };
  enum class Swizzle { None, B32, B64, B128 };
  Type type = Type::BF16;
  uint64_t address = 0;
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> strides;
  std::vector<uint32_t> box;
  std::vector<uint32_t> elementStrides;
  Swizzle swizzle = Swizzle::None;
  bool interleave16 = false, interleave32 = false;
  bool fillNan = false; ///< out-of-bounds elements are NaN, not zero
};
/// Bytes of an element of a tensor map.
unsigned getElementBytes(EmulatorTensorMap::Type type);
/// The 128 bytes of a CUtensorMap, in the emulator's own encoding. Errors are
/// those of the driver (CUDA driver API, cuTensorMapEncodeTiled), with values.
llvm::Expected<std::array<char, 128>>
encodeTensorMap(const EmulatorTensorMap &map);

/// A parameter of a kernel.
struct EmulatorParameter {
  std::string name;
  uint64_t size = 0, alignment = 0; ///< bytes
};

struct EmulatorStatistics {
  uint64_t threads = 0, steps = 0, asyncOperations = 0;
  uint64_t clockBytes = 0; ///< of vector clocks, at most
  double parseSeconds = 0, compileSeconds = 0, runSeconds = 0;
};

class Emulator {
public:
  static llvm::Expected<std::unique_ptr<Emulator>>
  create(const EmulatorOptions &options = {});
  ~Emulator();

  void setOptions(const EmulatorOptions &options);

  /// Parses a module and places its variables; its entries become launchable.
  /// Errors name line and column. An entry is translated at its first launch:
  /// an instruction that is not known only matters to those that launch it.
  llvm::Error loadModule(llvm::MemoryBufferRef ptx);
  /// Names of the entries of all modules, in order.
  std::vector<std::string> getEntries() const;
  llvm::Expected<std::vector<EmulatorParameter>>
  getParameters(llvm::StringRef entry) const;

  /// Device memory, aligned to 256 bytes; contents count as uninitialised until
  /// written by the host or a kernel.
  llvm::Expected<uint64_t> allocate(uint64_t bytes);
  llvm::Error free(uint64_t pointer);
  llvm::Error copyToDevice(uint64_t to, const void *from, uint64_t bytes);
  llvm::Error copyToHost(void *to, uint64_t from, uint64_t bytes);

  /// Runs a grid to its end; parameters[i] points to the value of parameter i.
  /// The error is an EmulatorFaultError when the kernel is to blame.
  llvm::Error launch(llvm::StringRef entry, const EmulatorLaunch &shape,
                     llvm::ArrayRef<const void *> parameters);
  /// Runs grids in the order of a stream, each to its end before the next one
  /// starts, unless that one is `programmatic`: then two may be in flight.
  llvm::Error launch(llvm::ArrayRef<EmulatorGrid> stream);

  const EmulatorStatistics &getStatistics() const;

private:
  struct Impl;
  explicit Emulator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace flashnorm

#endif // FLASHNORM_EMULATOR_EMULATOR_H
