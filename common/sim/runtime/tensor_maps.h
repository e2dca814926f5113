// cuTensorMapEncodeTiled: the rules of cuda.h for tensor maps, and the encoding that the simulated TMA reads.
#pragma once

#include <string>

#include "machine/global_memory.h"
#include "machine/gpu.h"
#include "machine/tensor_map.h"
#include "runtime/api.h"

namespace sim::runtime {

/// The arguments of cuTensorMapEncodeTiled.
struct TensorMapArguments {
  const void* map;
  CUtensorMapDataType data_type;
  cuuint32_t rank;
  const void* global_address;
  const cuuint64_t* global_dim;
  const cuuint64_t* global_strides;
  const cuuint32_t* box_dim;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2_promotion;
  CUtensorMapFloatOOBfill oob_fill;
};

struct EncodedTensorMap {
  CUresult error = CUDA_SUCCESS;
  std::string problem;  ///< the argument, its value and the violated rule
  TensorMap map{};
};

/// The arguments of cuTensorMapEncodeIm2col beyond those of cuTensorMapEncodeTiled. The box of `tile` holds the
/// channels of a pixel, and 1 in all other dimensions.
struct Im2colArguments {
  TensorMapArguments tile;
  const int* lower_corner;  ///< by spatial dimension, width first
  const int* upper_corner;
  cuuint32_t pixels_per_column;
};

EncodedTensorMap encode_tensor_map(const Im2colArguments& arguments, const Gpu& gpu, const GlobalMemory& memory);
EncodedTensorMap encode_tensor_map(const TensorMapArguments& arguments, const Gpu& gpu, const GlobalMemory& memory);

}  // namespace sim::runtime
