"""Kernels, run through CUDA's driver API: on the simulated device, or on the GPU of this machine."""
from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

from ladder import files
from ladder.command import Failure

_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_BYTES = 1 << 20


class Missing(Failure):
    """There is no device."""


class Refused(Exception):
    """A call of the driver fails."""


class Device:
    """`build`: that of the simulated device; None: the machine's own GPU. A process has one."""

    def __init__(self, build: Path | None, gpu: str = "b200"):
        library = "libcuda.so.1"
        if build is not None:
            path = build / "sim" / library
            if not path.exists():
                raise Missing(f"{files.name_of(path, files.ROOT)} is not built: scripts/build.sh cudart cuda.")
            os.environ["LADDER_SIM_GPU"] = gpu
            library = str(path)
        try:
            self._driver = ctypes.CDLL(library)
        except OSError as error:
            raise Missing(f"there is no driver of a GPU ({error}).") from None
        self._device = ctypes.c_int()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        self._begin()

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status != 0:
            said = ctypes.c_char_p()
            self._driver.cuGetErrorName(status, ctypes.byref(said))
            raise Refused(f"{name} says {(said.value or b'?').decode()}")

    def _begin(self) -> None:
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self._call("cuCtxSetCurrent", context)
        self._in, self._out = ctypes.c_uint64(), ctypes.c_uint64()
        for memory in (self._in, self._out):
            self._call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(_BYTES))

    @property
    def hopper(self) -> bool:
        return self._attribute(_CAPABILITY[0]) == 9

    def _attribute(self, which: int) -> int:
        found = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(found), which, self._device)
        return found.value

    def load(self, text: str) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), text.encode())
        return module

    def unload(self, module: ctypes.c_void_p) -> None:
        self._call("cuModuleUnload", module)

    def run(self, module: ctypes.c_void_p, kernel: str, rows: Sequence[Sequence[int]],
            outputs: int) -> list[tuple[int, ...]]:
        """A thread for each row; rows of as many outputs."""
        flat = [value for row in rows for value in row]
        given = (ctypes.c_uint64 * len(flat))(*flat)
        got = (ctypes.c_uint64 * (outputs * len(rows)))()
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        self._call("cuMemcpyHtoD_v2", self._in, given, ctypes.c_size_t(ctypes.sizeof(given)))
        arguments = (ctypes.c_void_p * 2)(ctypes.addressof(self._in), ctypes.addressof(self._out))
        self._call("cuLaunchKernel", function, 1, 1, 1, len(rows), 1, 1, 0, None, arguments, None)
        self._call("cuMemcpyDtoH_v2", got, self._out, ctypes.c_size_t(ctypes.sizeof(got)))
        return [tuple(got[i:i + outputs]) for i in range(0, len(got), outputs)]
