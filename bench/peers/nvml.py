"""What the driver of an NVIDIA GPU tells without a CUDA context: energy, memory, names. Every figure that cannot be read is None.

ctypes on libnvidia-ml, so that bench/drive needs no package and asks about the same device as the contestants do.
"""
import ctypes
import os


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def visible(count=1):
    """The first `count` devices that CUDA_VISIBLE_DEVICES leaves, with commas between them: indices, or UUIDs as they are. None where it leaves none."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    return ",".join(word.strip() for word in named.split(",")[:count]) or None


class Device:
    """One GPU, named by index or UUID. `readable` is false where there is no driver or no such device."""

    def __init__(self, which):
        self.readable, self.handle = False, ctypes.c_void_p()
        try:
            self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if which is None or self.lib.nvmlInit_v2() != 0:
            return
        which = str(which)
        if which.isdigit():
            code = self.lib.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(which)), ctypes.byref(self.handle))
        else:
            code = self.lib.nvmlDeviceGetHandleByUUID(which.encode(), ctypes.byref(self.handle))
        self.readable = code == 0

    def _ask(self, function, value, *more):
        if not self.readable or getattr(self.lib, function)(self.handle, *more, ctypes.byref(value)) != 0:
            return None
        return value

    def joules(self):
        """Energy since the driver was loaded [J]: differences count. The counter moves every tenth of a second or so."""
        value = self._ask("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong())
        return None if value is None else value.value / 1000

    def used_bytes(self):
        """Memory taken on the whole device, by everybody."""
        value = self._ask("nvmlDeviceGetMemoryInfo", _Memory())
        return None if value is None else value.used

    def total_bytes(self):
        value = self._ask("nvmlDeviceGetMemoryInfo", _Memory())
        return None if value is None else value.total

    def power_limit_watts(self):
        value = self._ask("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint())
        return None if value is None else value.value / 1000

    def name(self):
        text = ctypes.create_string_buffer(96)
        if not self.readable or self.lib.nvmlDeviceGetName(self.handle, text, ctypes.c_uint(96)) != 0:
            return None
        return text.value.decode()

    def driver_version(self):
        text = ctypes.create_string_buffer(80)
        if not self.readable or self.lib.nvmlSystemGetDriverVersion(text, ctypes.c_uint(80)) != 0:
            return None
        return text.value.decode()
