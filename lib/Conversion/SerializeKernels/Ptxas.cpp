//===- Ptxas.cpp - Runs NVIDIA's assembler --------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "flashnorm/Conversion/Ptxas.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

Expected<std::optional<std::string>> flashnorm::findPtxas(StringRef requested) {
  auto executable = [](const Twine &path) -> std::optional<std::string> {
    if (sys::fs::can_execute(path))
      return path.str();
    return std::nullopt;
  };
  if (!requested.empty()) {
    if (auto path = executable(requested))
      return path;
    return createStringError("cannot run '" + requested + "'");
  }
  // A path that somebody set is meant: another ptxas in its place would be a
  // surprise, and so would none.
  auto environment = sys::Process::GetEnv("FLASHNORM_PTXAS");
  if (environment && !environment->empty()) {
    if (auto path = executable(*environment))
      return path;
    return createStringError("cannot run '" + *environment +
                             "', which FLASHNORM_PTXAS names");
  }
  if (auto path = sys::findProgramByName("ptxas"))
    return std::optional<std::string>(*path);
  if (auto home = sys::Process::GetEnv("CUDA_HOME"))
    if (auto path = executable(*home + "/bin/ptxas"))
      return path;
  return executable("/usr/local/cuda/bin/ptxas");
}

/// Text of a file, empty when it cannot be read.
static std::string readText(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// What ptxas says that we do not accept, or an empty string.
static std::string findComplaint(StringRef log) {
  static const Regex spill("([1-9][0-9]*) bytes spill (stores|loads)");
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines)
    if (line.contains("C75") || line.contains("C76") || spill.match(line))
      return line.trim().str();
  return "";
}

Expected<std::string> flashnorm::assemble(StringRef ptxas, StringRef ptx,
                                          StringRef chip) {
  auto fail = [](const Twine &message) -> Error {
    return createStringError(inconvertibleErrorCode(), message);
  };
  SmallString<128> input, output, log;
  if (std::error_code error =
          sys::fs::createTemporaryFile("flashnorm", "ptx", input))
    return fail("cannot create a temporary file: " + error.message());
  FileRemover removeInput(input);
  if (std::error_code error =
          sys::fs::createTemporaryFile("flashnorm", "cubin", output))
    return fail("cannot create a temporary file: " + error.message());
  FileRemover removeOutput(output);
  if (std::error_code error =
          sys::fs::createTemporaryFile("flashnorm", "log", log))
    return fail("cannot create a temporary file: " + error.message());
  FileRemover removeLog(log);
  {
    std::error_code error;
    raw_fd_ostream stream(input, error);
    stream << ptx;
    stream.close();
    if (!error)
      error = stream.error();
    stream.clear_error(); // reported here, it must not end the program
    if (error)
      return fail("cannot write " + input + ": " + error.message());
  }

  std::string arch = ("-arch=" + chip).str();
  SmallVector<StringRef> arguments{ptxas, "-v", arch, input, "-o", output};
  std::optional<StringRef> redirects[] = {StringRef(), log.str(), log.str()};
  std::string message;
  int status =
      sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects,
                          /*SecondsToWait=*/120, /*MemoryLimit=*/0, &message);
  std::string text = readText(log);
  if (status != 0) {
    std::string reason = ptxas.str() + " failed for " + chip.str() +
                         " (status " + std::to_string(status) + ")";
    if (!message.empty())
      reason += ": " + message;
    if (StringRef said = StringRef(text).trim(); !said.empty())
      reason += ":\n" + said.str();
    return fail(reason);
  }
  if (std::string complaint = findComplaint(text); !complaint.empty())
    return fail("ptxas warns for " + chip + ": " + complaint);
  auto cubin = MemoryBuffer::getFile(output);
  if (!cubin)
    return fail("cannot read " + output + ": " + cubin.getError().message());
  // A cubin is an ELF file. What succeeds without writing one is no ptxas.
  StringRef code = (*cubin)->getBuffer();
  if (!code.starts_with("\x7f"
                        "ELF"))
    return fail(ptxas + " wrote no machine code for " + chip +
                ": it is not NVIDIA's assembler");
  return code.str();
}
