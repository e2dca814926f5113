#include <cmath>

#include "calibrate.h"
#include "common/mma/tensor_map.h"

namespace calibrate {
namespace {

__device__ uint32_t mixed(uint32_t x) {
  x ^= x >> 16, x *= 0x7FEB352D, x ^= x >> 15, x *= 0x846CA68B, x ^= x >> 16;
  return x;
}

/// Two independent normal values per thread and turn (Box and Muller).
__global__ void fill_normal(__nv_bfloat162* values, size_t count) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const uint32_t low = static_cast<uint32_t>(i), high = static_cast<uint32_t>(i >> 32);
    const uint32_t first = mixed(low ^ mixed(2 * high + 1)), second = mixed(first ^ 0x9E3779B9);
    const float radius = sqrtf(-2.0f * logf((static_cast<float>(first >> 8) + 1.0f) * 0x1p-24f));
    const float angle = 6.2831853f * 0x1p-24f * static_cast<float>(second >> 8);
    values[i] = __floats2bfloat162_rn(radius * __cosf(angle), radius * __sinf(angle));
  }
}

}  // namespace

Field::Field(const Context& context, std::size_t bytes) : bytes_(bytes), memory_(bytes, "memory to stream through") {
  fill_normal<<<4 * context.sms(), 256, 0, context.stream>>>(reinterpret_cast<__nv_bfloat162*>(memory_.data()),
                                                             bytes / sizeof(__nv_bfloat162));
  harness::check(cudaGetLastError(), "filling memory with random numbers");
  context.synchronize("filling memory");
}

CUtensorMap Field::map(int columns, int box_rows, int box_cols, mma::Swizzle swizzle) const {
  CUtensorMap map;
  harness::check(mma::encode_tensor_map_2d(&map, data(), rows(columns), columns, columns, box_rows, box_cols, swizzle),
                 "encoding a tensor map");
  return map;
}

}  // namespace calibrate
