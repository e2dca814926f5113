// Cluster launch control: a cluster asks to cancel the launch of one that has not started, and does its work.
#pragma once

#include <cstdint>

namespace ptx {

/// `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
/// [answer], [bar];` Asks to cancel a cluster of this grid that has not started. The answer, 16 bytes, is written at
/// the same offset (16-byte aligned) in every CTA of the cluster, and counted on the barrier at the same offset there;
/// each expects 16 bytes. Executed by: one thread of the cluster, all of whose CTAs must still be there; never after an
/// answer that says no.
/// Done: when the barriers' phase is complete. The async proxy writes the answer: each thread that waits for the
/// barrier sees it. Before it is overwritten, each thread that has read it executes fence_proxy_async_shared().
/// ISA 9.7.13.17 (clusterlaunchcontrol), PTX 8.6, sm_100a.
__device__ __forceinline__ void clusterlaunchcontrol_try_cancel_multicast(uint32_t answer, uint32_t bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], "
      "[%1];" ::"r"(answer),
      "r"(bar)
      : "memory");
}

/// `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;`
/// True if a cluster was cancelled. Executed by: any thread. ISA 9.7.13.18 (clusterlaunchcontrol.query_cancel), PTX
/// 8.6, sm_100.
__device__ __forceinline__ bool clusterlaunchcontrol_query_cancel_is_canceled(uint4 answer) {
  uint32_t canceled;
  asm("{\n"
      "  .reg .pred p;\n"
      "  .reg .b64 low, high;\n"
      "  .reg .b128 answer;\n"
      "  mov.b64 low, {%1, %2};\n"
      "  mov.b64 high, {%3, %4};\n"
      "  mov.b128 answer, {low, high};\n"
      "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(canceled)
      : "r"(answer.x), "r"(answer.y), "r"(answer.z), "r"(answer.w));
  return canceled;
}

/// `clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 x, answer;`
/// blockIdx.x of the first CTA of the cancelled cluster; undefined if none was.
/// Executed by: any thread. ISA 9.7.13.18 (clusterlaunchcontrol.query_cancel), PTX 8.6, sm_100.
__device__ __forceinline__ uint32_t clusterlaunchcontrol_query_cancel_get_first_ctaid_x(uint4 answer) {
  uint32_t x;
  asm volatile(  // not before the question above is answered
      "{\n"
      "  .reg .b64 low, high;\n"
      "  .reg .b128 answer;\n"
      "  mov.b64 low, {%1, %2};\n"
      "  mov.b64 high, {%3, %4};\n"
      "  mov.b128 answer, {low, high};\n"
      "  clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %0, answer;\n"
      "}"
      : "=r"(x)
      : "r"(answer.x), "r"(answer.y), "r"(answer.z), "r"(answer.w));
  return x;
}

}  // namespace ptx
