//===- Machine.cpp - Runs a grid ------------------------------------------===//
//
// Part of FlashNorm, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine/Machine.h"
#include "Machine/Host.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstring>
#include <sys/mman.h>

using namespace flashnorm::emulator;
using flashnorm::EmulatorFault;
using flashnorm::EmulatorFaultError;
using flashnorm::EmulatorLaunch;

/// Shared memory that a CTA of sm_90 can have; older targets have less.
static constexpr uint64_t maxSharedBytes = 227 * 1024;
/// Agents' numbers are used again only beyond so many, the oldest first: who
/// knows of the new owner seems to know of the old one, so that a race with
/// that one may be missed (docs/Emulator.md, "Races"). More would make each new
/// clock larger.
static constexpr size_t minAgents = 32768, minFreeOpAgents = 4096;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

WindowPool::~WindowPool() {
  for (char *window : mapped)
    munmap(window, windowSize);
}

char *WindowPool::take(unsigned numCtas, uint64_t bytes) {
  char *window = nullptr;
  if (!unused.empty()) {
    window = unused.back();
    unused.pop_back();
  } else {
    // Twice the size holds an aligned window; the rest goes back.
    void *memory = mmap(nullptr, 2 * windowSize, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    auto *begin = static_cast<char *>(memory);
    uint64_t before =
        llvm::alignTo(reinterpret_cast<uint64_t>(begin), windowSize) -
        reinterpret_cast<uint64_t>(begin);
    window = begin + before;
    if (before)
      munmap(begin, before);
    if (before != windowSize)
      munmap(window + windowSize, windowSize - before);
    mapped.push_back(window);
  }
  for (unsigned rank = 0; rank != numCtas; ++rank)
    if (mprotect(window + (uint64_t(rank) << 24), llvm::alignTo(bytes, 4096),
                 PROT_READ | PROT_WRITE) != 0)
      return nullptr;
  return window;
}

void WindowPool::giveBack(char *window) {
  // Fresh, inaccessible pages in the place of the used ones.
  if (mmap(window, windowSize, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) != MAP_FAILED)
    unused.push_back(window);
}

//===----------------------------------------------------------------------===//
// Machine
//===----------------------------------------------------------------------===//

Machine::Machine(const EmulatorOptions &options)
    : options(options), host(std::make_unique<Host>()) {}
Machine::~Machine() { cleanUp(); }

const Grid &Machine::findGrid(uint32_t cta) const {
  auto after = llvm::find_if(
      grids, [cta](const Grid &grid) { return grid.firstCta > cta; });
  return *std::prev(after);
}

std::array<uint32_t, 3> Machine::getCtaId(uint32_t cta) const {
  const Grid &grid = findGrid(cta);
  const std::array<uint32_t, 3> &extent = grid.shape.grid;
  cta -= grid.firstCta;
  return {cta % extent[0], cta / extent[0] % extent[1],
          cta / extent[0] / extent[1]};
}

Cluster *Machine::findCluster(const char *address) {
  for (const std::unique_ptr<Cluster> &cluster : clusters)
    if (address >= cluster->window &&
        uint64_t(address - cluster->window) < WindowPool::windowSize)
      return cluster.get();
  return nullptr;
}

uint32_t Machine::takeAgents(uint32_t count) {
  if (count == 1) {
    if (freeAgents.size() <= minFreeOpAgents) {
      // A chunk of clocks at a time.
      uint32_t first = llvm::alignTo(agents.size(), 64);
      agents.resize(first + 64);
      for (uint32_t i = 0; i != 64; ++i)
        freeAgents.push_front(first + 63 - i);
    }
    uint32_t agent = freeAgents.front();
    freeAgents.pop_front();
    return agent;
  }
  if (agents.size() > minAgents && freeAgentRanges.size() > 1 &&
      freeAgentRanges.front().second == count) {
    uint32_t first = freeAgentRanges.front().first;
    freeAgentRanges.pop_front();
    return first;
  }
  uint32_t first = llvm::alignTo(agents.size(), 64);
  agents.resize(first + count);
  return first;
}

void Machine::fault(FaultKind kind, const Site *site, const Thread *thread,
                    const llvm::Twine &message,
                    llvm::ArrayRef<std::string> notes) {
  EmulatorFault fault;
  fault.kind = stringify(kind).str();
  fault.message = message.str();
  const Kernel &kernel =
      thread ? thread->cta.cluster.grid.kernel : grids.front().kernel;
  fault.kernel = kernel.name;
  if (site) {
    const ptx::Location &location = site->location;
    if (location.file < kernel.files.size() && location.line)
      fault.source = llvm::formatv("{0}:{1}:{2}", kernel.files[location.file],
                                   location.line, location.column);
    fault.ptxLine = location.ptxLine;
    fault.instruction = site->text;
  }
  if (thread) {
    fault.cta = thread->cta.id;
    fault.thread = thread->tid;
    fault.warp = thread->warp;
    fault.lane = thread->lane;
  }
  fault.notes.assign(notes.begin(), notes.end());
  pendingFault = std::move(fault);
  resumeFiber(host->runStream, nullptr, nullptr, /*ends=*/true);
  llvm_unreachable("a launch went on after its fault");
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static uint64_t volume(const std::array<uint32_t, 3> &shape) {
  return uint64_t(shape[0]) * shape[1] * shape[2];
}

static std::string format(const std::array<uint32_t, 3> &shape) {
  return llvm::formatv("{0}x{1}x{2}", shape[0], shape[1], shape[2]);
}

llvm::Error Machine::checkShape(const Grid &grid) {
  const Kernel &kernel = grid.kernel;
  const EmulatorLaunch &shape = grid.shape;
  auto fail = [&](const llvm::Twine &message) {
    return llvm::createStringError("cannot launch " + kernel.name + ": " +
                                   message);
  };
  if (!volume(shape.grid) || !volume(shape.block) || !volume(shape.cluster))
    return fail("an extent of grid " + format(shape.grid) + ", block " +
                format(shape.block) + ", cluster " + format(shape.cluster) +
                " is 0");
  if (volume(shape.block) > 1024 || shape.block[2] > 64)
    return fail("block " + format(shape.block) +
                " is larger than 1024 threads, or 64 in z");
  if (volume(shape.grid) > INT32_MAX || shape.grid[1] > 65535 ||
      shape.grid[2] > 65535)
    return fail("grid " + format(shape.grid) +
                " is larger than 2^31-1 CTAs, or 65535 in y or z");
  if (volume(shape.cluster) > 16)
    return fail("cluster " + format(shape.cluster) + " is larger than 16 CTAs");
  for (unsigned i = 0; i != 3; ++i)
    if (shape.grid[i] % shape.cluster[i])
      return fail("grid " + format(shape.grid) + " is no multiple of cluster " +
                  format(shape.cluster));
  uint64_t shared = kernel.dynamicSharedStart() - Kernel::sharedStart +
                    uint64_t(shape.dynamicSharedMemory);
  if (shared > maxSharedBytes)
    return fail(llvm::Twine(shared) + " bytes of shared memory (" +
                llvm::Twine(shape.dynamicSharedMemory) +
                " of them dynamic) exceed " + llvm::Twine(maxSharedBytes));
  if (grid.params.size() != kernel.paramBytes)
    return fail(llvm::Twine(grid.params.size()) + " bytes of parameters, not " +
                llvm::Twine(kernel.paramBytes));
  if (const ptx::Function *function = kernel.function) {
    if (function->reqntid && *function->reqntid != shape.block)
      return fail("block " + format(shape.block) + " is not the .reqntid, " +
                  format(*function->reqntid));
    if (function->maxntid && volume(shape.block) > volume(*function->maxntid))
      return fail("block " + format(shape.block) +
                  " is larger than the .maxntid, " +
                  format(*function->maxntid));
    if (function->reqnctapercluster &&
        *function->reqnctapercluster != shape.cluster)
      return fail("cluster " + format(shape.cluster) +
                  " is not the .reqnctapercluster, " +
                  format(*function->reqnctapercluster));
  }
  return llvm::Error::success();
}

static void schedulerEntry(Switch first) {
  auto &run = *static_cast<llvm::function_ref<void(Context)> *>(first.data);
  run(first.from);
  llvm_unreachable("the scheduler returned");
}

llvm::Error Machine::prepare(Grid &grid) {
  if (llvm::Error error = checkShape(grid))
    return error;
  grid.numClusters = volume(grid.shape.grid) / volume(grid.shape.cluster);
  grid.ctasBeforeLaunch = volume(grid.shape.grid);
  llvm::Expected<MemoryBlock *> block =
      allocations.allocate(std::max<uint64_t>(grid.params.size(), 1));
  if (!block)
    return block.takeError();
  std::memcpy((*block)->base, grid.params.data(), grid.params.size());
  (*block)->initialized.set(0, grid.params.size(), true);
  (*block)->readOnly = true;
  (*block)->name = "the parameters of " + grid.kernel.name;
  grid.paramsAddress = reinterpret_cast<uint64_t>((*block)->base);
  return llvm::Error::success();
}

llvm::Error Machine::runStream(std::vector<Grid> stream) {
  auto begin = std::chrono::steady_clock::now();
  llvm::scope_exit freeParams([&]() {
    for (Grid &grid : grids)
      if (grid.paramsAddress)
        llvm::cantFail(allocations.free(grid.paramsAddress));
    grids.clear();
  });
  grids = std::move(stream);
  uint64_t numCtas = 0, numClusters = 0;
  for (Grid &grid : grids) {
    if (llvm::Error error = prepare(grid))
      return error;
    grid.firstCta = static_cast<uint32_t>(numCtas);
    grid.firstCluster = static_cast<uint32_t>(numClusters);
    numCtas += volume(grid.shape.grid);
    numClusters += grid.numClusters;
  }
  if (numCtas > UINT32_MAX)
    return llvm::createStringError(
        "cannot launch " + llvm::Twine(grids.size()) + " grids with " +
        llvm::Twine(numCtas) + " CTAs in all: more than 2^32-1");
  generator.seed(options.seed);

  // The scheduler has a fiber of its own, so that a fault anywhere, in it as
  // well, leaves everything by one switch to here.
  if (!host->schedulerStack)
    host->schedulerStack = host->stacks.take();
  if (!host->schedulerStack)
    return llvm::createStringError("no memory for the scheduler's stack");
  auto runScheduler = [this](Context from) {
    host->runStream = from;
    schedule();
    resumeFiber(host->runStream, nullptr, nullptr, /*ends=*/true);
  };
  llvm::function_ref<void(Context)> run = runScheduler;
  resumeFiber(makeFiber(host->schedulerStack, schedulerEntry),
              host->schedulerStack, &run);

  statistics.clockBytes =
      std::max(statistics.clockBytes, Clock::getPeakBytes());
  cleanUp();
  statistics.runSeconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  if (!pendingFault)
    return llvm::Error::success();
  EmulatorFault fault = std::move(*pendingFault);
  pendingFault.reset();
  return llvm::make_error<EmulatorFaultError>(std::move(fault));
}

void Machine::cleanUp() {
  pendingOps.clear();
  ready.clear();
  polling.clear();
  suspended.clear();
  for (const std::unique_ptr<Cluster> &cluster : clusters) {
    for (const std::unique_ptr<Cta> &cta : cluster->ctas)
      for (const std::unique_ptr<Thread> &thread : cta->threads)
        if (thread->stack)
          host->stacks.giveBack(thread->stack);
    host->windows.giveBack(cluster->window);
  }
  clusters.clear();
  releases.clear();
  agents.clear();
  freeAgents.clear();
  freeAgentRanges.clear();
  sites.clear();
  doubtful.clear();
  changes = changesAtLastPoll = changesAtIdle = idleRounds = 0;
  allocations.resetRaces();
  Clock::reset();
}

//===----------------------------------------------------------------------===//
// Clusters and threads
//===----------------------------------------------------------------------===//

/// A grid starts when those before it have ended; or, if it may, when all CTAs
/// of the last of them have launched dependents or exited: two grids are in
/// flight at most.
bool Machine::mayStart(size_t index) const {
  if (index == 0)
    return true;
  if (index > 1 && !grids[index - 2].ended())
    return false;
  const Grid &before = grids[index - 1];
  return grids[index].shape.programmatic ? before.ctasBeforeLaunch == 0
                                         : before.ended();
}

void Machine::startClusters() {
  for (size_t i = 0; i != grids.size() && mayStart(i); ++i) {
    Grid &grid = grids[i];
    // Each grid has room of its own: CTAs that wait for the grid before must
    // not keep it from running.
    auto countResident = [&]() {
      return llvm::count_if(clusters, [&](const auto &cluster) {
        return &cluster->grid == &grid;
      });
    };
    for (size_t resident = countResident();
         grid.nextCluster != grid.numClusters &&
         resident < std::max(options.residentClusters, 1u);
         ++resident)
      startCluster(grid);
  }
}

void Machine::startCluster(Grid &grid) {
  const EmulatorLaunch &shape = grid.shape;
  const Kernel &kernel = grid.kernel;
  const std::array<uint32_t, 3> &extent = shape.cluster;
  uint32_t numCtas = volume(extent), numThreads = volume(shape.block);
  uint64_t sharedBytes =
      kernel.dynamicSharedStart() + uint64_t(shape.dynamicSharedMemory);

  uint32_t index = grid.nextCluster++;
  auto owned = std::make_unique<Cluster>(*this, grid);
  Cluster &cluster = *owned;
  cluster.index = grid.firstCluster + index;
  uint32_t x = shape.grid[0] / extent[0], y = shape.grid[1] / extent[1];
  cluster.id = {index % x, index / x % y, index / x / y};
  cluster.window = host->windows.take(numCtas, sharedBytes);
  if (!cluster.window)
    fault(FaultKind::Unsupported, nullptr, nullptr,
          "no memory for the shared memory of another cluster", {});
  cluster.live = numCtas * numThreads;
  cluster.numAgents = std::max(cluster.live, 2u);
  cluster.firstAgent = takeAgents(cluster.numAgents);
  for (uint32_t rank = 0; rank != numCtas; ++rank) {
    auto cta = std::make_unique<Cta>(
        *this, cluster, cluster.window + (uint64_t(rank) << 24), sharedBytes);
    cta->rank = rank;
    cta->idInCluster = {rank % extent[0], rank / extent[0] % extent[1],
                        rank / extent[0] / extent[1]};
    for (unsigned i = 0; i != 3; ++i)
      cta->id[i] = cluster.id[i] * extent[i] + cta->idInCluster[i];
    cta->index = grid.firstCta + cta->id[0] +
                 shape.grid[0] * (cta->id[1] + shape.grid[1] * cta->id[2]);
    cta->live = numThreads;
    cta->shared.isShared = true;
    cta->startRegisters(kernel, numThreads);
    startThreads(*cta);
    cluster.ctas.push_back(std::move(cta));
  }
  clusters.push_back(std::move(owned));
  noteChange();
}

void Machine::startThreads(Cta &cta) {
  const Grid &grid = cta.cluster.grid;
  const EmulatorLaunch &shape = grid.shape;
  const Kernel &kernel = grid.kernel;
  // What must have ended before the grid could start.
  View start;
  size_t index = &grid - grids.data();
  for (size_t i = 0; i + (shape.programmatic ? 1 : 0) < index; ++i)
    start.join(grids[i].endView);
  uint32_t numThreads = volume(shape.block);
  cta.exitedLanes.resize((numThreads + 31) / 32);
  // Lanes that never were count as exited.
  if (numThreads % 32)
    cta.exitedLanes.back() = UINT32_MAX << numThreads % 32;
  for (uint32_t index = 0; index != numThreads; ++index) {
    auto thread = std::make_unique<Thread>(*this, cta);
    thread->index = index;
    thread->lane = index % 32;
    thread->warp = index / 32;
    thread->tid = {index % shape.block[0],
                   index / shape.block[0] % shape.block[1],
                   index / shape.block[0] / shape.block[1]};
    thread->agent = cta.cluster.firstAgent + cta.rank * numThreads + index;
    AgentInfo &info = agents[thread->agent];
    info.cta = cta.index;
    info.cluster = cta.cluster.index;
    info.thread = index;
    info.op = nullptr;
    thread->epoch = thread->firstEpoch = info.lastEpoch + 1;
    thread->view = start;
    thread->asyncRegisters.resize(kernel.numAsyncRegisters);
    thread->local.resize(kernel.localBytes);
    thread->localInitialized.resize(kernel.localBytes);
    makeReady(*thread);
    ++statistics.threads;
    cta.threads.push_back(std::move(thread));
  }
}

void Machine::threadExited(Thread &thread) {
  Cta &cta = thread.cta;
  thread.checkExit();
  thread.exited = true;
  thread.state = Thread::State::Exited;
  agents[thread.agent].lastEpoch = thread.epoch;
  thread.publish(cta.exitView);
  cta.exitedLanes[thread.warp] |= 1u << thread.lane;
  --cta.live;
  --cta.cluster.live;
  if (mayOverlap())
    thread.publish(cta.cluster.grid.endView);
  if (cta.exited()) {
    cta.checkPeers(thread);
    launchDependents(cta);
  }
  leaveMeetings(thread);
  leaveBarriers(thread);
  // What the thread's clocks held is of no more use.
  thread.view.clear();
  thread.released = thread.observed = {};
  noteChange();
}

void Machine::endClusters() {
  for (size_t i = 0; i != clusters.size();) {
    if (clusters[i]->live) {
      ++i;
      continue;
    }
    endCluster(*clusters[i]);
    clusters.erase(clusters.begin() + i);
    startClusters();
  }
}

void Machine::endCluster(Cluster &cluster) {
  judgeDoubtful();
  // Nobody waited for what is still under way, but it will happen.
  for (size_t j = 0; j != pendingOps.size();) {
    AsyncOpRef op = pendingOps[j];
    if (&op->issuer.cta.cluster == &cluster) {
      finish(*op);
      j = 0;
    } else {
      ++j;
    }
  }
  host->windows.giveBack(cluster.window);
  freeAgentRanges.push_back({cluster.firstAgent, cluster.numAgents});
  Grid &grid = cluster.grid;
  ++grid.endedClusters;
  if (!grid.ended())
    return;
  for (Thread *thread : grid.waiting)
    wake(*thread);
  grid.waiting.clear();
  // The end of a grid is visible in every proxy (8.9.4).
  grid.endView.asyncShared.join(grid.endView.generic);
  grid.endView.asyncGlobal.join(grid.endView.generic);
}

//===----------------------------------------------------------------------===//
// Grids that depend on each other: 9.7.13.13
//===----------------------------------------------------------------------===//

void Machine::launchDependents(Cta &cta) {
  if (std::exchange(cta.launchedDependents, true))
    return;
  if (--cta.cluster.grid.ctasBeforeLaunch == 0)
    startClusters();
}

void Machine::waitForEarlierGrid(Thread &thread) {
  Grid &grid = thread.cta.cluster.grid;
  if (&grid == &grids.front())
    return;
  Grid &before = *(&grid - 1);
  while (!before.ended()) {
    before.waiting.push_back(&thread);
    thread.block([&]() {
      return llvm::formatv("waits for the end of the grid before, of {0}, of "
                           "whose {1} clusters {2} have ended",
                           before.kernel.name, before.numClusters,
                           before.endedClusters)
          .str();
    });
  }
  thread.acquire(before.endView);
}
