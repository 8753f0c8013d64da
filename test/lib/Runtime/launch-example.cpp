// The smallest host program that launches a compiled kernel: it runs each
// kernel of a manifest on ones, and prints the first element of each output.
//
// Usage: launch-example manifest.json kernels.cubin ROWS

#include "flashnorm/Runtime/CudaDriver.h"
#include "flashnorm/Runtime/Launcher.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace flashnorm;

static llvm::Expected<std::string> readFile(const char *path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::errorCodeToError(file.getError());
  return (*file)->getBuffer().str();
}

static llvm::Error run(const char *manifestPath, const char *imagePath,
                       int64_t rows) {
  auto json = readFile(manifestPath), image = readFile(imagePath);
  if (!json || !image)
    return llvm::joinErrors(json.takeError(), image.takeError());
  auto manifest = Manifest::parse(*json);
  if (!manifest)
    return manifest.takeError();
  auto device = CudaDevice::open(); // or EmulatedDevice::create(chip)
  if (!device)
    return device.takeError();
  Launcher launcher(std::move(*device));
  if (llvm::Error error = launcher.load(*manifest, *image))
    return error;

  for (const KernelManifest &kernel : manifest->kernels) {
    // Arrays in host memory, one for each operand; the launcher copies.
    std::vector<Array> arrays;
    for (const KernelOperand &operand : kernel.operands) {
      llvm::SmallVector<int64_t> shape;
      for (std::optional<int64_t> size : operand.shape)
        shape.push_back(size.value_or(rows));
      Array &array = arrays.emplace_back(operand.type, shape);
      for (int64_t i = 0; !operand.isOutput && i < array.size(); ++i)
        array.set(i, 1);
    }
    std::vector<StridedView> views;
    for (Array &array : arrays) {
      llvm::SmallVector<int64_t> strides(array.shape.size(), 1);
      for (size_t i = strides.size() - 1; i > 0; --i)
        strides[i - 1] = strides[i] * array.shape[i];
      views.push_back({array.data.data(), array.shape, strides});
    }
    if (llvm::Error error =
            launcher.launch(manifest->module + "::" + kernel.name, views))
      return error;
    for (size_t i = 0; i < arrays.size(); ++i)
      if (kernel.operands[i].isOutput && arrays[i].size() > 0)
        llvm::outs() << kernel.name << ": " << arrays[i].get(0) << '\n';
  }
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  if (argc != 4) {
    llvm::errs() << "usage: launch-example MANIFEST IMAGE ROWS\n";
    return 2;
  }
  if (llvm::Error error = run(argv[1], argv[2], std::atoll(argv[3]))) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
