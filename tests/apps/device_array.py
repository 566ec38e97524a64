"""Arrays in device memory, as mpi4py wants to see them; they need the CUDA runtime alone."""

import ctypes
import struct

# A NumPy type string: the letters of struct that make up one element.
FORMATS = {
    "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u2": "H", "<i4": "i", "<u4": "I",
    "<i8": "q", "<u8": "Q", "<f4": "f", "<f8": "d", "<c8": "ff", "<c16": "dd",
}


def open_runtime():
    for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    raise OSError("no CUDA runtime in LD_LIBRARY_PATH")


RUNTIME = open_runtime()
DEVICE_TO_HOST, HOST_TO_DEVICE = 2, 1


def call(name, *arguments):
    status = getattr(RUNTIME, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name} returned {status}")


class DeviceArray:
    """One dimension, contiguous. Complex elements are pairs in `values`, as everywhere here."""

    def __init__(self, typestr, values, managed=False):
        self.form = FORMATS[typestr]
        data = struct.pack("=" + self.form[0] * len(values), *values)
        self.bytes = len(data)
        self.pointer = ctypes.c_void_p()
        size = ctypes.c_size_t(self.bytes)
        if managed:
            call("cudaMallocManaged", ctypes.byref(self.pointer), size, ctypes.c_uint(1))
        else:
            call("cudaMalloc", ctypes.byref(self.pointer), size)
        call("cudaMemcpy", self.pointer, data, size, HOST_TO_DEVICE)
        self.__cuda_array_interface__ = {
            "shape": (len(values) // len(self.form),),
            "typestr": typestr,
            "data": (self.pointer.value, False),
            "version": 3,
        }

    def values(self):
        data = ctypes.create_string_buffer(self.bytes)
        call("cudaMemcpy", data, self.pointer, ctypes.c_size_t(self.bytes), DEVICE_TO_HOST)
        count = self.bytes // struct.calcsize(self.form[0])
        return list(struct.unpack("=" + self.form[0] * count, data.raw))

    def __del__(self):
        RUNTIME.cudaFree(self.pointer)
