// The production kernel as a variant. -DLADDER_ARCH chooses the kernel; its options come from further definitions.
#include "common/harness/level.h"
#include "scripts/autotune/variant.h"

#if LADDER_ARCH == 100
#include "level08_deep_pipeline/production/kernel_sm100.cuh"
#elif LADDER_ARCH == 90
#include "level08_deep_pipeline/production/kernel_sm90.cuh"
#else
#error "compile with -DLADDER_ARCH=100 (Blackwell) or -DLADDER_ARCH=90 (Hopper)"
#endif

cudaError_t launch_variant(const autotune::Problem& problem, cudaStream_t stream) {
  const harness::Problem p{.m = problem.m,
                           .n = problem.n,
                           .k = problem.k,
                           .a = static_cast<const __nv_bfloat16*>(problem.a),
                           .b = static_cast<const __nv_bfloat16*>(problem.b),
                           .d = static_cast<__nv_bfloat16*>(problem.d),
                           .ldd = problem.ldd};
#if LADDER_ARCH == 100
  constexpr production::Options TUNED = {.block_m = TUNED_BLOCK_M,
                                         .block_n = TUNED_BLOCK_N,
                                         .num_stages = TUNED_NUM_STAGES,
                                         .num_store_stages = TUNED_NUM_STORE_STAGES,
                                         .group_size = TUNED_SWIZZLE_GROUP_SIZE,
                                         .asap_tmem_empty = TUNED_ASAP_TMEM_EMPTY,
                                         .swizzled_cd = TUNED_SWIZZLED_CD,
                                         .clc = TUNED_CLC};
  return production::launch<TUNED>(p, stream);
#else
  constexpr production::TileShape TUNED = {TUNED_BLOCK_M,   TUNED_BLOCK_N, TUNED_STAGES, TUNED_CLUSTER_M,
                                           TUNED_CLUSTER_N, TUNED_GROUP,   TUNED_SPLIT};
  return production::launch<TUNED>(p, stream);
#endif
}
