"""All instruction forms, and the file of what a device makes of them."""

import base64
import hashlib
import importlib
import json
import os
import struct
import zlib

FAMILIES = {"elementwise": "elementwise", "integer": "integers",
            "warp": "warps", "map": "maps", "mma": "matrices",
            "ldmatrix": "matrices", "wgmma": "warpgroups", "copy": "copies",
            "tensor": "copies"}


def get_cases(family=None):
    """Cases of a family, or of all."""
    families = [family] if family else list(FAMILIES)
    modules = dict.fromkeys(FAMILIES[f] for f in families)
    return [case for module in modules
            for case in importlib.import_module(module).CASES
            if case.family in families]


def is_predictable(case):
    """The same on all machines: approximations come from the C library."""
    return case.is_exact() or case.bounds is not None


def fingerprint(case):
    """Of what a recorded output depends on."""
    parts = [case.ptx, repr(case.words), str(case.map), repr(case.tensor),
             repr((case.grid, case.block, case.cluster))]
    if is_predictable(case):
        parts.append(repr(case.expected))
    if case.repeat > 1:
        parts.append(repr(case.repeat))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def subtract(words, case, sign):
    """Most outputs are the reference or near it: differences are small."""
    if not is_predictable(case):
        return words
    return [w - sign * (e or 0) & 0xFFFFFFFF
            for w, e in zip(words, case.expected)]


def write_recorded(path, device, outputs, keep=False):
    """`outputs`: pairs of a case and the words it wrote. What else the file
    has stays if `keep`, unless there is no such case any more."""
    entries = {}
    if keep and os.path.exists(path):
        with open(path) as file:
            old = json.load(file)
        if old["device"] != device:
            raise ValueError(f"{path} is of a {old['device']}, not {device}")
        names = {case.name for case in get_cases()}
        entries = {name: entry for name, entry in old["outputs"].items()
                   if name in names}
    entries.update({case.name: {
        "fingerprint": fingerprint(case),
        "words": base64.b64encode(zlib.compress(
            struct.pack(f"<{len(words)}I", *subtract(words, case, 1)),
            9)).decode()}
        for case, words in outputs})
    with open(path, "w") as file:
        json.dump({"device": device, "outputs": entries}, file, indent=0)
        file.write("\n")


def read_recorded(path):
    """Words by the case's name; those of cases that have changed since are
    left out."""
    with open(path) as file:
        entries = json.load(file)["outputs"]
    result = {}
    for case in get_cases():
        entry = entries.get(case.name)
        if entry and entry["fingerprint"] == fingerprint(case):
            data = zlib.decompress(base64.b64decode(entry["words"]))
            words = struct.unpack(f"<{len(data) // 4}I", data)
            result[case.name] = subtract(list(words), case, -1)
    return result
