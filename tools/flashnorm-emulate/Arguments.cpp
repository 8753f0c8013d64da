//===- Arguments.cpp - What a kernel is launched with ---------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulate;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

int64_t Buffer::bytes() const {
  return countElements(array.shape).value_or(0) * array.itemSize;
}

uint64_t Argument::size() const {
  switch (kind) {
  case Kind::Pointer:
    return 8;
  case Kind::Scalar:
    return bytes.size();
  case Kind::TensorMap:
    return 128;
  }
  return 0;
}

std::optional<ElementType> emulate::parseElementType(StringRef name) {
  return llvm::StringSwitch<std::optional<ElementType>>(name)
      .Cases({"u8", "b8"}, ElementType{"|u1", 1})
      .Cases({"i8", "s8"}, ElementType{"|i1", 1})
      .Cases({"u16", "b16"}, ElementType{"<u2", 2})
      .Cases({"i16", "s16"}, ElementType{"<i2", 2})
      .Cases({"u32", "b32"}, ElementType{"<u4", 4})
      .Cases({"i32", "s32"}, ElementType{"<i4", 4})
      .Cases({"u64", "b64"}, ElementType{"<u8", 8})
      .Cases({"i64", "s64"}, ElementType{"<i8", 8})
      .Case("bf16", ElementType{"<V2", 2})
      .Case("f16", ElementType{"<f2", 2})
      .Case("f32", ElementType{"<f4", 4})
      .Case("f64", ElementType{"<f8", 8})
      .Default(std::nullopt);
}

template <typename T>
static std::optional<std::vector<T>> parseSizes(StringRef text) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, 'x');
  std::vector<T> sizes;
  for (StringRef part : parts) {
    T size;
    if (part.getAsInteger(0, size))
      return std::nullopt;
    sizes.push_back(size);
  }
  return sizes;
}

Expected<std::array<uint32_t, 3>> emulate::parseExtents(StringRef option,
                                                        StringRef text) {
  std::string spaced = text.str();
  std::replace(spaced.begin(), spaced.end(), ',', 'x');
  auto sizes = parseSizes<uint32_t>(spaced);
  if (!sizes || sizes->size() > 3 || llvm::is_contained(*sizes, 0u))
    return createStringError("--" + option + "=" + text +
                             ": one to three extents are wanted, as in 16,4,1");
  sizes->resize(3, 1);
  return std::array<uint32_t, 3>{(*sizes)[0], (*sizes)[1], (*sizes)[2]};
}

namespace {
class ArgumentParser {
public:
  explicit ArgumentParser(LaunchRequest &request) : request(request) {}

  Error parseArray(StringRef option);
  Error parseArgument(StringRef spec);

private:
  Error fail(const Twine &what) const {
    return createStringError(where + ": " + what);
  }
  /// in:FILE, out:TYPE:SHAPE:FILE, inout:FILE:FILE, scratch:TYPE:SHAPE.
  Expected<Buffer> parseBuffer(StringRef kind, StringRef rest) const;
  Expected<Argument> parseScalar(StringRef type, StringRef value) const;
  Expected<Argument> parseTensorMap(StringRef text) const;
  Expected<Argument> parsePointer(StringRef text) const;
  Error applyMapKey(Argument &argument, StringRef key, StringRef value) const;

  LaunchRequest &request;
  std::string where; ///< the option, for messages
  llvm::StringMap<size_t> buffersByName;
};
} // namespace

static bool isBufferKind(StringRef kind) {
  return kind == "in" || kind == "out" || kind == "inout" || kind == "scratch";
}

Expected<Buffer> ArgumentParser::parseBuffer(StringRef kind,
                                             StringRef rest) const {
  Buffer buffer;
  if (kind == "in" || kind == "inout") {
    StringRef from = rest, to;
    if (kind == "inout") {
      std::tie(from, to) = rest.split(':');
      if (to.empty())
        return fail("inout:FILE.npy:FILE.npy has two files");
      buffer.output = to.str();
    }
    Expected<RawArray> array = readRawNpy(from);
    if (!array)
      return array.takeError();
    buffer.array = std::move(*array);
    buffer.isInput = true;
    return buffer;
  }
  auto [typeName, tail] = rest.split(':');
  auto [shapeText, file] = tail.split(':');
  std::optional<ElementType> type = parseElementType(typeName);
  if (!type)
    return fail("the type '" + typeName + "' is not known");
  auto shape = parseSizes<int64_t>(shapeText);
  if (!shape || llvm::any_of(*shape, [](int64_t size) { return size < 0; }))
    return fail("'" + shapeText + "' is no shape; it is like 256 or 16x32");
  buffer.array.type = type->numpy;
  buffer.array.itemSize = type->size;
  buffer.array.shape.assign(shape->begin(), shape->end());
  std::optional<int64_t> count = countElements(buffer.array.shape);
  if (!count || *count > INT64_MAX / 16)
    return fail("the shape " + shapeText + " is too large");
  if ((kind == "out") == file.empty())
    return fail(kind == "out" ? "out:TYPE:SHAPE:FILE.npy needs a file"
                              : "scratch:TYPE:SHAPE has no file");
  buffer.output = file.str();
  return buffer;
}

Error ArgumentParser::parseArray(StringRef option) {
  where = ("--array=" + option).str();
  auto [name, spec] = option.split('=');
  auto [kind, rest] = spec.split(':');
  if (name.empty() || !isBufferKind(kind))
    return fail("NAME=in:…, out:…, inout:… or scratch:… is wanted");
  Expected<Buffer> buffer = parseBuffer(kind, rest);
  if (!buffer)
    return buffer.takeError();
  if (!buffersByName.try_emplace(name, request.buffers.size()).second)
    return fail("there is an array '" + name + "' already");
  request.buffers.push_back(std::move(*buffer));
  return Error::success();
}

Expected<Argument> ArgumentParser::parseScalar(StringRef typeName,
                                               StringRef value) const {
  std::optional<ElementType> type = parseElementType(typeName);
  if (!type)
    return fail("'" + typeName +
                "' is neither a type nor one of in, out, inout, scratch, ptr "
                "and tensormap");
  Argument argument;
  argument.bytes.resize(type->size);
  if (std::optional<DataType> dataType = parseDataType(typeName)) {
    double number = 0;
    if (value.getAsDouble(number))
      return fail("'" + value + "' is no number");
    storeElement(*dataType, argument.bytes.data(), number);
    return argument;
  }
  uint64_t bits = 0;
  int64_t number = 0;
  unsigned width = type->size * 8;
  bool isSigned = typeName[0] == 'i' || typeName[0] == 's';
  if (value.starts_with("-") || isSigned) {
    if (value.getAsInteger(0, number) || !llvm::isIntN(width, number))
      return fail("'" + value + "' is no integer of type " + typeName);
    bits = static_cast<uint64_t>(number);
  } else if (value.getAsInteger(0, bits) || !llvm::isUIntN(width, bits)) {
    return fail("'" + value + "' is no integer of type " + typeName);
  }
  std::memcpy(argument.bytes.data(), &bits, type->size);
  return argument;
}

Expected<Argument> ArgumentParser::parsePointer(StringRef text) const {
  auto [name, offset] = text.split('+');
  Argument argument;
  argument.kind = Argument::Kind::Pointer;
  auto found = buffersByName.find(name);
  if (found == buffersByName.end())
    return fail("there is no array '" + name + "'");
  argument.buffer = found->second;
  if (!offset.empty() && offset.getAsInteger(0, argument.offset))
    return fail("'" + offset + "' is no offset in bytes");
  return argument;
}

Error ArgumentParser::applyMapKey(Argument &argument, StringRef key,
                                  StringRef value) const {
  EmulatorTensorMap &map = argument.map;
  auto assign = [&](auto &to) -> Error {
    auto sizes =
        parseSizes<typename std::decay_t<decltype(to)>::value_type>(value);
    if (!sizes)
      return fail("'" + value + "' is not like 64x128");
    to.assign(sizes->begin(), sizes->end());
    return Error::success();
  };
  using Type = EmulatorTensorMap::Type;
  using Swizzle = EmulatorTensorMap::Swizzle;
  if (key == "sizes")
    return assign(map.sizes);
  if (key == "strides")
    return assign(map.strides);
  if (key == "box")
    return assign(map.box);
  if (key == "element-strides")
    return assign(map.elementStrides);
  if (key == "offset") {
    if (value.getAsInteger(0, argument.offset))
      return fail("'" + value + "' is no offset in bytes");
    return Error::success();
  }
  if (key == "type") {
    auto type = llvm::StringSwitch<std::optional<Type>>(value)
                    .Case("u8", Type::U8)
                    .Case("u16", Type::U16)
                    .Case("u32", Type::U32)
                    .Case("s32", Type::S32)
                    .Case("u64", Type::U64)
                    .Case("s64", Type::S64)
                    .Case("f16", Type::F16)
                    .Case("f32", Type::F32)
                    .Case("f64", Type::F64)
                    .Case("bf16", Type::BF16)
                    .Case("f32-ftz", Type::F32Ftz)
                    .Case("tf32", Type::TF32)
                    .Case("tf32-ftz", Type::TF32Ftz)
                    .Default(std::nullopt);
    if (!type)
      return fail("the type '" + value + "' is not known");
    map.type = *type;
    return Error::success();
  }
  if (key == "swizzle") {
    auto swizzle = llvm::StringSwitch<std::optional<Swizzle>>(value)
                       .Case("0", Swizzle::None)
                       .Case("32", Swizzle::B32)
                       .Case("64", Swizzle::B64)
                       .Case("128", Swizzle::B128)
                       .Default(std::nullopt);
    if (!swizzle)
      return fail("swizzle is 0, 32, 64 or 128, not '" + value + "'");
    map.swizzle = *swizzle;
    return Error::success();
  }
  if (key == "interleave" && (value == "16" || value == "32")) {
    (value == "16" ? map.interleave16 : map.interleave32) = true;
    return Error::success();
  }
  if (key == "fill" && (value == "zero" || value == "nan")) {
    map.fillNan = value == "nan";
    return Error::success();
  }
  return fail("'" + key + "=" + value + "' is not known");
}

Expected<Argument> ArgumentParser::parseTensorMap(StringRef text) const {
  auto [name, rest] = text.split(',');
  Expected<Argument> argument = parsePointer(name);
  if (!argument)
    return argument.takeError();
  argument->kind = Argument::Kind::TensorMap;
  llvm::SmallVector<StringRef> pairs;
  rest.split(pairs, ',', -1, false);
  for (StringRef pair : pairs) {
    auto [key, value] = pair.split('=');
    if (Error error = applyMapKey(*argument, key, value))
      return error;
  }
  EmulatorTensorMap &map = argument->map;
  if (map.sizes.empty() || map.box.empty())
    return fail("sizes and box are needed");
  if (map.elementStrides.empty())
    map.elementStrides.assign(map.sizes.size(), 1);
  if (map.strides.empty()) {
    uint64_t stride = getElementBytes(map.type);
    for (uint64_t size : llvm::drop_end(map.sizes))
      map.strides.push_back(stride *= size);
  }
  return argument;
}

Error ArgumentParser::parseArgument(StringRef spec) {
  where = ("--arg=" + spec).str();
  auto [kind, rest] = spec.split(':');
  Expected<Argument> argument = Argument();
  if (isBufferKind(kind)) {
    Expected<Buffer> buffer = parseBuffer(kind, rest);
    if (!buffer)
      return buffer.takeError();
    argument->kind = Argument::Kind::Pointer;
    argument->buffer = request.buffers.size();
    // Later tensor maps may name it by the number of the parameter.
    buffersByName.try_emplace(std::to_string(request.arguments.size()),
                              request.buffers.size());
    request.buffers.push_back(std::move(*buffer));
  } else if (kind == "tensormap") {
    argument = parseTensorMap(rest);
  } else if (kind == "ptr") {
    argument = parsePointer(rest);
  } else {
    argument = parseScalar(kind, rest);
  }
  if (!argument)
    return argument.takeError();
  argument->text = where;
  request.arguments.push_back(std::move(*argument));
  return Error::success();
}

Error emulate::parseArguments(llvm::ArrayRef<std::string> arrays,
                              llvm::ArrayRef<std::string> arguments,
                              LaunchRequest &request) {
  ArgumentParser parser(request);
  for (const std::string &array : arrays)
    if (Error error = parser.parseArray(array))
      return error;
  for (const std::string &argument : arguments)
    if (Error error = parser.parseArgument(argument))
      return error;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Error checkParameters(const Emulator &emulator,
                             const LaunchRequest &request) {
  auto parameters = emulator.getParameters(request.entry);
  if (!parameters)
    return parameters.takeError();
  if (parameters->size() != request.arguments.size()) {
    std::string list;
    for (const EmulatorParameter &parameter : *parameters)
      list += "\n  " + parameter.name + ": " + std::to_string(parameter.size) +
              " bytes";
    return createStringError(request.entry + " has " +
                             Twine(parameters->size()) + " parameters, and " +
                             Twine(request.arguments.size()) +
                             " arguments are given; its parameters are" +
                             (list.empty() ? Twine(" none") : Twine(list)));
  }
  for (size_t i = 0; i != parameters->size(); ++i)
    if ((*parameters)[i].size != request.arguments[i].size())
      return createStringError(
          request.arguments[i].text + ": has " +
          Twine(request.arguments[i].size()) + " bytes; the parameter " +
          (*parameters)[i].name + " has " + Twine((*parameters)[i].size));
  return Error::success();
}

Error emulate::runOnce(Emulator &emulator, LaunchRequest &request) {
  if (Error error = checkParameters(emulator, request))
    return error;
  std::vector<uint64_t> addresses;
  auto release = [&] {
    for (uint64_t address : addresses)
      llvm::cantFail(emulator.free(address));
  };
  auto run = [&]() -> Error {
    for (const Buffer &buffer : request.buffers) {
      Expected<uint64_t> address = emulator.allocate(buffer.bytes());
      if (!address)
        return address.takeError();
      addresses.push_back(*address);
      if (buffer.isInput)
        if (Error error = emulator.copyToDevice(
                *address, buffer.array.data.data(), buffer.array.data.size()))
          return error;
    }
    std::vector<std::vector<char>> values;
    std::vector<const void *> pointers;
    for (Argument &argument : request.arguments) {
      std::vector<char> value = argument.bytes;
      if (argument.kind != Argument::Kind::Scalar) {
        uint64_t address = addresses[argument.buffer] + argument.offset;
        value.resize(8);
        std::memcpy(value.data(), &address, 8);
        argument.map.address = address;
      }
      if (argument.kind == Argument::Kind::TensorMap) {
        auto encoded = encodeTensorMap(argument.map);
        if (!encoded)
          return createStringError(argument.text + ": " +
                                   toString(encoded.takeError()));
        value.assign(encoded->begin(), encoded->end());
      }
      values.push_back(std::move(value));
    }
    for (const std::vector<char> &value : values)
      pointers.push_back(value.data());
    std::vector<EmulatorGrid> stream(
        request.repeat, EmulatorGrid{request.entry, request.shape, pointers});
    for (EmulatorGrid &grid : llvm::drop_begin(stream))
      grid.shape.programmatic = true;
    if (Error error = emulator.launch(stream))
      return error;
    for (size_t i = 0; i != addresses.size(); ++i) {
      Buffer &buffer = request.buffers[i];
      if (buffer.output.empty())
        continue;
      // An inout buffer's next run starts from its file again.
      buffer.result.resize(buffer.bytes());
      if (Error error = emulator.copyToHost(buffer.result.data(), addresses[i],
                                            buffer.result.size()))
        return error;
    }
    return Error::success();
  };
  Error error = run();
  release();
  return error;
}

/// One element as text: unsigned integers in hexadecimal.
static void printElement(const RawArray &array, int64_t index) {
  const char *bytes = array.data.data() + index * array.itemSize;
  StringRef kind = StringRef(array.type).ltrim("<|=");
  llvm::raw_ostream &os = llvm::outs();
  if (kind.starts_with("f") || kind == "V2") {
    DataType type = kind == "V2"          ? DataType::BF16
                    : array.itemSize == 2 ? DataType::F16
                    : array.itemSize == 4 ? DataType::F32
                                          : DataType::F64;
    os << llvm::format("%.9g", loadElement(type, bytes));
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, bytes, std::min<size_t>(array.itemSize, 8));
  unsigned bits = array.itemSize * 8;
  if (kind.starts_with("i"))
    os << llvm::SignExtend64(value, bits);
  else
    os << llvm::format_hex(value, 2 + bits / 4);
}

static void print(const RawArray &array) {
  int64_t count = array.data.size() / array.itemSize;
  constexpr int64_t perLine = 8;
  for (int64_t i = 0; i != count; ++i) {
    if (i % perLine == 0)
      llvm::outs() << llvm::format("%lld:", static_cast<long long>(i));
    llvm::outs() << ' ';
    printElement(array, i);
    if ((i + 1) % perLine == 0 || i + 1 == count)
      llvm::outs() << '\n';
  }
}

Error emulate::writeOutputs(const LaunchRequest &request) {
  for (const Buffer &buffer : request.buffers) {
    if (buffer.output.empty())
      continue;
    RawArray array = buffer.array;
    array.data = buffer.result;
    if (buffer.output == "-") {
      print(array);
      continue;
    }
    if (Error error = writeRawNpy(array, buffer.output))
      return error;
  }
  return Error::success();
}
