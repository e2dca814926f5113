"""The device that answers: the GPU of this machine, or the simulated one."""
from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from ladder.contact import values
from ladder.contact.probe import SHARED, Probe, TensorMap
from ladder.exact.device import Device, Refused

_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_ANY_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
_ATTRIBUTES = {"SMs": 16, "clock, kHz": 13, "memory clock, kHz": 36, "memory bus, bits": 37, "L2, bytes": 38,
               "shared memory of an SM, bytes": 81, "shared memory of a CTA, bytes": 97, "registers of an SM": 82}
_EMPTY = ".version 8.6\n.target sm_{}a\n.address_size 64\n.visible .entry empty() {{ ret; }}\n"


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, of a cluster's dimensions."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("x", ctypes.c_uint), ("y", ctypes.c_uint),
                ("z", ctypes.c_uint), ("rest", ctypes.c_uint8 * 52)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [*((each, ctypes.c_uint) for each in ("x", "y", "z", "tx", "ty", "tz", "shared")),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("count", ctypes.c_uint)]


def _digest(data: bytes) -> str:
    digest = 0xCBF29CE484222325
    for at in range(0, len(data), 8):
        digest = (digest ^ int.from_bytes(data[at:at + 8], "little")) * 0x100000001B3 % 2**64
        digest ^= digest >> 29
    return f"{digest:016x}"


class Machine(Device):
    """`build`: that of the simulated device; None: the machine's own GPU."""

    def __init__(self, build: Path | None, arch: int):
        super().__init__(build, "h100" if arch == 90 else "b200")
        self._map = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(self._map), ctypes.c_size_t(256))

    @property
    def arch(self) -> int:
        return 10 * self._attribute(75) + self._attribute(76)

    def answer(self, probe: Probe) -> str:
        """What the kernel leaves: few words themselves, of many a digest and the first ones. Or the error."""
        try:
            return self._answer(probe)
        except Refused as error:
            return str(error).rpartition(" ")[2]

    def _answer(self, probe: Probe) -> str:
        ctas, copies = max(probe.grid, probe.ctas), probe.ctas
        given = b"".join(values.draw(kind, count, f"{probe.name} {cta} {part}")
                         for cta in range(copies) for part, (kind, count) in enumerate(probe.kinds))
        got = (ctypes.c_uint8 * (4 * probe.words * ctas))()
        self._call("cuMemcpyHtoD_v2", self._in, given, ctypes.c_size_t(len(given)))
        self._call("cuMemcpyHtoD_v2", self._out, got, ctypes.c_size_t(len(got)))
        if probe.map:
            self._call("cuMemcpyHtoD_v2", self._map, self._encode(probe.map), ctypes.c_size_t(128))
        module, function = self.load(probe.kernel(f"sm_{self.arch}a")), ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), module, b"probe")
        self._call("cuFuncSetAttribute", function, _MOST_SHARED, SHARED)
        given_to = (ctypes.c_void_p * 3)(*(ctypes.addressof(each) for each in (self._in, self._out, self._map)))
        self._call("cuLaunchKernel", function, ctas, 1, 1, probe.threads, 1, 1, SHARED, None, given_to, None)
        self._call("cuCtxSynchronize")
        self._call("cuMemcpyDtoH_v2", got, self._out, ctypes.c_size_t(len(got)))
        self.unload(module)
        data = bytes(got)
        words = [data[at:at + 4][::-1].hex() for at in range(0, min(len(data), 32), 4)]
        return " ".join(words) if len(data) <= 32 else " ".join([_digest(data), *words[:4]])

    def _encode(self, tensor: TensorMap) -> ctypes.Array[ctypes.c_uint8]:
        raw = (ctypes.c_uint8 * 192)()  # the map has to be aligned to 64 bytes
        at = -ctypes.addressof(raw) % 64
        rank = len(tensor.dims)
        u64, u32 = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        memory = self._out if tensor.of_output else self._in
        shape = (ctypes.byref(raw, at), tensor.type, rank, memory, u64(*tensor.dims), u64(*tensor.strides))
        steps, layout = u32(*tensor.steps or (1,) * rank), (tensor.interleave, tensor.swizzle, tensor.promotion,
                                                            tensor.fill)
        if tensor.corners:
            ints = ctypes.c_int * (rank - 2)
            self._call("cuTensorMapEncodeIm2col", *shape, ints(*tensor.corners[0]), ints(*tensor.corners[1]),
                       *tensor.box, steps, *layout)
        else:
            self._call("cuTensorMapEncodeTiled", *shape, u32(*tensor.box), steps, *layout)
        return (ctypes.c_uint8 * 128).from_buffer_copy(bytes(raw)[at:at + 128])

    def describe(self) -> dict[str, str]:
        """What the machine says of itself."""
        name = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", name, len(name), self._device)
        found = {"gpu": name.value.decode(errors="replace"), "compute capability": f"{self.arch / 10:.1f}"}
        found |= {what: f"{self._attribute(number):,}" for what, number in _ATTRIBUTES.items()}
        found |= {f"clusters of {size} at a time": self._clusters(size) for size in (2, 4, 8, 16)}
        query = "driver_version,power.limit,clocks.max.sm,clocks.max.memory,clocks.sm,temperature.gpu"
        try:
            said = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], text=True,
                                  capture_output=True, timeout=30, check=False).stdout.splitlines()
            found |= dict(zip(query.split(","), said[0].split(", "))) if said else {}
        except (OSError, subprocess.TimeoutExpired):
            pass
        return found

    def _clusters(self, size: int) -> str:
        """How many fit at a time, each CTA with the shared memory of a level."""
        try:
            module, function, count = self.load(_EMPTY.format(self.arch)), ctypes.c_void_p(), ctypes.c_int()
            self._call("cuModuleGetFunction", ctypes.byref(function), module, b"empty")
            for attribute, value in ((_MOST_SHARED, 200 << 10), (_ANY_CLUSTER, 1)):
                self._call("cuFuncSetAttribute", function, attribute, value)
            cluster = _Attribute(_CLUSTER_DIMENSION, 0, size, 1, 1)
            config = _Config(size, 1, 1, 128, 1, 1, 200 << 10, None, ctypes.pointer(cluster), 1)
            self._call("cuOccupancyMaxActiveClusters", ctypes.byref(count), function, ctypes.byref(config))
            return str(count.value)
        except (Refused, AttributeError) as error:
            return str(error)
