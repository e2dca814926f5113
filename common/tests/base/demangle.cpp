#include "common/base/demangle.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Demangle, WithoutParameters) {
  EXPECT_EQ(readable_name("_ZN7level0110gemm_sm100E14CUtensorMap_stS0_P13__nv_bfloat16iiii"), "level01::gemm_sm100");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_11kEv"), "(anonymous namespace)::k");
  EXPECT_EQ(readable_name("_Z4callPFviE"), "call");  // a parameter with parentheses of its own
}

TEST(Demangle, Templates) {
  EXPECT_EQ(readable_name("_Z6kernelIfLi3EEvPT_"), "kernel<float, 3>");  // without the `void` that goes before it
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_14gemmIfLi3EEEvPT_"), "(anonymous namespace)::gemm<float, 3>");
  std::string deep = "_Z4gemmI";
  for (int i = 0; i < 40; ++i) deep += "St6vectorI";
  deep += "i";
  for (int i = 0; i < 40; ++i) deep += "E";
  EXPECT_EQ(readable_name(deep + "EvT_"), "gemm<...>");
}

TEST(Demangle, WhatTheDemanglerGivesUpOn) {
  EXPECT_EQ(readable_name("_ZN7cutlass13device_kernelINS_4gemm?EEvNT_6ParamsE"), "cutlass::device_kernel<...>");
  EXPECT_EQ(readable_name("_ZN12_GLOBAL__N_14gemmI?EEvv"), "(anonymous namespace)::gemm<...>");
  EXPECT_EQ(readable_name("_Z4gemmI?EEvv"), "gemm<...>");
  for (const char* name : {"_ZN9gemm", "_Z99999999999999999999gemm", "_Z?"}) EXPECT_EQ(readable_name(name), name);
}

TEST(Demangle, OfOneFileOnly) {
  EXPECT_EQ(readable_name("__nv_static_40__154d2032_12_wgmma_tma_cu_f57c57c0_30507__Z4gemmIfEvPT_"), "gemm<float>");
  EXPECT_EQ(readable_name("__nv_static_4"), "__nv_static_4");
}

TEST(Demangle, WhatIsNotMangled) {
  for (const char* name : {"plain_c_name", "", "_Z", "f(int)"}) EXPECT_EQ(readable_name(name), name);
}

}  // namespace
}  // namespace base
