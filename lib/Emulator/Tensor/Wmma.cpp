//===- Wmma.cpp - wmma.load, wmma.store and wmma.mma ----------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.14.4. How fragments are spread over lanes is not specified. Here,
// they hold the matrix row by row, the first elements in the first lane, and
// again from the begin where there is more room than elements (f16).
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Memory.h"
#include "Tensor/Numerics.h"
#include "Tensor/Products.h"
#include <cmath>
#include <cstring>

using namespace flashnorm;
using namespace flashnorm::emulator;

namespace {

constexpr unsigned warpSize = 32;

struct Shape {
  unsigned m, n, k;
};
constexpr Shape shapes[] = {
    {16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8}};

/// Which matrix: A is m x k, B is k x n, C and D are m x n.
enum class Role { A, B, C };

struct Fragment {
  unsigned rows = 0, columns = 0;
  unsigned bits = 0;      ///< of an element
  unsigned registers = 0; ///< per lane

  unsigned perRegister() const { return 32 / bits; }
  unsigned perLane() const { return registers * perRegister(); }
  unsigned size() const { return rows * columns; }
};

Fragment getFragment(Role role, const Shape &shape, ptx::Type type) {
  Fragment fragment;
  fragment.rows = role == Role::B ? shape.k : shape.m;
  fragment.columns = role == Role::A ? shape.k : shape.n;
  fragment.bits = ptx::sizeInBits(type);
  fragment.registers = fragment.size() * fragment.bits / (32 * warpSize);
  // Kept from the first devices with wmma.
  if (type == ptx::Type::F16 && role != Role::C)
    fragment.registers = 8;
  return fragment;
}

/// A state space group: {.global|.shared|.shared::cta}.
Space getSpace(const Site &site, unsigned group) {
  switch (site.get(group)) {
  case 0:
    return Space::Global;
  case 1:
  case 2:
    return Space::Shared;
  default:
    return Space::Generic;
  }
}

void checkRegisters(Thread &thread, const Site &site, unsigned operand,
                    const Fragment &fragment) {
  if (site.count(operand) != fragment.registers)
    thread.fault(FaultKind::IllegalInstruction,
                 llvm::Twine("a fragment of ") +
                     llvm::Twine(site.count(operand)) + " registers, not " +
                     llvm::Twine(fragment.registers));
}

/// Calls visit(address, register, shift) for the elements that a lane holds.
template <typename Visitor>
void visitMemory(const Thread &thread, const Fragment &fragment, bool byColumn,
                 uint64_t address, uint64_t stride, Visitor visit) {
  for (unsigned i = 0; i < fragment.perLane(); ++i) {
    unsigned element = (thread.lane * fragment.perLane() + i) % fragment.size();
    uint64_t row = element / fragment.columns,
             column = element % fragment.columns;
    uint64_t at = byColumn ? column * stride + row : row * stride + column;
    visit(address + at * (fragment.bits / 8), i / fragment.perRegister(),
          i % fragment.perRegister() * fragment.bits);
  }
}

uint64_t getStride(const Site &site, uint64_t *words, unsigned operand,
                   const Fragment &fragment, bool byColumn) {
  if (site.count(operand))
    return static_cast<uint32_t>(word(words, site, operand));
  return byColumn ? fragment.rows : fragment.columns;
}

/// d, [address] {, stride}
void executeLoad(Thread &thread, const Site &site, uint64_t *words) {
  Fragment fragment = getFragment(static_cast<Role>(site.get(0)),
                                  shapes[site.get(2)], site.types.back());
  checkRegisters(thread, site, 0, fragment);
  bool byColumn = site.get(1) == 1;
  uint64_t *registers = &word(words, site, 0);
  uint64_t address = word(words, site, 1);
  uint64_t stride = getStride(site, words, 2, fragment, byColumn);
  std::fill(registers, registers + fragment.registers, 0);
  unsigned bytes = fragment.bits / 8;
  visitMemory(thread, fragment, byColumn, address, stride,
              [&](uint64_t at, unsigned r, unsigned shift) {
                uint32_t bits = 0;
                std::memcpy(&bits,
                            access(thread, getSpace(site, 3), at, bytes, bytes,
                                   Access::Read),
                            bytes);
                registers[r] |= static_cast<uint64_t>(bits) << shift;
              });
  convergeAligned(thread, site, words, [](llvm::ArrayRef<Arrival>) {});
}

/// [address], d {, stride}
void executeStore(Thread &thread, const Site &site, uint64_t *words) {
  Fragment fragment =
      getFragment(Role::C, shapes[site.get(1)], site.types.back());
  checkRegisters(thread, site, 1, fragment);
  convergeAligned(thread, site, words, [](llvm::ArrayRef<Arrival>) {});
  bool byColumn = site.get(0) == 1;
  const uint64_t *registers = &word(words, site, 1);
  uint64_t address = word(words, site, 0);
  uint64_t stride = getStride(site, words, 2, fragment, byColumn);
  unsigned bytes = fragment.bits / 8;
  visitMemory(thread, fragment, byColumn, address, stride,
              [&](uint64_t at, unsigned r, unsigned shift) {
                auto bits = static_cast<uint32_t>(registers[r] >> shift);
                std::memcpy(access(thread, getSpace(site, 2), at, bytes, bytes,
                                   Access::Write),
                            &bits, bytes);
              });
}

/// The elements of a fragment, row by row, each in 32 bits.
std::vector<uint32_t> gather(const Site &site, unsigned operand,
                             const Fragment &fragment,
                             llvm::ArrayRef<Arrival> arrivals) {
  std::vector<uint32_t> elements(fragment.size());
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < fragment.perLane(); ++i) {
      uint64_t bits = (&word(arrivals[lane].words, site,
                             operand))[i / fragment.perRegister()] >>
                      (i % fragment.perRegister() * fragment.bits);
      uint64_t mask = (UINT64_C(1) << fragment.bits) - 1;
      elements[(lane * fragment.perLane() + i) % fragment.size()] =
          static_cast<uint32_t>(bits & mask);
    }
  return elements;
}

template <typename Value>
std::vector<Value> widen(const std::vector<uint32_t> &elements,
                         ElementType type) {
  std::vector<Value> values(elements.size());
  for (size_t i = 0; i < elements.size(); ++i)
    widenElements(reinterpret_cast<const char *>(&elements[i]), type, 1,
                  &values[i]);
  return values;
}

void multiply(Thread &thread, const Site &site,
              llvm::ArrayRef<Arrival> arrivals) {
  for (const Arrival &arrival : arrivals)
    if (!arrival.thread)
      thread.fault(FaultKind::Divergence,
                   "a lane of the warp has exited or never was; wmma needs all "
                   "32");
  Shape shape = shapes[site.get(2)];
  ptx::Type result = site.types.front(), start = site.types.back();
  bool implicit = site.types.size() == 2;
  ptx::Type aType = implicit ? ptx::Type::F16 : site.types[1];
  ptx::Type bType = implicit ? ptx::Type::F16 : site.types[2];
  ElementType type = *getElementType(aType), otherType = *getElementType(bType);
  Fragment a = getFragment(Role::A, shape, aType);
  Fragment b = getFragment(Role::B, shape, bType);
  Fragment c = getFragment(Role::C, shape, start);
  Fragment d = getFragment(Role::C, shape, result);
  checkRegisters(thread, site, 0, d);
  checkRegisters(thread, site, 1, a);
  checkRegisters(thread, site, 2, b);
  checkRegisters(thread, site, 3, c);
  bool integers = isInteger(type);
  if (integers != isInteger(otherType) ||
      integers != (result == ptx::Type::S32) ||
      integers != (start == ptx::Type::S32))
    thread.fault(FaultKind::IllegalInstruction, "no such types");
  std::vector<uint32_t> left = gather(site, 1, a, arrivals);
  std::vector<uint32_t> right = gather(site, 2, b, arrivals);
  std::vector<uint32_t> sums = gather(site, 3, c, arrivals);
  if (integers) {
    multiplyAccumulate(widen<int32_t>(left, type).data(),
                       widen<int32_t>(right, otherType).data(),
                       reinterpret_cast<int32_t *>(sums.data()), shape.m,
                       shape.n, shape.k, site.has(7));
  } else {
    std::vector<float> values(sums.size());
    for (size_t i = 0; i < sums.size(); ++i)
      values[i] = start == ptx::Type::F16
                      ? floatFromF16(static_cast<uint16_t>(sums[i]))
                      : llvm::bit_cast<float>(sums[i]);
    multiplyAccumulate(widen<float>(left, type).data(),
                       widen<float>(right, otherType).data(), values.data(),
                       shape.m, shape.n, shape.k);
    FloatFormat format =
        result == ptx::Type::F16 ? FloatFormat::F16 : FloatFormat::F32;
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] = encodeFloat(values[i], format, Rounding::NearestEven, NoFlags);
  }
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t *registers = &word(arrivals[lane].words, site, 0);
    std::fill(registers, registers + d.registers, 0);
    for (unsigned i = 0; i < d.perLane(); ++i)
      registers[i / d.perRegister()] |=
          static_cast<uint64_t>(sums[(lane * d.perLane() + i) % d.size()])
          << (i % d.perRegister() * d.bits);
  }
}

void executeMma(Thread &thread, const Site &site, uint64_t *words) {
  convergeAligned(thread, site, words, [&](llvm::ArrayRef<Arrival> arrivals) {
    multiply(thread, site, arrivals);
  });
}

constexpr auto warpWide = OpcodeEntry::Warp;

#define FLASHNORM_WMMA_SHAPES "(.m16n16k16|.m8n32k16|.m32n8k16|.m16n16k8)"

const OpcodeEntry entries[] = {
    {"wmma.load(.a|.b|.c).sync.aligned(.row|.col)" FLASHNORM_WMMA_SHAPES
     "{.global|.shared|.shared::cta}(.f16|.bf16|.tf32|.f32|.s8|.u8|.s32)",
     "d m s?", "9.7.14.4.3", nullptr, executeLoad, warpWide},
    {"wmma.store.d.sync.aligned(.row|.col)" FLASHNORM_WMMA_SHAPES
     "{.global|.shared|.shared::cta}(.f16|.f32|.s32)",
     "m s s?", "9.7.14.4.4", nullptr, executeStore, warpWide},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)" FLASHNORM_WMMA_SHAPES
     "(.f16|.f32)(.f16|.f32)",
     "d s s s", "9.7.14.4.5", nullptr, executeMma, warpWide},
    {"wmma.mma.sync.aligned(.row|.col)(.row|.col)" FLASHNORM_WMMA_SHAPES
     "(.f32|.s32)(.bf16|.tf32|.s8|.u8)(.bf16|.tf32|.s8|.u8)(.f32|.s32)"
     "{.satfinite}",
     "d s s s", "9.7.14.4.5", nullptr, executeMma, warpWide},
};

} // namespace

llvm::ArrayRef<OpcodeEntry> emulator::getWmmaOpcodes() { return entries; }
