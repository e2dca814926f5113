// Host side of TMA: tensor maps for row-major matrices, BF16 or FP32.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/mma/swizzle.h"

namespace mma {

template <typename Element>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
template <>
inline constexpr CUtensorMapDataType TENSOR_MAP_TYPE<float> = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;

/// Encodes a map of the row-major matrix `base` (BF16 or FP32 in device memory, 16-byte aligned) with `rows` x `cols`
/// elements and a row pitch of `pitch` elements (a multiple of 16 bytes). A box has `box_rows` (1..256) x `box_cols`
/// elements; `box_cols` is a multiple of 16 bytes, with a swizzle at most its span, without one at most 256 elements.
/// What a load reaches outside the matrix arrives as zeros; a store leaves it alone. Source: cuTensorMapEncodeTiled,
/// CUDA driver API. Returns cudaErrorInvalidValue when the driver refuses the arguments, and its own error when the
/// driver cannot be asked.
template <typename Element>
inline cudaError_t encode_tensor_map_2d(CUtensorMap* map, const Element* base, int rows, int cols, int pitch,
                                        int box_rows, int box_cols, Swizzle swizzle) {
  static_assert(std::is_same_v<Element, __nv_bfloat16> || std::is_same_v<Element, float>);
  // The encoder lives in libcuda, which an executable should not link: a machine without a driver could not even start
  // it to print its help. The runtime looks the function up instead, once.
  static void* const encoder = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found;
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
    return status == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : nullptr;
  }();
  if (encoder == nullptr) return cudaErrorNotSupported;

  CUtensorMapSwizzle mode = CU_TENSOR_MAP_SWIZZLE_NONE;
  switch (swizzle) {
    case Swizzle::None: mode = CU_TENSOR_MAP_SWIZZLE_NONE; break;
    case Swizzle::B32: mode = CU_TENSOR_MAP_SWIZZLE_32B; break;
    case Swizzle::B64: mode = CU_TENSOR_MAP_SWIZZLE_64B; break;
    case Swizzle::B128: mode = CU_TENSOR_MAP_SWIZZLE_128B; break;
  }
  // Innermost dimension first, as everywhere in TMA. The innermost stride is the element's size and is not listed.
  const cuuint64_t dims[2] = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(pitch) * sizeof(Element)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(box_cols), static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t element_strides[2] = {1, 1};
  const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encoder)(
      map, TENSOR_MAP_TYPE<Element>, 2, const_cast<Element*>(base), dims, strides, box, element_strides,
      CU_TENSOR_MAP_INTERLEAVE_NONE, mode, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace mma
