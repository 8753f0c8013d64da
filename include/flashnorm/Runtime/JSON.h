//===- JSON.h - Reads JSON of unknown origin --------------------*- C++ -*-===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FLASHNORM_RUNTIME_JSON_H
#define FLASHNORM_RUNTIME_JSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace flashnorm {

/// llvm::json::parse for text that anybody may have written: the parser
/// recurses, so that nesting deeper than 64 is an error here.
inline llvm::Expected<llvm::json::Value> parseJSON(llvm::StringRef text) {
  constexpr int64_t maxDepth = 64;
  int64_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > maxDepth)
      return llvm::createStringError("JSON is nested deeper than %d levels",
                                     static_cast<int>(maxDepth));
    else if (!inString && (c == ']' || c == '}'))
      --depth;
  }
  return llvm::json::parse(text);
}

} // namespace flashnorm

#endif // FLASHNORM_RUNTIME_JSON_H
