// The driver's tensor maps.
#include <cstring>

#include "report/text.h"
#include "runtime/driver.h"
#include "runtime/tensor_maps.h"

using namespace sim;
using namespace sim::runtime;

namespace {

/// Refuses: writes the sentence, then returns the driver's error.
CUresult refuse_tensor_map(const char* name, CUresult error, const std::string& problem) {
  say(std::string(name) + ": " + problem);
  return error;
}

/// Writes the map that the arguments describe, or refuses.
template <class Arguments>
CUresult encode(const char* name, CUtensorMap* map, const Arguments& arguments) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  const EncodedTensorMap encoded = encode_tensor_map(arguments, process.gpu(), process.memory());
  if (encoded.error != CUDA_SUCCESS) return refuse_tensor_map(name, encoded.error, encoded.problem);
  static_assert(sizeof *map == sizeof encoded.map);
  std::memcpy(map, &encoded.map, sizeof *map);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType data_type, cuuint32_t rank, void* global_address,
                                const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                                const cuuint32_t* box_dim, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  return encode("cuTensorMapEncodeTiled", map,
                TensorMapArguments{map, data_type, rank, global_address, global_dim, global_strides, box_dim,
                                   element_strides, interleave, swizzle, l2_promotion, oob_fill});
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* global_address) {
  return driver("cuTensorMapReplaceAddress", [&](Process& process) {
    TensorMap known;
    std::memcpy(&known, &result(map, "tensorMap"), sizeof known);
    const auto address = reinterpret_cast<uintptr_t>(global_address);
    if (known.magic != TensorMap::kMagic) refuse(cudaErrorInvalidValue, "tensorMap is not a tensor map.");
    if (address % 16 != 0)
      refuse(cudaErrorInvalidValue, "globalAddress is %p, not aligned to 16 bytes.", global_address);
    if (process.memory().find(address, 1) == nullptr) {
      refuse(cudaErrorInvalidValue, "globalAddress is not device memory: it is %s.",
             report::place(process.memory().place_of(address)).c_str());
    }
    known.address = address;
    std::memcpy(map, &known, sizeof known);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType data_type, cuuint32_t rank, void* global_address,
                                 const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                                 const int* lower_corner, const int* upper_corner, cuuint32_t channels_per_pixel,
                                 cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  const cuuint32_t box_dim[5] = {channels_per_pixel, 1, 1, 1, 1};
  const TensorMapArguments tile{map,     data_type,       rank,       global_address, global_dim,   global_strides,
                                box_dim, element_strides, interleave, swizzle,        l2_promotion, oob_fill};
  return encode("cuTensorMapEncodeIm2col", map, Im2colArguments{tile, lower_corner, upper_corner, pixels_per_column});
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                     const cuuint64_t*, int, int, cuuint32_t, cuuint32_t, const cuuint32_t*,
                                     CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return refuse_tensor_map("cuTensorMapEncodeIm2colWide", CUDA_ERROR_NOT_SUPPORTED,
                           "tensor maps for .im2col::w are not simulated: use cuTensorMapEncodeIm2col.");
}
