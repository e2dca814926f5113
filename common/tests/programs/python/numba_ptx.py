"""numba-cuda links to machine code. One function of it replaced, it hands over the PTX of before."""
import warnings

import numpy as np
from cuda.core import ObjectCode
from numba import cuda
from numba.core.errors import NumbaWarning
from numba.cuda import codegen

# With lto=True, nvJitLink makes one text of PTX of a kernel and all that it calls.
codegen.CUDACodeLibrary.get_cubin = lambda self, cc=None: ObjectCode.from_ptx(self.get_lto_ptx(cc=cc).encode())
warnings.simplefilter("ignore", NumbaWarning)


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit(lto=True)
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + twice(y[i])


x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
add[1, 128](x, 2 * x, out)
print("PASSED" if (out == 5 * x).all() else "FAILED")
