//===- ManifestLaunch.cpp - Launches of our own kernels -------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManifestLaunch.h"
#include "flashnorm/Emulator/EmulatedDevice.h"
#include "flashnorm/Runtime/Launcher.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cstring>
#include <random>

using namespace flashnorm;
using namespace flashnorm::emulate;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {
class KernelLauncher {
public:
  KernelLauncher(const KernelManifest &kernel, const ManifestOptions &options,
                 const DeviceProperties &device)
      : kernel(kernel), options(options), device(device),
        files(kernel.operands.size()) {}

  Expected<LaunchRequest> run();

private:
  Error fail(const Twine &what) const {
    return createStringError(kernel.name + ": " + what);
  }
  Error readFiles();
  Error addOperand(size_t index);
  Expected<Argument> makeArgument(const KernelArgument &argument) const;

  const KernelManifest &kernel;
  const ManifestOptions &options;
  const DeviceProperties &device;
  std::vector<std::string> files; ///< by operand
  std::vector<std::optional<RawArray>> inputs;
  int64_t rows = 0;
  LaunchRequest request;
};
} // namespace

Error KernelLauncher::readFiles() {
  for (const std::string &text : options.operands) {
    auto [number, file] = StringRef(text).split(':');
    size_t index = 0;
    if (number.getAsInteger(10, index) || file.empty())
      return fail("--operand=" + text + " is not like 0:FILE.npy");
    if (index >= files.size())
      return fail("--operand=" + text + ": there are " + Twine(files.size()) +
                  " operands");
    files[index] = file.str();
  }
  inputs.resize(files.size());
  rows = options.rows;
  for (size_t i = 0; i != files.size(); ++i) {
    const KernelOperand &operand = kernel.operands[i];
    if (files[i].empty() || operand.isOutput)
      continue;
    Expected<RawArray> array = readRawNpy(files[i]);
    if (!array)
      return array.takeError();
    if (array->shape.size() != operand.shape.size() ||
        array->itemSize != sizeInBytes(operand.type))
      return fail(files[i] + " has the shape " + formatShape(array->shape) +
                  " of " + array->type + "; the operand has rank " +
                  Twine(operand.shape.size()) + " and type " +
                  stringify(operand.type));
    if (!operand.shape[0] && !rows)
      rows = array->shape[0];
    inputs[i] = std::move(*array);
  }
  if (!rows)
    rows = 128;
  return Error::success();
}

/// Moves the rows of a matrix apart; NaNs come between them.
static void spreadRows(RawArray &array, int64_t stride) {
  const int64_t rowBytes = array.shape[1] * array.itemSize;
  std::vector<char> spread(array.shape[0] * stride * array.itemSize, char(-1));
  for (int64_t row = 0; row != array.shape[0]; ++row)
    std::memcpy(spread.data() + row * stride * array.itemSize,
                array.data.data() + row * rowBytes, rowBytes);
  array.data = std::move(spread);
  array.shape[1] = stride;
}

Error KernelLauncher::addOperand(size_t index) {
  const KernelOperand &operand = kernel.operands[index];
  llvm::SmallVector<int64_t> shape;
  for (std::optional<int64_t> size : operand.shape)
    shape.push_back(size.value_or(rows));
  std::optional<int64_t> count = countElements(shape);
  if (!count || *count > (INT64_C(1) << 34))
    return fail("an operand of shape " + formatShape(shape) + " is too large");
  Buffer buffer;
  buffer.array.type = parseElementType(stringify(operand.type))->numpy;
  buffer.array.itemSize = sizeInBytes(operand.type);
  buffer.array.shape = shape;
  if (operand.isOutput) {
    buffer.output = files[index];
  } else if (inputs[index]) {
    if (inputs[index]->shape != shape)
      return fail(files[index] + " has the shape " +
                  formatShape(inputs[index]->shape) + ", not " +
                  formatShape(shape));
    buffer.array = *inputs[index];
    buffer.isInput = true;
  } else {
    // Every operand has numbers of its own.
    std::mt19937_64 generator(options.seed * 1000003 + index);
    std::normal_distribution<double> normal;
    Array values(operand.type, shape);
    for (int64_t i = 0; i != *count; ++i)
      values.set(i, normal(generator));
    buffer.array.data = std::move(values.data);
    buffer.isInput = true;
  }
  if (operand.rows == KernelOperand::Rows::Strided)
    spreadRows(buffer.array, operand.rowStride);
  request.buffers.push_back(std::move(buffer));
  return Error::success();
}

Expected<Argument>
KernelLauncher::makeArgument(const KernelArgument &argument) const {
  Argument result;
  result.text = kernel.name + ": operand " + std::to_string(argument.operand);
  result.buffer = argument.operand;
  if (argument.kind == KernelArgument::Kind::Rows) {
    if (!llvm::isInt<32>(rows))
      return fail(Twine(rows) + " rows do not fit into 32 bits");
    auto value = static_cast<int32_t>(rows);
    result.bytes.resize(sizeof(value));
    std::memcpy(result.bytes.data(), &value, sizeof(value));
    return result;
  }
  if (argument.kind == KernelArgument::Kind::RowStride) {
    // Packed is one of the strides that such a kernel takes.
    int64_t value = *kernel.operands[argument.operand].shape[1];
    result.bytes.resize(sizeof(value));
    std::memcpy(result.bytes.data(), &value, sizeof(value));
    return result;
  }
  if (argument.kind == KernelArgument::Kind::Pointer) {
    result.kind = Argument::Kind::Pointer;
    return result;
  }
  result.kind = Argument::Kind::TensorMap;
  const RawArray &array = request.buffers[argument.operand].array;
  // Rows may have been moved apart.
  const KernelOperand &operand = kernel.operands[argument.operand];
  result.map = EmulatedDevice::describeTensorMap(
      0, operand.type, array.shape.front(), *operand.shape.back(),
      array.shape.back(), argument.box, argument.swizzle);
  return result;
}

Expected<LaunchRequest> KernelLauncher::run() {
  if (Error error = readFiles())
    return error;
  request.entry = kernel.name;
  for (size_t i = 0; i != kernel.operands.size(); ++i)
    if (Error error = addOperand(i))
      return error;
  for (const KernelArgument &argument : kernel.arguments) {
    Expected<Argument> made = makeArgument(argument);
    if (!made)
      return made.takeError();
    request.arguments.push_back(std::move(*made));
  }
  Expected<LaunchShape> shape = getLaunchShape(kernel, rows, device);
  if (!shape)
    return fail(toString(shape.takeError()));
  request.shape = EmulatedDevice::getLaunch(*shape);
  return std::move(request);
}

Expected<std::vector<LaunchRequest>>
emulate::readManifest(const ManifestOptions &options) {
  auto file = llvm::MemoryBuffer::getFile(options.file);
  if (!file)
    return createStringError(options.file + ": " + file.getError().message());
  Expected<Manifest> manifest = Manifest::parse((*file)->getBuffer());
  if (!manifest)
    return createStringError(options.file + ": " +
                             toString(manifest.takeError()));
  Expected<std::unique_ptr<EmulatedDevice>> device =
      EmulatedDevice::create(manifest->chip, options.emulator);
  if (!device)
    return createStringError(options.file + ": " +
                             toString(device.takeError()));
  std::vector<LaunchRequest> result;
  for (const KernelManifest &kernel : manifest->kernels) {
    if (!options.entry.empty() && kernel.name != options.entry)
      continue;
    Expected<LaunchRequest> request =
        KernelLauncher(kernel, options, (*device)->properties()).run();
    if (!request)
      return request.takeError();
    result.push_back(std::move(*request));
  }
  if (result.empty())
    return createStringError(options.file + ": there is no kernel '" +
                             options.entry + "'");
  if (result.size() > 1 && !options.operands.empty())
    return createStringError("--operand needs one kernel: choose it with "
                             "--entry");
  return result;
}
