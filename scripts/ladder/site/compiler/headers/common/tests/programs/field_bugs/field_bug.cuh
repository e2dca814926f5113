// What the kernels of bugs from the field use; main, which is not compiled, uses more.
#pragma once
#include <cuda_bf16.h>

#include "../ptx.cuh"
