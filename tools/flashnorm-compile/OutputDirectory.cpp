//===- OutputDirectory.cpp - Files that replace those of before -----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputDirectory.h"
#include "flashnorm/Runtime/JSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace flashnorm;
using llvm::createStringError;
using llvm::Error;
using llvm::SmallString;
using llvm::StringRef;

namespace fs = llvm::sys::fs;

static constexpr StringRef manifestName = "manifest.json";

static std::string join(StringRef directory, StringRef name) {
  SmallString<256> path(directory);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

/// Names of the files that the compilation behind a directory's manifest wrote;
/// none where there is no manifest of ours.
static std::vector<std::string> findOwnFiles(StringRef directory) {
  auto buffer = llvm::MemoryBuffer::getFile(join(directory, manifestName));
  if (!buffer)
    return {};
  llvm::Expected<llvm::json::Value> manifest =
      parseJSON((*buffer)->getBuffer());
  if (!manifest) {
    llvm::consumeError(manifest.takeError());
    return {};
  }
  const llvm::json::Object *object = manifest->getAsObject();
  if (!object || !object->getInteger("version") ||
      !object->getInteger("ptx_version") || !object->getArray("kernels"))
    return {};
  // A name that leaves the directory is not one that we wrote.
  std::optional<StringRef> module = object->getString("module");
  if (!module || module->empty() ||
      llvm::sys::path::filename(*module) != *module)
    return {};
  return {manifestName.str(), (*module + ".ptx").str(),
          (*module + ".cubin").str(), "host.mlir"};
}

namespace {
/// Renames of files that are undone unless all of them succeed.
class Renames {
public:
  ~Renames() {
    if (isKept)
      return;
    for (const auto &[from, to] : llvm::reverse(done))
      (void)fs::rename(to, from);
  }

  std::error_code rename(StringRef from, StringRef to) {
    if (std::error_code error = fs::rename(from, to))
      return error;
    done.emplace_back(from.str(), to.str());
    return {};
  }
  void keep() { isKept = true; }

private:
  std::vector<std::pair<std::string, std::string>> done;
  bool isKept = false;
};
} // namespace

/// A new file in `directory`, which is there under `path`.
static Error writeTemporary(StringRef directory, StringRef contents,
                            std::string &path) {
  SmallString<256> unique;
  int descriptor;
  if (std::error_code error = fs::createUniqueFile(
          join(directory, ".flashnorm-%%%%%%%%.tmp"), descriptor, unique,
          fs::OF_None, fs::all_read | fs::owner_write))
    return llvm::errorCodeToError(error);
  path = std::string(unique);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << contents;
  stream.close();
  std::error_code error = stream.error();
  stream.clear_error();
  return llvm::errorCodeToError(error);
}

Error flashnorm::replaceOutput(StringRef directory,
                               llvm::ArrayRef<OutputFile> files) {
  auto fail = [](StringRef what, StringRef name, std::error_code error) {
    return createStringError("cannot " + what + " '" + name +
                             "': " + error.message());
  };
  const bool isNew = !fs::exists(directory);
  if (!isNew && !fs::is_directory(directory))
    return fail("make directory", directory,
                std::make_error_code(std::errc::not_a_directory));
  if (std::error_code error = fs::create_directories(directory))
    return fail("make directory", directory, error);

  // Whole files first, under names that nobody reads.
  std::vector<std::string> temporaries;
  bool isDone = false;
  llvm::scope_exit cleanUp([&] {
    for (const std::string &path : temporaries)
      (void)fs::remove(path);
    if (isNew && !isDone)
      (void)fs::remove(directory);
  });
  for (const OutputFile &file : files) {
    temporaries.emplace_back();
    if (Error error =
            writeTemporary(directory, file.contents, temporaries.back()))
      return fail("write", join(directory, file.name),
                  llvm::errorToErrorCode(std::move(error)));
  }

  // Then the old ones out of the way, those that get a successor included, and
  // the new ones in their place; the names change together or not at all.
  std::vector<std::string> olds = findOwnFiles(directory);
  for (const OutputFile &file : files)
    if (!llvm::is_contained(olds, file.name))
      olds.push_back(file.name);
  std::vector<std::string> retired;
  {
    Renames renames;
    for (const std::string &name : olds) {
      const std::string path = join(directory, name);
      if (!fs::exists(path))
        continue;
      if (!fs::is_regular_file(path))
        return fail("write", path,
                    std::make_error_code(std::errc::file_exists));
      SmallString<256> unique;
      fs::createUniquePath(join(directory, ".flashnorm-%%%%%%%%.old"), unique,
                           /*MakeAbsolute=*/false);
      if (std::error_code error = renames.rename(path, unique))
        return fail("replace", path, error);
      retired.emplace_back(unique);
    }
    for (auto [temporary, file] : llvm::zip_equal(temporaries, files))
      if (std::error_code error =
              renames.rename(temporary, join(directory, file.name)))
        return fail("write", join(directory, file.name), error);
    renames.keep();
  }
  for (const std::string &path : retired)
    (void)fs::remove(path);
  temporaries.clear();
  isDone = true;
  return Error::success();
}
