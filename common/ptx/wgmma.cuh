// wgmma: the fourth-generation tensor core (Hopper). A warpgroup (4 consecutive warps) multiplies a 64 x 16 tile of A
// by an N x 16 tile of B, both in shared memory, into accumulators in its registers, asynchronously.
//
// Accumulator layout, m64nNk16: in thread t of the warpgroup, with warp w = t / 32 and lane l = t % 32, register i
// holds row 16w + l/4 + 8 * ((i/2) % 2), column 8 * (i/4) + 2 * (l%4) + i % 2.
#pragma once

#include <cstdint>

namespace ptx {

/// `wgmma.fence.sync.aligned;`
/// Orders: this thread's earlier accesses of accumulator (and A) registers before the wgmmas that follow. Needed before
/// the first wgmma, and again whenever other instructions touched those registers. Nothing about memory.
/// Executed by: all warps of the warpgroup. ISA 9.7.15.7.1 (wgmma.fence), PTX 8.0, sm_90a.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// `wgmma.commit_group.sync.aligned;`
/// Closes a group: all wgmmas of this warpgroup since the last one.
/// Executed by: all warps of the warpgroup. ISA 9.7.15.7.2 (wgmma.commit_group), PTX 8.0, sm_90a.
__device__ __forceinline__ void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// `wgmma.wait_group.sync.aligned PENDING;`
/// Waits until at most the PENDING newest groups are still running. Only then may the accumulators of the others be
/// touched and their shared memory be overwritten. Name the accumulators that are complete after the wait and read
/// next: the compiler, which knows nothing of the delay, then cannot move a use of them above it.
/// Executed by: all warps of the warpgroup. ISA 9.7.15.7.3 (wgmma.wait_group), PTX 8.0, sm_90a.
template <int PENDING, int... N>
__device__ __forceinline__ void wgmma_wait_group(float (&... d)[N]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
  [[maybe_unused]] const auto depend_on_the_wait = [](auto& array) {
#pragma unroll
    for (float& value : array) asm volatile("" : "+f"(value));
  };
  (depend_on_the_wait(d), ...);
}

// Operand lists for the accumulators. LADDER_D8(d, 0) is "+f"(d[0]), ..., "+f"(d[7]); LADDER_R64 is their text, %0 to
// %63.
#define LADDER_D8(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define LADDER_D16_AT(d, i) LADDER_D8(d, i), LADDER_D8(d, i + 8)
#define LADDER_D32_AT(d, i) LADDER_D16_AT(d, i), LADDER_D16_AT(d, i + 16)
#define LADDER_D16(d) LADDER_D16_AT(d, 0)
#define LADDER_D24(d) LADDER_D16(d), LADDER_D8(d, 16)
#define LADDER_D32(d) LADDER_D32_AT(d, 0)
#define LADDER_D40(d) LADDER_D32(d), LADDER_D8(d, 32)
#define LADDER_D48(d) LADDER_D32(d), LADDER_D16_AT(d, 32)
#define LADDER_D56(d) LADDER_D48(d), LADDER_D8(d, 48)
#define LADDER_D64(d) LADDER_D32(d), LADDER_D32_AT(d, 32)
#define LADDER_D72(d) LADDER_D64(d), LADDER_D8(d, 64)
#define LADDER_D80(d) LADDER_D64(d), LADDER_D16_AT(d, 64)
#define LADDER_D88(d) LADDER_D80(d), LADDER_D8(d, 80)
#define LADDER_D96(d) LADDER_D64(d), LADDER_D32_AT(d, 64)
#define LADDER_D104(d) LADDER_D96(d), LADDER_D8(d, 96)
#define LADDER_D112(d) LADDER_D96(d), LADDER_D16_AT(d, 96)
#define LADDER_D128(d) LADDER_D96(d), LADDER_D32_AT(d, 96)
#define LADDER_R16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define LADDER_R24 LADDER_R16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define LADDER_R32 LADDER_R16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LADDER_R40 LADDER_R32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define LADDER_R48 LADDER_R32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define LADDER_R56 LADDER_R48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define LADDER_R64 LADDER_R48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define LADDER_R72 LADDER_R64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define LADDER_R80 LADDER_R64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define LADDER_R88 LADDER_R80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define LADDER_R96 LADDER_R88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define LADDER_R104 LADDER_R96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define LADDER_R112 \
  LADDER_R96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define LADDER_R128 \
  LADDER_R112       \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// One shape. COUNT accumulators per thread are the operands %0 to %(COUNT - 1); A, B and P number those that follow.
// clang-format off
#define LADDER_WGMMA(N, COUNT, A, B, P)                                                                        \
  __device__ __forceinline__ void wgmma_m64n##N##k16_bf16(float (&d)[COUNT], uint64_t a_desc, uint64_t b_desc, \
                                                          bool accumulate) {                                   \
    asm volatile(                                                                                              \
        "{\n"                                                                                                  \
        "  .reg .pred p;\n"                                                                                    \
        "  setp.ne.u32 p, %" P ", 0;\n"                                                                        \
        "  wgmma.mma_async.sync.aligned.m64n" #N "k16.f32.bf16.bf16 "                                          \
        "{" LADDER_R##COUNT "}, %" A ", %" B ", p, 1, 1, 0, 0;\n"                                              \
        "}"                                                                                                    \
        : LADDER_D##COUNT(d)                                                                                   \
        : "l"(a_desc), "l"(b_desc), "r"(static_cast<uint32_t>(accumulate))                                     \
        : "memory");                                                                                           \
  }
// clang-format on

/// `wgmma.mma_async.sync.aligned.m64nNk16.f32.bf16.bf16 {d0..dN/2-1}, a_desc, b_desc, accumulate, 1, 1, 0, 0;`
/// D[64 x N] = A[64 x 16] * B[N x 16]^T (+ D when `accumulate`). Both operands K-major BF16 in shared memory.
/// Executed by: all four warps of a warpgroup, converged, with the same descriptors.
/// Done: asynchronous; `d` belongs to the tensor core until wgmma_wait_group. Orders: wgmmas on the same accumulators
/// run in program order; shared memory written by ordinary stores needs fence_proxy_async_shared() before, bytes from
/// TMA only the wait on their mbarrier. ISA 9.7.15.5.2 (wgmma.mma_async), PTX 8.0, sm_90a.
LADDER_WGMMA(32, 16, "16", "17", "18")
LADDER_WGMMA(48, 24, "24", "25", "26")
LADDER_WGMMA(64, 32, "32", "33", "34")
LADDER_WGMMA(80, 40, "40", "41", "42")
LADDER_WGMMA(96, 48, "48", "49", "50")
LADDER_WGMMA(112, 56, "56", "57", "58")
LADDER_WGMMA(128, 64, "64", "65", "66")
LADDER_WGMMA(144, 72, "72", "73", "74")
LADDER_WGMMA(160, 80, "80", "81", "82")
LADDER_WGMMA(176, 88, "88", "89", "90")
LADDER_WGMMA(192, 96, "96", "97", "98")
LADDER_WGMMA(208, 104, "104", "105", "106")
LADDER_WGMMA(224, 112, "112", "113", "114")
LADDER_WGMMA(256, 128, "128", "129", "130")

// The same under one name: the accumulators tell the shape. N = 2 * their number.
#define LADDER_WGMMA_BY_ACCUMULATORS(N, COUNT)                                                          \
  __device__ __forceinline__ void wgmma_m64k16_bf16(float(&d)[COUNT], uint64_t a_desc, uint64_t b_desc, \
                                                    bool accumulate) {                                  \
    wgmma_m64n##N##k16_bf16(d, a_desc, b_desc, accumulate);                                             \
  }
LADDER_WGMMA_BY_ACCUMULATORS(48, 24)
LADDER_WGMMA_BY_ACCUMULATORS(64, 32)
LADDER_WGMMA_BY_ACCUMULATORS(80, 40)
LADDER_WGMMA_BY_ACCUMULATORS(96, 48)
LADDER_WGMMA_BY_ACCUMULATORS(112, 56)
LADDER_WGMMA_BY_ACCUMULATORS(128, 64)
LADDER_WGMMA_BY_ACCUMULATORS(144, 72)
LADDER_WGMMA_BY_ACCUMULATORS(160, 80)
LADDER_WGMMA_BY_ACCUMULATORS(176, 88)
LADDER_WGMMA_BY_ACCUMULATORS(192, 96)
LADDER_WGMMA_BY_ACCUMULATORS(208, 104)
LADDER_WGMMA_BY_ACCUMULATORS(224, 112)
LADDER_WGMMA_BY_ACCUMULATORS(256, 128)

#undef LADDER_WGMMA_BY_ACCUMULATORS
#undef LADDER_WGMMA
#undef LADDER_R128
#undef LADDER_R112
#undef LADDER_R104
#undef LADDER_R96
#undef LADDER_R88
#undef LADDER_R80
#undef LADDER_R72
#undef LADDER_R64
#undef LADDER_R56
#undef LADDER_R48
#undef LADDER_R40
#undef LADDER_R32
#undef LADDER_R24
#undef LADDER_R16
#undef LADDER_D128
#undef LADDER_D112
#undef LADDER_D104
#undef LADDER_D96
#undef LADDER_D88
#undef LADDER_D80
#undef LADDER_D72
#undef LADDER_D64
#undef LADDER_D56
#undef LADDER_D48
#undef LADDER_D40
#undef LADDER_D32
#undef LADDER_D24
#undef LADDER_D16
#undef LADDER_D32_AT
#undef LADDER_D16_AT
#undef LADDER_D8

}  // namespace ptx
