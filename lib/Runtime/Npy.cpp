//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Runtime/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashnorm;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr StringRef magic("\x93NUMPY", 6);

/// The text of `key` in the header's dictionary, up to the comma or brace that
/// ends it. The header is a Python literal that np.save writes with exactly
/// these three keys; this is not a parser of Python.
static std::optional<StringRef> findValue(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  if (at == StringRef::npos)
    return std::nullopt;
  StringRef value = header.substr(at + key.size() + 3).ltrim();
  if (value.starts_with("("))
    return value.substr(0, value.find(')') + 1);
  return value.take_until([](char c) { return c == ',' || c == '}'; }).rtrim();
}

static std::optional<DataType> parseDescr(StringRef descr) {
  return llvm::StringSwitch<std::optional<DataType>>(descr)
      .Case("'<f2'", DataType::F16)
      .Case("'<f4'", DataType::F32)
      .Case("'<f8'", DataType::F64)
      .Cases({"'<V2'", "'|V2'", "'<u2'"}, DataType::BF16)
      .Default(std::nullopt);
}

/// "(3, 4)", "(3,)" or "()".
static std::optional<llvm::SmallVector<int64_t>> parseShape(StringRef text) {
  if (!text.consume_front("(") || !text.consume_back(")"))
    return std::nullopt;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<StringRef> items;
  text.split(items, ',');
  // A last comma, as in (3,), leaves an empty piece.
  if (items.back().trim().empty())
    items.pop_back();
  for (StringRef item : items) {
    int64_t size;
    if (item.trim().getAsInteger(10, size) || size < 0)
      return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

namespace {
/// How to make sense of a descr ("'<f4'"), or what is legal.
struct ElementType {
  int64_t size = 0;
  StringRef name; ///< for messages
};
} // namespace

static Expected<RawArray>
readFile(StringRef path,
         llvm::function_ref<std::optional<ElementType>(StringRef)> parseType,
         StringRef legalTypes) {
  auto fail = [&](const llvm::Twine &what) {
    return createStringError(path + ": " + what);
  };
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (std::error_code code = file.getError())
    return fail(code.message());
  StringRef bytes = (*file)->getBuffer();
  if (!bytes.consume_front(magic) || bytes.size() < 4)
    return fail("not an .npy file");
  const int version = static_cast<unsigned char>(bytes[0]);
  if (version < 1 || version > 3)
    return fail(".npy format version " + llvm::Twine(version) +
                " is unknown; 1, 2 and 3 are read");
  bytes = bytes.drop_front(2);
  const size_t lengthBytes = version == 1 ? 2 : 4;
  if (bytes.size() < lengthBytes)
    return fail("ends in its header");
  const size_t headerLength =
      version == 1 ? llvm::support::endian::read16le(bytes.data())
                   : llvm::support::endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (bytes.size() < headerLength)
    return fail("ends in its header");
  StringRef header = bytes.take_front(headerLength);
  bytes = bytes.drop_front(headerLength);

  std::optional<StringRef> descr = findValue(header, "descr"),
                           order = findValue(header, "fortran_order"),
                           shapeText = findValue(header, "shape");
  if (!descr || !order || !shapeText)
    return fail("the header lacks descr, fortran_order or shape");
  std::optional<ElementType> type = parseType(*descr);
  if (!type)
    return fail("element type " + *descr + " is not supported; legal are " +
                legalTypes);
  if (*order != "False")
    return fail("fortran_order is " + *order + "; only False is read");
  auto shape = parseShape(*shapeText);
  if (!shape)
    return fail("shape " + *shapeText + " is malformed");
  std::optional<int64_t> count = countElements(*shape);
  // Compared without multiplying: the count may be anything.
  if (!count || bytes.size() % type->size != 0 ||
      static_cast<uint64_t>(*count) != bytes.size() / type->size)
    return fail("shape " + *shapeText + " of " + type->name +
                " does not match " + llvm::Twine(bytes.size()) +
                " bytes of data");
  RawArray array;
  array.type = descr->trim("'\"").str();
  array.itemSize = type->size;
  array.shape = std::move(*shape);
  array.data.assign(bytes.begin(), bytes.end());
  return array;
}

Expected<Array> flashnorm::readNpy(StringRef path) {
  DataType type = DataType::F32;
  auto parseType = [&](StringRef descr) -> std::optional<ElementType> {
    std::optional<DataType> parsed = parseDescr(descr);
    if (!parsed)
      return std::nullopt;
    type = *parsed;
    return ElementType{sizeInBytes(type), stringify(type)};
  };
  Expected<RawArray> raw =
      readFile(path, parseType, "<f2, <f4, <f8 and, for bf16, <V2 or <u2");
  if (!raw)
    return raw.takeError();
  Array array;
  array.type = type;
  array.shape = std::move(raw->shape);
  array.data = std::move(raw->data);
  return array;
}

Expected<RawArray> flashnorm::readRawNpy(StringRef path) {
  auto parseType = [](StringRef descr) -> std::optional<ElementType> {
    StringRef text = descr.trim("'\"");
    StringRef name = text;
    if (!text.consume_front("<") && !text.consume_front("|"))
      text.consume_front("=");
    int64_t size = 0;
    if (text.size() < 2 || !StringRef("fiubV").contains(text[0]) ||
        text.drop_front().getAsInteger(10, size) || size < 1 || size > 16)
      return std::nullopt;
    return ElementType{size, name};
  };
  return readFile(path, parseType,
                  "little-endian numbers: <f4, <i4, |u1, <V2 and the like");
}

static StringRef formatDescr(DataType type) {
  switch (type) {
  case DataType::BF16:
    return "<V2";
  case DataType::F16:
    return "<f2";
  case DataType::F32:
    return "<f4";
  case DataType::F64:
    return "<f8";
  }
  return "";
}

/// Ends what was written to `os`; an error of the stream is an error here, and
/// not the end of the program.
static Error finish(llvm::raw_fd_ostream &os, const llvm::Twine &path) {
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  if (!error)
    return Error::success();
  return llvm::createStringError(error, "cannot write " + path + ": " +
                                            error.message());
}

/// A file with all of what `write` writes, or none: it gets its name when it is
/// complete. What is no regular file (a pipe, a device) is written to.
static Error writeWhole(StringRef path,
                        llvm::function_ref<void(llvm::raw_ostream &)> write) {
  namespace fs = llvm::sys::fs;
  if (fs::exists(path) && !fs::is_regular_file(path)) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error, fs::CD_OpenExisting);
    if (error)
      return llvm::createStringError(error, "cannot open " + path + ": " +
                                                error.message());
    write(os);
    return finish(os, path);
  }
  llvm::Expected<fs::TempFile> file =
      fs::TempFile::create(path + ".tmp%%%%%%%%", 0666);
  if (!file)
    return llvm::createStringError("cannot create a file beside " + path +
                                   ": " + llvm::toString(file.takeError()));
  Error error = Error::success();
  {
    llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
    write(os);
    error = llvm::joinErrors(std::move(error), finish(os, path));
  }
  if (error)
    return llvm::joinErrors(std::move(error), file->discard());
  return file->keep(path);
}

Error flashnorm::writeRawNpy(const RawArray &array, StringRef path) {
  std::string header =
      ("{'descr': '" + array.type + "', 'fortran_order': False, 'shape': (");
  for (int64_t size : array.shape)
    header += std::to_string(size) + ", ";
  header += "), }";
  // The data starts at a multiple of 64 bytes; the header ends in a newline.
  const size_t prefix = magic.size() + 4;
  header.resize(llvm::alignTo(prefix + header.size() + 1, 64) - prefix - 1,
                ' ');
  header += '\n';
  return writeWhole(path, [&](llvm::raw_ostream &os) {
    os << magic << '\x01' << '\x00' << static_cast<char>(header.size() & 255)
       << static_cast<char>(header.size() >> 8) << header;
    os.write(array.data.data(), array.data.size());
  });
}

Error flashnorm::writeNpy(const Array &array, StringRef path) {
  RawArray raw;
  raw.type = formatDescr(array.type).str();
  raw.itemSize = sizeInBytes(array.type);
  raw.shape = array.shape;
  raw.data = array.data;
  return writeRawNpy(raw, path);
}
