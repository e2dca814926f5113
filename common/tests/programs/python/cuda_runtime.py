"""cuda-python, the runtime API: it has a static runtime of its own, which cannot be simulated."""
from cuda.bindings import runtime

print(runtime.cudaGetDeviceCount()[0].name)
