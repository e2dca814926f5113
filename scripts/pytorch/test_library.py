#!/usr/bin/env python3
"""The library of a level through ctypes, without PyTorch: scripts/sim.sh python3 test_library.py LIBRARY"""
from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from level_library import LevelLibrary, MatmulError

runtime = ctypes.CDLL("libcudart.so.13")


def managed(size: int) -> int:
    pointer = ctypes.c_void_p()
    assert runtime.cudaMallocManaged(ctypes.byref(pointer), ctypes.c_size_t(size), 1) == 0
    assert pointer.value
    return pointer.value


def put(address: int, values: list[int]) -> None:
    """Small integers as BF16: the upper half of a float."""
    data = b"".join(struct.pack("<f", value)[2:] for value in values)
    ctypes.memmove(address, data, len(data))


def get(address: int, count: int) -> list[float]:
    data = ctypes.string_at(address, 2 * count)
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, 2 * count, 2)]


def main() -> int:
    library = LevelLibrary(Path(sys.argv[1]))
    for m, n, k in ((33, 40, 72), (128, 128, 64)):
        a, b = [i % 3 - 1 for i in range(m * k)], [i % 5 - 2 for i in range(n * k)]
        addresses = [managed(2 * size) for size in (m * k, n * k, m * n)]
        put(addresses[0], a)
        put(addresses[1], b)
        library.matmul(m, n, k, *addresses)
        assert runtime.cudaDeviceSynchronize() == 0
        expected = [float(sum(x * y for x, y in zip(a[r * k:r * k + k], b[c * k:c * k + k])))
                    for r in range(m) for c in range(n)]
        assert all(abs(value) <= 256 for value in expected)  # exact in BF16
        assert get(addresses[2], m * n) == expected, (m, n, k)
    for bad in ((16, 12, 64), (0, 8, 8), (16, 8, 2**31)):
        try:
            library.matmul(*bad, 0, 0, 0)
        except MatmulError as error:
            assert "multiples of 8" in str(error)
        else:
            raise AssertionError(f"{bad} was accepted")
    print("right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
