"""Prints the index of a folder that the compile step wrote."""

import json
import os
import sys

folder = sys.argv[1]
with open(os.path.join(folder, "kernels.json"), encoding="utf-8") as file:
    entries = json.load(file)["entries"]
for entry in entries:
    words = [entry[key] for key in ("problem", "layout", "op", "variant")]
    if entry["failed"]:
        words += ["failed", entry["note"].replace("\n", " ")]
    elif entry["directory"] is None:
        words += ["left alone"]
    else:
        words += ["directory" if os.path.exists(os.path.join(
            folder, entry["directory"], "manifest.json")) else "missing"]
        words += ["fused" if entry["fused"] else "plain"]
        words += ["times"] if 0 < entry["ptx_cpu_seconds"] \
            < entry["total_cpu_seconds"] else []
    print(*words)
