// What encode_tensor_map_2d asks the driver for. The driver is this file: it notes the question.
#include "common/mma/tensor_map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// The arguments of the last call of cuTensorMapEncodeTiled, as the driver sees them.
struct Question {
  CUtensorMap* map;
  int data_type;
  const void* address;
  std::vector<cuuint64_t> dims, strides;
  std::vector<cuuint32_t> box, element_strides;
  int interleave, swizzle, l2_promotion, fill;
};
Question asked;
CUresult answer = CUDA_SUCCESS;

enum class Driver { Present, Absent, TooOld } driver = Driver::Present;
std::vector<std::string> lookups;

CUresult CUDAAPI encoder(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                         const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                         const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                         CUtensorMapFloatOOBfill fill) {
  asked = {map,
           type,
           address,
           {dims, dims + rank},
           {strides, strides + rank - 1},
           {box, box + rank},
           {element_strides, element_strides + rank},
           interleave,
           swizzle,
           l2_promotion,
           fill};
  return answer;
}

}  // namespace

extern "C" cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                                  unsigned long long,
                                                                  cudaDriverEntryPointQueryResult* found) {
  lookups.push_back(symbol + std::string(" ") + std::to_string(version));
  if (driver == Driver::Absent) return cudaErrorInsufficientDriver;
  *found = driver == Driver::Present ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
  *function = driver == Driver::Present ? reinterpret_cast<void*>(&encoder) : nullptr;
  return cudaSuccess;
}

namespace mma {
namespace {

alignas(64) CUtensorMap map;
const auto* const matrix = reinterpret_cast<const __nv_bfloat16*>(0x7000'0000);

TEST(TensorMap, OfABf16Matrix) {
  // 300 rows of 520 elements in a pitch of 528, boxes of 128 x 64: the innermost dimension goes first.
  ASSERT_EQ(encode_tensor_map_2d(&map, matrix, 300, 520, 528, 128, 64, Swizzle::B128), cudaSuccess);
  EXPECT_EQ(asked.map, &map);
  EXPECT_EQ(asked.data_type, 9);  // BFLOAT16
  EXPECT_EQ(asked.address, matrix);
  EXPECT_EQ(asked.dims, (std::vector<cuuint64_t>{520, 300}));
  EXPECT_EQ(asked.strides, (std::vector<cuuint64_t>{1056}));  // bytes
  EXPECT_EQ(asked.box, (std::vector<cuuint32_t>{64, 128}));
  EXPECT_EQ(asked.element_strides, (std::vector<cuuint32_t>{1, 1}));
  EXPECT_EQ(asked.interleave, 0);
  EXPECT_EQ(asked.swizzle, 3);
  EXPECT_EQ(asked.l2_promotion, 3);  // 256 bytes
  EXPECT_EQ(asked.fill, 0);          // zeros, which add nothing to a product
}

TEST(TensorMap, OfAnFp32Matrix) {
  const auto* const floats = reinterpret_cast<const float*>(0x7000'0000);
  ASSERT_EQ(encode_tensor_map_2d(&map, floats, 300, 520, 528, 128, 32, Swizzle::B128), cudaSuccess);
  EXPECT_EQ(asked.data_type, 7);  // FLOAT32
  EXPECT_EQ(asked.dims, (std::vector<cuuint64_t>{520, 300}));
  EXPECT_EQ(asked.strides, (std::vector<cuuint64_t>{2112}));
  EXPECT_EQ(asked.box, (std::vector<cuuint32_t>{32, 128}));
}

/// A third numbering of the same four patterns, besides those of the two descriptors.
TEST(TensorMap, SwizzleCodes) {
  struct Row {
    Swizzle swizzle;
    int box_cols, code;
  };
  for (const Row& row :
       {Row{Swizzle::None, 8, 0}, Row{Swizzle::B32, 16, 1}, Row{Swizzle::B64, 32, 2}, Row{Swizzle::B128, 64, 3}}) {
    ASSERT_EQ(encode_tensor_map_2d(&map, matrix, 256, 256, 256, 64, row.box_cols, row.swizzle), cudaSuccess);
    EXPECT_EQ(asked.swizzle, row.code);
  }
}

/// 2^31 elements and a pitch in bytes beyond 32 bits: computed in 64.
TEST(TensorMap, LargeMatrix) {
  ASSERT_EQ(encode_tensor_map_2d(&map, matrix, 2'147'483'647, 2'147'483'640, 2'147'483'640, 128, 64, Swizzle::B128),
            cudaSuccess);
  EXPECT_EQ(asked.dims, (std::vector<cuuint64_t>{2'147'483'640, 2'147'483'647}));
  EXPECT_EQ(asked.strides, (std::vector<cuuint64_t>{4'294'967'280}));
}

TEST(TensorMap, RefusedByTheDriver) {
  answer = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(encode_tensor_map_2d(&map, matrix, 256, 256, 256, 257, 64, Swizzle::B128), cudaErrorInvalidValue);
  answer = CUDA_SUCCESS;
}

// The encoder is looked up once per process, so what happens without one needs processes of their own.

[[noreturn]] void encode_with(Driver state) {
  driver = state;
  lookups.clear();
  for (int i = 0; i < 2; ++i) {
    const cudaError_t status = encode_tensor_map_2d(&map, matrix, 256, 256, 256, 128, 64, Swizzle::B128);
    if (status != (state == Driver::Present ? cudaSuccess : cudaErrorNotSupported)) std::exit(1);
  }
  std::exit(lookups == std::vector<std::string>{"cuTensorMapEncodeTiled 12000"} ? 0 : 2);
}

TEST(TensorMapDeathTest, EncoderIsLookedUpOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(encode_with(Driver::Present), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(encode_with(Driver::Absent), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(encode_with(Driver::TooOld), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mma
