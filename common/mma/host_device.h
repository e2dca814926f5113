// These headers pack bits for the host (tests, tensor maps) and for kernels alike.
#pragma once

#ifdef __CUDACC__
#define MMA_HOST_DEVICE __host__ __device__
#else
#define MMA_HOST_DEVICE
#endif
