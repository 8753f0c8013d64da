"""One run on a GPU: measures the problems of a shard, checks every result, and
keeps the record on disk up to date."""

import datetime
import gc
import os
import platform
import tempfile
import time

from flashnorm_bench import compiler, manifest, problems, records, stats


def isolate_caches(directory):
    """What peers compile must be compiled in this run: its times are reported.
    Works only before they are imported."""
    for name in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR",
                 "QUACK_CACHE_DIR"):
        os.environ[name] = os.path.join(directory, name.lower())


def describe(error):
    return f"{type(error).__name__}: {error}"[:400]


class Session:
    def __init__(self, options, index, selected, log):
        # Imported here: the rest of the program runs without torch.
        import torch
        from flashnorm_bench import device, peers, reference
        self.torch, self.device = torch, device
        self.peers, self.reference = peers, reference
        self.options, self.index, self.log = options, index, log
        self.selected = selected
        self.start = time.perf_counter()
        self.gpu = device.Gpu(options.seed)
        self.functions = {}
        peers.configure_compile()
        self.record = {
            "version": records.VERSION, "device": self.describe_device(),
            "date": datetime.datetime.now(datetime.timezone.utc)
            .strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": options.command, "method": {}, "problems": [],
            "compile": [], "skipped": [p.key for p in selected],
            "failures": []}

    def describe_device(self):
        gpu = self.gpu
        found = {"name": gpu.name, "chip": gpu.chip, "sms": gpu.sms,
                 "memory": gpu.memory, "driver": gpu.clock.driver_version(),
                 "python": platform.python_version()}
        found.update(self.peers.versions())
        return found

    def elapsed(self):
        return time.perf_counter() - self.start

    def save(self):
        records.write_json(self.options.output, self.record)

    def fail(self, text):
        self.log(f"WRONG {text}")
        self.record["failures"].append(text)

    # --- Candidates --------------------------------------------------------

    def kernel(self, entry):
        """A kernel of our own and its function on the device."""
        directory = os.path.join(self.options.kernels, entry.directory)
        if directory not in self.functions:
            kernel, = manifest.load_kernels(directory)
            with open(kernel.image, "rb") as file:
                image = file.read()
            self.functions[directory] = kernel, self.gpu.driver.load(
                image, kernel.name, kernel.fields["shared_memory"],
                kernel.fields["cluster"])
        return self.functions[directory]

    def own(self, name, entry, tensors, result):
        kernel, function = self.kernel(entry)
        launch = self.gpu.driver.launcher(
            kernel, function, [t.data_ptr() for t in tensors],
            [tuple(t.shape) for t in tensors], self.gpu.sms)
        return self.device.Candidate(name, self.gpu.on_stream(launch, result))

    def try_candidate(self, candidate, absent, compiles=None):
        """Captures it; a peer that does not run is noted, not an error."""
        try:
            self.gpu.capture(candidate)
        except Exception as error:
            self.torch.cuda.synchronize()
            absent[candidate.name] = describe(error)
            self.log(f"  no {candidate.name}: {absent[candidate.name][:120]}")
            return None
        if compiles:
            what, op, problem = compiles
            self.record["compile"].append(
                {"what": what, "op": op.key, "problem": problem.key,
                 "seconds": candidate.first_call_seconds})
        return candidate

    def gemm_candidates(self, problem, inputs):
        found = []
        for layout in problems.LAYOUTS:
            w = inputs.w[layout]
            entry = self.index[problem.key, layout, "gemm", "plain"]
            if entry.directory:
                found.append(self.own(f"own {layout}", entry,
                                      [inputs.x, w, inputs.y], inputs.y))
            found.append(self.device.Candidate(
                f"cuBLAS {layout}",
                lambda w=w, layout=layout: self.peers.multiply(
                    inputs.x, w, layout, inputs.y)))
        return [self.gpu.capture(candidate) for candidate in found]

    def fused_candidates(self, problem, inputs, op, planner, absent):
        """What the planner chose, or what it turned down, in each layout."""
        found = []
        gamma, beta = inputs.vectors(op, problem)
        vectors = [] if op.place == "before" else \
            [v for v in (gamma, beta) if v is not None]
        for layout in problems.LAYOUTS:
            asked = self.index[problem.key, layout, op.key, "asked"]
            planner[layout] = {"fused": asked.fused, "note": asked.note}
            entry = asked if asked.fused else self.index.get(
                (problem.key, layout, op.key, "forced"))
            if entry is None or not entry.directory:
                absent[f"fused {layout}"] = entry.note if entry else "no entry"
                continue
            found.append(self.gpu.capture(self.own(
                f"fused {layout}", entry,
                [inputs.x, inputs.fused_weights(op)[layout], *vectors, inputs.y],
                inputs.y)))
        return found

    def norm_candidates(self, problem, inputs, op, absent):
        """Norms alone, by implementation: what a pair is made of."""
        columns = problem.n if op.place == "after" else problem.k
        source = inputs.y if op.place == "after" else inputs.x
        found = {}
        for name, make in self.peers.NORMS.items():
            if name.lower() not in self.options.norms:
                continue
            try:
                norm = make(op, columns, *inputs.vectors(op, problem))
            except Exception as error:  # of a missing or broken package
                absent[f"norm {name}"] = describe(error)
                continue
            candidate = self.device.Candidate(
                f"norm {name}", lambda norm=norm: norm(source))
            compiles = None if name == "torch" else (f"{name}: norm", op, problem)
            if self.try_candidate(candidate, absent, compiles):
                found[name] = norm, candidate
        return found

    def pair_candidates(self, inputs, op, norms, layout, own, absent):
        """cuBLAS with each norm; our own multiplication with the fastest."""
        x, w, y, multiply = inputs.x, inputs.w, inputs.y, self.peers.multiply
        found = []

        def pair(norm, matmul):
            if op.place == "after":
                return lambda: norm(matmul(x))
            return lambda: matmul(norm(x))
        for name, (norm, _) in norms.items():
            found.append(self.device.Candidate(
                f"pair {name}",
                pair(norm, lambda t: multiply(t, w[layout], layout, y))))
        if not norms:
            return []
        best = self.gpu.fastest([c for _, c in norms.values()])
        norm = next(n for n, c in norms.values() if c is best)
        for plain_layout, entry in own.items():
            kernel, function = self.kernel(entry)

            def matmul(t, kernel=kernel, function=function, layout=plain_layout):
                launch = self.gpu.driver.launcher(
                    kernel, function,
                    [t.data_ptr(), w[layout].data_ptr(), y.data_ptr()],
                    [tuple(t.shape), tuple(w[layout].shape), tuple(y.shape)],
                    self.gpu.sms)
                launch(self.torch.cuda.current_stream().cuda_stream)
                return y
            found.append(self.device.Candidate(f"own pair {plain_layout}",
                                               pair(norm, matmul)))
        return [c for c in found if self.try_candidate(c, absent)]

    def compiled_candidates(self, problem, inputs, op, layout, absent):
        """The whole chain by torch.compile, once as it comes and once tuned."""
        found = []
        for option, name, mode in (
                ("chains", "torch.compile chain", None),
                ("autotune", "max-autotune chain", "max-autotune-no-cudagraphs")):
            wanted = getattr(self.options, option)
            if wanted != "all" and problem.key not in wanted:
                continue
            chain = self.peers.compiled_chain(
                op, problem.n if op.place == "after" else problem.k,
                *inputs.vectors(op, problem), layout, mode)
            candidate = self.device.Candidate(
                name, lambda chain=chain: chain(inputs.x, inputs.w[layout]))
            found.append(self.try_candidate(candidate, absent,
                                            (name, op, problem)))
        return [c for c in found if c]

    def triton_candidate(self, problem, inputs, op, absent):
        """The fastest of the configurations that compiled."""
        if self.options.triton == "off" or problem.group == "random":
            return []
        from flashnorm_bench import triton_peers
        gamma, beta = inputs.vectors(op, problem)
        w = inputs.fused_weights(op)["nk"]
        tried = []
        for config in triton_peers.configs(op, problem.n):
            key = triton_peers.work_item(op, problem.n, config)
            if self.triton_seconds.get(key) is None:
                continue
            candidate = self.device.Candidate("Triton", triton_peers.runner(
                op, config, inputs.x, w, inputs.y, gamma, beta))
            if self.try_candidate(candidate, absent):
                tried.append(candidate)
        if not tried:
            absent.setdefault("Triton", "no configuration fits")
            return []
        absent.pop("Triton", None)
        return [self.gpu.fastest(tried)]

    # --- Measuring ---------------------------------------------------------

    def check(self, problem, op, candidates, rows, reference):
        """Errors by candidate. The captured graphs run once more for it, on an
        output full of NaNs."""
        errors = {}
        for candidate in candidates:
            candidate.output.fill_(float("nan"))
            candidate.graph.replay()
            self.torch.cuda.synchronize()
            value = self.reference.error(candidate.output, rows, reference)
            errors[candidate.name] = value if value == value else None
            if not value <= self.reference.MAX_ERROR:
                self.fail(f"{problem.key} {op} {candidate.name}: relative RMS "
                          f"error {value:.3g}, at most "
                          f"{self.reference.MAX_ERROR:g} is right")
        return errors

    def check_all_rows(self, problem, op, candidates):
        """Our own results against a peer's, every element."""
        base = next((c for c in candidates
                     if c.name.startswith(("pair", "cuBLAS"))), None)
        if base is None:
            return
        base.graph.replay()
        other = base.output.clone()
        for candidate in candidates:
            if not candidate.name.startswith(("own", "fused")):
                continue
            candidate.graph.replay()
            value = self.reference.deviation(candidate.output, other)
            if not value <= self.reference.MAX_DEVIATION:
                self.fail(f"{problem.key} {op} {candidate.name}: deviates by "
                          f"{value:.3g} from {base.name}, at most "
                          f"{self.reference.MAX_DEVIATION:g} is right")

    def measure_problem(self, problem):
        inputs = self.reference.Inputs(problem, self.options.seed)
        self.gpu.new_pool()
        result = {"m": problem.m, "n": problem.n, "k": problem.k,
                  "group": problem.group, "gemm": {}, "ops": {}}
        gemms = self.gemm_candidates(problem, inputs)
        own = {layout: self.index[problem.key, layout, "gemm", "plain"]
               for layout in problems.LAYOUTS}
        own = {layout: entry for layout, entry in own.items() if entry.directory}
        cublas = [c for c in gemms if c.name.startswith("cuBLAS")]
        layout = self.gpu.fastest(cublas).name.split()[1]
        result["gemm"]["errors"] = self.check(
            problem, "gemm", gemms, inputs.rows,
            self.reference.expected(problem, inputs))
        self.check_all_rows(problem, "gemm", gemms)
        everything = list(gemms)
        for op in problem.ops:
            absent, planner = {}, {}
            candidates = self.fused_candidates(problem, inputs, op, planner,
                                               absent)
            norms = self.norm_candidates(problem, inputs, op, absent)
            candidates += self.pair_candidates(inputs, op, norms, layout, own,
                                               absent)
            candidates += self.compiled_candidates(problem, inputs, op, layout,
                                                   absent)
            candidates += self.triton_candidate(problem, inputs, op, absent)
            errors = self.check(problem, op.key, candidates, inputs.rows,
                                self.reference.expected(problem, inputs, op))
            self.check_all_rows(problem, op.key, candidates)
            # Norms alone are no result of the op: timed, not checked here.
            timed = candidates + [c for _, c in norms.values()]
            result["ops"][op.key] = {"errors": errors, "absent": absent,
                                     "planner": planner,
                                     "times": [c.name for c in timed]}
            for candidate in timed:
                candidate.name = f"{op.key}/{candidate.name}"
            everything += timed
        times, result["clock_mhz"] = self.gpu.measure(
            everything, self.options.blocks, self.options.seconds)
        result["gemm"]["times"] = {c.name: times[c.name] for c in gemms}
        for key, found in result["ops"].items():
            found["times"] = {name: times[f"{key}/{name}"]
                              for name in found["times"]}
        return result

    def compile_triton(self):
        """Fills Triton's cache, before anything is timed."""
        self.triton_seconds = {}
        if self.options.triton == "off":
            return
        try:
            from flashnorm_bench import triton_peers
        except ImportError as error:
            self.log(f"no Triton: {error}")
            self.options.triton = "off"
            return
        work = sorted({triton_peers.work_item(op, p.n, config)
                       for p in self.selected if p.group != "random"
                       for op in p.ops
                       for config in triton_peers.configs(op, p.n)},
                      key=str)
        if not work:
            return
        self.triton_seconds = triton_peers.compile_ahead(work, self.options.jobs)
        for (op, columns, _), seconds in self.triton_seconds.items():
            if seconds is not None:
                self.record["compile"].append(
                    {"what": "Triton: one configuration", "op": op.key,
                     "problem": f"N={columns}", "seconds": seconds})
        self.log(f"{self.elapsed():.0f} s: {len(work)} Triton kernels compiled")

    def note_own_compile_times(self):
        keys = {p.key for p in self.selected}
        for entry in self.index.values():
            if entry.problem in keys and entry.ptx_cpu_seconds is not None:
                for what, seconds in (
                        ("FlashNorm: MLIR to PTX", entry.ptx_cpu_seconds),
                        ("FlashNorm: MLIR to machine code",
                         entry.total_cpu_seconds)):
                    self.record["compile"].append(
                        {"what": what, "op": entry.op, "problem": entry.problem,
                         "seconds": seconds})

    def run(self):
        self.note_own_compile_times()
        self.compile_triton()
        self.gpu.heat(self.options.heat)
        floor, _ = self.gpu.measure([self.gpu.null], self.options.blocks, 0.1)
        self.record["method"] = {
            "blocks": self.options.blocks, "seconds": self.options.seconds,
            "flush_bytes": self.device.FLUSH_BYTES, "seed": self.options.seed,
            "floor_us": floor["null"]}
        self.log(f"{self.elapsed():.0f} s: floor "
                 f"{floor['null']['median']:.2f} us")
        for problem in self.selected:
            if self.elapsed() > self.options.time_limit:
                self.log(f"{self.elapsed():.0f} s: no time left; skipped "
                         f"{len(self.record['skipped'])} problems")
                break
            result = self.measure_problem(problem)
            self.record["problems"].append(result)
            self.record["skipped"].remove(problem.key)
            self.save()
            gemm = result["gemm"]["times"]
            self.log(f"{self.elapsed():.0f} s: {problem.key} " + ", ".join(
                f"{name} {time['median']:.1f}" for name, time in gemm.items()))
            gc.collect()
            self.torch.cuda.empty_cache()
        self.save()
        return not self.record["failures"]


def check_chip(index, directory, chip):
    """The folder's code must be for the device."""
    for entry in index.values():
        if entry.directory:
            kernel, = manifest.load_kernels(
                os.path.join(directory, entry.directory))
            if kernel.chip.rstrip("a") != chip:
                raise compiler.CompileError(
                    f"{directory} has kernels for {kernel.chip}; the device is "
                    f"{chip}")
            return


def run(options, log):
    """Measures; false where a result was wrong."""
    selected = problems.shard(
        problems.select(options.groups, options.random, options.random_seed,
                        options.only), *options.shard)
    index = compiler.load_index(options.kernels)
    for problem in selected:
        for layout in problems.LAYOUTS:
            for key in ("gemm",) + tuple(op.key for op in problem.ops):
                variant = "plain" if key == "gemm" else "asked"
                if (problem.key, layout, key, variant) not in index:
                    raise compiler.CompileError(
                        f"{options.kernels} lacks {problem.key} {layout} {key}; "
                        "compile it with the same groups and random seed")
    with tempfile.TemporaryDirectory() as caches:
        isolate_caches(caches)
        session = Session(options, index, selected, log)
        check_chip(index, options.kernels, session.gpu.chip)
        return session.run()
