//===- Manifest.cpp - What a launcher must know of kernels ----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/Manifest.h"
#include "flashnorm/Runtime/JSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace flashnorm;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace json = llvm::json;

namespace {
/// A JSON value, where it stands, and the first mistake that was found in the
/// document. Reading after a mistake is harmless and gives zeros.
class Reader {
public:
  Reader(const json::Value &value, std::string place, std::string &mistake)
      : value(value), place(std::move(place)), mistake(mistake) {}

  void fail(const Twine &what) {
    if (mistake.empty())
      mistake = (place + ": " + what).str();
  }
  bool ok() const { return mistake.empty(); }

  /// Begins an object with exactly these keys, and perhaps `optional`.
  void object(llvm::ArrayRef<StringRef> keys, StringRef optional = "") {
    const json::Object *object = value.getAsObject();
    if (!object)
      return fail("expected an object");
    for (StringRef key : keys)
      if (!object->get(key))
        return fail("lacks '" + key + "'");
    for (const auto &entry : *object)
      if (!llvm::is_contained(keys, StringRef(entry.first)) &&
          StringRef(entry.first) != optional)
        return fail("unknown key '" + StringRef(entry.first) + "'");
  }

  bool has(StringRef key) const {
    const json::Object *object = value.getAsObject();
    return object && object->get(key);
  }

  Reader operator[](StringRef key) {
    static const json::Value nothing(nullptr);
    const json::Object *object = value.getAsObject();
    const json::Value *field = object ? object->get(key) : nullptr;
    return Reader(field ? *field : nothing, place + "." + key.str(), mistake);
  }

  std::string string() {
    std::optional<StringRef> text = value.getAsString();
    if (!text || text->empty())
      fail("expected a string that is not empty");
    return text.value_or("").str();
  }

  int64_t integer(int64_t min, int64_t max) {
    std::optional<int64_t> number = value.getAsInteger();
    if (!number)
      fail("expected an integer");
    else if (*number < min || *number > max)
      fail(Twine(*number) + " is not between " + Twine(min) + " and " +
           Twine(max));
    return number.value_or(0);
  }

  bool isNull() const { return value.kind() == json::Value::Null; }

  void forEach(llvm::function_ref<void(Reader)> read) {
    const json::Array *elements = value.getAsArray();
    if (!elements)
      return fail("expected an array");
    for (size_t i = 0, e = elements->size(); i < e && ok(); ++i)
      read(Reader((*elements)[i], place + "[" + std::to_string(i) + "]",
                  mistake));
  }

private:
  const json::Value &value;
  std::string place;
  std::string &mistake;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// Limits of every CUDA device; those of one device are the launcher's business.
static constexpr int64_t maxBlock = 1024;
static constexpr int64_t maxCluster = 16;
static constexpr int64_t maxCTAsPerSM = 32;
static constexpr int64_t maxSize = int64_t(1) << 31;

static void readRowStride(Reader reader, KernelOperand &operand) {
  if (operand.isOutput || operand.shape.size() != 2)
    return reader.fail("only inputs with 2 sizes have one");
  if (reader.isNull()) {
    operand.rows = KernelOperand::Rows::AnyStride;
    return;
  }
  operand.rows = KernelOperand::Rows::Strided;
  operand.rowStride = reader.integer(operand.shape[1].value_or(0), maxSize);
  if (operand.rowStride * sizeInBytes(operand.type) % rowAlignment != 0)
    reader.fail("rows that start " +
                Twine(operand.rowStride * sizeInBytes(operand.type)) +
                " bytes apart are not a multiple of " + Twine(rowAlignment));
}

static KernelOperand readOperand(Reader reader) {
  reader.object({"role", "type", "shape"}, "row_stride");
  KernelOperand operand;
  std::string role = reader["role"].string();
  if (role != "input" && role != "output")
    reader["role"].fail("'" + role + "' is neither input nor output");
  operand.isOutput = role == "output";

  std::string type = reader["type"].string();
  std::optional<DataType> parsed = parseDataType(type);
  if (!parsed || *parsed == DataType::F64)
    reader["type"].fail("'" + type + "' is none of bf16, f16 and f32");
  operand.type = parsed.value_or(DataType::BF16);

  reader["shape"].forEach([&](Reader size) {
    if (size.isNull() && operand.shape.empty())
      operand.shape.push_back(std::nullopt);
    else if (size.isNull())
      size.fail("only the first size may be null");
    else
      operand.shape.push_back(size.integer(1, maxSize));
  });
  if (operand.shape.empty() || operand.shape.size() > 2)
    reader["shape"].fail("has " + Twine(operand.shape.size()) +
                         " sizes; legal are 1 and 2");
  if (reader.has("row_stride") && reader.ok())
    readRowStride(reader["row_stride"], operand);
  return operand;
}

/// What cuTensorMapEncodeTiled asks for, as far as it is known here.
static void readTensorMap(Reader &reader, KernelArgument &argument,
                          const KernelOperand &operand) {
  reader.object({"kind", "operand", "box", "swizzle"});
  argument.swizzle = reader["swizzle"].integer(0, 128);
  if (!llvm::is_contained({0, 32, 64, 128}, argument.swizzle))
    reader["swizzle"].fail(Twine(argument.swizzle) +
                           " is none of 0, 32, 64 and 128");
  llvm::SmallVector<int64_t> box;
  reader["box"].forEach(
      [&](Reader size) { box.push_back(size.integer(1, 256)); });
  if (box.size() != 2)
    return reader["box"].fail("has " + Twine(box.size()) +
                              " sizes; expected columns and rows");
  argument.box = {box[0], box[1]};
  if (operand.shape.size() != 2)
    return reader["operand"].fail("a tensor map needs an operand with 2 sizes");

  const int64_t boxBytes = box[0] * sizeInBytes(operand.type);
  if (boxBytes % 16 != 0)
    reader["box"].fail(Twine(boxBytes) +
                       " bytes in a row are not a multiple of 16");
  if (argument.swizzle != 0 && boxBytes > argument.swizzle)
    reader["box"].fail(Twine(boxBytes) +
                       " bytes in a row exceed the swizzle of " +
                       Twine(argument.swizzle));
  const int64_t rowBytes = *operand.shape[1] * sizeInBytes(operand.type);
  if (rowBytes % 16 != 0)
    reader["operand"].fail("rows of " + Twine(rowBytes) +
                           " bytes are not a multiple of 16");
}

static KernelArgument readArgument(Reader reader,
                                   llvm::ArrayRef<KernelOperand> operands) {
  KernelArgument argument;
  std::string kind = reader["kind"].string();
  if (kind == "rows") {
    reader.object({"kind"});
    argument.kind = KernelArgument::Kind::Rows;
    return argument;
  }
  if (kind != "pointer" && kind != "tensor_map" && kind != "row_stride") {
    reader["kind"].fail("'" + kind +
                        "' is none of pointer, tensor_map, row_stride and "
                        "rows");
    return argument;
  }
  argument.operand = reader["operand"].integer(0, operands.size() - 1);
  if (!reader.ok())
    return argument;
  if (kind == "pointer") {
    reader.object({"kind", "operand"});
    argument.kind = KernelArgument::Kind::Pointer;
  } else if (kind == "row_stride") {
    reader.object({"kind", "operand"});
    argument.kind = KernelArgument::Kind::RowStride;
    if (operands[argument.operand].rows != KernelOperand::Rows::AnyStride)
      reader["operand"].fail("operand " + Twine(argument.operand) +
                             " has no 'row_stride' that is null");
  } else {
    argument.kind = KernelArgument::Kind::TensorMap;
    readTensorMap(reader, argument, operands[argument.operand]);
  }
  return argument;
}

static KernelManifest readKernel(Reader reader) {
  reader.object({"name", "strategy", "family", "block", "cluster",
                 "shared_memory", "tile_rows", "column_tiles", "ctas_per_sm",
                 "operands", "arguments"});
  KernelManifest kernel;
  kernel.name = reader["name"].string();
  kernel.strategy = reader["strategy"].string();
  kernel.family = reader["family"].string();
  kernel.block = reader["block"].integer(32, maxBlock);
  if (kernel.block % 32 != 0)
    reader["block"].fail(Twine(kernel.block) + " is not a multiple of 32");
  kernel.cluster = reader["cluster"].integer(1, maxCluster);
  kernel.sharedMemory = reader["shared_memory"].integer(0, maxSize - 1);
  kernel.tileRows = reader["tile_rows"].integer(1, maxSize - 1);
  kernel.columnTiles = reader["column_tiles"].integer(1, maxSize - 1);
  kernel.ctasPerSM = reader["ctas_per_sm"].integer(0, maxCTAsPerSM);

  reader["operands"].forEach([&](Reader operand) {
    kernel.operands.push_back(readOperand(operand));
    if (kernel.operands.size() > 1 && !kernel.operands.back().isOutput &&
        kernel.operands[kernel.operands.size() - 2].isOutput)
      operand.fail("is an input after an output");
  });
  if (!reader.ok())
    return kernel;
  if (kernel.operands.empty() || !kernel.operands.back().isOutput)
    reader["operands"].fail("has no output");
  else if (kernel.operands.front().shape.size() != 2)
    reader["operands"].fail("operand 0 gives the number of rows and needs 2 "
                            "sizes");
  if (!reader.ok())
    return kernel;

  reader["arguments"].forEach([&](Reader argument) {
    kernel.arguments.push_back(readArgument(argument, kernel.operands));
  });
  // An operand that no parameter carries cannot be read or written.
  for (size_t i = 0, e = kernel.operands.size(); i < e; ++i)
    if (llvm::none_of(kernel.arguments, [&](const KernelArgument &argument) {
          return (argument.kind == KernelArgument::Kind::Pointer ||
                  argument.kind == KernelArgument::Kind::TensorMap) &&
                 argument.operand == static_cast<int64_t>(i);
        }))
      reader["arguments"].fail("none passes operand " + Twine(i));
  return kernel;
}

Expected<Manifest> Manifest::parse(StringRef text) {
  Expected<json::Value> document = parseJSON(text);
  if (!document)
    return createStringError("manifest: " +
                             llvm::toString(document.takeError()));
  std::string mistake;
  Reader reader(*document, "manifest", mistake);
  // The version first: it says what else to expect.
  if (document->getAsObject() &&
      reader["version"].integer(0, maxSize) != currentVersion && reader.ok())
    reader["version"].fail(Twine(reader["version"].integer(0, maxSize)) +
                           " is not supported; this runtime reads " +
                           Twine(currentVersion));
  reader.object({"version", "chip", "ptx_version", "module", "kernels"});

  Manifest manifest;
  manifest.chip = reader["chip"].string();
  manifest.ptxVersion = reader["ptx_version"].integer(10, 999);
  manifest.module = reader["module"].string();
  llvm::StringSet<> names;
  reader["kernels"].forEach([&](Reader kernel) {
    manifest.kernels.push_back(readKernel(kernel));
    if (!names.insert(manifest.kernels.back().name).second)
      kernel.fail("a kernel before has the name '" +
                  manifest.kernels.back().name + "' too");
  });
  if (!mistake.empty())
    return createStringError(mistake);
  return manifest;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value toJSON(const KernelOperand &operand) {
  json::Array shape;
  for (std::optional<int64_t> size : operand.shape)
    shape.push_back(size ? json::Value(*size) : json::Value(nullptr));
  json::Object object{{"role", operand.isOutput ? "output" : "input"},
                      {"type", stringify(operand.type)},
                      {"shape", std::move(shape)}};
  if (operand.rows == KernelOperand::Rows::Strided)
    object["row_stride"] = operand.rowStride;
  else if (operand.rows == KernelOperand::Rows::AnyStride)
    object["row_stride"] = nullptr;
  return object;
}

static json::Value toJSON(const KernelArgument &argument) {
  switch (argument.kind) {
  case KernelArgument::Kind::Pointer:
    return json::Object{{"kind", "pointer"}, {"operand", argument.operand}};
  case KernelArgument::Kind::TensorMap:
    return json::Object{{"kind", "tensor_map"},
                        {"operand", argument.operand},
                        {"box", json::Array{argument.box[0], argument.box[1]}},
                        {"swizzle", argument.swizzle}};
  case KernelArgument::Kind::RowStride:
    return json::Object{{"kind", "row_stride"}, {"operand", argument.operand}};
  case KernelArgument::Kind::Rows:
    return json::Object{{"kind", "rows"}};
  }
  return nullptr;
}

static json::Value toJSON(const KernelManifest &kernel) {
  json::Array operands, arguments;
  for (const KernelOperand &operand : kernel.operands)
    operands.push_back(::toJSON(operand));
  for (const KernelArgument &argument : kernel.arguments)
    arguments.push_back(::toJSON(argument));
  return json::Object{{"name", kernel.name},
                      {"strategy", kernel.strategy},
                      {"family", kernel.family},
                      {"block", kernel.block},
                      {"cluster", kernel.cluster},
                      {"shared_memory", kernel.sharedMemory},
                      {"tile_rows", kernel.tileRows},
                      {"column_tiles", kernel.columnTiles},
                      {"ctas_per_sm", kernel.ctasPerSM},
                      {"operands", std::move(operands)},
                      {"arguments", std::move(arguments)}};
}

json::Value Manifest::toJSON() const {
  json::Array list;
  for (const KernelManifest &kernel : kernels)
    list.push_back(::toJSON(kernel));
  return json::Object{{"version", currentVersion},
                      {"chip", chip},
                      {"ptx_version", ptxVersion},
                      {"module", module},
                      {"kernels", std::move(list)}};
}
