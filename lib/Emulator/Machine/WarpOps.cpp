//===- WarpOps.cpp - What the threads of a warp do together ---------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of these only bar.warp.sync orders memory (PTX ISA 9.7.13.2).
//
//===----------------------------------------------------------------------===//

#include "Isa/OpcodeTable.h"
#include "Machine/Machine.h"
#include "llvm/ADT/bit.h"

using namespace flashnorm::emulator;
using Arrivals = llvm::ArrayRef<Arrival>;

/// What an undefined result is: nothing that a program could have meant.
static constexpr uint32_t undefinedValue = 0xdeadbeef;

/// Runs execute(arrivals) once for the lanes of `mask`, then goes on.
static void together(Thread &thread, const Site &site, uint64_t mask,
                     uint64_t *words,
                     llvm::function_ref<void(Arrivals)> execute) {
  thread.preempt();
  convergeWarp(thread, site, static_cast<uint32_t>(mask), words, execute);
}

/// Writes a pair's halves, either of which may be absent.
static void setPair(const Site &site, uint64_t *words, uint64_t first,
                    uint64_t second) {
  unsigned count = site.count(0);
  if (count > 0)
    word(words, site, 0) = first;
  if (count > 1)
    words[site.operands[0].first + 1] = second;
}

/// bar.warp.sync mask
static void warpSync(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 0), words, [](Arrivals arrivals) {
    View view;
    for (const Arrival &arrival : arrivals)
      if (arrival.thread)
        arrival.thread->release(view);
    for (const Arrival &arrival : arrivals)
      if (arrival.thread)
        arrival.thread->acquire(view);
  });
}

/// shfl.sync.mode.b32 d{|p}, a, b, c, mask: 9.7.9.6
template <int mode> // of .up, .down, .bfly, .idx
static void shfl(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 4), words, [&](Arrivals arrivals) {
    std::array<uint32_t, 32> values{}, inRange{};
    for (unsigned lane = 0; lane != 32; ++lane) {
      if (!arrivals[lane].thread)
        continue;
      uint64_t *mine = arrivals[lane].words;
      unsigned b = word(mine, site, 2) & 31;
      auto c = static_cast<uint32_t>(word(mine, site, 3));
      unsigned clamp = c & 31, segment = c >> 8 & 31;
      unsigned last = (lane & segment) | (clamp & ~segment & 31);
      unsigned first = lane & segment;
      int from = lane;
      bool isIn = false;
      if (mode == 0) {
        from = int(lane) - int(b);
        isIn = from >= int(last);
      } else {
        from = mode == 1   ? lane + b
               : mode == 2 ? lane ^ b
                           : first | (b & ~segment & 31);
        isIn = from <= int(last);
      }
      if (!isIn)
        from = lane;
      inRange[lane] = isIn;
      values[lane] =
          arrivals[from].thread
              ? static_cast<uint32_t>(word(arrivals[from].words, site, 1))
              : undefinedValue ^ lane;
    }
    for (unsigned lane = 0; lane != 32; ++lane)
      if (arrivals[lane].thread)
        setPair(site, arrivals[lane].words, values[lane], inRange[lane]);
  });
}

/// vote.sync.{all,any,uni}.pred d, a, mask and .ballot.b32: 9.7.13.9
template <int mode> // of .all, .any, .uni, .ballot
static void vote(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 2), words, [&](Arrivals arrivals) {
    uint32_t ballot = 0, members = 0;
    for (unsigned lane = 0; lane != 32; ++lane)
      if (arrivals[lane].thread) {
        members |= 1u << lane;
        if (word(arrivals[lane].words, site, 1) & 1)
          ballot |= 1u << lane;
      }
    uint32_t result = mode == 0   ? ballot == members
                      : mode == 1 ? ballot != 0
                      : mode == 2 ? ballot == members || ballot == 0
                                  : ballot;
    for (const Arrival &arrival : arrivals)
      if (arrival.thread)
        setPair(site, arrival.words, result, 0);
  });
}

/// match.any.sync.type d, a, mask and match.all.sync.type d{|p}, a, mask:
/// 9.7.13.10
template <bool all>
static void match(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 2), words, [&](Arrivals arrivals) {
    uint32_t members = 0;
    bool same = true;
    const uint64_t *first = nullptr;
    std::array<uint32_t, 32> equal{};
    for (unsigned i = 0; i != 32; ++i) {
      if (!arrivals[i].thread)
        continue;
      members |= 1u << i;
      if (!first)
        first = &word(arrivals[i].words, site, 1);
      same &= word(arrivals[i].words, site, 1) == *first;
      for (unsigned j = 0; j != 32; ++j)
        if (arrivals[j].thread && word(arrivals[i].words, site, 1) ==
                                      word(arrivals[j].words, site, 1))
          equal[i] |= 1u << j;
    }
    for (unsigned i = 0; i != 32; ++i)
      if (arrivals[i].thread) {
        if (all)
          setPair(site, arrivals[i].words, same ? members : 0, same);
        else
          setPair(site, arrivals[i].words, equal[i], 0);
      }
  });
}

namespace {
enum class Redux { Add, MinU, MaxU, MinS, MaxS, And, Or, Xor };
} // namespace

/// redux.sync.op.type d, a, mask: 9.7.13.12
template <Redux operation>
static void redux(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 2), words, [&](Arrivals arrivals) {
    std::optional<uint32_t> result;
    for (const Arrival &arrival : arrivals) {
      if (!arrival.thread)
        continue;
      auto value = static_cast<uint32_t>(word(arrival.words, site, 1));
      if (!result) {
        result = value;
        continue;
      }
      uint32_t &r = *result;
      switch (operation) {
      case Redux::Add:
        r += value;
        break;
      case Redux::MinU:
        r = std::min(r, value);
        break;
      case Redux::MaxU:
        r = std::max(r, value);
        break;
      case Redux::MinS:
        r = std::min(int32_t(r), int32_t(value));
        break;
      case Redux::MaxS:
        r = std::max(int32_t(r), int32_t(value));
        break;
      case Redux::And:
        r &= value;
        break;
      case Redux::Or:
        r |= value;
        break;
      case Redux::Xor:
        r ^= value;
        break;
      }
    }
    for (const Arrival &arrival : arrivals)
      if (arrival.thread)
        setPair(site, arrival.words, *result, 0);
  });
}

/// elect.sync d|p, mask: 9.7.13.14. The same mask elects the same thread.
static void elect(Thread &thread, const Site &site, uint64_t *words) {
  together(thread, site, word(words, site, 1), words, [&](Arrivals arrivals) {
    unsigned leader = 0;
    while (!arrivals[leader].thread)
      ++leader;
    for (unsigned lane = 0; lane != 32; ++lane)
      if (arrivals[lane].thread)
        setPair(site, arrivals[lane].words, leader, lane == leader);
  });
}

/// activemask.b32 d: 9.7.13.11. Which threads run together is not defined; that
/// each runs alone is the answer that is always safe to act on.
static void activemask(Thread &thread, const Site &site, uint64_t *words) {
  if (site.count(0))
    word(words, site, 0) = 1u << thread.lane;
}

llvm::ArrayRef<OpcodeEntry> flashnorm::emulator::getWarpOpcodes() {
  static const OpcodeEntry entries[] = {
      {"bar.warp.sync", "s", "9.7.13.2", nullptr, warpSync},
      {"shfl.sync.up.b32", "p s s s s", "9.7.9.6", nullptr, shfl<0>},
      {"shfl.sync.down.b32", "p s s s s", "9.7.9.6", nullptr, shfl<1>},
      {"shfl.sync.bfly.b32", "p s s s s", "9.7.9.6", nullptr, shfl<2>},
      {"shfl.sync.idx.b32", "p s s s s", "9.7.9.6", nullptr, shfl<3>},
      {"vote.sync.all.pred", "p s s", "9.7.13.9", nullptr, vote<0>},
      {"vote.sync.any.pred", "p s s", "9.7.13.9", nullptr, vote<1>},
      {"vote.sync.uni.pred", "p s s", "9.7.13.9", nullptr, vote<2>},
      {"vote.sync.ballot.b32", "d s s", "9.7.13.9", nullptr, vote<3>},
      {"match.any.sync(.b32|.b64)", "d s s", "9.7.13.10", nullptr,
       match<false>},
      {"match.all.sync(.b32|.b64)", "p s s", "9.7.13.10", nullptr, match<true>},
      {"redux.sync.add(.u32|.s32)", "d s s", "9.7.13.12", nullptr,
       redux<Redux::Add>},
      {"redux.sync.min.u32", "d s s", "9.7.13.12", nullptr, redux<Redux::MinU>},
      {"redux.sync.max.u32", "d s s", "9.7.13.12", nullptr, redux<Redux::MaxU>},
      {"redux.sync.min.s32", "d s s", "9.7.13.12", nullptr, redux<Redux::MinS>},
      {"redux.sync.max.s32", "d s s", "9.7.13.12", nullptr, redux<Redux::MaxS>},
      {"redux.sync.and.b32", "d s s", "9.7.13.12", nullptr, redux<Redux::And>},
      {"redux.sync.or.b32", "d s s", "9.7.13.12", nullptr, redux<Redux::Or>},
      {"redux.sync.xor.b32", "d s s", "9.7.13.12", nullptr, redux<Redux::Xor>},
      {"elect.sync", "p s", "9.7.13.14", nullptr, elect},
      {"activemask.b32", "d", "9.7.13.11", nullptr, activemask},
  };
  return entries;
}
