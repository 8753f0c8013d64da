//===- TensorMapOps.cpp - tensormap.replace and its fence -----------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.26 and 9.7.13.4. A kernel changes fields of a tensor map in
// memory by ordinary writes of all its 128 bytes; that the values make a map is
// checked when a copy uses it.
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "Machine/Memory.h"
#include "Tensor/TensorMap.h"
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;

namespace {

constexpr unsigned mapBytes = TensorMap::encodedBytes;

/// [addr], {ord,} value
void replace(Thread &thread, const Site &site, uint64_t *words,
             TensorMapField field, bool hasOrdinal) {
  static constexpr Space spaces[] = {Space::Global, Space::Shared};
  Space space = site.has(1) ? spaces[site.get(1)] : Space::Generic;
  uint64_t address = word(words, site, 0);
  uint64_t value = word(words, site, hasOrdinal ? 2 : 1);
  if (site.get(2) == 0) // .b32
    value = static_cast<uint32_t>(value);
  unsigned ordinal =
      hasOrdinal ? static_cast<unsigned>(word(words, site, 1)) : 0;
  bool isWide = field == TensorMapField::GlobalAddress ||
                field == TensorMapField::GlobalStride;
  if (isWide != (site.get(2) == 1))
    thread.fault(FaultKind::IllegalInstruction,
                 llvm::Twine("this field is replaced by .b") +
                     (isWide ? "64" : "32"));
  access(thread, space, address, mapBytes, mapBytes, Access::Read);
  char *bytes =
      access(thread, space, address, mapBytes, mapBytes, Access::Write);
  if (std::string problem = replaceField(bytes, field, ordinal, value);
      !problem.empty())
    thread.fault(FaultKind::BadTensorMap, problem);
}

void replaceOne(Thread &thread, const Site &site, uint64_t *words) {
  static constexpr TensorMapField fields[] = {
      TensorMapField::GlobalAddress, TensorMapField::Rank,
      TensorMapField::ElementType,   TensorMapField::InterleaveLayout,
      TensorMapField::SwizzleMode,   TensorMapField::FillMode};
  replace(thread, site, words, fields[site.get(0)], /*hasOrdinal=*/false);
}

void replaceDimension(Thread &thread, const Site &site, uint64_t *words) {
  static constexpr TensorMapField fields[] = {
      TensorMapField::BoxDim, TensorMapField::GlobalDim,
      TensorMapField::GlobalStride, TensorMapField::ElementStride};
  replace(thread, site, words, fields[site.get(0)], /*hasOrdinal=*/true);
}

/// [dst], [src], size: the warp copies a map and releases it.
void copyAndFence(Thread &thread, const Site &site, uint64_t *words) {
  uint64_t to = word(words, site, 0), from = word(words, site, 1);
  if (word(words, site, 2) != mapBytes)
    thread.fault(FaultKind::IllegalInstruction,
                 "a tensor map has 128 bytes, not " +
                     llvm::Twine(word(words, site, 2)));
  convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    char data[mapBytes];
    std::memcpy(
        data,
        access(thread, Space::Shared, from, mapBytes, mapBytes, Access::Read),
        mapBytes);
    std::memcpy(
        access(thread, Space::Global, to, mapBytes, mapBytes, Access::Write),
        data, mapBytes);
    View written;
    thread.release(written);
    for (const Arrival &arrival : arrivals) {
      if (!arrival.thread)
        continue;
      if (word(arrival.words, site, 0) != to ||
          word(arrival.words, site, 1) != from)
        arrival.thread->fault(FaultKind::IllegalInstruction,
                              "the threads of the warp name different maps");
      arrival.thread->acquire(written);
      releaseTensorMaps(*arrival.thread, static_cast<Scope>(site.get(0)));
    }
  });
}

const OpcodeEntry entries[] = {
    {"tensormap.replace.tile(.global_address|.rank|.elemtype"
     "|.interleave_layout|.swizzle_mode|.fill_mode){.global|.shared::cta}"
     ".b1024(.b32|.b64)",
     "m s", "9.7.9.26", nullptr, replaceOne},
    {"tensormap.replace.tile(.box_dim|.global_dim|.global_stride"
     "|.element_stride){.global|.shared::cta}.b1024(.b32|.b64)",
     "m c s", "9.7.9.26", nullptr, replaceDimension},
    {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release"
     "(.cta|.cluster|.gpu|.sys).sync.aligned",
     "m m c", "9.7.13.5", nullptr, copyAndFence, OpcodeEntry::Warp},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getTensorMapOpcodes() { return entries; }
