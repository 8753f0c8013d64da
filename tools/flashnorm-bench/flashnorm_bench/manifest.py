"""What a launch needs to know of a kernel: the part of manifest.json that
docs/LaunchABI.md defines, version 3."""

import dataclasses
import json
import os

VERSION = 3


class ManifestError(Exception):
    """A manifest that this program cannot launch, or operands that do not fit."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One kernel of a manifest and the file with its code."""
    name: str
    chip: str
    image: str
    fields: dict

    @property
    def fused(self):
        return self.fields["strategy"] != "gemm"

    def grid(self, rows, sms, max_clusters=None):
        """CTAs of a launch on a device with this many SMs, which runs no more
        than `max_clusters` of the kernel's clusters at the same time."""
        fields = self.fields
        grid = -(-rows // fields["tile_rows"]) * fields["column_tiles"]
        cluster = fields["cluster"]
        if fields["ctas_per_sm"]:
            clusters = fields["ctas_per_sm"] * sms // cluster
            if max_clusters is not None:
                clusters = min(clusters, max_clusters)
            grid = min(grid, max(1, clusters) * cluster)
        if grid % cluster:
            raise ManifestError(f"kernel '{self.name}': a grid of {grid} is not "
                                f"a multiple of the cluster of {cluster}")
        return grid

    def check_operands(self, shapes):
        """shapes: of the arrays of one launch. Returns the number of rows."""
        operands = self.fields["operands"]
        if len(shapes) != len(operands):
            raise ManifestError(f"kernel '{self.name}' has {len(operands)} "
                                f"operands, got {len(shapes)}")
        rows = shapes[0][0]
        for number, (shape, operand) in enumerate(zip(shapes, operands)):
            expected = [rows if size is None else size
                        for size in operand["shape"]]
            if list(shape) != expected:
                raise ManifestError(
                    f"kernel '{self.name}': operand {number} has shape "
                    f"{list(shape)}; its manifest says {expected}")
            if "row_stride" in operand:
                raise ManifestError(f"kernel '{self.name}': operand {number} "
                                    "takes rows at a distance; packed arrays "
                                    "are measured")
            if operand["type"] != "bf16":
                raise ManifestError(f"kernel '{self.name}': operand {number} is "
                                    f"{operand['type']}; bf16 is measured")
        return rows


def load_kernels(directory):
    """The kernels of a folder that flashnorm-compile wrote."""
    path = os.path.join(directory, "manifest.json")
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        version = manifest["version"]
        if version != VERSION:
            raise ManifestError(f"{path} has version {version}; "
                                f"this program reads version {VERSION}")
        module = manifest["module"]
        image = next((os.path.join(directory, module + suffix)
                      for suffix in (".cubin", ".ptx")
                      if os.path.exists(os.path.join(directory,
                                                     module + suffix))), None)
        if image is None:
            raise ManifestError(f"no {module}.cubin or .ptx in {directory}")
        return [Kernel(fields["name"], manifest["chip"], image, fields)
                for fields in manifest["kernels"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ManifestError(f"{path}: {error!r}") from error
