"""Holds all but LEFT MiB of the first GPU's memory until stdin ends: hold_gpu_memory.py LEFT.
Prints a line when it holds them."""
import ctypes
import sys

LEAST = 2 << 20                         # bytes that the driver gives at once


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        if code := getattr(cuda, name)(*args):
            sys.exit(f"{name}: {code}")

    context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    size, address = free.value, ctypes.c_uint64()
    while size >= LEAST:
        call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        size = min(size, free.value - (int(sys.argv[1]) << 20))
        if size >= LEAST and cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)):
            size //= 2
    print(free.value >> 20, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
