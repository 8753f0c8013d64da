"""The JSON that a run on a GPU leaves, one file a shard.

  version   1
  device    name, chip, sms, memory, driver and versions of the peers
  date      ISO 8601
  command   the arguments of the run
  method    blocks, seconds, flush_bytes, seed, floor_us (a time, see below)
  problems  m, n, k, group, clock_mhz, gemm and ops, by name:
            times     by candidate; a time is median, low, high (the 95 %
                      interval), count and drift, in microseconds
            errors    by candidate: relative RMS error against f64
            absent    by candidate: why it was not measured
            planner   by layout: fused, note
  compile   cold compile times: what, op, problem, seconds
  skipped   keys of problems that the time did not suffice for
  failures  results that were wrong, in words
"""

import json
import os
import tempfile

VERSION = 1
KEYS = ("version", "device", "date", "command", "method", "problems", "compile",
        "skipped", "failures")


class RecordError(Exception):
    """A file that is no record of a run, or records that do not belong
    together."""


def write_json(path, value):
    """All of it or nothing."""
    directory = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=directory)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, allow_nan=False)
            file.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: {error}") from error
    if not isinstance(record, dict) or record.get("version") != VERSION:
        raise RecordError(f"{path}: not a record of version {VERSION}")
    missing = [key for key in KEYS if key not in record]
    if missing:
        raise RecordError(f"{path}: lacks {', '.join(missing)}")
    return record


def merge(loaded):
    """One record of several shards, given as (path, record). They must be of the
    same device and software, and no problem may come twice."""
    first_path, first = loaded[0]
    merged = dict(first, problems=[], compile=[], skipped=[], failures=[],
                  floors=[record["method"]["floor_us"]["median"]
                          for _, record in loaded])
    seen = {}
    for path, record in loaded:
        if record["device"] != first["device"]:
            raise RecordError(f"{path} is of another device or other software "
                              f"than {first_path}")
        for problem in record["problems"]:
            key = f"{problem['m']}x{problem['n']}x{problem['k']}"
            if key in seen:
                raise RecordError(f"{path} has problem {key}, and so has "
                                  f"{seen[key]}")
            seen[key] = path
            # Each shard is a process with a floor of its own.
            merged["problems"].append(dict(
                problem, floor_us=record["method"]["floor_us"]["median"]))
        for key in ("compile", "skipped", "failures"):
            merged[key] += record[key]
    return merged
