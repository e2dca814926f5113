"""cuda-python, the driver API: NVRTC compiles to PTX, which is loaded and launched."""
import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b'extern "C" __global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }'
COUNT = 64


def check(result):
    """What a call returned, without its error; raises if that is one."""
    error, *values = result
    if int(error) != 0:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else values


check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
major = check(driver.cuDeviceGetAttribute(
    driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"twice.cu", 0, [], []))
check(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=compute_{major}0".encode()]))
ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
check(nvrtc.nvrtcGetPTX(program, ptx))
kernel = check(driver.cuModuleGetFunction(check(driver.cuModuleLoadData(ptx)), b"twice"))

x = np.arange(COUNT, dtype=np.float32)
memory = check(driver.cuMemAlloc(x.nbytes))
check(driver.cuMemcpyHtoD(memory, x.ctypes.data, x.nbytes))
arguments = ((memory, COUNT), (None, ctypes.c_int))
check(driver.cuLaunchKernel(kernel, 1, 1, 1, COUNT, 1, 1, 0, 0, arguments, 0))
y = np.empty_like(x)
check(driver.cuMemcpyDtoH(y.ctypes.data, memory, x.nbytes))
print("PASSED" if (y == 2 * x).all() else "FAILED")
