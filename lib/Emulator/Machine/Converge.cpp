//===- Converge.cpp - Instructions that threads execute together ----------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Machine.h"
#include "llvm/Support/FormatVariadic.h"

using namespace flashnorm::emulator;

using Execute = llvm::function_ref<void(llvm::ArrayRef<Arrival>)>;

static std::string format(const std::bitset<128> &threads, uint32_t first) {
  std::string text;
  unsigned shown = 0;
  for (unsigned i = 0; i != threads.size(); ++i) {
    if (!threads[i])
      continue;
    if (shown++ == 8)
      return text + " …";
    text += llvm::formatv(" {0}:{1}", (first + i) / 32, (first + i) % 32);
  }
  return text;
}

/// Those of the CTA's threads from `first`, of a warp's begin, on that have not
/// exited.
static std::bitset<128> getLive(const Cta &cta, uint32_t first,
                                const std::bitset<128> &among) {
  std::bitset<128> live;
  for (unsigned i = 0; i != 4 && first / 32 + i < cta.exitedLanes.size(); ++i)
    live |= std::bitset<128>(~cta.exitedLanes[first / 32 + i]) << (32 * i);
  return live & among;
}

static std::bitset<128> getGroup(uint32_t size) {
  std::bitset<128> group;
  group.set();
  return group >> (128 - size);
}

static void complete(Cta &cta, Meeting &meeting) {
  // Taken out first: `execute` may let other threads run, which may meet again.
  std::unique_ptr<Meeting> owned;
  for (std::unique_ptr<Meeting> &slot : cta.meetings)
    if (slot.get() == &meeting) {
      owned = std::move(slot);
      slot = std::move(cta.meetings.back());
      cta.meetings.pop_back();
      break;
    }
  meeting.execute(meeting.arrivals);
  for (const Arrival &arrival : meeting.arrivals)
    if (arrival.thread)
      cta.machine.wake(*arrival.thread);
  cta.freeMeetings.push_back(std::move(owned));
}

static void converge(Thread &thread, const Site &site, uint32_t first,
                     uint32_t size, const std::bitset<128> &expected,
                     bool aligned, uint64_t *words, Execute execute) {
  Cta &cta = thread.cta;
  uint32_t position = thread.index - first;
  Meeting *meeting = nullptr;
  for (std::unique_ptr<Meeting> &other : cta.meetings) {
    bool overlaps = other->firstThread < first + size &&
                    first < other->firstThread + other->arrivals.size();
    if (!overlaps)
      continue;
    if (other->site == &site && other->firstThread == first &&
        other->expected == expected) {
      meeting = other.get();
      continue;
    }
    auto describe = [&]() {
      return llvm::formatv("threads (warp:lane){0} are at line {1}: '{2}'",
                           format(other->arrived, other->firstThread),
                           other->site->location.ptxLine, other->site->text)
          .str();
    };
    // Meetings of .aligned instructions are with the whole warp; another warp
    // of the group may still be elsewhere.
    uint32_t warpAt = thread.warp * 32 - other->firstThread;
    bool warpIsThere =
        warpAt < 128 && (other->arrived >> warpAt & getGroup(32)).any();
    if (aligned && other->aligned && warpIsThere)
      thread.fault(FaultKind::Divergence,
                   "the warp has diverged at an instruction that all its "
                   "threads must execute together",
                   {describe()});
    if (other->site == &site && other->firstThread == first &&
        (other->expected & expected).any())
      thread.fault(
          FaultKind::Divergence,
          "the threads that execute this together name different "
          "members: here (warp:lane)" +
              format(expected, first),
          {describe() + ", which names" + format(other->expected, first)});
  }
  if (!meeting) {
    std::unique_ptr<Meeting> fresh;
    if (cta.freeMeetings.empty()) {
      fresh = std::make_unique<Meeting>();
    } else {
      fresh = std::move(cta.freeMeetings.back());
      cta.freeMeetings.pop_back();
    }
    fresh->site = &site;
    fresh->aligned = aligned;
    fresh->firstThread = first;
    fresh->expected = expected;
    fresh->arrived.reset();
    fresh->arrivals.assign(size, Arrival());
    cta.meetings.push_back(std::move(fresh));
    meeting = cta.meetings.back().get();
  }
  meeting->arrivals[position] = {&thread, words};
  meeting->arrived[position] = true;
  meeting->execute = execute;
  if ((getLive(cta, first, expected) & ~meeting->arrived).none())
    return complete(cta, *meeting);
  thread.block([&]() {
    return "waits for threads (warp:lane)" +
           format(getLive(cta, first, expected) & ~meeting->arrived, first) +
           " to execute it, too";
  });
}

void flashnorm::emulator::convergeWarp(Thread &thread, const Site &site,
                                       uint32_t mask, uint64_t *words,
                                       Execute execute) {
  if (!(mask >> thread.lane & 1))
    thread.fault(FaultKind::IllegalInstruction,
                 llvm::formatv("the member mask {0:x} does not name lane {1}, "
                               "which executes this",
                               mask, thread.lane)
                     .str());
  converge(thread, site, thread.warp * 32, 32, std::bitset<128>(mask),
           /*aligned=*/false, words, execute);
}

void flashnorm::emulator::convergeAligned(Thread &thread, const Site &site,
                                          uint64_t *words, Execute execute) {
  converge(thread, site, thread.warp * 32, 32, getGroup(32), /*aligned=*/true,
           words, execute);
}

void flashnorm::emulator::convergeWarpgroup(Thread &thread, const Site &site,
                                            uint64_t *words, Execute execute) {
  uint32_t first = thread.index / 128 * 128;
  if (first + 128 > thread.cta.threads.size())
    thread.fault(FaultKind::IllegalInstruction,
                 "the CTA has " + llvm::Twine(thread.cta.threads.size()) +
                     " threads: these warps are no whole warpgroup");
  converge(thread, site, first, 128, getGroup(128), /*aligned=*/true, words,
           execute);
}

void flashnorm::emulator::leaveMeetings(Thread &thread) {
  Cta &cta = thread.cta;
  for (size_t i = 0; i != cta.meetings.size();) {
    Meeting &meeting = *cta.meetings[i];
    uint32_t position = thread.index - meeting.firstThread;
    if (position < 128 && meeting.expected[position] &&
        (getLive(cta, meeting.firstThread, meeting.expected) & ~meeting.arrived)
            .none()) {
      complete(cta, meeting);
      i = 0;
    } else {
      ++i;
    }
  }
}
