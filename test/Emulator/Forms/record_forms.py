#!/usr/bin/env python3
"""Runs instruction forms on a CUDA device and records what they write.

  record_forms.py FILE [--family=NAME] [--check]

With --family, what FILE has of the other families stays.
Needs the driver (libcuda) and a device of compute capability 9.0; no CUDA
toolkit, no packages. --check also compares with the references.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

import forms

c_uint64, c_uint32, c_int = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int
TYPES = {"u8": 0, "u16": 1, "u32": 2, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device = c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def load(self, ptx):
        """The function `form`, and the module that it stands in."""
        log = ctypes.create_string_buffer(8192)
        # CU_JIT_ERROR_LOG_BUFFER and its size.
        options = (c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(
            ctypes.cast(log, ctypes.c_void_p), ctypes.c_void_p(len(log)))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module),
                      ptx.encode() + b"\0", 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode()}") from None
        self.call("cuModuleGetFunction", ctypes.byref(function), module,
                  b"form")
        return function, module

    def upload(self, words, count=None):
        data = (c_uint32 * max(count or len(words), 1))(*words)
        pointer = c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer),
                  ctypes.c_size_t(ctypes.sizeof(data)))
        self.call("cuMemcpyHtoD_v2", pointer, data,
                  ctypes.c_size_t(ctypes.sizeof(data)))
        return pointer

    def download(self, pointer, count):
        data = (c_uint32 * count)()
        self.call("cuMemcpyDtoH_v2", data, pointer,
                  ctypes.c_size_t(ctypes.sizeof(data)))
        return list(data)

    def encode(self, map, pointer):
        """The tensor map, in memory that is aligned to 64 bytes."""
        buffer = ctypes.create_string_buffer(192)
        start = -ctypes.addressof(buffer) % 64
        encoded = (ctypes.c_char * 128).from_buffer(buffer, start)
        rank = len(map.sizes)
        self.call(
            "cuTensorMapEncodeTiled", encoded, TYPES[map.type],
            c_uint32(rank), pointer, (c_uint64 * rank)(*map.sizes),
            (c_uint64 * max(rank - 1, 1))(*map.strides),
            (c_uint32 * rank)(*map.box),
            (c_uint32 * rank)(*map.element_strides), 0, SWIZZLES[map.swizzle],
            0, int(map.fill_nan))
        return encoded


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION (4), or
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION (6), whose value is
    in `x`."""

    _fields_ = [("id", c_int), ("pad", c_int), ("x", c_uint32),
                ("y", c_uint32), ("z", c_uint32), ("rest", c_uint32 * 13)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [(n, c_uint32) for n in ("gx", "gy", "gz", "bx", "by", "bz",
                                        "shared")] + [
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("numAttributes", c_uint32)]


def run(driver, case):
    function, module = driver.load(case.ptx)
    pointers = []

    def upload(words, count=None):
        pointers.append(driver.upload(words, count))
        return pointers[-1]

    parameters = []
    if case.map:
        tensor = upload(case.tensor)
        parameters.append(driver.encode(case.map, tensor))
    parameters.append(upload(case.words))
    count = 1 if case.stores else len(case.expected)
    parameters.append(upload([0xDEADBEEF] * count))
    addresses = (ctypes.c_void_p * len(parameters))(
        *(ctypes.addressof(p) for p in parameters))
    attributes = (LaunchAttribute * 2)()
    count = 0
    if case.cluster > 1:
        attributes[count] = LaunchAttribute(id=4, x=case.cluster, y=1, z=1)
        count += 1
    if case.repeat > 1:
        attributes[count] = LaunchAttribute(id=6, x=1)
        count += 1
    config = LaunchConfig(case.grid, 1, 1, case.block, 1, 1, 0, None,
                          attributes, count)
    for _ in range(case.repeat):
        driver.call("cuLaunchKernelEx", ctypes.byref(config), function,
                    addresses, None)
    driver.call("cuCtxSynchronize")
    result = driver.download(tensor if case.stores else parameters[-1],
                             len(case.expected))
    for pointer in pointers:
        driver.call("cuMemFree_v2", pointer)
    driver.call("cuModuleUnload", module)
    return result


def run_alone(case, directory):
    """In a process of its own: an error of a kernel ends the context."""
    path = os.path.join(directory, "one.json")
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__), path,
         "--only=" + case.name], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise RuntimeError(done.stdout.strip() + done.stderr.strip())
    return forms.read_recorded(path)[case.name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--family")
    parser.add_argument("--only")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    cases = [case for case in forms.get_cases(args.family)
             if args.only in (None, case.name)]
    driver = Driver()
    outputs, failed = [], 0
    for i, case in enumerate(cases):
        try:
            words = run(driver, case)
        except RuntimeError as error:
            print(f"{case.name}: {error}", flush=True)
            failed += 1
            if "cuCtxSynchronize" in str(error) and not args.only:
                # The context is lost: the rest runs in processes of its own.
                with tempfile.TemporaryDirectory() as directory:
                    for rest in cases[i + 1:]:
                        try:
                            outputs.append((rest, run_alone(rest, directory)))
                        except (RuntimeError, KeyError,
                                subprocess.TimeoutExpired) as problem:
                            print(f"{rest.name}: {problem}", flush=True)
                            failed += 1
                break
            continue
        outputs.append((case, words))
    if args.check:
        for case, words in outputs:
            if problem := case.differs(words, case.expected):
                print(f"{case.name}: {problem}")
    forms.write_recorded(args.file, driver.name, outputs,
                         keep=args.family is not None)
    print(f"{len(outputs)} recorded, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
