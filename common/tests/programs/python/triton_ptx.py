"""Compiles a kernel of Triton's for an architecture and writes its PTX: triton_ptx.py 90|100 FILE."""
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def copy(a, b, M, N: tl.constexpr, BM: tl.constexpr):
    d = tl.make_tensor_descriptor(a, shape=[M, N], strides=[N, 1], block_shape=[BM, N])
    e = tl.make_tensor_descriptor(b, shape=[M, N], strides=[N, 1], block_shape=[BM, N])
    i = tl.program_id(0)
    e.store([i * BM, 0], d.load([i * BM, 0]) + 1)


source = ASTSource(copy, signature={"a": "*fp32", "b": "*fp32", "M": "i32", "N": "constexpr", "BM": "constexpr"},
                   constexprs={"N": 32, "BM": 16})
compiled = triton.compile(source, target=GPUTarget("cuda", int(sys.argv[1]), 32))
Path(sys.argv[2]).write_text(compiled.asm["ptx"], encoding="utf-8")
