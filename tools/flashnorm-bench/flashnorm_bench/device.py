"""One GPU through torch: what it is, how it is heated, and how times are taken.

Every candidate becomes a CUDA graph. A repetition replays the graphs of all
candidates in turn, each after a flush of the L2 cache and between two events, so
that drift of the clock meets all of them alike.
"""

import dataclasses
import random
import time
from typing import Callable

import torch

from flashnorm_bench import cuda, stats

# Read before each measurement, so that no input and no dirty line of an output
# is left in L2. A multiple of any L2.
FLUSH_BYTES = 256 << 20
HEAT_SIZE = 8192
# Work put before a block: it keeps the clock where it is under load, and the
# host gets ahead of the device.
BLOCK_HEAT_S = 0.03
MIN_REPETITIONS, MAX_REPETITIONS = 3, 60


@dataclasses.dataclass
class Candidate:
    """`run` enqueues the work on the current stream and returns its result."""
    name: str
    run: Callable
    graph: object = None
    output: object = None
    first_call_seconds: float = None


class Gpu:
    def __init__(self, seed):
        if not torch.cuda.is_available():
            raise cuda.CudaError("torch finds no CUDA device")
        torch.zeros(1, device="cuda")  # makes the context that Driver uses
        self.driver = cuda.Driver()
        properties = torch.cuda.get_device_properties(0)
        self.sms = properties.multi_processor_count
        self.chip = f"sm_{properties.major}{properties.minor}"
        self.name, self.memory = properties.name, properties.total_memory
        self.clock = cuda.Clock(self.driver.bus_id())
        self.order = random.Random(seed)
        self.new_pool()
        self.flush_buffer = torch.zeros(FLUSH_BYTES // 4, device="cuda")
        self.flush_sum = torch.zeros((), device="cuda")
        heater = torch.randn(HEAT_SIZE, HEAT_SIZE, device="cuda",
                             dtype=torch.bfloat16)
        heated = torch.empty_like(heater)
        self.flush = self.capture(Candidate(
            "flush", lambda: torch.sum(self.flush_buffer, 0,
                                       out=self.flush_sum)))
        self.heater = self.capture(Candidate(
            "heater", lambda: torch.mm(heater, heater, out=heated)))
        null = self.driver.launch_function(
            self.driver.load(cuda.NULL_PTX, "null"), 1, 32)
        self.null = self.capture(Candidate("null", self.on_stream(null)))

    def new_pool(self):
        """Graphs from here on have memory of their own, which is freed with
        them."""
        self.pool = torch.cuda.graph_pool_handle()

    @staticmethod
    def on_stream(launch, result=None):
        """A run of a Candidate from a launch of module cuda."""
        def run():
            launch(torch.cuda.current_stream().cuda_stream)
            return result
        return run

    def capture(self, candidate):
        """Runs it, which compiles what compiles late, and makes its graph."""
        start = time.perf_counter()
        candidate.run()
        torch.cuda.synchronize()
        candidate.first_call_seconds = time.perf_counter() - start
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            candidate.run()
        torch.cuda.synchronize()
        candidate.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(candidate.graph, pool=self.pool, stream=side,
                              capture_error_mode="thread_local"):
            candidate.output = candidate.run()
        return candidate

    def heat(self, seconds):
        """Runs the tensor cores for this long."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(4):
                self.heater.graph.replay()
            torch.cuda.synchronize()

    def block(self, candidates, repetitions, clocks):
        """Microseconds of each repetition, by candidate."""
        events = []
        # About 1.5 ms each.
        for _ in range(max(1, round(BLOCK_HEAT_S / 1.5e-3))):
            self.heater.graph.replay()
        for repetition in range(repetitions):
            order = list(range(len(candidates)))
            self.order.shuffle(order)
            for number in order:
                start = torch.cuda.Event(enable_timing=True)
                end = torch.cuda.Event(enable_timing=True)
                self.flush.graph.replay()
                start.record()
                candidates[number].graph.replay()
                end.record()
                events.append((number, start, end))
            if repetition == repetitions // 2:
                clocks.append(self.clock.read())
        torch.cuda.synchronize()
        times = [[] for _ in candidates]
        for number, start, end in events:
            times[number].append(1e3 * start.elapsed_time(end))
        return times

    def measure(self, candidates, blocks, seconds):
        """Times by candidate (stats.summarize, microseconds) and the SM clock in
        MHz. Takes about `seconds`, and at least MIN_REPETITIONS a block."""
        clocks = []
        start = time.perf_counter()
        self.block(candidates, 1, clocks)
        warm = time.perf_counter() - start - BLOCK_HEAT_S
        repetitions = int(seconds / blocks / max(warm, 1e-4))
        repetitions = min(MAX_REPETITIONS, max(MIN_REPETITIONS, repetitions))
        clocks.clear()
        taken = [self.block(candidates, repetitions, clocks)
                 for _ in range(blocks)]
        times = {candidate.name: stats.summarize([block[i] for block in taken])
                 for i, candidate in enumerate(candidates)}
        clocks = [clock for clock in clocks if clock]
        return times, stats.median(clocks) if clocks else None

    def probe(self, candidates):
        """Rough medians in microseconds, to choose between candidates."""
        times = self.block(candidates, 7, [])
        return [stats.median(samples) for samples in times]

    def fastest(self, candidates):
        medians = self.probe(candidates)
        return candidates[medians.index(min(medians))]
