#!/usr/bin/env python3
"""Runs instruction forms on the emulator and checks what they write.

  run_forms.py EMULATOR [--family=NAME] [--filter=TEXT]
               [--schedules=lazy,random:1] [--recorded=FILE]
               [-- EMULATOR-OPTIONS...]

Outputs are compared with references that Python computes from the definition
of each instruction, and with --recorded, with what record_forms.py recorded on
a device, too: bit by bit, except that approximations may differ by twice their
documented error, and matrix products by twice the error of sums that truncate.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile

import forms


def write_npy(path, words):
    header = (f"{{'descr': '<u4', 'fortran_order': False, "
              f"'shape': ({len(words)},), }}")
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(words)}I", *words))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def describe_map(map):
    join = lambda numbers: "x".join(str(n) for n in numbers)
    keys = {"type": map.type, "sizes": join(map.sizes), "box": join(map.box),
            "element-strides": join(map.element_strides),
            "swizzle": map.swizzle, "fill": "nan" if map.fill_nan else "zero"}
    if map.strides:
        keys["strides"] = join(map.strides)
    return "tensormap:tensor," + ",".join(f"{k}={v}" for k, v in keys.items())


def run(emulator, case, options, directory):
    """The words that a case writes; or raises RuntimeError."""
    path = lambda name: os.path.join(directory, name)
    with open(path("form.ptx"), "w") as file:
        file.write(case.ptx)
    write_npy(path("in.npy"), case.words)
    arguments = []
    if case.map:
        write_npy(path("tensor.npy"), case.tensor)
        array = f"in:{path('tensor.npy')}"
        if case.stores:
            array = f"inout:{path('tensor.npy')}:{path('result.npy')}"
        options = [f"--array=tensor={array}", *options]
        arguments.append(describe_map(case.map))
    arguments.append(f"in:{path('in.npy')}")
    count = 1 if case.stores else len(case.expected)
    output = path("out.npy" if case.stores else "result.npy")
    arguments.append(f"out:u32:{count}:{output}")
    done = subprocess.run(
        [emulator, path("form.ptx"), "--entry=form", f"--grid={case.grid}",
         f"--block={case.block}", f"--cluster={case.cluster}",
         f"--repeat={case.repeat}",
         *("--arg=" + a for a in arguments), *options],
        capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return read_npy(path("result.npy"))


def main():
    arguments, options = sys.argv[1:], []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("emulator")
    parser.add_argument("--family")
    parser.add_argument("--filter", default="")
    parser.add_argument("--schedules", default="lazy")
    parser.add_argument("--recorded")
    args = parser.parse_args(arguments)
    cases = [case for case in forms.get_cases(args.family)
             if args.filter in case.name]
    recorded = forms.read_recorded(args.recorded) if args.recorded else None
    failed = ran = 0
    with tempfile.TemporaryDirectory() as directory:
        for case in cases:
            # What to compare with, by how much an approximation may be off.
            references = [("the definition", case.expected, 1.0)]
            if recorded is not None:
                if case.name not in recorded:
                    print(f"{case.name}: not recorded")
                    failed += 1
                else:
                    references.append(("the device", recorded[case.name], 2.0))
            for schedule in args.schedules.split(","):
                ran += 1
                try:
                    words = run(args.emulator, case,
                                ["--schedule=" + schedule, *options],
                                directory)
                except RuntimeError as error:
                    print(f"{case.name}, {schedule}: {error}", flush=True)
                    failed += 1
                    continue
                for name, reference, slack in references:
                    if problem := case.differs(words, reference, slack):
                        print(f"{case.name}, {schedule}, by {name}: {problem}",
                              flush=True)
                        failed += 1
    print(f"{ran} runs, {failed} wrong")
    sys.exit(failed > 0 or ran == 0)


if __name__ == "__main__":
    main()
