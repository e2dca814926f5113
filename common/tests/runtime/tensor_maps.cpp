// cuTensorMapEncodeTiled's rules. What an H200 accepts and refuses was measured; where the documentation is stricter
// than the hardware (alignment of the map, INTERLEAVE_32B without SWIZZLE_32B), the documentation holds here.
#include "runtime/tensor_maps.h"

#include <gtest/gtest.h>

#include <functional>

namespace sim::runtime {
namespace {

const Gpu B200 = *find_gpu("b200"), H200 = *find_gpu("h200");

GlobalMemory& memory() {
  static GlobalMemory memory(std::size_t{1} << 30);
  return memory;
}

char* device_pointer() {
  static char* const pointer = static_cast<char*>(memory().allocate(1 << 20, "tensor"));
  return pointer;
}

/// A legal map of a BF16 matrix, to be spoilt one field at a time.
struct Case {
  alignas(64) char map[256];
  std::size_t map_offset = 0;
  int data_type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint32_t rank = 2;
  const void* address = device_pointer();
  cuuint64_t dim[6] = {256, 128, 4, 4, 4, 4};
  cuuint64_t stride[5] = {512, 65536, 1 << 20, 1 << 22, 1 << 24};
  cuuint32_t box[6] = {64, 64, 1, 1, 1, 1};
  cuuint32_t step[6] = {1, 1, 1, 1, 1, 1};
  int interleave = 0, swizzle = 3, l2 = 2, oob = 0;

  TensorMapArguments arguments() const {
    return {map + map_offset,
            static_cast<CUtensorMapDataType>(data_type),
            rank,
            address,
            dim,
            stride,
            box,
            step,
            static_cast<CUtensorMapInterleave>(interleave),
            static_cast<CUtensorMapSwizzle>(swizzle),
            static_cast<CUtensorMapL2promotion>(l2),
            static_cast<CUtensorMapFloatOOBfill>(oob)};
  }
  EncodedTensorMap encode(const Gpu& gpu) const { return encode_tensor_map(arguments(), gpu, memory()); }
};

using Change = std::function<void(Case&)>;

std::string problem_with(const Change& change, const Gpu& gpu = H200) {
  Case one;
  change(one);
  const EncodedTensorMap encoded = one.encode(gpu);
  EXPECT_EQ(encoded.problem.empty(), encoded.error == CUDA_SUCCESS);
  return encoded.problem;
}

void accepted(const Change& change, const Gpu& gpu = H200) { EXPECT_EQ(problem_with(change, gpu), ""); }
/// The sentence must name the argument.
void refused(const Change& change, const char* argument, const Gpu& gpu = H200) {
  EXPECT_EQ(problem_with(change, gpu).substr(0, std::string_view(argument).size()), argument);
}

TEST(TensorMaps, TheMapHoldsTheArguments) {
  Case c;
  c.rank = 3;
  c.dim[2] = cuuint64_t{1} << 32;
  c.step[1] = 3;
  c.oob = 1;
  const EncodedTensorMap encoded = c.encode(B200);
  ASSERT_EQ(encoded.error, CUDA_SUCCESS) << encoded.problem;
  const TensorMap& map = encoded.map;
  EXPECT_EQ(map.magic, TensorMap::kMagic);
  EXPECT_EQ(map.address, reinterpret_cast<uintptr_t>(device_pointer()));
  EXPECT_EQ(map.data_type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.bits(), 16u);
  EXPECT_EQ(map.rank, 3);
  EXPECT_EQ(map.dims_minus_1[0], 255u);
  EXPECT_EQ(map.dims_minus_1[1], 127u);
  EXPECT_EQ(map.dims_minus_1[2], 0xFFFFFFFFu);
  EXPECT_EQ(map.strides[0], 512u);
  EXPECT_EQ(map.strides[1], 65536u);
  EXPECT_EQ(map.strides[2], 0u);
  EXPECT_EQ(map.box[0], 64);
  EXPECT_EQ(map.box[1], 64);
  EXPECT_EQ(map.element_strides[1], 3);
  EXPECT_EQ(map.swizzle, 3);
  EXPECT_EQ(map.oob_fill, 1);
  EXPECT_EQ(map.l2_promotion, 2);
  EXPECT_EQ(map.unused, 0);  // libraries clear a bit of this byte
}

TEST(TensorMaps, ElementBytes) {
  const int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  for (int type = 0; type < 13; ++type) {
    Case c;
    c.data_type = type;
    c.box[0] = 16;
    EXPECT_EQ(c.encode(H200).map.bits(), 8u * static_cast<unsigned>(bytes[type])) << type;
  }
}

TEST(TensorMaps, Pointers) {
  refused([](Case& c) { c.map_offset = 32; }, "tensorMap is at");
  accepted([](Case& c) { c.map_offset = 64; });
  refused([](Case& c) { c.address = device_pointer() + 8; }, "globalAddress");
  accepted([](Case& c) { c.address = device_pointer() + 16; });
  accepted([](Case& c) { c.address = nullptr; });  // a placeholder
  refused([](Case& c) { c.address = reinterpret_cast<void*>(0x10); }, "globalAddress is not device memory");
  alignas(64) static char host[64];
  refused([](Case& c) { c.address = host; }, "globalAddress is not device memory");
  refused([](Case& c) { c.address = reinterpret_cast<void*>(uintptr_t{1} << 57); }, "globalAddress");

  Case c;
  const TensorMapArguments good{c.map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2,  c.address, c.dim, c.stride, c.box, c.step,
                                {},    CU_TENSOR_MAP_SWIZZLE_128B,       {}, {}};
  const auto null = [&](auto TensorMapArguments::*member) {
    TensorMapArguments bad = good;
    bad.*member = nullptr;
    return encode_tensor_map(bad, H200, memory()).error;
  };
  EXPECT_EQ(encode_tensor_map(good, H200, memory()).error, CUDA_SUCCESS);
  EXPECT_EQ(null(&TensorMapArguments::map), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(null(&TensorMapArguments::global_dim), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(null(&TensorMapArguments::global_strides), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(null(&TensorMapArguments::box_dim), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(null(&TensorMapArguments::element_strides), CUDA_ERROR_INVALID_VALUE);
}

TEST(TensorMaps, RanksAndDimensions) {
  for (cuuint32_t rank = 1; rank <= 5; ++rank) accepted([&](Case& c) { c.rank = rank; });
  refused([](Case& c) { c.rank = 0; }, "tensorRank");
  refused([](Case& c) { c.rank = 6; }, "tensorRank");
  refused([](Case& c) { c.dim[0] = 0; }, "globalDim[0]");
  refused([](Case& c) { c.dim[1] = 0; }, "globalDim[1]");
  accepted([](Case& c) { c.dim[1] = cuuint64_t{1} << 32; });
  refused([](Case& c) { c.dim[1] = (cuuint64_t{1} << 32) + 1; }, "globalDim[1]");
  accepted([](Case& c) { c.dim[0] = 100; });
  accepted([](Case& c) { c.dim[0] = 1; });  // the box may be larger than the tensor
}

TEST(TensorMaps, Strides) {
  refused([](Case& c) { c.stride[0] = 40; }, "globalStrides[0]");
  accepted([](Case& c) { c.stride[0] = 0; });
  accepted([](Case& c) { c.stride[0] = 16; });
  accepted([](Case& c) { c.stride[0] = (cuuint64_t{1} << 40) - 16; });
  refused([](Case& c) { c.stride[0] = cuuint64_t{1} << 40; }, "globalStrides[0]");
  refused([](Case& c) { c.rank = 3, c.stride[1] = 24; }, "globalStrides[1]");
  accepted([](Case& c) { c.stride[1] = 24; });  // not read at rank 2
}

TEST(TensorMaps, Boxes) {
  refused([](Case& c) { c.box[0] = 0; }, "boxDim[0]");
  refused([](Case& c) { c.box[1] = 0; }, "boxDim[1]");
  accepted([](Case& c) { c.box[1] = 256; });
  refused([](Case& c) { c.box[1] = 257; }, "boxDim[1]");
  refused([](Case& c) { c.box[0] = 10, c.swizzle = 0; }, "boxDim[0] is 10 elements of BFLOAT16, 20.0 bytes");
  accepted([](Case& c) { c.box[0] = 8; });
  const struct {
    int swizzle;
    cuuint32_t most;
  } spans[] = {{1, 16}, {2, 32}, {3, 64}};
  for (const auto& span : spans) {
    accepted([&](Case& c) { c.swizzle = span.swizzle, c.box[0] = span.most; });
    refused([&](Case& c) { c.swizzle = span.swizzle, c.box[0] = span.most + 8; }, "boxDim[0]");
  }
  accepted([](Case& c) { c.swizzle = 0, c.box[0] = 256; });
  // As large as the shared memory of an SM, and no larger: 228 KiB are 1,824 rows of 128 bytes.
  accepted([](Case& c) { c.rank = 3, c.dim[2] = 256, c.box[1] = 228, c.box[2] = 8; });
  refused([](Case& c) { c.rank = 3, c.dim[2] = 256, c.box[1] = 229, c.box[2] = 8; }, "the box has 234,496 bytes");
  accepted([](Case& c) { c.rank = 3, c.dim[2] = 256, c.box[1] = 256, c.box[2] = 8, c.step[1] = 2; });
}

TEST(TensorMaps, ElementStrides) {
  for (const cuuint32_t bad : {0u, 9u}) {
    refused([&](Case& c) { c.step[0] = bad; }, "elementStrides[0]");
    refused([&](Case& c) { c.step[1] = bad; }, "elementStrides[1]");
  }
  accepted([](Case& c) { c.step[1] = 8; });
  Case ignored;
  ignored.step[0] = 2;
  EXPECT_EQ(ignored.encode(H200).map.element_strides[0], 1);
}

TEST(TensorMaps, Enums) {
  refused([](Case& c) { c.data_type = 16; }, "tensorDataType");
  refused([](Case& c) { c.data_type = -1; }, "tensorDataType");
  refused([](Case& c) { c.l2 = 4; }, "l2Promotion");
  refused([](Case& c) { c.l2 = -1; }, "l2Promotion");
  accepted([](Case& c) { c.l2 = 3; });
  refused([](Case& c) { c.oob = 2; }, "oobFill");
  refused([](Case& c) { c.oob = 1, c.data_type = CU_TENSOR_MAP_DATA_TYPE_UINT32, c.box[0] = 32; }, "oobFill");
  for (const int floating : {6, 7, 8, 9, 10, 11, 12}) {
    accepted([&](Case& c) { c.oob = 1, c.data_type = floating, c.box[0] = 16; });
  }
  refused([](Case& c) { c.swizzle = 7; }, "swizzle");
  refused([](Case& c) { c.swizzle = -1; }, "swizzle");
  for (int atoms = 4; atoms <= 6; ++atoms) {
    refused([&](Case& c) { c.swizzle = atoms; }, "swizzle");
    accepted([&](Case& c) { c.swizzle = atoms; }, B200);
  }
}

TEST(TensorMaps, Interleaved) {
  refused([](Case& c) { c.interleave = 1; }, "tensorRank");
  accepted([](Case& c) { c.interleave = 1, c.rank = 3; });
  refused([](Case& c) { c.interleave = 3, c.rank = 3; }, "interleave");
  refused([](Case& c) { c.interleave = 1, c.rank = 3, c.swizzle = 0, c.box[0] = 4; }, "boxDim[0]");
  refused([](Case& c) { c.interleave = 2, c.rank = 3; }, "swizzle");
  const auto wide = [](Case& c) { c.interleave = 2, c.rank = 3, c.swizzle = 1; };
  accepted([&](Case& c) { wide(c); });
  refused([&](Case& c) { wide(c), c.address = device_pointer() + 16; }, "globalAddress");
  refused([&](Case& c) { wide(c), c.stride[0] = 528; }, "globalStrides[0]");
}

TEST(TensorMaps, Im2col) {
  struct Corners {
    int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1};
    cuuint32_t pixels = 64;
  };
  const auto encoded = [](cuuint32_t rank, const std::function<void(Corners&)>& change) {
    Case tile;
    tile.rank = rank, tile.box[1] = 1;
    Corners corners;
    change(corners);
    return encode_tensor_map(Im2colArguments{tile.arguments(), corners.lower, corners.upper, corners.pixels}, H200,
                             memory());
  };
  const auto refuses = [&](cuuint32_t rank, const char* argument, const std::function<void(Corners&)>& change) {
    const EncodedTensorMap map = encoded(rank, change);
    EXPECT_EQ(map.error, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(map.problem.substr(0, std::string_view(argument).size()), argument);
  };
  const TensorMap map = encoded(4, [](Corners& c) { c.lower[1] = -3, c.upper[0] = 2; }).map;
  EXPECT_TRUE(map.is_im2col);
  EXPECT_EQ(map.pixels, 64);
  EXPECT_EQ(map.box[0], 64);
  EXPECT_EQ((std::vector<int>{map.lower[0], map.lower[1], map.upper[0], map.upper[1]}), (std::vector{-1, -3, 2, -1}));
  const auto nothing = [](Corners&) {};
  refuses(2, "tensorRank", nothing);
  refuses(3, "pixelsPerColumn", [](Corners& c) { c.pixels = 1025; });
  EXPECT_EQ(encoded(3, [](Corners& c) { c.lower[0] = -30000; }).error, CUDA_SUCCESS);
  refuses(4, "pixelBoxLowerCorner[1]", [](Corners& c) { c.lower[1] = -129; });
  refuses(5, "pixelBoxUpperCorner[2]", [](Corners& c) { c.upper[2] = 16; });
  refuses(4, "the bounding box is empty", [](Corners& c) { c.upper[1] = -6; });  // of 4 rows
}

TEST(TensorMaps, PackedTypes) {
  for (int packed = 13; packed <= 15; ++packed) {
    refused([&](Case& c) { c.data_type = packed, c.box[0] = 128, c.swizzle = 0; }, "tensorDataType");
    Case c;
    c.data_type = packed;
    c.box[0] = 128;
    c.swizzle = 0;
    EXPECT_EQ(c.encode(B200).error, CUDA_SUCCESS) << c.encode(B200).problem;
    EXPECT_EQ(c.encode(B200).map.bits(), packed == 15 ? 6u : 4u);
  }
  const int align8 = 13, align16 = 14, six = 15;
  refused([&](Case& c) { c.data_type = align8, c.dim[0] = 255, c.swizzle = 0, c.box[0] = 128; }, "globalDim[0]", B200);
  refused([&](Case& c) { c.data_type = align8, c.swizzle = 0, c.box[0] = 16; }, "boxDim[0]", B200);
  refused([&](Case& c) { c.data_type = align16, c.box[0] = 64; }, "boxDim[0]", B200);
  refused([&](Case& c) { c.data_type = align16, c.dim[0] = 192, c.box[0] = 128; }, "globalDim[0]", B200);
  refused([&](Case& c) { c.data_type = align16, c.swizzle = 1, c.box[0] = 128; }, "swizzle", B200);
  refused([&](Case& c) { c.data_type = align16, c.swizzle = 6, c.box[0] = 128; }, "swizzle", B200);
  refused([&](Case& c) { c.data_type = six, c.box[0] = 128, c.stride[0] = 528; }, "globalStrides[0]", B200);
  refused([&](Case& c) { c.data_type = six, c.box[0] = 128, c.interleave = 1, c.rank = 3; }, "interleave", B200);
}

}  // namespace
}  // namespace sim::runtime
