// The driver's tensor maps.
#include <cstring>

#include "runtime/driver.h"
#include "runtime/tensor_maps.h"

using namespace sim;
using namespace sim::runtime;

namespace {

/// The library's own way to refuse: the sentence, then the driver's error.
CUresult refuse_tensor_map(const char* name, CUresult error, const std::string& problem) {
  say(std::string(name) + ": " + problem);
  return error;
}

CUresult no_im2col(const char* name) {
  return refuse_tensor_map(name, CUDA_ERROR_NOT_SUPPORTED,
                           "im2col tensor maps are not simulated: use a tiled one (cuTensorMapEncodeTiled).");
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType data_type, cuuint32_t rank, void* global_address,
                                const cuuint64_t* global_dim, const cuuint64_t* global_strides,
                                const cuuint32_t* box_dim, const cuuint32_t* element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill) {
  Process& process = Process::get();
  std::lock_guard lock(process.mutex);
  const EncodedTensorMap encoded =
      encode_tensor_map({map, data_type, rank, global_address, global_dim, global_strides, box_dim, element_strides,
                         interleave, swizzle, l2_promotion, oob_fill},
                        process.gpu(), process.memory());
  if (encoded.error != CUDA_SUCCESS) return refuse_tensor_map("cuTensorMapEncodeTiled", encoded.error, encoded.problem);
  static_assert(sizeof *map == sizeof encoded.map);
  std::memcpy(map, &encoded.map, sizeof *map);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* global_address) {
  return driver("cuTensorMapReplaceAddress", [&](Process& process) {
    TensorMap known;
    std::memcpy(&known, &result(map, "tensorMap"), sizeof known);
    const auto address = reinterpret_cast<uintptr_t>(global_address);
    if (known.magic != TensorMap::MAGIC) refuse(cudaErrorInvalidValue, "tensorMap is not a tensor map.");
    if (address % 16 != 0)
      refuse(cudaErrorInvalidValue, "globalAddress is %p, not aligned to 16 bytes.", global_address);
    if (process.memory().find(address, 1) == nullptr) {
      refuse(cudaErrorInvalidValue, "globalAddress is not device memory: it is %s.",
             process.memory().describe(address).c_str());
    }
    known.address = address;
    std::memcpy(map, &known, sizeof known);
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill) {
  return no_im2col("cuTensorMapEncodeIm2col");
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                     const cuuint64_t*, int, int, cuuint32_t, cuuint32_t, const cuuint32_t*,
                                     CUtensorMapInterleave, CUtensorMapIm2ColWideMode, CUtensorMapSwizzle,
                                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return no_im2col("cuTensorMapEncodeIm2colWide");
}
