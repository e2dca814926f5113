"""A level's library (libladder_levelNN_..._smXX.so) and its one function, through ctypes."""
from __future__ import annotations

import ctypes
from pathlib import Path


class MatmulError(RuntimeError):
    """What CUDA says of a product."""


class LevelLibrary:
    """Loads the CUDA runtime that is in the process already, if one is: PyTorch's, when torch was imported before."""

    def __init__(self, path: Path):
        self._library = ctypes.CDLL(str(path))
        self._matmul = self._library.ladder_matmul
        self._matmul.argtypes = [ctypes.c_longlong] * 3 + [ctypes.c_void_p] * 4
        self._matmul.restype = ctypes.c_int

    def matmul(self, m: int, n: int, k: int, a: int, b: int, d: int, stream: int = 0) -> None:
        """Enqueues D[m,n] = A[m,k] * B[n,k]^T; a, b and d are device addresses of BF16, 16-byte aligned. Raises
        MatmulError."""
        code = self._matmul(m, n, k, a, b, d, stream)
        if code != 0:
            reason = "n and k must be multiples of 8" if code == 1 else "see cudaError_t"
            raise MatmulError(f"cudaError {code} for M, N, K = {m}, {n}, {k}: {reason}.")
