"""The CUDA driver through ctypes, as far as launches need it. Names, values and
layouts are those of the CUDA Driver API reference."""

import ctypes

MAX_DYNAMIC_SHARED = 8
NON_PORTABLE_CLUSTER = 14
CLUSTER_DIMENSION = 4
BFLOAT16 = 9
L2_128B = 2
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
ELEMENT_BYTES = 2
TENSOR_MAP_BYTES, TENSOR_MAP_ALIGNMENT = 128, 64

# A kernel that does nothing: its time is the floor of every other one's.
NULL_PTX = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry null()
{
  ret;
}
"""


class CudaError(Exception):
    """The driver is missing or a call of it failed."""


class LaunchAttribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4),
                ("value", ctypes.c_uint * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared_memory", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(LaunchAttribute)),
                ("num_attributes", ctypes.c_uint)]


class Driver:
    """Uses the current context, which torch makes."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise CudaError(f"no CUDA driver: {error}") from error
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(result, ctypes.byref(text))
            raise CudaError(f"{name}: error {result}, "
                            f"{(text.value or b'unknown').decode()}")

    def bus_id(self):
        """Where the first device is, for the management library."""
        text = ctypes.create_string_buffer(32)
        self.call("cuDeviceGetPCIBusId", text, len(text), 0)
        return text.value

    def load(self, image, name, shared_memory=0, cluster=1):
        """A function of a cubin or PTX, ready for launches of this shape. The
        module stays loaded until the process ends."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadDataEx", ctypes.byref(module),
                  ctypes.c_char_p(image), 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module,
                  name.encode())
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED,
                  shared_memory)
        if cluster > 8:
            self.call("cuFuncSetAttribute", function, NON_PORTABLE_CLUSTER, 1)
        return function

    def tensor_map(self, pointer, shape, box, swizzle):
        """128 bytes that describe a packed bf16 array [rows, columns], and their
        address; they must live until the launch."""
        storage = (ctypes.c_char * (TENSOR_MAP_BYTES + TENSOR_MAP_ALIGNMENT))()
        address = ctypes.addressof(storage)
        address += -address % TENSOR_MAP_ALIGNMENT
        rows, columns = shape
        self.call("cuTensorMapEncodeTiled", ctypes.c_void_p(address), BFLOAT16,
                  2, ctypes.c_void_p(pointer),
                  (ctypes.c_uint64 * 2)(columns, rows),
                  (ctypes.c_uint64 * 1)(columns * ELEMENT_BYTES),
                  (ctypes.c_uint32 * 2)(*box), (ctypes.c_uint32 * 2)(1, 1),
                  0, SWIZZLES[swizzle], L2_128B, 0)
        return storage, address

    def launcher(self, kernel, function, pointers, shapes, sms):
        """A function of a stream that launches the kernel on these arrays."""
        rows = kernel.check_operands(shapes)
        keep, addresses = [], []
        for argument in kernel.fields["arguments"]:
            kind = argument["kind"]
            if kind == "tensor_map":
                number = argument["operand"]
                storage, address = self.tensor_map(
                    pointers[number], shapes[number], argument["box"],
                    argument["swizzle"])
            elif kind == "pointer":
                storage = ctypes.c_uint64(pointers[argument["operand"]])
                address = ctypes.addressof(storage)
            else:
                storage = ctypes.c_int32(rows)
                address = ctypes.addressof(storage)
            keep.append(storage)
            addresses.append(address)
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        block, cluster = kernel.fields["block"], kernel.fields["cluster"]
        shared_memory = kernel.fields["shared_memory"]
        clusters = None
        if cluster > 1:
            clusters = self.max_active_clusters(function, block, shared_memory,
                                                cluster)
        return self.launch_function(
            function, kernel.grid(rows, sms, clusters), block, shared_memory,
            cluster, parameters, keep)

    @staticmethod
    def launch_config(grid, block, shared_memory, cluster):
        attribute = LaunchAttribute(id=CLUSTER_DIMENSION)
        attribute.value[0], attribute.value[1], attribute.value[2] = cluster, 1, 1
        return LaunchConfig(
            (grid, 1, 1), (block, 1, 1), shared_memory, None,
            ctypes.pointer(attribute), 1 if cluster > 1 else 0)

    def max_active_clusters(self, function, block, shared_memory, cluster):
        """Clusters that run at the same time."""
        count = ctypes.c_int()
        config = self.launch_config(cluster, block, shared_memory, cluster)
        self.call("cuOccupancyMaxActiveClusters", ctypes.byref(count), function,
                  ctypes.byref(config))
        return count.value

    def launch_function(self, function, grid, block, shared_memory=0, cluster=1,
                        parameters=None, keep=()):
        config = self.launch_config(grid, block, shared_memory, cluster)

        def launch(stream, keep=keep):
            config.stream = stream
            self.call("cuLaunchKernelEx", ctypes.byref(config), function,
                      parameters, None)
        return launch


class Clock:
    """The SM clock as the driver's management library reads it, in MHz; None
    where that library is missing."""
    SM = 1

    def __init__(self, bus_id):
        self.device = None
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        device = ctypes.c_void_p()
        if (self.library.nvmlInit_v2() == 0
                and self.library.nvmlDeviceGetHandleByPciBusId_v2(
                    bus_id, ctypes.byref(device)) == 0):
            self.device = device

    def driver_version(self):
        if self.device is None:
            return None
        text = ctypes.create_string_buffer(96)
        if self.library.nvmlSystemGetDriverVersion(text, len(text)):
            return None
        return text.value.decode()

    def read(self):
        if self.device is None:
            return None
        value = ctypes.c_uint()
        if self.library.nvmlDeviceGetClockInfo(self.device, self.SM,
                                               ctypes.byref(value)):
            return None
        return value.value
