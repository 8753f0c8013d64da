"""Launches the kernel of a folder on ROWS x COLUMNS arrays in host memory, on a
device with SMS SMs, and prints what the output holds."""

import ctypes
import sys

from flashnorm_bench import cuda, manifest

folder, (rows, columns, sms) = sys.argv[1], map(int, sys.argv[2:])
try:
    kernel, = manifest.load_kernels(folder)
    driver = cuda.Driver()
    with open(kernel.image, "rb") as file:
        function = driver.load(file.read(), kernel.name,
                               kernel.fields["shared_memory"],
                               kernel.fields["cluster"])
    size = rows * columns
    # Aligned to 16 bytes, as device memory is.
    storage = [(ctypes.c_uint16 * (size + 8))() for _ in range(2)]
    pointers = [ctypes.addressof(s) + -ctypes.addressof(s) % 16 for s in storage]
    arrays = [(ctypes.c_uint16 * size).from_address(p) for p in pointers]
    for i in range(size):
        arrays[0][i] = i
    launch = driver.launcher(kernel, function, pointers,
                             [(rows, columns)] * 2, sms)
    launch(0)
except (cuda.CudaError, manifest.ManifestError) as error:
    sys.exit(f"error: {error}")
print("fused" if kernel.fused else "plain", "output", *arrays[1])
