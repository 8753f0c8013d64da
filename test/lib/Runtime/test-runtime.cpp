//===- test-runtime.cpp - Drives the runtime library from tests -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   manifest FILE                    reads, validates and prints a manifest
//   npy FILE [COPY]                  prints an array, and writes it again
//   round VALUE...                   a value in each element type
//   launch MANIFEST IMAGE KERNEL[,guards][,time][,shape=AxB][,strided]
//          [,gap=N][,offset=N]       runs a kernel on 2-byte operands that
//                                    count from 1, and prints the last one;
//                                    N elements (strided: 3) after each row,
//                                    and before the first
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/CRuntime.h"
#include "flashnorm/Runtime/CudaDriver.h"
#include "flashnorm/Runtime/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static Expected<std::string> readFile(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (std::error_code code = file.getError())
    return llvm::createStringError(path + ": " + code.message());
  return (*file)->getBuffer().str();
}

static Error printManifest(StringRef path) {
  Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  Expected<Manifest> manifest = Manifest::parse(*text);
  if (!manifest)
    return manifest.takeError();
  llvm::outs() << llvm::formatv("{0:2}\n", manifest->toJSON());
  return Error::success();
}

static Error printNpy(StringRef path, StringRef copy) {
  Expected<Array> array = readNpy(path);
  if (!array)
    return array.takeError();
  llvm::outs() << stringify(array->type) << ' ' << formatShape(array->shape);
  for (int64_t i = 0, e = array->size(); i < e; ++i)
    llvm::outs() << ' ' << llvm::format("%g", array->get(i));
  llvm::outs() << '\n';
  return copy.empty() ? Error::success() : writeNpy(*array, copy);
}

static void printRounded(StringRef text) {
  double value = 0;
  text.getAsDouble(value);
  llvm::outs() << text << ':';
  for (DataType type :
       {DataType::BF16, DataType::F16, DataType::F32, DataType::F64}) {
    Array array(type, {1});
    array.set(0, value);
    llvm::outs() << ' ' << stringify(type) << ' '
                 << llvm::format("%.9g", array.get(0));
    if (sizeInBytes(type) == 2)
      llvm::outs() << ' '
                   << llvm::format_hex(*reinterpret_cast<const uint16_t *>(
                                           array.data.data()),
                                       6);
  }
  llvm::outs() << '\n';
}

/// An operand in host memory, with a gap after each row and an offset from a
/// multiple of 16 bytes, both in elements.
static StridedView makeView(std::vector<int16_t> &memory,
                            llvm::ArrayRef<int64_t> shape, int64_t gap,
                            int64_t offset) {
  StridedView view;
  view.sizes.assign(shape.begin(), shape.end());
  view.strides.resize(shape.size());
  int64_t size = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    view.strides[dim] = size;
    size *= shape[dim] + (dim + 1 == shape.size() ? gap : 0);
  }
  // operator new aligns to 16 bytes.
  memory.assign(offset + size, -1);
  view.data = reinterpret_cast<char *>(memory.data() + offset);
  return view;
}

static Error launch(StringRef manifestPath, StringRef imagePath,
                    StringRef spec) {
  llvm::SmallVector<StringRef> words;
  spec.split(words, ',');
  LauncherOptions options;
  llvm::SmallVector<int64_t> shape = {4, 8};
  int64_t gap = llvm::is_contained(words, "strided") ? 3 : 0, offset = 0;
  options.checkGuards = llvm::is_contained(words, "guards");
  options.timeRepetitions = llvm::is_contained(words, "time") ? 3 : 0;
  for (StringRef word : words)
    if (word.consume_front("shape=")) {
      shape.clear();
      for (StringRef size : llvm::split(word, 'x'))
        llvm::to_integer(size, shape.emplace_back());
    } else if (word.consume_front("gap=")) {
      llvm::to_integer(word, gap);
    } else if (word.consume_front("offset=")) {
      llvm::to_integer(word, offset);
    }

  Expected<std::string> text = readFile(manifestPath),
                        image = readFile(imagePath);
  if (!text || !image)
    return llvm::joinErrors(text.takeError(), image.takeError());
  Expected<Manifest> manifest = Manifest::parse(*text);
  if (!manifest)
    return manifest.takeError();
  Expected<std::unique_ptr<CudaDevice>> device = CudaDevice::open();
  if (!device)
    return device.takeError();
  Launcher launcher(std::move(*device), options);
  if (Error error = launcher.load(*manifest, *image))
    return error;

  std::vector<int16_t> inputMemory, outputMemory;
  StridedView input = makeView(inputMemory, shape, gap, offset),
              output = makeView(outputMemory, shape, gap, offset);
  std::vector<int16_t> counting(countElements(shape).value_or(0));
  for (auto [i, value] : llvm::enumerate(counting))
    value = i + 1;
  unpackView(reinterpret_cast<char *>(counting.data()), 2, input);

  // Twice, as device memory is kept.
  std::vector<int64_t> operands = {2};
  for (StridedView *view : {&input, &output}) {
    operands.push_back(reinterpret_cast<int64_t>(view->data));
    operands.push_back(view->sizes.size());
    llvm::append_range(operands, view->sizes);
    llvm::append_range(operands, view->strides);
  }
  setCurrentLauncher(&launcher);
  std::string name = manifest->module + "::" + words[0].str();
  for (int repetition = 0; repetition < 2; ++repetition)
    flashnorm_launch(name.c_str(), operands.data());
  if (Error error = takeLaunchError())
    return error;
  llvm::outs() << "launches " << launcher.getNumLaunches() << ", output";
  for (int16_t value : outputMemory)
    llvm::outs() << ' ' << value;
  llvm::outs() << '\n';
  for (const LaunchFallback &fallback : launcher.getFallbacks())
    llvm::outs() << fallback.kernel << " operand " << fallback.operand << ": "
                 << fallback.reason << '\n';
  for (const LaunchTime &time : launcher.getTimes())
    llvm::outs() << time.kernel << ' ' << time.rows << " rows "
                 << llvm::format("%g", time.milliseconds) << " ms\n";
  return Error::success();
}

static Error run(llvm::ArrayRef<StringRef> arguments) {
  StringRef mode = arguments.empty() ? "" : arguments[0];
  if (mode == "manifest" && arguments.size() == 2)
    return printManifest(arguments[1]);
  if (mode == "npy" && (arguments.size() == 2 || arguments.size() == 3))
    return printNpy(arguments[1], arguments.size() == 3 ? arguments[2] : "");
  if (mode == "launch" && arguments.size() == 4)
    return launch(arguments[1], arguments[2], arguments[3]);
  if (mode != "round")
    return llvm::createStringError("wrong arguments");
  llvm::for_each(arguments.drop_front(), printRounded);
  return Error::success();
}

int main(int argc, char **argv) {
  llvm::SmallVector<StringRef> arguments(argv + 1, argv + argc);
  if (Error error = run(arguments)) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
