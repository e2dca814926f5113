"""CuPy: element-wise kernels, a reduction, a kernel from source. In the environment: CUPY_COMPILE_WITH_PTX=1, and an
empty CUPY_ACCELERATORS, because the reductions that CuPy brings compiled (CUB) have no PTX for Hopper or Blackwell."""
import cupy

x = cupy.arange(100, dtype=cupy.float32)
twice = cupy.RawKernel('extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }', "twice")
twice((1,), (100,), (x,))
print("PASSED" if float((x + 1).sum()) == 2 * 99 * 50 + 100 else "FAILED")
