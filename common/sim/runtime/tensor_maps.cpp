#include "runtime/tensor_maps.h"

#include <array>
#include <cstdarg>
#include <cstdint>

#include "report/text.h"
#include "runtime/message.h"

namespace sim::runtime {
namespace {

/// Thrown for the first rule that is violated.
struct Broken {
  CUresult error;
  std::string problem;
};

void require(bool holds, const char* pattern, ...) __attribute__((format(printf, 2, 3)));

void require(bool holds, const char* pattern, ...) {
  if (holds) return;
  std::va_list args;
  va_start(args, pattern);
  Broken broken{CUDA_ERROR_INVALID_VALUE, format_list(pattern, args)};
  va_end(args);
  throw broken;
}

struct DataType {
  const char* name;
  int bits;
  bool floating;
};

constexpr std::array<DataType, 16> kDataTypes = {{
    {"UINT8", 8, false},
    {"UINT16", 16, false},
    {"UINT32", 32, false},
    {"INT32", 32, false},
    {"UINT64", 64, false},
    {"INT64", 64, false},
    {"FLOAT16", 16, true},
    {"FLOAT32", 32, true},
    {"FLOAT64", 64, true},
    {"BFLOAT16", 16, true},
    {"FLOAT32_FTZ", 32, true},
    {"TFLOAT32", 32, true},
    {"TFLOAT32_FTZ", 32, true},
    {"16U4_ALIGN8B", 4, false},
    {"16U4_ALIGN16B", 4, false},
    {"16U6_ALIGN16B", 6, false},
}};

/// Whether chunks of 16 packed values are spread to 16 bytes in shared memory.
bool is_spread(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

bool is_packed(CUtensorMapDataType type) { return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B || is_spread(type); }

/// The bytes of a row that a swizzle mode permutes.
unsigned swizzle_span(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B: return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B: return 64;
    default: return 128;
  }
}

template <typename Enum>
bool is_one_of(Enum value, int last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= last;
}

void check_enums(const TensorMapArguments& a, const Gpu& gpu) {
  require(is_one_of(a.data_type, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B),
          "tensorDataType is %d, which is no CUtensorMapDataType.", static_cast<int>(a.data_type));
  require(is_one_of(a.interleave, CU_TENSOR_MAP_INTERLEAVE_32B), "interleave is %d, which is no CUtensorMapInterleave.",
          static_cast<int>(a.interleave));
  require(is_one_of(a.swizzle, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B), "swizzle is %d, which is no CUtensorMapSwizzle.",
          static_cast<int>(a.swizzle));
  require(is_one_of(a.l2_promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B),
          "l2Promotion is %d, which is no CUtensorMapL2promotion.", static_cast<int>(a.l2_promotion));
  require(is_one_of(a.oob_fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA),
          "oobFill is %d, which is no CUtensorMapFloatOOBfill.", static_cast<int>(a.oob_fill));

  const DataType& type = kDataTypes[a.data_type];
  if (gpu.major < 10) {
    require(a.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B,
            "swizzle is %d: the swizzles with atoms (4 to 6) need compute capability 10.0, and the %s has %d.%d.",
            static_cast<int>(a.swizzle), gpu.name.c_str(), gpu.major, gpu.minor);
    require(!is_packed(a.data_type),
            "tensorDataType is %s: packed types need compute capability 10.0, and the %s has %d.%d.", type.name,
            gpu.name.c_str(), gpu.major, gpu.minor);
  }
  require(a.oob_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || type.floating,
          "oobFill asks for NaNs, but tensorDataType is %s, which is not a floating-point type.", type.name);
  require(a.interleave != CU_TENSOR_MAP_INTERLEAVE_32B || a.swizzle == CU_TENSOR_MAP_SWIZZLE_32B,
          "swizzle is %d: with INTERLEAVE_32B it must be SWIZZLE_32B.", static_cast<int>(a.swizzle));

  if (a.data_type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B) {
    require(a.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE, "interleave is %d: %s allows only INTERLEAVE_NONE.",
            static_cast<int>(a.interleave), type.name);
  }
  const bool plain = a.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
                     a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
  const bool store_only =
      a.swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B && a.data_type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
  require(!is_spread(a.data_type) || plain || store_only, "swizzle is %d, which %s does not allow.",
          static_cast<int>(a.swizzle), type.name);
}

void check_pointers(const TensorMapArguments& a, const GlobalMemory& memory) {
  constexpr uintptr_t kMapAlignment = 64, kAddressLimit = uintptr_t{1} << 57;
  require(a.map != nullptr, "tensorMap is a null pointer.");
  require(reinterpret_cast<uintptr_t>(a.map) % kMapAlignment == 0,
          "tensorMap is at %p; it must be aligned to 64 bytes (alignas(64) CUtensorMap).", a.map);
  require(a.global_dim != nullptr, "globalDim is a null pointer.");
  require(a.global_strides != nullptr, "globalStrides is a null pointer (it is required even for rank 1).");
  require(a.box_dim != nullptr, "boxDim is a null pointer.");
  require(a.element_strides != nullptr, "elementStrides is a null pointer.");

  const auto address = reinterpret_cast<uintptr_t>(a.global_address);
  const bool wide = a.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_spread(a.data_type);
  const uintptr_t alignment = wide ? 32 : 16;
  require(address % alignment == 0 && address < kAddressLimit,
          "globalAddress is %p; it must be aligned to %zu bytes%s.", a.global_address,
          static_cast<std::size_t>(alignment),
          wide ? " with INTERLEAVE_32B and for the packed types of 16-byte alignment" : "");
  // A null address is legal: libraries encode placeholders, and set the address later. Using such a map is an error.
  require(address == 0 || memory.find(address, 1) != nullptr, "globalAddress is not device memory: it is %s.",
          report::place(memory.place_of(address)).c_str());
}

void check_shape(const TensorMapArguments& a, const Gpu& gpu) {
  constexpr cuuint64_t kMaxDim = cuuint64_t{1} << 32, kStrideLimit = cuuint64_t{1} << 40;
  constexpr cuuint32_t kMaxBox = 256, kMaxElementStride = 8;
  const DataType& type = kDataTypes[a.data_type];
  const cuuint32_t least_rank = a.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE ? 1 : 3;
  require(a.rank >= least_rank && a.rank <= 5, "tensorRank is %u; it must be %u to 5%s.", a.rank, least_rank,
          least_rank > 1 ? " with an interleaved layout" : "");

  const bool wide = a.interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_spread(a.data_type);
  const cuuint64_t stride_unit = wide ? 32 : 16;
  std::size_t box_elements = 1;
  for (cuuint32_t i = 0; i < a.rank; ++i) {
    require(a.global_dim[i] >= 1 && a.global_dim[i] <= kMaxDim, "globalDim[%u] is %s; it must be 1 to 2^32 elements.",
            i, grouped(a.global_dim[i]).c_str());
    require(a.box_dim[i] >= 1 && a.box_dim[i] <= kMaxBox, "boxDim[%u] is %u; it must be 1 to 256 elements.", i,
            a.box_dim[i]);
    require(a.element_strides[i] >= 1 && a.element_strides[i] <= kMaxElementStride,
            "elementStrides[%u] is %u; it must be 1 to 8.", i, a.element_strides[i]);
    const bool strided = i > 0 || a.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE;
    const cuuint32_t step = strided ? a.element_strides[i] : 1;
    box_elements *= (a.box_dim[i] + step - 1) / step;
    if (i + 1 == a.rank) break;
    require(a.global_strides[i] % stride_unit == 0, "globalStrides[%u] is %s bytes; it must be a multiple of %zu.", i,
            grouped(a.global_strides[i]).c_str(), static_cast<std::size_t>(stride_unit));
    require(a.global_strides[i] < kStrideLimit, "globalStrides[%u] is %s bytes; it must be less than 2^40.", i,
            grouped(a.global_strides[i]).c_str());
  }

  const unsigned inner_bits = a.box_dim[0] * static_cast<unsigned>(type.bits);
  if (is_spread(a.data_type)) {
    require(a.global_dim[0] % 128 == 0, "globalDim[0] is %s; for %s it must be a multiple of 128.",
            grouped(a.global_dim[0]).c_str(), type.name);
    require(a.box_dim[0] == 128, "boxDim[0] is %u; for %s it must be 128.", a.box_dim[0], type.name);
  } else {
    require(!is_packed(a.data_type) || a.global_dim[0] % 2 == 0,
            "globalDim[0] is %s; for %s it must be a multiple of 2.", grouped(a.global_dim[0]).c_str(), type.name);
    require(inner_bits % (16 * 8) == 0,
            "boxDim[0] is %u elements of %s, %u.%u bytes; the inner box must be a multiple of 16 bytes.", a.box_dim[0],
            type.name, inner_bits / 8, inner_bits % 8 * 10 / 8);
    const bool swizzled = a.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && a.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
    require(!swizzled || inner_bits / 8 <= swizzle_span(a.swizzle),
            "boxDim[0] is %u elements of %s, %u bytes; with this swizzle the inner box is at most %u bytes.",
            a.box_dim[0], type.name, inner_bits / 8, swizzle_span(a.swizzle));
  }

  // Measured, not documented: a box must fit into the shared memory of an SM.
  const std::size_t box_bytes = box_elements * static_cast<std::size_t>(is_spread(a.data_type) ? 8 : type.bits) / 8;
  require(box_bytes <= static_cast<std::size_t>(gpu.smem_per_sm),
          "the box has %s; it cannot be larger than the %s of shared memory of an SM.", in_bytes(box_bytes).c_str(),
          in_bytes(static_cast<unsigned>(gpu.smem_per_sm)).c_str());
}

TensorMap encode(const TensorMapArguments& a) {
  TensorMap map{};
  map.address = reinterpret_cast<uintptr_t>(a.global_address);
  map.data_type = static_cast<uint8_t>(a.data_type);
  map.rank = static_cast<uint8_t>(a.rank);
  map.magic = TensorMap::kMagic;
  for (cuuint32_t i = 0; i < a.rank; ++i) {
    if (i + 1 < a.rank) map.strides[i] = a.global_strides[i];
    map.dims_minus_1[i] = static_cast<uint32_t>(a.global_dim[i] - 1);
    map.box[i] = static_cast<uint16_t>(a.box_dim[i]);
    map.element_strides[i] = static_cast<uint8_t>(a.element_strides[i]);
  }
  if (a.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE)
    map.element_strides[0] = 1;  // ignored according to the documentation
  map.interleave = static_cast<uint8_t>(a.interleave);
  map.swizzle = static_cast<uint8_t>(a.swizzle);
  if (a.swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    map.atomicity = static_cast<uint8_t>(a.swizzle - CU_TENSOR_MAP_SWIZZLE_128B);
  map.oob_fill = static_cast<uint8_t>(a.oob_fill);
  map.l2_promotion = static_cast<uint8_t>(a.l2_promotion);
  return map;
}

void check_pixels(const Im2colArguments& a, const Gpu& gpu) {
  constexpr cuuint32_t kMaxPixels = 1024;
  constexpr std::array kLimits = {32768, 128, 16};  // limits of corners, by the number of spatial dimensions
  require(a.tile.rank >= 3, "tensorRank is %u; for im2col it must be 3 to 5.", a.tile.rank);
  require(a.lower_corner != nullptr, "pixelBoxLowerCorner is a null pointer.");
  require(a.upper_corner != nullptr, "pixelBoxUpperCorner is a null pointer.");
  require(a.pixels_per_column >= 1 && a.pixels_per_column <= kMaxPixels, "pixelsPerColumn is %u; it must be 1 to 1024.",
          a.pixels_per_column);
  const int limit = kLimits[a.tile.rank - 3];
  for (cuuint32_t i = 0; i + 2 < a.tile.rank; ++i) {
    const int lower = a.lower_corner[i], upper = a.upper_corner[i];
    require(lower >= -limit && lower < limit, "pixelBoxLowerCorner[%u] is %d; with tensorRank %u it must be %d to %d.",
            i, lower, a.tile.rank, -limit, limit - 1);
    require(upper >= -limit && upper < limit, "pixelBoxUpperCorner[%u] is %d; with tensorRank %u it must be %d to %d.",
            i, upper, a.tile.rank, -limit, limit - 1);
    require(static_cast<int64_t>(a.tile.global_dim[i + 1]) + upper > lower,
            "the bounding box is empty: globalDim[%u] is %s, pixelBoxLowerCorner[%u] %d, pixelBoxUpperCorner[%u] %d.",
            i + 1, grouped(a.tile.global_dim[i + 1]).c_str(), i, lower, i, upper);
  }
  const DataType& type = kDataTypes[a.tile.data_type];
  const std::size_t bytes = std::size_t{a.tile.box_dim[0]} * a.pixels_per_column *
                            static_cast<std::size_t>(is_spread(a.tile.data_type) ? 8 : type.bits) / 8;
  require(bytes <= static_cast<std::size_t>(gpu.smem_per_sm),
          "a column of pixels has %s; it cannot be larger than the %s of shared memory of an SM.",
          in_bytes(bytes).c_str(), in_bytes(static_cast<unsigned>(gpu.smem_per_sm)).c_str());
}

/// The problem that `check` finds, or the map that `make` encodes.
template <class Check, class Make>
EncodedTensorMap checked(Check check, Make make) {
  try {
    check();
    return {CUDA_SUCCESS, "", make()};
  } catch (const Broken& broken) { return {broken.error, broken.problem, {}}; }
}

void check_tile(const TensorMapArguments& arguments, const Gpu& gpu, const GlobalMemory& memory) {
  check_enums(arguments, gpu);
  check_pointers(arguments, memory);
  check_shape(arguments, gpu);
}

}  // namespace

EncodedTensorMap encode_tensor_map(const TensorMapArguments& arguments, const Gpu& gpu, const GlobalMemory& memory) {
  return checked([&] { check_tile(arguments, gpu, memory); }, [&] { return encode(arguments); });
}

EncodedTensorMap encode_tensor_map(const Im2colArguments& arguments, const Gpu& gpu, const GlobalMemory& memory) {
  const auto check = [&] {
    check_tile(arguments.tile, gpu, memory);
    check_pixels(arguments, gpu);
  };
  return checked(check, [&] {
    TensorMap map = encode(arguments.tile);
    map.is_im2col = true;
    map.pixels = static_cast<uint16_t>(arguments.pixels_per_column);
    for (cuuint32_t i = 0; i + 2 < arguments.tile.rank; ++i) {
      map.lower[i] = static_cast<int16_t>(arguments.lower_corner[i]);
      map.upper[i] = static_cast<int16_t>(arguments.upper_corner[i]);
    }
    return map;
  });
}

}  // namespace sim::runtime
