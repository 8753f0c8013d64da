//===- Inputs.cpp - Arguments for a function ------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "SplitMix64.h"
#include "flashnorm/Runtime/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>
#include <limits>
#include <unistd.h>

using namespace flashnorm;
using namespace flashnorm::run;
using llvm::createStringError;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

static constexpr int64_t defaultRows = 128;

//===----------------------------------------------------------------------===//
// Random values
//===----------------------------------------------------------------------===//

namespace {
/// A stream of random numbers for each element, which starts at a hash of seed,
/// argument, index.
class ElementRandom : SplitMix64 {
public:
  ElementRandom(uint64_t seed, uint64_t argument, uint64_t index)
      : SplitMix64(mix(mix(mix(seed) + argument) + index)) {}

  /// In (0, 1].
  double uniform() { return double((next() >> 11) + 1) * 0x1p-53; }

  /// Mean 0, variance 1 (Box and Muller, 1958).
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }
};
} // namespace

/// Student's t with 3 degrees of freedom: finite variance, and every few
/// thousand elements one beyond 20.
static double heavyTail(ElementRandom &random) {
  double chiSquare = 0, value = random.normal();
  for (int i = 0; i < 3; ++i)
    chiSquare += std::pow(random.normal(), 2);
  return value / std::sqrt(chiSquare / 3);
}

/// Below the smallest normal number of the type, mostly.
static double subnormal(ElementRandom &random, DataType type) {
  const double smallest = type == DataType::F16   ? 0x1p-14
                          : type == DataType::F64 ? 0x1p-1022
                                                  : 0x1p-126;
  return 0.25 * smallest * random.normal();
}

/// A few in a million that arithmetic does not recover from.
static double notFinite(ElementRandom &random) {
  const double value = random.normal(), choice = random.uniform();
  return choice < 2e-4   ? std::numeric_limits<double>::infinity()
         : choice < 4e-4 ? -std::numeric_limits<double>::infinity()
         : choice < 6e-4 ? std::numeric_limits<double>::quiet_NaN()
                         : value;
}

using Generator = double (*)(ElementRandom &random, int64_t index,
                             DataType type);

namespace {
struct InputKind {
  StringRef name;
  Generator generate;
};
} // namespace

/// Normal, with a mean of so many deviations.
template <int mean>
static double shifted(ElementRandom &random, int64_t, DataType) {
  return mean + random.normal();
}

static const InputKind inputKinds[] = {
    {"normal", shifted<0>},
    {"uniform",
     [](ElementRandom &r, int64_t, DataType) { return 2 * r.uniform() - 1; }},
    // Squares as small as an epsilon.
    {"small",
     [](ElementRandom &r, int64_t, DataType) { return 2e-3 * r.normal(); }},
    {"mean-16", shifted<16>},
    {"large-mean", shifted<64>},
    {"mean-256", shifted<256>},
    {"mean-10000", shifted<10000>},
    // 40000, 40001, 40002 and 40003.
    {"steps", [](ElementRandom &r, int64_t,
                 DataType) { return 40000 + std::floor(r.uniform() * 3.999); }},
    {"heavy-tail",
     [](ElementRandom &r, int64_t, DataType) { return heavyTail(r); }},
    // One element that dwarfs the rest, not the first of a row by design.
    {"outlier", [](ElementRandom &r, int64_t i,
                   DataType) { return i == 37 ? 3e4 : r.normal(); }},
    // Nearly as large as f16 holds.
    {"large", [](ElementRandom &r, int64_t,
                 DataType) { return 6e4 * (2 * r.uniform() - 1); }},
    {"subnormal", [](ElementRandom &r, int64_t,
                     DataType type) { return subnormal(r, type); }},
    {"not-finite",
     [](ElementRandom &r, int64_t, DataType) { return notFinite(r); }},
    {"zeros", [](ElementRandom &, int64_t, DataType) { return 0.0; }},
    {"ones", [](ElementRandom &, int64_t, DataType) { return 1.0; }},
    {"constant", [](ElementRandom &, int64_t, DataType) { return 1234.0; }},
};

llvm::ArrayRef<StringRef> run::getInputKindNames() {
  static const auto names = [] {
    llvm::SmallVector<StringRef> names;
    for (const InputKind &kind : inputKinds)
      names.push_back(kind.name);
    return names;
  }();
  return names;
}

bool run::isNpyFile(StringRef value) { return value.ends_with(".npy"); }

static void fill(Array &array, uint64_t seed, int64_t argument,
                 llvm::function_ref<double(ElementRandom &, int64_t)> value) {
  for (int64_t i = 0, e = array.size(); i < e; ++i) {
    ElementRandom random(seed, argument, i);
    array.set(i, value(random, i));
  }
}

/// Weights as a trained model has them: matrices roughly keep the scale of what
/// they multiply, vectors are near 1. Which dimension is summed over, [N,K] or
/// [K,N], the argument does not say: the deviation is 1 / sqrt of the larger
/// one, so that sums neither overflow nor exceed the input's scale in either
/// layout.
static void fillFrozen(Array &array, uint64_t seed, int64_t argument) {
  if (array.shape.size() >= 2) {
    const double deviation =
        1 / std::sqrt(double(std::max(array.shape[array.shape.size() - 2],
                                      array.shape.back())));
    fill(array, seed, argument, [&](ElementRandom &random, int64_t) {
      return deviation * random.normal();
    });
    return;
  }
  fill(array, seed, argument, [](ElementRandom &random, int64_t) {
    return 1 + 0.1 * random.normal();
  });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// `bf16 [?, 64]`
static std::string formatType(const ArgumentInfo &argument) {
  return (stringify(argument.type) + " " + formatShape(argument.shape)).str();
}

/// What NumPy calls the elements of a file.
static StringRef getNumPyType(DataType type) {
  switch (type) {
  case DataType::BF16:
    return "uint16, the bits, or ml_dtypes.bfloat16";
  case DataType::F16:
    return "float16";
  case DataType::F32:
    return "float32";
  case DataType::F64:
    return "float64";
  }
  return "";
}

static Expected<Array> readArgument(StringRef path, int64_t index,
                                    const ArgumentInfo &argument) {
  Expected<Array> array = readNpy(path);
  if (!array)
    return array.takeError();
  bool matches = array->type == argument.type &&
                 array->shape.size() == argument.shape.size();
  for (auto [actual, expected] : llvm::zip(array->shape, argument.shape))
    matches &= expected < 0 || actual == expected;
  if (matches)
    return array;
  std::string message = (path + " has " + stringify(array->type) + " " +
                         formatShape(array->shape) + "; argument " +
                         Twine(index) + " needs " + formatType(argument))
                            .str();
  if (array->type != argument.type)
    message += (", in NumPy " + getNumPyType(argument.type)).str();
  return createStringError(message);
}

/// Of the machine. Where it does not tell, 2 TiB: beyond any that this runs on.
static int64_t getMemoryBytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? pages * size : int64_t(1) << 41;
}

Expected<std::vector<Array>>
run::makeInputs(llvm::ArrayRef<ArgumentInfo> arguments,
                const Options &options) {
  const int64_t count = arguments.size();
  std::map<int64_t, std::string> values = options.arguments;
  if (!values.empty() && values.rbegin()->first >= count)
    return createStringError("argument " + Twine(values.rbegin()->first) +
                             " does not exist; there are " + Twine(count));
  llvm::SmallVector<int64_t> open;
  for (int64_t i = 0; i < count; ++i)
    if (!arguments[i].frozen && !values.count(i))
      open.push_back(i);
  if (isNpyFile(options.values) && open.size() != 1)
    return createStringError("--input=" + options.values +
                             " is for one argument, but " + Twine(open.size()) +
                             " are neither frozen nor given; use --arg");
  for (int64_t i : open)
    values[i] = options.values;

  // Files first: they may say what dynamic sizes are.
  std::vector<Array> arrays(count);
  std::optional<int64_t> rows = options.rows;
  for (const auto &[i, value] : values) {
    if (!isNpyFile(value))
      continue;
    Expected<Array> array = readArgument(value, i, arguments[i]);
    if (!array)
      return array.takeError();
    for (auto [actual, declared] : llvm::zip(array->shape, arguments[i].shape))
      if (declared < 0 && !rows)
        rows = actual;
    arrays[i] = std::move(*array);
  }

  int64_t memory = getMemoryBytes();
  for (const Array &array : arrays)
    memory -= array.data.size();
  for (int64_t i = 0; i < count; ++i) {
    auto it = values.find(i);
    if (it != values.end() && isNpyFile(it->second))
      continue;
    llvm::SmallVector<int64_t> shape = arguments[i].shape;
    for (int64_t &size : shape)
      if (size < 0)
        size = rows.value_or(defaultRows);
    // An allocation that fails, or is killed later, says less.
    std::optional<int64_t> elements = countElements(shape), bytes;
    if (elements)
      bytes = llvm::checkedMul(*elements, sizeInBytes(arguments[i].type));
    if (!bytes || *bytes > memory)
      return createStringError(
          "argument " + Twine(i) + " of shape " + formatShape(shape) +
          " is too large: beside those before it, " +
          Twine(std::max<int64_t>(memory, 0)) + " bytes of memory are left");
    memory -= *bytes;
    arrays[i] = Array(arguments[i].type, shape);
    if (it == values.end()) {
      fillFrozen(arrays[i], options.seed, i);
      continue;
    }
    const auto *kind = llvm::find_if(inputKinds, [&](const InputKind &kind) {
      return kind.name == it->second;
    });
    fill(arrays[i], options.seed, i, [&](ElementRandom &random, int64_t index) {
      return kind->generate(random, index, arguments[i].type);
    });
  }
  return arrays;
}
