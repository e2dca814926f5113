"""cuda.core: cuda_core.py ptx|cubin. Machine code cannot be simulated, PTX can."""
import sys

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = 'extern "C" __global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }'
COUNT = 64

device = Device()
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
try:
    kernel = program.compile(sys.argv[1]).get_kernel("twice")
except Exception as error:  # the class depends on the version
    print("refused:", error)
    sys.exit(0)
x, y = (device.allocate(COUNT * 4, stream=stream) for _ in range(2))
launch(stream, LaunchConfig(grid=1, block=COUNT), kernel, int(x.handle), int(y.handle))
stream.sync()
print("PASSED")
